#!/usr/bin/env python3
"""Findings of many ranks: simulated training runs with known faults, one trace per rank.

    python3 -m tests.findings.test_ranks --bin build/debug/gputally

Expected gains are differences of step times: the run with faults and the same run without them, or with one of them.
"""
import csv
import json
import os
import sys

from tests.common.harness import Case, run, run_cases
from tests.findings.generate_parallel import generate, sharded
from tests.findings.planted import RANK_IDS, simulate, size

CHANCE_MS = 0.03  # by so much the same step of a repaired rank is longer or shorter than that of the median rank


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def report(binary, traces, out, *options):
    """All findings, and those that compare ranks."""
    outcome = run([binary, "report", traces, "--output_csvs_dir", out, *options])
    assert outcome.code == 0, outcome.stderr
    found = rows(os.path.join(out, "collective", "findings.csv"))
    assert [row["rank"] for row in found] == [str(i + 1) for i in range(len(found))]
    return found, [row for row in found if row["id"] in RANK_IDS], outcome.stdout


def check_sums(out):
    """The parts of a rank's step add up, and so do the causes of its idle time."""
    problems = []
    for row in rows(os.path.join(out, "collective", "rank_causes.csv")):
        parts = sum(float(row[name]) for name in ("compute_ms", "exposed_comm_ms", "exposed_wait_ms", "idle_ms"))
        causes = sum(float(value) for name, value in row.items() if name.startswith("idle_") and name != "idle_ms")
        if abs(parts - float(row["step_ms"])) > 1e-6 or abs(causes - float(row["idle_ms"])) > 1e-6:
            problems.append(f"rank {row['rank']}: {parts} of {row['step_ms']} ms, idle {causes} of {row['idle_ms']} ms")
    return problems


def compare(found, wanted):
    """`wanted` has (id, ranks, cause in the title, gain in ms after the repairs before it, gain alone) of each finding, in order."""
    problems = []
    if [(row["id"], row["ranks"]) for row in found] != [(w[0], w[1]) for w in wanted]:
        return [f"found {[(row['id'], row['ranks'], row['gain_ms']) for row in found]} instead of {wanted}"]
    for row, (_, _, cause, gain, alone) in zip(found, wanted):
        if cause not in row["title"]:
            problems.append(f"{cause!r} not in {row['title']!r}")
        if abs(float(row["gain_ms"]) - gain) > max(0.1 * gain, CHANCE_MS):
            problems.append(f"gain {row['gain_ms']} instead of {gain:.3f}: {row['title']}")
        if abs(float(row["gain_alone_ms"]) - alone) > max(0.1 * alone, CHANCE_MS):
            problems.append(f"gain alone {row['gain_alone_ms']} instead of {alone:.3f}: {row['title']}")
    return problems


def check_faults(binary, folder, setup):
    """One or several faults. Each expected finding names the faults that are repaired before it, and its own."""
    run_size, wanted = size(**setup["size"]), []
    faults = setup["faults"]
    truth = simulate(os.path.join(folder, "run"), run_size, faults)
    before = truth.window_ms()
    left = list(faults)
    for identity, ranks, cause, repaired in setup["wanted"]:
        left = [fault for fault in left if fault not in repaired]
        after = simulate(os.path.join(folder, "repaired"), run_size, left).window_ms()
        others = [fault for fault in faults if fault not in repaired]
        alone = truth.window_ms() - simulate(os.path.join(folder, "alone"), run_size, others).window_ms()
        wanted.append((identity, ranks, cause, before - after, alone))
        before = after
    out = os.path.join(folder, "out")
    _, found, shown = report(binary, os.path.join(folder, "run"), out)
    problems = compare(found, wanted) + check_sums(out)
    if wanted and not (shown.startswith("run: ") and found[0]["title"][:30] in shown.splitlines()[0]):
        problems.append(f"the terminal begins with {shown.splitlines()[0]!r}")
    if any(gain - alone > CHANCE_MS for *_, gain, alone in wanted) and "after the repairs before it, " not in " ".join(shown.split()):
        problems.append(f"the terminal does not say what the repairs gain alone: {shown[:1500]}")
    if not wanted and not shown.startswith("run: no rank, node or link stands out"):
        problems.append(f"the terminal begins with {shown.splitlines()[0]!r}")
    step = [row for row in rows(os.path.join(out, "collective", "overview.csv")) if row["name"] == "step_ms"][0]
    # The windows of the traces end where the last step begins; a rank that is not slow begins it earlier than the slow one.
    if abs(float(step["value"]) / truth.window_ms() - 1) > 0.04:
        problems.append(f"step {step['value']} instead of {truth.window_ms()} ms")
    late = max(float(row["late_ms"]) for row in rows(os.path.join(out, "collective", "rank_causes.csv")))
    if found and found[0]["id"] in ("straggler", "slow_node") and late < 0.97 * float(found[0]["gain_ms"]):
        problems.append(f"a gain of {found[0]['gain_ms']} ms, but no rank is late by more than {late} ms")
    problems += [f"not certain: {row['title']}" for row in found if row["id"] != "slow_link" and row["confidence"] != "high"]
    return problems


