#!/usr/bin/env python3
"""serving_rank_steps of folders of ranks: tensor-, expert- and data-parallel servers that are simulated, with times known by construction.

    python3 -m tests.serving.test_ranks --bin build/gputally [--only TEXT]
"""
import csv
import json
import os
import random
import sys

from tests.common import harness
from tests.serving.generate import Trace

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
CUSTOM = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals)"
DISPATCH, COMBINE = "void deep_ep::internode_ll::dispatch<true, 7168>(void*)", "void deep_ep::internode_ll::combine<7168>(void*)"
EXPERTS = "fused_moe_kernel"


class Rank:
    """A rank being recorded: its GPU runs its ops one after the other, and a collective ends on all ranks at the same time."""

    def __init__(self, number, count):
        self.trace, self.number, self.count = Trace(number, latency_ns=0), number, count

    def collective(self, name, arrival, end):
        """From its arrival to the common end. NCCL's kernels say what they are."""
        extra = {}
        if name.startswith("nccl"):
            extra = {"Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096, "dtype": "BFloat16",
                     "Group size": self.count,
                     "Process Group Name": "tp", "Process Group Description": "tp", "Process Group Ranks": str(list(range(self.count)))}
        called = self.trace.call("cudaLaunchKernel")
        self.trace.run("kernel", name, (end - arrival) / 1000, called, grid=[8, 1, 1], **extra)

    def work(self, kernel, microseconds):
        self.trace.launch(kernel, microseconds)

    def write(self, folder):
        with open(os.path.join(folder, f"rank{self.number}.json"), "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.number, "world_size": self.count},
                       "traceEvents": self.trace.events}, file)


def together(ranks, name, transfer_us=10):
    """A collective of these ranks; the waiting of each, in microseconds."""
    for rank in ranks:
        rank.trace.now = max(rank.trace.now, rank.trace.free)
    arrivals = [rank.trace.now for rank in ranks]
    end = max(arrivals) + transfer_us * 1000
    for rank, arrival in zip(ranks, arrivals):
        rank.trace.latency, rank.trace.free = 0, arrival
        rank.collective(name, arrival, end)
    return [(max(arrivals) - arrival) / 1000 for arrival in arrivals]


def annotation(requests, sk):
    return f"execute_{requests}_context_0(sq0sk0sqsq0sqsk0)_generation_{requests}(sq{requests}sk{sk}sqsq{requests}sqsk{sk})"


def simulate(folder, count, steps, name_of, groups, moe=False, collective=CUSTOM, slow=None, skip=None):
    """Runs `steps` on `count` ranks. name_of(rank, step): annotation. groups: sets of ranks with tensor parallelism. Returns
    {(step, rank): {column: microseconds}}."""
    choose, wanted = random.Random(7), {}
    ranks = [Rank(number, count) for number in range(count)]
    for step in range(steps):
        around = [rank.trace.step(name_of(rank.number, step)) for rank in ranks]
        for opened in around:
            opened.__enter__()
        row = [{"wait_us": 0.0, "dispatch_us": None, "combine_us": None, "experts_us": None} for _ in ranks]
        for _ in range(2):
            for rank in ranks:
                rank.work("nvjet_tst_64x8", 50 + choose.randrange(20) + (80 if rank.number == slow else 0))
            for group in groups:
                for number, waited in zip(group, together([ranks[number] for number in group], collective) if len(group) > 1 else ()):
                    row[number]["wait_us"] += waited
            if moe:
                for column, kernel in (("dispatch_us", DISPATCH), ("combine_us", COMBINE)):
                    for number, waited in enumerate(together(ranks, kernel, 20)):
                        row[number]["wait_us"] += waited
                        row[number][column] = (row[number][column] or 0) + waited + 20
                    if column == "dispatch_us":
                        for rank in ranks:
                            microseconds = 30 * (1 + rank.number)
                            rank.work(EXPERTS, microseconds)
                            row[rank.number]["experts_us"] = (row[rank.number]["experts_us"] or 0) + microseconds
        for opened in around:
            opened.__exit__(None, None, None)
        for rank in ranks:
            wanted[step, rank.number] = row[rank.number]
        for rank in ranks:
            if skip == (rank.number, step):
                rank.trace.events.clear()
    for rank in ranks:
        rank.write(folder)
    return wanted


