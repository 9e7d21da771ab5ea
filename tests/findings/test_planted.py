#!/usr/bin/env python3
"""Planted faults of simulated runs are the first findings, with rank or node, cause, size and gain (planted.py).

    python3 -m tests.findings.test_planted --bin build/debug/gputally

test_planted_many has more sizes, seeds and mixtures."""
import json
import os
import re
import sys

from tests.common.harness import Case, run_cases
from tests.findings.generate_parallel import generate, sharded, tensor_parallel
from tests.findings.planted import GAIN_CHANCE_MS, RANK_IDS, check, is_near, report, simulate, size
from tests.findings.small_cluster import Cluster


def check_names(binary, folder, names, late, part):
    """Nodes of one rack are slow: the names of nodes say so."""
    run_size = size(ranks=2 * len(names), per_node=2, layers=2)
    traces = os.path.join(folder, "run")
    simulate(traces, run_size, [f"node:{node}:10" for node in late])
    for rank in range(run_size["ranks"]):
        path = os.path.join(traces, f"rank{rank}_trace.json")
        with open(path) as file:
            trace = json.load(file)
        trace["host_name"] = names[rank // 2]
        with open(path, "w") as file:
            json.dump(trace, file)
    first = report(binary, traces, os.path.join(folder, "out"))[0]
    told = [item for item in first["evidence"] if "in their names" in item]
    if part is None:
        return [f"names told: {told}"] if told or first["id"] != "slow_node" else []
    wanted = f"{len(late)} late nodes have {part} in their names and no other node has"
    return [] if len(told) == 1 and wanted in told[0] else [f"{wanted!r} not in {first['evidence']}"]


def check_unnamed(binary, folder, unnamed, ids, ranks):
    """Some traces do not name their machine: the ranks of a slow node are found all the same."""
    traces = os.path.join(folder, "run")
    simulate(traces, size(ranks=12, per_node=4, layers=2), ["node:1:20"])
    for rank in unnamed:
        path = os.path.join(traces, f"rank{rank}_trace.json")
        with open(path) as file:
            trace = json.load(file)
        del trace["host_name"]
        with open(path, "w") as file:
            json.dump(trace, file)
    found = [one for one in report(binary, traces, os.path.join(folder, "out")) if one["id"] in RANK_IDS]
    right = [one["id"] for one in found] == ids and found[0]["ranks"] == ranks and re.search("all its kernels take (19|20)", found[0]["title"])
    return [] if right else [f"{ids} of {ranks} wanted: {[(one['id'], one['title']) for one in found]}"]


def check_expected(binary, folder):
    """A link that is 20 % slower than the network should be, which is slower than usual."""
    traces, out = os.path.join(folder, "run"), os.path.join(folder, "out")
    healthy = simulate(os.path.join(folder, "healthy"), size(), ["link:0:100"]).window_ms()
    slow = simulate(traces, size(), ["link:0:140"]).window_ms()
    first = report(binary, traces, out, "--expected_bus_gbps", "150")[0]
    problems = []
    if first["id"] != "slow_link" or "take 20 % longer than expected and reach 125 instead of 150" not in first["title"]:
        problems.append(first["title"])
    if first["confidence"] != "high" or abs(first["gain_ms"] - (slow - healthy)) > 0.01:
        problems.append(f"confidence {first['confidence']}, gain {first['gain_ms']} instead of {slow - healthy:.3f}")
    if report(binary, traces, out, "--expected_bus_gbps", "125")[0]["id"] == "slow_link":
        problems.append("a network that reaches what is expected is slow")
    return problems


def check_most(binary, folder, faults, ranks, text):
    """Most ranks are late: the few others show what is usual."""
    traces = os.path.join(folder, "run")
    late = simulate(traces, size(), faults).window_ms()
    healthy = simulate(os.path.join(folder, "healthy"), size()).window_ms()
    findings = report(binary, traces, os.path.join(folder, "out"))
    first = [found for found in findings if found["id"] in ("straggler", "slow_node")]
    problems = [] if sorted(found["ranks"] for found in first) == ranks else [f"{[found['title'] for found in first]}"]
    problems += [f"{text!r} not in {found['title']!r}" for found in first if text not in found["title"]]
    gain = sum(found["gain_ms"] for found in first)
    if abs(gain - (late - healthy)) > 0.1 * (late - healthy):
        problems.append(f"gains of {gain} instead of {late - healthy:.3f} ms")
    return problems


def check_half(binary, folder, run_size, faults, ranks):
    """Half of the ranks or more are late: they are named, and their repair gains what the faults cost."""
    traces = os.path.join(folder, "run")
    late = simulate(traces, run_size, faults).window_ms()
    healthy = simulate(os.path.join(folder, "healthy"), run_size).window_ms()
    found = [one for one in report(binary, traces, os.path.join(folder, "out")) if one["id"] in RANK_IDS]
    if [one["ranks"] for one in found] != ranks:
        return [f"ranks {ranks} wanted: {[one['title'] for one in found]}"]
    gain = sum(one["gain_ms"] for one in found)
    return [] if is_near(gain, late - healthy, GAIN_CHANCE_MS) else [f"gains of {gain} instead of {late - healthy:.3f} ms"]


def first_line(binary, folder, run_size, faults):
    """What the report says first about all ranks."""
    traces, out = os.path.join(folder, "run"), os.path.join(folder, "out")
    simulate(traces, run_size, faults)
    report(binary, traces, out)
    with open(os.path.join(out, "collective.findings.json")) as file:
        rows = json.load(file)["sheets"]["overview"]["rows"]
    return next(row[3] for row in rows if row[0] == "all_ranks")


def check_first_line(binary, folder, run_size, faults, *wanted):
    line = first_line(binary, folder, run_size, faults)
    return [f"{text!r} not in {line!r}" for text in wanted if text not in line]


PARALLEL = {"op": "aten::mm takes ", "data": "its data loader takes ", "gpu": "aten::mm takes ", "host": "launches work ",
            "link": "collectives take "}


def check_parallel(binary, folder, program, faults, ranks, numbers):
    """Runs with several process groups, or with weights that are gathered ahead. `numbers`: the amounts in the titles."""
    late = generate(os.path.join(folder, "run"), program, faults=faults, clock_us=500).window_ms()
    healthy = generate(os.path.join(folder, "healthy"), program, clock_us=500).window_ms()
    found = [one for one in report(binary, os.path.join(folder, "run"), os.path.join(folder, "out")) if one["id"] in RANK_IDS]
    if [one["ranks"] for one in found] != ranks:
        return [f"ranks {ranks} wanted: {[one['title'] for one in found]}"]
    problems = []
    for one, (kind, _, _), wanted in zip(found, faults, numbers):
        number = re.search(PARALLEL[kind] + r"([\d.]+) ", one["title"])
        if not number or not is_near(float(number[1]), wanted, 0.03):
            problems.append(f"{wanted} wanted: {one['title']}")
    gain = sum(one["gain_ms"] for one in found)
    if not is_near(gain, late - healthy, GAIN_CHANCE_MS):
        problems.append(f"gains of {gain:.3f} instead of {late - healthy:.3f} ms")
    return problems


def check_rounded(binary, folder):
    """The stream of a collective becomes free just before its data is ready, and rounded times have the data ready just after it
    has begun: nobody is late."""
    cluster = Cluster(4)

    def program(step, rank):
        us = 100.0006 if rank == 0 else 100.0
        return [("op", "aten::mm", 1000.0006), *[item for _ in range(4) for item in (("op", "aten::mm", us), ("collective", "world", 1000, 90))],
                ("join",)]
    cluster.run(4, program)
    cluster.write(os.path.join(folder, "run"))
    found = [one["title"] for one in report(binary, os.path.join(folder, "run"), os.path.join(folder, "out")) if one["id"] in RANK_IDS]
    return [f"nobody is late: {found}"] if found else []


def first_of_cluster(binary, folder, cluster, steps, program):
    cluster.run(steps, program)
    cluster.write(os.path.join(folder, "run"))
    return report(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))[0]


