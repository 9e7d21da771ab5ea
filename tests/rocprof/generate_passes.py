"""Writes counter passes as rocprofv3 does: the program runs once per pass, each time with other process ids.

    passes = generate_passes.Passes(ranks=8, passes=3)
    passes.write(folder, "csv")          # folder/pass_N/HOST/PID_..., in csv, json, rocpd or pftrace

`passes.ranks[(pass, pid)]` says which rank a process is; the files do not. Process ids are not in the order of the ranks, and
dispatch ids count from 1 in each process. JSON files number the GPUs from another offset in each process, as rocprofv3 does.
"""
import os
import random

from tests.rocprof import generate_run as maker

HOST = maker.HOST
EVERY_PASS = "GRBM_COUNT"  # collected in each pass
ORDER = ("SQ_WAVES", "SQ_BUSY_CU_CYCLES", "SQ_INSTS_VALU", "TCC_HIT")  # one per pass


class Passes:
    """`same_gpu`: all ranks use one GPU. `repeat`: EVERY_PASS is collected too. `without`: {(pass, rank)} that did not run.
    `shuffled`: {(pass, rank)} whose kernels run in another order. `other_kernels` makes ranks run other kernels.
    `nan`: {(pass, dispatch, counter's place)} whose last hardware instance has no number.
    `counted`: the places in KERNELS of the kernels that have counters; each process then runs kernel 0, which must not be one
    of them, once more: last, or first in the passes of `shifted`. `second_gpu`: kernels without counters run on another GPU.
    `flat`: the files are in the folder of the pass, not in one of the host."""

    def __init__(self, ranks=8, passes=3, dispatches=12, seed=3, same_gpu=False, repeat=True, without=(), shuffled=(),
                 other_kernels=False, nan=(), counted=None, shifted=(), second_gpu=False, flat=False):
        self.count, self.ranks, self.values = passes, {}, {}
        self.rank_count = ranks
        self.runs, self.counted, self.shifted, self.second_gpu, self.flat = {}, counted, shifted, second_gpu, flat
        for number in range(1, passes + 1):
            order = list(range(ranks))
            random.Random(seed + number).shuffle(order)
            if same_gpu:
                order.sort()
            pids = {rank: 4000 * number + 7 * place for place, rank in enumerate(order)}
            names = (ORDER[number - 1], EVERY_PASS) if repeat else (ORDER[number - 1],)
            run = []
            for rank in sorted(range(ranks), key=pids.get):
                if (number, rank) in without:
                    continue
                process = self.process(number, rank, pids[rank], dispatches, names, seed, 2 if same_gpu else 2 + rank,
                                       other_kernels, (number, rank) in shuffled)
                for _, dispatch, place in (item for item in nan if item[0] == number):
                    process.dispatches[dispatch].counters[place][-1] = float("nan")
                self.ranks[(number, process.pid)] = rank
                run.append(process)
            self.runs[number] = (names, run)
        self.gpus = tuple(range(2, 2 + ranks * (2 if second_gpu else 1)))

    def process(self, number, rank, pid, dispatches, names, seed, gpu, other_kernels, shuffled):
        rng = random.Random(f"{seed} {rank if other_kernels else 0} kernels")
        kernels = [rng.randrange(len(maker.KERNELS)) for _ in range(dispatches)]
        if shuffled:
            kernels.reverse()
        if self.counted:
            kernels = [0] + kernels if number in self.shifted else kernels + [0]
            dispatches += 1
        values = random.Random(f"{seed} {number} {rank} values")
        process = maker.make_process(random.Random(f"{seed} {rank}"), pid, dispatches, 10**12 * number, False, True)
        process.agents = tuple((node, "CPU" if node < 2 else "GPU", "demo") for node in range(2 + 8))
        with_counters = [not self.counted or kernel in self.counted for kernel in kernels]
        other_gpu = gpu + self.rank_count if self.second_gpu else gpu
        process.dispatches = [d._replace(kernel=kernels[i], agent=gpu if with_counters[i] else other_gpu, counters=tuple(
            [float(values.randrange(1, 5000)) for _ in range(maker.INSTANCES)] for _ in names if with_counters[i]))
            for i, d in enumerate(process.dispatches)]
        return process

    def write(self, folder, kind, traces=True):
        """`traces`: with a kernel trace; otherwise counters alone, if the format can do that."""
        kept = maker.COUNTERS, maker.GPUS
        maker.GPUS = self.gpus
        try:
            for number, (maker.COUNTERS, run) in self.runs.items():
                for process in run:
                    prefix = os.path.join(folder, f"pass_{number}", "" if self.flat else HOST, str(process.pid))
                    self.write_process(process, prefix, kind, traces)
        finally:
            maker.COUNTERS, maker.GPUS = kept

    def write_together(self, folder, per_file):
        """JSON files with several processes each."""
        kept = maker.COUNTERS, maker.GPUS
        maker.GPUS = self.gpus
        try:
            for number, (maker.COUNTERS, run) in self.runs.items():
                place = os.path.join(folder, f"pass_{number}", HOST)
                os.makedirs(place, exist_ok=True)
                for at in range(0, len(run), per_file):
                    documents = [maker.process_json(process) for process in run[at:at + per_file]]
                    for process, document in zip(run[at:], documents):
                        add_offset(document, 1000 + process.pid * 31 % 60000)
                    maker.write_document(documents, os.path.join(place, f"{run[at].pid}_results.json"))
        finally:
            maker.COUNTERS, maker.GPUS = kept

    def write_process(self, process, prefix, kind, traces):
        if kind == "csv":
            maker.write_csv(process, prefix,
                            only=("agent_info", "counter_collection") + (("kernel_trace",) if traces else ()))
        elif kind == "rocpd":
            maker.write_rocpd([process], prefix + "_results.db")
        elif kind == "pftrace":
            maker.write_pftrace(process, prefix + "_results.pftrace")
        else:
            document = maker.process_json(process)
            if not traces:
                document["buffer_records"]["kernel_dispatch"] = []
            add_offset(document, 1000 + process.pid * 31 % 60000)
            maker.write_document([document], prefix + "_results.json")


def add_offset(value, offset):
    """Adds an offset to the numbers of all agents."""
    if isinstance(value, list):
        for item in value:
            add_offset(item, offset)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key.endswith("agent_id"):
                item["handle"] += offset
            elif key == "agents":
                for agent in item:
                    agent["id"]["handle"] += offset
            else:
                add_offset(item, offset)
