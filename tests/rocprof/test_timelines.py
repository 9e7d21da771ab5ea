#!/usr/bin/env python3
"""Timelines in every format of rocprofv3, compared with sums of integer nanoseconds over the raw files.

    python3 -m tests.rocprof.test_timelines --bin build/gputally [--only TEXT]

Timestamps are those of a clock that counts from 1970: as a double in microseconds, such a time is a multiple of 0.25.
"""
import contextlib
import json
import os
import random
import re
import sqlite3
import sys
from fractions import Fraction

from tests.common import harness
from tests.rocprof import checks, generate_passes, generate_run, raw_times

FORMATS = ("csv", "json", "rocpd", "pftrace")
START_NS = 1_789_000_000_123_456_789


class Test(checks.Checks):
    def sheets(self, name, path, *options, command="rocprof"):
        out = os.path.join(self.folder, name, "out")
        done = harness.run([self.binary, command, path, "--output_csvs_dir", out, *options])
        self.tally.add(f"{name}: runs", done.problems() + ([f"exit {done.code}: {done.stderr}"] if done.code else []))
        return {file[:-4]: harness.read_csv(os.path.join(out, file)) for file in sorted(os.listdir(out))}, done

    def equal(self, name, expected, got):
        self.tally.add(name, [] if expected == got else [f"expected {expected!r}, got {got!r}"])


def cells(rows):
    """Rows of [..., type, ns] as those of a sheet. Times are exact to the last bit, percentages to the last but one."""
    made, total = [], 0
    for row in rows:
        total = row[-1] if row[-2] == "total_time" else total
        made.append([*row[:-1], row[-1] / 1e6, Fraction(100 * row[-1], total)])
    return made


def timeline_problems(headings, sheet, expected):
    if sheet[0] != headings:
        return [f"columns {sheet[0]}, expected {headings}"]
    if len(sheet[1]) != len(expected):
        return [f"{len(sheet[1])} rows, expected {len(expected)}"]
    problems = []
    for got, row in zip(sheet[1], expected):
        if got[:-2] != [str(cell) for cell in row[:-2]]:
            problems.append(f"row {got}, expected {row}")
        elif float(got[-2]) != row[-2] or abs(float(got[-1]) - float(row[-1])) > 4e-16 * float(row[-1]):
            problems.append(f"{got[:-2]}: {got[-2:]}, expected {row[-2]!r}, {float(row[-1])!r}")
    return problems


def write(run, folder, kind):
    generate_run.write_all(run, folder, (kind,))
    return os.path.join(folder, kind)


def make_run(processes=1, dispatches=60, seed=1, gpus=None):
    """Short kernels and copies at times with all digits. `gpus`: those of each process."""
    rng = random.Random(seed)
    run = []
    for p in range(processes):
        process = generate_run.make_process(rng, 500 + 13 * p, dispatches, START_NS + 7919 * p, False, True)
        if gpus:
            mine = gpus[p]
            process.agents = tuple((node, "CPU" if node < 2 else "GPU", "demo") for node in range(10))
            process.dispatches = [d._replace(agent=mine[i % len(mine)]) for i, d in enumerate(process.dispatches)]
            process.copies = [c._replace(source=mine[0] if c.direction in (3, 4) else 0,
                                         destination=mine[-1] if c.direction in (2, 4) else 1) for c in process.copies]
        run.append(process)
    return run


def check_exact(t):
    for kind in FORMATS:
        for processes in (1, 3):
            name = f"exact {kind} {processes}"
            if t.only not in name:
                continue
            folder = write(make_run(processes), os.path.join(t.folder, name), kind)
            raw = raw_times.read(folder)
            sheets, _ = t.sheets(name, folder)
            t.tally.add(f"{name}: gpu_timeline", timeline_problems(
                ["type", "time ms", "percent"], sheets["gpu_timeline"], cells(raw_times.gpu_timeline(raw))))
            if processes > 1:
                check_processes(t, name, raw, sheets["process_summary"])


