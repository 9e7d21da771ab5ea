#!/usr/bin/env python3
"""`gputally ncu` on hand-made outputs of `ncu --csv`: both layouts, units, labels of several versions, damage, and hostile names.
Expected values are computed by hand.

    python3 -m tests.ncu.test_ncu --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import argparse
import csv
import gzip
import io
import json
import os
import sys
import tempfile

from tests.common import harness

TESTS = []
LAUNCH = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]


def test(function):
    TESTS.append(function)
    return function


def lines(*rows):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return text.getvalue()


def launch(number, kernel="k", grid="(8, 1, 1)", block="(128, 1, 1)", process=1, device=0):
    return [number, process, "app", "host", kernel, 1, 7, block, grid, device, "9.0"]


def raw(metrics, *launches):
    """--page raw: {name: unit} and rows (launch, values...)."""
    return lines(LAUNCH + list(metrics), [""] * len(LAUNCH) + list(metrics.values()), *([*a, *values] for a, *values in launches))


def details(*rows):
    """--page details: rows (launch, section, metric, unit, value)."""
    return lines(LAUNCH + ["Section Name", "Metric Name", "Metric Unit", "Metric Value"], *([*a, *rest] for a, *rest in rows))


def run(binary, text, *words, command="ncu", name="x.csv", stdin=False):
    """(outcome, {sheet: rows})"""
    data = text if isinstance(text, bytes) else text.encode()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as f:
            f.write(data)
        out = os.path.join(folder, "out")
        done = harness.run([binary, command, "-" if stdin else path, "--output_csvs_dir", out, *words], stdin_bytes=data if stdin else None, cwd=folder)
        assert not done.problems(), (done.problems(), done.stderr)
        sheets = {}
        for file in os.listdir(out) if os.path.isdir(out) else []:
            head, rows = harness.read_csv(os.path.join(out, file))
            sheets[file[:-4]] = [dict(zip(head, row)) for row in rows]
        return done, sheets


def equal(a, b):
    assert a == b, f"\n     got {a!r}\nexpected {b!r}"


@test
def one_row_per_launch(binary):
    text = raw({"gpu__time_duration.sum": "ns", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%", "dram__bytes.sum": "byte",
                "launch__registers_per_thread": "register/thread", "launch__waves_per_multiprocessor": ""},
               (launch(0, "a"), "1,500", "10", "3000", "32", "0.5"), (launch(1, "b"), "4500.5", "90", "n/a", "64", "2"),
               (launch(2, "a"), "500", "50", "1000", "32", "0.5"), (launch(3, "a", grid="(9, 1, 1)"), "7", "0", "0", "32", "0.5"))
    done, sheets = run(binary, text)
    equal((done.code, done.stderr), (0, ""))
    equal([(r["kernel"], r["grid"], r["launches"], r["total_us"], r["sm_pct"], r["dram_bytes"], r["dram_gb_per_s"], r["registers_per_thread"])
           for r in sheets["ncu_kernels"]],
          [("b", "(8, 1, 1)", "1", "4.5005", "90.0", "", "", "64"),
           ("a", "(8, 1, 1)", "2", "2.0", "20.0", "4000.0", "2.0", "32"),  # (10 * 1.5 + 50 * 0.5) / 2; 4000 bytes in 2 us
           ("a", "(9, 1, 1)", "1", "0.007", "0.0", "0.0", "0.0", "32")])
    equal([(r["id"], r["kernel"], r["duration_us"], r["waves_per_sm"]) for r in sheets["ncu_launches"]],
          [("0", "a", "1.5", "0.5"), ("1", "b", "4.5005", "2.0"), ("2", "a", "0.5", "0.5"), ("3", "a", "0.007", "0.5")])
    found = [(r["kernel"], r["metric"], r["unit"], r["launches"], r["mean"], r["min"], r["max"]) for r in sheets["ncu_details"]]
    equal(found[:2], [("b", "gpu__time_duration.sum", "ns", "1", "4500.5", "4500.5", "4500.5"),
                      ("b", "sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "1", "90.0", "90.0", "90.0")])
    equal(found[4], ("a", "gpu__time_duration.sum", "ns", "2", "1000.0", "500.0", "1500.0"))
    equal(len(found), 4 + 5 + 5)  # the bytes of b are not known


@test
def one_row_per_metric(binary):
    """Labels and scaled units, as ncu prints without --page and --print-units."""
    rows = []
    for n, (us, sm) in enumerate(((2, "60.5"), (6, "20"))):
        a = launch(n, "void f<int>(T1 *, \"q\")")
        rows += [(a, "GPU Speed Of Light Throughput", "Duration", "usecond", us), (a, "GPU Speed Of Light Throughput", "Memory Throughput", "%", "30"),
                 (a, "GPU Speed Of Light Throughput", "Compute (SM) Throughput", "%", sm),
                 (a, "Memory Workload Analysis", "Memory Throughput", "Gbyte/second", "2"), (a, "", "", "", ""),
                 (a, "Launch Statistics", "Registers Per Thread", "register/thread", "40"),
                 (a, "Launch Statistics", "Static Shared Memory Per Block", "Kbyte/block", "1.5"),
                 (a, "Launch Statistics", "Dynamic Shared Memory Per Block", "byte/block", "500"),
                 (a, "Launch Statistics", "Function Cache Configuration", "", "CachePreferNone"),
                 (a, "Occupancy", "Achieved Occupancy", "%", "33.3")]
    _, sheets = run(binary, details(*rows))
    row, = sheets["ncu_kernels"]
    equal((row["kernel"], row["launches"], row["total_us"], row["memory_pct"], row["sm_pct"]), ('void f<int>(T1 *, "q")', "2", "8.0", "30.0", "30.125"))
    equal((row["dram_bytes"], row["registers_per_thread"], row["shared_memory_bytes"], row["achieved_occupancy_pct"]), ("16000.0", "40", "2000", "33.3"))
    found = {(r["section"], r["metric"]): r for r in sheets["ncu_details"]}
    equal(len(found), 9)
    equal(found["Memory Workload Analysis", "Memory Throughput"]["unit"], "Gbyte/second")
    equal(found["Launch Statistics", "Function Cache Configuration"]["text"], "CachePreferNone")


@test
def other_lines_are_skipped(binary):
    text = raw({"gpu__time_duration.sum": "ns"}, (launch(0, "a"), "1000"))
    more = raw({"x": "", "gpu__time_duration.sum": "us"}, (launch(0, "b", process=2), "5", "3"))
    done, sheets = run(binary, "==PROF== Connected to process 7\nloss 0.5, \"ID\"\n" + text + "==PROF== Disconnected\nepoch 2\n" + more + "\n")
    equal([(r["kernel"], r["total_us"]) for r in sheets["ncu_kernels"]], [("b", "3.0"), ("a", "1.0")])
    equal(done.stderr, "")
    done, sheets = run(binary, text + "1,2,3\n\"open\n")
    equal(len(sheets["ncu_launches"]), 1)
    assert "2 lines are not part of a table, skipped" in done.stderr, done.stderr


@test
def newest_columns_and_short_rows(binary):
    head = LAUNCH + ["Section Name", "Metric Name", "Metric Unit", "Metric Value", "Rule Name", "Rule Type", "Rule Description",
                     "Estimated Speedup Type", "Estimated Speedup"]
    text = lines(head, launch(0) + ["S", "Duration", "ns", "2,848", "", "", "", "", ""], launch(0) + ["S", "Duration", "ns"],
                 launch(0) + ["S", "", "", "", "Rule", "WRN", "text, with commas", "local", "5"])
    _, sheets = run(binary, text)
    equal([(r["total_us"], r["launches"]) for r in sheets["ncu_kernels"]], [("2.848", "1")])


@test
def numbers(binary):
    for text, mean in (("1,234,567.5", "1234567.5"), ("12.5 (1; 2; 3)", "12.5"), ("1e3", "1000.0"), ("-4", "-4.0"), ("0x10", ""), ("inf", ""),
                       ("1 2", ""), ("1" * 100, ""), ("1e999", "")):
        _, sheets = run(binary, raw({"m": ""}, (launch(0), text)))
        row, = sheets["ncu_details"]
        equal((text, row["mean"], row["text"]), (text, mean, "" if mean else text))
    for text in ("n/a", "", "nan"):
        equal(run(binary, raw({"m": ""}, (launch(0), text)))[1]["ncu_details"], [])


@test
def texts_that_differ(binary):
    _, sheets = run(binary, raw({"m": ""}, (launch(0), "a"), (launch(1), "b"), (launch(2), "a"), (launch(3), "7")))
    equal([(r["launches"], r["mean"], r["text"]) for r in sheets["ncu_details"]], [("4", "7.0", "1 launches differ")])


@test
def nothing_was_profiled(binary):
    done, sheets = run(binary, raw({"m": ""}))
    equal((done.code, sheets["ncu_kernels"]), (0, []))
    assert "ncu profiled no kernels" in done.stderr
    done, sheets = run(binary, "==ERROR== ERR_NVGPUCTRPERM\n")
    equal((done.code, sheets), (1, {}))
    assert 'no table of `ncu --csv`' in done.stderr, done.stderr


@test
def a_report_must_be_exported(binary):
    for command in ("ncu", "report"):
        done, sheets = run(binary, b"NVR\0\x10\0\0\0binary", command=command, name="a.ncu-rep")
        equal((done.code, sheets, len(done.stderr.splitlines())), (1, {}, 1))
        assert "a.ncu-rep: this is a report of Nsight Compute, which only ncu can read; export it with: ncu --import" in done.stderr, done.stderr


@test
def report_detects_it_by_content(binary):
    text = raw({"gpu__time_duration.sum": "ns"}, (launch(0, "a"), "1000"))
    for data, words in ((text.encode(), {}), (gzip.compress(text.encode()), {"name": "trace.json"}), (text.encode(), {"stdin": True}),
                        (b"==PROF== x\n" + text.encode(), {}), (b"{\"a\": 1}\n" + text.encode(), {}), (text.replace("\n", "\r\n").encode(), {})):
        _, sheets = run(binary, data, command="report", **words)
        equal([r["total_us"] for r in sheets["ncu_kernels"]], ["1.0"])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.csv")
        with open(path, "w") as f:
            f.write(text)
        done = harness.run([binary, "report", path, "--output_json", path + ".json", "--output_html", path + ".html"])
        equal(done.code, 0)
        assert "there is no page on metrics of Nsight Compute" in done.stderr
        equal(os.path.exists(path + ".html"), False)
        with open(path + ".json") as f:
            assert "ncu_kernels" in json.dumps(json.load(f))


@test
def hostile_names(binary):
    names = ["<script>alert(1)</script>", "x" * 40000, "\u202eevil", "a\tb", "=1+1", ""]
    text = raw({"gpu__time_duration.sum": "ns", "</script>": "%"}, *((launch(n, name or "-"), "5", "1") for n, name in enumerate(names)))
    _, sheets = run(binary, text.encode() + b'"9","1","a","h","\xff\xfe","1","7","(1)","(1)","0","9","3","1"\n')
    equal(sorted(r["kernel"] for r in sheets["ncu_kernels"])[:2], ["'=1+1", "-"])  # no formula
    equal(len(sheets["ncu_kernels"]), 7)
    assert "x" * 40000 in [r["kernel"] for r in sheets["ncu_kernels"]]
    assert "\ufffd\ufffd" in [r["kernel"] for r in sheets["ncu_kernels"]]


@test
def cut_and_damaged_files(binary):
    """A file that ends anywhere, or has a wrong byte, gives a report or one sentence."""
    a, b = launch(0, "a \"q\""), launch(1, "b")
    text = (raw({"gpu__time_duration.sum": "ns", "m": ""}, (a, "1,000", "t"), (b, "2", "")) +
            details((a, "S", "Duration", "us", "5"), (b, "S", "Duration", "us", "7"))).encode()
    for cut in range(0, len(text), 11):
        run(binary, text[:cut])
    for at in range(0, len(text), 17):
        for byte in (b'"', b",", b"\n", b"\0"):
            run(binary, text[:at] + byte + text[at + 1:])


@test
def many_launches(binary):
    """The time grows with the number of rows, not with its square."""
    rows = [(launch(n, f"kernel_{n % 50000}"), n) for n in range(100000)]
    _, sheets = run(binary, raw({"gpu__time_duration.sum": "ns"}, *rows))
    equal((len(sheets["ncu_kernels"]), len(sheets["ncu_launches"]), len(sheets["ncu_details"])), (50000, 100000, 50000))
    equal(sheets["ncu_kernels"][0]["kernel"], "kernel_49999")  # 49999 + 99999 ns


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
