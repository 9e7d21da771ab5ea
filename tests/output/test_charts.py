#!/usr/bin/env python3
"""The first sheet of workbooks: charts, figures and findings beside the table of facts.

    python3 -m tests.output.test_charts --bin build/gputally [only]

Workbooks are read with workbook.py, which shares nothing with the program. What the charts must show is computed here from the
CSV files of the same report.
"""
import json
import os
import re
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.output import workbook

FIXTURES = harness.FIXTURES
FAULTS = os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults")
RANKS = os.path.join(harness.CONFORMANCE_TRACES, "ranks4")
SUMMARY, HELPERS = 6, 19  # columns F and S


def report(folder, trace, *options, name="r", code=0):
    """Workbook and CSV files of a trace."""
    line = f"gputally report {trace} --output_xlsx_path {name}.xlsx --output_csvs_dir {name}_csv --no_html -q {' '.join(options)}"
    done = folder.sh(line)
    assert done.returncode == code and not harness.SANITIZER.search(done.stderr), done
    book = workbook.Workbook(folder.file(f"{name}.xlsx"))
    problems = workbook.problems_of(book)
    assert not problems, problems[:5]
    return book, Csv(folder, f"{name}_csv")


class Csv:
    def __init__(self, folder, path):
        self.folder, self.path = folder, path

    def has(self, sheet):
        return os.path.exists(self.folder.file(f"{self.path}/{sheet}.csv"))

    def rows(self, sheet):
        rows = self.folder.rows(f"{self.path}/{sheet}.csv")
        return [dict(zip(rows[0], row)) for row in rows[1:]]


def chart(book, title):
    found = [chart for chart in book.charts if chart.title.startswith(title)]
    assert len(found) == 1, [chart.title for chart in book.charts]
    return found[0]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


def close(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b), 1e-9)


# ---- what the charts show ----


def check_parts(book, csv):
    """One bar of the sheet balance: every part of at least 0.4 %, and the others together."""
    shown = chart(book, "Where the time goes")
    parts = [(("idle: " if row["kind"] == "idle" else "") + row["part"], float(row["pct"])) for row in csv.rows("balance")]
    large = [part for part in parts if part[1] >= 0.4]
    rest = sum(pct for _, pct in parts if 0 < pct < 0.4)
    expected = large + ([("small parts", rest)] if rest >= 0.01 else [])
    found = [(name, values[0]) for name, values in zip(shown.names(), shown.values())]
    assert [name for name, _ in found] == [name for name, _ in expected], (found, expected)
    assert all(close(a[1], b[1]) for a, b in zip(found, expected)), (found, expected)
    assert shown.stacked and abs(sum(pct for _, pct in found) - 100) < 0.02, found
    formulas = [f.text for f in shown.root.iter(f"{workbook.CHART}f")]
    assert formulas[0].startswith("'balance'!$E$"), formulas


def check_causes(book, csv):
    rows = [row for row in csv.rows("idle_causes") if float(row["ms"]) > 0][:10]
    shown = chart(book, "Why the GPU is idle")
    assert shown.labels() == [row["cause"] for row in rows], (shown.labels(), rows)
    assert shown.values() == [[float(row["ms"]) for row in rows]], (shown.values(), rows)
    facts = {row["name"]: row["text"] for row in csv.rows("overview")}
    assert shown.axis_titles() == ["ms per step" if facts["per"] == "step" else "ms in the window"], shown.axis_titles()


def kernel_times(csv):
    """ms by kernel."""
    if csv.has("kernel_launchers_summary"):
        rows = [(row["name"], float(row["total_direct_kernel_time_ms"])) for row in csv.rows("kernel_launchers_summary")]
    elif "Kernel name" in csv.rows("kernel_summary")[0]:
        rows = [(row["Kernel name"], float(row["Kernel duration (µs)_sum"]) / 1000) for row in csv.rows("kernel_summary")]
    else:
        rows = [(row["name"], float(row["Total Kernel Time (ms)"])) for row in csv.rows("kernel_summary")]
    times = {}
    for name, ms in rows:
        times[name] = times.get(name, 0) + ms
    return sorted(((ms, name) for name, ms in times.items() if ms > 0), key=lambda item: -item[0])