def check_processes(t, name, raw, sheet):
    column = [sheet[0].index(c) for c in ("pid", "Count", "Total Kernel Time (ms)", "total_time ms")]
    expected = []
    for pid in sorted({k.pid for k in raw.kernels}):
        mine = [k for k in raw.kernels if k.pid == pid]
        window = raw.windows.get(pid)
        expected.append([pid, len(mine), sum(k.end - k.start for k in mine) / 1e6,
                         (window[1] - window[0]) / 1e6 if window else None])
    got = [[int(row[column[0]]), int(row[column[1]]), float(row[column[2]]), float(row[column[3]]) if row[column[3]] else None]
           for row in sheet[1]]
    t.equal(f"{name}: process_summary", expected, got)


def check_devices(t):
    """Processes with a GPU each, with several, with shared ones; on one host and on two."""
    cases = {"one process": [(2, 3)], "one GPU each": [(2,), (3,), (4,), (5,)], "shared": [(2, 3), (3, 4)], "eight": [(g,) for g in
             range(2, 10)]}
    for kind in FORMATS:
        for label, gpus in cases.items():
            for hosts in (1, 2):
                name = f"devices {kind}, {label}, {hosts} hosts"
                if t.only not in name:
                    continue
                check_hosts(t, name, kind, gpus, hosts)


def check_hosts(t, name, kind, gpus, hosts):
    folder, run = os.path.join(t.folder, name, "run"), make_run(len(gpus) * hosts, 30, 5, gpus * hosts)
    for i, process in enumerate(run):
        prefix = os.path.join(folder, f"node-{i // len(gpus)}", str(process.pid))
        write_process(process, prefix, kind)
    raw = raw_times.read(folder)
    sheets, done = t.sheets(name, folder)
    heads = ["device", *(["hostname"] if hosts > 1 else []), "type", "time ms", "percent"]
    t.tally.add(f"{name}: gpu_timeline_by_device", timeline_problems(
        heads, sheets.get("gpu_timeline_by_device", ([], [])), cells(raw_times.by_device(raw))))
    t.tally.add(f"{name}: gpu_timeline", timeline_problems(
        heads[-3:], sheets["gpu_timeline"], cells(raw_times.gpu_timeline(raw))))
    count = len({(s.host, g) for s in raw.kernels for g in s.gpus})
    t.equal(f"{name}: summary", True, f"GPU timeline of {count} devices together" in done.stdout
            and "GPU timeline by device" in done.stdout)


def write_process(process, prefix, kind):
    host, generate_run.HOST = generate_run.HOST, os.path.basename(os.path.dirname(prefix))
    try:
        if kind == "csv":
            generate_run.write_csv(process, prefix)
        elif kind == "rocpd":
            generate_run.write_rocpd([process], prefix + "_results.db")
        elif kind == "pftrace":
            generate_run.write_pftrace(process, prefix + "_results.pftrace")
        else:
            document = generate_run.process_json(process)
            generate_passes.add_offset(document, process.pid * 37)
            generate_run.write_document([document], prefix + "_results.json")
    finally:
        generate_run.HOST = host


def check_clocks(t):
    """Two hosts with clocks that count from different times: each device has the time of its own host."""
    for kind in FORMATS:
        for label, shift in (("far apart", 85 * 86400 * 10**9), ("overlapping", 50_000)):
            name = f"clocks {kind}, {label}"
            if t.only not in name:
                continue
            folder, run = os.path.join(t.folder, name, "run"), make_run(4, 30, 11, [(2,), (3,)] * 2)
            for i, process in enumerate(run):
                shift_times(process, shift if i > 1 else 0)
                write_process(process, os.path.join(folder, f"node-{i // 2}", str(process.pid)), kind)
            raw = raw_times.read(folder)
            sheets, done = t.sheets(name, folder)
            t.tally.add(f"{name}: gpu_timeline_by_device", timeline_problems(
                ["device", "hostname", "type", "time ms", "percent"], sheets.get("gpu_timeline_by_device", ([], [])),
                cells(raw_times.by_device(raw))))
            t.tally.add(f"{name}: gpu_timeline", timeline_problems(
                ["type", "time ms", "percent"], sheets["gpu_timeline"], cells(raw_times.gpu_timeline(raw))))
            t.equal(f"{name}: warning", label == "far apart", "clocks of different hosts are not comparable" in done.stderr)


