#!/usr/bin/env python3
"""Ranks whose traces have different clocks: times in a PyTorch trace count from its baseTimeNanoseconds.

    python3 -m tests.collective.test_clocks --bin build/gputally

Each case makes ranks that start their collectives at known absolute times, writes them relative to the base of each rank,
and compares skew, waits and the straggler with those times.
"""
import json
import os
import sys
from fractions import Fraction

from tests.common.harness import Case, read_csv, run, run_cases

BASE = 1751410836000000000
SECOND = 1000000000
LATE_US = [0, 10, 30, 2]  # how much later than rank 0 a rank starts every collective: rank 2 is the straggler
COUNT, DUR_US, STEP_US = 3, 100, 1000


def write_rank(path, rank, base_ns, written_base="same", members_first=False, extra=(), count=COUNT):
    """base_ns: what the times count from; written_base: what the trace says, None for nothing."""
    events = []
    for number in range(count):
        absolute_ns = BASE + 7 * SECOND + (number * STEP_US + LATE_US[rank]) * 1000
        end_ns = BASE + 7 * SECOND + (number * STEP_US + max(LATE_US) + DUR_US) * 1000  # all leave together
        relative = Fraction(absolute_ns - base_ns, 1000)
        events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0, "tid": 7,
                       "ts": int(relative) if relative.denominator == 1 else float(relative),
                       "dur": (end_ns - absolute_ns) // 1000,
                       "args": {"correlation": number + 1, "stream": 7, "Collective name": "allreduce", "dtype": "BFloat16",
                                "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": 4,
                                "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"}})
    members = dict(extra)
    base = base_ns if written_base == "same" else written_base
    if base is not None:
        members["baseTimeNanoseconds"] = base
    trace = {**members, "traceEvents": events} if members_first else {"traceEvents": events, **members}
    with open(path, "w") as file:
        json.dump(trace, file)


def column(headings, row, name):
    return float(row[headings.index(name)])


def check_sheets(folder, sync_sheet, straggler_sheet, offsets_us):
    problems = []
    headings, rows = read_csv(os.path.join(folder, sync_sheet + ".csv"))
    if len(rows) != COUNT:
        return [f"{sync_sheet} has {len(rows)} rows"]
    for row in rows:
        found = [column(headings, row, name) for name in ("skew in start time", "skew in end time")]
        if any(abs(a - b) > 1e-3 for a, b in zip(found, (max(LATE_US), 0))):
            problems.append(f"{sync_sheet}: skew in start and end time {found} instead of {max(LATE_US)} and 0 µs")
    if straggler_sheet:
        headings, rows = read_csv(os.path.join(folder, straggler_sheet + ".csv"))
        if int(float(rows[0][headings.index("rank")])) != 2:
            problems.append(f"{straggler_sheet}: the straggler is rank {rows[0][headings.index('rank')]}")
    for name in ("nccl_long", "long"):
        if not os.path.exists(os.path.join(folder, name + ".csv")):
            continue
        headings, rows = read_csv(os.path.join(folder, name + ".csv"))
        if ("clock_offset_us" in headings) != any(offsets_us):
            problems.append(f"{name} has the columns {headings}")
        for row in rows if any(offsets_us) else []:
            if abs(column(headings, row, "clock_offset_us") - offsets_us[int(column(headings, row, "rank"))]) > 1e-3:
                problems.append(f"{name}: {row}")
    return problems[:4]


