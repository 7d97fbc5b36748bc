# Short commands; Meson does the work. `make help` lists them.

PREFIX  ?= /usr/local
PORT    ?= 7433
TARGET  ?=
SECONDS ?= 60

RELEASE_BUILD  := build/release
DEBUG_BUILD    := build/debug
COVERAGE_BUILD := build/coverage
FUZZ_BUILD     := build/fuzz

.PHONY: all setup release debug coverage-build run check test conformance bench coverage fuzz soak test-debian lint \
	format install clean help

.NOTPARALLEL:

all: release

setup:
	@scripts/setup build test lint

release:
	@scripts/setup build
	@test -f $(RELEASE_BUILD)/build.ninja || meson setup $(RELEASE_BUILD) --buildtype=release -Dtests=false
	@ninja --quiet -C $(RELEASE_BUILD)

debug:
	@scripts/setup build test
	@test -f $(DEBUG_BUILD)/build.ninja || meson setup $(DEBUG_BUILD) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined
	@ninja --quiet -C $(DEBUG_BUILD)

run: release
	@scripts/run-server $(RELEASE_BUILD) $(PORT)

# The quick loop while editing: what needs no server and no release build.
check:
	@scripts/setup build test
	@scripts/run-tests --build tree unit lang lisp

test:
	@scripts/setup build test
	@scripts/run-tests --build $(SUITES)

conformance:
	@scripts/setup build test
	@scripts/run-tests --build conformance

bench: release
	@scripts/setup bench
	@bench/run $(if $(SAVE),--save) $(RELEASE_BUILD) $(BENCH)

fuzz:
	@scripts/setup build lint
	@test -f $(FUZZ_BUILD)/build.ninja || CC=clang meson setup $(FUZZ_BUILD) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true -Dtests=false
	@ninja --quiet -C $(FUZZ_BUILD)
	@scripts/run-fuzz $(FUZZ_BUILD) $(SECONDS) $(TARGET)

soak:
	@scripts/setup build test
	@scripts/run-tests --build --long soak

test-debian:
	@scripts/test-debian $(RELEASE) $(USERS)

coverage-build:
	@scripts/setup build test coverage
	@test -f $(COVERAGE_BUILD)/build.ninja || meson setup $(COVERAGE_BUILD) --buildtype=debug -Db_coverage=true
	@ninja --quiet -C $(COVERAGE_BUILD)

coverage:
	@scripts/setup build test coverage
	@scripts/coverage $(COVERAGE_BUILD) $(SUITES)

lint: release debug
	@scripts/setup lint
	@scripts/lint

format:
	@scripts/setup lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i
	@scripts/node_modules/.bin/biome format --write

install:
	@d='$(DESTDIR)$(PREFIX)'; while ! test -e "$$d"; do d=$$(dirname "$$d"); done; test -w "$$d" || { \
		echo "make install: no write permission for $$d; run as root or set PREFIX=\$$HOME/.local" >&2; exit 1; }
	@scripts/setup build
	@test -f $(RELEASE_BUILD)/build.ninja || meson setup $(RELEASE_BUILD) --buildtype=release -Dtests=false
	@meson configure $(RELEASE_BUILD) --prefix='$(PREFIX)'
	@meson install -C $(RELEASE_BUILD)
	@test -n '$(DESTDIR)' -o "$$(id -u)" != 0 -o ! -x /sbin/ldconfig || /sbin/ldconfig

clean:
	rm -rf build

help:
	@echo 'make                  set up what is missing, build the release'
	@echo 'make run              build, start the server on loopback HTTP, say how to connect (PORT=7433)'
	@echo 'make check            the quick tests: tree, unit, lang, lisp'
	@echo 'make test             every suite; SUITES="unit e2e" for some of them'
	@echo 'make conformance      the official MCP conformance suite'
	@echo 'make bench            speed, as tables; BENCH=programs for one, SAVE=1 writes docs/performance.md'
	@echo 'make fuzz             fuzz all targets, or TARGET=json, for SECONDS=60 each'
	@echo 'make soak             the long random test of sessions'
	@echo 'make coverage         lines and branches that the tests reach; SUITES= as above'
	@echo 'make test-debian      RELEASE=bookworm, trixie or sid: all of it in a minimal system (root)'
	@echo 'make lint             format, clang-tidy, cppcheck, shellcheck, Biome, rules of the tree'
	@echo 'make format           reformat all C and JavaScript files'
	@echo 'make install          PREFIX=/usr/local, DESTDIR='
	@echo 'make clean            remove build/'
