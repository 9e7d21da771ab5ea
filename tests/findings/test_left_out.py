#!/usr/bin/env python3
"""Ranks that cannot be compared with the others: their steps are marked otherwise, records are lost, traces are copies or of other runs.

    python3 -m tests.findings.test_left_out --bin build/debug/gputally

In each run of small_cluster.py one rank is late, and the report has to say so in spite of the others.
"""
import os
import sys

from tests.common.harness import Case, run, run_cases
from tests.findings.small_cluster import Cluster
from tests.findings.test_across import sheets


def unmark(cluster, rank, name="ProfilerStep"):
    """Removes the marks of steps whose names begin so."""
    cluster.ranks[rank].records = [r for r in cluster.ranks[rank].records if not r["name"].startswith(name)]


def renumber(cluster, rank):
    for record in cluster.ranks[rank].records:
        record["name"] = record["name"].replace("ProfilerStep#", "ProfilerStep#10")


def copy_trace(cluster, rank, to):
    cluster.ranks[to].records = [dict(record) for record in cluster.ranks[rank].records]


def mix_in(cluster, *ranks):
    """Replaces traces by those of another run of the program, with slower kernels."""
    other = late_cluster(len(cluster.ranks), None, 700)
    for rank in ranks:
        cluster.ranks[rank].records = other.ranks[rank].records


def set_clock(cluster, ranks, seconds):
    cluster.clock = lambda rank, t: t + 50 * rank + 1e6 * seconds * (rank in ranks)


def late_cluster(ranks, late, compute=500.123):
    cluster = Cluster(ranks, clock=lambda rank, t: t + 50 * rank)
    cluster.run(5, lambda step, rank: [("op", "aten::mm", compute + 1.7 * rank + 900 * (rank == late)), ("collective", "world", 1 << 20, 90.4),
                                       ("op", "aten::mm", 200.2), ("collective", "world", 1 << 20, 60.3), ("join",)])
    return cluster


def check_left_out(binary, folder, change, ranks, level, why, late="0.90 ms per step"):
    """Rank 2 is late. Ranks that mean something else by a step, or are copies, are in no comparison, and the report says so."""
    cluster = late_cluster(4, 2)
    change(cluster)
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    problems = []
    checks = [(row["level"], row["ranks"]) for row in sheet("trust") if row["id"] == "T20"]
    if checks != [(level, ranks)]:
        problems.append(f"T20: {checks}")
    shown = run([binary, "report", os.path.join(folder, "run"), "--print"]).stdout
    if f"\n  T20 {level}: " not in shown.split("\n1. ")[0]:
        problems.append(f"the terminal does not say why: {shown[:600]}")
    overview = {row["name"]: row for row in sheet("overview")}
    if why not in overview["all_ranks"]["text"] or (overview["verdict"]["text"] == "do not trust") != (level == "fail"):
        problems.append(f"{overview['verdict']['text']}: {overview['all_ranks']['text']}")
    compared = [(row["id"], row["ranks"]) for row in sheet("findings") if row["id"] in ("straggler", "slow_node", "slow_link", "slow_host")]
    if compared != ([("straggler", "2")] if late else []) or (late or "") not in overview["all_ranks"]["text"]:
        problems.append(f"{compared}: {overview['all_ranks']['text']}")
    times = [float(row["step_ms"]) for row in sheet("rank_causes")]
    if max(times) > 1.01 * min(times) or abs(sum(times) / len(times) - float(overview["step_ms"]["value"])) > 1e-3:
        problems.append(f"step times: {times}")
    return problems


def check_mixed(binary, folder, change, ranks, why):
    """Half of the traces are of another run: the first ones count. JSON and Markdown say so, too."""
    cluster, path = late_cluster(4, 1), os.path.join(folder, "run")
    change(cluster)
    cluster.write(path)
    sheet = sheets(binary, path, os.path.join(folder, "out"), "--output_json", os.path.join(folder, "out"), "--output_md",
                   os.path.join(folder, "out"))
    problems = [f"{row['rank']}: {row['offset_us']} {row['note']}" for row in sheet("clock_offsets")
                if (row["offset_us"] == "") != (row["rank"] in ranks) or ("did not run together" in row["note"]) != (row["rank"] in ranks)]
    for name in ("collective.findings.json", "collective.findings.md"):
        with open(os.path.join(folder, "out", name)) as file:
            text = file.read()
        problems += [f"{wanted!r} is not in {name}" for wanted in (why, "do not trust") if wanted not in text]
    found = [(row["id"], row["ranks"]) for row in sheet("findings") if row["id"] in ("straggler", "slow_node", "slow_link", "slow_host")]
    compared = [row["rank"] for row in sheet("rank_causes")]
    return problems + ([] if found == [("straggler", "1")] and compared == ["0", "1"] else [f"{found}, {compared}"])


def check_two_runs(binary, folder):
    """Two ranks, two runs: nothing can be compared."""
    cluster = late_cluster(2, 1)
    mix_in(cluster, 1)
    cluster.write(os.path.join(folder, "run"))
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
    wanted = "there is no report of all ranks: rank 1 is not compared: between the same collectives it took another time than the others"
    return [] if outcome.code == 0 and wanted in outcome.stderr else [str(outcome)]


