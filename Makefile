# The entry points: install the Debian packages that a target needs (scripts/packages.txt), then build with CMake.
# `make help` lists the targets.

TRACE     ?= examples/transformer_training.json.gz
REPORT    ?= build/report
SECONDS   ?= 60
# The leak check takes seconds per program, and minutes in total in some sandboxes.
LEAKS     ?= 0
WERROR    ?= OFF
# 1: tests that try only some cases by default try all of them.
LONG      ?=
# Of make mutants: what is changed, and how many of the changes are tried.
AREA      ?= index
SAMPLE    ?= 60
PREFIX    ?= /usr/local
JOBS      ?= $(shell nproc 2>/dev/null || echo 2)
# Groups of scripts/packages.txt that `make deps` installs.
GROUP     ?= build
# The compiler for the other architecture.
OTHER     := $(if $(filter x86_64,$(shell uname -m)),cross-arm64,cross)
# Configures a build folder and builds targets: $(BUILD) FOLDER [-DOPTION=VALUE...] [TARGET...]
BUILD      = JOBS=$(JOBS) scripts/build
# Runs a command that uses packages unpacked under build/deps.
RUN        = scripts/with-deps

.DEFAULT_GOAL := build
.PHONY: help build deps report test asan tsan mutants fuzz fuzz-coverage bench dist install deb rpm wheel test-packages format clean distclean
# Prerequisites are made in the order given, also with -j: first packages, then the build.
.NOTPARALLEL:

help: ## print this list
	@echo "Usage: make [target] [NAME=value ...]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

build: ## build the optimised program, build/gputally (the default)
	@$(BUILD) build -DCMAKE_BUILD_TYPE=Release -DGPUTALLY_WERROR=$(WERROR) product

deps: ## install the packages that building needs; GROUP="build test" names other groups of scripts/packages.txt
	@scripts/install-packages $(GROUP)

report: deps build ## write a report of the example trace, or of TRACE=file, to REPORT=folder
	@name=$$(basename "$(TRACE)"); name=$${name%%.json*}; \
	build/gputally report "$(TRACE)" --output_csvs_dir "$(REPORT)" \
	    --output_xlsx_path "$(REPORT)/$${name%_results}_perf_report.xlsx"

test: GROUP = build $(shell scripts/test --packages "$(T)")
test: deps ## run all tests, or those of T=area or T=test; LONG=1 with all their cases
	@GPUTALLY_LONG_TESTS=$(LONG) $(RUN) scripts/test build $(JOBS) "$(T)" -DCMAKE_BUILD_TYPE=Release -DGPUTALLY_WERROR=$(WERROR)

# The tests under sanitizers and the fuzz targets are one build, because the library takes minutes to compile.
SANITIZED  = -DGPUTALLY_SANITIZE=ON -DGPUTALLY_FUZZ=ON -DGPUTALLY_WERROR=$(WERROR)

asan: GROUP = build fuzz $(shell scripts/test --packages "$(T)")
asan: deps ## run the unit and command-line tests under AddressSanitizer and UBSan; LEAKS=1 also checks for leaks
	@CC=clang ASAN_OPTIONS=detect_leaks=$(LEAKS) $(RUN) scripts/test --fast build-asan $(JOBS) "$(T)" $(SANITIZED)

tsan: GROUP = build test
tsan: deps ## run every command with several threads under ThreadSanitizer
	@$(BUILD) build-tsan -DGPUTALLY_TSAN=ON -DGPUTALLY_TESTS=OFF -DGPUTALLY_WERROR=$(WERROR) product
	@TSAN_OPTIONS=halt_on_error=1 $(RUN) python3 -m tests.threads.test_equal --bin build-tsan/gputally

mutants: GROUP = build test
mutants: deps ## count the small changes to AREA=index (findings, trust, input, output, procs, os) that its tests notice; SAMPLE=n
	@$(RUN) python3 -m tests.mutants.run --area $(AREA) --sample $(SAMPLE)

fuzz: GROUP = build fuzz
fuzz: deps ## run the fuzz targets, each for SECONDS=n (default 60)
	@CC=clang $(BUILD) build-asan $(SANITIZED) fuzz_targets
	@$(RUN) scripts/fuzz build-asan $(SECONDS) $(JOBS)

fuzz-coverage: GROUP = build fuzz coverage
fuzz-coverage: SECONDS = 2
fuzz-coverage: deps ## print the lines that the fuzz targets run, with SECONDS=n of fuzzing each (default 2); fails below 80 %
	@CC=clang $(BUILD) build-coverage -DGPUTALLY_FUZZ=ON -DGPUTALLY_COVERAGE=ON -DGPUTALLY_TESTS=OFF -DGPUTALLY_WERROR=$(WERROR) fuzz_targets
	@$(RUN) scripts/fuzz-coverage build-coverage $(SECONDS) $(JOBS)

bench: GROUP = build bench dist
bench: deps ## run the benchmarks: our time divided by that of a simdjson pass over the same file
	@$(BUILD) build-bench -DGPUTALLY_BENCH=ON -DGPUTALLY_TESTS=OFF -DGPUTALLY_WERROR=$(WERROR)
	@JOBS=$(JOBS) WERROR=$(WERROR) scripts/dist $(shell uname -m) >/dev/null
	@$(RUN) scripts/bench --bin build-bench/gputally --bench_dir build-bench

dist: GROUP = build dist $(OTHER)
dist: deps ## build release archives of the portable program for x86-64 and arm64 in build/dist
	@JOBS=$(JOBS) WERROR=$(WERROR) scripts/dist

install: build ## install program, libraries, header, man page, completion and old names under PREFIX (/usr/local)
	@$(RUN) cmake --install build --prefix $(abspath $(PREFIX)) >build/install.log || { cat build/install.log; exit 1; }

deb: GROUP = build deb
deb: deps ## build the Debian packages for this architecture in build/dist
	@JOBS=$(JOBS) scripts/make-deb build/dist

rpm: GROUP = build dist $(OTHER) rpm
rpm: deps dist ## build the rpm packages in build/dist: the program for both architectures, the library for this one
	@JOBS=$(JOBS) scripts/make-rpm build/dist

wheel: GROUP = build dist $(OTHER)
wheel: deps dist ## build the Python wheels for both architectures in build/dist
	@for archive in build/dist/gputally-*-linux-*.tar.gz; do scripts/make-wheel "$$archive" build/dist || exit 1; done
	@scripts/checksums build/dist

test-packages: GROUP = build test page dist $(OTHER) deb rpm packages
test-packages: deps build dist deb rpm wheel ## build all packages and test them in clean systems; needs root; T=deb tests one kind
	@$(RUN) python3 -m tests.packages.run --bin build/gputally --packages build/dist $(T)

format: GROUP = format
format: deps ## format the C code according to .clang-format
	@find src include tests -name '*.[ch]' -print0 | $(RUN) xargs -0 clang-format -i

clean: ## remove what was built, except packages unpacked under build/deps
	@rm -rf build-asan build-tsan build-mutants build-coverage build-bench build-x86-64 build-deb build-rpm
	@[ ! -d build ] || find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +

distclean: clean ## remove the unpacked packages as well
	@rm -rf build
