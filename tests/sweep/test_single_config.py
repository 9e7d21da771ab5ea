#!/usr/bin/env python3
"""The single-configuration pipeline: `gputally sweep compare --all` and its steps, from raw run folders to workbooks, plots and
pages. Expected numbers are computed here, from the generated traces (unions of intervals) and from the sheets that a step reads."""
import json
import math
import os
import re
import shutil
import sys

from tests.common.harness import Case, files_under, run, run_cases
from tests.sweep import generate_sweep
from tests.sweep.generate_sweep import read_workbook
from tests.sweep.test_plots import Png

TYPES = ["busy_time", "computation_time", "exposed_comm_time", "exposed_memcpy_time", "idle_time", "total_comm_time", "total_memcpy_time",
         "total_time"]
WORKBOOKS = ["collective_combined.xlsx", "collective_comparison.xlsx", "final_analysis_report.xlsx", "gpu_timeline_combined.xlsx",
             "gpu_timeline_comparison.xlsx"]
PAIR_PLOTS = {"improvement_chart.png": (10, 6), "abs_time_comparison.png": (10, 6), "gpu_time_heatmap.png": (12, 8),
              "total_time_by_rank.png": (12, 6), "computation_time_by_rank.png": (12, 6), "total_comm_time_by_rank.png": (12, 6),
              "idle_time_by_rank.png": (12, 6), "gpu_time_change_percentage_summary_by_rank.png": (12, 6),
              "NCCL_Communication_Latency_comparison.png": (14, 6), "NCCL_Algorithm_Bandwidth_comparison.png": (14, 6),
              "NCCL_Bus_Bandwidth_comparison.png": (14, 6), "NCCL_Total_Communication_Latency_comparison.png": (14, 6),
              "NCCL_Performance_Percentage_Change_comparison.png": (16, 6)}
ALL_PLOTS = ["improvement_chart.png", "abs_time_comparison.png", *(f"{kind}_by_rank.png" for kind in TYPES),
             *(name for name in PAIR_PLOTS if name.startswith("NCCL") and "Percentage" not in name)]
GOOD, BAD, BASELINE, TEST = (0x2e, 0xcc, 0x71), (0xe7, 0x4c, 0x3c), (0x34, 0x98, 0xdb), (0xe6, 0x7e, 0x22)


# ---- runs and what is expected of them ----

def write_run(folder, threads, channels, ranks, collectives=True, place="torch_profiler/rank{rank}/trace.json"):
    for rank in ranks:
        path = os.path.join(folder, place.format(rank=rank))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        trace = generate_sweep.trace(threads, channels, rank)
        if not collectives:
            trace["traceEvents"] = [e for e in trace["traceEvents"] if "nccl" not in e["name"] and e["name"] != "record_param_comms"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file)


def union(spans):
    total, end = 0.0, -math.inf
    for first, last in sorted(spans):
        total += max(0.0, last - max(first, end))
        end = max(end, last)
    return total


def timeline(trace):
    """{type: ms} from the kernels of a trace, which has no copies."""
    kernels = [(e["ts"], e["ts"] + e["dur"], "nccl" in e["name"]) for e in trace["traceEvents"] if e.get("cat") == "kernel"]
    spans = [(first, last) for first, last, _ in kernels]
    busy, compute = union(spans), union([(a, b) for a, b, is_comm in kernels if not is_comm])
    total = max(last for _, last in spans) - min(first for first, _ in spans)
    return {"busy_time": busy / 1e3, "computation_time": compute / 1e3, "exposed_comm_time": (busy - compute) / 1e3, "exposed_memcpy_time": 0,
            "idle_time": (total - busy) / 1e3, "total_comm_time": union([(a, b) for a, b, is_comm in kernels if is_comm]) / 1e3,
            "total_memcpy_time": 0, "total_time": total / 1e3}


def mean(values):
    return sum(values) / len(values)


