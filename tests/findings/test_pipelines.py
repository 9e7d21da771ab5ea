#!/usr/bin/env python3
"""Findings about ranks of pipelines and of exchanges between experts, on simulated runs. What a repair gains is the difference to
a run without the fault.

    python3 -m tests.findings.test_pipelines --bin build/gputally
"""
import argparse
import csv
import json
import os
import random
import sys
import tempfile

from tests.common import harness
from tests.findings.generate_parallel import generate, tensor_parallel
from tests.findings.small_cluster import Cluster

STAGES, REPLICAS, MICRO, STEPS = 4, 3, 4, 5
OF_RANKS = {"straggler", "slow_node", "slow_link", "slow_host", "uneven_stages", "slow_stage"}


def pipeline(ops=lambda stage: 4, longer=lambda rank: 1.0, data=lambda rank, step: 0.0):
    """All micro-batches forward, then all backward; gradients are reduced over the ranks of a stage."""
    ranks = STAGES * REPLICAS
    groups = {f"data{s}": list(range(s * REPLICAS, (s + 1) * REPLICAS)) for s in range(STAGES)}
    cluster = Cluster(ranks, groups, per_node=ranks)
    noise = random.Random(7)

    def program(step, rank):
        stage = rank // REPLICAS
        compute = lambda us: [("op", "aten::mm", us * longer(rank) * noise.uniform(0.99, 1.01)) for _ in range(ops(stage))]
        items = [("data", 100.0 + data(rank, step))]
        for _ in range(MICRO):
            items += [("recv", rank - REPLICAS, 1 << 18, 20.0)] if stage else []
            items += compute(100.0)
            items += [("send", rank + REPLICAS, 1 << 18, 20.0)] if stage + 1 < STAGES else []
        for _ in range(MICRO):
            items += [("recv", rank + REPLICAS, 1 << 18, 20.0)] if stage + 1 < STAGES else []
            items += compute(200.0)
            items += [("send", rank - REPLICAS, 1 << 18, 20.0)] if stage else []
        return items + [("collective", f"data{stage}", 1 << 20, 60.0), ("join",)]

    cluster.run(STEPS, program)
    return cluster


def experts(data=lambda rank: 0.0, splits="[8, 8, 8, 8]"):
    cluster = Cluster(4, per_node=4)
    noise = random.Random(3)
    exchange = {"In split size": splits, "Out split size": splits}
    mm = lambda us: ("op", "aten::mm", us * noise.uniform(0.99, 1.01))
    cluster.run(STEPS, lambda step, rank: [("data", 100.0 + data(rank)), mm(800.0), ("collective", "world", 32 * 1024, 50.0, "all_to_allv", exchange),
                                           ("join",), mm(600.0), ("collective", "world", 32 * 1024, 50.0, "all_to_allv", exchange), ("join",)])
    return cluster


def step_ms(cluster):
    """From the first kernel of the first step to that of the last one, the mean over ranks."""
    return sum(rank.step_starts[-1] - rank.step_starts[0] for rank in cluster.ranks) / len(cluster.ranks) / (STEPS - 1) / 1000


def report(binary, cluster, folder):
    traces, out = os.path.join(folder, "run"), os.path.join(folder, "out")
    cluster.write(traces)
    outcome = harness.run([binary, "report", traces, "--no_html", "-q", "--output_csvs_dir", out])
    assert outcome.code == 0, outcome.stderr
    sheets = {}
    for name in ("findings", "overview"):
        with open(os.path.join(out, "collective", name + ".csv"), newline="") as file:
            sheets[name] = list(csv.DictReader(file))
    return sheets


