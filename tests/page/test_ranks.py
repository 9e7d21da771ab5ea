#!/usr/bin/env python3
"""The page of all ranks, end to end: `gputally report FOLDER` and `gputally collective` write it, and what a browser shows is
compared with waits that are computed here from the traces.

    python3 -m tests.page.test_ranks --bin build/gputally [ONLY]

The run is made here: data-parallel steps in which one rank's work takes longer, with clocks that do not agree.
"""
import atexit
import gzip
import json
import os
import re
import shutil
import sys
import tempfile

from tests.common.harness import CONFORMANCE_TRACES, Skipped, read_csv, run, run_test_functions
from tests.page.browser import Browser, Keys, require_browser
from tests.page.pack import read_page

RANKS, STEPS, LAYERS, LATE, LATE_US, MOVE_US = 8, 4, 3, 5, 700, 60


def event(category, name, tid, start, dur, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 100 if tid >= 100 else 0, "tid": tid, "ts": start, "dur": dur, "args": args}


def rank_trace(rank, shift, sizes=(1 << 20, 1 << 22, 1 << 24), op="aten::mm"):
    """Each layer: a kernel, then an all-reduce that ends on all ranks when the last one has come and the data has moved. The
    host launches all of a step before it begins."""
    events, at, number = [], 1000.0, 1
    for step in range(STEPS):
        begin, launch = at, at - 100
        for layer in range(LAYERS):
            usual = 200 + 10 * layer
            work = usual + (LATE_US if rank == LATE and layer == 1 else 0)
            longest = usual + (LATE_US if layer == 1 else 0)
            for name, stream, start, dur, more in (
                    ("gemm", 7, at, work, {}),
                    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 20, at + work, longest - work + MOVE_US, {
                        "Collective name": "allreduce", "In msg nelems": sizes[layer], "Out msg nelems": sizes[layer], "Group size": RANKS,
                        "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": str(list(range(RANKS)))})):
                events.append(event("cpu_op", op if stream == 7 else "nccl:all_reduce", 100, launch, 6, **{"External id": number}))
                events.append(event("cuda_runtime", "cudaLaunchKernel", 100, launch + 2, 2, correlation=number, **{"External id": number}))
                events.append(event("kernel", name, stream, start, dur, correlation=number, stream=stream, device=0, **{"External id": number}, **more))
                number += 1
                launch += 8
            at += longest + MOVE_US + 20
        events.append(event("user_annotation", f"ProfilerStep#{step}", 100, begin - 110, at - begin - 12))
    for one in events:
        one["ts"] += shift
    return {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS}, "traceEvents": events,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}]}


def write_run(folder, **options):
    os.makedirs(folder)
    for rank in range(RANKS):
        with gzip.open(os.path.join(folder, f"rank{rank}_trace.json.gz"), "wt") as file:
            json.dump(rank_trace(rank, 313 * rank % 977, **options), file)
    return folder


def planted_waits():
    """{(rank, collective): ns}: all wait in the second layer for the late rank."""
    return {(rank, step * LAYERS + layer): LATE_US * 1000 if layer == 1 and rank != LATE else 0
            for rank in range(RANKS) for step in range(STEPS) for layer in range(LAYERS)}


made = {}


