#!/usr/bin/env python3
"""Writes the seeds of fuzz_sweep_kept: what sweeps keep of small traces, without checksums.

    python3 -m tests.fuzz.make_sweep_kept_corpus --bin build/gputally
"""
import argparse
import glob
import os
import tempfile

from tests.common import harness
from tests.fuzz.container import input_of, records
from tests.fuzz.make_sweep_corpus import classic, lay_out

CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "sweep_kept")
KINDS = (("measures", ["decide"], "tracelens_analysis/.gputally/*.gtindex"), ("report", ["report", "--partials", "p"], "../p/**/*"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    os.makedirs(CORPUS, exist_ok=True)
    home = os.getcwd()
    for name, more in (("steps", {"steps": 3}), ("plain", {"marked": False})):
        with tempfile.TemporaryDirectory(prefix="gputally-corpus-") as folder:
            os.chdir(folder)
            lay_out("s", classic(300), **more)
            for kind, (what, words, pattern) in enumerate(KINDS):
                done = harness.run([binary, "sweep", *words, "s", "-q"], cwd=folder)
                assert done.code == 0, done
                path, = [path for path in glob.glob("s/" + pattern, recursive=True) if os.path.getsize(path) > 8192]
                with open(path, "rb") as file:
                    (_, sections), = [(key, found) for key, found in records(file.read()) if not key.startswith("PyTorch")]
                with open(os.path.join(CORPUS, f"{what}_{name}"), "wb") as seed:
                    seed.write(bytes([kind]) + input_of(sections))
            os.chdir(home)


if __name__ == "__main__":
    main()