def of_ranks(binary, ranks, offsets_us, warning=None):
    """ranks: arguments of write_rank after the rank."""
    def check(folder):
        for rank, arguments in enumerate(ranks):
            write_rank(os.path.join(folder, f"rank{rank}_trace.json"), rank, **arguments)
        done = run([binary, "collective", "--trace_dir", ".", "--world_size", "4", "--quiet", "--output_csvs_dir", "out"],
                   cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        problems = check_sheets(os.path.join(folder, "out"), "nccl_implicit_sync", "straggler_summary", offsets_us)
        if (warning or "") not in done.stderr or ("baseTimeNanoseconds" in done.stderr) != bool(warning):
            problems.append(f"warnings: {done.stderr}")
        return problems
    return check


def of_terminal(binary):
    """Clocks that are wrong by more than the waits: the sheet has the times as they are, the terminal has them aligned."""
    def check(folder):
        for rank, ahead_us in enumerate((0, 2000, 0, -3000)):
            write_rank(os.path.join(folder, f"rank{rank}_trace.json"), rank, BASE - ahead_us * 1000, BASE, count=12)
        done = run([binary, "collective", "--trace_dir", ".", "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        headings, rows = read_csv(os.path.join(folder, "out", "straggler_summary.csv"))
        of_sheet = [int(float(row[headings.index("rank")])) for row in rows]
        lines = done.stdout.split("Ranks that the others wait for\n")[1].splitlines()[1:5]
        shown = [int(line.split()[0]) for line in lines]
        problems = [] if of_sheet == [1, 2, 0, 3] else [f"straggler_summary has the ranks {of_sheet}"]
        waits = [float(line.split()[3].replace(",", "")) for line in lines]
        if shown != [2, 1, 3, 0] or waits != [12 * (max(LATE_US) - LATE_US[rank]) for rank in shown]:
            problems.append(f"the terminal shows {lines}")
        return problems
    return check


def of_batch(binary, ranks, offsets_us):
    def check(folder):
        os.mkdir(os.path.join(folder, "run"))
        for rank, arguments in enumerate(ranks):
            write_rank(os.path.join(folder, "run", f"rank_{rank}.json"), rank, **arguments)
        done = run([binary, "batch", "-b", "run", "-f", "rank_", "--quiet", "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        found = os.path.join(folder, "out")
        if not os.path.exists(os.path.join(found, "nccl_implicit_sync_cat_detailed.csv")):
            return [f"files: {os.listdir(found)} {done.stderr}"]
        return check_sheets(found, "nccl_implicit_sync_cat_detailed", None, offsets_us)
    return check


def of_fuse(binary, ranks, arguments, aligned):
    def check(folder):
        for rank, of_rank in enumerate(ranks):
            write_rank(os.path.join(folder, f"rank{rank}_trace.json"), rank, **of_rank)
        done = run([binary, "fuse", "--trace_dir", ".", "--quiet", "--output", "fused.json", *arguments], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        with open(os.path.join(folder, "fused.json")) as file:
            events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        first = {e["args"]["rank"]: e["ts"] for e in reversed(events)}
        late = [round(first[rank] - first[0], 3) for rank in range(4)]
        problems = [] if (late == LATE_US) == aligned else [f"the ranks start at {late}"]
        if ("--align_times" in done.stderr) == aligned:
            problems.append(f"warnings: {done.stderr}")
        return problems
    return check


def cases(binary):
    same = [{"base_ns": BASE}] * 4
    apart = [{"base_ns": BASE}, {"base_ns": BASE - 5 * SECOND}, {"base_ns": BASE}, {"base_ns": BASE + 3 * SECOND}]
    offsets = [0, -5e6, 0, 3e6]
    yield Case("the same base", of_ranks(binary, same, [0] * 4))
    yield Case("no base", of_ranks(binary, [{"base_ns": BASE, "written_base": None}] * 4, [0] * 4))
    yield Case("bases 5 s apart", of_ranks(binary, apart, offsets))
    yield Case("base before the events", of_ranks(binary, [{**r, "members_first": True} for r in apart], offsets))
    yield Case("displayTimeUnit does not matter", of_ranks(
        binary, [{**r, "extra": {"displayTimeUnit": unit}} for r, unit in zip(apart, ("ms", "ns", "ms", "ns"))], offsets))
    odd = [{"base_ns": BASE + shift} for shift in (0, 1, 999, -5 * SECOND - 1)]
    yield Case("bases that are no whole microseconds apart", of_ranks(binary, odd, [0, 0.001, 0.999, -5e6 - 0.001]))
    far = [{"base_ns": BASE + 90 * 86400 * SECOND * rank} for rank in range(4)]
    yield Case("bases months apart", of_ranks(binary, far, [90 * 86400e6 * rank for rank in range(4)]))
    lost = [*apart[:3], {"base_ns": BASE, "written_base": None}]
    yield Case("one rank without a base", of_ranks(binary, lost, [0, -5e6, 0, 0], "rank 3"))
    yield Case("the first rank without a base", of_ranks(
        binary, [{"base_ns": BASE, "written_base": None}, {"base_ns": BASE}, {"base_ns": BASE + SECOND}, {"base_ns": BASE}],
        [0, 0, 1e6, 0], "rank 0"))
    # Before baseTimeNanoseconds, times counted from 1970: a base of 0. As doubles they are exact to 0.25 µs.
    old = [{"base_ns": BASE}, {"base_ns": 0, "written_base": None}, {"base_ns": BASE}, {"base_ns": BASE}]
    yield Case("one rank with times since 1970", of_ranks(binary, old, [0, -BASE / 1000, 0, 0]))
    yield Case("a base that is not a number", of_ranks(
        binary, [{"base_ns": BASE, "written_base": "soon"}, *same[1:]], [0] * 4, "rank 0"))
    yield Case("a base out of range", of_ranks(
        binary, [{"base_ns": BASE, "written_base": 1 << 80}, *same[1:]], [0] * 4, "rank 0"))
    yield Case("wrong clocks in the terminal", of_terminal(binary))
    yield Case("batch", of_batch(binary, apart, offsets))
    yield Case("fuse", of_fuse(binary, apart, [], False))
    yield Case("fuse aligned", of_fuse(binary, apart, ["--align_times"], True))
    yield Case("fuse with the same base", of_fuse(binary, same, [], True))


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
