#!/usr/bin/env python3
"""Writes the seeds of the model fuzz target from tests/model/model_cases.txt: one per kind of op.

    python3 -m tests.fuzz.make_model_corpus        writes tests/fuzz/corpus/models/
"""
import os
import re

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
    folder = os.path.join(HERE, "corpus", "models")
    os.makedirs(folder, exist_ok=True)
    written = set()
    for facts in cases():
        name = re.sub(r"\W+", "_", facts["op"])[:40]
        if name in written:
            continue
        written.add(name)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write("\n".join(facts.get(key, "") for key in KEYS))


if __name__ == "__main__":
    main()
