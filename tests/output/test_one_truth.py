#!/usr/bin/env python3
"""One truth: page, workbook, terminal, JSON, Markdown and CSV files of a trace show the same window, categories, counts, busy and
idle times and gains.

    python3 -m tests.output.test_one_truth --bin build/gputally [--only TEXT]

Each output is read as its readers do: the page's tables are unpacked, workbooks are opened with openpyxl, the terminal's text is
parsed. What a place shows is compared with the CSV files, or computed from them or from the page's events. Traces: the fixtures,
examples and generated ones of all formats, and those of the folders conformance, faults, faults2 and serving if they exist.
"""
import base64
import collections
import csv
import glob
import itertools
import json
import os
import re
import sys
import zipfile
import zlib
from xml.etree import ElementTree

from tests.common import harness
from tests.findings import small_traces
from tests.findings.test_jax import message, number as number_field, plane
from tests.jax.generate_xplane import fields
from tests.nsys import generate_export
from tests.page import pack

# Sheets that are compared cell by cell in all outputs; of the others, names and numbers of rows.
COMPARED = ("overview", "findings", "trust", "idle_causes", "balance", "what_if", "gpu_timeline", "gpu_timeline_by_device", "gpu_events_averages", "kernel_summary",
            "kernel_summary_by_category", "kernel_launchers_summary")
PAGE_TABLES = ("page_facts", "page_lanes", "page_kernels", "page_calls", "page_sums", "page_gpu", "page_steps", "page_step_parts",
               "unified_perf_summary")
CATEGORIES = {"GEMM", "attention", "convolution", "normalisation", "elementwise", "reduction", "optimizer", "other", "communication", "copy"}
CLASSES = {"communication": "exposed_communication", "copy": "exposed_copy"}
EVENTS_RECOUNTED = 20000  # of larger pages the balance is not computed again from the events


# ---- one report in all its outputs ----


def close(a, b, relative=1e-9):
    return abs(a - b) <= relative * max(abs(a), abs(b)) + 1e-12


def number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