def check_kernels(book, csv):
    expected = kernel_times(csv)[:10]
    shown = chart(book, "Top kernels")
    assert len(shown.values()[0]) == len(expected)
    assert all(close(a, b[0]) for a, b in zip(shown.values()[0], expected)), (shown.values(), expected)
    assert len(set(shown.labels())) == len(expected) and all(0 < len(label) <= 52 for label in shown.labels()), shown.labels()
    assert not any(set(label) & set(map(chr, [*range(0x20), *range(0x7f, 0xa0), 0x202e, 0x200f])) for label in shown.labels())


def check_texts(book, csv):
    """Verdict, trust and the first findings, in the summary's columns."""
    texts = [str(value) for (_, column), value in sorted(book.cells["overview"].items()) if column >= SUMMARY]
    facts = {row["name"]: row for row in csv.rows("overview")}
    assert facts["verdict"]["text"] in texts, texts
    assert texts[0] == "summary" and book.cells["overview"][2, SUMMARY].endswith("."), texts
    for row in csv.rows("findings")[:6]:
        if len(row["title"]) <= 88 and len(row["advice"]) <= 200:
            assert row["title"] in texts and row["advice"] in texts, (row, texts)


def check_facts(book, csv):
    """Readers of the sheet by its header get what the CSV file has."""
    header = [book.cells["overview"].get((1, column)) for column in range(1, 5)]
    assert header == ["name", "value", "unit", "text"], header
    expected = [(row["name"], float(row["value"]) if row["value"] else None, row["unit"] or None, row["text"] or None)
                for row in csv.rows("overview")]
    assert book.table("overview", 4) == expected, (book.table("overview", 4), expected)
    assert list(book.sheets)[0] == "overview"


def check_report(book, csv, kernels=True):
    check_facts(book, csv)
    check_texts(book, csv)
    check_parts(book, csv)
    check_causes(book, csv)
    if kernels:
        check_kernels(book, csv)
    assert len(book.charts) == 2 + kernels, [chart.title for chart in book.charts]


def test_pytorch(binary):
    for name in ("training", "training_stack", "inference", "copies", "collectives", "gpu_only", "streams", "graph"):
        with Folder(binary) as folder:
            check_report(*report(folder, os.path.join(FIXTURES, "pytorch", f"{name}.json.gz")))


def test_rocprof(binary):
    with Folder(binary) as folder:
        check_report(*report(folder, "tiny_results.json"))


def test_jax(binary):
    for name in ("training", "attention", "streams"):
        with Folder(binary) as folder:
            check_report(*report(folder, os.path.join(FIXTURES, "jax", f"{name}.xplane.pb.gz")))


def test_faults(binary):
    if not os.path.isdir(FAULTS):
        raise harness.Skipped("no folder of faults")
    for name in sorted(os.listdir(FAULTS)):
        if name.endswith(".json.gz"):
            with Folder(binary) as folder:
                check_report(*report(folder, os.path.join(FAULTS, name)))


def test_equal_names_count_together(binary):
    """A kernel that two ops launch on two streams is one bar; kernels whose short names are equal are not."""
    trace = small_traces.training()
    kernels = [event for event in trace["traceEvents"] if event["cat"] == "kernel"]
    for i, event in enumerate(kernels):
        event["name"] = ["void at::native::foo<int>(int*)", "void at::native::foo<float>(int*)", "bar"][i % 3]
        event["args"]["stream"] = event["tid"] = 7 + (i % 3 == 2 and i % 2)
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), trace)
        book, csv = report(folder, "t.json")
        check_kernels(book, csv)
        assert len(csv.rows("kernel_summary")) == 4, csv.rows("kernel_summary")
        # Of 100 kernels of 30 us: 34, 33, 33. Equal ones as in the sheet.
        assert chart(book, "Top kernels").labels()[0] == "foo<int>", chart(book, "Top kernels").labels()
        assert sorted(chart(book, "Top kernels").labels()) == ["bar", "foo<float>", "foo<int>"]
        assert all(close(a, b) for a, b in zip(chart(book, "Top kernels").values()[0], (1.02, 0.99, 0.99)))


