#!/usr/bin/env python3
"""First screens agree with the sheets: every sentence of page, terminal and Markdown is held against the sheets of the report.

    python3 -m tests.findings.test_claims --bin build/gputally [--only TEXT]

Traces are the fixtures and examples, some that are written here, and those beside the conformance folder, if it exists.
"""
import glob
import json
import os
import re
import sys

from tests.common import harness
from tests.findings import small_traces
from tests.findings.rocprof_runs import Run
from tests.findings.test_jax import write_profile
from tests.nsys import generate_export
from tests.page.pack import read_page

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.path.join(harness.CONFORMANCE_TRACES, "..", "..")
WEIGHTS = {"high": 1, "medium": 0.5, "low": 0.25}
LIMIT = 0.1  # of the window, from which idle time, communication or copies limit the step
US = 1000


# ---- a report ----


def rows(document, sheet):
    found = document["sheets"].get(sheet, {"columns": [], "rows": []})
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


class Report:
    def __init__(self, binary, folder, trace):
        paths = [os.path.join(folder, "out." + kind) for kind in ("json", "html", "md")]
        options = zip(("--output_json", "--output_html", "--output_md"), paths)
        outcome = harness.run([binary, "report", trace, *(part for option in options for part in option)])
        assert outcome.code == 0 and not outcome.problems(), outcome
        with open(paths[0]) as file:
            self.json = json.load(file)
        with open(paths[2]) as file:
            self.markdown = file.read()
        self.terminal = " ".join(outcome.stdout.split())
        page = read_page(paths[1])
        self.facts, self.tables = page.front["facts"], page.tables[0]
        self.tiles = {tile["id"]: tile for tile in self.facts["tiles"]}
        self.findings = self.json["findings"]
        self.certain = [finding for finding in self.findings if not finding["hint"]]

    def share(self, kind):
        """Of the window."""
        balance = rows(self.json, "balance")
        return sum(row["ns"] for row in balance if row["kind"] == kind) / (sum(row["ns"] for row in balance) or 1)


# ---- what it must not say ----


def nothing_is_found(report):
    """That nothing is found is not all there is to say while something limits the step. Nothing limits the capture of a graph."""
    is_capture = report.facts["sentence"] == "This is a graph capture: its kernels did not run."
    is_limited = not is_capture and max(report.share(kind) for kind in ("idle", "exposed_communication", "exposed_copy")) >= LIMIT
    yield (report.facts["limit"] is not None) == is_limited, f"limit: {report.facts['limit']}"
    if is_limited:
        yield "No important finding" not in report.terminal + report.markdown, "no important finding, but the step is limited"
    else:
        yield "No rule finds a repair" not in report.terminal + report.markdown, "a limit that there is not"


def order(report):
    """By gain and certainty, but for launch_bound, and then the page says so; hints last."""
    worth = [finding["gain_ms"] * WEIGHTS[finding["confidence"]] for finding in report.certain]
    usual = [w for w, finding in zip(worth, report.certain) if finding["id"] != "launch_bound"]
    yield usual == sorted(usual, reverse=True), f"the order is {[(f['id'], w) for f, w in zip(report.certain, worth)]}"
    yield report.findings[:len(report.certain)] == report.certain, "a hint stands before another finding"
    is_first = not worth or max(worth) <= 1.001 * worth[0]
    wrong = "although it gains less" if is_first else "by gain and certainty"
    yield wrong not in report.facts["sentence"], report.facts["sentence"]


def steps(report):
    """A trace has no steps only if no place shows steps, be it those of an inference server."""
    named = [name for name in report.tables["page_steps"].column("name") if name] if "page_steps" in report.tables else []
    detail = report.tiles["step"]["detail"] if report.tiles else ""
    said = " ".join([detail, report.terminal, report.markdown, *(check["text"] for check in report.json["trust"]["checks"])])
    yield not named or not re.search(r"\bno steps\b", said), f"{len(named)} steps, but {detail!r}, {said[:300]}"
    marked = sum(row["value"] for row in rows(report.json, "overview") if row["name"] in ("steps", "empty_steps"))
    yield not marked or "no steps " not in report.terminal.split("Trust:")[0].replace("no steps with", ""), "marked steps are none"


