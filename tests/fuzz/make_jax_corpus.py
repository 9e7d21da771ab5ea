#!/usr/bin/env python3
"""Writes the seeds of fuzz_xplane, fuzz_xla_dump and fuzz_chrome_stream: the small inputs of tests/jax/test_reports.py.

    python3 -m tests.fuzz.make_jax_corpus [CORPUS]
"""
import gzip
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
from tests.jax import test_reports as jax_reports

CORPUS = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
SEEDS = {
    "xplane/training": b"\x08" + jax_reports.training_profile(),
    "xplane/collectives": b"\x0a" + jax_reports.collective_profile(0),
    "xla_dump/collectives": jax_reports.DUMP.encode(),
    "chrome_stream/llama": b"\x01" + gzip.decompress(jax_reports.llama_trace("norm", 1)),
}
for name, data in SEEDS.items():
    jax_reports.write(os.path.join(CORPUS, name), data)