def check(binary, folder, fault, healthy, wanted):
    """wanted: (id, ranks) of the first finding; None: no finding names a rank, node or link."""
    sheets = report(binary, fault, folder)
    found = [row for row in sheets["findings"] if row["id"] in OF_RANKS and float(row["gain_ms"]) > 0]
    if wanted is None:
        return [f"{row['id']} {row['ranks']}: {row['title']}" for row in found if row["severity"] != "low"]
    truth = step_ms(fault) - step_ms(healthy)
    if not found or (found[0]["id"], found[0]["ranks"]) != wanted:
        return [f"{[(row['id'], row['ranks'], row['title']) for row in found]} instead of {wanted}"]
    gain = float(found[0]["gain_ms"])
    return [] if abs(gain - truth) <= 0.2 * truth else [f"gain {gain:.3f} instead of {truth:.3f} ms"]


def check_left_out(binary, folder):
    """Exchanges in which some ranks send nothing to others say nothing about who waits for whom."""
    cluster = experts(splits="[0, 16, 16, 0]")
    cluster.groups["rest"] = [0, 1, 2, 3]
    cluster.run(STEPS, lambda step, rank: [("op", "aten::mm", 300.0), ("collective", "rest", 1 << 18, 40.0), ("join",)])
    texts = " ".join(row["text"] for row in report(binary, cluster, folder)["overview"])
    return [] if "of the time in communication (all_to_allv) is not compared" in texts and "stands out" not in texts else [texts]


def check_unnamed(binary, folder, late_ms):
    """Kernels name no process group (PyTorch before 2.2): tensor parallelism of pairs of ranks, and gradients of every second one."""
    traces, out = os.path.join(folder, "run"), os.path.join(folder, "out")
    generate(traces, tensor_parallel(), faults=[("data", 5, 1000 * late_ms)] if late_ms else [])
    for name in os.listdir(traces):
        with open(os.path.join(traces, name), encoding="utf-8") as file:
            trace = json.load(file)
        for event in trace["traceEvents"]:
            for key in ("Process Group Name", "Process Group Ranks", "Process Group Description"):
                event.get("args", {}).pop(key, None)
        with open(os.path.join(traces, name), "w", encoding="utf-8") as file:
            json.dump(trace, file)
    done = harness.run([binary, "report", traces, "-q", "--no_html", "--output_csvs_dir", out])
    with open(os.path.join(out, "collective", "findings.csv"), encoding="utf-8") as file:
        found = [(row["ranks"], float(row["gain_ms"])) for row in csv.DictReader(file) if row["id"] in OF_RANKS]
    if not late_ms:
        return [f"of a healthy run: {found}"] if found else []
    return [] if len(found) == 1 and found[0][0] == "5" and abs(found[0][1] - late_ms) < 0.1 * late_ms else [f"{found} {done.stderr}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    tally = harness.Tally()
    healthy, even = pipeline(), experts()
    stage_of = lambda rank: rank // REPLICAS
    cases = [
        ("a healthy pipeline", pipeline, healthy, None),
        ("a slow GPU in a stage", lambda: pipeline(longer=lambda rank: 1.25 if rank == 4 else 1), healthy, ("straggler", "4")),
        ("a slow GPU in the last stage", lambda: pipeline(longer=lambda rank: 1.25 if rank == 11 else 1), healthy, ("straggler", "11")),
        ("a late loader", lambda: pipeline(data=lambda rank, step: 2000.0 if rank == 1 else 0), healthy, ("straggler", "1")),
        ("a stage with more layers", lambda: pipeline(ops=lambda stage: 7 if stage == 2 else 3), healthy, ("uneven_stages", "6-8")),
        ("a stage of slow GPUs", lambda: pipeline(longer=lambda rank: 1.3 if stage_of(rank) == 1 else 1), healthy, ("slow_stage", "3-5")),
        ("healthy experts", experts, even, None),
        ("a late loader of experts", lambda: experts(data=lambda rank: 1500.0 if rank == 2 else 0), even, ("straggler", "2")),
    ]
    for name, make, without, wanted in cases:
        with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
            tally.add(name, check(binary, folder, make(), without, wanted))
    for late_ms in (0, 4):
        with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
            tally.add(f"groups without names, {late_ms} ms late", check_unnamed(binary, folder, late_ms))
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        tally.add("exchanges that are left out", check_left_out(binary, folder))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