def copies(report):
    detail = report.tiles["copies"]["detail"] if "copies" in report.tiles else ""
    count = sum(report.tables["page_copies"].column("count")) if "page_copies" in report.tables else 0
    yield not count or detail != "no copies in this trace", f"{count} copies, but {detail!r}"


def gains(report):
    """No gain is more than the idle time that its words give without a reason, or less than twice the replay's error."""
    error_ms = abs(report.json["replay_error_pct"] or 0) / 100 * report.json["step_ms"]
    for finding in report.findings:
        yield finding["gain_ms"] >= 1.999 * error_ms, f"{finding['id']} gains {finding['gain_ms']}, the error is {error_ms}"
        yield not re.match(r"0 ", finding["title"]), finding["title"]
        stated = re.search(r"(?:holds up the GPU for|The GPU waits|the GPU is idle for) ([\d.]+) ms", finding["title"])
        if stated and finding["gain_ms"] > 1.011 * float(stated[1]) + 0.01:
            yield "other idle time that the host causes" in " ".join(finding["evidence"]), f"{finding['title']}: {finding['gain_ms']}"
    for row in rows(report.json, "what_if"):
        yield row["gain_ms"] == 0 or row["gain_ms"] >= 1.999 * error_ms, f"{row}, the error is {error_ms}"
    if not report.certain:
        yield "All of this together" not in report.terminal + report.markdown, "nothing together is something"


def trust(report):
    """Missing steps, shapes and stacks are no doubt; lost data is."""
    levels = {check["id"]: (check["level"], check["text"]) for check in report.json["trust"]["checks"]}
    worst = "do not trust" if any(level == "fail" for level, _ in levels.values()) else \
        "usable with care" if any(level == "warn" for level, _ in levels.values()) else "good"
    yield report.json["trust"]["verdict"] == worst, report.json["trust"]
    for check in ("T7", "T8"):
        yield levels.get(check, ("ok",))[0] in ("ok", "note"), levels.get(check)
    level, text = levels.get("T6", ("ok", ""))
    yield level == "fail" or not re.search(r"truncated|Records are missing", text), levels.get("T6")


def check_trace(binary, folder, trace):
    report = Report(binary, folder, trace(folder) if callable(trace) else trace)
    problems = []
    for claims in (nothing_is_found, order, steps, copies, gains, trust):
        if report.json["step_ms"] > 0:
            problems += [f"{claims.__name__}: {problem}" for is_right, problem in claims(report) if not is_right]
    return problems


# ---- traces whose replay is wrong ----

