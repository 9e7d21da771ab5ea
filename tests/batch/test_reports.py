#!/usr/bin/env python3
"""Compares the batch report with the reference model in reference_sheets.py and with the check cases of the specification.

    python3 -m tests.batch.test_reports --bin build/gputally [--only TEXT]

The traces are the fixtures, synthetic ones and, if available, the PyTorch traces of the conformance folder. Node replay runs
with stand-ins for the programs that it starts.
"""
import ast
import glob
import gzip
import json
import math
import os
import random
import stat
import sys

from tests.batch import reference_sheets
from tests.pytorch import generate_trace as pytorch_generator
from tests.common import harness
from tests.common.harness import Case, files_under, read_csv, run, run_cases

try:
    import openpyxl
except ImportError:
    openpyxl = None

FIXTURES = os.path.join(harness.FIXTURES, "pytorch")
BERT, QWEN = "mi300__gaunernst_bert-small-uncased__1016001.json.gz", "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"


def read_bytes(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def put(folder, name, content):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def differs(cell, value):
    """Whether a cell of a CSV file differs from the value."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return cell != ""
    if isinstance(value, str):
        return cell != value
    try:
        # A tiny deviation is a matter of rounding.
        return cell == "" or not math.isclose(float(cell), value, rel_tol=1e-9, abs_tol=1e-9)
    except ValueError:
        return True


def compare(found, wanted):
    (headings, rows), (wanted_headings, wanted_rows) = found, wanted
    if headings != wanted_headings:
        return [f"columns {headings}"]
    if len(rows) != len(wanted_rows):
        return [f"{len(rows)} rows instead of {len(wanted_rows)}"]
    return [f"{row} instead of {expected}" for row, expected in zip(rows, wanted_rows)
            if any(differs(a, b) for a, b in zip(row, expected))][:2]


# ---- reports compared with the reference model ----


def compare_group(folder, ranks, group):
    path, wanted = os.path.join(folder, group + ".csv"), reference_sheets.group_rows(ranks, group)
    if not wanted or not os.path.exists(path):
        return [f"{group} is {'not ' * bool(wanted)}there"] if bool(wanted) != os.path.exists(path) else []
    headings, rows = read_csv(path)
    problems = []
    if len(rows) != len(wanted):
        return [f"{group} has {len(rows)} rows instead of {len(wanted)}"]
    for cells, (row, ops, kernels) in zip(rows, wanted):
        cells = dict(zip(headings, cells))
        problems += [f"{group}: {key} is {cells.get(key)} instead of {value} of {row['name']}" for key, value in row.items()
                     if key not in cells or differs(cells[key], value)]
        details = ast.literal_eval(cells["kernel_details__summarize_kernel_stats"])
        expected = reference_sheets.kernel_details(ops, kernels)
        same = len(details) == len(expected) and all(
            list(a) == list(b) and all(a[k] == b[k] if not isinstance(b[k], float) else
                                       math.isclose(a[k], b[k], rel_tol=1e-9, abs_tol=1e-9) for k in b)
            for a, b in zip(details, expected))
        problems += [] if same else [f"{group}: kernels of {row['name']} are {details} instead of {expected}"]
    return problems[:3]


def compare_workbook(path, csv_folder):
    """The workbook has the cells of the CSV files, in the order of the report."""
    if not openpyxl:
        return []
    book, problems = openpyxl.load_workbook(path), []
    names = [name[:-4] for name in os.listdir(csv_folder)]
    if sorted(book.sheetnames) != sorted(names):
        return [f"sheets {book.sheetnames}"]
    for name in names:
        headings, rows = read_csv(os.path.join(csv_folder, name + ".csv"))
        cells = [list(row) for row in book[name].iter_rows(values_only=True)]
        top = 3 if name == "cuda_events_summary" else 1
        if top == 1 and [cell or "" for cell in cells[0]] != headings:
            problems.append(f"{name}: headings {cells[0]}")
        if top == 3:
            problems += compare_headings(book[name], cells, headings, rows)
            cells[top:] = fill_merged(cells[top:])
        for row, expected in zip(cells[top:], rows):
            problems += [f"{name}: {a!r} instead of {b!r}" for a, b in zip(row, expected)
                         if (str(a) if a is not None else "") != b and (isinstance(a, str) or differs(b, a))][:1]
        if len(cells) - top != len(rows):
            problems.append(f"{name} has {len(cells) - top} rows instead of {len(rows)}")
    return problems[:3]


def fill_merged(rows):
    for before, row in zip(rows, rows[1:]):
        row[0] = before[0] if row[0] is None else row[0]
    return rows


def compare_headings(sheet, cells, headings, rows):
    """The measures are above the ranks, in merged cells; equal names below each other are merged too."""
    ranks = (len(headings) - 2) // 4
    measures = list(reference_sheets.MEASURES)
    over = [None, None] + [m if place == 0 else None for m in measures for place in range(ranks)]
    under = [None, "rank"] + [int(h.rsplit("_", 1)[1]) for h in headings[2:]]
    wanted = [over, under, ["name", "cat"] + [None] * (4 * ranks)]
    letter = openpyxl.utils.get_column_letter
    merged = {f"{letter(3 + m * ranks)}1:{letter(2 + (m + 1) * ranks)}1" for m in range(4)} if ranks > 1 else set()
    names = [row[0] for row in rows]
    first = 0
    for place in range(1, len(names) + 1):
        if place == len(names) or names[place] != names[first]:
            if place > first + 1:
                merged.add(f"A{first + 4}:A{place + 3}")
            first = place
    found = {str(area) for area in sheet.merged_cells.ranges}
    return ([] if cells[:3] == wanted else [f"headings {cells[:3]}"]) + \
        ([] if found == merged else [f"merged {found} instead of {merged}"])


def check_report(binary, folder, documents, arguments=()):
    """documents: rank -> bytes of its trace."""
    for rank, content in documents.items():
        put(folder, f"run/traces_rank_{rank}_step_8.json", content)
    common = [binary, "batch", "-b", "run", "-f", "step_8", "-a", "--quiet", *arguments]
    for command in (common + ["--output_csvs_dir", "out"], common):
        done = run(command, cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
    wanted, ranks = reference_sheets.sheets([(rank, json.loads(documents[rank])) for rank in sorted(documents)])
    out = os.path.join(folder, "out")
    problems = [f"{name}.csv was written" for name in ("unlinked_short_kernels_summary", "short_cpu_op_counts",
                                                    "cuda_events_summary")
                if name not in wanted and os.path.exists(os.path.join(out, name + ".csv"))]
    for name, sheet in wanted.items():
        problems += [f"{name}: {t}" for t in compare(read_csv(os.path.join(out, name + ".csv")), sheet)]
    for group in reference_sheets.GROUPS:
        problems += compare_group(out, ranks, group)
    return problems + compare_workbook(os.path.join(folder, "run", "run_step_8_performance_report.xlsx"), out)


def synthetic(binary, options, ranks, arguments=()):
    def check(folder):
        documents = {}
        for place, rank in enumerate(ranks):
            path = os.path.join(folder, "made.json")
            pytorch_generator.write_trace(path, pytorch_generator.Options(seed=place + 1, **options))
            documents[rank] = read_bytes(path)
        return check_report(binary, folder, documents, arguments)
    return check


def of_files(binary, paths):
    """Different traces as the ranks of one run."""
    return lambda folder: check_report(binary, folder, {3 * place: read_bytes(p) for place, p in enumerate(paths)})


# ---- check cases of the specification ----


def sheet_of(folder, name):
    headings, rows = read_csv(os.path.join(folder, "out", name + ".csv"))
    return [dict(zip(headings, row)) for row in rows]


def expect(found, wanted):
    return [f"{key} is {found.get(key)!r} instead of {value!r}" for key, value in wanted.items()
            if differs(found.get(key, "?"), value)]


def one_rank(binary):
    def check(folder):
        put(folder, "t/t_rank_0.json", read_bytes(os.path.join(harness.CONFORMANCE_TRACES, BERT)))
        done = run([binary, "batch", "-b", "t", "--output_csvs_dir", "out"], cwd=folder)
        wanted = dict(zip(
            ["Attention", "GEMM", "Conv", "Norm", "UpSample", "Pad", "Elemwise", "Concat", "MoE", "Triton", "Comms", "Memcpy",
             "Other", "Total"],
            [0, 0.000174130859375, 0, 3.951904296875e-05, 0, 0, 2.188037109375e-05, 0, 0, 0, 0, 2.40380859375e-06,
             0.00015521826171875, 0.00039315234375]))
        breakdown = sheet_of(folder, "grouped_breakdown")
        problems = [] if [row["Group"] for row in breakdown] == list(wanted) else [f"groups {breakdown}"]
        problems += expect({row["Group"]: row["Time (s)"] for row in breakdown}, wanted)
        counts = [list(row.values()) for row in sheet_of(folder, "linked_and_short_kernels")]
        problems += [] if counts == [["0", "61", "61", "0", "55", "0"]] else [f"counts {counts}"]
        ops = [tuple(row.values()) for row in sheet_of(folder, "short_cpu_op_counts")]
        if ops[:5] != [("aten::addmm", "24"), ("aten::native_layer_norm", "10"), ("aten::add", "9"), ("aten::gelu", "5"),
                       ("aten::index_select", "3")] or ops[-1] != ("Total", "54") or len(ops) != 9:
            problems.append(f"short ops {ops}")
        attention, = sheet_of(folder, "attn")
        problems += expect(attention, {
            "name": "aten::_scaled_dot_product_flash_attention", "param: N_Q": 141, "GFLOPS_first": 0.040716288,
            "Kernel Time (µs)_mean": 28.4139404296875, "Kernel Time (µs)_std": 2.417572675156308, "name_count": 4,
            "kernel_time_sum_cum_pct": 1})
        absent = {"un_elemwise.csv", "conv.csv", "unlinked_short_kernels_summary.csv", "long.csv"}
        problems += [f"{name} was written" for name in absent & set(files_under(os.path.join(folder, "out")))]
        for line in ("No events to summarize performance metrics from group conv", "No unlinked kernel events found."):
            problems += [] if line in done.stdout.split("\n") else [f"no line {line!r}"]
        gemms = [(r["param: M"], r["param: N"], r["param: K"], float(r["Kernel Time (µs)_mean"]),
                  float(r["kernel_time_sum_cum_pct"])) for r in sheet_of(folder, "gemm")]
        expected = [("141", "512", "512", 5.043313419117647, 0.4923672256183052),
                    ("141", "2048", "512", 8.4486083984375, 0.6864421513095171),
                    ("141", "512", "2048", 7.2657470703125, 0.8533452975155628), ("141", "30522", "512", 25.537109375, 1)]
        same = all(a[:3] == b[:3] and all(math.isclose(x, y, rel_tol=1e-15) for x, y in zip(a[3:], b[3:]))
                   for a, b in zip(gemms, expected))
        return problems + ([] if same and len(gemms) == 4 else [f"matrix products {gemms}"])
    return check


def three_ranks(binary):
    def check(folder):
        bert = read_bytes(os.path.join(harness.CONFORMANCE_TRACES, BERT))
        for rank, content in ((0, bert), (2, bert), (10, read_bytes(os.path.join(harness.CONFORMANCE_TRACES, QWEN)))):
            put(folder, f"t/t_rank_{rank}.json", content)
        run([binary, "batch", "-b", "t", "-f", "t_rank", "--output_csvs_dir", "out", "--quiet"], cwd=folder)
        rows = sheet_of(folder, "gpu_timelines")
        columns = ["type", "time_ms_0", "percent_0", "time_ms_2", "percent_2", "time_ms_10", "percent_10", "time_ms_avg",
                   "time_ms_std"]
        problems = [] if list(rows[0]) == columns else [f"columns {list(rows[0])}"]
        by_type = {row["type"]: row for row in rows}
        problems += expect(by_type["computation_time"], {
            "time_ms_0": 0.3883447265625, "time_ms_2": 0.3883447265625, "time_ms_10": 29.74316796875,
            "time_ms_avg": 10.17328580729167, "time_ms_std": 13.83799638338884})
        problems += expect(by_type["idle_time"], {"time_ms_avg": 3.199286946614583, "time_ms_std": 0.1330200898289345})
        mul = next(row for row in sheet_of(folder, "kernel_launchers") if row["name"] == "aten::mul")
        problems += expect(mul, {"count": 220, "kernel_time_ms": 4.54128857421875, "pct": 14.87706920796525,
                                 "cum_pct": 43.25870612148204, "time_ms_avg": 1.513762858072917,
                                 "count_avg": 73.33333333333333})
        counts = list(sheet_of(folder, "linked_and_short_kernels")[2].values())
        problems += [] if counts == ["10", "1517", "1054", "463", "142", "55"] else [f"counts {counts}"]
        call = next(row for row in sheet_of(folder, "cuda_events_summary") if row["name"] == "hipLaunchKernel")
        return problems + expect(call, {
            "cat": "cuda_runtime", "count_0": 30, "count_2": 30, "count_10": 860, "min_dur_0": 3.145, "min_dur_10": 2.893,
            "max_dur_2": 10.154, "max_dur_10": 39.469, "mean_dur_0": 4.287999999999999, "mean_dur_10": 4.747544186046512})
    return check


def collective_events(start, durations):
    events = []
    for i, (ts, dur) in enumerate(zip(start, durations)):
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7,
                       "ts": ts, "dur": dur,
                       "args": {"correlation": i + 1, "External id": i + 1, "stream": 7, "Collective name": "allreduce",
                                "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "BFloat16", "Group size": 2,
                                "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "In split size": "[]",
                                "Out split size": "[]"}})
    return events


def with_host(events):
    """The events and the calls that launched them."""
    more = [{"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 0, "dur": 5000, "args": {}}]
    for event in events:
        link = event["args"]["correlation"]
        more += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10 * link, "dur": 5,
                  "args": {"correlation": link, "External id": link}},
                 {"ph": "s", "id": link, "pid": 1, "tid": 1, "ts": 10 * link, "cat": "ac2g", "name": "ac2g"},
                 {"ph": "f", "id": link, "pid": 0, "tid": 7, "ts": event["ts"], "cat": "ac2g", "name": "ac2g", "bp": "e"}]
    return {"traceEvents": events + more}


def two_ranks_with_collectives(binary, mismatch=False):
    def check(folder):
        first, second = collective_events([1000, 2000], [50, 60]), collective_events([1005, 2005], [45, 55])
        if mismatch:
            second[1]["args"]["In msg nelems"] = 512
        put(folder, "t/t_rank_3.json", with_host(first))
        put(folder, "t/t_rank_4.json", with_host(second))
        done = run([binary, "batch", "-b", "t", "-f", "rank", "--output_csvs_dir", "out"], cwd=folder)
        if done.code:
            return [done.stderr]
        long = sheet_of(folder, "long")
        problems = [] if sorted({row["rank"] for row in long}) == ["0", "1"] else [f"ranks {long}"]
        sync = sheet_of(folder, "nccl_implicit_sync_cat")
        for row, latency in zip(sync, (45, 55)):
            problems += expect(row, {"comm_latency": latency, "skew in start time": 5, "avg_wait_time": 2.5,
                                     "In msg nelems": 1024})
        detailed = sheet_of(folder, "nccl_implicit_sync_cat_detailed")
        added = [key for key in detailed[0] if key not in sync[0]]
        if added != ["rank_0_ts", "rank_0_dur", "rank_1_ts", "rank_1_dur", "rank_0_wait_time", "rank_1_wait_time"]:
            problems.append(f"detailed columns {added}")
        summary, = sheet_of(folder, "summary_nccl_implicit_sync_cat")
        problems += expect(summary, {"comm_latency_mean": 50, "algo bw (GB/s)_mean": 0.03853229561237374, "count": 2,
                                     "Total comm latency (ms)": 0.1})
        if list(summary) != ["Collective name", "dtype", "In msg nelems", "Process Group Name", "Group size",
                             "Full msg size (MB)", "comm_latency_mean", "skew in start time_mean", "skew in end time_mean",
                             "algo bw (GB/s)_mean", "bus bw (GB/s)_mean", "count", "Total comm latency (ms)"]:
            problems.append(f"summary columns {list(summary)}")
        if mismatch and not any("disagree" in line for line in done.stderr.split("\n")):
            problems.append("no warning about the mismatch")
        if "Starting NcclAnalyser with world_size 2" not in done.stdout.split("\n"):
            problems.append("no line about the collectives")
        return problems
    return check


# ---- failures ----


def damaged_rank(binary):
    """A folder whose trace cannot be read fails; the others get their reports."""
    def check(folder):
        whole = read_bytes(os.path.join(FIXTURES, "inference.json.gz"))
        for name, content in (("a/t_rank_0.json", whole), ("b/t_rank_0.json", whole), ("b/t_rank_1.json", b"{\"traceEve"),
                              ("c/t_rank_0.json", whole)):
            put(folder, "base/" + name, content)
        done = run([binary, "batch", "-b", "base", "-f", "rank_", "--strict"], cwd=folder)
        reports = [name for name in files_under(folder) if not name.endswith(".json")]
        problems = [] if reports == ["base/a/a_rank__performance_report.xlsx", "base/c/c_rank__performance_report.xlsx"] \
            else [f"files {reports}"]
        if done.code != 1 or "t_rank_1.json" not in done.stderr:
            problems.append(f"exit {done.code}, {done.stderr}")
        return problems
    return check


def damage(binary, seed):
    """A truncated or damaged rank and a complete one: a complete report or none."""
    def check(folder):
        made = random.Random(seed)
        whole = read_bytes(os.path.join(FIXTURES, made.choice(["inference", "collectives", "graph"]) + ".json.gz"))
        odd = bytearray(whole[:made.randrange(len(whole))] if seed % 2 else whole)
        for _ in range(0 if seed % 2 else made.randint(1, 20)):
            odd[made.randrange(len(odd))] ^= 1 << made.randrange(8)
        put(folder, "t/t_rank_0.json", whole)
        put(folder, "t/t_rank_1.json", bytes(odd))
        done = run([binary, "batch", "-b", "t", "-f", "rank", "-a"], cwd=folder)
        reports = [name for name in files_under(folder) if not name.endswith(".json")]
        wanted = ["t/t_rank_performance_report.xlsx"] if done.code == 0 else []
        said = done.code == 0 or "t_rank_1.json" in done.stderr
        return done.problems() + ([] if reports == wanted and said else [f"exit {done.code}, {reports}, {done.stderr}"])
    return check


def no_kernels(binary):
    """Traces with host events only, and empty ones: the mandatory sheets, and warnings."""
    def check(folder):
        op = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5,
              "args": {"Input Dims": "odd", "Input type": [], "Concrete Inputs": None}}
        put(folder, "t/t_rank_0.json", {"traceEvents": [op]})
        put(folder, "t/t_rank_1.json", {"traceEvents": []})
        done = run([binary, "batch", "-b", "t", "-f", "rank", "--output_csvs_dir", "out"], cwd=folder)
        sheets = files_under(os.path.join(folder, "out"))
        problems = [] if done.code == 0 and sheets == [
            "gpu_timelines.csv", "grouped_breakdown.csv", "kernel_launchers.csv", "linked_and_short_kernels.csv"] else \
            [f"exit {done.code}, {sheets}, {done.stderr}"]
        total = sheet_of(folder, "grouped_breakdown")[-1]
        return problems + expect(total, {"Group": "Total", "Time (s)": 0})
    return check


# ---- node replay ----

BENCH_OUTPUT = """hipBLASLt version: 1300
Query device success: there are 1 devices
[0]:transA,transB,grouped_gemm,batch_count,m,n,k,hipblaslt-Gflops,hipblaslt-GB/s,us
    T,N,0,1,2816,8944,1024,466824,673.85,110.494
    --Solution index: 1214
    --Solution name:  Cijk
    --kernel name:    Cijk
"""
MIOPEN_OUTPUT = """MIOpenDriver convbfp16 -n 128
MIOpen Forward Conv. Algorithm: 5, Solution: 93/ConvHipImplicitGemmFwdXdlops
GPU Kernel Time Forward Conv. Elapsed: 0.083398 ms (average)
stats: name, n, c, ho, wo, x, y, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 128, 3, 32, 32, 3, 3, 64,  452984832, 0, 0, 5432, 211, 0.083398
Forward Convolution Verifies OK on GPU reference (0.001 < 0.02)
"""
MM = {"Input Dims": [[8944, 1024], [1024, 2816]], "Input type": ["c10::BFloat16"] * 2,
      "Input Strides": [[1024, 1], [1, 1024]], "Concrete Inputs": ["", ""]}
CONV = {"Input Dims": [[128, 3, 32, 32], [64, 3, 3, 3], [], [], [], [], [], [], []],
        "Input type": ["c10::BFloat16", "c10::BFloat16", ""] + ["ScalarList"] * 3 + ["Scalar", "ScalarList", "Scalar"],
        "Input Strides": [[3072, 1024, 32, 1], [27, 9, 3, 1], [], [], [], [], [], [], []],
        "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]}


def trace_of_ops(ops):
    """(name, arguments, kernel's duration) -> one op after another, each with a kernel."""
    events = []
    for i, (name, arguments, dur) in enumerate(ops):
        start, link = 1000 * i, i + 1
        events += [{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": 900, "args": arguments},
                   {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 1, "tid": 1, "ts": start + 5, "dur": 5,
                    "args": {"correlation": link}},
                   {"ph": "s", "id": link, "pid": 1, "tid": 1, "ts": start + 5, "cat": "ac2g", "name": "ac2g"},
                   {"ph": "f", "id": link, "pid": 0, "tid": 0, "ts": start + 50, "cat": "ac2g", "name": "ac2g", "bp": "e"},
                   {"ph": "X", "cat": "kernel", "name": f"kernel_{i}", "pid": 0, "tid": 0, "ts": start + 50, "dur": dur,
                    "args": {"correlation": link, "External id": link, "stream": 0}}]
    return {"traceEvents": events}


def stand_in(folder, name, script):
    path = put(folder, "bin/" + name, ("#!/bin/sh\n" + script).encode())
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def run_replay(binary, folder, extra_path=True):
    """Runs with only the stand-ins on PATH, or an empty PATH."""
    command = ["/usr/bin/env", "PATH=" + os.path.join(folder, "bin") if extra_path else "PATH=/nonexistent", binary, "batch",
               "-b", "t", "-r", "--output_csvs_dir", "out"]
    return run(command, cwd=folder)


def replay_with_tools(binary):
    def check(folder):
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", MM, 90), ("aten::mm", MM, 110), ("aten::convolution", CONV, 80)]))
        stand_in(folder, "amd-smi", "")
        stand_in(folder, "hipblaslt-bench", f"echo \"$@\" >> bench_arguments\n/bin/cat <<'END'\n{BENCH_OUTPUT}END\n")
        stand_in(folder, "MIOpenDriver", f"echo \"$@\" >> driver_arguments\n/bin/cat <<'END'\n{MIOPEN_OUTPUT}END\n")
        # The arguments are: -Ic SCRIPT MODE IR. It logs nothing, so commands come from shapes.
        stand_in(folder, "python3", "[ \"$3\" = time ] && echo 120\n[ \"$3\" = time ] && echo $4 >> ops\nexit 0\n")
        done = run_replay(binary, folder)
        if done.code or "Dependency" in done.stdout:
            return [f"exit {done.code}: {done.stdout} {done.stderr}"]
        gemm, = sheet_of(folder, "gemm_node_replay")
        problems = expect(gemm, {
            "gemm no.": 0, "Avg. gemm-bench time (us)": 110.494, "Avg. replay time (us)": 120, "Avg. profile time (us)": 100,
            "Diff profile vs. replay (us)": 20, "Diff profile vs. gemm-bench (us)": 10.494,
            "Diff profile vs. replay (pct)": 20, "Diff profile vs. gemm-bench (pct)": 10.494})
        conv, = sheet_of(folder, "conv_node_replay")
        problems += expect(conv, {"conv no.": 0, "Avg. conv-bench time (us)": 83.398, "Avg. replay time (us)": 120,
                                  "Avg. profile time (us)": 80, "Diff profile vs. conv-bench (pct)": 4.2475})
        command = read_bytes(os.path.join(folder, "t", "hipblaslt-bench-0.log")).decode()
        for part in (" -m 2816 -n 8944 -k 1024 --lda 1024 --ldb 1024 --ldc 2816 --ldd 2816 ", " --transA T --transB N ",
                     " --algo_method heuristic --requested_solution 1 "):
            problems += [] if part in command else [f"{part!r} is not in {command!r}"]
        if read_bytes(os.path.join(folder, "bench_arguments")).decode().split() != command.split()[1:]:
            problems.append("the arguments of hipblaslt-bench are not those of the file")
        driver = read_bytes(os.path.join(folder, "t", "miopen-driver-0.log")).decode()
        if driver != ("MIOpenDriver convbfp16 -n 128 -c 3 -H 32 -W 32 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv "
                      "-g 1 -F 1 -t 1\n"):
            problems.append(f"driver: {driver}")
        with open(os.path.join(folder, "ops"), encoding="utf-8") as file:
            op = json.loads(file.readline())
        shapes = [argument["value"]["shape"] for argument in op["replay_ir"]["list_pos_args"]]
        if op["op_name"] != "aten::mm" or shapes != MM["Input Dims"]:
            problems.append(f"replayed {op}")
        return problems
    return check


def replay_with_log(binary):
    """The commands that hipBLASLt and MIOpen log are edited and run."""
    def check(folder):
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", MM, 90), ("aten::convolution", CONV, 80)]))
        head = "hipblaslt-bench --api_method c -m 2816 --bias_type f32_r"
        log = head + (" --aux_type f32_r   --compute_type f32_r --algo_method index --solution_index 1214 --activation_type none "
                      "--any_stride --rotating 0 --cold_iters 0 --iters 0 ")
        edited = head + ("    --compute_type f32_r --algo_method heuristic --requested_solution 1 --activation_type none "
                         "--any_stride --rotating 512 --cold_iters 100 --iters 100  --flush --initialization trig_float "
                         "--use_gpu_timer --print_kernel_info\n")
        driver = "MIOpenDriver convbfp16 -n 128 -c 3 -H 32 -W 32 -k 64 -m conv -g 1 -F 1 -t 1"
        stand_in(folder, "python3", f"""[ "$3" = log ] || exit 0
if [ -n "$HIPBLASLT_LOG_FILE" ]; then echo '{log}' > "$HIPBLASLT_LOG_FILE"; exit 0; fi
echo 'MIOpen(HIP): Info [get_device_name] gfx942' >&2
echo 'MIOpen(HIP): Command [LogCmdConvolution] ./bin/{driver}' >&2
""")
        done = run_replay(binary, folder)
        found = {name: read_bytes(os.path.join(folder, "t", name)).decode() for name in os.listdir(os.path.join(folder, "t"))
                 if name.endswith(".log")}
        wanted = {"hipblaslt-bench-0.log": edited, "miopen-driver-0.log": driver + "\n"}
        gemm, = sheet_of(folder, "gemm_node_replay")
        problems = expect(gemm, {"Avg. gemm-bench time (us)": None, "Avg. replay time (us)": None, "Avg. profile time (us)": 90,
                                 "Diff profile vs. replay (pct)": None})
        return problems + ([] if found == wanted else [f"files {found}"]) + ([] if done.code == 0 else [done.stderr])
    return check


def replay_without_tools(binary):
    """The commands are written, and the sheets with empty cells; missing programs are named."""
    def check(folder):
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", MM, 90), ("aten::convolution", CONV, 80)]))
        done = run_replay(binary, folder, extra_path=False)
        lines = [line for line in done.stdout.split("\n") if line.startswith("Dependency not found: ")]
        problems = [] if [line[22:] for line in lines[:3]] == ["ROCm platform", "hipblaslt-bench", "MIOpenDriver"] and \
            len(lines) == 4 else [f"lines {lines}"]
        logs = [name for name in files_under(os.path.join(folder, "t")) if name.endswith(".log")]
        problems += [] if logs == ["hipblaslt-bench-0.log", "miopen-driver-0.log"] else [f"files {logs}"]
        conv, = sheet_of(folder, "conv_node_replay")
        return problems + expect(conv, {"conv no.": 0, "Avg. conv-bench time (us)": None, "Avg. replay time (us)": None,
                                        "Avg. profile time (us)": 80, "Diff profile vs. conv-bench (us)": None})
    return check


def replay_that_fails(binary):
    """A tool that fails, one with unknown output, and arguments that would be commands to a shell."""
    def check(folder):
        hostile = {**MM, "Input type": ["c10::BFloat16; touch PWNED", "$(touch PWNED)"], "Concrete Inputs": ["`touch PWNED`", ""]}
        small = {**MM, "Input Dims": [[8, 1024], [1024, 8]]}
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", hostile, 500), ("aten::mm", MM, 400), ("aten::mm", small, 20),
                                                     ("aten::convolution", CONV, 80)]))
        stand_in(folder, "hipblaslt-bench", "exit 7\n")
        stand_in(folder, "MIOpenDriver", "echo stats: nothing\n")
        stand_in(folder, "python3", "[ \"$3\" = '' ] && exit 0\necho 'no GPU' >&2\nexit 1\n")
        done = run_replay(binary, folder)
        problems = [] if done.code == 0 else [f"exit {done.code}: {done.stderr}"]
        if not any(line.startswith("Subprocess error: Command 'hipblaslt-bench --api_method c") and
                   line.endswith("returned non-zero exit status 7.") for line in done.stdout.split("\n")):
            problems.append(f"no line about the failure: {done.stdout}")
        problems += [f"{name} was created" for name in files_under(folder) if "PWNED" in name]
        rows = sheet_of(folder, "gemm_node_replay") + sheet_of(folder, "conv_node_replay")
        empty = [value for row in rows for key, value in row.items() if key[:4] in ("Avg.", "Diff") and "profile time" not in key]
        return problems + ([] if not any(empty) else [f"cells {empty}"])
    return check


