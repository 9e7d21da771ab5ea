"""Traces of training runs, simulated, one per rank.

All ranks run the same program, which is a list of instructions (`data_parallel`, `tensor_parallel`, `sharded`):

    ("data", us)               the host loads data
    ("mm", us)                 a kernel of the compute stream, of the op aten::mm
    ("op", name, kernel, us, dims)
                               a kernel of another op, or of one whose shapes are recorded
    ("start", key, kind, group, bytes, needs)
                               a collective of the group's stream. It begins on a rank when the rank has launched it, its
                               stream is free and, with `needs`, all computation launched before it is done; it ends on all
                               ranks of the group when the last one has begun and the data has moved: the others spin
    ("wait", key)              later computation waits for the collective
    ("sync",)                  the host waits for the computation; a step ends

A fault is (kind, where, amount): ("op", rank, us) makes one kernel per step longer, ("data", rank, us) loading, ("gpu", rank,
percent) all kernels, ("host", rank, percent) launches, ("link", ranks of a group, percent) the collectives of that group."""
import json
import os
import random

BUS_GBPS = 200.0
LAUNCH_US, LATENCY_US = 8.0, 4.0
MIB = 1 << 20


def data_parallel(layers=4):
    """Each rank has all weights. The gradients of a layer are reduced over all ranks while the backward pass of the next
    one runs, and the optimizer needs all of them."""
    tokens, width, wide = 4096, 2048, 8192
    small, large, weights = [tokens, width], [tokens, wide], 2 * width * wide
    forward = [("op", "aten::layer_norm", "layer_norm_kernel", 40.0, [small]),
               ("op", "aten::addmm", "gemm_kernel_up", 420.0, [[wide], small, [width, wide]]),
               ("op", "aten::gelu", "gelu_kernel", 55.0, [large]),
               ("op", "aten::addmm", "gemm_kernel_down", 410.0, [[width], large, [wide, width]])]
    backward = [("op", "aten::mm", "gemm_kernel_back_down", 415.0, [small, [width, wide]]),
                ("op", "aten::gelu_backward", "gelu_backward_kernel", 60.0, [large, large]),
                ("op", "aten::mm", "gemm_kernel_back_up", 425.0, [large, [wide, width]]),
                ("op", "aten::native_layer_norm_backward", "layer_norm_backward_kernel", 70.0, [small, small])]
    program = [("data", 400.0)] + layers * forward
    for layer in range(layers):
        program += [*backward, ("start", f"g{layer}", "allreduce", "all", 2 * weights, True)]
    program += [("wait", f"g{layer}") for layer in range(layers)]
    return program + 3 * [("op", "aten::_fused_adamw_", "adam_kernel", 180.0, [[weights]])] + [("sync",)]


def tensor_parallel(layers=3, micro_steps=2):
    """Pairs share each layer and wait for each other after it; gradients of several micro-steps are reduced once per step,
    over the ranks with the same place in their pairs, while the rest of the backward pass runs."""
    program = [("data", 300.0)]
    for micro in range(micro_steps):
        for layer in range(layers):
            program += [("mm", 500.0), ("start", f"f{micro}.{layer}", "allreduce", "pair", 16 * MIB, True),
                        ("wait", f"f{micro}.{layer}")]
        for layer in range(layers):
            program += [("mm", 600.0), ("start", f"b{micro}.{layer}", "allreduce", "pair", 16 * MIB, True),
                        ("mm", 400.0), ("wait", f"b{micro}.{layer}")]
            if micro == micro_steps - 1:
                program += [("start", f"g{layer}", "allreduce", "same", 64 * MIB, True)]
    program += [("wait", f"g{layer}") for layer in range(layers)]
    return program + [("mm", 150.0), ("sync",)]


def sharded(layers=4):
    """Each rank holds a part of all weights: they are gathered one layer ahead, gradients are scattered after each layer."""
    program = [("data", 300.0), ("start", "w0", "allgather", "all", 64 * MIB, False)]
    for layer in range(layers):
        if layer + 1 < layers:
            program.append(("start", f"w{layer + 1}", "allgather", "all", 64 * MIB, False))
        program += [("wait", f"w{layer}"), ("mm", 700.0)]
    program.append(("start", f"v{layers - 1}", "allgather", "all", 64 * MIB, False))
    for layer in reversed(range(layers)):
        if layer:
            program.append(("start", f"v{layer - 1}", "allgather", "all", 64 * MIB, False))
        program += [("wait", f"v{layer}"), ("mm", 700.0), ("mm", 650.0),
                    ("start", f"s{layer}", "reducescatter", "all", 64 * MIB, True)]
    program += [("wait", f"s{layer}") for layer in range(layers)]
    return program + [("mm", 150.0), ("sync",)]


def groups_of(name, ranks):
    if name == "pair":
        return [[first, first + 1] for first in range(0, ranks, 2)]
    if name == "same":
        return [list(range(place, ranks, 2)) for place in range(2)]
    return [list(range(ranks))]


class Rank:
    def __init__(self, rank, rng, clock_us):
        self.rank, self.events, self.number = rank, [], 0
        self.shift = rng.uniform(-clock_us, clock_us)
        self.host = 1e6 + rng.uniform(0, 30)
        self.compute = 0.0
        self.streams, self.ends = {}, {}

    def add(self, category, name, start, dur, tid, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 9, "tid": tid,
                            "ts": round(start + self.shift, 3), "dur": round(dur, 3), "args": args})

    def launch(self, op, us, **args):
        self.number += 1
        start, ids = self.host, {"External id": self.number}
        self.add("cpu_op", op, start, us, 9, **ids, **args)
        self.add("cuda_runtime", "cudaLaunchKernel", start + 0.3 * us, 0.5 * us, 9, correlation=self.number, **ids)
        self.host += us
        return start + 0.3 * us + LATENCY_US

    def kernel(self, name, start, end, stream, **args):
        self.add("kernel", name, start, end - start, stream, **{"External id": self.number, "correlation": self.number,
                                                               "stream": stream, "device": 0}, **args)


