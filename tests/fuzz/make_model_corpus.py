#!/usr/bin/env python3
"""Writes the seeds of the model fuzz target from tests/model/model_cases.txt: one per op, and others if they have other arguments.

    python3 -m tests.fuzz.make_model_corpus --fuzz_dir build-asan       adds to tests/fuzz/corpus/models/ what reaches new code
"""
import argparse
import os

from tests.fuzz import record_seeds

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = ("op", "dims", "types", "strides", "concrete", "extra", "annotation", "kernel")


def cases():
    with open(os.path.join(HERE, "..", "model", "model_cases.txt"), encoding="utf-8") as f:
        for paragraph in f.read().split("\n\n"):
            facts = {}
            for line in paragraph.splitlines():
                key, _, value = line.partition(" ")
                if not line.startswith("#"):
                    facts.setdefault(key, value.strip())
            if "op" in facts:
                yield facts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz_dir", required=True)
    options = parser.parse_args()
    seeds = {"\n".join(facts.get(key, "") for key in KEYS).encode() for facts in cases()}
    record_seeds.add_seeds(options.fuzz_dir, os.path.join(HERE, "corpus"), {"fuzz_models": seeds})


if __name__ == "__main__":
    main()
