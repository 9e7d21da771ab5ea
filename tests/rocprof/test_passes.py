#!/usr/bin/env python3
"""Counter passes of several processes, in every format of rocprofv3: counters_by_kernel compared with the raw files.

    python3 -m tests.rocprof.test_passes --bin build/gputally [--only TEXT]

generate_passes.py writes the files; raw_counters.py computes the sheet from them, with exact fractions.
"""
import os
import shutil
import sys

from tests.common import harness
from tests.rocprof import checks, generate_passes, generate_run, raw_counters

FORMATS = ("csv", "json", "rocpd", "pftrace")
SHORT_NAMES = {k.formatted: k.truncated for k in generate_run.KERNELS}


class Test(checks.Checks):
    def make(self, name, kind, traces=True, **about):
        folder = os.path.join(self.folder, name, "run")
        shutil.rmtree(folder, ignore_errors=True)
        passes = generate_passes.Passes(**about)
        passes.write(folder, kind, traces)
        return folder, passes

    def run(self, name, *words):
        done = harness.run([self.binary, *words])
        problems = done.problems() + ([f"exit {done.code}: {done.stderr}"] if done.code else [])
        self.tally.add(f"{name}: runs", problems)
        return done

    def sheet(self, name, folder):
        """(counters_by_kernel, standard error)"""
        out = os.path.join(self.folder, name, "out")
        done = self.run(name, "rocprof", folder, "--output_csvs_dir", out)
        path = os.path.join(out, "counters_by_kernel.csv")
        return (harness.read_csv(path) if os.path.exists(path) else ([], [])), done.stderr

    def compare(self, name, got, expected, columns=0):
        """`columns`: those before the kernel's name."""
        heads, rows = got
        counters = sorted({counter for _, means in expected.values() for counter in means})
        problems = [] if heads[columns + 1:] == ["Count", *counters] else [f"columns {heads}"]
        found = {row[columns]: row[columns + 1:] for row in rows}
        if sorted(found) != sorted(expected):
            problems.append(f"kernels {sorted(found)}, expected {sorted(expected)}")
        for kernel, (count, means) in ({} if problems else expected).items():
            if int(found[kernel][0]) != count:
                problems.append(f"{kernel}: Count {found[kernel][0]}, expected {count}")
            for counter, cell in zip(counters, found[kernel][1:]):
                value = means.get(counter)
                right = cell == "" if value is None else abs(float(cell) - float(value)) <= 1e-12 * float(value)
                if not right:
                    problems.append(f"{kernel}, {counter}: {cell}, expected {value and float(value)}")
        self.tally.add(name, problems[:5])

    def check(self, name, kind, warnings=(), by_order=False, traces=True, **about):
        if not self.wants(name):
            return
        folder, passes = self.make(name, kind, traces, **about)
        got, stderr = self.sheet(name, folder)
        self.compare(f"{name}: counters_by_kernel", got,
                     raw_counters.sheet(folder, passes.ranks, SHORT_NAMES, by_order))
        lines = [line for line in stderr.splitlines() if "counter pass" in line]
        missing = [f"no warning {text!r}" for text in warnings if not any(text in line for line in lines)]
        other = [f"warning {line!r}" for line in lines if not any(text in line for text in warnings)]
        self.tally.add(f"{name}: warnings", missing + other)


def check_sizes(t):
    """1 to 8 processes, each with a GPU of its own, and 1 to 4 passes; some counters in one pass, one in all."""
    for kind in FORMATS:
        for ranks, passes in ((1, 1), (1, 2), (1, 4), (2, 2), (2, 3), (3, 4), (8, 1), (8, 2), (8, 3)):
            t.check(f"{kind} {ranks} processes {passes} passes", kind, ranks=ranks, passes=passes)
        t.check(f"{kind} other kernels per process", kind, ranks=4, passes=2, other_kernels=True)
        if kind in ("csv", "json"):
            t.check(f"{kind} counters alone", kind, ranks=8, passes=3, traces=False)


def check_doubtful(t):
    """What cannot be matched for certain is said in one sentence per pass, and no counter is multiplied."""
    for kind in FORMATS:
        t.check(f"{kind} one GPU", kind, ranks=4, passes=2, same_gpu=True,
                warnings=["pass 2: 4 of 4 processes cannot be told apart"])
        t.check(f"{kind} one GPU, other kernels", kind, ranks=4, passes=2, same_gpu=True, other_kernels=True)
        t.check(f"{kind} a pass lacks a process", kind, ranks=4, passes=3, without={(2, 1)},
                warnings=["pass 2: no counters of 1 of the 4 processes"])
        t.check(f"{kind} the first pass lacks a process", kind, ranks=4, passes=3, without={(1, 2)}, other_kernels=True,
                warnings=["pass 2: 1 of 4 processes are not in the first pass"])
        t.check(f"{kind} another order", kind, ranks=4, passes=2, shuffled={(2, 1), (2, 3)}, by_order=True,
                warnings=["pass 2: kernels of 2 processes ran in another order"])