def shift_times(process, by):
    later = lambda record: record._replace(start=record.start + by, end=record.end + by)
    process.dispatches, process.copies = [later(d) for d in process.dispatches], [later(c) for c in process.copies]
    process.calls = [later(c) for c in process.calls]
    process.init, process.fini = process.init + by, process.fini + by


def check_containers(t):
    """Each process sees only its own GPU, as node 2; the third process sees that of the first one."""
    for kind in ("csv", "json", "rocpd"):
        for label, ids in (("Gpu_Id", [(5000, 256), (5001, 256), (5000, 256)]), ("Location_Id", [(7, 256), (7, 512), (7, 256)])):
            name = f"containers {kind}, {label}"
            if t.only not in name:
                continue
            folder, run = os.path.join(t.folder, name, "run"), make_run(3, 30, 13, [(2,)] * 3)
            for process, (gpu, location) in zip(run, ids):
                process.agents = process.agents[:3]
                prefix = os.path.join(folder, "node-0", str(process.pid))
                write_process(process, prefix, kind)
                set_ids(prefix, kind, gpu, location)
            raw, expected = raw_times.read(folder), []
            for gpu in ids[:2]:
                pids = [process.pid for process, other in zip(run, ids) if other == gpu]
                kernels, copies = ([s for s in spans if s.pid in pids and 2 in s.gpus] for spans in (raw.kernels, raw.copies))
                expected += [[2, *gpu, *row] for row in raw_times.timeline(kernels, copies, raw_times.total_ns(raw))]
            sheets, _ = t.sheets(name, folder)
            t.tally.add(f"{name}: gpu_timeline_by_device", timeline_problems(
                ["device", "Gpu_Id", "Location_Id", "type", "time ms", "percent"], sheets.get("gpu_timeline_by_device", ([], [])),
                cells(expected)))
            heads, rows = sheets["agent_info"]
            columns = [heads.index(c) for c in ("Logical_Node_Id", "Gpu_Id", "Location_Id")]
            t.equal(f"{name}: agent_info", ["0", "1", *(["2", str(g), str(p)] for g, p in ids[:2])],
                    [[row[c] for c in columns] if row[columns[0]] == "2" else row[columns[0]] for row in rows])


def set_ids(prefix, kind, gpu, location):
    """Gives the only GPU of a process its ids."""
    if kind == "csv":
        heads, rows = harness.read_csv(prefix + "_agent_info.csv")
        for row in rows:
            if row[heads.index("Agent_Type")] == "GPU":
                row[heads.index("Gpu_Id")], row[heads.index("Location_Id")] = gpu, location
        generate_run.write_rows(prefix + "_agent_info.csv", heads, rows)
    elif kind == "json":
        with open(prefix + "_results.json", encoding="utf-8") as file:
            document = json.load(file)
        document["rocprofiler-sdk-tool"][0]["agents"][2].update(gpu_id=gpu, location_id=location)
        with open(prefix + "_results.json", "w", encoding="utf-8") as file:
            json.dump(document, file)
    else:
        with contextlib.closing(sqlite3.connect(prefix + "_results.db")) as database:
            table, = (name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                      if name.startswith("rocpd_info_agent"))
            database.execute(f"UPDATE \"{table}\" SET extdata = json_set(extdata, '$.gpu_id', ?, '$.location_id', ?) "
                             "WHERE type = 'GPU'", (gpu, location))
            database.commit()


