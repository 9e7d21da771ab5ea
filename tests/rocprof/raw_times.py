"""Times of kernels and copies read from the raw files of rocprofv3, independent of gputally: the reference model of the
timelines. All sums are integers of nanoseconds.

    run = raw_times.read(folder)         # all files of a run, in one format
    raw_times.gpu_timeline(run)          # [[type, ns], ...]
    raw_times.by_device(run)             # [[device, type, ns], ...], or with the host after the device
"""
import csv
import json
import os
import re
import sqlite3
from typing import NamedTuple

from tests.rocprof import raw_pftrace


class Span(NamedTuple):
    host: str
    pid: int
    start: int
    end: int
    gpus: tuple  # logical node ids of the GPUs that took part


class Run:
    def __init__(self):
        self.kernels, self.copies, self.windows = [], [], {}  # windows: pid -> (init, fini)

    def of_host(self, host):
        mine = Run()
        mine.kernels, mine.copies = ([s for s in spans if s.host == host] for spans in (self.kernels, self.copies))
        mine.windows = {s.pid: self.windows[s.pid] for s in mine.kernels + mine.copies if s.pid in self.windows}
        return mine


def last_number(text):
    return int(re.search(r"\d+$", str(text)).group())


def gpus_of(direction, source, destination):
    """A copy belongs to the GPUs at its ends."""
    found = [source] if "DEVICE_TO" in direction else []
    return tuple(dict.fromkeys(found + ([destination] if direction.endswith("TO_DEVICE") else [])))


def from_json(run, host, path):
    with open(path, encoding="utf-8") as file:
        processes = json.load(file)["rocprofiler-sdk-tool"]
    for process in processes:
        pid = process["metadata"]["pid"]
        run.windows[pid] = process["metadata"]["init_time"], process["metadata"]["fini_time"]
        nodes = {agent["id"]["handle"]: agent["logical_node_id"] for agent in process["agents"]}
        kinds = process["strings"]["buffer_records"]
        for record in process["buffer_records"]["kernel_dispatch"]:
            run.kernels.append(Span(host, pid, record["start_timestamp"], record["end_timestamp"],
                                    (nodes[record["dispatch_info"]["agent_id"]["handle"]],)))
        for record in process["buffer_records"]["memory_copy"]:
            direction = kinds[record["kind"]]["operations"][record["operation"]]
            ends = [nodes[record[key]["handle"]] for key in ("src_agent_id", "dst_agent_id")]
            run.copies.append(Span(host, pid, record["start_timestamp"], record["end_timestamp"], gpus_of(direction, *ends)))


def from_csv(run, host, path):
    pid, kind = re.match(r"(\d+)_(kernel|memory_copy)_trace", os.path.basename(path)).groups()
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            times = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
            if kind == "kernel":
                run.kernels.append(Span(host, int(pid), *times, (last_number(row["Agent_Id"]),)))
            else:
                ends = last_number(row["Source_Agent_Id"]), last_number(row["Destination_Agent_Id"])
                run.copies.append(Span(host, int(pid), *times, gpus_of(row["Direction"], *ends)))


def from_rocpd(run, host, path):
    database = sqlite3.connect(path)
    suffixes = [name[len("rocpd_kernel_dispatch"):] for (name,) in
                database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%'")]
    for suffix in suffixes:
        ask = lambda sql: database.execute(re.sub(r"(rocpd_\w+)", rf'"\1{suffix}"', sql)).fetchall()
        run.windows.update({pid: (init, fini) for pid, init, fini in ask("SELECT pid, init, fini FROM rocpd_info_process")})
        nodes = dict(ask("SELECT id, logical_index FROM rocpd_info_agent"))
        for pid, start, end, agent in ask('SELECT pid, start, "end", agent_id FROM rocpd_kernel_dispatch'):
            run.kernels.append(Span(host, pid, start, end, (nodes[agent],)))
        for pid, start, end, name, source, destination in ask(
                'SELECT c.pid, c.start, c."end", s.string, c.src_agent_id, c.dst_agent_id FROM rocpd_memory_copy c '
                'JOIN rocpd_string s ON s.id = c.name_id'):
            run.copies.append(Span(host, pid, start, end, gpus_of(name, nodes[source], nodes[destination])))
    database.close()


def from_pftrace(run, host, path):
    pid = int(re.match(r"\d+", os.path.basename(path)).group())
    for category, name, annotations in raw_pftrace.begun(path, ("kernel_dispatch", "memory_copy")):
        notes = {key: note[6].decode() if 6 in note else note.get(3) for key, note in annotations}
        times = notes["begin_ns"], notes["end_ns"]
        if category == "kernel_dispatch":
            run.kernels.append(Span(host, pid, *times, (last_number(notes["agent"]),)))
        else:
            ends = last_number(notes["src_agent"]), last_number(notes["dst_agent"])
            run.copies.append(Span(host, pid, *times, gpus_of(name, *ends)))


READERS = {"_results.json": from_json, "_kernel_trace.csv": from_csv, "_memory_copy_trace.csv": from_csv,
           "_results.db": from_rocpd, "_results.pftrace": from_pftrace}


def read(folder):
    run = Run()
    for root, _, files in os.walk(folder):
        for name in sorted(files):
            for ending, add in READERS.items():
                if name.endswith(ending):
                    add(run, os.path.basename(root), os.path.join(root, name))
    return run


def covered(spans):
    """The length of the union."""
    total, until = 0, None
    for start, end in sorted((s.start, s.end) for s in spans):
        if until is None or start > until:
            total, until = total + end - start, end
        elif end > until:
            total, until = total + end - until, end
    return total


def total_ns(run):
    """The profiled time if the files have it, else from the first start to the last end on a GPU."""
    if run.windows:
        return max(fini for _, fini in run.windows.values()) - min(init for init, _ in run.windows.values())
    spans = run.kernels + run.copies
    return max(s.end for s in spans) - min(s.start for s in spans)


def timeline(kernels, copies, total):
    busy = covered(kernels + copies)
    return [["total_time", total], ["kernel", covered(kernels)], ["memory", covered(copies)], ["busy_time", busy],
            ["idle", max(0, total - busy)]]


def gpu_timeline(run):
    return timeline(run.kernels, run.copies, total_ns(run))


def by_device(run):
    """Devices in order of host and node; the host is a column if there are several. Hosts have clocks of their own."""
    rows = []
    devices = sorted({(s.host, gpu) for s in run.kernels + run.copies for gpu in s.gpus})
    for host, gpu in devices:
        mine = lambda spans: [s for s in spans if s.host == host and gpu in s.gpus]
        name = [gpu, host] if len({h for h, _ in devices}) > 1 else [gpu]
        rows += [[*name, *row] for row in timeline(mine(run.kernels), mine(run.copies), total_ns(run.of_host(host)))]
    return rows
