#!/usr/bin/env python3
"""`gputally sweep compare`: two runs of a synthetic sweep (generate_sweep.py) and hand-written reports. Expected values are computed by
hand from the rules, and with pandas for the sweep."""
import math
import os
import shutil
import sys

from tests.sweep import generate_sweep
from tests.common.harness import Case, files_under, run, run_cases
from tests.sweep.generate_sweep import read_workbook, write_workbook


def compare(binary, folder, *options, code=0):
    done = run([binary, "sweep", "compare", *options], cwd=folder)
    return done, ([] if done.code == code else [f"exit code {done.code}, not {code}: {done.stderr}"])


def near(what, got, wanted):
    alike = len(got) == len(wanted) and all(
        math.isclose(a, b, rel_tol=1e-13, abs_tol=1e-300) if isinstance(b, (int, float)) and isinstance(a, (int, float)) else a == b
        for a, b in zip(got, wanted))
    return [] if alike else [f"{what}: {got!r}, not {wanted!r}"]


def same(what, got, wanted):
    return [] if got == wanted else [f"{what}: {got!r}, not {wanted!r}"]


def check_several_tests(binary, folder):
    """Each test is compared with the baseline, and all runs are side by side."""
    generate_sweep.lay_out(os.path.join(folder, "s"), ranks=(0, 1))
    run([binary, "sweep", "report", "s"], cwd=folder)
    base, first, second = "s/256thread/nccl_28channels", "s/512thread/nccl_28channels", "s/512thread/nccl_42channels"
    problems = []
    for number, tests in enumerate((["--test", first, "--test", second], ["--test", first, second])):
        done, more = compare(binary, folder, "--baseline", base, *tests, "-o", f"out{number}")
        problems += more + same("files", sorted(files_under(os.path.join(folder, f"out{number}"))), sorted(
            ["final_analysis_report_for_all.xlsx"] + [f"512thread_{c}ch/{name}.xlsx" for c in (28, 42) for name in (
                "gpu_timeline_comparison", "collective_comparison", "final_analysis_report")]))
    _, more = compare(binary, folder, "--baseline", base, "--test", first, "-o", "alone")
    problems += more
    for name in ("gpu_timeline_comparison", "collective_comparison", "final_analysis_report"):
        problems += same(name, read_workbook(os.path.join(folder, f"out0/512thread_28ch/{name}.xlsx")),
                         read_workbook(os.path.join(folder, f"alone/{name}.xlsx")))
    book = read_workbook(os.path.join(folder, "out0/final_analysis_report_for_all.xlsx"))
    runs = ("256thread_28ch", "512thread_28ch", "512thread_42ch")
    problems += same("sheets", list(book), ["Summary", "Per_Rank_Time_ms", "NCCL_Summary"])
    problems += same("columns", list(book["Summary"][0]), ["type"] + [f"{name}_{run}" for run in runs for name in ("time ms", "percent", "num_ranks")] + [
        f"percentage_change_{run}" for run in runs[1:]])
    busy = {row[0]: row for row in book["Summary"]}
    problems += near("changes", busy["busy_time"][-2:], [3.872333988803155, 5.611859022837411])
    problems += same("no change of nothing", busy["exposed_memcpy_time"][-2:], (None, None))
    problems += same("ranks", list(book["Per_Rank_Time_ms"][0]), ["type"] + [f"{rank}_{run}" for run in runs for rank in (0, 1)])
    heads = list(book["NCCL_Summary"][0])
    latency = [heads.index(f"comm_latency_mean_{run}") for run in runs]
    collectives = {row[0]: [row[i] for i in latency] for row in book["NCCL_Summary"][1:]}
    problems += same("collectives", sorted(collectives), ["_allgather_base_67108864", "allreduce_1048576", "allreduce_2048"])
    # 200 + threads / 10; 100 + channels minus the start of rank 1, which is 2 us later than that of rank 0
    problems += near("gather", collectives["_allgather_base_67108864"], [225.6, 251.2, 251.2])
    problems += near("reduce", collectives["allreduce_1048576"], [128, 128, 142])
    done, more = compare(binary, folder, "--baseline", base, "--test", first, base, base, "-o", "equal", "--test-label", "x")
    problems += more + same("labels", [name for name in ("x", "256thread_28ch_2", "256thread_28ch_3") if not os.path.isdir(
        os.path.join(folder, "equal", name))], [])
    done, more = compare(binary, folder, "--baseline", base, "--test", first, "-o", "y", "--test-label", "a", "b", code=2)
    return problems + more