def check_same(binary, folder, fault):
    """The same bytes with any number of threads, and the same findings with clocks that differ by up to 5 ms."""
    simulate(os.path.join(folder, "run"), size(), [fault])
    simulate(os.path.join(folder, "shifted", "run"), size(clock_us=5000), [fault])
    problems, first = [], None
    for threads in (1, 2, 3, 8):
        out = os.path.join(folder, f"out{threads}")
        shown = report(binary, os.path.join(folder, "run"), out, "--threads", str(threads))[2].replace(out, "out")
        files = {}
        for name in sorted(os.listdir(os.path.join(out, "collective"))):
            with open(os.path.join(out, "collective", name), "rb") as file:
                files[name] = file.read()
        first = first or (shown, files)
        if (shown, files) != first:
            problems.append(f"{threads} threads give other results than 1")
    _, here, here_shown = report(binary, os.path.join(folder, "run"), os.path.join(folder, "a"))
    _, there, there_shown = report(binary, os.path.join(folder, "shifted", "run"), os.path.join(folder, "b"))
    for a, b in zip(here, there):
        if (a["id"], a["ranks"], a["where"], a["confidence"]) != (b["id"], b["ranks"], b["where"], b["confidence"]):
            problems.append(f"other clocks: {b['title']!r} instead of {a['title']!r}")
        if abs(float(a["gain_ms"]) - float(b["gain_ms"])) > 0.001:
            problems.append(f"other clocks: gain {b['gain_ms']} instead of {a['gain_ms']}")
    for found, shown in ((here, here_shown), (there, there_shown)):
        lines = shown.split("Ranks that the others wait for")[1].splitlines()
        listed, first = [int(line.split()[0]) for line in lines[2:10]], found[0]["ranks"]
        if found[0]["id"] == "straggler" and listed[0] != int(first) or sorted(listed) != list(range(8)):
            problems.append(f"the table begins with rank {listed[0]} instead of {first}")
    if len(here) != 1 or len(there) != 1:
        problems.append(f"{len(here)} and {len(there)} findings")
    return problems


def check_json(binary, folder):
    simulate(os.path.join(folder, "run"), size(), ["data:6:2"])
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_json", os.path.join(folder, "out/"), "-q"])
    assert outcome.code == 0, outcome.stderr
    with open(os.path.join(folder, "out", "collective.findings.json")) as file:
        found = json.load(file)
    first = found["findings"][0]
    problems = []
    if found["schema"] != "gputally-findings/1" or (first["id"], first["ranks"]) != ("straggler", "6"):
        problems.append(f"{found['schema']}: {first}")
    if len(found["sheets"]["rank_causes"]["rows"]) != 8:
        problems.append("rank_causes has not one row per rank")
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_md", os.path.join(folder, "out/"), "-q"])
    assert outcome.code == 0, outcome.stderr
    with open(os.path.join(folder, "out", "collective.findings.md")) as file:
        text = file.read()
    if "**rank 6 is late by" not in text or "8 ranks on 2 nodes, NVIDIA H200" not in text:
        problems.append(f"Markdown begins with {text[:300]!r}")
    # The simulator records no Python functions.
    checks = [(check["id"], check["level"]) for check in found["trust"]["checks"]]
    if checks != [("T8", "note")] or "\n\n- T8 note: all ranks: No Python functions" not in text:
        problems.append(f"reasons of the verdict: {checks}, Markdown {text[:600]!r}")
    hints = sum(row["confidence"] == "low" for row in found["findings"])
    if not hints or text.count(", hint): ") != hints:
        problems.append(f"{hints} hints, but Markdown marks {text.count(', hint): ')}")
    if os.path.exists(os.path.join(folder, "run", "nccl_analysis_report.xlsx")):
        problems.append("a workbook was written, too")
    return problems


