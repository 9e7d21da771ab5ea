#!/usr/bin/env python3
"""Writes the seeds of fuzz_xplane, fuzz_xla_dump and fuzz_chrome_stream: the small inputs of jax_reports.py.

    make_jax_corpus.py [CORPUS]
"""
import gzip
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
import jax_reports

CORPUS = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "corpus")
SEEDS = {
    "xplane/training": b"\x08" + jax_reports.training_profile(),
    "xplane/collectives": b"\x0a" + jax_reports.collective_profile(0),
    "xla_dump/collectives": jax_reports.DUMP.encode(),
    "chrome_stream/llama": b"\x01" + gzip.decompress(jax_reports.llama_trace("norm", 1)),
}
for name, data in SEEDS.items():
    jax_reports.write(os.path.join(CORPUS, name), data)
