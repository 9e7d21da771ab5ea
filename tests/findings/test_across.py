#!/usr/bin/env python3
"""What is seen only across ranks: clocks, critical path, slack, steps, traffic. Simulated runs whose truth is known.

    python3 -m tests.findings.test_across --bin build/debug/gputally

small_cluster.py simulates runs with process groups, clocks that drift and ranks that leave collectives at different times.
Runs with faults come from planted.py.
"""
import csv
import os
import random
import sys

from tests.common.harness import Case, run, run_cases
from tests.findings.planted import simulate, size
from tests.findings.small_cluster import Cluster


def sheets(binary, traces, out, *options):
    """A function that reads a sheet of the report of all ranks."""
    outcome = run([binary, "report", traces, "--output_csvs_dir", out, "-q", *options])
    assert outcome.code == 0, outcome.stderr

    def sheet(name):
        with open(os.path.join(out, "collective", name + ".csv"), newline="") as file:
            return list(csv.DictReader(file))
    return sheet


# ---- clocks ----

def check_offsets(rows, truth, most_error):
    """`truth(rank, at_us, reference)` is the true offset."""
    problems = []
    for row in rows:
        if row["offset_us"] == "":
            problems.append(f"rank {row['rank']}: unknown")
            continue
        wanted = truth(int(row["rank"]), float(row["at_us"]), int(row["reference_rank"]))
        if not abs(float(row["offset_us"]) - wanted) <= float(row["error_us"]):
            problems.append(f"rank {row['rank']}: {row['offset_us']} +- {row['error_us']} us instead of {wanted:.3f}")
        if float(row["error_us"]) > most_error:
            problems.append(f"rank {row['rank']}: error {row['error_us']} us, at most {most_error} expected")
    return problems


def check_simulated_clocks(binary, folder, ranks, seed):
    traces = os.path.join(folder, "run")
    shifts = simulate(traces, size(ranks=ranks, per_node=8, layers=3, steps=2, seed=seed, clock_us=500)).shift_us
    rows = sheets(binary, traces, os.path.join(folder, "out"))("clock_offsets")
    problems = check_offsets(rows, lambda rank, _, reference: shifts[rank] - shifts[reference], 2)
    if [row["rank"] for row in rows] != [str(rank) for rank in range(ranks)]:
        problems.append(f"ranks {[row['rank'] for row in rows]}")
    if any(row["drift_ppm"] for row in rows):
        problems.append("a drift where there is none")
    return problems


def one_collective(group_of):
    return lambda step, rank: [("op", "aten::mm", 500 + 50 * (rank % 3)), ("collective", group_of(step, rank), 1 << 20, 90), ("join",)]


def check_drift(binary, folder, jitter_us, drift_ppm, steps):
    """Exponential delays on leaving, with another mean on each rank, and clocks that run at different speeds."""
    rng = random.Random(7)
    shifts = [rng.uniform(-5000, 5000) for _ in range(6)]
    drifts = [drift_ppm * 1e-6 * d for d in (0, 1, -1, 0.5, 0.2, -0.8)]

    def clock(rank, t):
        return t + shifts[rank] + drifts[rank] * t

    cluster = Cluster(6, clock=clock, leaves=lambda rank: rng.expovariate(1 / (jitter_us * (0.5 + 0.2 * rank))))
    cluster.run(steps, one_collective(lambda step, rank: "world"))
    cluster.write(os.path.join(folder, "run"))
    rows = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("clock_offsets")

    def truth(rank, at, reference):
        t = (at - shifts[reference]) / (1 + drifts[reference])
        return clock(rank, t) - clock(reference, t)

    length = steps * 700  # of the run, in us; an unseen drift is part of the error
    problems = check_offsets(rows, truth, 1.1 + 12 * jitter_us + 1e-6 * drift_ppm * length / 10)
    for row in rows[1:]:
        true = 1e6 * (drifts[int(row["rank"])] - drifts[0])
        if row["drift_ppm"] and abs(float(row["drift_ppm"]) - true) > 0.15 * drift_ppm + 1:
            problems.append(f"rank {row['rank']}: drift {row['drift_ppm']} instead of {true:.1f} ppm")
        if not row["drift_ppm"] and abs(true) * 1e-6 * length > 10 * jitter_us + 10:
            problems.append(f"rank {row['rank']}: no drift instead of {true:.1f} ppm")
    return problems