def check_order(binary, folder):
    """Exposed communication counts without the waiting for a late rank, also in the order of findings."""
    generate(os.path.join(folder, "run"), sharded(), faults=[("op", 2, 500.0)])
    found, across, _ = report(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    own = [(row["id"], float(row["score"])) for row in found if row not in across and row["confidence"] != "low"]
    assert "exposed_comm" in dict(own) and len(own) > 2, own
    return [] if own == sorted(own, key=lambda item: -item[1]) else [f"not in the order of scores: {own}"]


# ---- process groups of their own ----

MIB = 1 << 20


def grouped_rank(rank, slow_group, slow_us):
    """A rank of four groups of two ranks. In each of 10 steps it computes 1 ms, then reduces 64 MiB in its group in 400 us,
    and in the group of all ranks 8 MiB; the next step needs both."""
    group = rank // 2
    events, now = [], 1000.0

    def add(category, name, start, dur, tid, **args):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 9, "tid": tid,
                       "ts": round(start, 3), "dur": round(dur, 3), "args": args})

    def launch(number, op, kernel, call, start, dur, stream, **args):
        add("cpu_op", op, call, 8, 9, **{"External id": number})
        add("cuda_runtime", "cudaLaunchKernel", call + 2, 4, 9, **{"External id": number, "correlation": number})
        add("kernel", kernel, start, dur, stream, **{"External id": number, "correlation": number, "stream": stream, "device": 0,
                                                     **args})

    def collective(name, ranks, elements):
        return {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": len(ranks),
                "dtype": "Float", "In split size": "[]", "Out split size": "[]", "Process Group Name": name,
                "Process Group Ranks": str(ranks)}

    for step in range(10):
        number, begin = 3 * step + 1, now
        launch(number, "aten::mm", "gemm", now, now + 6, 1000, 7)
        pair = 400 + (slow_us if group == slow_group else 0)
        launch(number + 1, "record_param_comms", "ncclDevKernel_AllReduce_pair", now + 10, now + 1008, pair, 20,
               **collective(f"pair{group}", [2 * group, 2 * group + 1], 16 * MIB))
        # The group of all waits for the slowest pair.
        ready, end = now + 1008 + pair, now + 1008 + 400 + slow_us + 100
        launch(number + 2, "record_param_comms", "ncclDevKernel_AllReduce_all", now + 20, ready, end - ready, 20,
               **collective("all", list(range(8)), 2 * MIB))
        add("cuda_runtime", "cudaStreamSynchronize", now + 30, end + 5 - now - 30, 9, correlation=1000 + step)
        now = end + 10
        add("user_annotation", f"ProfilerStep#{step}", begin, now - begin, 9)
    return {"distributedInfo": {"rank": rank, "world_size": 8}, "host_name": f"host{rank // 4}", "traceEvents": events}


