# Short commands; Meson does the work. `make help` lists them.

PREFIX  ?= /usr/local
PORT    ?= 7433
TARGET  ?=
SECONDS ?= 60

RELEASE := build/release
DEBUG   := build/debug
FUZZ    := build/fuzz
NICE    ?=

.PHONY: all setup release debug run test conformance bench fuzz soak lint format install clean help

all: release

setup:
	@scripts/setup

$(RELEASE)/build.ninja: | setup
	@meson setup $(RELEASE) --buildtype=release --prefix=$(PREFIX)

$(DEBUG)/build.ninja: | setup
	@meson setup $(DEBUG) --buildtype=debug --optimization=1 -Db_sanitize=address,undefined -Db_lundef=false

$(FUZZ)/build.ninja: | setup
	@CC=clang meson setup $(FUZZ) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true -Dtests=false

release: $(RELEASE)/build.ninja
	@$(NICE) ninja --quiet -C $(RELEASE)

debug: $(DEBUG)/build.ninja
	@$(NICE) ninja --quiet -C $(DEBUG)

run: release
	@scripts/run-server $(RELEASE) $(PORT)

test: release debug
	@scripts/run-tests $(SUITES)

conformance: release
	@scripts/run-tests conformance

bench: release
	@bench/run $(RELEASE)

fuzz: $(FUZZ)/build.ninja
	@scripts/run-fuzz $(FUZZ) $(SECONDS) $(TARGET)

soak: release
	@scripts/run-tests --long soak

lint: debug
	@scripts/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

install: release
	@meson configure $(RELEASE) --prefix=$(PREFIX)
	@meson install --quiet -C $(RELEASE)

clean:
	rm -rf build

help:
	@echo 'make                  set up what is missing, build the release'
	@echo 'make run              build, start the server on loopback HTTP, say how to connect (PORT=7433)'
	@echo 'make test             every suite; SUITES="unit e2e" for some of them'
	@echo 'make conformance      the official MCP conformance suite'
	@echo 'make bench            speed, as a table'
	@echo 'make fuzz             fuzz all targets, or TARGET=json, for SECONDS=60 each'
	@echo 'make soak             the long random test of sessions'
	@echo 'make lint             clang-format, clang-tidy, cppcheck, layers'
	@echo 'make format           reformat all C files'
	@echo 'make install          PREFIX=/usr/local, DESTDIR='
	@echo 'make clean            remove build/'
