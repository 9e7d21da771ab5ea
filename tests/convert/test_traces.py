#!/usr/bin/env python3
"""Converted traces have the content of the original: every event, with its exact times and arguments, on tracks where none
hides another.

    python3 -m tests.convert.test_traces --bin build/gputally [--only TEXT]

Perfetto traces are read by tests/perfetto/reader.py, which is independent of gputally, and by `protoc --decode_raw` if it is
installed; Chrome traces by Python's json; databases by Python's sqlite3, and by gputally's own report, which must be the same
as that of the original. The expected content comes from the JSON that was converted.
"""
import collections
import csv
import gzip
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from decimal import Decimal

from tests.common import harness
from tests.common.harness import Case
from tests.rocprof import generate_run as maker
from tests.rocprof import generate_trace as rocprof_generator
from tests.perfetto import writer
from tests.perfetto import reader
from tests.rocprof.test_reports import dispatch, document, symbol


# ---- expected content of a converted run ----


def kernel_names(process):
    names = {}
    for entry in process.get("kernel_symbols", []):
        forms = [entry.get(key) for key in ("truncated_kernel_name", "formatted_kernel_name", "kernel_name")]
        chosen = next((form for form in forms if form), entry.get("kernel_name"))
        names[entry["kernel_id"]] = chosen
    return names


def expected_dispatches(run):
    """Counter of (name, start, end, stream, dispatch id, grid, block, thread) of the first process."""
    process = run["rocprofiler-sdk-tool"][0]
    names = kernel_names(process)
    found = collections.Counter()
    for record in process["buffer_records"].get("kernel_dispatch", []):
        info = record["dispatch_info"]
        sizes = [tuple(info[key][axis] for axis in "xyz") for key in ("grid_size", "workgroup_size")]
        name = names.get(info["kernel_id"]) or f"unknown_kernel_{info['kernel_id']}"
        found[(name, record["start_timestamp"], record["end_timestamp"], record["stream_id"]["handle"],
               info["dispatch_id"], sizes[0], sizes[1], record["thread_id"])] += 1
    return found


def expected_copies(run):
    return collections.Counter((record["start_timestamp"], record["end_timestamp"])
                               for record in run["rocprofiler-sdk-tool"][0]["buffer_records"].get("memory_copy", []))


def axes(notes, key):
    if key + "_x" in notes:
        return tuple(notes[f"{key}_{axis}"] for axis in "xyz")
    return (notes[key], 1, 1)


def found_dispatches(events):
    """The same from (category, name, notes) triples."""
    found = collections.Counter()
    for category, name, notes in events:
        if category == "kernel_dispatch":
            found[(name, notes["begin_ns"], notes["end_ns"], notes["stream_ID"], notes["dispatch_id"],
                   axes(notes, "grid_size"), axes(notes, "workgroup_size"), notes["tid"])] += 1
    return found


def found_copies(events):
    return collections.Counter((notes["begin_ns"], notes["end_ns"])
                               for category, _, notes in events if category == "memory_copy")


def compare(what, found, expected):
    if found == expected:
        return []
    return [f"{what}: missing {list((expected - found).items())[:2]}, unexpected {list((found - expected).items())[:2]}"]


def against(run, events):
    return (compare("dispatches", found_dispatches(events), expected_dispatches(run)) +
            compare("copies", found_copies(events), expected_copies(run)) +
            [f"delta_ns of {name}" for _, name, notes in events
             if "delta_ns" in notes and notes["delta_ns"] != notes["end_ns"] - notes["begin_ns"]])


def check_pftrace(run, data):
    slices, tracks = reader.read(data)
    problems = against(run, [(s.category, s.name, s.notes) for s in slices])
    for s in slices:
        notes = s.notes
        if s.category in ("kernel_dispatch", "memory_copy"):
            if s.depth:
                problems.append(f"{s.name} is inside another slice of a GPU's stream")
            if (s.start, s.end) != (max(notes["begin_ns"], 0), max(notes["end_ns"], notes["begin_ns"], 0)):
                problems.append(f"{s.name} is drawn from {s.start} to {s.end}, not {notes['begin_ns']} to {notes['end_ns']}")
    for track in tracks.values():
        if 5 in track and track[5] not in tracks:
            problems.append("a track's parent is missing")
    return problems


def check_chrome(run, document):
    events = [e for e in document["traceEvents"] if e["ph"] != "M" and e.get("cat") != "agent"]
    problems = against(run, [(e.get("cat"), e["name"], e["args"]) for e in events])
    last = {}
    for event in sorted(events, key=lambda e: (max(e["args"]["begin_ns"], 0), e["args"]["end_ns"])):
        notes, place = event["args"], (event["pid"], event["tid"])
        if event["ph"] != "X":
            problems.append(f"phase {event['ph']}")
        if notes["begin_ns"] >= 0 and abs(event["ts"] * 1000 - notes["begin_ns"]) > 1e-9 * notes["begin_ns"] + 0.01:
            problems.append(f"ts {event['ts']} of {notes['begin_ns']}")
        if event["cat"] in ("kernel_dispatch", "memory_copy"):
            start, end = max(notes["begin_ns"], 0), max(notes["end_ns"], notes["begin_ns"], 0)
            if last.get(place, 0) > start:
                problems.append(f"{event['name']} overlaps the one before it on its thread")
            last[place] = end
    return problems


