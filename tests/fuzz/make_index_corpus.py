#!/usr/bin/env python3
"""Writes the seeds of fuzz_index: the records of indexes of small traces, without their checksums.

    python3 -m tests.fuzz.make_index_corpus --bin build/gputally
"""
import argparse
import os
import shutil
import tempfile

from tests.common import harness
from tests.fuzz.container import input_of, records

CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "index")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    os.makedirs(CORPUS, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="gputally-corpus-")
    for name in ("pytorch/known_shapes.json.gz", "pytorch/graph.json.gz", "pytorch/collectives.json.gz",
                 "rocprof/tiny_results.json"):
        trace = shutil.copy(os.path.join(harness.FIXTURES, name), folder)
        run = harness.run([binary, "report", trace, "--index", "auto", "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
        assert run.code == 0, run
        with open(trace + ".gtindex", "rb") as file:
            for key, sections in records(file.read()):
                kind = 0 if key.startswith("PyTorch") else 1 if key.startswith("rocprofv3") else 2
                text = bytes([kind]) + input_of(sections)
                with open(os.path.join(CORPUS, f"{os.path.basename(name).split('.')[0]}_{kind}"), "wb") as seed:
                    seed.write(text)
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