def replay_beside_modules(binary):
    """Modules beside the traces and in the current folder are not imported; torch comes from PYTHONPATH, after the library."""
    def check(folder):
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", MM, 90)]))
        stolen = "open(%r, 'a').write(__file__)\n" % os.path.join(folder, "stolen")
        for name in ("json", "ast", "torch", "site", "os"):
            put(folder, name + ".py", stolen.encode())
            put(folder, f"t/{name}.py", stolen.encode())
        put(folder, "modules/torch.py", b"import sys\nprint('imported', file=open('seen', 'w'))\nsys.exit(1 if len(sys.argv) > 1 else 0)\n")
        put(folder, "modules/json.py", stolen.encode())
        for path, imported in ((":", False), (".", False), (os.path.join(folder, "modules"), True)):
            done = run(["/usr/bin/env", "PYTHONPATH=" + path, binary, "batch", "-b", "t", "-r", "--output_csvs_dir", "out"], cwd=folder)
            if done.code or os.path.exists(os.path.join(folder, "stolen")):
                return [f"PYTHONPATH={path}: exit {done.code}, stolen: {os.path.exists(os.path.join(folder, 'stolen'))}: {done.stderr}"]
            if os.path.exists(os.path.join(folder, "seen")) != imported:
                return [f"PYTHONPATH={path}: torch was {'not ' * imported}imported"]
        return []
    return check