# ---- running ----


def convert(binary, folder, source, target, *options, code=0):
    done = harness.run([binary, "convert", source, target, *options], cwd=folder)
    problems = done.problems() if code == 0 else []
    if done.code != code:
        problems.append(f"exit code {done.code}: {done.stderr.strip()}")
    return done, problems


def read(folder, name):
    path = os.path.join(folder, name)
    with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
        return file.read()


def check_both(run):
    """A check of a run, given as a document or as JSON text."""
    text = run if isinstance(run, bytes) else json.dumps(run).encode()
    run = json.loads(text)

    def check(binary, folder):
        with open(os.path.join(folder, "in.json"), "wb") as file:
            file.write(text)
        problems = []
        for target in ("out.pftrace", "out.pftrace.gz", "out.json", "out.json.gz"):
            done, wrong = convert(binary, folder, "in.json", target)
            problems += [f"{target}: {trouble}" for trouble in wrong]
            if wrong:
                continue
            data = read(folder, target)
            wrong = check_pftrace(run, data) if "pftrace" in target else check_chrome(run, json.loads(data))
            problems += [f"{target}: {trouble}" for trouble in wrong]
        if shutil.which("protoc") and not problems:
            decoded = subprocess.run(["protoc", "--decode_raw"], input=read(folder, "out.pftrace"), capture_output=True)
            begins = decoded.stdout.count(b"\n    9: 1\n")
            count = sum(expected_dispatches(run).values()) + sum(expected_copies(run).values())
            if decoded.returncode or begins < count:
                problems.append(f"protoc finds {begins} slices, not {count}")
        if harness.files_under(folder) != sorted(["in.json", "out.json", "out.json.gz", "out.pftrace", "out.pftrace.gz"]):
            problems.append(f"files: {harness.files_under(folder)}")
        if not problems:
            try:
                original = sheets_of(binary, folder, "in.json", "sheets")
            except RuntimeError:
                original = {}  # no report for times so far apart
            if original:
                problems += same_report("out.pftrace", original, sheets_of(binary, folder, "out.pftrace", "back"))
        return problems
    return check


def synthetic(**options):
    def check(binary, folder):
        path = os.path.join(folder, "made.json")
        rocprof_generator.write_trace(path, rocprof_generator.Options(**options))
        text = read(folder, "made.json")
        os.remove(path)
        return check_both(text)(binary, folder)
    return check


OVERLAPPING = document(
    [dispatch(100, 200, 1, 1), dispatch(150, 250, 1, 2), dispatch(160, 170, 2, 3), dispatch(200, 210, 1, 4),
     dispatch(200, 200, 1, 5), dispatch(250, 260, 2, 6), dispatch(90, 300, 2, 7, stream=3), dispatch(100, 100, 1, 8)],
    [symbol(1, truncated_kernel_name="first"), symbol(2, truncated_kernel_name="second")], copies=[(120, 140), (125, 230)])

ODD_TIMES = document(
    [dispatch(500, 400, 1, 1), dispatch(-20, 30, 1, 2), dispatch(0, 0, 1, 3), dispatch(2**62, 2**62 + 7, 1, 4),
     dispatch(-50, -40, 1, 5)], [symbol(1, truncated_kernel_name="odd")])

ODD_NAMES = document([dispatch(i * 10, i * 10 + 5, i, i, grid=(4, 3, 2)) for i in range(5)],
                     [symbol(0, truncated_kernel_name='fmt,2 "q"'), symbol(1, truncated_kernel_name="void a::b<c>(d) [clone .kd]"),
                      symbol(2, truncated_kernel_name="tab\there \u0001 ☃"), symbol(3, truncated_kernel_name="back\\slash")])


def many_at_once(count):
    """All dispatches start together: as many lanes as dispatches."""
    return document([dispatch(1000, 2000 + i, 1, i) for i in range(count)], [symbol(1, truncated_kernel_name="wide")])


def check_extra_tracks(binary, folder):
    """Expected by hand: on stream 0 the copies run inside the first dispatch, the second overlaps it, the third overlaps both."""
    with open(os.path.join(folder, "in.json"), "w") as file:
        json.dump(OVERLAPPING, file)
    done, problems = convert(binary, folder, "in.json", "out.pftrace")
    first = done.stdout.split("\n")[0]
    if first != "11 events on 7 tracks (3 of them for 5 overlapping slices)":
        problems.append(first)
    return problems


