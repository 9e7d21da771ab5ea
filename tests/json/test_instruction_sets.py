#!/usr/bin/env python3
"""The instruction set of the JSON reader changes nothing: commands write the same bytes with each one that the processor has.

    python3 -m tests.json.test_instruction_sets --bin build/gputally [TEXT]      only commands with TEXT in their name

AVX-512 is compared only on a processor that has it; SVE2 runs in emulation elsewhere (json/test_record_sve2).
"""
import argparse
import os
import re
import sys
import tempfile

from tests.common.harness import FIXTURES, Tally, run
from tests.common.repeat_trace import write_repeated
from tests.threads import test_equal

SETS = ("scalar", "sse2", "avx2", "avx512", "neon", "sve2")
LONG = {"training_stack": 10, "collectives": 10}  # times


def usable_sets(program):
    """The sets that the program offers when it is asked for an unknown one."""
    refused = run([program, "--version"], env={**os.environ, "GPUTALLY_SIMD": "none"})
    offered = re.search(r"\(use (.*)\)", refused.stderr)
    return refused.code, offered.group(1).split(", ") if offered else []


def test_choice(program):
    code, sets = usable_sets(program)
    found = [] if code == 2 else [f"an unknown set gives exit code {code}"]
    if len(sets) < 2 or sets[0] != "scalar":
        found.append(f"no vectors: {sets}")
    for name in SETS:
        done = run([program, "--version"], env={**os.environ, "GPUTALLY_SIMD": name})
        if (done.code == 0) != (name in sets):
            found.append(f"{name}: exit code {done.code}, offered: {sets}")
    return found


def cases(folder):
    """name -> command line"""
    found = {**test_equal.real_cases()}
    for name, times in LONG.items():
        path = write_repeated(os.path.join(FIXTURES, "pytorch", name + ".json.gz"), os.path.join(folder, name + ".json"), times)
        found[name] = f"report {path} {test_equal.ALL_OUTPUTS}"
    rocprof = os.path.join(FIXTURES, "rocprof", "tiny_results.json")
    found["rocprof tiny"] = f"rocprof {rocprof} --kernel_details --short_kernel_study {test_equal.ALL_OUTPUTS}"
    return found


def differences(options, sets, words, out):
    first, found = None, []
    for name in sets:
        os.environ["GPUTALLY_SIMD"] = name
        result = test_equal.outcome(options, words, 2, out)
        del os.environ["GPUTALLY_SIMD"]
        if first is None:
            first = result
            if result[0] != 0 or not result[2]:
                return [f"exit code {result[0]}: {result[1][-300:]}"]
        elif result != first:
            changed = [file for file in result[2] if result[2][file] != first[2].get(file)]
            found.append(f"{name} differs from {sets[0]}: exit code {result[0]}, files {changed}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("text", nargs="?", default="")
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    tally = Tally()
    tally.add("choice", test_choice(options.bin))
    _, sets = usable_sets(options.bin)
    with tempfile.TemporaryDirectory(prefix="gputally-sets-") as folder:
        for name, words in cases(folder).items():
            if options.text in name:
                tally.add(name, differences(options, sets, words, os.path.join(folder, "out")))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