def check_type_relative(t):
    """With --agent-index type-relative, agents are "GPU 1" and "CPU 0"; their list may be in any order."""
    name = "type-relative"
    if t.only not in name:
        return
    gpus = [(2, 5), (5, 9)]
    folder = write(make_run(2, 30, 7, gpus), os.path.join(t.folder, name), "csv")
    raw = raw_times.read(folder)
    for root, _, files in os.walk(folder):
        for file in files:
            rename_agents(os.path.join(root, file))
    sheets, _ = t.sheets(name, folder, "--kernel_details")
    t.tally.add(f"{name}: gpu_timeline_by_device", timeline_problems(
        ["device", "type", "time ms", "percent"], sheets.get("gpu_timeline_by_device", ([], [])),
        cells(raw_times.by_device(raw))))
    heads, rows = sheets["kernel_details"]
    t.equal(f"{name}: agent_id", {"2", "5", "9"}, {row[heads.index("agent_id")] for row in rows})


def rename_agents(path):
    """In the list of agents only the order of rows changes."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines(keepends=True)
    if path.endswith("_agent_info.csv"):
        lines[1:] = reversed(lines[1:])
    lines = [re.sub(r"\bAgent (\d+)", lambda m: f"CPU {m[1]}" if int(m[1]) < 2 else f"GPU {int(m[1]) - 2}", line) for line in lines]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def check_not_written(t):
    """One GPU, no extra sheets, no kernels: no sheet."""
    for name, gpus, options in (("one GPU", [(4,)], ()), ("no extra sheets", [(2, 3)], ("--no_extra_sheets",))):
        if t.only not in name:
            continue
        folder = write(make_run(1, 20, 2, gpus), os.path.join(t.folder, name), "csv")
        sheets, done = t.sheets(name, folder, *options)
        t.equal(f"{name}: no gpu_timeline_by_device", False, "gpu_timeline_by_device" in sheets or "devices" in done.stdout)


def check_windows(t):
    """`gputally report`: the time of a GPU, and of all, is that of its work, as in its first screen; the capture is a fact of its own."""
    for kind in FORMATS:
        for gpus in ([(4,)], [(2, 3)]):
            name = f"window {kind}, {len(gpus[0])} GPUs"
            if t.only not in name:
                continue
            run = make_run(1, 40, 3, gpus)
            run[0].init, run[0].fini = run[0].init - 10**9, run[0].fini + 2 * 10**9
            folder = write(run, os.path.join(t.folder, name), kind)
            raw = raw_times.read(folder)
            sheets, done = t.sheets(name, folder, command="report")
            own = lambda gpu: ([s for s in spans if gpu in s.gpus] for spans in (raw.kernels, raw.copies))
            t.tally.add(f"{name}: gpu_timeline", timeline_problems(
                ["type", "time ms", "percent"], sheets["gpu_timeline"], cells(window_timeline(raw.kernels, raw.copies))))
            expected = [[gpu, *row] for gpu in gpus[0] for row in window_timeline(*own(gpu))]
            if len(gpus[0]) > 1:
                t.tally.add(f"{name}: gpu_timeline_by_device", timeline_problems(
                    ["device", "type", "time ms", "percent"], sheets["gpu_timeline_by_device"], cells(expected)))
            facts = {row[0]: row[1] for row in sheets["overview"][1]}
            judged = max((dict((row[1], row[2]) for row in expected if row[0] == gpu) for gpu in gpus[0]), key=lambda one: one["busy_time"])
            t.equal(f"{name}: the first screen", [judged["total_time"], round(judged["busy_time"] / 1e6, 6)],
                    [int(float(facts["window_ns"])), float(facts["busy_ms"])])
            capture = raw.windows[run[0].pid] if raw.windows else None
            t.equal(f"{name}: capture", capture and (capture[1] - capture[0]) / 1e6,
                    float(facts["capture_ms"]) if "capture_ms" in facts else None)
            t.equal(f"{name}: the terminal names the capture", bool(capture), "the capture takes 3" in " ".join(done.stdout.split()))


def window_timeline(kernels, copies):
    first, last = min(s.start for s in kernels + copies), max(s.end for s in kernels + copies)
    return raw_times.timeline(kernels, copies, last - first)


PARTS = (check_exact, check_devices, check_clocks, check_containers, check_type_relative, check_not_written, check_windows)

if __name__ == "__main__":
    sys.exit(checks.run_parts(__doc__, PARTS, Test))
