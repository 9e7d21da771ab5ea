#!/usr/bin/env python3
"""Runs that are harder to compare: process groups of one name, no collective of all ranks, few steps, useless traces.

    python3 -m tests.findings.test_groups --bin build/debug/gputally

small_cluster.py and planted.py simulate the runs.
"""
import csv
import json
import os
import re
import sys

from tests.common.harness import Case, run, run_cases
from tests.findings.planted import simulate, size
from tests.findings.small_cluster import Cluster
from tests.findings.test_across import sheets


def check_equal_names(binary, folder, world):
    """Tensor-parallel pairs that are all called 1, and data-parallel groups across them, all called 2, or one of all ranks. The
    sheets are those of the same run with unique names, but for these names."""
    pairs = {f"tp{r}": [r, r + 1] for r in (0, 2, 4, 6)}
    across = {"world": list(range(8))} if world else {f"dp{k}": list(range(k, 8, 2)) for k in (0, 1)}
    outs = []
    for equal in (False, True):
        cluster = Cluster(8, {**pairs, **across}, clock=lambda rank, t: t + 100.5 * rank)
        cluster.run(5, lambda step, rank: [
            ("data", 2500 if rank == 5 else 100), ("op", "aten::mm", 300), ("collective", f"tp{rank - rank % 2}", 1 << 20, 80), ("join",),
            ("op", "aten::add", 200), ("collective", "world" if world else f"dp{rank % 2}", 1 << 22, 90), ("join",)])
        for record in [record for rank in cluster.ranks for record in rank.records if "Process Group Name" in record["args"]]:
            name, first = record["args"]["Process Group Name"], json.loads(record["args"]["Process Group Ranks"])[0]
            suffix = "" if equal or name == "world" else f":{first}"
            record["args"]["Process Group Name"] = ("1" if name.startswith("tp") else "2") + suffix
        traces, out = os.path.join(folder, f"run{equal}"), os.path.join(folder, f"out{equal}")
        cluster.write(traces)
        sheet = sheets(binary, traces, out)
        outs.append(out)
    problems = []
    if not sheet("findings")[0]["title"].startswith("rank 5 is late by 2.40 ms per step"):
        problems.append(f"findings: {sheet('findings')[:1]}")
    names = {row["Process Group Name"] for row in sheet("nccl_long")}
    if names != {"1:0", "1:2", "1:4", "1:6"} | ({"2"} if world else {"2:0", "2:1"}):
        problems.append(f"groups: {sorted(names)}")
    for name in sorted(os.listdir(os.path.join(outs[0], "collective"))):
        texts = [open(os.path.join(out, "collective", name)).read() for out in outs]
        if texts[0] != texts[1]:
            problems.append(f"{name} differs from that of unique names")
    for command in ([binary, "collective", "--trace_dir", traces, "--world_size", "8", "--output_csvs_dir", os.path.join(folder, "alone")],
                    [binary, "partial", traces, "-o", os.path.join(folder, "partials")],
                    [binary, "merge", os.path.join(folder, "partials"), "--output_csvs_dir", os.path.join(folder, "merged")]):
        outcome = run([*command, "-q"])
        if outcome.code or outcome.stderr:
            problems.append(f"{command[1]}: {outcome.code}, {outcome.stderr}")
    for part, sheet_name in (("alone", "nccl_implicit_sync.csv"), ("merged", "slack.csv")):
        path = os.path.join(folder, part, sheet_name)
        if not os.path.exists(path) or open(path).read() != open(os.path.join(outs[1], "collective", sheet_name)).read():
            problems.append(f"{part}/{sheet_name} differs from that of report")
    return problems


def two_ways(step, rank, late_us=0.0):
    """Tensor-parallel pairs in the forward pass, data-parallel groups across them in the backward pass: a delay of rank 5 in the
    backward pass reaches ranks of the other group in the next step."""
    return [("op", "aten::mm", 300), ("collective", f"tp{rank - rank % 2}", 1 << 20, 80), ("join",),
            ("op", "aten::mul", 500 + (late_us if rank == 5 else 0)), ("collective", f"dp{rank % 2}", 1 << 22, 90), ("join",)]


def check_felt_later(binary, folder, steps):
    """The step time and the gain are those of a long run, although half of the ranks feel the last delay after their window."""
    groups = {**{f"tp{r}": [r, r + 1] for r in (0, 2, 4, 6)}, **{f"dp{k}": list(range(k, 8, 2)) for k in (0, 1)}}

    def simulated(late_us, count):
        cluster = Cluster(8, groups)
        cluster.run(count, lambda step, rank: two_ways(step, rank, late_us))
        return cluster

    def step_ms(cluster):
        starts = cluster.ranks[0].step_starts
        return (starts[-1] - starts[1]) / (len(starts) - 2) / 1000

    simulated(2000.0, steps).write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    overview = {row["name"]: row for row in sheet("overview")}
    first = sheet("findings")[0]
    late, usual = step_ms(simulated(2000.0, 40)), step_ms(simulated(0.0, 40))
    figures = {"step": (float(overview["step_ms"]["value"]), late), "gain": (float(first["gain_ms"]), late - usual),
               "busy and idle": (float(overview["busy_ms"]["value"]) + float(overview["idle_ms"]["value"]), late),
               "path": (sum(float(row["ms"]) for row in sheet("critical_path")), late)}
    problems = [f"{name}: {value:.3f} ms instead of {wanted:.3f}" for name, (value, wanted) in figures.items()
                if abs(value - wanted) > 0.01 * wanted]
    if not first["title"].startswith("rank 5 is late by 2.00 ms"):
        problems.append(first["title"])
    return problems