def check_damage(binary, folder):
    """Truncated and other input leaves no file, or a file with the complete records."""
    text = json.dumps(OVERLAPPING).encode()
    problems = []
    for cut in range(0, len(text), 97):
        with open(os.path.join(folder, "cut.json"), "wb") as file:
            file.write(text[:cut])
        for target in ("out.pftrace", "out.json", "out.db"):
            done = harness.run([binary, "convert", "cut.json", target], cwd=folder)
            problems += done.problems()
            there = os.path.exists(os.path.join(folder, target))
            if there != (done.code == 0):
                problems.append(f"truncated at {cut}: exit code {done.code}, output {'there' if there else 'missing'}")
            if there and not harness.warns_of_cut(done.stderr):
                problems.append(f"truncated at {cut}: no warning")
            if there:
                os.remove(os.path.join(folder, target))
            strict = harness.run([binary, "convert", "cut.json", target, "--strict"], cwd=folder)
            if strict.code != 1 or harness.files_under(folder) != ["cut.json"]:
                problems.append(f"truncated at {cut} with --strict: exit code {strict.code}")
    return problems


def check_full_disk(binary, folder):
    with open(os.path.join(folder, "in.json"), "w") as file:
        json.dump(many_at_once(3000), file)
    problems = []
    for target in ("out.pftrace", "out.json", "out.json.gz", "out.db"):
        done = harness.run([binary, "convert", "in.json", target], cwd=folder, file_size_limit=4096)
        if done.code != 1 or "cannot write" not in done.stderr or harness.files_under(folder) != ["in.json"]:
            problems.append(f"{target}: exit code {done.code}, {done.stderr.strip()}, {harness.files_under(folder)}")
    return problems


# ---- runs with calls, copies in all directions, counters and agents ----

AGENT_FIELDS = "agent_abs_index agent_log_index agent_type_index agent_type"
VIEWS = {
    "kernels": "id guid tid category region name nid pid " + AGENT_FIELDS + " code_object_id kernel_id dispatch_id stream_id "
               "queue_id queue stream start end duration grid_x grid_y grid_z workgroup_x workgroup_y workgroup_z lds_size "
               "scratch_size vgpr_count accum_vgpr_count sgpr_count static_lds_size static_scratch_size stack_id "
               "parent_stack_id corr_id",
    "memory_copies": "id guid category nid pid tid start end duration name region_name stream_id queue_id stream_name "
                     "queue_name size dst_device dst_agent_abs_index dst_agent_log_index dst_agent_type_index dst_agent_type "
                     "dst_address src_device src_agent_abs_index src_agent_log_index src_agent_type_index src_agent_type "
                     "src_address stack_id parent_stack_id corr_id",
    "regions": "id guid category name nid pid tid start end duration event_id stack_id parent_stack_id corr_id extdata "
               "call_stack line_info",
    "counters_collection": "id guid dispatch_id kernel_id event_id correlation_id stack_id parent_stack_id pid tid agent_id " +
                           AGENT_FIELDS + " queue_id grid_size_x grid_size_y grid_size_z grid_size kernel_name kernel_region "
                           "workgroup_size_x workgroup_size_y workgroup_size_z workgroup_size lds_block_size scratch_size "
                           "vgpr_count accum_vgpr_count sgpr_count counter_name counter_symbol component description block "
                           "expression value_type counter_id value start end is_constant is_derived duration category nid "
                           "extdata code_object_id",
    "top_kernels": "name total_calls total_duration average percentage",
    "top": "name total_calls total_duration average percentage",
    "busy": "agent_id type GpuTime WallTime Busy",
}
OTHER_VIEWS = """processes threads code_objects kernel_symbols region_args samples sample_regions regions_and_samples pmc_info
pmc_events events_args stream_args memory_allocations scratch_memory""".split()


def displayed(kernel):
    return maker.KERNELS[kernel].truncated.removesuffix(".kd")


def check_database(run, path):
    base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    problems = []
    for view, columns in VIEWS.items():
        found = [column[0] for column in base.execute(f"SELECT * FROM {view}").description]
        if found != columns.split():
            problems.append(f"columns of {view}: {found}")
    for view in OTHER_VIEWS:
        base.execute(f"SELECT * FROM {view}").fetchall()
    rows = lambda sql: collections.Counter(base.execute(sql).fetchall())
    kernels = [(displayed(d.kernel), p.pid, d.thread, d.agent, d.number, d.queue, d.stream, d.start, d.end, d.end - d.start,
                *d.grid, *d.block, d.scratch, maker.KERNELS[d.kernel].vgprs, maker.KERNELS[d.kernel].sgprs, d.correlation)
               for p in run for d in p.dispatches]
    problems += compare("kernels", rows(
        "SELECT name, pid, tid, agent_abs_index, dispatch_id, queue_id, stream_id, start, end, duration, grid_x, grid_y, "
        "grid_z, workgroup_x, workgroup_y, workgroup_z, scratch_size, vgpr_count, sgpr_count, stack_id FROM kernels"),
        collections.Counter(kernels))
    problems += compare("memory_copies", rows(
        "SELECT name, pid, tid, src_agent_abs_index, dst_agent_abs_index, size, stream_id, start, end, stack_id "
        "FROM memory_copies"), collections.Counter(
            (maker.COPY_NAMES[c.direction], p.pid, c.thread, c.source, c.destination, c.size, c.stream, c.start, c.end,
             c.correlation) for p in run for c in p.copies))
    problems += compare("regions", rows("SELECT category, name, pid, tid, start, end, stack_id FROM regions"),
                        collections.Counter((c.kind, c.name, p.pid, c.thread, c.start, c.end, c.correlation)
                                            for p in run for c in p.calls))
    problems += compare("counters_collection", rows("SELECT pid, dispatch_id, kernel_name, counter_name, value "
                                                    "FROM counters_collection"),
                        collections.Counter((p.pid, d.number, displayed(d.kernel), name, sum(values)) for p in run
                                            for d in p.dispatches for name, values in zip(maker.COUNTERS, d.counters)))
    total = sum(d.end - d.start for p in run for d in p.dispatches)
    for name, calls, duration, average, share in base.execute("SELECT * FROM top_kernels"):
        own = [d.end - d.start for p in run for d in p.dispatches if displayed(d.kernel) == name]
        expected = (len(own), sum(own) / 1e3, sum(own) / 1e3 / len(own), 100 * sum(own) / total)
        if any(abs(a - b) > 1e-9 * abs(b) for a, b in zip((calls, duration, average, share), expected)):
            problems.append(f"top_kernels: {name} {calls} {duration} {average} {share}, not {expected}")
    base.close()
    return problems


