# Short commands; Meson does the work. `make help` lists them.

PREFIX  ?= /usr/local
PORT    ?= 7433
TARGET  ?=
SECONDS ?= 60

RELEASE := build/release
DEBUG   := build/debug
FUZZ    := build/fuzz

.PHONY: all setup release debug run test conformance bench fuzz soak lint format install clean help

.NOTPARALLEL:

all: release

setup:
	@scripts/setup build test lint

release:
	@scripts/setup build
	@test -f $(RELEASE)/build.ninja || meson setup $(RELEASE) --buildtype=release -Dtests=false
	@ninja --quiet -C $(RELEASE)

debug:
	@scripts/setup build test
	@test -f $(DEBUG)/build.ninja || meson setup $(DEBUG) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined
	@ninja --quiet -C $(DEBUG)

run: release
	@scripts/run-server $(RELEASE) $(PORT)

test: release debug
	@scripts/run-tests $(SUITES)

conformance: release debug
	@scripts/run-tests conformance

bench: release
	@scripts/setup bench
	@bench/run $(RELEASE)

fuzz:
	@scripts/setup build lint
	@test -f $(FUZZ)/build.ninja || CC=clang meson setup $(FUZZ) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true -Dtests=false
	@ninja --quiet -C $(FUZZ)
	@scripts/run-fuzz $(FUZZ) $(SECONDS) $(TARGET)

soak: release debug
	@scripts/run-tests --long soak

lint: release debug
	@scripts/setup lint
	@scripts/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

install:
	@d='$(DESTDIR)$(PREFIX)'; while ! test -e "$$d"; do d=$$(dirname "$$d"); done; test -w "$$d" || { \
		echo "make install: $$d is not yours to write: be root, or give PREFIX=\$$HOME/.local" >&2; exit 1; }
	@scripts/setup build
	@test -f $(RELEASE)/build.ninja || meson setup $(RELEASE) --buildtype=release -Dtests=false
	@meson configure $(RELEASE) --prefix='$(PREFIX)'
	@meson install -C $(RELEASE)
	@test -n '$(DESTDIR)' -o "$$(id -u)" != 0 -o ! -x /sbin/ldconfig || /sbin/ldconfig

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
	@echo 'make lint             clang-format, clang-tidy, cppcheck, layers, symbols'
	@echo 'make format           reformat all C files'
	@echo 'make install          PREFIX=/usr/local, DESTDIR='
	@echo 'make clean            remove build/'