def replay_without_end(binary):
    """A torch that never answers is ended, with a warning; the report is written."""
    def check(folder):
        put(folder, "t/t_rank_0.json", trace_of_ops([("aten::mm", MM, 90)]))
        put(folder, "modules/torch.py", b"import time, sys\nwhile len(sys.argv) > 1: time.sleep(9)\n")
        done = run(["/usr/bin/env", "PYTHONPATH=" + os.path.join(folder, "modules"), binary, "batch", "-b", "t", "-r", "--replay_timeout", "1",
                    "--output_csvs_dir", "out"], cwd=folder)
        problems = [] if done.code == 0 else [f"exit {done.code}: {done.stderr}"]
        if "python3: not finished after 1 s and ended (--replay_timeout)" not in done.stderr:
            problems.append(done.stderr)
        gemm, = sheet_of(folder, "gemm_node_replay")
        return problems + expect(gemm, {"gemm no.": 0, "Avg. replay time (us)": None})
    return check


def cases(binary):
    yield Case("two ranks with collectives", two_ranks_with_collectives(binary))
    yield Case("ranks that disagree", two_ranks_with_collectives(binary, mismatch=True))
    yield Case("a damaged rank", damaged_rank(binary))
    yield Case("traces without kernels", no_kernels(binary))
    for seed in harness.seeds(24):
        yield Case(f"damage, seed {seed}", damage(binary, seed))
    yield Case("replay with tools", replay_with_tools(binary))
    yield Case("replay from logs", replay_with_log(binary))
    yield Case("replay without tools", replay_without_tools(binary))
    yield Case("replay that fails", replay_that_fails(binary))
    yield Case("replay beside modules", replay_beside_modules(binary))
    yield Case("replay without end", replay_without_end(binary))
    for name, options, ranks, arguments in (
            ("plain", {}, (0,), ()), ("three ranks, threads", {"collectives": True}, (0, 2, 10), ("--threads", "3")),
            ("one thread", {"collectives": True, "odd_events": True}, (1, 3), ("--threads", "1")),
            ("integer times", {"times": "integer", "graphs": True}, (0, 1), ()),
            ("mixed times", {"times": "mixed", "odd_events": True, "python_functions": True}, (5, 7), ()),
            ("old names", {"old_names": True}, (0, 1), ()), ("without shapes", {"no_shapes": True}, (0, 4), ()),
            ("many ranks", {"events": 600, "collectives": True, "graphs": True}, tuple(range(12)), ())):
        yield Case(f"synthetic: {name}", synthetic(binary, options, ranks, arguments))
    fixtures = [os.path.join(FIXTURES, name + ".json.gz") for name in
                ("training", "inference", "graph", "streams", "compiled", "no_shapes", "collectives")]
    yield Case("fixtures as ranks", of_files(binary, fixtures))
    if os.path.isdir(harness.CONFORMANCE_TRACES):
        yield Case("one rank of the specification", one_rank(binary))
        yield Case("three ranks of the specification", three_ranks(binary))
        yield Case("four real ranks", of_files(binary, sorted(glob.glob(os.path.join(harness.CONFORMANCE_TRACES, "ranks4", "*.gz")))))
    else:
        print("skipped real traces: GPUTALLY_CONFORMANCE is not set")


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
