#!/usr/bin/env python3
"""Planted faults of simulated runs, many of them (planted.py): each kind in runs of different sizes, all pairs of kinds, mixtures
chosen at random, and runs without faults.

    python3 -m tests.findings.test_planted_many --bin build/debug/gputally

By default one of them; LONG=1 tries all, which takes minutes. test_planted is the short version."""
import itertools
import math
import random
import sys

from tests.common import harness
from tests.common.harness import Case, run_cases
from tests.findings.planted import check, size

SIZES = [size(), size(layers=12, seed=2, clock_us=500), size(ranks=16, per_node=8, layers=12, steps=2, seed=3, clock_us=500),
         size(ranks=16, per_node=1, layers=2, steps=4, seed=4), size(ranks=64, per_node=8, layers=6, seed=5, clock_us=500),
         size(ranks=8, per_node=8, layers=48, steps=2, seed=7)]
AMOUNTS = {"op": (0.2, 10), "data": (0.2, 20), "node": (2, 50), "host": (20, 10000), "link": (15, 400)}


def planted(run_size, *faults):
    name = ", ".join(faults) or "healthy"
    return Case(f"{name}: {' '.join(str(value) for value in run_size.values())}", check, run_size, list(faults))


def single_faults(run_size):
    last = run_size["ranks"] - 1
    last_node = last // run_size["per_node"]
    yield from (f"op:{last}:1", "op:3:5", "data:0:20", "data:2:0.3", "host:3:50", f"host:{last}:3000", "host:1:8000")
    if last_node:
        yield from (f"node:{last_node}:2", "node:0:5", f"node:{last_node}:30")
    yield from ("link:0:15", f"link:{last_node}:60", "link:0:300")


def pairs():
    """Different amounts, so that it is clear which one gains more."""
    first = ["op:0:1.5", "node:2:10", "link:0:150", "data:15:3", "host:7:3000"]
    yield from itertools.combinations(first, 2)
    for one, other in zip(first, ["op:9:0.8", "node:1:5", None, "data:4:1", "host:12:2000"]):
        if other:
            yield one, other


def mixture(rng):
    """Up to three faults of different ranks or nodes. Ranks that are equally late would be one finding, so each late rank is later
    than the one before by a factor."""
    run_size = size(rng.choice([8, 16, 32]), rng.choice([1, 2, 4]), rng.choice([2, 4, 8]), rng.choice([2, 3, 5]), rng.randrange(1000),
                    rng.choice([0, 500]))
    nodes = run_size["ranks"] // run_size["per_node"]
    kinds = rng.sample(list(AMOUNTS), rng.choice([1, 2, 3]))
    places = rng.sample(range(run_size["ranks"]), len(kinds))
    faults = []
    for kind, rank in zip(kinds, places):
        low, high = AMOUNTS[kind]
        amount = math.exp(rng.uniform(math.log(low), math.log(high)))
        if kind == "node" and (nodes < 4 or any(place // run_size["per_node"] == rank % nodes for place in places)):
            continue
        where = rank % nodes if kind == "node" else 0 if kind == "link" else rank
        faults.append(f"{kind}:{where}:{amount:.2f}")
    return planted(run_size, *faults)


def cases():
    yield planted(size(ranks=16, per_node=4, layers=6, clock_us=500), "op:0:1.5", "data:15:3")
    if not harness.LONG:
        return
    for run_size in SIZES:
        for seed in (1, 2, 3):
            yield planted({**run_size, "seed": seed})
        for fault in single_faults(run_size):
            yield planted(run_size, fault)
    for pair in pairs():
        for clock_us in (0, 500):
            yield planted(size(ranks=16, per_node=4, layers=6, clock_us=clock_us), *pair)
    yield planted(size(ranks=256, per_node=8, clock_us=500), "op:200:1")
    rng = random.Random(20)
    for _ in range(40):
        yield mixture(rng)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