def check_groups(binary, folder):
    """Ranks 0 and 1, 1 and 2, 3 and 4 share a group; rank 5 is alone."""
    shifts = [0, 250.5, -400.25, 1000, 1200.125, 77]
    groups = {"a": [0, 1], "b": [1, 2], "c": [3, 4], "d": [5]}
    cluster = Cluster(6, groups, clock=lambda rank, t: t + shifts[rank])
    # Rank 1 takes part in a, then in b.
    mine = {0: "a", 1: "ab", 2: "b", 3: "c", 4: "c", 5: "d"}

    def program(step, rank):
        items = [("op", "aten::mm", 300)]
        for group in mine[rank]:
            items += [("collective", group, 1 << 20, 80), ("op", "aten::add", 20)]
        return items + [("join",)]

    cluster.run(8, program)
    cluster.write(os.path.join(folder, "run"))
    rows = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("clock_offsets")
    problems = check_offsets(rows[:5], lambda rank, _, reference: shifts[rank] - shifts[reference], 3)
    if [(row["reference_rank"], row["hops"]) for row in rows] != [("0", "0"), ("0", "1"), ("0", "2"), ("3", "0"), ("3", "1"), ("", "")]:
        problems.append(f"references and hops: {[(row['reference_rank'], row['hops']) for row in rows]}")
    if rows[5]["offset_us"] or "shares no collective" not in rows[5]["note"]:
        problems.append(f"rank 5: {rows[5]}")
    return problems


def check_few(binary, folder):
    """Two collectives: the range of two differences says little, so the error is what causality allows, here the transfer."""
    shifts = [0, 40, -60]
    late = iter([0, 30, 5, 20, 0, 25])
    cluster = Cluster(3, clock=lambda rank, t: t + shifts[rank], leaves=lambda rank: next(late))
    cluster.run(2, one_collective(lambda step, rank: "world"))
    cluster.write(os.path.join(folder, "run"))
    rows = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("clock_offsets")
    problems = check_offsets(rows, lambda rank, _, reference: shifts[rank] - shifts[reference], 250)
    if any(float(row["error_us"]) < 80 or "causality" not in row["note"] for row in rows[1:]):
        problems.append(f"{[(row['error_us'], row['note']) for row in rows]}")
    return problems


def check_truncated(binary, folder):
    """A rank whose trace ends early; the others are compared over the whole run."""
    shifts = [0, 100, 200, -300]
    cluster = Cluster(4, clock=lambda rank, t: t + shifts[rank])
    cluster.run(10, one_collective(lambda step, rank: "world"))
    cut = cluster.ranks[0]
    last = sorted(r["ts"] for r in cut.records if r["cat"] == "kernel" and "Collective name" in r["args"])[6]
    cut.records = [record for record in cut.records if record["ts"] < last]
    cluster.write(os.path.join(folder, "run"))
    rows = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("clock_offsets")
    problems = check_offsets(rows, lambda rank, _, reference: shifts[rank] - shifts[reference], 4)
    if [(row["collectives_used"], row["collectives"]) for row in rows] != [("", "6"), ("6", "10"), ("6", "10"), ("6", "10")]:
        problems.append(f"collectives: {[(row['collectives_used'], row['collectives']) for row in rows]}")
    return problems


def begin_later(cluster, rank, steps):
    """Removes the first steps from the trace of a rank."""
    marks = sorted(r["ts"] for r in cluster.ranks[rank].records if r["name"].startswith("ProfilerStep"))
    cluster.ranks[rank].records = [r for r in cluster.ranks[rank].records if r["ts"] >= marks[steps]]