def check_wrong_clock(binary, folder):
    """A clock that is wrong by five minutes is a clock; `collective` names a trace of an hour later, too."""
    cluster, path = late_cluster(4, 2), os.path.join(folder, "run")
    set_clock(cluster, [1], 300)
    cluster.write(path)
    sheet = sheets(binary, path, os.path.join(folder, "out"))
    offsets = [float(row["offset_us"]) for row in sheet("clock_offsets")]
    problems = [] if abs(offsets[1] - 300000050) < 5 else [f"offsets {offsets}"]
    problems += [f"{row}" for row in sheet("trust") if row["id"] == "T20"]
    set_clock(cluster, [3], 3600)
    cluster.write(path)
    outcome = run([binary, "collective", "--trace_dir", path, "--output_csvs_dir", os.path.join(folder, "all"), "-q"])
    wanted = ("gputally: warning: rank 3: recorded 1.0 h after the others; traces of one run are recorded together, so this one is of "
              "another run, or clocks are wrong\n")
    return problems + ([] if outcome.code == 0 and outcome.stderr == wanted else [str(outcome)])


def check_lost_records(binary, folder, lost):
    """Rank 2 is late, and rank 1 lacks the records of some collectives: the others of the step are matched as they were."""
    cluster = late_cluster(4, 2)
    kernels = sorted((r for r in cluster.ranks[1].records if "Collective name" in r["args"]), key=lambda record: record["ts"])
    cluster.ranks[1].records = [r for r in cluster.ranks[1].records if not any(r is kernels[i] for i in lost)]
    cluster.write(os.path.join(folder, "run"))
    sheet = sheets(binary, os.path.join(folder, "run"), os.path.join(folder, "out"))
    problems = []
    numbers = sorted(int(row["index_in_group"]) for row in sheet("nccl_long") if row["rank"] == "1")
    if numbers != [i for i in range(len(kernels)) if i not in lost]:
        problems.append(f"collectives of rank 1: {numbers}")
    checks = [(row["id"], row["ranks"], "lack collectives" in row["text"]) for row in sheet("trust") if row["id"] in ("T19", "T20")]
    if checks != [("T19", "1", True)]:
        problems.append(f"checks: {checks}")
    first = sheet("findings")[0]
    if (first["id"], first["ranks"]) != ("straggler", "2") or "0.90 ms" not in first["title"] or not 0.85 < float(first["gain_ms"]) < 0.92:
        problems.append(f"{first['title']}, gain {first['gain_ms']}")
    return problems


def check_all_left_out(binary, folder):
    """Of two ranks one has no steps: nothing can be compared, and a warning says why."""
    cluster = late_cluster(2, 1)
    unmark(cluster, 1)
    cluster.write(os.path.join(folder, "run"))
    outcome = run([binary, "report", os.path.join(folder, "run"), "--output_csvs_dir", os.path.join(folder, "out"), "-q"])
    wanted = "there is no report of all ranks: rank 1 is not compared: it has no marked steps"
    return [] if outcome.code == 0 and wanted in outcome.stderr else [str(outcome)]


def cases():
    yield Case("a rank without steps", check_left_out, lambda c: unmark(c, 1), "1", "warn", "rank 1 is not compared: it has no marked steps")
    yield Case("one rank with steps", check_left_out, lambda c: [unmark(c, r) for r in (1, 2, 3)], "0", "warn",
               "rank 0 is not compared: it has marked steps", "4.51 ms per trace")
    yield Case("a lost mark", check_left_out, lambda c: unmark(c, 1, "ProfilerStep#5"), "1", "warn", "rank 1 is not compared: it lacks the mark")
    yield Case("other numbers of steps", check_left_out, lambda c: renumber(c, 1), "1", "warn", "rank 1 is not compared: none of its steps")
    yield Case("a copy of a trace", check_left_out, lambda c: copy_trace(c, 1, 2), "1-2", "fail",
               "ranks 1-2 are not compared: their traces have the same events, so one is a copy", None)
    yield Case("a trace of another run", check_left_out, lambda c: mix_in(c, 1), "1", "fail",
               "rank 1 is not compared: between the same collectives it took another time than the others, so its trace is of another run")
    yield Case("a trace of yesterday", check_left_out, lambda c: set_clock(c, [1], -86400), "1", "fail",
               "rank 1 is not compared: it was recorded 24.0 h before the others, so it is of another run, or clocks are wrong")
    yield Case("half of another run", check_mixed, lambda c: mix_in(c, 2, 3), "23", "between the same collectives they took another time")
    yield Case("half of last week", check_mixed, lambda c: set_clock(c, [2, 3], -7 * 86400), "23", "they were recorded up to 7.0 days before")
    yield Case("two ranks of two runs", check_two_runs)
    yield Case("a wrong clock", check_wrong_clock)
    for lost in ([2], [4], [5], [4, 5], [3, 6]):
        yield Case(f"lost records {lost}", check_lost_records, lost)
    yield Case("two ranks, one without steps", check_all_left_out)


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases()))
