# The front door: each target installs the Debian packages it needs (scripts/packages.txt), then lets CMake build.
# `make help` lists the targets.

TRACE     ?= examples/transformer_training.json.gz
REPORT    ?= build/report
SECONDS   ?= 60
# Looking for leaks takes seconds a program, in some sandboxes minutes for all.
LEAKS     ?= 0
PREFIX    ?= /usr/local
JOBS      ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE      = cmake -S . -Wno-dev
BUILD      = cmake --build
# The x86-64 code is tested in emulation where the machine is another one.
CROSS     := $(if $(filter x86_64,$(shell uname -m)),,cross)

.DEFAULT_GOAL := build
.PHONY: help build report test asan fuzz bench install format clean

help: ## this list
	@echo "Usage: make [target] [NAME=value ...]"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

build: ## the optimised program, build/gputally (the default)
	@scripts/install-packages build
	@mkdir -p build
	@$(CMAKE) -B build -DCMAKE_BUILD_TYPE=Release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@$(BUILD) build -j$(JOBS) --target gputally_bin gputally_static gputally_shared manual -- --no-print-directory

report: build ## a report from the example trace, or from TRACE=file, into REPORT=folder
	@name=$$(basename "$(TRACE)"); name=$${name%%.json*}; \
	build/gputally report "$(TRACE)" --output_csvs_dir "$(REPORT)" \
	    --output_xlsx_path "$(REPORT)/$${name%_results}_perf_report.xlsx"

test: build ## all tests
	@scripts/install-packages test $(CROSS)
	@scripts/test build $(JOBS)

asan: ## the unit tests and command-line tests under AddressSanitizer and UBSan; LEAKS=1 looks for leaks as well
	@scripts/install-packages build test
	@$(CMAKE) -B build-asan -DGPUTALLY_SANITIZE=ON -DGPUTALLY_TESTS=ON >/dev/null
	@$(BUILD) build-asan -j$(JOBS) -- --no-print-directory
	@ASAN_OPTIONS=detect_leaks=$(LEAKS) scripts/test --unit build-asan $(JOBS)

fuzz: ## the fuzz targets, SECONDS=n each (60 unless told)
	@scripts/install-packages build fuzz
	@CC=clang $(CMAKE) -B build-fuzz -DGPUTALLY_FUZZ=ON -DGPUTALLY_TESTS=OFF >/dev/null
	@$(BUILD) build-fuzz -j$(JOBS) --target fuzz_targets -- --no-print-directory
	@scripts/fuzz build-fuzz $(SECONDS)

bench: ## the benchmarks: our time over a simdjson pass of the same file
	@scripts/install-packages build bench
	@$(CMAKE) -B build-bench -DGPUTALLY_BENCH=ON -DGPUTALLY_TESTS=OFF >/dev/null
	@$(BUILD) build-bench -j$(JOBS) -- --no-print-directory
	@scripts/bench --bin build-bench/gputally --bench_dir build-bench

install: build ## program, libraries, header, man page, completion and old names under PREFIX (/usr/local)
	@cmake --install build --prefix $(abspath $(PREFIX))

format: ## lays out the C code by .clang-format
	@scripts/install-packages format
	@find src include tests -name '*.[ch]' -print0 | xargs -0 clang-format -i

clean: ## removes what was built
	rm -rf build build-asan build-fuzz build-bench build-x86-64
