# Short commands; Meson does the work. `make help` lists them.

PREFIX  ?= /usr/local
PORT    ?= 7433
TARGET  ?=
SECONDS ?= 60

RELEASE_BUILD  := build/release
DEBUG_BUILD    := build/debug
COVERAGE_BUILD := build/coverage
FUZZ_BUILD     := build/fuzz

.PHONY: all setup release debug coverage-build run check test conformance bench coverage fuzz soak kills test-relay test-clients \
	test-debian test-fidelity test-fleet screenshots lint format install uninstall dist deb npm mcpb clean help

.NOTPARALLEL:

all: release

setup:
	@scripts/setup build test lint

release:
	@scripts/setup build
	@scripts/build $(RELEASE_BUILD) --buildtype=release -Dtests=false

debug:
	@scripts/setup build test
	@scripts/build $(DEBUG_BUILD) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined

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
	@CC=clang scripts/build $(FUZZ_BUILD) --buildtype=debug --optimization=1 \
		-Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true -Dtests=false
	@scripts/run-fuzz $(FUZZ_BUILD) $(SECONDS) $(TARGET)

# Debian's Lisp libraries, and their own tests, in plain sbcl and in a session, compared; minutes, and
# packages from the net. With ANSI_TEST=DIRECTORY, a copy of ansi-test, that suite too.
test-fidelity: release
	@scripts/test-fidelity $(RELEASE_BUILD) $(LIBRARIES)
	@[ -z '$(ANSI_TEST)' ] || scripts/test-ansi $(RELEASE_BUILD) '$(ANSI_TEST)'

soak:
	@scripts/setup build test
	@scripts/run-tests --build --long soak

kills:
	@scripts/setup build test
	@scripts/run-tests --build --long e2e/crowd e2e/daemon e2e/kept_kills e2e/kept_threads

# The end-to-end tests once more: what they serve on standard input/output goes through the relay.
test-relay:
	@scripts/setup build test
	@scripts/run-tests --build --relay e2e

test-clients: release
	@scripts/setup test
	@scripts/test-clients $(RELEASE_BUILD)/src/cli/cadre

# Three nodes in network namespaces, three NATS servers, HAProxy, and faults under load: four minutes, as root.
test-fleet:
	@scripts/setup build test
	@scripts/run-tests --build --long e2e/fleet e2e/fleet_checker unit/cluster

test-debian:
	@scripts/test-debian $(RELEASE) $(USERS)

coverage-build:
	@scripts/setup build test coverage
	@scripts/build $(COVERAGE_BUILD) --buildtype=debug -Db_coverage=true

coverage:
	@scripts/setup build test coverage
	@scripts/coverage $(COVERAGE_BUILD) $(SUITES)

lint: release debug
	@scripts/setup lint
	@scripts/lint

# The pictures of the inspector in docs/.
screenshots: release
	@scripts/setup test
	@scripts/screenshots

format:
	@scripts/setup lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i
	@scripts/node_modules/.bin/biome format --write

install:
	@scripts/install $(RELEASE_BUILD) '$(PREFIX)' '$(DESTDIR)'

uninstall:
	@scripts/uninstall '$(PREFIX)' '$(DESTDIR)'

# Packages, in build/packages/: an archive for any Linux with a glibc as new as this one's, Debian packages, npm
# packages, a bundle for desktop clients.
dist deb npm mcpb:
	@scripts/package $@

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
	@echo 'make kills            kill the daemon 300 times and more, save sessions with all kinds of threads'
	@echo 'make test-relay       the end-to-end tests through the relay and a daemon'
	@echo 'make coverage         lines and branches that the tests reach; SUITES= as above'
	@echo 'make test-clients     real MCP clients from npm, configured by cadre setup, connect'
	@echo 'make test-fleet       a cluster of three nodes in network namespaces, and faults under load (root)'
	@echo 'make test-debian      RELEASE=bookworm, trixie or sid: all of it in a minimal system (root)'
	@echo 'make lint             format, clang-tidy, cppcheck, shellcheck, Biome, rules of the tree'
	@echo 'make screenshots      take the pictures of the inspector in docs/'
	@echo 'make format           reformat all C and JavaScript files'
	@echo 'make install          PREFIX=/usr/local, DESTDIR='
	@echo 'make test-fidelity    Debian libraries in plain sbcl and in a session, compared (LIBRARIES=all, ANSI_TEST=...)'
	@echo 'make uninstall        PREFIX=/usr/local, DESTDIR='
	@echo 'make dist             cadre-VERSION-linux-x86_64.tar.xz and its sha256, in build/packages/'
	@echo 'make deb              Debian packages: cadre, libcadre0, libcadre-dev'
	@echo 'make npm              npm packages: cadre-mcp and the one of this platform'
	@echo 'make mcpb             a bundle for desktop clients'
	@echo 'make clean            remove build/'