# ---- several ranks ----


def test_ranks(binary):
    if not os.path.isdir(RANKS):
        raise harness.Skipped("no traces of several ranks")
    with Folder(binary) as folder:
        folder.sh(f"mkdir run && cp {RANKS}/*.gz run")
        for options in ("", "--output_csvs_dir out"):
            done = folder.sh(f"gputally report run -q --no_html {options}")
            assert done.returncode == 0, done
        book = workbook.Workbook(folder.file("run/nccl_analysis_report.xlsx"))
        assert not workbook.problems_of(book), workbook.problems_of(book)[:5]
        csv = Csv(folder, "out/collective")
        check_facts(book, csv)
        rows = csv.rows("rank_causes")
        shown = chart(book, "What the step of each rank is made of")
        assert shown.stacked and shown.names()[:2] == ["computation", "communication"], shown.names()
        assert shown.values()[0] == [float(row["compute_ms"]) for row in rows]
        assert shown.labels() == [row["rank"] for row in rows]
        # What is left out cannot be seen.
        for i, row in enumerate(rows):
            total = sum(values[i] for values in shown.values())
            assert 0.97 * float(row["step_ms"]) < total <= float(row["step_ms"]) * (1 + 1e-9), (total, row)
        blame = chart(book, "Which ranks the others wait for")
        assert blame.values() == [[float(row["blame_pct"]) for row in rows]]
        sentence = {row["name"]: row["text"] for row in csv.rows("overview")}["all_ranks"]
        assert book.cells["overview"][2, SUMMARY].lower() == sentence.lower() + ".", book.cells["overview"][2, SUMMARY]
        one = workbook.Workbook(folder.file("run/rank0_trace_perf_report.xlsx"))
        assert not workbook.problems_of(one)
        check_report(one, Csv(folder, "out/rank0"))


# ---- colours ----


def page_colors():
    """Colours of categories in the light theme, and of hatches, from the page's program."""
    with open(os.path.join(harness.ROOT, "src", "page", "web", "colors.js"), encoding="utf-8") as file:
        text = file.read()
    light = re.search(r"light: \{(.*?)\}", text, re.S)[1]
    hatches = re.search(r"const LIGHT_HATCHES = (\[.*?\]);", text, re.S)[1]
    causes = re.search(r"const HATCHES = \{(.*?)\};", text, re.S)[1]
    return (dict(re.findall(r"(\w+): '#(\w+)'", light)), json.loads(hatches.replace("'", '"')),
            {name: int(shade) for name, shade in re.findall(r"(\w+): \[(\d)", causes)})


def fill_of(element):
    """The colours of a series or bar: one, or that of the lines and that of the ground."""
    return [color.get("val").lower() for color in element.find(f"{workbook.CHART}spPr")[0].iter(f"{workbook.TEXT}srgbClr")]