def check_later(binary, folder, also_shorter):
    """The traces of two ranks begin one and two steps later. If all others end earlier, all have as many collectives."""
    shifts = [0, 100, 200, -300, 50]
    cluster = Cluster(5, clock=lambda rank, t: t + shifts[rank])
    cluster.run(8, lambda step, rank: [("op", "aten::mm", 500 + 40 * step + 900 * (rank == 4)), ("collective", "world", 1 << 20, 90),
                                       ("op", "aten::mm", 200), ("collective", "world", 1 << 20, 60), ("join",)])
    begin_later(cluster, 1, 1)
    begin_later(cluster, 3, 2)
    if also_shorter:
        for rank in cluster.ranks:
            marks = sorted(r["ts"] for r in rank.records if r["name"].startswith("ProfilerStep"))
            end = (marks + [float("inf")])[6]
            rank.records = [r for r in rank.records if r["ts"] < end]
    cluster.write(os.path.join(folder, "run"))
    out = os.path.join(folder, "out")
    sheet = sheets(binary, os.path.join(folder, "run"), out, "--output_json", os.path.join(folder, "json") + os.sep)
    rows = sheet("clock_offsets")
    problems = check_offsets(rows, lambda rank, _, reference: shifts[rank] - shifts[reference], 3)
    if [row["rank"] for row in rows if "matched by the numbers of steps" in row["note"]] != ["1", "3"]:
        problems.append(f"notes: {[row['note'] for row in rows]}")
    checks = [row for row in sheet("trust") if row["id"] == "T19"]
    if [(row["level"], row["ranks"]) for row in checks] != [("warn", "1, 3")] or "numbers of steps" not in checks[0]["text"]:
        problems.append(f"T19: {checks}")
    first = sheet("findings")[0]
    if first["id"] != "straggler" or first["ranks"] != "4" or "0.90 ms" not in first["title"]:
        problems.append(first["title"])
    waits = [float(row["avg_wait_time"]) for row in sheet("nccl_implicit_sync")]
    if max(waits) > 1000:
        problems.append(f"ranks wait for another step: {waits}")
    return problems


def check_uneven(binary, folder):
    """A rank lacks collectives, and no step is marked: nothing says which ones."""
    cluster = Cluster(3)
    cluster.run(6, one_collective(lambda step, rank: "world"))
    begin_later(cluster, 2, 1)
    for rank in cluster.ranks:
        rank.records = [r for r in rank.records if not r["name"].startswith("ProfilerStep")]
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    problems = []
    checks = [row for row in sheet("trust") if row["id"] == "T19"]
    if [(row["level"], row["ranks"]) for row in checks] != [("warn", "2")] or "matched by their order" not in checks[0]["text"]:
        problems.append(f"T19: {checks}")
    notes = [row["note"] for row in sheet("clock_offsets")]
    if "another number of collectives" not in notes[2] or "number" in notes[0] + notes[1]:
        problems.append(f"notes: {notes}")
    line = next(row["text"] for row in sheet("overview") if row["name"] == "all_ranks")
    if "this may be wrong, because rank 2 has another number of collectives" not in line:
        problems.append(line)
    return problems


def check_not_compared(binary, folder):
    """Ranks can leave broadcasts early: there is no report of all ranks, and a warning says why."""
    cluster = Cluster(2)
    cluster.run(3, lambda step, rank: [("op", "aten::mm", 500), ("collective", "world", 1 << 20, 90, "broadcast"), ("join",)])
    cluster.write(os.path.join(folder, "run"))
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
    wanted = "ranks are not compared: no two of them share an all-reduce, reduce-scatter, all-gather or all-to-all"
    problems = [] if outcome.code == 0 and wanted in outcome.stderr and "(here: broadcast)" in outcome.stderr else [str(outcome)]
    if os.path.exists(os.path.join(folder, "out", "collective", "clock_offsets.csv")):
        problems.append("clocks are compared")
    return problems


# ---- steps ----