def check_groups(binary, folder, slow_group, slow_us):
    """The link of one pair is slow: the others of its kind show what is usual."""
    os.makedirs(os.path.join(folder, "run"))
    for rank in range(8):
        with open(os.path.join(folder, "run", f"rank{rank}.json"), "w") as file:
            json.dump(grouped_rank(rank, slow_group, slow_us), file)
    _, found, _ = report(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    pair = f"{2 * slow_group}-{2 * slow_group + 1}"
    wanted = [("slow_link", pair, "other process groups", slow_us / 1000, slow_us / 1000)] if slow_us else []
    problems = compare(found, wanted)
    if found and found[0]["confidence"] != "high":
        problems.append(f"confidence {found[0]['confidence']}")
    return problems


# ---- cases ----

def fault(name, faults, wanted, **run_size):
    return Case(name, check_faults, {"faults": faults, "wanted": wanted, "size": run_size})


DATA, HOST, KERNEL, ALL = "its data loader takes", "its host launches work", "aten::mm takes", "all its kernels take"


def cases():
    yield Case("a slow link of one process group", check_groups, 2, 300)
    yield Case("process groups without a fault", check_groups, 2, 0)
    yield Case("order of other findings", check_order)
    yield fault("healthy", [], [])
    yield fault("healthy, other seed and clocks", [], [], seed=5, clock_us=5000)
    yield fault("healthy, 16 ranks on 2 nodes", [], [], ranks=16, per_node=8)
    for rank, ms in ((0, 1), (5, 0.3), (7, 5)):
        yield fault(f"op of rank {rank}, {ms} ms", [f"op:{rank}:{ms}"], [("straggler", str(rank), KERNEL, [f"op:{rank}:{ms}"])])
        yield fault(f"data of rank {rank}, {ms} ms", [f"data:{rank}:{ms}"],
                    [("straggler", str(rank), DATA, [f"data:{rank}:{ms}"])], clock_us=200)
    for rank, percent in ((0, 3000), (7, 10000)):
        yield fault(f"host of rank {rank}, {percent} %", [f"host:{rank}:{percent}"],
                    [("straggler", str(rank), HOST, [f"host:{rank}:{percent}"])])
    slow = ["node:3:20", "data:3:4"]
    yield fault("a rank for which the others wait longer than they compute", slow, [("straggler", "3", DATA, slow)], per_node=1)
    yield fault("host that is slow but fast enough", ["host:3:200"],
                [("slow_host", "3", "% slower than usual, which costs nothing now", ["host:3:200"])])
    for node, percent in ((0, 3), (1, 40)):
        ranks = ("0-3", "4-7")[node]
        yield fault(f"node {node}, {percent} %", [f"node:{node}:{percent}"],
                    [("slow_node", ranks, ALL, [f"node:{node}:{percent}"])], clock_us=5000)
    yield fault("one of four nodes", ["node:2:10"], [("slow_node", "8-11", ALL, ["node:2:10"])], ranks=16)
    for percent in (40, 100):
        yield fault(f"link, {percent} %", [f"link:0:{percent}"], [("slow_link", "all", "GB/s", [f"link:0:{percent}"])])
    yield fault("two ranks, one later", ["op:2:1", "data:6:3"], [("straggler", "6", DATA, ["data:6:3"]),
                                                                  ("straggler", "2", KERNEL, ["op:2:1"])])
    yield fault("two ranks, about as late for other reasons", ["op:2:3", "data:6:2.9"],
                [("straggler", "2", KERNEL, ["op:2:3"]), ("straggler", "6", DATA, ["data:6:2.9"])])
    yield fault("two ranks, equally late", ["data:1:2", "data:6:2"], [("straggler", "1, 6", DATA, ["data:1:2", "data:6:2"])])
    yield fault("two faults of one rank", ["op:3:1.5", "data:3:1.5"], [("straggler", "3", DATA, ["op:3:1.5", "data:3:1.5"])])
    yield fault("a rank and another node", ["node:1:10", "op:2:2"], [("straggler", "2", KERNEL, ["op:2:2"]),
                                                                      ("slow_node", "4-7", ALL, ["node:1:10"])])
    yield fault("a rank of a slow node", ["node:1:10", "op:6:2"], [("straggler", "6", KERNEL, ["op:6:2"]),
                                                                    ("slow_node", "4-7", ALL, ["node:1:10"])])
    yield fault("a rank and a link", ["link:1:60", "data:3:2"], [("straggler", "3", DATA, ["data:3:2"]),
                                                                  ("slow_link", "all", "GB/s", ["link:1:60"])])
    for planted in ("op:5:1", "data:5:1", "node:1:10", "link:0:60", "host:5:3000"):
        yield Case(f"threads and clocks, {planted}", check_same, planted)
    yield Case("JSON", check_json)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