class Report:
    def __init__(self, binary, trace, folder, options=()):
        self.paths = {kind: os.path.join(folder, f"out.{kind}") for kind in ("xlsx", "html", "json", "md")}
        self.csvs = os.path.join(folder, "csvs")
        done = harness.run([binary, "report", trace, "--output_csvs_dir", self.csvs, "--output_xlsx_path", self.paths["xlsx"],
                            "--output_html", self.paths["html"], "--output_json", self.paths["json"], "--output_md", self.paths["md"],
                            "--all_findings", *options], env={**os.environ, "COLUMNS": "200"})
        self.outcome, self.terminal = done, done.stdout
        if done.code:
            return
        with open(self.paths["json"], encoding="utf-8") as file:
            self.document = json.load(file)
        with open(self.paths["md"], encoding="utf-8") as file:
            self.markdown = file.read()
        self.sheets = {name: self.read_csv(name) for name in COMPARED if name in self.document["sheets"]}
        self.facts = {row["name"]: row["text"] if row["text"] else number(row["value"]) for row in self.sheets.get("overview", [])}
        self.read_page()
        self.read_workbook()

    def read_csv(self, name):
        with open(os.path.join(self.csvs, f"{name}.csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def read_page(self):
        with open(self.paths["html"], encoding="utf-8") as file:
            text = file.read()
        self.front = json.loads(re.search(r'<script type="application/json" id="front">(.*?)</script>', text, re.S).group(1))
        self.page, self.page_names = {}, []
        for match in re.finditer(r'<script type="application/octet-stream">(.*?)</script>', text, re.S):
            data = zlib.decompress(base64.b64decode(match.group(1)), -15)
            self.page_names += [table["name"] for table in json.loads(data[4:4 + int.from_bytes(data[:4], "little")])["tables"]]
            self.page.update({table.name: table for _, table in pack.decode(data, lambda name: name in COMPARED + PAGE_TABLES)})

    def read_workbook(self):
        import openpyxl
        book = openpyxl.load_workbook(self.paths["xlsx"], read_only=True)
        self.book_names = book.sheetnames
        self.book = {name: list(book[name].iter_rows(values_only=True)) for name in COMPARED if name in book.sheetnames}
        book.close()
        self.charts = {}
        space = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
        with zipfile.ZipFile(self.paths["xlsx"]) as parts:
            for part in parts.namelist():
                if not re.fullmatch(r"xl/charts/chart\d+\.xml", part):
                    continue
                root = ElementTree.fromstring(parts.read(part))
                title = "".join(text for text in root.find(f"{space}chart/{space}title").itertext())
                self.charts[title.strip()] = [(series.find(f"{space}tx/{space}v").text,
                                               [float(v.text) for v in series.findall(f"{space}val//{space}pt/{space}v")])
                                              for series in root.iter(f"{space}ser")]

    def records(self, name):
        return self.page[name].records() if name in self.page else []

    def fact_of_page(self, name):
        return next((row["value"] for row in self.records("page_facts") if row["name"] == name), None)

    def balance(self):
        return [(row["part"], row["kind"], int(row["ns"])) for row in self.sheets["balance"] if int(row["ns"])]

    def kernel_rows(self):
        """(name, time in µs, count, category) of the sheet of kernels."""
        for sheet, name, time, count, unit in (("kernel_summary", "Kernel name", "Kernel duration (µs)_sum", "Kernel duration (µs)_count", 1),
                                               ("kernel_summary", "name", "Total Kernel Time (ms)", "Count", 1000),
                                               ("kernel_launchers_summary", "name", "total_direct_kernel_time_ms", "Count", 1000)):
            rows = self.sheets.get(sheet)
            if rows and name in rows[0]:
                return [(row[name], unit * float(row[time]), int(float(row[count])), row.get("Category")) for row in rows]
        return []


# ---- the checks: each yields contradictions ----


def sheets(r):
    """The same sheets with the same cells in CSV files, JSON, workbook and page."""
    names = list(r.document["sheets"])
    ours = [name for name in r.page_names if not name.startswith("page_")]
    if sorted(names) != sorted(ours):
        yield f"JSON has the sheets {sorted(set(names) ^ set(ours))} more or less than the page"
    if [name[:31] for name in names] != r.book_names:
        yield f"sheets of the workbook: {r.book_names}, of JSON {names}"
    for name, rows in r.sheets.items():
        table = r.document["sheets"][name]
        columns = table["columns"]
        places = {"JSON": table["rows"], "workbook": [row[:len(columns)] for row in r.book[name][1:]][:len(rows)],
                  "page": list(zip(*(column.cells for column in r.page[name].columns))) if name in r.page and columns else []}
        for place, found in places.items():
            if len(found) != len(rows):
                yield f"{name}: {len(found)} rows in {place}, {len(rows)} in the CSV file"
                continue
            for row, cells in zip(rows, found):
                for column, cell in zip(columns, cells):
                    if not same_cell(row[column], cell):
                        yield f"{name}, {column}: {cell!r} in {place}, {row[column]!r} in the CSV file"


def same_cell(text, cell):
    if cell is None:
        return text == ""
    if isinstance(cell, bool):
        return text == str(cell)
    if isinstance(cell, (int, float)):
        return number(text) is not None and close(number(text), cell, 1e-12)
    if isinstance(cell, (list, tuple, dict)):
        return True
    cut = re.fullmatch(r"(.*)… \[\d+ more bytes\]", cell, re.S)  # very long strings of the page
    return cell == text or text.startswith(cut[1] if cut else "\0")


def window(r):
    """The same window and steps everywhere, and parts that add up to it."""
    window_ns = r.facts["window_ns"]
    places = {"JSON": r.document["window_ns"], "page": r.front["answers"]["window_ns"],
              "sheet balance": sum(int(row["ns"]) for row in r.sheets["balance"])}
    if r.facts["gpu_ops"] > 0:
        places["tables of the page"] = r.fact_of_page("window_end") - r.fact_of_page("window_start")
        places["bar of the page"] = sum(part["ns"] for part in r.front["facts"]["bar"])
    for place, found in places.items():
        if found != window_ns:
            yield f"window of {window_ns} ns, {place}: {found}"
    facts = {"step_ms": r.facts["recorded_ms"], **r.facts}  # the overview has no step time of a trace without steps
    for name in ("steps", "window_steps", "per", "device", "step_ms", "recorded_ms", "busy_ms", "idle_ms", "all_fixed_ms", "gpu_ops"):
        for place, found in {"JSON": r.document, "page": r.front["answers"]}.items():
            if found[name] != facts[name]:
                yield f"{name}: {facts[name]} in overview, {found[name]} in {place}"
    phases = [name for name in r.facts if name.startswith("step_ms_")]
    if r.facts.get("step_ms", r.facts["recorded_ms"]) not in ([r.facts[name] for name in phases] or [r.facts["recorded_ms"]]):
        yield f"step_ms {r.facts['step_ms']} is that of no phase"
    if ("step_ms" in r.facts) != (r.facts["steps"] > 0):
        yield f"{r.facts['steps']} steps, step_ms {r.facts.get('step_ms')}"
    if r.front["facts"]["steps"] != r.facts["steps"]:
        yield f"steps: {r.facts['steps']} in overview, {r.front['facts']['steps']} on the page's first screen"


def busy(r):
    """Busy and idle times and shares: sheets, first screens."""
    steps, window_ms = r.facts["window_steps"], r.facts["window_ns"] / 1e6
    idle = sum(ns for _, kind, ns in r.balance() if kind == "idle") / 1e6
    for name, found in {"idle_ms": idle, "busy_ms": window_ms - idle, "recorded_ms": window_ms}.items():
        if not close(r.facts[name], found / steps, 1e-6):
            yield f"{name}: {r.facts[name]} in overview, {found / steps} from the balance"
    if not window_ms:
        return
    share = 100 * (window_ms - idle) / window_ms
    tile = next((tile["value"] for tile in r.front["facts"]["tiles"] if tile["id"] == "busy"), None)
    if tile is not None and not close(tile, share, 1e-6):
        yield f"busy {share} % by the balance, {tile} % on the page"
    first = re.sub(r"\s+", " ", r.terminal[:1500])
    shown = {"terminal": re.search(r"GPU busy ([\d.]+) \((\d+)%\), idle ([\d.]+)", first),
             "Markdown": re.search(r"GPU busy ([\d.]+) ms \((\d+) %\), idle ([\d.]+) ms", r.markdown)}
    for place, match in shown.items():
        if not match:
            yield f"no busy and idle time in {place}: {first[:100]}"
        elif any(abs(float(a) - b) > unit for a, b, unit in zip(match.groups(), (r.facts["busy_ms"], share, r.facts["idle_ms"]), (0.00501, 0.501, 0.00501))):
            yield f"{place}: {match[0]}, overview: {r.facts['busy_ms']}, {share} %, {r.facts['idle_ms']}"
    found = figure(r, "GPU busy")
    if found is not None and abs(float(found.split()[0]) - share) > 0.0501:
        yield f"workbook: GPU busy {found}, by the balance {share} %"


def figure(r, label):
    """The cell below a label in the workbook's summary."""
    rows = r.book["overview"]
    for above, below in zip(rows, rows[1:]):
        for column, cell in enumerate(above):
            if cell == label:
                return below[column]
    return None


def timeline(r):
    """Busy shares of window and timeline agree where both are about the whole trace on one device."""
    rows = {row["type"]: row for row in r.sheets.get("gpu_timeline", [])}
    if r.facts["per"] == "step" or r.facts["device_count"] != 1 or not rows:
        return
    total = next(float(row[name]) for row in [rows["total_time"]] for name in row if name.startswith("time"))
    busy_ms = next(float(row[name]) for row in [rows["busy_time"]] for name in row if name.startswith("time"))
    # Work without a launch is in the timeline, but not in the window.
    share, of_window = 100 * busy_ms / total if total else 0, 100 * r.facts["busy_ms"] / r.facts["recorded_ms"] if r.facts["recorded_ms"] else 0
    if total > 1.01 * r.facts["window_ns"] / 1e6 and abs(share - of_window) > 5:
        yield f"GPU busy {share:.1f} % of {total} ms in gpu_timeline, {of_window:.1f} % of {r.facts['window_ns'] / 1e6} ms in the window"


def timeline_rows(r):
    """[(label, row)] of the timeline that is shown: for JAX, the mean of the GPUs."""
    rows = r.sheets.get("gpu_events_averages", r.sheets.get("gpu_timeline", []))
    return [(row["type"] + (" (recompute)" if row.get("is_recompute") == "True" else ""), row) for row in rows]


def terminal_timeline(r):
    """The bars of the terminal are those of the sheet."""
    rows = dict(timeline_rows(r))
    for name, ms, pct in re.findall(r"^(\w+_time(?: \(recompute\))?|total|idle|kernel|memory) .*?([\d,.]+) ms +([\d.]+)%$", r.terminal, re.M):
        if name in rows:
            cells = [float(cell) for column, cell in rows[name].items() if column not in ("type", "is_recompute") and cell]
            if not any(abs(float(ms.replace(",", "")) - cell) < 0.06 for cell in cells) or not any(abs(float(pct) - cell) < 0.0501 for cell in cells):
                yield f"terminal: {name} {ms} ms {pct} %, sheet {cells}"


def markdown_timeline(r):
    """The same in Markdown: one row per type."""
    wanted = [(label, *[float(cell or "nan") for column, cell in row.items() if column in ("time ms", "percent")]) for label, row in timeline_rows(r)]
    heading, _, table = r.markdown.partition("### GPU timeline")[2].partition("\n")
    devices = len({row["device"] for row in r.sheets.get("gpu_timeline_by_device", [])})
    for place, text in {"Markdown": heading, "terminal": (re.search(r"^GPU timeline.*together.*$", r.terminal, re.M) or [""])[0]}.items():
        if (f"{devices} devices together (busy: at least one of them is)" in text) != (devices > 1):
            yield f"timeline of {devices} devices, in {place} {text!r}"
    found = [(name.replace("\\", ""), float(ms), float(pct or "nan")) for name, ms, pct in re.findall(r"^\| (\w\S*(?: \(recompute\))?) \| ([\d.]+) \| ([\d.]*) \|$", table, re.M)]
    if len(found) != len(wanted) or any(a[0] != b[0] or abs(a[1] - b[1]) > 0.000501 or abs(a[2] - b[2]) > 0.0501 for a, b in zip(found, wanted)):
        yield f"timeline of Markdown {found}, sheet {wanted}"


def categories(r):
    """The balance in sheet, first screen, steps and chart; its names are those of the one table."""
    balance = r.balance()
    work = [part for part in balance if part[1] not in ("idle", "remainder")]
    for part, kind, _ in work:
        if part not in CATEGORIES or CLASSES.get(part, "computation") != kind:
            yield f"balance: {part}, {kind}"
    bar = [(part["part"], part["kind"], part["ns"]) for part in r.front["facts"]["bar"] if part["ns"]]
    if r.facts["gpu_ops"] > 0 and sorted(bar) != sorted(balance):
        yield f"bar of the page {sorted(set(bar) ^ set(balance))[:6]}, not as in the sheet balance"
    if not r.fact_of_page("steps_left_out"):
        inside = [row["in_window"] for row in r.records("page_steps")]
        sums = collections.Counter()
        for row in r.records("page_step_parts"):
            if inside[row["step"]]:
                sums[row["part"], row["kind"]] += row["ns"]
        if sum(sums.values()) == r.facts["window_ns"] and {(*key, ns) for key, ns in sums.items() if ns} != set(balance):
            yield f"steps of the page: {sorted({(*key, ns) for key, ns in sums.items()} ^ set(balance))[:6]}"
    chart = next((series for title, series in r.charts.items() if title.startswith("Where the time goes")), None)
    if chart is not None:
        rows = [(("idle: " if row["kind"] == "idle" else "") + row["part"], float(row["pct"])) for row in r.sheets["balance"] if float(row["pct"]) >= 0.4]
        shown = [(name, values[0]) for name, values in chart if name != "small parts"]
        if len(rows) != len(shown) or any(a[0] != b[0] or not close(a[1], b[1]) for a, b in zip(rows, shown)):
            yield f"chart of the workbook: {shown}, not {rows}"


def exclusive(events):
    """{category: ns}: each instant counts for one event, those that compute first, then communication, then copies."""
    times, covered = collections.Counter(), []
    for of_class in (lambda c: c not in CLASSES, lambda c: c == "communication", lambda c: c == "copy"):
        own, latest = [], None
        for start, end, category in sorted((e for e in events if of_class(e[2])), key=lambda e: e[0]):
            begin = start if latest is None else max(start, latest)
            if begin >= end:
                continue
            latest = end
            own.append((begin, end))
            left = end - begin
            for a, b in covered:
                left -= max(0, min(b, end) - max(a, begin))
            times[category] += left
        merged = []
        for a, b in sorted(covered + own):
            if merged and a <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(b, merged[-1][1]))
            else:
                merged.append((a, b))
        covered = merged
    return times


def events(r):
    """The balance again, from the page's events and what it says about calls and kernels: what it shows of a chosen range."""
    if r.fact_of_page("exact_start") is not None or "page_gpu" not in r.page or r.page["page_gpu"].rows() > EVENTS_RECOUNTED:
        return
    begin, end = r.fact_of_page("window_start"), r.fact_of_page("window_end")
    if begin is None:
        return
    of_sum = {(row["call"], row["kernel"]): row.get("category") for row in r.records("page_sums")}
    of_kernel = [row["category"] for row in r.records("page_kernels")]
    judged = [row["judged"] for row in r.records("page_lanes")]
    found = []
    for row in r.records("page_gpu"):
        start, stop = max(row["start"], begin), min(row["start"] + row["ns"], end)
        if judged[row["lane"]] and start < stop:
            found.append((start, stop, of_sum.get((row["call"], row["kernel"])) or of_kernel[row["kernel"]]))
    if len(found) * sum(category in CLASSES for _, _, category in found) > 4_000_000:
        return  # slow
    times = {part: ns for part, ns in exclusive(found).items() if ns}
    expected = {part: ns for part, kind, ns in r.balance() if kind not in ("idle", "remainder")}
    if times != expected:
        yield f"balance from the events: {times}, sheet: {expected}"


def kernels(r):
    """Kernels by name: count, time and category on the page, in the sheets, in the chart, and in the terminal."""
    rows = r.kernel_rows()
    sums = {}
    for name, us, count, category in rows:
        old = sums.get(name, (0, 0, set()))
        sums[name] = (old[0] + us, old[1] + count, old[2] | {category})
    for row in r.records("page_kernels"):
        if row["name"] not in sums:
            continue
        us, count, found = sums[row["name"]]
        if row["count"] != count or not close(row["ns"] / 1000, us, 1e-4) and abs(row["ns"] / 1000 - us) > 0.002 * count:
            yield f"{row['name'][:60]}: {row['count']} with {row['ns'] / 1000} µs on the page, {count} with {us} µs in the sheet"
        if found != {row["category"]}:
            yield f"{row['name'][:60]}: {row['category']} on the page, {found} in the sheet"
    yield from by_category(r, rows)
    yield from top_kernels(r, sums)


def by_category(r, rows):
    """Sums by category: sheet and terminal."""
    sums = collections.Counter()
    for _, us, _, category in rows:
        sums[category] += us / 1000
    if set(sums) - CATEGORIES:
        yield f"kernels of the categories {set(sums) - CATEGORIES}"
    sheet = {row["op category"]: float(row["total_direct_kernel_time_ms"]) for row in r.sheets.get("kernel_summary_by_category", [])}
    if sheet and (set(sheet) != set(sums) or any(not close(ms, sums[category], 1e-9) for category, ms in sheet.items())):
        yield f"kernel_summary_by_category: {sheet}, kernel_summary: {dict(sums)}"
    heading = r.terminal.partition("Kernel time by category\n")[2].partition("\n\n")[0]
    for name, ms in re.findall(r"^(\S+) .*?([\d,.]+) ms +[\d.]+%$", heading, re.M):
        if abs(float(ms.replace(",", "")) - sums[name]) > 0.0501:
            yield f"terminal: {name} {ms} ms, sheet {dict(sums)}"


def top_kernels(r, sums):
    """The workbook's ten kernels with the most time."""
    cells = [row[18:21] for row in r.book["overview"][1:11]]
    top = sorted(((us, found) for us, _, found in sums.values() if us > 0), key=lambda one: -one[0])[:10]
    for (_, ms, category), (us, found) in zip(cells, top):
        if ms is None or not close(ms, us / 1000, 1e-6):
            yield f"top kernels of the workbook: {cells}, by the sheet {top}"
            return
        if found != {category} and sum(one[0] == us for one in top) == 1:
            yield f"kernel with {ms} ms: {category} in the workbook, {found} in the sheet"


def counts(r):
    """Numbers of events of the page, and calls of ops as in the sheet."""
    gpu_events = r.fact_of_page("gpu_events")
    if gpu_events is None:
        return
    for table in ("page_kernels", "page_sums"):
        if table in r.page and sum(r.page[table].column("count")) != gpu_events:
            yield f"{table}: {sum(r.page[table].column('count'))} events of {gpu_events}"
    judged = sum(row["events"] for row in r.records("page_lanes") if row["judged"] and row["kind"] == "stream")
    if judged != r.facts["gpu_ops"]:
        yield f"gpu_ops: {r.facts['gpu_ops']} in overview, {judged} on the page's timeline"
    yield from calls(r)


def calls(r):
    """Ops by shape: count and time of the page are those of unified_perf_summary."""
    if "unified_perf_summary" not in r.page or "page_calls" not in r.page:
        return
    found, named = {}, r.records("page_calls")
    for row in r.records("page_sums"):
        if row["call"] is not None and named[row["call"]]["op"] is not None:
            key = named[row["call"]]["op"], named[row["call"]]["shapes"] or ""
            old = found.get(key, (0, 0))
            found[key] = (old[0] + row["calls"], old[1] + row["ns"]) if "calls" in row else (old[0] + row["count"], old[1] + row["ns"])
    sheet = {}
    for row in r.records("unified_perf_summary"):
        key = row["name"], row.get("Input Dims") or ""
        old = sheet.get(key, (0, 0))
        sheet[key] = (old[0] + row["operation_count"], old[1] + (row["Kernel Time (µs)_sum"] or 0))
    for key in found.keys() & sheet.keys():
        # The sheet counts time in which several kernels of an op run once.
        if close(found[key][1] / 1000, sheet[key][1], 1e-3) and found[key][0] != sheet[key][0]:
            yield f"{key}: {found[key][0]} calls on the page, {sheet[key][0]} in unified_perf_summary"


def gains(r):
    """Findings, their order, gains and severities; the verdict."""
    rows = r.sheets["findings"]
    found = {"JSON": r.document["findings"], "page": r.front["answers"]["findings"]}
    for place, list_ in found.items():
        figures = ("gain_ms", "gain_pct", "gain_low_ms", "gain_high_ms")
        if [(f["rank"], f["id"], f["title"], f["severity"], *(f[name] for name in figures)) for f in list_] != \
                [(int(row["rank"]), row["id"], row["title"], row["severity"], *(float(row[name]) for name in figures)) for row in rows]:
            yield f"findings in {place} differ from the sheet"
    yield from shown_gains("terminal", re.sub(r"\s+", " ", r.terminal), r"(\d+)\. (?:HIGH|MEDIUM|LOW) (?:\(hint\) )?(\w+):", rows)
    yield from shown_gains("Markdown", r.markdown.replace("\\", ""), r"^(\d+)\. \*\*(\w+)\*\*", rows)
    verdict = r.facts["verdict"]
    places = {"JSON": r.document["trust"]["verdict"], "page": r.front["answers"]["trust"]["verdict"],
              "terminal": (re.search(r"^Trust: (.*)$", r.terminal, re.M) or ["", ""])[1],
              "Markdown": (re.search(r"^Trust: \*\*(.*)\*\*", r.markdown, re.M) or ["", ""])[1]}
    for place, text in places.items():
        if text != verdict:
            yield f"verdict {verdict}, in {place} {text}"


def shown_gains(place, text, head, rows):
    heads = list(re.finditer(head, text, re.M))
    if [(int(match[1]), match[2]) for match in heads] != [(int(row["rank"]), row["id"]) for row in rows]:
        yield f"{place} shows the findings {[match[2] for match in heads]}, the sheet has {[row['id'] for row in rows]}"
        return
    for match, row in zip(heads, rows):
        shown = re.search(r"Likely gain ([\d.]+) to ([\d.]+) ms of [\d.]+ \((?:(\d+)-)?(\d+)%\)", text[match.end():])
        if not shown:
            if float(row["gain_ms"]) > 0.01:
                yield f"{place}: no gain of {row['id']}"
            continue
        for border, ms, pct in (("low", shown[1], shown[3] or shown[4]), ("high", shown[2], shown[4])):
            true_ms = float(row[f"gain_{border}_ms"])
            true_pct = float(row["gain_pct"]) * true_ms / float(row["gain_ms"])
            if abs(float(ms) - true_ms) > max(0.0001, 0.0501 * true_ms) or abs(float(pct) - true_pct) > 0.501:
                yield f"{place}: {row['id']} {shown[0]}, sheet {true_ms} ms, {true_pct} %"


CHECKS = (sheets, window, busy, timeline, terminal_timeline, markdown_timeline, categories, events, kernels, counts, gains)


# ---- traces ----


def given_traces():
    shared = os.path.join(harness.CONFORMANCE_TRACES, "..", "..")
    for folder in ("conformance/traces", "faults", "faults2", "serving"):
        for path in sorted(glob.glob(os.path.join(shared, folder, "**", "*.json*"), recursive=True) +
                           glob.glob(os.path.join(shared, folder, "**", "*.sqlite"), recursive=True) +
                           glob.glob(os.path.join(shared, folder, "**", "*.xplane.pb*"), recursive=True)):
            if os.path.isfile(path) and not path.endswith(("truth.json", "faults.json")):
                yield os.path.relpath(path, shared), path


def own_traces():
    for pattern in ("tests/fixtures/*/*.gz", "tests/fixtures/rocprof/*.json", "tests/findings/traces/*.gz", "examples/*.gz"):
        for path in sorted(glob.glob(os.path.join(harness.ROOT, pattern))):
            yield os.path.relpath(path, harness.ROOT), path


def check(binary, folder, path, *options):
    if callable(path):
        path = path(folder)
    report = Report(binary, path, folder, options)
    if report.outcome.code:  # no trace, or one without work of a GPU, and says so
        return report.outcome.problems() or ([] if report.outcome.stderr.startswith("gputally: ") else [report.outcome.stderr[:200]])
    if "overview" not in report.sheets:
        return []
    return [f"{one.__name__}: {problem}" for one in CHECKS for problem in itertools.islice(one(report), 3)]


def write_small(folder):
    return small_traces.write(os.path.join(folder, "small.json"), small_traces.training())


def write_export(folder):
    return generate_export.write(generate_export.small_run(), os.path.join(folder, "small.sqlite"))


def write_two_gpus(folder):
    path = os.path.join(folder, "two.xplane.pb")
    with open(path, "wb") as file:
        for gpu in (1, 2):
            kernels = [("add", 10000 * i, 2000 * gpu, None) for i in range(40)]
            content = next(value for _, value, _ in fields(plane(f"/device:GPU:{gpu}", ["add"], "Stream #14(Compute)", kernels)))
            file.write(message(1, number_field(1, gpu) + content))
    return path


def cases():
    made = [("generated JAX profile of two GPUs", write_two_gpus), ("generated PyTorch trace", write_small), ("generated export of Nsight Systems", write_export)]
    given = list(given_traces())
    if not given:
        print("no folder of conformance cases: only the traces of the repository are compared")
    pytorch, export = os.path.join(harness.FIXTURES, "pytorch"), made[-1][1]
    with_options = [(os.path.join(pytorch, "recompute.json.gz"), "--detect_recompute"), (os.path.join(pytorch, "streams.json.gz"), "--linked_kernels_only"),
                    (os.path.join(pytorch, "training.json.gz"), "--comm_kernel_regex", "nvjet"), (export, "--kernel_names", "demangled"),
                    (os.path.join(harness.FIXTURES, "rocprof", "tiny_results.json"), "--full_kernel_names")]
    return [harness.Case(name, check, path) for name, path in [*made, *own_traces(), *given]] + \
        [harness.Case("options " + " ".join(words), check, path, *words) for path, *words in with_options]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