def check_sweep(binary, folder):
    generate_sweep.lay_out(os.path.join(folder, "s"), ranks=(0, 1))
    run([binary, "sweep", "report", "s"], cwd=folder)
    done, problems = compare(binary, folder, "--baseline", "s/256thread/nccl_28channels", "--test", "s/512thread/nccl_28channels/",
                             "-o", "out", "--baseline-label", "B", "--test-label", "T")
    timelines = read_workbook(os.path.join(folder, "out/gpu_timeline_comparison.xlsx"))
    problems += same("sheets", list(timelines), ["Summary", "All_Ranks_Combined", "Per_Rank_Time_ms", "Per_Rank_Percent", "Comparison_By_Rank",
                                                 "Summary_Comparison"])
    rows = timelines["Comparison_By_Rank"]
    problems += same("columns", list(rows[0]), ["rank", "type", "B_time_ms", "T_time_ms", "diff_time_ms", "percent_change", "status", "ratio",
                                                "B_percent", "T_percent", "diff_percent"])
    problems += near("first row", rows[1], [0, "busy_time", 0.6610999999999767, 0.6866999999999535, 0.02559999999997675, -3.872333988803155,
                                            "Worse", 1.038723339888032, 8.363061353573393, 8.686907020872276, 0.3238456672988832])
    by_type = {(row[0], row[1]): row for row in rows[1:]}
    problems += same("ranks and types", len(by_type), 16)
    problems += near("zeros", by_type[0, "exposed_memcpy_time"][2:8], [0, 0, 0, 0, "Similar", 0])
    problems += same("total", by_type[1, "total_time"][7], 1)
    problems += same("sources", [row[-1] for row in timelines["Summary"][1:]], ["B"] * 8 + ["T"] * 8)
    problems += same("heads", [list(timelines[name][0]) for name in ("Summary", "All_Ranks_Combined", "Per_Rank_Time_ms")],
                     [["type", "time ms", "percent", "num_ranks", "source"], ["type", "time ms", "percent", "rank", "source"],
                      ["type", 0, 1, "source"]])
    collectives = read_workbook(os.path.join(folder, "out/collective_comparison.xlsx"))
    changes = collectives["nccl_implicit_sync_cmp"]
    problems += same("keys", [tuple(row[:3]) for row in changes[1:]],
                     [("_allgather_base", "BFloat16", 67108864), ("allreduce", "BFloat16", 2048), ("allreduce", "BFloat16", 1048576)])
    problems += same("names", list(changes[0][3:8]), ["B_comm_latency_mean", "T_comm_latency_mean", "diff_comm_latency_mean",
                                                      "percent_change_comm_latency_mean", "ratio_comm_latency_mean"])
    problems += near("latency", changes[1][3:8], [225.6, 251.2, 25.59999999999999, -11.34751773049645, 1.113475177304964])
    # bandwidth: more is better
    problems += near("bandwidth", changes[1][11:13], [(changes[1][9] - changes[1][8]) / changes[1][8] * 100, changes[1][9] / changes[1][8]])
    problems += same("count", list(changes[0][-4:]) + list(changes[1][-4:]), ["B_count", "T_count", "diff_count", "ratio_count", 1, 1, 0, 1])
    final = read_workbook(os.path.join(folder, "out/final_analysis_report.xlsx"))
    problems += same("final sheets", list(final), [
        "Summary_Dashboard", "GPU_Summary_Raw", "GPU_AllRanks_Raw", "GPU_Time_Raw", "GPU_Pct_Raw", "GPU_ByRank_Cmp", "GPU_Summary_Cmp",
        "NCCL_ImplSync_Raw", "NCCL_Long_Raw", "NCCL_straggler_summary_Raw", "NCCL_nccl_summary_implicit_sync", "NCCL_nccl_summary_long",
        "straggler_summary", "NCCL_ImplicitSyncCmp"])
    dashboard = {row[0]: list(row[1:]) for row in final["Summary_Dashboard"]}
    wanted = {"Metric": ["B", "T", "Improvement (%)", "Status"], "GPU_busy_time": [0.66, 0.69, -3.87, "Worse"],
              "GPU_idle_time": [7.24, 7.22, 0.35, "Better"], "GPU_total_time": [7.91, 7.91, 0, "Similar"]}
    problems += same("dashboard", {key: dashboard[key] for key in wanted}, wanted)
    return problems + ([] if "GPU_idle_time" in done.stdout and not done.stderr else [done.stdout + done.stderr])