def rows_of(binary, folder):
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "report", folder, "--output_csvs_dir", out])
    assert outcome.code == 0, outcome.stderr
    for place, _, names in os.walk(out):
        if "serving_rank_steps.csv" in names:
            with open(os.path.join(place, "serving_rank_steps.csv"), encoding="utf-8") as file:
                return list(csv.DictReader(file))
    return []


def differences(rows, wanted, peers):
    found = {(int(row["step"]), int(row["rank"])): row for row in rows}
    problems = [] if set(found) == set(wanted) else [f"rows {sorted(found)}"]
    for key, columns in wanted.items():
        row = found.get(key, {})
        for column, value in columns.items():
            cell = row.get(column, "")
            if (cell == "") != (value is None) or (value is not None and abs(float(cell) - value) > .01):
                problems.append(f"{column} of step and rank {key} is {cell!r}, not {value!r}")
        if row.get("peers") != str(peers):
            problems.append(f"{row.get('peers')} peers of {key}")
    return problems[:4]


def same(_, step):
    return annotation(8, 1000 + 8 * step)


def own(rank, step):
    return annotation(3 + rank, 100 * (1 + rank) + (3 + rank) * step)


def check_tensor(binary, folder, collective):
    """All ranks have the same steps; rank 1 is slow, so it never waits."""
    wanted = simulate(folder, 4, 6, same, [range(4)], collective=collective, slow=1)
    problems = differences(rows_of(binary, folder), wanted, 4)
    return problems + ([] if all(row["wait_us"] == 0 for (_, rank), row in wanted.items() if rank == 1) else ["rank 1 waits"])


def check_experts(binary, folder):
    """Ranks with steps of their own share dispatch and combine. The experts of rank 3 get four times the work of rank 0."""
    wanted = simulate(folder, 4, 6, own, [[0], [1], [2], [3]], moe=True)
    rows = rows_of(binary, folder)
    imbalance = {row["rank"]: float(row["imbalance"]) for row in rows}
    return differences(rows, wanted, 4) + ([] if imbalance == {"0": .4, "1": .8, "2": 1.2, "3": 1.6} else [str(imbalance)])


def check_both(binary, folder):
    """Two tensor-parallel groups of two ranks: nobody waits for the other group."""
    wanted = simulate(folder, 4, 6, lambda rank, step: own(rank // 2, step), [[0, 1], [2, 3]])
    return differences(rows_of(binary, folder), wanted, 2)


def check_data(binary, folder):
    """Ranks that share nothing have no report on all of them."""
    simulate(folder, 2, 6, own, [[0], [1]])
    return ["compared"] if rows_of(binary, folder) else []


def check_shifted(binary, folder):
    """The trace of rank 1 begins two steps later."""
    wanted = simulate(folder, 2, 8, same, [[0, 1]], skip=(1, 1))
    for step in range(2):
        wanted.pop((step, 1))
        wanted[step, 0] = {"wait_us": None}
    rows = rows_of(binary, folder)
    late = {key: row for key, row in wanted.items() if key[0] >= 2}
    first = [row for row in rows if int(row["step"]) < 2]
    return differences([row for row in rows if int(row["step"]) >= 2], late, 2) + \
        ([] if [(row["rank"], row["wait_us"], row["peers"]) for row in first] == [("0", "", "1")] * 2 else [str(first)])


def cases():
    yield harness.Case("tensor parallel, custom all-reduce", check_tensor, CUSTOM)
    yield harness.Case("tensor parallel, NCCL", check_tensor, ALL_REDUCE)
    yield harness.Case("expert parallel", check_experts)
    yield harness.Case("two tensor-parallel groups", check_both)
    yield harness.Case("data parallel", check_data)
    yield harness.Case("a rank that was recorded later", check_shifted)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], list(cases())))
