#!/usr/bin/env python3
"""Writes the seeds of fuzz_index: the records of indexes and partials of small traces, without their checksums.

    python3 -m tests.fuzz.make_index_corpus --bin build/gputally

To be run again when what is kept changes: what is loaded from older seeds is rejected early.
"""
import argparse
import glob
import json
import os
import shutil
import tempfile

from tests.common import harness
from tests.fuzz import make_corpus, make_pytorch_corpus
from tests.fuzz.container import input_of, records
from tests.rocprof import generate_run

CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "index")
PYTORCH, ROCPROF, TABLES, COMPARED = range(4)  # see the target


def write_seed(name, kind, sections):
    with open(os.path.join(CORPUS, f"{name}_{kind}"), "wb") as seed:
        seed.write(bytes([kind]) + input_of(sections))


def index_seeds(binary, trace, folder, with_tables):
    run = harness.run([binary, "report", trace, "--index", "auto", "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
    assert run.code == 0, run
    with open(trace + ".gtindex", "rb") as file:
        for key, sections in records(file.read()):
            kind = PYTORCH if key.startswith("PyTorch") else ROCPROF if key.startswith("rocprofv3") else TABLES
            if kind != TABLES or with_tables:
                write_seed(os.path.basename(trace).split(".")[0], kind, sections)


def compared_seed(binary, trace, folder):
    parts = os.path.join(folder, "parts")
    run = harness.run([binary, "compare", trace, trace, "--names", "a", "b", "--partials", parts, "--output_html", os.path.join(folder, "p.html"), "-q"])
    assert run.code == 0, run
    with open(glob.glob(os.path.join(parts, "*.gtpart"))[0], "rb") as file:
        for _, sections in records(file.read()):
            write_seed(os.path.basename(trace).split(".")[0], COMPARED, sections)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    os.makedirs(CORPUS, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gputally-corpus-") as folder:
        traces = [shutil.copy(os.path.join(harness.FIXTURES, name), folder) for name in (
            "pytorch/known_shapes.json.gz", "pytorch/graph.json.gz", "pytorch/collectives.json.gz", "rocprof/tiny_results.json")]
        traces += [os.path.join(folder, name + ".json") for name in ("run", "samples", "products")]
        generate_run.write_json(generate_run.make_run(4, processes=2), traces[-3])
        for path, trace in ((traces[-2], make_corpus.with_samples()), (traces[-1], make_pytorch_corpus.gemms())):
            with open(path, "w") as file:
                json.dump(trace, file)
        for trace in traces[:-1]:
            index_seeds(binary, trace, folder, with_tables=trace not in traces[-3:])
        compared_seed(binary, traces[-1], folder)


if __name__ == "__main__":
    main()
