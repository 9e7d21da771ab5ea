"""Counters computed from the raw files of counter passes, independent of gputally: the reference model of counters_by_kernel.

    sheet = raw_counters.sheet(folder, rank_of, names)

`rank_of[(pass, pid)]` identifies the processes. The value of a counter in one dispatch and pass is the sum over the hardware's
instances, that of a dispatch the mean over the passes that collected it, that of a kernel the mean over its dispatches. A sum
with an instance that is not a number is no value.
"""
import csv
import json
import os
import re
import sqlite3
import struct
from collections import defaultdict
from fractions import Fraction

from tests.rocprof import raw_pftrace


def exact(value):
    """A fraction; None for what is not a number: NaN in CSV and JSON, NULL in rocpd."""
    return None if value is None or "nan" in str(value).lower() else Fraction(value)


def from_csv(path):
    """rocprofv3 does not escape quotes, but these names have none."""
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield (int(row["Process_Id"]), int(row["Dispatch_Id"]), row["Kernel_Name"], row["Counter_Name"],
                   exact(row["Counter_Value"]))


def from_json(path):
    with open(path, encoding="utf-8") as file:
        processes = json.load(file)["rocprofiler-sdk-tool"]
    for process in processes:
        symbols = {s["kernel_id"]: s["formatted_kernel_name"] for s in process["kernel_symbols"]}
        counters = {c["id"]["handle"]: c["name"] for c in process["counters"]}
        for record in process["callback_records"]["counter_collection"]:
            info = record["dispatch_data"]["dispatch_info"]
            for value in record["records"]:
                yield (process["metadata"]["pid"], info["dispatch_id"], symbols[info["kernel_id"]],
                       counters[value["counter_id"]["handle"]], exact(value["value"]))


def from_rocpd(path):
    database = sqlite3.connect(path)
    suffixes = [name[len("rocpd_kernel_dispatch"):] for (name,) in
                database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'rocpd_kernel_dispatch%'")]
    for suffix in suffixes:
        for pid, dispatch, kernel, counter, value in database.execute(
                f'SELECT d.pid, d.dispatch_id, s.display_name, i.name, e.value FROM "rocpd_pmc_event{suffix}" e '
                f'JOIN "rocpd_kernel_dispatch{suffix}" d ON d.event_id = e.event_id '
                f'JOIN "rocpd_info_kernel_symbol{suffix}" s ON s.id = d.kernel_id '
                f'JOIN "rocpd_info_pmc{suffix}" i ON i.id = e.pmc_id'):
            yield pid, dispatch, kernel, counter, exact(value)
    database.close()


def from_pftrace(path):
    """Kernels are begin events of the category kernel_dispatch, counters their annotations with a double. There are no
    dispatch ids: dispatches are numbered in the order of the file."""
    pid = int(re.match(r"\d+", os.path.basename(path)).group())
    for number, (_, name, notes) in enumerate(raw_pftrace.begun(path, ("kernel_dispatch",)), 1):
        kernel = name.replace(" [clone .kd]", "").removesuffix(".kd")
        for counter, note in notes:
            if 5 in note:
                yield pid, number, kernel, counter, exact(struct.unpack("<d", note[5])[0])


READERS = {"_counter_collection.csv": from_csv, "_results.json": from_json, "_results.db": from_rocpd,
           "_results.pftrace": from_pftrace}


def measurements(folder, skip=()):
    """(pass, pid, dispatch, kernel, counter, value) of all files below the folder but those to skip."""
    for root, _, files in os.walk(folder):
        found = re.search(r"(?:pass|pmc)_(\d+)", root)
        for name in sorted(files):
            for ending, read in READERS.items():
                if name.endswith(ending) and os.path.join(root, name) not in skip:
                    for row in read(os.path.join(root, name)):
                        yield (int(found.group(1)) if found else 0, *row)


def sheet(folder, rank_of, short_names, by_order=False, skip=()):
    """{kernel: (Count, {counter: mean})}. `by_order`: the n-th dispatch of a kernel is the same in all passes, whatever its
    id."""
    in_pass, unknown = defaultdict(Fraction), set()
    for number, pid, dispatch, kernel, counter, value in measurements(folder, skip):
        key = (number, rank_of[(number, pid)], dispatch, short_names[kernel], counter)
        if value is None:
            unknown.add(key)
        in_pass[key] += value or 0
    ids = defaultdict(set)
    for number, rank, dispatch, kernel, _ in in_pass:
        ids[(number, rank, kernel)].add(dispatch)
    nth = {(key, dispatch): n for key, found in ids.items() for n, dispatch in enumerate(sorted(found))}
    of_dispatch = defaultdict(list)
    for (number, rank, dispatch, kernel, counter), value in in_pass.items():
        which = nth[((number, rank, kernel), dispatch)] if by_order else dispatch
        if (number, rank, dispatch, kernel, counter) not in unknown:
            of_dispatch[(kernel, counter, rank, which)].append(value)
    of_kernel, dispatches = defaultdict(list), defaultdict(set)
    for (kernel, counter, rank, which), values in of_dispatch.items():
        of_kernel[(kernel, counter)].append(sum(values) / len(values))
        dispatches[kernel].add((rank, which))
    return {kernel: (len(dispatches[kernel]), {counter: sum(values) / len(values)
                                               for (name, counter), values in of_kernel.items() if name == kernel})
            for kernel in dispatches}