class Run:
    def __init__(self, ranks, seed, clock_us, faults, bus_gbps):
        self.rng, self.faults, self.bus_gbps = random.Random(seed), faults, bus_gbps
        self.ranks = [Rank(rank, self.rng, clock_us) for rank in range(ranks)]

    def amount(self, kind, where):
        return sum(amount for fault, place, amount in self.faults if (fault, place) == (kind, where))

    def launch_us(self, x):
        return LAUNCH_US * self.rng.uniform(0.9, 1.1) * (1 + self.amount("host", x.rank) / 100)

    def compute(self, instruction, is_faulty):
        if instruction[0] == "mm":
            op, us, shapes = "aten::mm", instruction[1], {}
            kernel = "gemm_kernel" if us > 200 else "adam_kernel"
        else:
            _, op, kernel, us, dims = instruction
            shapes = {"Input Dims": dims, "Input type": ["c10::BFloat16"] * len(dims),
                      "Input Strides": [[*shape[1:], 1] for shape in dims], "Concrete Inputs": [""] * len(dims)}
        for x in self.ranks:
            start = max(x.compute, x.launch(op, self.launch_us(x), **shapes))
            dur = us * self.rng.uniform(0.99, 1.01) * (1 + self.amount("gpu", x.rank) / 100)
            x.compute = start + dur + (self.amount("op", x.rank) if is_faulty else 0)
            x.kernel(kernel, start, x.compute, 7)

    def communicate(self, key, kind, name, size, needs):
        stream = {"all": 20, "pair": 21, "same": 22}[name]
        for number, members in enumerate(groups_of(name, len(self.ranks))):
            part = (2 if kind == "allreduce" else 1) * (len(members) - 1) / len(members)
            transfer = part * size / self.bus_gbps / 1e3 * self.rng.uniform(0.99, 1.01) * (1 + self.amount("link", tuple(members)) / 100)
            elements, starts = size // 2, {}
            inner = elements // len(members)
            for rank in members:
                x = self.ranks[rank]
                ready = max(x.launch("record_param_comms", self.launch_us(x)), x.streams.get(stream, 0))
                starts[rank] = max(ready, x.compute) if needs else ready
            end = max(starts.values()) + transfer
            for rank, start in starts.items():
                x = self.ranks[rank]
                x.streams[stream] = x.ends[key] = end
                x.kernel(f"ncclDevKernel_{kind}", start, end, stream, **{
                    "Collective name": kind, "In msg nelems": inner if kind == "allgather" else elements,
                    "Out msg nelems": inner if kind == "reducescatter" else elements, "Group size": len(members),
                    "dtype": "BFloat16", "In split size": "[]", "Out split size": "[]",
                    "Process Group Name": f"{name}{number}", "Process Group Ranks": str(members)})

    def step(self, program, step):
        begins = [x.host for x in self.ranks]
        kernels = [place for place, instruction in enumerate(program) if instruction[0] == "mm" or instruction[1:2] == ("aten::mm",)]
        for place, instruction in enumerate(program):
            if instruction[0] == "data":
                for x in self.ranks:
                    us = instruction[1] + self.amount("data", x.rank)
                    x.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", x.host, us, 9)
                    x.host += us
            elif instruction[0] in ("mm", "op"):
                self.compute(instruction, place == kernels[len(kernels) // 2])
            elif instruction[0] == "start":
                self.communicate(*instruction[1:])
            elif instruction[0] == "wait":
                for x in self.ranks:
                    x.compute = max(x.compute, x.ends[instruction[1]])
            else:
                for x, begin in zip(self.ranks, begins):
                    end = max(x.host, x.compute) + 5
                    x.number += 1
                    x.add("cuda_runtime", "cudaStreamSynchronize", x.host, end - x.host, 9, correlation=x.number)
                    x.host = end
                    x.add("user_annotation", f"ProfilerStep#{step}", begin, x.host - begin, 9)


class Truth:
    """What is known about a run: the time of each step in ms, and by how many us the clock of each rank is shifted."""

    def __init__(self, ends, ranks):
        self.step_ms = [(end - begin) / 1e3 for begin, end in zip(ends, ends[1:])]
        self.shift_us = [x.shift for x in ranks]

    def window_ms(self):
        """The mean time of the steps in the window: from the beginning of the first step to that of the last one."""
        return sum(self.step_ms[:-1]) / len(self.step_ms[:-1])


def generate(folder, program, ranks=8, per_node=4, steps=4, seed=1, clock_us=0, faults=(), bus_gbps=BUS_GBPS, **more):
    """Writes the traces, with `more` members. The random numbers do not depend on faults."""
    os.makedirs(folder, exist_ok=True)
    run = Run(ranks, seed, clock_us, faults, bus_gbps)
    ends = [max(x.host for x in run.ranks)]
    for step in range(steps):
        run.step(program, step)
        ends.append(max(x.host for x in run.ranks))
    for x in run.ranks:
        with open(os.path.join(folder, f"rank{x.rank}_trace.json"), "w") as file:
            json.dump({"distributedInfo": {"rank": x.rank, "world_size": ranks}, "host_name": f"host{x.rank // per_node}", **more,
                       "traceEvents": x.events}, file)
    return Truth(ends, run.ranks)