def close(a, b):
    if isinstance(b, (int, float)) and isinstance(a, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def near(what, got, wanted):
    return [] if len(got) == len(wanted) and all(map(close, got, wanted)) else [f"{what}: {list(got)!r}, not {list(wanted)!r}"]


def same(what, got, wanted):
    return [] if got == wanted else [f"{what}: {got!r}, not {wanted!r}"]


def sweep(binary, folder, *words, code=0, said=None):
    done = run([binary, "sweep", *words], cwd=folder)
    problems = [] if done.code == code else [f"{words[0]}: exit code {done.code}, not {code}: {done.stderr}"]
    return problems + ([] if said is None or said in done.stderr else [f"{words[0]}: said {done.stderr!r}, not {said!r}"])


def change(base, test):
    return (base - test) / base * 100 if base else 0


# ---- the pair report ----

def check_numbers(folder, runs):
    """Comparison_By_Rank, Summary_Comparison and the dashboard, from the traces; the numbers of the specification's example."""
    times = [[timeline(generate_sweep.trace(threads, channels, rank)) for rank in range(2)] for threads, channels in runs]
    book = read_workbook(os.path.join(folder, "out/gpu_timeline_comparison.xlsx"))
    problems, rows = [], book["Comparison_By_Rank"]
    problems += same("columns", list(rows[0]), ["rank", "type", "base_time_ms", "a test_time_ms", "diff_time_ms", "percent_change", "status", "ratio",
                                                "base_percent", "a test_percent", "diff_percent"])
    problems += same("pairs", [row[:2] for row in rows[1:]], [(rank, kind) for rank in range(2) for kind in TYPES])
    for row in rows[1:]:
        base, test = times[0][row[0]][row[1]], times[1][row[0]][row[1]]
        total = [times[i][row[0]]["total_time"] for i in range(2)]
        percent = change(base, test)
        problems += near(f"rank {row[0]} {row[1]}", row[2:], [
            base, test, test - base, percent, "Better" if percent > 1 else "Worse" if percent < -1 else "Similar", test / base if base else 0,
            base / total[0] * 100, test / total[1] * 100, test / total[1] * 100 - base / total[0] * 100])
    problems += same("example", rows[1], (0, "busy_time", 0.6610999999999767, 0.6866999999999535, 0.02559999999997675, -3.872333988803155, "Worse",
                                          1.038723339888032, 8.363061353573393, 8.686907020872276, 0.3238456672988832))
    dashboard = read_workbook(os.path.join(folder, "out/final_analysis_report.xlsx"))["Summary_Dashboard"]
    problems += same("dashboard", list(dashboard[0]), ["Metric", "base", "a test", "Improvement (%)", "Status"])
    for row, summary in zip(dashboard[1:], book["Summary_Comparison"][1:]):
        kind = summary[0]
        base, test = (mean([times[i][rank][kind] for rank in range(2)]) for i in range(2))
        problems += near(f"mean {kind}", summary[1:6], [base, test, test - base, change(base, test), test / base if base else 0])
        problems += same("metric", row[0], "GPU_" + kind)
    wanted = {"GPU_busy_time": (0.66, 0.69, -3.87, "Worse"), "GPU_idle_time": (7.24, 7.22, 0.35, "Better"),
              "GPU_total_time": (7.91, 7.91, 0, "Similar")}
    problems += same("rounded", {row[0]: row[1:] for row in dashboard if row[0] in wanted}, wanted)
    return problems


def check_collective_numbers(folder):
    """nccl_implicit_sync_cmp, from the rows of the collective reports."""
    sides = []
    for name in ("base", "a test"):
        rows = read_workbook(os.path.join(folder, name, "tracelens_analysis/collective_reports/collective_all_ranks.xlsx"))["nccl_summary_implicit_sync"]
        sides.append({(row["Collective name"], row["dtype"], row["In msg nelems"]): row for row in (dict(zip(rows[0], row)) for row in rows[1:])})
    changes = read_workbook(os.path.join(folder, "out/collective_comparison.xlsx"))["nccl_implicit_sync_cmp"]
    problems = same("keys", [row[:3] for row in changes[1:]], sorted(sides[0]))
    problems += near("example", changes[1][3:8], [225.6, 251.2, 25.6, -11.34751773049645, 1.113475177304964])
    for values in changes[1:]:
        row = dict(zip(changes[0], values))
        for measure in ("comm_latency_mean", "algo bw (GB/s)_mean", "bus bw (GB/s)_mean", "Total comm latency (ms)", "count"):
            base, test = (sides[i][values[:3]][measure] for i in range(2))
            more_is_good = "bw" in measure
            percent = [] if measure == "count" else [-change(base, test) if more_is_good else change(base, test)]
            problems += near(f"{values[:3]} {measure}", [row[f"{what}_{measure}"] for what in (
                "base", "a test", "diff", *(["percent_change"] if percent else []), "ratio")], [base, test, test - base, *percent, test / base])
    return problems


SCALE = ([("min", None), ("num", 0), ("max", None)], ["F8696B", "FFFFFF", "63BE7B"])


def scales(sheet):
    """{range: (points, colours)} of the colour scales of a sheet."""
    return {str(where.sqref): ([(point.type, None if point.val is None else float(point.val)) for point in rule.colorScale.cfvo],
                               [colour.rgb[-6:] for colour in rule.colorScale.color])
            for where in sheet.conditional_formatting for rule in where.rules}


def check_looks(folder):
    """Order, hidden sheets, the active sheet, native tables and colour scales."""
    import openpyxl
    book = openpyxl.load_workbook(os.path.join(folder, "out/final_analysis_report.xlsx"))
    visible = ["Summary_Dashboard", "GPU_ByRank_Cmp", "GPU_Summary_Cmp", "NCCL_ImplicitSyncCmp"]
    problems = same("order", book.sheetnames[:9], ["Summary_Dashboard", "GPU_Summary_Raw", "GPU_AllRanks_Raw", "GPU_Time_Raw", "GPU_Pct_Raw",
                                                  "GPU_ByRank_Cmp", "GPU_Summary_Cmp", "NCCL_ImplSync_Raw", "NCCL_Long_Raw"])
    problems += same("visible", [sheet.title for sheet in book if sheet.sheet_state == "visible"], visible)
    problems += same("active", book.active.title, "Summary_Dashboard")
    for sheet in book:
        cells = list(sheet.iter_rows(values_only=True))
        tables = list(sheet.tables.values())
        if len(cells) < 2:  # the sheet has no rows
            problems += same(f"{sheet.title} without rows", tables, [])
            continue
        table = tables[0]
        problems += same(f"table {sheet.title}", (len(tables), table.displayName, table.ref, table.tableStyleInfo.name, table.tableStyleInfo.showRowStripes,
                                                  [column.name for column in table.tableColumns]),
                         (1, sheet.title, sheet.dimensions, "TableStyleMedium2", True, list(cells[0])))
        wanted = {}
        for column, name in enumerate(cells[0], 1):
            if "Cmp" in sheet.title and name.startswith("percent_change"):
                letter = openpyxl.utils.get_column_letter(column)
                wanted[f"{letter}2:{letter}{len(cells)}"] = SCALE
        problems += same(f"scales {sheet.title}", scales(sheet), wanted)
    book = openpyxl.load_workbook(os.path.join(folder, "out/gpu_timeline_comparison.xlsx"))
    problems += same("timeline scales", {sheet.title: scales(sheet) for sheet in book if scales(sheet)},
                     {"Comparison_By_Rank": {"F2:F17": SCALE}, "Summary_Comparison": {"E2:E9": SCALE}})
    problems += same("ranks are numbers", [cell.value for cell in book["Per_Rank_Time_ms"][1]], ["type", 0, 1, "source"])
    book = openpyxl.load_workbook(os.path.join(folder, "out/collective_comparison.xlsx"))
    return problems + same("collective scales", len(scales(book["nccl_implicit_sync_cmp"])), 4)


def colours_of(path):
    """How many pixels of each colour a plot has, as a share."""
    png = Png(path)
    count = {}
    for row in png.rows:
        for x in range(0, 3 * png.width, 3):
            colour = row[x:x + 3]
            count[colour] = count.get(colour, 0) + 1
    return (png.width, png.height), {tuple(colour): n / (png.width * png.height) for colour, n in count.items()}


def check_plots(folder):
    plots = os.path.join(folder, "out/plots")
    problems = same("plots", sorted(os.listdir(plots)), sorted(PAIR_PLOTS))
    for name, inches in PAIR_PLOTS.items():
        with open(os.path.join(plots, name), "rb") as file:
            head = file.read(24)
        problems += same(f"size of {name}", (int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")),
                         tuple(150 * side for side in inches))
    # five metrics became worse, by 3 to 7 percent, and one better, by 0.35 percent
    _, colours = colours_of(os.path.join(plots, "improvement_chart.png"))
    if not (0.05 < colours.get(BAD, 0) < 0.5 and 0.0005 < colours.get(GOOD, 0) < 0.02):
        problems.append(f"improvement_chart.png: {colours.get(BAD)} red, {colours.get(GOOD)} green")
    # bars of almost equal heights
    _, colours = colours_of(os.path.join(plots, "abs_time_comparison.png"))
    if not (colours.get(BASELINE, 0) > 0.02 and 0.9 < colours[BASELINE] / colours.get(TEST, 1e-9) < 1.1):
        problems.append(f"abs_time_comparison.png: {colours.get(BASELINE)} blue, {colours.get(TEST)} orange")
    return problems


def check_page(folder):
    with open(os.path.join(folder, "out/performance_analysis_report.html"), encoding="utf-8") as file:
        page = file.read()
    problems = same("headings", re.findall(r"<(h[123])>([^<]*)</h[123]>", page), [
        ("h1", "Performance Analysis Report"), ("h2", "Executive Summary"), ("h3", "1. Overall GPU Metrics Comparison"),
        ("h3", "2. Cross-Rank Performance Comparison"), ("h3", "3. NCCL Collective Operations Analysis")])
    problems += same("charts", re.findall(r"<h4>([^<]*)</h4>", page), [
        "Percentage Change Overview", "Absolute Time Comparison", "Performance Heatmap by Rank", "Total Time", "Computation Time",
        "Communication Time", "Idle Time", "Detailed Percentage Change by Metric", "NCCL Communication Latency", "NCCL Algorithm Bandwidth",
        "NCCL Bus Bandwidth", "NCCL Performance Percentage Change", "NCCL Total Communication Latency"])
    problems += same("images", len(re.findall(r'<img [^>]*src="data:image/png;base64,', page)), 13)
    problems += same("table", re.findall(r"<td>(GPU_idle_time)</td><td>(.*?)</td><td>(.*?)</td><td>(.*?)</td><td class=\"better\">", page),
                     [("GPU_idle_time", "7.24", "7.22", "0.35")])
    return problems + same("scripts", re.findall("<script|https?:", page), [])


def check_all(binary, folder):
    write_run(os.path.join(folder, "base"), 256, 28, range(2))
    write_run(os.path.join(folder, "a test"), 512, 28, range(2))
    traces = {name: os.path.getmtime(os.path.join(folder, name)) for name in files_under(folder)}
    problems = sweep(binary, folder, "compare", "--baseline", "base", "--test", "a test", "--output", "out", "--all", "--quiet", said="")
    written = sorted(name for name in files_under(folder) if name not in traces and not name.startswith("out/plots"))
    problems += same("files", written, sorted([*(f"out/{name}" for name in WORKBOOKS), "out/performance_analysis_report.html", *(
        f"{name}/tracelens_analysis/{file}" for name in ("base", "a test") for file in (
            "gpu_timeline_summary_mean.xlsx", "individual_reports/perf_rank0.xlsx", "individual_reports/perf_rank1.xlsx",
            "collective_reports/collective_all_ranks.xlsx"))]))
    problems += same("traces untouched", {name: os.path.getmtime(os.path.join(folder, name)) for name in traces}, traces)
    return (problems + check_numbers(folder, ((256, 28), (512, 28))) + check_collective_numbers(folder) + check_looks(folder) +
            check_plots(folder) + check_page(folder))


# ---- single steps ----

def check_steps(binary, folder):
    """Each step alone, on the files of the step before, gives what --all gives."""
    write_run(os.path.join(folder, "base"), 256, 28, range(2))
    write_run(os.path.join(folder, "a test"), 512, 42, range(2))
    problems = sweep(binary, folder, "compare", "--baseline", "base", "--test", "a test", "--output", "out", "--all", "--quiet")
    reports = {name: read_workbook(os.path.join(folder, name)) for name in files_under(folder) if "tracelens_analysis" in name}
    labels = ["--baseline-label", "base", "--test-label", "a test"]
    for name in ("base", "a test"):
        shutil.rmtree(os.path.join(folder, name, "tracelens_analysis"))
        problems += sweep(binary, folder, "run-tracelens-single-config", f"{name}/torch_profiler/")
        problems += sweep(binary, folder, "timeline", "--reports-dir", f"{name}/tracelens_analysis/individual_reports")
    for name, book in reports.items():
        problems += [] if read_workbook(os.path.join(folder, name)) == book else [f"{name} differs"]
    for kind, source in (("gpu_timeline", "gpu_timeline_summary_mean.xlsx"), ("collective", "collective_reports/collective_all_ranks.xlsx")):
        problems += sweep(binary, folder, "combine-reports", "--baseline", f"base/tracelens_analysis/{source}", "--test",
                          f"a test/tracelens_analysis/{source}", "--output", f"steps/{kind}_combined.xlsx", *labels)
    problems += sweep(binary, folder, "add-comparison-sheets", "--input", "steps/gpu_timeline_combined.xlsx", "--output",
                      "steps/gpu_timeline_comparison.xlsx", *labels)
    problems += sweep(binary, folder, "add-collective-comparison", "--input", "steps/collective_combined.xlsx", "--output",
                      "steps/collective_comparison.xlsx", *labels)
    problems += sweep(binary, folder, "create-final-report", "--gpu-combined", "steps/gpu_timeline_combined.xlsx", "--gpu-comparison",
                      "steps/gpu_timeline_comparison.xlsx", "--coll-combined", "steps/collective_combined.xlsx", "--coll-comparison",
                      "steps/collective_comparison.xlsx", "--output", "steps/final_analysis_report.xlsx", *labels)
    problems += sweep(binary, folder, "create-final-plots", "--input", "steps/final_analysis_report.xlsx")
    problems += sweep(binary, folder, "create-final-html", "-p", "steps/plots")
    problems += sweep(binary, folder, "create-final-html", "-p", "steps/plots/", "-o", "page.html")
    for name in WORKBOOKS:
        problems += [] if read_workbook(os.path.join(folder, "steps", name)) == read_workbook(os.path.join(folder, "out", name)) else [
            f"{name} of the steps differs"]
    for name in PAIR_PLOTS:
        with open(os.path.join(folder, "steps/plots", name), "rb") as one, open(os.path.join(folder, "out/plots", name), "rb") as other:
            problems += [] if one.read() == other.read() else [f"{name} differs"]
    pages = []
    for name in ("steps/final_analysis_report.html", "page.html"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            pages.append(file.read())
    problems += same("images of the page", [page.count("<img ") for page in pages], [13, 13])
    # runs called like numbers, which sheets do not tell from numbers
    problems += sweep(binary, folder, "combine-reports", "--baseline", "base/tracelens_analysis/collective_reports/collective_all_ranks.xlsx",
                      "--test", "a test/tracelens_analysis/collective_reports/collective_all_ranks.xlsx", "--output", "n.xlsx",
                      "--baseline-label", "1", "--test-label", "2")
    problems += sweep(binary, folder, "add-collective-comparison", "--input", "n.xlsx", "--output", "numbers.xlsx")
    problems += same("numbers as labels", read_workbook(os.path.join(folder, "numbers.xlsx"))["nccl_implicit_sync_cmp"][0][3:5],
                     ("1_comm_latency_mean", "2_comm_latency_mean"))
    # labels name columns; runs are told apart by the column source
    problems += sweep(binary, folder, "add-comparison-sheets", "--input", "steps/gpu_timeline_combined.xlsx", "--output", "default.xlsx")
    return problems + same("default labels", read_workbook(os.path.join(folder, "default.xlsx"))["Summary_Comparison"][0][1:3],
                           ("baseline_time_ms", "test_time_ms"))


def check_geometric(binary, folder):
    write_run(os.path.join(folder, "base"), 256, 28, range(2))
    problems = sweep(binary, folder, "run-tracelens-single-config", "base", "--collective-only", "-o", "elsewhere")
    problems += same("another folder", files_under(os.path.join(folder, "elsewhere")), ["collective_reports/collective_all_ranks.xlsx"])
    problems += sweep(binary, folder, "run-tracelens-single-config", "base", "--individual-only")
    problems += same("no collective report", os.path.exists(os.path.join(folder, "base/tracelens_analysis/collective_reports")), False)
    problems += sweep(binary, folder, "timeline", "--reports-dir", "base/tracelens_analysis/individual_reports/", "--geo-mean")
    rows = read_workbook(os.path.join(folder, "base/tracelens_analysis/gpu_timeline_summary_geomean.xlsx"))["Summary"]
    times = [timeline(generate_sweep.trace(256, 28, rank)) for rank in range(2)]
    wanted = {kind: math.exp(mean([math.log(ranks[kind] or 1e-10) for ranks in times])) for kind in TYPES}
    return problems + near("types", [row[0] for row in rows[1:]], TYPES) + near("means", [row[1] for row in rows[1:]], list(wanted.values()))


def check_order_of_ranks(binary, folder):
    """The last digit of a mean depends on the order of its terms, which is that of the file names: ranks 0, 10, 2."""
    def geometric(values):
        return float(f"{math.exp((math.log(values[0]) + math.log(values[1]) + math.log(values[2])) / 3):.16g}")
    first, second, third = next(values for values in ((1 + i / 7, 2 + i / 3, 3 + i / 11) for i in range(1000))
                                if geometric(values) != geometric((values[0], values[2], values[1])))
    for rank, value in ((0, first), (10, second), (2, third)):
        generate_sweep.write_workbook(os.path.join(folder, f"r/reports/perf_rank{rank}.xlsx"), gpu_timeline=[
            ["type", "time ms", "percent"], ["busy_time", float(f"{value:.16g}"), 1]])
    rounded = [float(f"{value:.16g}") for value in (first, second, third)]
    problems = sweep(binary, folder, "timeline", "--reports-dir", "r/reports", "--geo-mean", "--quiet")
    book = read_workbook(os.path.join(folder, "r/gpu_timeline_summary_geomean.xlsx"))
    problems += same("rows", [row[3] for row in book["All_Ranks_Combined"][1:]], [0, 2, 10])
    return problems + same("mean", book["Summary"][1][1], geometric(rounded))


def check_selection(binary, folder):
    """Options that choose parts of the work."""
    write_run(os.path.join(folder, "a"), 256, 28, range(2))
    write_run(os.path.join(folder, "b"), 512, 28, range(2))
    runs = ["--baseline", "a", "--test", "b", "--quiet"]
    problems = sweep(binary, folder, "compare", *runs, "--output", "none", "--collective-only")
    problems += same("only collective reports", [name for name in files_under(folder) if name.endswith(".xlsx")], [
        f"{name}/tracelens_analysis/collective_reports/collective_all_ranks.xlsx" for name in "ab"])
    problems += sweep(binary, folder, "compare", *runs, "--output", "c", "--collective", "--skip-tracelens")
    problems += same("collectives", sorted(files_under(os.path.join(folder, "c"))), WORKBOOKS[:2])
    problems += sweep(binary, folder, "compare", *runs, "--output", "t", "--gpu-timeline", "--skip-tracelens", code=1,
                      said="gputally: a: no rank reports")
    problems += sweep(binary, folder, "compare", *runs, "--output", "t", "--gpu-timeline", "--individual-only")
    problems += same("timelines", sorted(files_under(os.path.join(folder, "t"))), WORKBOOKS[3:])
    problems += sweep(binary, folder, "compare", *runs, "--output", "f", "--final-report", "--skip-tracelens")
    problems += same("final", sorted(files_under(os.path.join(folder, "f"))), WORKBOOKS)
    problems += sweep(binary, folder, "compare", *runs, "--output", "d")
    problems += same("default", sorted(files_under(os.path.join(folder, "d"))), [WORKBOOKS[1], WORKBOOKS[2], WORKBOOKS[4]])
    return problems + same("nothing else", sorted(os.listdir(folder)), ["a", "b", "c", "d", "f", "t"])


# ---- several runs ----

def check_all_runs(binary, folder):
    settings = {"base": (256, 28), "t.1": (512, 28), "t2": (512, 42)}
    for name, (threads, channels) in settings.items():
        write_run(os.path.join(folder, name), threads, channels, range(2))
    problems = sweep(binary, folder, "compare", "--baseline", "base", "--test", "t.1", "t2", "--output", "out", "--compare-all-runs", "--quiet")
    wanted = sorted(["final_analysis_report_for_all.html", "final_analysis_report_for_all.xlsx", *(f"plots/{name}" for name in ALL_PLOTS)])
    problems += same("files", sorted(files_under(os.path.join(folder, "out"))), wanted)
    book = read_workbook(os.path.join(folder, "out/final_analysis_report_for_all.xlsx"))
    problems += same("sheets", list(book), ["Summary", "Per_Rank_Time_ms", "NCCL_Summary"])
    times = {name: [timeline(generate_sweep.trace(*setting, rank)) for rank in range(2)] for name, setting in settings.items()}
    for values in book["Summary"][1:]:
        row, kind = dict(zip(book["Summary"][0], values)), values[0]
        means = [mean([ranks[kind] for ranks in times[name]]) for name in settings]
        problems += near(f"means of {kind}", [row[f"time ms_{name}"] for name in settings], means)
        problems += near(f"changes of {kind}", [row[f"percentage_change_{name}"] for name in ("t.1", "t2")],
                         [(test - means[0]) / means[0] * 100 if means[0] else None for test in means[1:]])
    problems += near("example", book["Summary"][1][-2:], [3.872333988803155, 5.611859022837411])
    problems += same("ranks", list(book["Per_Rank_Time_ms"][0]), ["type"] + [f"{rank}_{name}" for name in settings for rank in range(2)])
    for row in book["Per_Rank_Time_ms"][1:]:
        problems += near(f"ranks of {row[0]}", row[1:], [times[name][rank][row[0]] for name in settings for rank in range(2)])
    problems += sweep(binary, folder, "compare-all-runs", "--inputs", "base", "t.1", "t2", "--output", "step", "--quiet")
    problems += same("files of the step", sorted(files_under(os.path.join(folder, "step"))), wanted)
    problems += same("workbook of the step", read_workbook(os.path.join(folder, "step/final_analysis_report_for_all.xlsx")), book)
    problems += sweep(binary, folder, "compare", "--baseline", "base", "--test", "t.1", "t2", "--output", "both", "--all", "--skip-tracelens", "--quiet")
    problems += same("one folder per test", [name for name in ("t.1", "t2") if not os.path.exists(
        os.path.join(folder, "both", name, "performance_analysis_report.html"))], [])
    problems += same("and all", read_workbook(os.path.join(folder, "both/final_analysis_report_for_all.xlsx")), book)
    return problems + sweep(binary, folder, "compare-all-runs", "--inputs", "base", "--output", "o", code=2, said="--inputs")


# ---- odd runs ----

def check_odd_ranks(binary, folder):
    """One rank; a gap; rank 10 after rank 2; other ranks than the baseline; other places of traces."""
    write_run(os.path.join(folder, "one"), 256, 28, [0])
    write_run(os.path.join(folder, "gap"), 512, 28, [0, 2, 10])
    write_run(os.path.join(folder, "other"), 512, 28, [1], place="torch_profiler/rank_0{rank}/x.json")
    write_run(os.path.join(folder, "direct"), 512, 28, [0, 1], place="rank{rank}/x.json")
    problems = sweep(binary, folder, "compare", "--baseline", "gap", "--test", "one", "--output", "o", "--final-report", "--quiet", said="")
    book = read_workbook(os.path.join(folder, "o/gpu_timeline_comparison.xlsx"))
    problems += same("ranks in order", list(book["Per_Rank_Time_ms"][0]), ["type", 0, 2, 10, "source"])
    problems += same("common rank", {row[0] for row in book["Comparison_By_Rank"][1:]}, {0})
    problems += same("numbers of ranks", {(row[3], row[4]) for row in book["Summary"][1:]}, {(3, "gap"), (1, "one")})
    problems += sweep(binary, folder, "compare", "--baseline", "one", "--test", "other", "--output", "p", "--all", "--quiet",
                      said="no rank that both runs have")
    problems += same("no common rank", len(read_workbook(os.path.join(folder, "p/gpu_timeline_comparison.xlsx"))["Comparison_By_Rank"]), 1)
    problems += same("plots by rank", [name for name in os.listdir(os.path.join(folder, "p/plots")) if "rank" in name or "heat" in name], [])
    problems += sweep(binary, folder, "compare", "--baseline", "one/torch_profiler", "--test", "direct", "--output", "q", "--final-report", "--quiet")
    return problems + same("reports beside the ranks", sorted(os.listdir(os.path.join(folder, "direct"))), ["rank0", "rank1", "tracelens_analysis"])


def check_no_collectives(binary, folder):
    write_run(os.path.join(folder, "a"), 256, 28, range(2))
    write_run(os.path.join(folder, "b"), 512, 28, range(2), collectives=False)
    problems = sweep(binary, folder, "compare", "--baseline", "a", "--test", "b", "--output", "o", "--all", "--quiet",
                     said="b has no collective report; collectives are not compared")
    problems += same("files", sorted(files_under(os.path.join(folder, "o"))), sorted(
        ["final_analysis_report.xlsx", "gpu_timeline_combined.xlsx", "gpu_timeline_comparison.xlsx", "performance_analysis_report.html",
         *(f"plots/{name}" for name in PAIR_PLOTS if not name.startswith("NCCL"))]))
    with open(os.path.join(folder, "o/performance_analysis_report.html"), encoding="utf-8") as file:
        problems += same("images", file.read().count("<img "), 8)
    return problems


def check_second_run(binary, folder):
    """Reports and plots of an earlier call, on traces that are gone, are not used."""
    write_run(os.path.join(folder, "a"), 256, 28, range(3))
    write_run(os.path.join(folder, "b"), 512, 28, range(3))
    words = ["compare", "--baseline", "a", "--test", "b", "--output", "o", "--all", "--quiet"]
    problems = sweep(binary, folder, *words, said="")
    first = {name: read_workbook(os.path.join(folder, "o", name)) for name in WORKBOOKS}
    problems += sweep(binary, folder, *words, said="")
    problems += same("the same again", {name: read_workbook(os.path.join(folder, "o", name)) for name in WORKBOOKS}, first)
    shutil.rmtree(os.path.join(folder, "b/torch_profiler"))
    write_run(os.path.join(folder, "b"), 512, 28, range(2), collectives=False)
    problems += sweep(binary, folder, *words, said="b/tracelens_analysis/individual_reports/perf_rank2.xlsx is not used")
    book = read_workbook(os.path.join(folder, "o/gpu_timeline_comparison.xlsx"))
    problems += same("ranks", {row[0] for row in book["Comparison_By_Rank"][1:]}, {0, 1})
    problems += same("sheets", [name for name in read_workbook(os.path.join(folder, "o/final_analysis_report.xlsx")) if "NCCL" in name], [])
    with open(os.path.join(folder, "o/performance_analysis_report.html"), encoding="utf-8") as file:
        return problems + same("images", file.read().count("<img "), 8)


def check_labels(binary, folder):
    """Equal folder names; settings of a sweep; labels that are hostile or look like columns."""
    write_run(os.path.join(folder, "x/run"), 256, 28, [0])
    write_run(os.path.join(folder, "y/run"), 512, 28, [0])
    generate_sweep.lay_out(os.path.join(folder, "s"), channels=(28,), ranks=[0])
    final, base = ["compare", "--final-report", "--quiet"], ["compare", "--all", "--quiet"]
    problems = sweep(binary, folder, *final, "--baseline", "x/run", "--test", "y/run", "--output", "o", said="")
    problems += same("two", read_workbook(os.path.join(folder, "o/final_analysis_report.xlsx"))["Summary_Dashboard"][0][1:3], ("baseline", "test"))
    problems += sweep(binary, folder, *final, "--baseline", "s/256thread/nccl_28channels", "--test", "s/512thread/nccl_28channels", "--output", "p")
    problems += same("settings", read_workbook(os.path.join(folder, "p/final_analysis_report.xlsx"))["Summary_Dashboard"][0][1:3],
                     ("256thread_28ch", "512thread_28ch"))
    long, evil = "z" * 1000, "<script>alert(1)</script>"
    problems += sweep(binary, folder, *base, "--skip-tracelens", "--baseline", "x/run", "--test", "y/run", "x/run", "--output", "q",
                      "--baseline-label", evil, "--test-label", long, "../../up")
    problems += same("folders", sorted(os.listdir(os.path.join(folder, "q"))), [
        "_._.._up", "final_analysis_report_for_all.html", "final_analysis_report_for_all.xlsx", "plots", "z" * 100])
    problems += sweep(binary, folder, "compare", "--all", "--skip-tracelens", "--baseline", "x/run", "--test", "y/run", "x/run", "--output",
                      "taken", "--test-label", "plots", "other", said="the files of the test 'plots' are in taken/plots_2, because plots is taken")
    problems += same("labels that are names of our own", sorted(os.listdir(os.path.join(folder, "taken"))), [
        "final_analysis_report_for_all.html", "final_analysis_report_for_all.xlsx", "other", "plots", "plots_2"])
    problems += same("plots of all runs", sorted(os.listdir(os.path.join(folder, "taken/plots"))), sorted(ALL_PLOTS))
    for name in files_under(os.path.join(folder, "q")):
        if name.endswith(".html"):
            with open(os.path.join(folder, "q", name), encoding="utf-8") as file:
                problems += [f"{name}: a label is HTML"] if "<script" in file.read() else []
    problems += sweep(binary, folder, *final, "--skip-tracelens", "--baseline", "x/run", "--test", "y/run", "--output", "r", "--baseline-label", "diff",
                      "--test-label", "percent")
    import openpyxl
    book = openpyxl.load_workbook(os.path.join(folder, "r/final_analysis_report.xlsx"))
    problems += same("dashboard", [cell.value for cell in book["Summary_Dashboard"][2]], ["GPU_busy_time", 0.66, 0.69, -3.87, "Worse"])
    return problems + same("equal names are no table", len(book["GPU_Summary_Cmp"].tables), 0)


def check_failure(binary, folder, words, code, said):
    """Nothing is written."""
    write_run(os.path.join(folder, "a"), 256, 28, [0])
    os.makedirs(os.path.join(folder, "empty/torch_profiler"))
    os.makedirs(os.path.join(folder, "empty/torch_profiler/rank0"))
    os.makedirs(os.path.join(folder, "broken/torch_profiler/rank0"))
    with open(os.path.join(folder, "broken/torch_profiler/rank0/t.json"), "w", encoding="utf-8") as file:
        file.write("{")
    generate_sweep.write_workbook(os.path.join(folder, "book.xlsx"), other=[["a"], [1]])
    before = files_under(folder)
    return sweep(binary, folder, *words, code=code, said=said) + same("files", files_under(folder), before)


PAIR = ["--output", "o", "--all"]
OUT = ["--output", "o.xlsx"]
CASES = [
    Case("everything", check_all),
    Case("single steps", check_steps),
    Case("geometric means", check_geometric),
    Case("order of ranks", check_order_of_ranks),
    Case("selection", check_selection),
    Case("several runs", check_all_runs),
    Case("odd ranks", check_odd_ranks),
    Case("no collectives", check_no_collectives),
    Case("second run", check_second_run),
    Case("labels", check_labels),
    Case("run without traces", check_failure, ["compare", "--baseline", "a", "--test", "empty", *PAIR], 1, "gputally: empty: no traces: "),
    Case("no run", check_failure, ["compare", "--baseline", "a", "--test", "nothing", *PAIR], 1, "gputally: directory not found: nothing"),
    Case("gate without sweeps", check_failure, ["compare", "--baseline", "a", "--test", "a", *PAIR, "--fail_if", "step_ms > 1%"], 2,
         "argument --fail_if: only with OLD NEW"),
    Case("folder without ranks", check_failure, ["run-tracelens-single-config", "."], 1, "gputally: .: no traces"),
    Case("broken trace", check_failure, ["run-tracelens-single-config", "broken"], 1, "gputally: 1 report could not be written"),
    Case("no workbook", check_failure, ["combine-reports", "--baseline", "book.xlsx", "--test", "b.xlsx", *OUT], 1, "b.xlsx"),
    Case("no source", check_failure, ["add-collective-comparison", "--input", "book.xlsx", *OUT], 1, "no sheet"),
    Case("no sheet", check_failure, ["add-comparison-sheets", "--input", "book.xlsx", *OUT], 1, "gputally: book.xlsx: no sheet All_Ranks_Combined"),
    Case("no comparison", check_failure, ["create-final-report", "--gpu-combined", "book.xlsx", "--gpu-comparison", "book.xlsx", *OUT], 1,
         "gputally: book.xlsx: no sheet Summary_Comparison"),
    Case("no dashboard", check_failure, ["create-final-plots", "--input", "book.xlsx"], 1, "gputally: book.xlsx: no sheet Summary_Dashboard"),
    Case("no plots", check_failure, ["create-final-html", "-p", "empty"], 1, "gputally: empty: no plots"),
    Case("no option", check_failure, ["combine-reports", "--baseline", "book.xlsx", *OUT], 2, "the following arguments are required: --test"),
]


if __name__ == "__main__":
    sys.exit(run_cases(__doc__, CASES))