def folder_of(binary):
    """The run with its reports, made once."""
    if "run" not in made:
        folder = tempfile.mkdtemp(prefix="gputally-ranks-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        made["run"] = write_run(os.path.join(folder, "run"))
        done = run([binary, "report", made["run"], "--no_progress"])
        assert done.code == 0, done.stderr
        made["stdout"] = done.stdout
    return made["run"]


def page_of(binary):
    return os.path.join(folder_of(binary), "nccl_analysis_report.html")


def test_waits_are_those_that_were_planted(binary):
    tables = read_page(page_of(binary)).tables[0]
    waits = {(row["rank"], row["collective"]): row["wait"] for row in tables["page_rank_waits"].records()}
    assert waits == planted_waits()
    for row in tables["page_rank_steps"].records():
        mine = sum(wait for (rank, _), wait in waits.items() if rank == row["rank"])
        assert row["wait_ns"] == mine and row["page"] == f"rank{row['rank']}_trace_perf_report.html", row
        assert row["blame_ns"] == (STEPS * (RANKS - 1) * LATE_US * 1000 if row["rank"] == LATE else 0), row
        parts = sum(row[name] for name in ("busy_ns", "idle_ns", "exposed_ns", "exposed_wait_ns"))
        assert abs(parts - row["step_ns"]) <= 4, row


def test_steps_are_those_of_the_sheet(binary):
    folder = folder_of(binary)
    csvs = os.path.join(folder, "..", "csvs")
    assert run([binary, "report", folder, "-q", "--output_csvs_dir", csvs]).code == 0
    names, rows = read_csv(os.path.join(csvs, "collective", "rank_causes.csv"))
    sheet = {int(row["rank"]): row for row in (dict(zip(names, row)) for row in rows)}
    steps = read_page(page_of(binary)).tables[0]["page_rank_steps"].records()
    assert len(steps) == len(sheet) == RANKS
    for row in steps:
        for column, name in (("step_ns", "step_ms"), ("busy_ns", "compute_ms"), ("idle_ns", "idle_ms"), ("late_ns", "late_ms")):
            assert row[column] == round(float(sheet[row["rank"]][name]) * 1e6), (row, name)


def test_the_straggler_is_named(binary):
    require_browser()
    with Browser() as browser:
        browser.open(page_of(binary))
        assert f"Rank {LATE} is late by" in browser.text("#verdict h1")
        said = browser.text("#ranks .straggler")
        assert said.startswith(f"Rank {LATE} is the straggler: 100.0 % of all waiting is for it"), said
        assert browser.js("return [...document.querySelectorAll('main > section')].map((one) => one.id)") == \
            ["header", "filter", "verdict", "findings", "path", "ranks", "rank-spread", "matrix", "clocks", "sheets", "footer"]
        assert browser.count("#ranks .rank-step") == RANKS and browser.count("#ranks .bus-chart") == 1


def test_hover_and_keys(binary):
    require_browser()
    with Browser() as browser:
        browser.open(page_of(binary))
        left, right, top, row = 76, 1280 - 2 * 24 - 180, 44, 24
        width, height = browser.box(".heat-map canvas")[2:]
        browser.hover(".heat-map canvas", (left + (right - left) * 1.5 / (STEPS * LAYERS)) / width, (top + 2.5 * row) / height)
        tip = browser.text("#tooltip")
        assert "rank 2" in tip and f"{LATE_US * 1000:,} ns" in tip and "allreduce" in tip, tip
        browser.keys(*[Keys.ARROW_DOWN] * (LATE + 1), css=".heat-map canvas")
        assert f"rank {LATE}, the straggler" in browser.text("#tooltip") and f"ranks.rank={LATE}" in browser.hash()
        browser.keys(Keys.ENTER)
        browser.wait(f"location.pathname.endsWith('rank{LATE}_trace_perf_report.html') && document.documentElement.dataset.ready", "the page of the rank")
        assert browser.count("#timeline") == 1


def test_a_click_opens_the_page_of_a_rank(binary):
    require_browser()
    with Browser() as browser:
        browser.open(page_of(binary))
        height = browser.box(".heat-map canvas")[3]
        browser.click(".heat-map canvas", 0.5, (44 + 3.5 * 24) / height)
        browser.wait("location.pathname.endsWith('rank3_trace_perf_report.html') && document.documentElement.dataset.ready", "the page of rank 3")


def check_path(browser):
    """The late rank decides how long the step is: its op in the second layer takes 700 µs longer. Layers take 280, 990 and 300 µs."""
    said = browser.text("#path .answer")
    assert said.startswith(f"Rank {LATE}, aten::mm: ") and said.endswith(" of the critical path of 1.57 ms per step, 0.70 ms more than on the median rank."), said
    rows = dict(zip(browser.texts("#path .path-kinds td:first-child"), browser.texts("#path .path-kinds td:nth-child(2)")))
    assert rows["communication"] == "180 µs", "three transfers of 60 µs"
    left, right = 76, browser.box(".path-chart canvas")[2] - 84
    width, height = browser.box(".path-chart canvas")[2:]
    place = (left + (right - left) * 0.5) / width, (16 + 13) / height  # of the first bar
    browser.hover(".path-chart canvas", *place)
    tip = browser.text("#tooltip")
    assert tip.startswith("aten::mm") and f"\n{LATE}\n" in tip and "700 µs" in tip, tip
    browser.click(".path-chart canvas", *place)
    chosen = browser.hash()
    assert "path.op=0" in chosen, chosen
    cells = browser.texts("#path tr.current td")
    assert cells[0].strip() == str(LATE) and cells[1].strip() == "aten::mm" and cells[5] == "0 ns", cells
    browser.keys(Keys.ARROW_RIGHT, css=".path-chart canvas")
    assert browser.count("#path .focus-mark:not([hidden])") == 1 and "rank" in browser.text("#tooltip")
    browser.keys(Keys.ESCAPE)
    others = [row for row in browser.texts("#path-table tbody tr") if row.strip() and not row.strip().startswith(str(LATE))]
    assert any("aten::mm" in row for row in others), "other ranks are in the table with their slack"


def check_spread(browser):
    """All ranks leave a step together."""
    said = browser.text("#rank-spread .answer")
    assert said == "A step takes 1.57 ms on the median rank, and all others take the same time.", said
    assert browser.count("#rank-spread tr[data-step]") == STEPS - 1, "the last step has no end"
    assert browser.text("#rank-spread tr[data-step='0'] td:nth-child(4)") == "1.57 ms"
    browser.keys(*[Keys.ARROW_RIGHT] * 3, Keys.ENTER, css="#rank-spread .rank-dots canvas")
    assert "rank 2" in browser.text("#tooltip") and "ranks.rank=2" in browser.hash()


def check_matrix(browser):
    """All-reduces of 4, 16 and 64 MB: 2 S / 8 from each rank to each other."""
    assert browser.text("#matrix .answer") == "Ranks send 1,176 MB per step in all."
    cell = min(36, 560 // RANKS)
    width, height = browser.box(".matrix-map canvas")[2:]
    browser.hover(".matrix-map canvas", (104 + 6.5 * cell) / width, (24 + 1.5 * cell) / height)
    tip = browser.text("#tooltip")
    assert tip.startswith("rank 1 → rank 6") and "21.0 MB" in tip and "147 MB" in tip, tip
    browser.keys(*[Keys.ARROW_DOWN] * 3, Keys.ARROW_RIGHT, Keys.ENTER, css=".matrix-map canvas")
    assert browser.text("#tooltip").startswith("rank 2 → rank 1") and "matrix.pair=2-1" in browser.hash()
    browser.click("#matrix summary")
    assert browser.count("#matrix .alternative tbody tr") == RANKS * (RANKS - 1)


def check_clocks(browser):
    """Shifts of 0, 313, 626, 939, 275, 588, 901, 237 µs; times are whole microseconds."""
    said = browser.text("#clocks .answer")
    bound = re.fullmatch(r"The clocks of 8 ranks are up to 939 µs apart; every offset is known within (.*) µs\.", said)
    assert bound and 1 <= float(bound[1]) <= 5, said
    browser.click("#clocks summary")
    offsets = [float(text.split()[0]) for text in browser.texts("#clocks .alternative td:nth-child(4)")]
    assert offsets == [313 * rank % 977 for rank in range(RANKS)], offsets


def test_all_ranks_together(binary):
    require_browser()
    hostile = '"><img src=x onerror=alert(1)></script><script>alert(2)</script>\n\u202e'
    folder = write_run(os.path.join(os.path.dirname(folder_of(binary)), "hostile names"), op=hostile)
    assert run([binary, "report", folder, "-q"]).code == 0
    with Browser() as browser:
        browser.open(page_of(binary))
        check_path(browser)
        check_spread(browser)
        check_matrix(browser)
        check_clocks(browser)
        kept = browser.hash()
        browser.open(page_of(binary), kept)
        assert browser.count("#path tr.current") == 1 and browser.hash() == kept, "the address shows the same"
        for width in (1280, 3840):
            browser.set_size(width, 900)
            browser.settle()
            assert browser.js("return document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels are enough"
        browser.open(os.path.join(folder, "nccl_analysis_report.html"))
        assert hostile.split("\n")[0] in browser.text("#path .answer") and browser.count("#path .answer *") == 0
        assert browser.count("main img, main script") == 0


def test_collective_writes_it_when_asked(binary):
    folder = write_run(os.path.join(os.path.dirname(folder_of(binary)), "other"))
    assert run([binary, "collective", "--trace_dir", folder, "-q"]).code == 0
    assert not os.path.exists(os.path.join(folder, "nccl_analysis_report.html")), "only with --output_html"
    page = os.path.join(folder, "ranks.html")
    csvs = os.path.join(folder, "csvs")
    assert run([binary, "collective", "--trace_dir", folder, "-q", "--output_html", page, "--output_csvs_dir", csvs]).code == 0
    assert sorted(os.listdir(csvs)) == ["nccl_implicit_sync.csv", "nccl_long.csv", "nccl_summary_implicit_sync.csv", "nccl_summary_long.csv",
                                        "straggler_summary.csv"], "the sheets of TraceLens, whatever the page shows"
    found, other = read_page(page), read_page(page_of(binary))
    assert found.front["kind"] == "ranks" and found.tables[0]["page_rank_steps"].column("page") == [None] * RANKS
    assert found.front["answers"]["findings"][0]["title"].startswith(f"rank {LATE} is late by")
    assert {**found.front["answers"], "trace": "run"} == other.front["answers"]
    assert [sorted(part) for part in found.tables] == [sorted(part) for part in other.tables]
    assert any(name == "critical_path" for part in found.tables for name in part), [sorted(part) for part in found.tables]
    assert {(row["rank"], row["collective"]): row["wait"] for row in found.tables[0]["page_rank_waits"].records()} == planted_waits()


def test_files(binary):
    folder = write_run(os.path.join(os.path.dirname(folder_of(binary)), "again"))
    page = os.path.join(folder, "nccl_analysis_report.html")
    contents = []
    for threads in ("1", "5"):
        assert run([binary, "report", folder, "-q", "--threads", threads]).code == 0
        with open(page, "rb") as file:
            contents.append(file.read())
    assert contents[0] == contents[1], "a second run into the same folder has the same bytes"
    os.remove(page)
    assert run([binary, "report", folder, "-q", "--no_html"]).code == 0 and not os.path.exists(page)
    pages = os.path.join(folder, "pages")
    assert run([binary, "report", folder, "-q", "--output_html", pages]).code == 0
    assert sorted(os.listdir(pages)) == ["collective.html", *(f"rank{rank}.html" for rank in range(RANKS))]
    links = read_page(os.path.join(pages, "collective.html")).tables[0]["page_rank_steps"].column("page")
    assert links == [f"rank{rank}.html" for rank in range(RANKS)]
    trace = rank_trace(1, 0)
    del trace["traceEvents"][-1]["dur"]
    with gzip.open(os.path.join(folder, "rank1_trace.json.gz"), "wt") as file:
        json.dump(trace, file)
    done = run([binary, "report", folder, "-q"])
    told = [line.removeprefix("gputally: warning: ").replace(folder + "/", "") for line in done.stderr.splitlines()
            if " more file" not in line]
    assert done.code == 0 and told and read_page(page).front["messages"] == sorted(told), (told, read_page(page).front["messages"])


def test_real_ranks(binary):
    require_browser()
    traces = os.path.join(CONFORMANCE_TRACES, "ranks4")
    if not os.path.isdir(traces):
        raise Skipped("needs the conformance folder")
    with tempfile.TemporaryDirectory(prefix="gputally-ranks-") as folder:
        copy = shutil.copytree(traces, os.path.join(folder, "ranks4"))
        assert run([binary, "report", copy, "-q"]).code == 0
        with Browser() as browser:
            browser.open(os.path.join(copy, "nccl_analysis_report.html"))
            assert browser.count("#ranks .heat-map canvas") == 1 and browser.count("#ranks .rank-links a") == 4


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