def check_events(run, events):
    """Compares (category, name, pid, notes) of all events with the run."""
    note = lambda notes, *keys: tuple(notes[key] for key in keys)
    agent = lambda number: f"Agent-{number}"
    product = lambda sizes: sizes[0] * sizes[1] * sizes[2]
    counters = lambda notes: tuple((name, notes[name]) for name in maker.COUNTERS if name in notes)
    problems = compare("dispatches", collections.Counter(
        (name, pid, *note(notes, "begin_ns", "end_ns", "agent", "agent_type", "corr_id", "queue", "tid", "Scratch_Size",
                          "LDS_Block_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "workgroup_size", "grid_size",
                          "stream_ID", "dispatch_id"), counters(notes))
        for category, name, pid, notes in events if category == "kernel_dispatch"), collections.Counter(
            (k.truncated, p.pid, d.start, d.end, agent(d.agent), "GPU", d.correlation, max(d.queue - 1, 0), d.thread,
             d.scratch, k.lds, k.vgprs, k.accum, k.sgprs, product(d.block), product(d.grid), d.stream, d.number,
             tuple((name, sum(values)) for name, values in zip(maker.COUNTERS, d.counters)))
            for p in run for d in p.dispatches for k in [maker.KERNELS[d.kernel]]))
    problems += compare("copies", collections.Counter(
        (name, pid, *note(notes, "begin_ns", "end_ns", "src_agent", "dst_agent", "copy_bytes", "corr_id", "tid", "stream_ID"))
        for category, name, pid, notes in events if category == "memory_copy"), collections.Counter(
            (maker.COPY_NAMES[c.direction], p.pid, c.start, c.end, agent(c.source), agent(c.destination), c.size,
             c.correlation, c.thread, c.stream) for p in run for c in p.copies))
    problems += compare("calls", collections.Counter(
        (category, name, pid, *note(notes, "begin_ns", "end_ns", "tid", "kind", "corr_id"))
        for category, name, pid, notes in events if category.endswith("_api")), collections.Counter(
            (c.domain, c.name, p.pid, c.start, c.end, c.thread, c.kind, c.correlation) for p in run for c in p.calls))
    return problems + compare("sessions", collections.Counter(
        (pid, *note(notes, "begin_ns", "end_ns", "hostname")) for category, _, pid, notes in events if category == "session"),
        collections.Counter((p.pid, p.init, p.fini, maker.HOST) for p in run))


def check_agents(document, events):
    """Compares (category, name, pid, notes) of marks with the agents of the JSON."""
    keys = ("node_id", "logical_node_id", "cu_count", "name", "model_name", "vendor_name")
    expected, found = collections.Counter(), collections.Counter()
    for process in document["rocprofiler-sdk-tool"]:
        for agent in process["agents"]:
            expected[(process["metadata"]["pid"], f"Agent-{agent['logical_node_id']}", agent["id"]["handle"],
                      *(agent[key] for key in keys))] += 1
    for category, name, pid, notes in events:
        if category == "agent":
            found[(pid, name, notes["agent_id"], *(notes[key.title()] for key in keys))] += 1
    return compare("agents", found, expected)


def pid_of(tracks, track):
    """The process that a track belongs to, through its parents."""
    while 3 not in tracks[track]:
        track = tracks[track][5]
    return dict(reader.fields(tracks[track][3]))[1]


def check_arrows(run, slices):
    """The number of each call links it to its launches, only within its process."""
    ends = collections.defaultdict(set)
    for s in slices:
        for flow in s.flows:
            ends[flow].add(s.category if not s.category.endswith("_api") else "call")
    joined = sum(kinds in ({"call", "kernel_dispatch"}, {"call", "memory_copy"}) for kinds in ends.values())
    expected = sum(len(p.dispatches) + len(p.copies) for p in run)
    return [] if joined == expected else [f"{joined} arrows, not {expected}"]