def check_steps(binary, folder):
    """Ranks whose first kernel of a step starts at different times, because their data loaders differ."""
    cluster = Cluster(5, begins=[0, 30, 60, 90, 200])
    data = {(0, 1): 700, (1, 3): 900, (2, 1): 800}

    def program(step, rank):
        return [("data", 100 + data.get((step, rank), 0)), ("op", "aten::mm", 400 + 10 * rank), ("collective", "world", 1 << 20, 90),
                ("join",), ("op", "aten::add", 30)]

    cluster.run(4, program)
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    times = [[(b - a) / 1000 for a, b in zip(rank.step_starts, rank.step_starts[1:])] for rank in cluster.ranks]
    problems = []

    def compare(what, row, wanted):
        for name, value in wanted.items():
            same = row[name] == value if isinstance(value, str) else abs(float(row[name]) - value) < 1e-6
            if not same:
                problems.append(f"{what}: {name} {row[name]} instead of {value}")

    steps = sheet("rank_steps")
    if len(steps) != 3:
        return [f"{len(steps)} steps"]
    slowest = []
    for i, row in enumerate(steps):
        of_step = [of_rank[i] for of_rank in times]
        ordered = sorted(of_step)
        slowest.append(of_step.index(max(of_step)))
        compare(f"step {i}", row, {"step": str(i + 3), "ranks": "5", "min_ms": ordered[0], "median_ms": ordered[2], "max_ms": ordered[4],
                                   "p95_ms": ordered[3] + 0.8 * (ordered[4] - ordered[3]), "spread_ms": ordered[4] - ordered[0],
                                   "slowest_rank": str(slowest[-1]), "node": f"host{slowest[-1] // 2}"})
    for rank, row in enumerate(sheet("rank_step_times")):
        own = times[rank]
        mean = sum(own) / 3
        compare(f"rank {rank}", row, {"rank": str(rank), "steps": "3", "mean_ms": mean, "min_ms": min(own), "max_ms": max(own),
                                      "sd_ms": (sum((t - mean) ** 2 for t in own) / 2) ** 0.5, "median_ms": sorted(own)[1],
                                      "times_slowest": str(slowest.count(rank))})
    return problems


# ---- communication matrix ----

def read_matrix(sheet):
    rows = sheet("communication_matrix")
    return [[float(row[f"to_{k}"]) for k in range(len(rows))] for row in rows], [row["name"] for row in rows]