def check_nan(t):
    """A value that is not a number is none: the mean is over the dispatches and passes that have one."""
    for kind in FORMATS:
        t.check(f"{kind} nan", kind, ranks=2, passes=1, nan={(1, 0, 0), (1, 5, 1), (1, 7, 0), (1, 7, 1)})
        t.check(f"{kind} nan in passes", kind, ranks=2, passes=3, nan={(1, 2, 1), (2, 3, 1), (3, 3, 0), (1, 4, 0), (3, 4, 1)})
    for text in ("nan", "-nan", "NaN", "-nan(ind)"):
        name = f"csv {text}"
        if not t.wants(name):
            continue
        folder, passes = t.make(name, "csv", ranks=1, passes=2, nan={(2, 3, 1), (1, 5, 0)})
        for root, _, files in os.walk(folder):
            for path in (os.path.join(root, file) for file in files if file.endswith("counter_collection.csv")):
                with open(path, encoding="utf-8") as file:
                    rows = file.read()
                with open(path, "w", encoding="utf-8") as file:
                    file.write(rows.replace(",nan,", f",{text},"))
        t.compare(f"{name}: counters_by_kernel", t.sheet(name, folder)[0],
                  raw_counters.sheet(folder, passes.ranks, SHORT_NAMES))


def check_filtered(t):
    """Counters of some kernels only: the others shift the dispatch ids, and may run on other GPUs."""
    counted = range(1, len(generate_run.KERNELS))
    for kind in FORMATS:
        for traces in (True, False) if kind in ("csv", "json") else (True,):
            name = f"{kind} filter{'' if traces else ' without trace'}"
            for ranks in (1, 3):
                t.check(f"{name}, {ranks} processes", kind, ranks=ranks, passes=3, counted=counted, traces=traces)
                t.check(f"{name}, {ranks} processes, shifted", kind, ranks=ranks, passes=2, counted=counted, shifted={2},
                        by_order=True, traces=traces, warnings=["matched per kernel name"])
            t.check(f"{name}, one GPU, shifted", kind, ranks=3, passes=2, counted=counted, shifted={2}, by_order=True,
                    same_gpu=True, other_kernels=True, traces=traces,
                    warnings=["matched per kernel name"])
            t.check(f"{name}, second GPU, shifted", kind, ranks=3, passes=2, counted=counted, shifted={2}, second_gpu=True,
                    by_order=True, traces=traces, warnings=["matched per kernel name"])
            t.check(f"{name}, one kernel, shifted", kind, ranks=3, passes=3, counted={1}, shifted={2}, dispatches=24, by_order=True,
                    traces=traces, warnings=["matched per kernel name"])
        t.check(f"{kind} each pass lacks another process", kind, ranks=2, passes=2, without={(1, 1), (2, 0)}, other_kernels=True,
                warnings=["1 of 1 processes are not in the first pass", "no counters of 1 of the 1 processes"])


def check_flat(t):
    """Files in the folder of the pass itself: it is no host."""
    for kind in FORMATS:
        t.check(f"{kind} flat", kind, ranks=4, passes=2, flat=True)
        t.check(f"{kind} flat, another order", kind, ranks=4, passes=2, flat=True, shuffled={(2, 1), (2, 3)}, by_order=True,
                warnings=["pass 2: kernels of 2 processes ran in another order"])
        path = os.path.join(t.folder, f"{kind} flat", "out", "process_summary.csv")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            t.tally.add(f"{kind} flat: the pass is not the host", [text] if "pass_" in text else [])


def check_beside_trace(t):
    """A kernel trace next to the folders of the passes: its dispatches count once."""
    name = "beside"
    if not t.wants(name):
        return
    folder, passes = t.make(name, "csv", ranks=2, passes=2)
    for process in passes.runs[1][1]:
        generate_run.write_csv(process, os.path.join(folder, generate_run.HOST, str(process.pid + 90000)), only=("kernel_trace",))
    got, _ = t.sheet(name, folder)
    t.compare(f"{name}: counters_by_kernel", got, raw_counters.sheet(folder, passes.ranks, SHORT_NAMES))
    rows = harness.read_csv(os.path.join(t.folder, name, "out", "kernel_summary.csv"))[1]
    t.tally.add(f"{name}: dispatches", [] if sum(int(row[1]) for row in rows) == 24 else [f"{rows}"])


def check_user_names(t):
    """With prefixes that contain the rank, the file names match the processes, even on one GPU."""
    name = "prefixes"
    if not t.wants(name):
        return
    folder, passes = t.make(name, "csv", ranks=3, passes=2, same_gpu=True)
    for root, _, files in os.walk(folder):
        for file in files:
            pid, rest = file.split("_", 1)
            number = int(os.path.basename(os.path.dirname(root)).split("_")[1])
            os.rename(os.path.join(root, file), os.path.join(root, f"rank{passes.ranks[(number, int(pid))]}_{rest}"))
    got, stderr = t.sheet(name, folder)
    t.compare(f"{name}: counters_by_kernel", got, raw_counters.sheet(folder, passes.ranks, SHORT_NAMES))
    t.tally.add(f"{name}: no doubt", ["warning"] if "counter pass" in stderr else [])


