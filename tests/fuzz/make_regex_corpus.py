#!/usr/bin/env python3
"""Writes the seeds of fuzz_regex from the patterns of tests/compat/regex_cases.txt.

    python3 -m tests.fuzz.make_regex_corpus --fuzz_dir build-asan       adds to tests/fuzz/corpus/regex/ what reaches new code

A seed is the length of the pattern as one byte, the pattern, and the text that is searched.
"""
import argparse
import json
import os

from tests.fuzz import record_seeds

CASES = os.path.join(record_seeds.ROOT, "tests", "compat", "regex_cases.txt")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz_dir", required=True)
    options = parser.parse_args()
    seeds = set()
    with open(CASES, encoding="utf-8") as f:
        for line in f:
            pattern, text, *_ = json.loads(line)
            pattern = pattern.encode(errors="surrogatepass")
            if len(pattern) < 256:
                seeds.add(bytes([len(pattern)]) + pattern + str(text).encode(errors="surrogatepass"))
    record_seeds.add_seeds(options.fuzz_dir, os.path.join(record_seeds.HERE, "corpus"), {"fuzz_regex": seeds})


if __name__ == "__main__":
    main()