def check_matrix(binary, folder):
    """Collectives of all kinds, with 4 bytes per element. MIB elements are 4 MB."""
    mib = 1 << 20
    cluster = Cluster(4, {"world": [0, 1, 2, 3], "left": [0, 1], "right": [2, 3], "ends": [0, 3], "alone": [2], "solo": [1]})
    splits = {0: [0, mib, 0, 3 * mib], 1: [mib, 5 * mib, 0, 0], 2: [0, 0, 0, 0], 3: [2 * mib, 0, 0, 0]}

    def program(step, rank):
        side = "left" if rank < 2 else "right"
        items = [("op", "aten::mm", 400), ("collective", "world", mib, 90),                     # 2 * 4 / 4 = 2 MB to each
                 ("collective", side, mib, 50, "_allgather_base", {"In msg nelems": mib // 2}),   # 4 / 2 = 2
                 ("collective", side, mib, 50, "_reduce_scatter_base", {"Out msg nelems": mib // 2}),  # 2
                 ("collective", "world", mib, 50, "all_to_all"),                                # 1
                 ("collective", "world", 2 * mib, 50, "broadcast"),                             # 8 / 4 = 2
                 ("collective", "world", mib, 50, "all_to_allv", {"In split size": str(splits[rank])})]
        if rank in (0, 3):
            items.append(("collective", "ends", 3 * mib, 50, "send" if rank == 3 else "recv"))    # 12 from rank 3 to rank 0
        if rank == 2 and step == 1:  # to one of four, but to which?
            items.append(("collective", "alone", mib, 50, "send", {"Process Group Name": "other", "Group size": 4}))
        if rank == 1:  # 2 MB to rank 2, in the group of all
            items.append(("collective", "solo", mib // 2, 50, "send", {"Process Group Name": "pipe", "Group size": 4, "Dst Rank": 2}))
        return items + [("join",), ("op", "aten::add", 30)]

    cluster.run(3, program)
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    found, names = read_matrix(sheet)
    wanted = [[0.0 if i == k else 2 + 1 + 2.0 for k in range(4)] for i in range(4)]
    for a, b in ((0, 1), (1, 0), (2, 3), (3, 2)):
        wanted[a][b] += 4
    for a, sizes in splits.items():
        for b, size in enumerate(sizes):
            wanted[a][b] += 4 * size / mib if a != b else 0
    wanted[3][0] += 12
    wanted[1][2] += 2
    problems = [] if found == wanted else [f"{found} instead of {wanted}"]
    if names != ["rank 0", "rank 1", "rank 2", "rank 3"]:
        problems.append(f"names {names}")
    uncounted = [row["value"] for row in sheet("overview") if row["name"] == "matrix_uncounted"]
    if [float(value) for value in uncounted] != [1]:
        problems.append(f"uncounted {uncounted}")
    return problems


def check_node_matrix(binary, folder):
    """66 ranks on 22 nodes: one all-reduce of 66 MB gives 2 MB for each pair of ranks."""
    cluster = Cluster(66, per_node=3)
    cluster.run(2, lambda step, rank: [("op", "aten::mm", 400), ("collective", "world", 66 << 18, 90), ("join",)])
    for rank in cluster.ranks:  # PyTorch writes the first ranks of a large group only
        for record in rank.records:
            if "Process Group Ranks" in record["args"]:
                record["args"]["Process Group Ranks"] = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]"
    cluster.write(os.path.join(folder, "run"))
    found, names = read_matrix(sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out")))
    wanted = [[6 * 2.0 if i == k else 9 * 2.0 for k in range(22)] for i in range(22)]
    problems = [] if found == wanted else [f"{found[:2]} instead of {wanted[:2]}"]
    if names != [f"host{i}" for i in range(22)]:
        problems.append(f"names {names}")
    return problems


# ---- critical path ----

def true_path(cluster, steps):
    """(rank, kind, name, from, to) of the window, in us: that of the rank on which the path comes to the first kernel of the
    last step, from its first kernel on."""
    last = max((rank.host for rank in cluster.ranks), key=lambda event: event.end)
    path = cluster.path(last)
    exits = [cluster.ranks[part[0]] for part in path
             if part[3] < cluster.ranks[part[0]].step_starts[steps - 1] <= part[4] and part[1] != "communication"]
    begin, end = exits[-1].step_starts[0], exits[-1].step_starts[steps - 1]
    return [(rank, kind, name, max(start, begin), min(stop, end)) for rank, kind, name, start, stop in path if stop > begin and start < end]


def check_path(binary, folder, seed, groups, ranks=4, steps=4):
    """Random durations on each rank and in each step. What is before the first op of the window is not seen, and supposed to be
    as at its end: so that is the same for all ranks."""
    rng = random.Random(seed)
    cluster = Cluster(ranks, groups, clock=lambda rank, t: t + 100 * rank)

    def program(step, rank):
        items = [("data", rng.choice((50, 50, 50, 900)) if 0 < step < steps - 1 else 50), ("op", "aten::addmm", rng.uniform(300, 600)), ("op", "aten::gelu", rng.uniform(20, 60))]
        for group in groups or ["world"]:
            if not groups or rank in groups[group]:
                items += [("op", "aten::mm", rng.uniform(200, 900)), ("op", "aten::add", rng.uniform(10, 40)),
                          ("collective", group, 1 << 20, 120)]
        return items + [("join",), ("op", "aten::_fused_adamw_", rng.uniform(80, 120) if step < steps - 2 else 100)]

    cluster.run(steps, program)
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    problems, wanted, found = [], {}, {}
    for rank, kind, name, start, stop in true_path(cluster, steps):
        key = (rank, kind, name if kind in ("compute", "communication") else "")
        wanted[key] = wanted.get(key, 0) + (stop - start) / 1000 / (steps - 1)
    rows = sheet("critical_path")
    for row in rows:
        if row["kind"] != "idle":
            key = (int(row["rank"]), row["kind"], row["op"] if row["kind"] in ("compute", "communication") else "")
            found[key] = found.get(key, 0) + float(row["ms"])
    for key in sorted(set(wanted) | set(found)):
        if abs(wanted.get(key, 0) - found.get(key, 0)) > 0.012:
            problems.append(f"{key}: {found.get(key, 0):.3f} instead of {wanted.get(key, 0):.3f} ms")
    idle = sum(float(row["ms"]) for row in rows if row["kind"] == "idle")
    if idle > 0.02 or abs(sum(float(row["share_pct"]) for row in rows) - 100) > 1e-6:
        problems.append(f"{idle} ms idle, all {sum(float(row['share_pct']) for row in rows)} %")
    return problems + check_segments(sheet, true_path(cluster, steps), cluster, steps, rows)


def check_segments(sheet, path, cluster, steps, sums):
    """Segments follow each other without gaps, and those of each step add up to its time."""
    segments, problems = sheet("critical_path_steps"), []
    for before, after in zip(segments, segments[1:]):
        if abs(float(before["to_ms"]) - float(after["from_ms"])) > 1e-9 or int(before["step"]) > int(after["step"]):
            problems.append(f"{before} is followed by {after}")
    total = sum(float(row["ms"]) for row in segments)
    if abs(total - (path[-1][4] - path[0][3]) / 1000) > 0.01:
        problems.append(f"{total} ms instead of {(path[-1][4] - path[0][3]) / 1000}")
    if abs(total - sum(float(row["ms"]) for row in sums) * (steps - 1)) > 1e-6:
        problems.append(f"the sums of critical_path are not those of the {total} ms of its steps")
    # A step begins with the first kernel of the rank that the path is on.
    begins = [path[0][3]]
    for step in range(1, steps):
        crossed = [cluster.ranks[part[0]].step_starts[step] for part in path
                   if part[3] < cluster.ranks[part[0]].step_starts[step] <= part[4] and part[1] != "communication"]
        begins.append(crossed[-1])
    for step in range(steps - 1):
        own = sum(float(row["ms"]) for row in segments if row["step"] == str(step + 3))
        if abs(own - (begins[step + 1] - begins[step]) / 1000) > 0.01:
            problems.append(f"step {step + 3}: {own} instead of {(begins[step + 1] - begins[step]) / 1000} ms")
    return problems


def traces_with(folder, ranks, steps, *faults):
    traces = os.path.join(folder, "run")
    simulate(traces, size(ranks=ranks, per_node=ranks // 2, layers=3, steps=steps), faults)
    return traces


def check_sums(binary, folder, ranks, steps, *faults):
    """The path takes as long as a step, and in each step as long as that step. One step alone ends with the trace: ranks begin
    it at different times, and the path takes as long as the longest one."""
    sheet = sheets(binary, traces_with(folder, ranks, steps, *faults), os.path.join(folder, "out"))
    problems, own = [], {}
    for row in sheet("critical_path_steps"):
        own[row["step"]] = own.get(row["step"], 0) + float(row["ms"])
    times = {row["step"]: (float(row["min_ms"]), float(row["max_ms"])) for row in sheet("rank_steps")}
    wanted = [float(row["value"]) for row in sheet("overview") if row["name"] == "step_ms"][0]
    if steps == 1:
        wanted = max(longest for _, longest in times.values())
    total = sum(float(row["ms"]) for row in sheet("critical_path"))
    if abs(total - wanted) > 0.01 * wanted:
        problems.append(f"a path of {total:.3f} ms in steps of {wanted:.3f} ms")
    if set(own) != set(times):
        problems.append(f"steps {sorted(own)} instead of {sorted(times)}")
    # With two causes the path may begin a step on one rank and end it on another one.
    for step, (shortest, longest) in times.items() if len(faults) < 2 else ():
        if not 0.99 * shortest <= own.get(step, 0) <= 1.01 * longest:
            problems.append(f"step {step}: {own.get(step, 0):.3f} ms instead of {shortest:.3f} to {longest:.3f}")
    return problems


def check_longest(binary, folder, steps, fault, begin):
    """No op is longer than usual: the sentence names what has most time."""
    sheet = sheets(binary, traces_with(folder, 4, steps, fault), os.path.join(folder, "out"))
    text = [row["text"] for row in sheet("overview") if row["name"] == "critical_path"][0]
    times = {}
    for row in sheet("critical_path"):
        key = row["op"] if row["kind"] == "communication" else (row["rank"], row["op"])
        times[key] = times.get(key, 0) + float(row["ms"])
    wanted = f"{begin}: {max(times.values()):.2f} ms of the critical path of "
    return [] if text.startswith(wanted) else [f"{text!r} instead of {wanted!r}"]


# ---- slack ----

def slack_program(longer):
    """Rank 0 is the slowest in the first collective of a step, rank 1 in the second one; `longer` has more time for
    (rank, op)."""
    us = {(0, "aten::addmm"): 900, (1, "aten::addmm"): 600, (2, "aten::addmm"): 400,
          (0, "aten::mm"): 300, (1, "aten::mm"): 800, (2, "aten::mm"): 350}

    def program(step, rank):
        def op(name):
            return ("op", name, us[rank, name] + longer.get((rank, name), 0))
        return [("data", 50), op("aten::addmm"), ("collective", "world", 1 << 20, 100), ("join",), op("aten::mm"),
                ("collective", "world", 1 << 20, 100), ("join",), ("op", "aten::_fused_adamw_", 40)]
    return program


def run_length(longer):
    cluster = Cluster(3)
    cluster.run(4, slack_program(longer))
    return max(rank.host.end for rank in cluster.ranks)


def check_slack(binary, folder):
    """By hand: rank 1 could spend 300 us more before the first collective, rank 2 500; before the second one rank 0 could
    spend 500 us more, rank 2 450. The simulation confirms that: that much more changes nothing, and 10 us more does."""
    cluster = Cluster(3)
    cluster.run(4, slack_program({}))
    cluster.write(os.path.join(folder, "run"))
    rows = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("slack")
    wanted = {(0, "aten::addmm"): 0, (1, "aten::addmm"): 300, (2, "aten::addmm"): 500,
              (0, "aten::mm"): 500, (1, "aten::mm"): 0, (2, "aten::mm"): 450}
    problems = []
    for (rank, op), slack in wanted.items():
        row = [row for row in rows if (row["rank"], row["op"]) == (str(rank), op)][0]
        if abs(float(row["slack_ms"]) - slack / 1000) > 0.003 or (row["on_critical_path"] == "True") != (slack == 0):
            problems.append(f"rank {rank}, {op}: {row} instead of {slack} us")
        if (float(row["critical_ms"]) > 0) != (slack == 0):
            problems.append(f"rank {rank}, {op}: {row['critical_ms']} ms of the path")
        usual = run_length({})
        if run_length({(rank, op): slack - 1}) > usual + 0.01 or run_length({(rank, op): slack + 10}) < usual + 8:
            problems.append(f"rank {rank}, {op}: {slack} us is not its slack")
    return problems


def check_sentence(binary, folder):
    """One op of a rank is longer than on the others."""
    cluster = Cluster(4)
    cluster.run(4, lambda step, rank: [("op", "aten::mm", 700), ("op", "aten::bmm", 300 + 500 * (rank == 2)),
                                       ("collective", "world", 1 << 20, 100), ("join",)])
    cluster.write(os.path.join(folder, "run"))
    facts = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))("overview")
    text = [row["text"] for row in facts if row["name"] == "critical_path"]
    # A step is 700 + 800 + 100 us, and 2 us until the host is back, then 5 us until the next kernel.
    wanted = "rank 2, aten::bmm: 0.80 ms of the critical path of 1.61 ms per step, 0.50 ms more than on the median rank"
    return [] if text == [wanted] else [f"{text} instead of {wanted!r}"]


# ---- input that nobody expects ----

def check_unmarked(binary, folder):
    """Without steps the window is the trace: its last op ends the path."""
    cluster = Cluster(3)
    cluster.run(3, lambda step, rank: [("op", "aten::mm", 500 + 100 * rank), ("collective", "world", 1 << 20, 100), ("join",),
                                       ("op", "aten::add", 30 + 20 * (rank == 1))])
    for rank in cluster.ranks:
        rank.records = [record for record in rank.records if not record["name"].startswith("ProfilerStep")]
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    found = {(row["rank"], row["op"]): float(row["ms"]) for row in sheet("critical_path") if row["kind"] in ("compute", "communication")}
    # aten::add of rank 0 or 1 precedes the slow aten::mm of rank 2: the host of rank 2 waits for its own one only.
    wanted = {("2", "aten::mm"): 2.1, ("2", "allreduce"): 0.3, ("2", "aten::add"): 0.06, ("1", "aten::add"): 0.05}
    problems = [f"{key}: {found.get(key)} instead of {ms} ms" for key, ms in wanted.items() if abs(found.get(key, 0) - ms) > 0.005]
    if any(row["step"] for row in sheet("critical_path_steps")) or sheet("rank_steps") or sheet("rank_step_times"):
        problems.append("steps without marks")
    return problems


def check_hostile(binary, folder):
    """Names that are no names, and numbers that make no sense: no crash, nothing that runs in the page, whole characters."""
    names = ["<script>alert(1)</script>", "\u00e9" * 20000, "a\nb\x1b[31m\"c'", "=1+1", "", "x" * 40000]
    cluster = Cluster(4, per_node=2)
    cluster.run(4, lambda step, rank: [("op", name, 100 + 300 * (rank == 3 and name == names[step % 2])) for name in names]
                + [("collective", "world", 1 << 20, 100), ("join",)])
    sizes = iter([{"Group size": 0}, {"Group size": -4}, {"Group size": 10 ** 18}, {"In msg nelems": 10 ** 18, "dtype": "<b>"},
                  {"Process Group Ranks": "[0, 99999999999, -1]"}, {"Process Group Ranks": "[[[["},
                  {"In split size": "[1, 2", "Collective name": "all_to_allv"}, {"Collective name": "<script>alert(1)</script>"}])
    for rank in cluster.ranks:
        for record in [record for record in rank.records if "Collective name" in record["args"]][:2]:
            record["args"].update(next(sizes))
    cluster.write(os.path.join(folder, "run"))
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_csvs_dir", os.path.join(folder, "out"),
                   "--output_html", os.path.join(folder, "pages/")])
    problems = outcome.problems()
    if "\x1b" in outcome.stdout or "Critical path: rank 3" not in outcome.stdout:
        problems.append(f"terminal: {outcome.stdout[:600]!r}")
    for where, _, files in os.walk(folder):
        for name in files:
            if name.endswith((".csv", ".html")):
                with open(os.path.join(where, name), "rb") as file:
                    text = file.read().decode()  # fails if it is no UTF-8
                if name.endswith(".html") and "<script>alert" in text:
                    problems.append(f"{name} contains a script of the trace")
    return problems


# ---- cases ----

def cases():
    yield Case("only broadcasts", check_not_compared)
    yield Case("traces that begin later", check_later, False)
    yield Case("traces that begin later and end later", check_later, True)
    yield Case("fewer collectives", check_uneven)
    yield Case("clocks, no jitter, no drift", check_drift, 0.001, 0, 20)
    yield Case("clocks, jitter", check_drift, 3, 0, 60)
    yield Case("clocks, jitter and drift", check_drift, 2, 80, 400)
    yield Case("clocks, drift that cannot be seen", check_drift, 4, 10, 40)
    yield Case("clocks, process groups", check_groups)
    yield Case("clocks, few collectives", check_few)
    yield Case("clocks, a truncated trace", check_truncated)
    for seed in (1, 2, 3, 4):
        yield Case(f"critical path, seed {seed}", check_path, seed, None)
    for seed in (5, 6, 7):
        yield Case(f"critical path through two groups, seed {seed}", check_path, seed, {"left": [0, 1], "right": [2, 3], "world": [0, 1, 2, 3]})
    yield Case("slack", check_slack)
    yield Case("sentence about the critical path", check_sentence)
    yield Case("a run without marked steps", check_unmarked)
    yield Case("hostile names and numbers", check_hostile)
    yield Case("times of steps", check_steps)
    yield Case("matrix of all kinds of collectives", check_matrix)
    yield Case("matrix of nodes", check_node_matrix)
    for fault in ("op:1:10", "data:1:20", "host:1:300", "node:1:20", "link:0:100"):
        for ranks, steps in ((2, 2), (8, 3), (4, 6)):
            yield Case(f"the path takes as long as a step, {fault}, {ranks} ranks, {steps} steps", check_sums, ranks, steps, fault)
    yield Case("the path takes as long as a step, one step", check_sums, 4, 1, "data:1:20")
    yield Case("the path takes as long as a step, two causes", check_sums, 8, 4, "data:1:5", "op:2:5")
    yield Case("the sentence names communication", check_longest, 3, "link:0:1000", "communication (allreduce)")
    yield Case("the sentence names what is before the first op", check_longest, 1, "data:1:20",
               "rank 1, enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")
    for ranks in (2, 8, 64):
        for seed in (1, 2, 3):
            yield Case(f"clocks of {ranks} ranks, seed {seed}", check_simulated_clocks, ranks, seed)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