def test_colors(binary):
    categories, hatches, causes = page_colors()
    assert len(categories) == 10 and len(hatches) == 3 and len(causes) >= 15
    trace = small_traces.training()
    meaning = {"ampere_bf16_gemm": "GEMM", "flash_fwd_kernel": "attention", "winograd_kernel": "convolution",
               "layer_norm_kernel": "normalisation", "triton_poi_fused_add_0": "elementwise", "softmax_kernel": "reduction",
               "fused_adam_kernel": "optimizer", "radix_kernel": "other", "ncclDevKernel_AllReduce_Sum": "communication",
               "__amd_rocclr_copyBuffer": "elementwise"}
    names = list(meaning)
    assert set(meaning.values()) == set(categories) - {"copy"}, categories
    for i, event in enumerate(event for event in trace["traceEvents"] if event["cat"] == "kernel"):
        event["name"] = names[i % len(names)]
    for event in trace["traceEvents"]:
        if event["name"] == "aten::mm":
            event["name"] = "mine::op"
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), trace)
        book, csv = report(folder, "t.json")
    kernels = chart(book, "Top kernels")
    bars = [fill_of(point) for point in kernels.series[0].iter(f"{workbook.CHART}dPt")]
    assert len(bars) == 10 and bars == [[categories[meaning[label]]] for label in kernels.labels()], (bars, kernels.labels())
    bar = chart(book, "Where the time goes")
    idle = [(name[len("idle: "):], fill_of(series)) for name, series in zip(bar.names(), bar.series) if name.startswith("idle: ")]
    assert len(idle) > 1, bar.names()
    for place, (cause, found) in enumerate(idle):
        ground, line = hatches[2 if place == 0 else causes[cause]]  # the largest has the accent
        assert found == [line.lstrip("#"), ground.lstrip("#")], (cause, found)
    assert fill_of(bar.series[bar.names().index("communication")]) == [categories["communication"]]


# ---- hostile names, and nothing to show ----

HOSTILE = ["<script>alert(1)</script>", "a & b \"c\" 'd'", "=1+1", "=HYPERLINK(\"http://x\")", "+cmd|' /C calc'!A0", "k" * 40000,
           "\x01\x02\x1b[31mred\n\ttab", "\u202eright to left\u200f\u2066", "_x0041_escape", "\uffff\ufffe", "", "µs ✓ \U0001F600" * 20,
           "void f<<<<<<>>>(", "x::" * 3000, "]]>", "a" * 41 + "::b<" * 500]


def test_hostile_names(binary):
    for shift in (0, 5, 10):
        trace = small_traces.training()
        names = HOSTILE[shift:] + HOSTILE[:shift]
        for i, event in enumerate(trace["traceEvents"]):
            if event["cat"] == "kernel" or event["name"] in ("aten::mm", "train.py(10): step"):
                event["name"] = names[i * 7 % len(names)]
        with Folder(binary) as folder:
            small_traces.write(folder.file("t.json"), trace)
            book, csv = report(folder, "t.json")
            check_facts(book, csv)
            check_kernels(book, csv)
            check_parts(book, csv)
            check_texts(book, csv)
            for root in book.roots.values():
                assert not list(root.iter(f"{workbook.MAIN}f")) and not list(root.iter(f"{workbook.MAIN}hyperlink"))


def test_hostile_names_of_other_formats(binary):
    with open(os.path.join(FIXTURES, "rocprof", "tiny_results.json"), encoding="utf-8") as file:
        text = file.read()
    for name in HOSTILE:
        with Folder(binary) as folder:
            with open(folder.file("h_results.json"), "w", encoding="utf-8") as file:
                file.write(text.replace('"Cijk_A.kd"', json.dumps(name)))
            book, csv = report(folder, "h_results.json")
            check_kernels(book, csv)


def test_no_gpu_work(binary):
    with open(os.path.join(FIXTURES, "rocprof", "tiny_results.json"), encoding="utf-8") as file:
        trace = json.load(file)
    records = trace["rocprofiler-sdk-tool"][0]["buffer_records"]
    records["kernel_dispatch"], records["memory_copy"] = [], []
    with Folder(binary) as folder:
        small_traces.write(folder.file("t_results.json"), trace)
        book, csv = report(folder, "t_results.json")
        check_facts(book, csv)
        check_texts(book, csv)
        assert not book.charts and not any("drawing" in part for part in book.parts), list(book.parts)
        assert book.cells["overview"][2, SUMMARY].endswith("The trace has no GPU events."), book.cells["overview"]