# 40 kernels of 100 us in one stream, each of which begins 6 us before the one before it ends. The replay puts them one after the
# other. The host launches the second half 250 us late: less than what the replay is wrong by.
COUNT, EVERY, LENGTH, LATE = 40, 94, 100, 250
STARTS = [20 + EVERY * i + (LATE if i >= COUNT // 2 else 0) for i in range(COUNT)]
LAUNCHES = [8 + 5 * i for i in range(COUNT // 2)] + [STARTS[COUNT // 2] - 8 + 5 * i for i in range(COUNT // 2)]


def overlapping_pytorch(folder):
    begin = 1000000.0
    host = [small_traces.host("cuda_runtime", "cudaLaunchKernel", begin + at, 3.0, correlation=i + 1) for i, at in enumerate(LAUNCHES)]
    host += [small_traces.host("cpu_op", "aten::add", begin + at - 1, 4.5) for at in LAUNCHES]
    kernels = [small_traces.kernel(begin + at, LENGTH, i + 1) for i, at in enumerate(STARTS)]
    return small_traces.write(os.path.join(folder, "t.json"), {"schemaVersion": 1, "traceEvents": host + kernels})


def overlapping_jax(folder):
    kernels = [("add", at * US, LENGTH * US, i) for i, at in enumerate(STARTS)]
    return write_profile(os.path.join(folder, "t.xplane.pb"), kernels, [(i, at * US) for i, at in enumerate(LAUNCHES)])


def overlapping_rocprof(folder):
    run = Run()
    for i, (start, launch) in enumerate(zip(STARTS, LAUNCHES)):
        run.call("hipLaunchKernel", launch * US, 3 * US, i + 1)
        run.kernel("add", start * US, LENGTH * US, correlation=i + 1)
    return run.write(os.path.join(folder, "t_results.json"))


def overlapping_nsys(folder):
    export = generate_export.small_run()
    kernel, call = export[generate_export.KERNEL][0], export[generate_export.RUNTIME][0]
    export[generate_export.KERNEL] = [{**kernel, "start": at * US, "end": (at + LENGTH) * US, "correlationId": i + 1}
                                      for i, at in enumerate(STARTS)]
    export[generate_export.RUNTIME] = [{**call, "start": at * US, "end": (at + 3) * US, "correlationId": i + 1}
                                       for i, at in enumerate(LAUNCHES)]
    for table in (generate_export.MEMCPY, generate_export.MEMSET, generate_export.GRAPH, "NVTX_EVENTS", "OSRT_API"):
        export[table] = []
    return generate_export.write(export, os.path.join(folder, "t.sqlite"))


def check_error(binary, folder, make):
    """The replay misses the window by more than 2 %, and nothing is gained."""
    problems = check_trace(binary, folder, make)
    with open(os.path.join(folder, "out.json")) as file:
        document = json.load(file)
    assert document["replay_error_pct"] > 2 and document["window_ns"] == (STARTS[-1] + LENGTH - STARTS[0]) * US, document["window_ns"]
    if document["findings"] or document["all_fixed_ms"] != document["model_step_ms"]:
        problems.append(f"{document['all_fixed_ms']} instead of {document['model_step_ms']}, {document['findings']}")
    return problems


# ---- a server's trace ----


def server(folder):
    """Its steps are marked by the server, not by the profiler: the window has all but the last."""
    trace = small_traces.training()
    for event in trace["traceEvents"]:
        if event["name"].startswith("ProfilerStep#"):
            event["name"] = "execute_context_0(0)_generation_8(8)"
    return small_traces.write(os.path.join(folder, "t.json"), trace)


def check_server(binary, folder):
    problems = check_trace(binary, folder, server)
    with open(os.path.join(folder, "out.html"), encoding="utf-8") as file:
        assert "mean of 4 steps" in file.read()
    return problems


# ---- cases ----


def traces():
    patterns = [os.path.join(ROOT, "tests", "fixtures", "*", "*.gz"), os.path.join(ROOT, "examples", "*.json.gz")]
    patterns += [os.path.join(SHARED, *parts) for parts in (
        ("conformance", "traces", "*.json.gz"), ("conformance", "traces", "jax", "*"), ("conformance", "traces", "nsys", "*20*.sqlite"),
        ("faults", "*.json.gz"), ("faults2", "*.json.gz"), ("serving", "*.json.gz"), ("serving", "faults", "*.json.gz"))]
    return [path for pattern in patterns for path in sorted(glob.glob(pattern))]


def cases():
    for make in (overlapping_pytorch, overlapping_jax, overlapping_rocprof, overlapping_nsys):
        yield harness.Case(make.__name__.replace("_", " "), check_error, make)
    yield harness.Case("steps of an inference server", check_server)
    for path in traces():
        name = "/".join(path.split(os.sep)[-2:])
        if not re.search(r"api_only|empty_20", name):  # no GPU work
            yield harness.Case(name, check_trace, path)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], list(cases())))