def check_together(t):
    """JSON files with several processes: all are read, without an option, of one file or more, with or without passes."""
    for ranks, passes, per_file in ((6, 1, 3), (6, 2, 3), (3, 1, 3), (3, 2, 3), (5, 3, 2)):
        name = f"{ranks} processes, {per_file} per file, {passes} passes"
        if not t.wants(name):
            continue
        folder = os.path.join(t.folder, name, "run")
        made = generate_passes.Passes(ranks=ranks, passes=passes)
        made.write_together(folder, per_file)
        got, stderr = t.sheet(name, folder)
        t.compare(f"{name}: counters_by_kernel", got, raw_counters.sheet(folder, made.ranks, SHORT_NAMES))
        path = os.path.join(t.folder, name, "out", "process_summary.csv")
        rows = harness.read_csv(path)[1] if os.path.exists(path) else []
        t.tally.add(f"{name}: process_summary", [] if len(rows) == ranks else [f"{len(rows)} rows"])
        t.tally.add(f"{name}: no doubt", [stderr] if "counter pass" in stderr else [])


def check_unrecognised(t):
    """A file with a name of rocprofv3 but without its contents is named, and an error with --strict; other files are not."""
    header = b'"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Disp'
    cut = b'{\n  "rocprofiler-sdk'
    for file, data in (("200_results.json", b""), ("201_results.json", cut), ("202_results.db", b""), ("203_results.pftrace", b""),
                       ("204_kernel_trace.csv", header), ("205_counter_collection.csv", b"\0" * 300), ("results.json", cut),
                       ("206_results.json.gz", b"\x1f\x8b\x08"), ("rank0_kernel_stats.csv", b"")):
        name = f"unrecognised {file}"
        if not t.wants(name):
            continue
        folder, passes = t.make(name, "csv", ranks=2, passes=1)
        damaged = os.path.join(folder, "pass_1", generate_run.HOST, file)
        for other, text in ((damaged, data), (os.path.join(folder, "notes.json"), b"{}"), (os.path.join(folder, "list.csv"), b"")):
            with open(other, "wb") as out:
                out.write(text)
        got, stderr = t.sheet(name, folder)
        t.compare(f"{name}: the other files are read", got,
                  raw_counters.sheet(folder, passes.ranks, SHORT_NAMES, skip={damaged}))
        lines = [line for line in stderr.splitlines() if "not read" in line]
        right = len(lines) == 1 and damaged in lines[0] and "warning" in lines[0]
        t.tally.add(f"{name}: one warning", [] if right else [f"{stderr!r}"])
        done = harness.run([t.binary, "rocprof", folder, "--strict", "--output_csvs_dir", os.path.join(t.folder, name, "strict")])
        t.tally.add(f"{name}: an error with --strict",
                    done.problems() + ([] if done.code == 1 and damaged in done.stderr else [f"exit {done.code}: {done.stderr}"]))


def check_convert(t):
    """Converted to one file, the counters are still those of the right dispatches."""
    for to in ("pftrace", "db"):
        name = f"convert to {to}"
        if not t.wants(name):
            continue
        folder, passes = t.make(name, "json", ranks=4, passes=3, other_kernels=True)
        out = os.path.join(t.folder, name, f"all.{to}")
        t.run(name, "convert", folder, out)
        got, _ = t.sheet(name, out)
        t.compare(f"{name}: counters_by_kernel", got, raw_counters.sheet(folder, passes.ranks, SHORT_NAMES))


def check_sweep(t):
    name = "sweep"
    if not t.wants(name):
        return
    for kind in FORMATS:
        sweep = os.path.join(t.folder, name, kind)
        folder = os.path.join(sweep, "256thread", "nccl_28channels", "rocprof_traces")
        passes = generate_passes.Passes(ranks=8, passes=3)
        passes.write(folder, kind)
        t.run(f"{name} {kind}", "sweep", "counters", "--sweep-dir", sweep)
        t.compare(f"{name} {kind}: counters",
                  harness.read_csv(os.path.join(sweep, "tracelens_analysis", "counters_all_configs.csv")),
                  raw_counters.sheet(folder, passes.ranks, {long: long for long in SHORT_NAMES}), columns=5)


PARTS = (check_sizes, check_doubtful, check_nan, check_filtered, check_flat, check_beside_trace, check_user_names, check_together,
         check_unrecognised, check_convert, check_sweep)

if __name__ == "__main__":
    sys.exit(checks.run_parts(__doc__, PARTS, Test))