HEAD = ["type", "time ms", "percent"]


def write_run(folder, ranks, collective=None):
    """Writes reports; ranks is {rank: rows of gpu_timeline}."""
    for rank, rows in ranks.items():
        write_workbook(os.path.join(folder, f"tracelens_analysis/individual_reports/perf_rank{rank}.xlsx"), gpu_timeline=[HEAD, *rows])
    if collective:
        write_workbook(os.path.join(folder, "tracelens_analysis/collective_reports/collective_all_ranks.xlsx"), **collective)


def check_single_runs(binary, folder):
    """Ranks and types that only one run has; folders of the same name; a rank whose percent is missing."""
    write_run(os.path.join(folder, "x/run"), {0: [["idle", 4, 40.0], ["busy", 6, 60]], 10: [["busy", 2, 100]], 2: [["busy", 8, None]]})
    write_run(os.path.join(folder, "y/run"), {0: [["busy", 3, 50], ["new", 1, 1]], 2: [["busy", 8.04, 20]]})
    done, problems = compare(binary, folder, "--baseline", "x/run", "--test", "y/run", "--output", "o", "--quiet")
    problems += same("printed", done.stdout, "")
    problems += same("warned", [line for line in done.stderr.splitlines()],
                     ["gputally: warning: baseline has no collective report; collectives are not compared"])
    problems += same("files", [name for name in files_under(folder) if name.startswith("o/")],
                     ["o/final_analysis_report.xlsx", "o/gpu_timeline_comparison.xlsx"])
    book = read_workbook(os.path.join(folder, "o/gpu_timeline_comparison.xlsx"))
    rows = book["Comparison_By_Rank"]
    problems += same("columns", rows[0][2], "baseline_time_ms")
    problems += same("pairs", [tuple(row[:2]) for row in rows[1:]], [(0, "busy"), (2, "busy")])
    problems += near("rank 0", rows[1][2:], [6, 3, -3, 50, "Better", 0.5, 60, 50, -10])
    problems += near("rank 2", rows[2][2:], [8, 8.04, 0.03999999999999915, -0.4999999999999893, "Similar", 1.005, None, 20, None])
    # means over ranks: (6 + 8 + 2) / 3 and (3 + 8.04) / 2; of percent (60 + 100) / 2 and (50 + 20) / 2
    problems += near("summary", book["Summary_Comparison"][1], ["busy", 16 / 3, 5.52, 5.52 - 16 / 3, (16 / 3 - 5.52) / (16 / 3) * 100,
                                                                5.52 / (16 / 3), 80, 35, -45])
    times = book["Per_Rank_Time_ms"]
    problems += same("times", [list(row) for row in times],
                     [["type", 0, 2, 10, "source"], ["busy", 6, 8, 2, "baseline"], ["idle", 4, None, None, "baseline"],
                      ["busy", 3, 8.04, None, "test"], ["new", 1, None, None, "test"]])
    _, more = compare(binary, folder, "--baseline", "x/run", "--test", "y/run", "--output", "g", "--geo-mean", "--quiet")
    book = read_workbook(os.path.join(folder, "g/gpu_timeline_comparison.xlsx"))
    return problems + more + near("geometric", book["Summary_Comparison"][1][1:3], [(6 * 8 * 2) ** (1 / 3), (3 * 8.04) ** 0.5])