def test_absurd_times(binary):
    for change in ({"dur": 0}, {"dur": -5.0}, {"dur": 1e17}, {"ts": 1e18}, {"dur": 1e-9}):
        trace = small_traces.training(steps=2)
        for i, event in enumerate(trace["traceEvents"]):
            if event["cat"] == "kernel" and i % 3 == 0:
                event.update(change)
        with Folder(binary) as folder:
            small_traces.write(folder.file("t.json"), trace)
            done = folder.sh("gputally report t.json --no_html -q")
            assert not harness.SANITIZER.search(done.stderr), done
            if done.returncode == 0:
                book = workbook.Workbook(folder.file("t_perf_report.xlsx"))
                assert not workbook.problems_of(book), (change, workbook.problems_of(book)[:3])


# ---- who gets charts, and what else reads the workbook ----


def has_charts(folder, line):
    done = folder.sh(f"gputally {line} -q")
    assert done.returncode == 0, done
    book = workbook.Workbook(folder.file("r.xlsx"))
    assert not workbook.problems_of(book)
    return bool(book.charts)


def test_only_reports_with_findings(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        assert has_charts(folder, "report t.json --output_xlsx_path r.xlsx --no_html")
        assert not has_charts(folder, "report t.json --output_xlsx_path r.xlsx --no_findings --no_html")
        assert not has_charts(folder, "pytorch t.json --output_xlsx_path r.xlsx --include_unlinked_kernels")
        assert not has_charts(folder, "pytorch t.json --output_xlsx_path r.xlsx --include_unlinked_kernels --findings")
        assert not has_charts(folder, "rocprof tiny_results.json --output_xlsx_path r.xlsx")


def test_without_sheet_of_kernels(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        check_report(*report(folder, "t.json", "--disable_kernel_summary"), kernels=False)


def test_compare_reads_it(binary):
    """The same comparison as of CSV files, also of the facts in the sheet overview."""
    with Folder(binary) as folder:
        slow = small_traces.training()
        for event in slow["traceEvents"]:
            if event["cat"] == "kernel":
                event["dur"] = 33.0
        for name, trace in (("a", small_traces.training()), ("b", slow)):
            small_traces.write(folder.file(f"{name}.json"), trace)
            report(folder, f"{name}.json", name=name)
        for kind, ending in (("book", ".xlsx"), ("csv", "_csv")):
            done = folder.sh(f"gputally compare a{ending} b{ending} --names a b --output_csvs_dir {kind} -q")
            assert done.returncode == 0 and not done.stderr, done
        names = sorted(os.listdir(folder.file("book")))
        assert names == sorted(os.listdir(folder.file("csv"))) and "waterfall.csv" in names, names
        for name in names:
            # Only CSV files tell 300.0 from 300.
            book, csv = ([[number(cell) for cell in row] for row in folder.rows(f"{kind}/{name}")] for kind in ("book", "csv"))
            assert book == csv, name


def test_same_bytes(binary):
    """Any number of threads, with and without the page, and from an index."""
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training(steps=40))
        found = set()
        for options in [f"--threads {threads} --index off --no_html" for threads in (1, 2, 3, 8)] + ["--index off", "--index auto", "--threads 3"]:
            done = folder.sh(f"gputally report t.json --output_xlsx_path r.xlsx -q {options}")
            assert done.returncode == 0, done
            with open(folder.file("r.xlsx"), "rb") as file:
                found.add(file.read())
        assert len(found) == 1 and os.path.exists(folder.file("t.json.gtindex")), len(found)


def test_openpyxl(binary):
    """Another reader finds the charts, too."""
    import openpyxl
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        book, _ = report(folder, "t.json")
        sheet = openpyxl.load_workbook(folder.file("r.xlsx"))["overview"]
        assert len(sheet._charts) == len(book.charts) == 3 and sheet.freeze_panes == "A2", sheet._charts
        for found in sheet._charts:
            for series in found.series:
                assert series.val.numRef.f.split("!")[0].strip("'") in book.sheets, series.val.numRef.f
        # All of it fits into a window of 1280 pixels, with LibreOffice's side bar.
        letters = "ABCDEFGHIJKLMNOPQ"
        pixels = sum(round(sheet.column_dimensions[letter].width * 7) for letter in letters)
        assert 1000 < pixels < 1165, pixels


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