def check_unconnected(binary, folder):
    """Two groups that share no rank: the repair of a rank makes the step of its group shorter, not half of that."""
    first = first_of_cluster(binary, folder, Cluster(8, {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}), 4, lambda step, rank: [
        ("op", "aten::mm", 1500 if rank == 1 else 1000), ("collective", "ab"[rank // 4], 1000, 90), ("join",)])
    right = first["ranks"] == "1" and is_near(first["gain_ms"], 0.5, 0)
    return [] if right else [f"rank 1 and 0.5 ms wanted: {first['title']!r}, {first['gain_ms']:.3f} ms"]


def check_once(binary, folder):
    """A rank is late in one step of five: that is not said to be so in each."""
    first = first_of_cluster(binary, folder, Cluster(4), 6, lambda step, rank: [
        ("op", "aten::mm", 3000 if rank == 1 and step == 2 else 1000), ("collective", "world", 1000, 90), ("join",)])
    wanted = "rank 1 is late once, by 2.00 ms in step 5 (0.40 ms per step)"
    return [] if first["title"].startswith(wanted) else [f"{wanted!r} wanted: {first['title']!r}"]


def planted(*faults, **options):
    run_size = size(**options)
    name = ", ".join(faults) or "healthy"
    return Case(f"{name}: {' '.join(str(value) for value in run_size.values())}", check, run_size, list(faults))


def parallel_cases():
    for name, program in (("pairs", tensor_parallel()), ("sharded weights", sharded())):
        def case(what, faults, ranks, numbers):
            return Case(f"{name}, {what}", check_parallel, program, faults, ranks, numbers)

        yield case("healthy", [], [], [])
        yield case("op", [("op", 3, 800)], ["3"], [0.8])
        yield case("data", [("data", 7, 500)], ["7"], [0.5])
        yield case("gpu", [("gpu", 2, 10)], ["2"], [0.88 if name == "pairs" else 0.8])
        busy_ms = 9.0 if name == "pairs" else 8.2  # of aten::mm per step
        yield case("gpu of half the speed", [("gpu", 2, 50)], ["2"], [0.5 * busy_ms])
        yield case("slow node", [("gpu", rank, 30) for rank in range(4, 8)], ["4-7"], [0.3 * busy_ms])
        yield case("slow host that is fast enough", [("host", 5, 100)], ["5"], [100])
        percent = 8000 if name == "pairs" else 3000
        yield case("slow host", [("host", 5, percent)], ["5"], [percent])
        yield case("much longer op", [("op", 6, 3000)], ["6"], [3])
        yield case("two ranks", [("op", 3, 800), ("data", 6, 600)], ["3", "6"], [0.8, 0.6])
    yield Case("pairs, the link of one", check_parallel, tensor_parallel(), [("link", (2, 3), 50)], ["2-3"], [50])


def cases():
    yield from parallel_cases()
    yield Case("rounded times", check_rounded)
    yield Case("groups that share no rank", check_unconnected)
    yield Case("late once", check_once)
    yield planted(seed=3, clock_us=500)
    yield planted(ranks=16, per_node=8, seed=4, steps=2)
    yield planted("op:0:0.1")
    yield planted("data:7:0.2", layers=12, clock_us=500)
    yield planted("host:3:50")
    yield planted("host:1:8000", seed=2, clock_us=500)
    yield planted("node:15:2", ranks=16, per_node=1, layers=2, steps=4)
    yield planted("link:1:15")
    yield planted("link:0:300")
    yield planted("op:7:2", "data:1:1.9", clock_us=500)
    yield planted("data:1:3", "node:1:5")
    yield planted("host:6:3000", "link:0:60", clock_us=500)
    yield planted("host:6:400", "op:2:1")
    yield planted("link:0:150", "node:0:4")
    yield planted("op:2:3", "op:6:1")
    for seed in range(3):  # so few steps that other ranks or their hosts may be slow by chance
        yield planted("data:1:8.45", ranks=6, layers=6, steps=2, seed=seed)
        yield planted("node:0:10", ranks=18, per_node=16, layers=1, steps=2, seed=seed)
        yield planted("node:0:14.5", "link:0:95", ranks=5, per_node=3, layers=2, steps=2, seed=seed)
    late = [f"data:{rank}:3" for rank in range(8) if rank != 3]
    yield Case("all ranks but one", check_most, late, ["0-2", "4-7"], "its data loader takes 3.00 ms longer than on the fastest")
    two = size(ranks=2, per_node=1, layers=4, steps=4)
    for fault in ("op:1:20", "op:1:1", "data:1:5", "node:1:20"):
        yield Case(f"one of two ranks, {fault}", check_half, two, [fault], ["1"])
    one_node = size(ranks=8, per_node=8, layers=4, steps=4)
    yield Case("half of the ranks", check_half, one_node, [f"op:{rank}:3" for rank in range(4, 8)], ["4-7"])
    yield Case("five of eight ranks", check_half, one_node, [f"op:{rank}:3" for rank in range(3, 8)], ["3-7"])
    yield Case("two of four ranks", check_half, size(ranks=4, per_node=1, layers=4, steps=4), ["op:1:3", "data:2:2"], ["1", "2"])
    yield Case("two of four ranks, one collective", check_half, size(ranks=4, layers=1, steps=2, seed=7), ["op:1:2", "op:2:2"], ["1-2"])
    yield Case("one step", check_first_line, size(ranks=6, per_node=1, layers=6, steps=1, seed=8117), ["data:1:20"],
               "rank 1 is late by 20.0", "its data loader takes 20.00 ms longer than on the median rank")
    yield Case("equally late", check_first_line, size(ranks=16, per_node=8, layers=2, steps=3), ["op:1:3", "data:2:3"],
               "rank 1 is late by 3.0", "rank 2 is late by 3.0", "together up to about ")
    racks = ["rack1-node1", "rack3-node2", "rack31-node3", "rack3-node4"]
    yield Case("racks in names", check_names, racks, [1, 3], "rack3")
    yield Case("racks in domains", check_names, ["n1.r1.net", "n2.r3.net", "n3.r1.net", "n4.r3.net"], [1, 3], "r3.net")
    yield Case("names that say nothing", check_names, ["node1", "node2", "node3", "node4"], [1, 3], None)
    yield Case("no names of nodes", check_unnamed, range(12), ["straggler"], "4-7")
    yield Case("a name is missing", check_unnamed, [9], ["slow_node"], "4-7")
    yield Case("expected bandwidth", check_expected)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