def sheets_of(binary, folder, source, name, *options, report=("rocprof", "--kernel_details", "--short_kernel_study")):
    out = os.path.join(folder, name)
    done = harness.run([binary, *report, source, "--output_csvs_dir", out, *options], cwd=folder)
    if done.code:
        raise RuntimeError(done.stderr)
    return {sheet: open(os.path.join(out, sheet), "rb").read() for sheet in sorted(os.listdir(out))}


def same_report(what, original, back):
    """Every sheet, byte by byte."""
    return [f"{what}: another {sheet}" for sheet in sorted(original.keys() | back.keys())
            if original.get(sheet) != back.get(sheet)]


def alike(what, original, back):
    """Compares rows in any order, because ties follow the file, and numbers without their last digits, for the same reason."""
    def rows(sheet):
        cell = lambda text: f"{float(text):.12g}" if re.fullmatch(r"-?\d+\.\d+(e[-+]\d+)?", text) else text
        return collections.Counter(tuple(map(cell, row)) for row in csv.reader(io.StringIO(sheet.decode())))
    return compare(what, rows(back), rows(original))


def whole_run(processes):
    def check(binary, folder):
        run = maker.make_run(dispatches=240 // processes, processes=processes)
        maker.write_json(run, os.path.join(folder, "in.json"))
        problems = []
        for target in ("out.db", "out.pftrace", "out.json"):
            problems += convert(binary, folder, "in.json", target)[1]
        if problems:
            return problems
        problems += check_database(run, os.path.join(folder, "out.db"))
        slices, tracks = reader.read(read(folder, "out.pftrace"))
        problems += check_events(run, [(s.category, s.name, pid_of(tracks, s.track), s.notes) for s in slices])
        problems += check_arrows(run, slices)
        document = json.loads(read(folder, "in.json"))
        problems += check_agents(document, [(s.category, s.name, pid_of(tracks, s.track), s.notes) for s in slices])
        events = [e for e in json.loads(read(folder, "out.json"))["traceEvents"] if e["ph"] != "M"]
        problems += check_events(run, [(e["cat"], e["name"], e["pid"], e["args"]) for e in events])
        original = sheets_of(binary, folder, "in.json", "sheets", *(["--all_processes"] if processes > 1 else []))
        for target in ("out.db", "out.pftrace"):
            problems += same_report(target, original, sheets_of(binary, folder, target, "from_" + target))
        return problems
    return check


def shuffled(run, by):
    """A document whose records are not in time order, and whose processes are ordered by their ends."""
    chance = random.Random(by)
    for process in run["rocprofiler-sdk-tool"]:
        for records in process["buffer_records"].values():
            if isinstance(records, list):
                chance.shuffle(records)
    run["rocprofiler-sdk-tool"].reverse()
    return run


def check_order(processes):
    """Records in any order: the report from the Perfetto trace has them in the same order."""
    def check(binary, folder):
        path, problems = os.path.join(folder, "in.json"), []
        maker.write_json(maker.make_run(dispatches=3000 // processes, processes=processes), path)
        for turn in range(3):
            with open(path, encoding="utf-8") as file:
                run = shuffled(json.load(file), turn)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(run, file)
            problems += convert(binary, folder, "in.json", "out.pftrace")[1]
            original = sheets_of(binary, folder, "in.json", f"sheets{turn}", "--all_processes")
            problems += same_report(f"turn {turn}", original, sheets_of(binary, folder, "out.pftrace", f"back{turn}"))
        return problems
    return check


def check_places_by_hand(binary, folder):
    """Dispatches of equal duration are in the order of their run, if their positions are known."""
    problems = []
    for places, order in (((2, 0, 1), "bca"), ((2, None, 1), "abc"), ((2**60, -5, 0), "bca"), ((0, 0, 0), "abc")):
        trace = writer.Writer()
        track = trace.track("t", trace.process(1))
        for i, place in enumerate(places):
            start = 1000 + 10 * i
            notes = {"begin_ns": start, "end_ns": start + 5} | ({} if place is None else {"record": place})
            trace.slice(track, "kernel_dispatch", "abc"[i], start, start + 5, notes)
        with open(os.path.join(folder, "in.pftrace"), "wb") as file:
            file.write(trace.bytes())
        rows = sheets_of(binary, folder, "in.pftrace", "sheets")["kernel_details.csv"].decode().splitlines()[1:]
        found = "".join(row[0] for row in rows)
        if found != order:
            problems.append(f"places {places} give {found}, not {order}")
    return problems


def check_order_over_files(binary, folder):
    """Two traces in a folder: each keeps its own order."""
    problems = []
    for pid in (11, 12):
        run = maker.make_run(dispatches=500)
        path = os.path.join(folder, f"{pid}_results.json")
        maker.write_json(run, path)
        with open(path, encoding="utf-8") as file:
            document = shuffled(json.load(file), pid)
        document["rocprofiler-sdk-tool"][0]["metadata"]["pid"] = pid
        os.makedirs(os.path.join(folder, "json"), exist_ok=True)
        with open(os.path.join(folder, "json", f"{pid}_results.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        os.makedirs(os.path.join(folder, "pftrace"), exist_ok=True)
        problems += convert(binary, folder, f"json/{pid}_results.json", f"pftrace/{pid}_results.pftrace")[1]
    return problems + same_report("two traces", sheets_of(binary, folder, "json", "from_json"),
                                  sheets_of(binary, folder, "pftrace", "from_pftrace"))


def check_other_inputs(binary, folder):
    """The same run from a folder of CSV files, from rocprofv3's own database and from a trace converted from that, without agents:
    the same slices at the same times."""
    run = maker.make_run(dispatches=120)
    maker.write_all(run, folder, ("json", "csv", "rocpd"))
    problems, found = [], {}
    for source in ("json", "csv", f"rocpd/{maker.HOST}/{run[0].pid}_results.db", "again.pftrace"):
        problems += convert(binary, folder, source, "out.pftrace")[1]
        if source == "again.pftrace":
            os.remove(os.path.join(folder, source))
        slices, _ = reader.read(read(folder, "out.pftrace"))
        if source == "json":
            shutil.copy(os.path.join(folder, "out.pftrace"), os.path.join(folder, "again.pftrace"))
        found[source] = collections.Counter((s.category, s.name, s.start, s.end) for s in slices if s.category not in ("session", "agent"))
    expected = found["json"]
    if sum(expected.values()) != len(run[0].dispatches) + len(run[0].copies) + len(run[0].calls):
        problems.append(f"{sum(expected.values())} slices")
    return problems + [trouble for source in found for trouble in compare(source, found[source], expected)]


def check_csv_hosts(binary, folder):
    """CSV files have no profiled time, but the host is in their path: the GPUs of two hosts stay apart."""
    for number, process in enumerate(maker.make_run(processes=4, dispatches=40)):
        maker.write_csv(process, os.path.join(folder, "run", f"node-{number // 2}", str(process.pid)))
    original, problems = sheets_of(binary, folder, "run", "original"), []
    hosts = {row.split(",")[1] for row in original["gpu_timeline_by_device.csv"].decode().splitlines()[1:]}
    if hosts != {"node-0", "node-1"}:
        problems.append(f"hosts of the original: {hosts}")
    for target in ("out.pftrace", "out.db"):
        problems += convert(binary, folder, "run", target)[1]
        problems += same_report(target, original, sheets_of(binary, folder, target, "from_" + target))
    return problems


def check_unlisted_agents(binary, folder):
    """CSV files without agent_info: every agent becomes known by the first record that names it, most of them by a copy."""
    agents, run = range(1, 41), os.path.join(folder, "run")
    os.mkdir(run)
    names = {"h": "MEMORY_COPY_DEVICE_TO_HOST", "d": "MEMORY_COPY_HOST_TO_DEVICE"}
    copies = [(kind, 100 * agent, 100 * agent + 50) + ((agent, 0) if kind == "h" else (0, agent)) for agent in agents for kind in "dh"]
    maker.write_rows(os.path.join(run, "1_kernel_trace.csv"), ["Kind", "Agent_Id", "Kernel_Name", "Dispatch_Id", "Start_Timestamp",
                     "End_Timestamp"], [["KERNEL_DISPATCH", agent, "k", agent, 10, 20] for agent in agents])
    maker.write_rows(os.path.join(run, "1_memory_copy_trace.csv"), ["Kind", "Direction", "Source_Agent_Id", "Destination_Agent_Id",
                     "Correlation_Id", "Start_Timestamp", "End_Timestamp"],
                     [["MEMORY_COPY", names[kind], source, to, 0, begin, end] for kind, begin, end, source, to in copies])
    problems = convert(binary, folder, "run", "out.json")[1] + convert(binary, folder, "run", "out.pftrace")[1]
    if problems:
        return problems
    events = [e for e in json.loads(read(folder, "out.json"))["traceEvents"]]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    found = collections.Counter((e["name"], e["args"]["begin_ns"], tracks[e["pid"], e["tid"]].split("Agent-")[1].split()[0])
                                for e in events if e.get("cat") == "memory_copy")
    expected = collections.Counter((names[kind], begin, str(source or to)) for kind, begin, _, source, to in copies)
    return compare("copies by GPU", found, expected)


def check_fuzz_seeds(binary, folder):
    """The CSV seeds of the fuzz targets, alone: each is converted or refused with a message."""
    problems = []
    seeds = os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "rocprof_csv")
    for name in sorted(os.listdir(seeds)):
        with open(os.path.join(seeds, name), "rb") as file, open(os.path.join(folder, name + ".csv"), "wb") as to:
            to.write(file.read()[1:])
        for target in ("out.json", "out.pftrace"):
            done = harness.run([binary, "convert", name + ".csv", target], cwd=folder)
            problems += [f"{name}: {problem}" for problem in done.problems()]
            if os.path.exists(os.path.join(folder, target)):
                os.remove(os.path.join(folder, target))
    return problems


# ---- Chrome traces, PyTorch's among them ----


def plain(value):
    """An argument as it must be read back."""
    if isinstance(value, (list, dict)) or value is None:
        return json.loads(json.dumps(value, default=float))
    return float(value) if isinstance(value, Decimal) else value


def note_of(value):
    return json.loads(value) if isinstance(value, reader.Json) else value


def frozen(notes, convert):
    return json.dumps({key: convert(value) for key, value in notes.items()}, sort_keys=True)


def ns(value):
    return int((Decimal(value) * 1000).to_integral_value())


def thread_of(tracks, track):
    """(pid, tid) of a track: its own, or its parent's if it is an extra lane of a thread."""
    while 4 not in tracks[track]:
        track = tracks[track][5]
    thread = dict(reader.fields(tracks[track][4]))
    return reader.signed(thread[1]), reader.signed(thread[2])


def check_chrome_input(text):
    document = json.loads(text, parse_float=Decimal)
    events = document["traceEvents"] if isinstance(document, dict) else document
    number = lambda value: value if isinstance(value, int) else None

    def check(binary, folder):
        with open(os.path.join(folder, "in.json"), "wb") as file:
            file.write(text)
        done, problems = convert(binary, folder, "in.json", "out.pftrace")
        if problems:
            return problems
        slices, tracks = reader.read(read(folder, "out.pftrace"))
        place = lambda s: tuple(value if not 2_000_000_000 <= value < 2_000_001_000 else None for value in thread_of(tracks, s.track))
        expected = collections.Counter(
            (e.get("cat", ""), e["name"], ns(e["ts"]), ns(e["ts"]) + ns(e.get("dur", 0)), number(e["pid"]), number(e["tid"]),
             frozen(e.get("args", {}), plain)) for e in events if e["ph"] == "X")
        found = collections.Counter((s.category, s.name, s.start, s.end, *place(s), frozen(s.notes, note_of))
                                    for s in slices if s.kind == "slice")
        problems += compare("slices", found, expected)
        expected = collections.Counter((e["name"], ns(e["ts"]), frozen(e.get("args", {}), plain))
                                       for e in events if e["ph"] == "i")
        found = collections.Counter((s.name, s.start, frozen(s.notes, note_of)) for s in slices
                                    if s.kind == "mark" and s.category != "__metadata")
        problems += compare("marks", found, expected)
        # A flow event links the innermost slices that begin at its ends.
        starts = collections.defaultdict(list)
        for s in slices:
            if s.kind == "slice":
                starts[(*place(s), s.start)].append(s)
        for event in (e for e in events if e["ph"] in "sf" and e.get("cat") == "ac2g"):
            there = starts.get((number(event["pid"]), number(event["tid"]), ns(event["ts"])))
            if there and not any(s.flows for s in there):
                problems.append(f"flow event {event['id']} at {event['ts']} has no target")
        named = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        names = {reader.signed(p[1]): p.get(6, b"").decode() for p in (dict(reader.fields(t[3])) for t in tracks.values() if 3 in t)}
        problems += [f"process {pid} is {names.get(pid)}, not {name}" for pid, name in named.items()
                     if isinstance(pid, int) and names.get(pid) != name]
        return problems
    return check


CHROME_BY_HAND = json.dumps({
    "schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "demo"}], "traceEvents": [
        {"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "python \"quoted\""}},
        {"ph": "M", "name": "process_labels", "pid": 7, "tid": 0, "args": {"labels": "GPU 0"}},
        {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 7, "tid": 8, "ts": 100.001, "dur": 50.5, "args": {
            "Input Dims": [[8, 16], [], [1, [2, 3]]], "flag": True, "none": None, "text": "a \"b\" \\ \u2603", "f": -0.125,
            "big": 17332996360099338395, "int": -5, "empty": {}, "nested": {"a b": [1, {"c": "d e"}]}}},
        {"ph": "X", "cat": "cuda_runtime", "name": "launch", "pid": 7, "tid": 8, "ts": 100.001, "dur": 3, "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "k1", "pid": 0, "tid": 7, "ts": 120, "dur": 30, "args": {"correlation": 5}},
        {"ph": "X", "cat": "kernel", "name": "k2", "pid": 0, "tid": 7, "ts": 140.5, "dur": 30, "args": {}},
        {"ph": "s", "id": 5, "pid": 7, "tid": 8, "ts": 100.001, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 120, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        {"ph": "i", "name": "[memory]", "pid": 7, "tid": 8, "ts": 101.25, "s": "t", "args": {"Bytes": 512}},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 90, "dur": 100,
         "args": {"Op count": 0}}]}).encode()


def check_chrome_by_hand(binary, folder):
    with open(os.path.join(folder, "in.json"), "wb") as file:
        file.write(CHROME_BY_HAND)
    done, problems = convert(binary, folder, "in.json", "out.pftrace")
    slices, tracks = reader.read(read(folder, "out.pftrace"))
    by_name = {s.name: s for s in slices}
    if by_name["launch"].flows != by_name["k1"].flows or len(by_name["k1"].flows) != 1 or by_name["outer"].flows:
        problems.append("the flow is not from launch to k1")
    if by_name["launch"].depth != 1 or by_name["k2"].track == by_name["k1"].track:
        problems.append("launch is not inside outer, or k2 not next to k1")
    if json.loads(by_name["trace properties"].notes["deviceProperties"]) != [{"id": 0, "name": "demo"}]:
        problems.append("the document's own members are lost")
    labels = [dict(reader.fields(t[3])).get(8) for t in tracks.values() if 3 in t]
    if b"GPU 0" not in labels:
        problems.append("the label of the process is lost")
    return problems


def check_begin_and_end(binary, folder):
    """Pairs of begin and end events: nested, never ended, an extra end; and a counter with two values. Expected values by hand."""
    events = [{"ph": "B", "name": "a", "pid": 1, "tid": 2, "ts": 1}, {"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 2.5},
              {"ph": "E", "pid": 1, "tid": 2, "ts": 4}, {"ph": "E", "pid": 1, "tid": 2, "ts": 7}, {"ph": "E", "pid": 1, "tid": 2, "ts": 8},
              {"ph": "B", "name": "c", "pid": 1, "tid": 3, "ts": 5},
              {"ph": "C", "name": "load", "pid": 1, "ts": 3, "args": {"cpu": 0.5, "gpu": 2}},
              {"ph": "b", "name": "async", "pid": 1, "tid": 2, "ts": 1, "id": 1}, {"ph": "X", "name": "no time", "pid": 1, "tid": 2}]
    with open(os.path.join(folder, "in.json"), "w") as file:
        json.dump(events, file)
    done, problems = convert(binary, folder, "in.json", "out.pftrace")
    slices, _ = reader.read(read(folder, "out.pftrace"))
    found = sorted((s.kind, s.name, s.start, s.end, s.depth, s.notes.get("value")) for s in slices)
    if found != [("slice", "a", 1000, 7000, 0, None), ("slice", "b", 2500, 4000, 1, None), ("slice", "c", 5000, 5000, 0, None),
                 ("value", "load", 3000, 3000, 0, 0.5), ("value", "load", 3000, 3000, 0, 2.0)]:
        problems.append(str(found))
    for words in ("1 events of unsupported kinds", "1 events without a time", "1 slice ends without a begin"):
        if words not in done.stderr:
            problems.append(f"no message about {words}: {done.stderr}")
    return problems


def check_pytorch_report(text):
    """Compares the report of the converted trace, without sheets that identify events by their position in the file."""
    def check(binary, folder):
        with open(os.path.join(folder, "in.json"), "wb") as file:
            file.write(text)
        done, problems = convert(binary, folder, "in.json", "out.pftrace")
        sheets = [sheets_of(binary, folder, source, source + ".sheets", report=(
            "pytorch", "--enable_kernel_summary", "--include_unlinked_kernels")) for source in ("in.json", "out.pftrace")]
        for sheet in ("gpu_timeline.csv", "kernel_summary.csv", "ops_summary.csv", "ops_summary_by_category.csv"):
            if sheet in sheets[0]:
                problems += alike(sheet, sheets[0][sheet], sheets[1].get(sheet, b""))
        return problems
    return check


def fixtures():
    folder = os.path.join(harness.FIXTURES, "pytorch")
    for at, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith((".json", ".json.gz")):
                with (gzip.open if name.endswith(".gz") else open)(os.path.join(at, name), "rb") as file:
                    yield name, file.read()


def cases():
    yield Case("overlapping dispatches", check_both(OVERLAPPING))
    yield Case("overlapping dispatches: tracks by hand", check_extra_tracks)
    yield Case("unusual times", check_both(ODD_TIMES))
    yield Case("unusual names", check_both(ODD_NAMES))
    yield Case("no dispatch at all", check_both(document([], copies=[(5, 9)])))
    yield Case("many at once", check_both(many_at_once(2000)))
    yield Case("a synthetic run", synthetic(dispatches=2000, copies=50, api_calls=100))
    yield Case("a synthetic run with names that break writers",
               synthetic(dispatches=600, names=tuple(rocprof_generator.ODD_NAMES[:36])))
    yield Case("a run with everything", whole_run(1))
    yield Case("a run of three processes", whole_run(3))
    yield Case("records in any order", check_order(1))
    yield Case("records of three processes in any order", check_order(3))
    yield Case("positions of records, by hand", check_places_by_hand)
    yield Case("records in any order, two files", check_order_over_files)
    yield Case("CSV files and rocprofv3's database", check_other_inputs)
    yield Case("CSV files of two hosts", check_csv_hosts)
    yield Case("CSV files without agents", check_unlisted_agents)
    yield Case("CSV seeds of the fuzz targets", check_fuzz_seeds)
    yield Case("a Chrome trace", check_chrome_input(CHROME_BY_HAND))
    yield Case("a Chrome trace, by hand", check_chrome_by_hand)
    yield Case("begin, end and counter events", check_begin_and_end)
    for name, text in fixtures():
        yield Case("PyTorch: " + name, check_chrome_input(text))
        yield Case("PyTorch report: " + name, check_pytorch_report(text))
    yield Case("truncated input", check_damage)
    yield Case("a full disk", check_full_disk)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], cases()))