def check_few_steps(binary, folder):
    """A late rank of two, in a window of one step: nothing says that this is chance, and nothing that it is not."""
    traces = os.path.join(folder, "run")
    simulate(traces, size(ranks=2, layers=2, steps=2, seed=26), ["node:0:31.6", "data:1:1.69"])
    sheet = sheets(binary, traces, os.path.join(folder, "out"))
    texts = {row["name"]: row["text"] for row in sheet("overview")}
    wanted = "ms longer than on the median rank, but 1 step is too few to tell whether that is chance: record more steps"
    return [] if texts["all_ranks"].endswith(wanted) and "1.69 ms more" in texts["critical_path"] else [f"{texts}"]


def check_part_on_path(binary, folder):
    """Two ranks of a slow node take turns on the path, so that each is on it with less than it takes longer."""
    traces = os.path.join(folder, "run")
    simulate(traces, size(ranks=12, layers=8), ["node:0:115.8"])
    sheet = sheets(binary, traces, os.path.join(folder, "out"))
    text = next(row["text"] for row in sheet("overview") if row["name"] == "critical_path")
    said = re.fullmatch(r"rank (\d+), (\S+): ([\d.]+) ms of .* per step, of ([\d.]+) ms in all, ([\d.]+) ms more than on the median rank", text)
    if not said:
        return [text]
    on_path = next(row for row in sheet("critical_path") if (row["rank"], row["op"]) == said.group(1, 2))
    in_all = next(row for row in sheet("slack") if (row["rank"], row["op"]) == said.group(1, 2))
    wanted = [f"{float(value):.2f}" for value in (on_path["ms"], in_all["ms"], on_path["longer_ms"])]
    return [] if list(said.group(3, 4, 5)) == wanted else [f"{text!r} instead of {wanted}"]


def check_useless_traces(binary, folder):
    """Ranks 4 and 7 have traces without events on nodes of their own, rank 5 has none, that of rank 6 is truncated."""
    traces = os.path.join(folder, "run")
    cluster = Cluster(8, {"world": [0, 1, 2, 3], "rest": [4, 5, 6, 7]}, per_node=2)
    cluster.run(4, lambda step, rank: [("op", "aten::mm", 300), ("collective", "world" if rank < 4 else "rest", 1 << 20, 80), ("join",)])
    cluster.write(traces)
    for rank in (4, 7):
        with open(os.path.join(traces, f"rank{rank}_trace.json"), "w") as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": 8}, "host_name": f"host{rank}", "traceEvents": []}, file)
    os.truncate(os.path.join(traces, "rank6_trace.json"), 5000)
    os.remove(os.path.join(traces, "rank5_trace.json"))
    outcome = run([binary, "report", traces, "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
    with open(os.path.join(folder, "out", "collective", "overview.csv"), newline="") as file:
        figures = {row["name"]: row["value"] for row in csv.DictReader(file)}
    with open(os.path.join(folder, "out", "collective", "clock_offsets.csv"), newline="") as file:
        notes = [row["note"] for row in csv.DictReader(file)][4:]
    alone = "unknown: it shares no collective with another rank"
    problems = [] if float(figures["nodes"]) == 2 else [f"{figures['nodes']} nodes"]
    unread = "unknown: it has no trace, or one that ends early or is damaged"
    wanted = [alone, unread, unread, alone]
    return problems if notes == wanted else problems + [f"notes: {notes}, {outcome.stderr}"]


def check_uneven_groups(binary, folder):
    """In two groups, a rank has one collective less than the other."""
    cluster = Cluster(4, {"left": [0, 1], "right": [2, 3]})
    cluster.run(3, lambda step, rank: [("op", "aten::mm", 300), ("collective", "left" if rank < 2 else "right", 1000, 80), ("join",)])
    for rank in (1, 3):
        records = cluster.ranks[rank].records
        records.remove([record for record in records if "Collective name" in record["args"]][-1])
    cluster.write(os.path.join(folder, "run"))
    outcome = run([binary, "collective", "--trace_dir", os.path.join(folder, "run"), "--world_size", "4", "--output_csvs_dir",
                   os.path.join(folder, "out"), "-q"])
    wanted = "process group left: different numbers of collectives: rank 0 has 3, rank 1 has 2 (and so in 1 other group); "
    return [] if wanted in outcome.stderr else [outcome.stderr]


def check_disagreeing(binary, folder):
    """Ranks 2 and 3 disagree on the size of one collective per step: the sheet trust says so."""
    cluster = Cluster(4, {"left": [0, 1], "right": [2, 3], "world": [0, 1, 2, 3]})
    cluster.run(3, lambda step, rank: [("op", "aten::mm", 300), ("collective", "left" if rank < 2 else "right", 1000 + rank // 3, 80),
                                       ("join",), ("op", "aten::mm", 100), ("collective", "world", 1 << 20, 90), ("join",)])
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    checks = [row for row in sheet("trust") if row["id"] == "T21"]
    verdict = [row["text"] for row in sheet("overview") if row["name"] == "verdict"]
    if [(row["level"], float(row["value"]), row["ranks"]) for row in checks] != [("warn", 3, "2-3")]:
        return [f"trust: {checks}"]
    return [] if verdict == ["usable with care"] else [f"verdict: {verdict}"]


def cases():
    yield Case("different process groups of one name", check_equal_names, False)
    yield Case("different process groups of one name, and one of all ranks", check_equal_names, True)
    yield Case("ranks disagree on a collective", check_disagreeing)
    yield Case("different numbers of collectives in two groups", check_uneven_groups)
    yield Case("nodes and clocks of ranks without usable traces", check_useless_traces)
    for steps in (2, 3, 6):
        yield Case(f"a delay that some ranks feel a step later, {steps} steps", check_felt_later, steps)
    yield Case("few steps do not tell chance", check_few_steps)
    yield Case("only a part of what is longer is on the path", check_part_on_path)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
