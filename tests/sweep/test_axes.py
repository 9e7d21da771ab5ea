#!/usr/bin/env python3
"""Sweeps of any axes, and runs that did not end well, in the steps of `gputally sweep`. Expected values follow by hand from the traces of
generate_sweep.py and from workbooks written here."""
import csv
import json
import os
import shutil
import sys

from tests.common.harness import Case, files_under, run_cases
from tests.sweep import generate_axes, generate_sweep
from tests.sweep.generate_sweep import K1, K2, read_workbook
from tests.sweep.test_tables import COUNTER_HEADS, DETAILS, MAX, MIN, STEM, TOP, Sweep, counted, gemm_report, top

MODES, BATCHES = ("slow", "fast"), ("16", "8")  # in the order of the grid; numbers are sorted, words are not


def write_trace(s, place, threads, channels, rank):
    path = s.path("s", place, "torch_profiler", f"rank{rank}", "trace.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(generate_sweep.trace(threads, channels, rank), file)


def write_record(s, axes, points):
    """sweep.json; points: {place: (values, status)}"""
    with open(s.path("s/sweep.json"), "w", encoding="utf-8") as file:
        json.dump({"sweep": "elsewhere/s", "axes": [{"name": name, "values": list(values)} for name, values in axes],
                   "points": [{"values": dict(zip((name for name, _ in axes), values)), "directory": f"elsewhere/s/{place}",
                               "status": status, "exit_code": 0 if status == "SUCCESS" else 1} for place, (values, status) in points.items()]}, file)


def heads(s, name):
    with open(s.path("s/tracelens_analysis", name), newline="", encoding="utf-8") as file:
        return next(csv.reader(file))


def check_axes_alone(s):
    """mode and batch_size, without threads and channels: axes are columns of all tables, in the order of the grid."""
    places = {}
    for mode in MODES:
        for batch in BATCHES:
            place = f"mode_{mode}/batch_size_{batch}"
            places[place] = ((mode, batch), "SUCCESS")
            for rank in (0, 1):
                write_trace(s, place, 256 if mode == "slow" else 512, int(batch), rank)
    write_record(s, [("mode", MODES), ("batch_size", BATCHES)], places)
    done = s.run("all", "s", "--dpi", "40")
    # the traces say that there are 8 ranks
    s.same("messages", done.stderr, "gputally: warning: mode_slow_batch_size_8, mode_slow_batch_size_16, mode_fast_batch_size_8, "
           "mode_fast_batch_size_16: 8 ranks ran, traces of 2: ranks 2, 3, 4, 5, 6, 7 are missing; the collective reports are about "
           "the others\ngputally: the runs have traces of some of their ranks only: times are means over these\n")
    order = [f"mode_{mode}_batch_size_{batch}" for mode in MODES for batch in ("8", "16")]
    s.same("reports", [name for name in files_under(s.path("s/tracelens_analysis")) if "/perf_" in name or "/collective_" in name],
           sorted(f"mode_{mode}/{kind}.xlsx" for mode in MODES for batch in BATCHES for kind in (
               f"collective_reports/collective_batch_size_{batch}", f"individual_reports/perf_batch_size_{batch}_rank0",
               f"individual_reports/perf_batch_size_{batch}_rank1")))
    s.same("comparisons", [name for name in files_under(s.path("s/tracelens_analysis/comparisons"))], sorted(
        [f"compare_mode_{mode}_rank{r}_across_batch_size.xlsx" for mode in MODES for r in (0, 1)] +
        [f"compare_batch_size_{batch}_rank{r}_across_mode.xlsx" for batch in BATCHES for r in (0, 1)]))
    compared = read_workbook(s.path("s/tracelens_analysis/comparisons/compare_batch_size_8_rank0_across_mode.xlsx"))
    s.same("baseline of a comparison", [any(f"__{mode}_diff" in head for head in compared["gpu_timeline"][0]) for mode in MODES], [False, True])
    s.same("columns of top", heads(s, f"{TOP}.csv")[:7],
           ["mode", "batch_size", "rank", "kernel_name", "kernel_time_min_us", "kernel_time_max_us", "time_diff_us"])
    rows = s.csv(f"{STEM}.csv")
    s.same("first row", list(rows[0].values())[:5], ["slow", "16", "1", K2, "40.5"])
    s.near("its times", [float(rows[0][name]) for name in ("kernel_time_max_us", "time_diff_us")], [63.03571428568102, 22.535714285681017])
    s.same("rows", len(rows), 16)
    stamped = s.csv(f"{STEM}_with_timestamps.csv")
    s.same("timestamps", {abs(float(row["max_duration_found_us"]) - float(row["kernel_time_max_us"])) < 1e-6 for row in stamped}, {True})
    overlap = s.csv(f"{STEM}_with_collective_overlap.csv")
    s.same("overlaps", {row["overlapping_collective_names"] for row in overlap if row["kernel_name"] == K2}, {"_allgather_base"})
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.same("columns of the timeline", book["All_Data"][0], ("full_config", "mode", "batch_size", "num_ranks", "type", "time ms", "percent"))
    s.same("order", list(dict.fromkeys(row[0] for row in book["All_Data"][1:])), order)
    s.same("values", book["All_Data"][1][:4], ("mode_slow_batch_size_8", "slow", 8, 2))
    s.same("summary", book["Summary_By_Config"][0][:4], ("full_config", "mode", "batch_size", "num_ranks"))
    s.same("columns of comms", heads(s, "nccl_master_all_configs.csv")[:8],
           ["operation_id", "operation_name", "Full msg size (MB)", "In msg nelems", "mode", "batch_size", "full_config", "Collective name"])
    s.same("order of comms", [row["full_config"] for row in s.csv("s/tracelens_analysis/nccl_master_all_configs.csv")][:4], order)
    s.same("plots", sorted(files_under(s.path("s/tracelens_analysis/plots"))), [
        "variance_by_batch_size_boxplot.png", "variance_by_mode_boxplot.png", "variance_by_ranks_boxplot.png",
        "variance_mode_batch_size_interaction.png", "variance_violin_combined.png"])
    printed = s.run("plot", "--csv-path", f"{STEM}.csv", "--dpi", "40").stdout
    s.holds("groups", printed, "By mode:\n  slow: mean=", "\n\nBy batch_size:\n  8: mean=", "n=8\n  16: mean=", "By Rank:\n  Rank 0: ")
    s.run("html", "--sweep", "s", "s", "--output", "page.html")
    s.holds("page", s.lines("page.html"), "<h2>Variance by Other Axes</h2>", "Variance by mode Sweep 1", "<h2>Interaction of Axes</h2>")
    s.same("sections of other sweeps", "Variance by Thread Count</h2>" in s.lines("page.html"), False)
    s.same("two tests", s.run("compare", "--baseline", "s/mode_slow/batch_size_8", "--test", "s/mode_fast/batch_size_8", "-o", "o").stderr, "")
    s.same("labels", read_workbook(s.path("o/gpu_timeline_comparison.xlsx"))["Summary_Comparison"][0][1:3],
           ("mode_slow_batch_size_8_time_ms", "mode_fast_batch_size_8_time_ms"))


def check_axes_around_threads(s):
    """Without sweep.json the names of folders say what the axes are; repeats are a column, too."""
    for place in ("proto_LL", "proto_Simple", "repeat_2/proto_LL"):
        for channels in (28, 42):
            write_trace(s, f"{place}/256thread/nccl_{channels}channels", 256, channels, 0)
    s.run("all", "s", "--quiet", "--dpi", "40")
    s.same("columns of top", heads(s, f"{TOP}.csv")[:6], ["proto", "threads", "channel", "repeat", "rank", "kernel_name"])
    s.same("timestamps", {abs(float(row["max_duration_found_us"]) - float(row["kernel_time_max_us"])) < 1e-6 for row in s.csv(
        f"{STEM}_with_timestamps.csv")}, {True})
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.same("columns of the timeline", book["All_Data"][0][:8],
           ("full_config", "proto", "threads_num", "thread_config", "channels_num", "channel_config", "repeat", "num_ranks"))
    s.same("settings", list(dict.fromkeys(row[:7] for row in book["All_Data"][1:])), [
        (f"proto_{p}_256thread_{c}ch{'' if k == 1 else '_repeat_2'}", p, 256, "256thread", c, f"{c}ch", k)
        for p, c, k in (("LL", 28, 1), ("LL", 28, 2), ("LL", 42, 1), ("LL", 42, 2), ("Simple", 28, 1), ("Simple", 42, 1))])
    s.run("compare", "--baseline", "s/proto_LL/256thread/nccl_28channels", "--test", "s/proto_Simple/256thread/nccl_28channels", "-o", "o")
    s.same("labels", read_workbook(s.path("o/gpu_timeline_comparison.xlsx"))["Summary_Comparison"][0][1:3],
           ("proto_LL_256thread_28ch_time_ms", "proto_Simple_256thread_28ch_time_ms"))
    # a part is a sweep, too, as before
    s.run("report", "s/proto_LL")
    s.same("a sweep of its own", sorted(os.listdir(s.path("s/proto_LL/tracelens_analysis"))), [".gputally", "256thread"])


def check_odd_names_of_axes(s):
    """An axis whose name tables use otherwise; values that CSV readers take for numbers, truth or nothing."""
    values = ("1e3", "1000.5", "true", "NA", "a,b")
    points = {f"rank_{value}": ((value,), "SUCCESS") for value in values}
    for place in points:
        write_trace(s, place, 256, 28, 0)
    write_record(s, [("rank", values)], points)
    s.run("all", "s", "--quiet", "--dpi", "40")
    s.same("columns", heads(s, f"{TOP}.csv")[:3], ["axis_rank", "rank", "kernel_name"])
    s.same("values", sorted({row["axis_rank"] for row in s.csv(f"{STEM}.csv")}), sorted(values))
    s.same("timestamps", {bool(row["max_duration_found_us"]) for row in s.csv(f"{STEM}_with_timestamps.csv")}, {True})


def failed_sweep(s):
    generate_sweep.lay_out(s.path("s"), ranks=(0, 1))
    statuses = {(256, 28): "SUCCESS", (256, 42): "FAILED", (512, 28): "TIMEOUT", (512, 42): "SUCCESS"}
    write_record(s, [("threads", ("256", "512")), ("channels", ("28", "42"))],
                 {f"{t}thread/nccl_{c}channels": ((str(t), str(c)), status) for (t, c), status in statuses.items()})


GOOD = {"256thread_28ch", "512thread_42ch"}


def check_summary_of_reports(s):
    """Settings have their whole names, one line each; many of them have one line. Messages of all steps name them like that."""
    axes = {"size": ("64", "128"), "precision": ("high",), "mode": ("a", "b")}
    generate_axes.lay_out(s.path("s"), axes, lambda setting: [6000.0] * 2, ranks=1)
    names = [f"size_{size}_precision_high_mode_{mode}{repeat}" for size in ("64", "128") for mode in "ab" for repeat in ("", "_repeat_2")]
    done = s.run("report", "s")
    s.same("lines", sorted(done.stdout.splitlines()[:8]), sorted(f"{name}: 1 individual report, 0 collective reports" for name in names))
    s.holds("rest", done.stdout.splitlines()[8], "Comparisons across values of an axis: ")
    shutil.rmtree(s.path("s/size_64/precision_high/mode_b/torch_profiler"))
    message = "Skip size_64_precision_high_mode_b - no traces"
    for step in "report", "decide":
        s.holds(step, s.run(step, "s").stderr, message)
    shutil.rmtree(s.path("s"))
    generate_axes.lay_out(s.path("s"), {"m": tuple(str(i) for i in range(17))}, lambda setting: [6000.0])
    shutil.rmtree(s.path("s/m_1/torch_profiler"))
    done = s.run("report", "s")
    s.holds("many", done.stdout.splitlines()[0], "17 runs, 16 individual reports, 0 collective reports")
    s.holds("one axis", done.stderr, "Skip m_1 - no traces")


def check_failed_runs_are_left_out(s):
    """Failed runs are in no table, also if reports on them are there already; a message says so."""
    failed_sweep(s)
    shutil.move(s.path("s/sweep.json"), s.path("kept.json"))
    s.run("report", "s", "--quiet")  # reports on all runs
    shutil.move(s.path("kept.json"), s.path("s/sweep.json"))
    message = "2 of 4 runs did not end well and are left out (1 FAILED, 1 TIMEOUT: 256thread_42ch, 512thread_28ch); --include_failed includes them"
    for step in (["top", "--base-path", "s/tracelens_analysis"], ["timeline", "--sweep-dir", "s"], ["comms", "--sweep-dir", "s"], ["report", "s"]):
        s.holds(step[0], s.run(*step).stderr, message)
    s.same("top", {f"{row['threads']}thread_{row['channel']}ch" for row in s.csv(f"{STEM}.csv")}, GOOD)
    s.same("columns of top", heads(s, f"{TOP}.csv")[:4], ["threads", "channel", "rank", "kernel_name"])
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.same("timeline", {row[0] for row in book["All_Data"][1:]}, GOOD)
    s.same("comms", {row["full_config"] for row in s.csv("s/tracelens_analysis/nccl_master_all_configs.csv")}, GOOD)
    shutil.rmtree(s.path("s/tracelens_analysis"))
    done = s.run("all", "s", "--dpi", "40")
    s.holds("all", done.stderr, message)
    s.same("reports", sorted(name for name in files_under(s.path("s/tracelens_analysis")) if "/collective_" in name),
           ["256thread/collective_reports/collective_28ch.xlsx", "512thread/collective_reports/collective_42ch.xlsx"])


def check_failed_runs_are_included(s):
    failed_sweep(s)
    done = s.run("all", "s", "--include-failed", "--dpi", "40")
    s.holds("message", done.stderr, "2 of 4 runs did not end well and are included, marked in the column status")
    statuses = {"256thread_28ch": "SUCCESS", "256thread_42ch": "FAILED", "512thread_28ch": "TIMEOUT", "512thread_42ch": "SUCCESS"}
    s.same("top", {f"{row['threads']}thread_{row['channel']}ch": row["status"] for row in s.csv(f"{STEM}.csv")}, statuses)
    s.same("overlap", {f"{row['threads']}thread_{row['channel']}ch": row["status"] for row in s.csv(f"{STEM}_with_collective_overlap.csv")}, statuses)
    book = read_workbook(s.path("s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx"))
    s.same("timeline", {row[0]: row[5] for row in book["All_Data"][1:]}, statuses)
    s.same("heading", book["All_Data"][0][5], "status")
    s.same("comms", {row["full_config"]: row["status"] for row in s.csv("s/tracelens_analysis/nccl_master_all_configs.csv")}, statuses)


def check_longest_kernel(s):
    """The first kernel of an op may be a memset: the kernel that takes longest has a column of its own."""
    memset = "[{'name': 'Memset (Device)', 'total_duration_us': 2.5}, {'name': 'Cijk_A', 'total_duration_us': np.float64(90.0)}, " \
             "{'name': \"f<'x'>\", 'total_duration_us': 7}]"
    gemm_report(s, [(memset, 1, 9), ("[{'name': 'B', 'total_duration_us': 3}]", 1, 4)])
    top(s)
    s.same("names", [(row["kernel_name"], row["longest_kernel_name"]) for row in s.csv(f"{STEM}.csv")],
           [("Memset (Device)", "Cijk_A"), ("B", "B")])
    s.same("the last column", heads(s, f"{TOP}.csv")[-1], "longest_kernel_name")
    s.run("yaml", "--input-csv", f"{STEM}.csv")
    s.holds("job file", s.lines("s/tracelens_analysis/rocprof_top5_kernels.yaml"), "'^(B|Cijk_A)$'")
    gemm_report(s, [("[{'name': 'A', 'total_duration_us': 1}, {'name': 'A', 'total_duration_us': 2}]", 1, 9)])
    top(s)
    s.same("without the column", heads(s, f"{TOP}.csv")[-1], f"col_{DETAILS}")


def check_counters_beside_json(s):
    """Counters that only the CSV file has, beside a JSON file without counters."""
    folder = s.path("s/256thread/nccl_28channels/rocprof_traces/host")
    os.makedirs(folder)
    with open(os.path.join(folder, "77_results.json"), "w", encoding="utf-8") as file:
        json.dump({"rocprofiler-sdk-tool": [{"metadata": {"pid": 77, "init_time": 1, "fini_time": 2}, "agents": [], "counters": [],
                                             "strings": {}, "code_objects": [], "kernel_symbols": [], "host_functions": [],
                                             "callback_records": {"counter_collection": []}, "buffer_records": {"kernel_dispatch": []}}]}, file)
    with open(os.path.join(folder, "77_counter_collection.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_NONNUMERIC).writerows([COUNTER_HEADS, counted(1, "=a", "SQ_BUSY", 10), counted(2, "=a", "SQ_BUSY", 20)])
    s.run("counters", "--sweep-dir", "s")
    s.same("file", s.lines("s/tracelens_analysis/counters_all_configs.csv").splitlines()[1:], ["256thread_28ch,256,256thread,28,28ch,'=a,2,15.0"])


def check_no_collectives(s):
    """A sweep on one GPU has none; that is no failure of `all`."""
    generate_sweep.lay_out(s.path("s"), ranks=(0,), threads=(256,))
    for name in files_under(s.path("s")):
        with open(s.path("s", name), encoding="utf-8") as file:
            trace = json.load(file)
        trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"] and e["name"] != "record_param_comms"]
        with open(s.path("s", name), "w", encoding="utf-8") as file:
            json.dump(trace, file)
    done = s.run("all", "s", "--dpi", "40")
    s.holds("message", done.stderr, "no collectives in the traces; comms is skipped", "no collectives in the traces; no collective reports",
            "no collective reports in s/tracelens_analysis, so no overlap")
    s.same("said once", (done.stderr.count("no collective reports"), done.stderr.count("not found")), (2, 0))
    s.same("step alone", "no collective reports" in s.run("comms", "--sweep-dir", "s", code=1).stderr, True)


def check_names_follow_top_k(s):
    generate_sweep.lay_out(s.path("s"), ranks=(0,))
    s.run("all", "s", "--top-k", "2", "--dpi", "40", "--quiet")
    names = files_under(s.path("s/tracelens_analysis"))
    for name in ("rocprof_top2_kernels.yaml", "rocprof_top2_kernels_kernel_list.txt", "top2_gemm_kernels_time_variance.csv"):
        s.same(name, name in names, True)
    s.same("names with 5", [name for name in names if "top5" in name], [])
    s.run("html", "--sweep", "s", "s", "--output", "page.html", "--top-k", "2")
    s.holds("page", s.lines("page.html"), "top2_gemm_kernels_time_variance.csv", "<h2>Variance by Thread Count</h2>")


def check_long_names(s):
    """A comparison whose name would be longer than a file name may be has one that is cut, always the same, and unlike others."""
    first, second = "m" * 110, "n" * 110
    for last in "12":
        for batch in "4", "8":
            for rank in 0, 1:
                write_trace(s, f"mode_{first}\u00e9{last}/kind_{second}/batch_{batch}", 256, int(batch), rank)
    s.run("report", "s")
    names = sorted(os.listdir(s.path("s/tracelens_analysis/comparisons")))
    s.same("comparisons", len([name for name in names if name.startswith(f"compare_mode_{first}")]), 4)
    s.same("across modes", [name for name in names if name.startswith("compare_kind_")],
           [f"compare_kind_{second}_batch_{batch}_rank{rank}_across_mode.xlsx" for batch in "48" for rank in (0, 1)])
    s.same("lengths", {len(name.encode()) for name in names if name.startswith("compare_mode")} <= {254, 255}, True)
    s.run("report", "s", "--force")
    s.same("again", sorted(os.listdir(s.path("s/tracelens_analysis/comparisons"))), names)


CHECKS = (check_axes_alone, check_axes_around_threads, check_odd_names_of_axes, check_failed_runs_are_left_out,
          check_failed_runs_are_included, check_longest_kernel, check_counters_beside_json, check_no_collectives, check_names_follow_top_k,
          check_long_names, check_summary_of_reports)


def run_check(binary, folder, check):
    sweep = Sweep(binary, folder)
    check(sweep)
    return sweep.problems


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], [Case(check.__name__[6:].replace("_", " "), run_check, check) for check in CHECKS]))
