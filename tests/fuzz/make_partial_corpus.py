#!/usr/bin/env python3
"""Writes the seeds of fuzz_partial: the partials of two ranks, without their checksums.

    python3 -m tests.fuzz.make_partial_corpus --bin build/gputally
"""
import argparse
import json
import os
import struct
import tempfile

from tests.common import harness
from tests.fuzz import make_command_corpus
from tests.fuzz.container import input_of, records
from tests.partial import generate_ranks

CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "partial")
SEEDS = {"steps": (lambda rank: generate_ranks.trace(rank, 2, steps=3), []),
         "extra": (lambda rank: generate_ranks.trace(rank, 2, steps=2), ["--extra"]),
         "kinds": (lambda rank: make_command_corpus.rank_trace(rank, range(2)), [])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    os.makedirs(CORPUS, exist_ok=True)
    for name, (trace, options) in SEEDS.items():
        with tempfile.TemporaryDirectory(prefix="gputally-corpus-") as folder:
            parts = []
            for rank in range(2):
                path = os.path.join(folder, f"rank{rank}.json")
                with open(path, "w") as file:
                    json.dump(trace(rank), file)
                run = harness.run([binary, "partial", path, "-q", *options])
                assert run.code == 0, run
                with open(path + ".gtpart", "rb") as file:
                    parts += [input_of(sections) for _, sections in records(file.read())]
        with open(os.path.join(CORPUS, name), "wb") as seed:
            seed.write(struct.pack("<I", len(parts[0])) + b"".join(parts))


if __name__ == "__main__":
    main()