def check_collectives(binary, folder):
    """The first row of each key on each side; keys of one side only and rows with an incomplete key are dropped."""
    head = ["Collective name", "dtype", "In msg nelems", "comm_latency_mean", "algo bw (GB/s)_mean", "count", "note"]
    base = [head, ["b", "f", 10, 4, 0, 3, "x"], ["a", "f", 200, 8, 2, 1, "x"], ["a", "f", 30, 5, 5, 1, "x"], ["a", "f", 30, 99, 99, 9, "x"],
            ["gone", "f", 1, 1, 1, 1, "x"], ["b", None, 10, 7, 7, 7, "x"]]
    test = [head, ["a", "f", 30, 10, 4, 2, "x"], ["a", "f", 200, 2, 2, 1, "x"], ["b", "f", 10, 0, 1, 3, "x"], ["new", "f", 1, 1, 1, 1, "x"]]
    write_run(os.path.join(folder, "x"), {0: [["busy", 6, 60]]}, {"nccl_summary_implicit_sync": base, "nccl_long": base, "My_Summary": base[:2]})
    write_run(os.path.join(folder, "y"), {0: [["busy", 6, 60]]}, {"nccl_summary_implicit_sync": test, "nccl_long": base, "My_Summary": test[:3]})
    _, problems = compare(binary, folder, "--baseline", "x", "--test", "y", "--output", "o")
    book = read_workbook(os.path.join(folder, "o/collective_comparison.xlsx"))
    problems += same("sheets", list(book), ["nccl_summary_implicit_sync", "My_Summary", "nccl_implicit_sync_cmp"])
    problems += same("rows", [len(rows) for rows in book.values()], [11, 4, 4])
    changes = [list(row) for row in book["nccl_implicit_sync_cmp"]]
    problems += near("a 30", changes[1], ["a", "f", 30, 5, 10, 5, -100, 2, 5, 4, -1, -20, 0.8, 1, 2, 1, 2])
    problems += near("a 200", changes[2], ["a", "f", 200, 8, 2, -6, 75, 0.25, 2, 2, 0, 0, 1, 1, 1, 0, 1])
    return problems + near("b", changes[3], ["b", "f", 10, 4, 0, -4, 100, 0, 0, 1, 1, 0, 0, 3, 3, 0, 1])


def check_failure(binary, folder, options, code, message):
    write_run(os.path.join(folder, "x"), {0: [["busy", 6, 60]]})
    os.makedirs(os.path.join(folder, "empty"))
    write_workbook(os.path.join(folder, "odd/tracelens_analysis/individual_reports/perf_rank0.xlsx"), other=[["a"], [1]])
    before = files_under(folder)
    done, problems = compare(binary, folder, *options, code=code)
    return problems + ([] if message in done.stderr else [f"said {done.stderr!r}"]) + same("files", files_under(folder), before)


def check_damaged(binary, folder):
    """A truncated report of one rank is skipped; a truncated collective report ends the step."""
    write_run(os.path.join(folder, "x"), {0: [["busy", 6, 60]], 1: [["busy", 4, 40]]}, {"a_summary": [["a"], [1]]})
    shutil.copytree(os.path.join(folder, "x"), os.path.join(folder, "y"))
    report = os.path.join(folder, "y/tracelens_analysis/individual_reports/perf_rank1.xlsx")
    os.truncate(report, os.path.getsize(report) // 2)
    done, problems = compare(binary, folder, "--baseline", "x", "--test", "y", "--output", "o")
    rows = read_workbook(os.path.join(folder, "o/gpu_timeline_comparison.xlsx"))["Comparison_By_Rank"]
    problems += same("ranks", [row[0] for row in rows[1:]], [0]) + ([] if "perf_rank1.xlsx" in done.stderr else [done.stderr])
    collective = os.path.join(folder, "y/tracelens_analysis/collective_reports/collective_all_ranks.xlsx")
    os.truncate(collective, os.path.getsize(collective) // 2)
    done, more = compare(binary, folder, "--baseline", "x", "--test", "y", "--output", "p", code=1)
    return problems + more + ([] if "collective_all_ranks.xlsx" in done.stderr else [done.stderr]) + same(
        "left", os.path.exists(os.path.join(folder, "p")), False)


CASES = [
    Case("settings of a sweep", check_sweep),
    Case("several tests", check_several_tests),
    Case("single runs", check_single_runs),
    Case("collectives", check_collectives),
    Case("damaged reports", check_damaged),
    Case("no run", check_failure, ["--baseline", "x", "--test", "none", "--output", "o"], 1, "gputally: directory not found: none"),
    Case("no reports", check_failure, ["--baseline", "empty", "--test", "x", "--output", "o"], 1, "gputally: empty: no rank reports"),
    Case("no timeline", check_failure, ["--baseline", "x", "--test", "odd", "--output", "o"], 1, "odd: no report has a readable sheet gpu_timeline"),
    Case("no output", check_failure, ["--baseline", "x", "--test", "x"], 2, "the following arguments are required: --output"),
]


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES))
