"""Synthetic traces of inference servers, small enough to check by hand: annotated steps, launches, graphs, waits.

    trace = Trace(seed)
    with trace.step("step[DECODE bs=8]"):
        trace.launch("gemm", 30)                       # a launch and its kernel, microseconds
        trace.graph([("rms_norm_kernel", 5, [8, 1, 1]), ("nvjet_1", 20, None)])
    trace.write(path)

The host and the GPU have clocks of their own: a kernel runs after its launch and after the kernel before it. Times are integer
nanoseconds and are written as microseconds with three decimals.
"""
import contextlib
import json
import random

HOST, GPU = 100, 0


class Trace:
    def __init__(self, seed=0, latency_ns=4000):
        self.random = random.Random(seed)
        self.events, self.now, self.free, self.correlation, self.latency = [], 1_000_000, 0, 0, latency_ns
        self.thread = 101

    def event(self, category, name, start, end, pid=HOST, tid=None, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": self.thread if tid is None else tid,
                            "ts": start / 1000, "dur": (end - start) / 1000, "args": arguments})

    @contextlib.contextmanager
    def around(self, category, name, **arguments):
        start, thread = self.now, self.thread
        self.now += 500
        yield
        self.now += 500
        self.event(category, name, start, self.now, tid=thread, **arguments)

    def step(self, name):
        return self.around("user_annotation", name)

    def op(self, name, **arguments):
        return self.around("cpu_op", name, **arguments)

    @contextlib.contextmanager
    def on_thread(self, thread):
        before, self.thread = self.thread, thread
        yield
        self.thread = before

    def host(self, microseconds):
        self.now += round(1000 * microseconds)

    def call(self, name, microseconds=2.0):
        self.correlation += 1
        start = self.now
        self.now += round(1000 * microseconds)
        self.event("cuda_runtime", name, start, self.now, correlation=self.correlation)
        return start

    def run(self, category, name, microseconds, called, gap_ns=0, stream=7, correlation=None, **arguments):
        start = max(self.free + gap_ns, called + self.latency)
        self.free = start + round(1000 * microseconds)
        if correlation is None:
            correlation = self.correlation
        self.event(category, name, start, self.free, GPU, stream, correlation=correlation, stream=stream, device=0, **arguments)

    def launch(self, kernel, microseconds, grid=(1, 1, 1)):
        self.run("kernel", kernel, microseconds, self.call("cudaLaunchKernel"), grid=list(grid))

    def graph(self, kernels, gap_ns=0):
        called = self.call("cudaGraphLaunch", 8)
        for name, microseconds, grid in kernels:
            self.run("kernel", name, microseconds, called, gap_ns, **({"grid": list(grid)} if grid else {}))

    def read_back(self, microseconds=1.5, wait=True, call="cudaMemcpyAsync"):
        self.run("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", microseconds, self.call(call), bytes=64)
        if wait:
            self.wait()

    def wait(self, name="cudaStreamSynchronize"):
        start, self.now = self.now, max(self.now, self.free) + 3000
        self.correlation += 1
        self.event("cuda_runtime", name, start, self.now, correlation=self.correlation)

    def lonely(self, kernel, microseconds):
        """A kernel whose launch was not recorded."""
        self.run("kernel", kernel, microseconds, self.now, correlation=9_000_000 + len(self.events), grid=[1, 1, 1])

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": self.events}, file)


LAYER = (("rms_norm_kernel", 3), ("nvjet_tst_64x8", 9), ("flash_fwd_splitkv_kernel", 6), ("nvjet_tst_8x8", 5), ("silu_and_mul", 2))


def decode_graph(trace, padded, layers=2):
    """The kernels of a graph of this batch size, with durations that depend on it a little."""
    return [(name, base + padded / 8 + trace.random.randrange(20) / 10, (padded, 1, 1) if "norm" in name else (4, 1, 1))
            for _ in range(layers) for name, base in LAYER]


def eager_layers(trace, layers=2, scale=1.0):
    for _ in range(layers):
        for name, base in LAYER:
            with trace.op("aten::" + name):
                trace.launch(name, scale * base)


def server(seed, annotate, steps=30):
    """A server that prefills now and then and decodes in graphs; annotate(phase, requests, tokens, sk) names its steps."""
    trace = Trace(seed)
    choose, running, context = trace.random, 0, []
    for number in range(steps):
        trace.host(choose.choice((5, 5, 40, 300)))
        if not running or choose.random() < .2:
            length = choose.randrange(16, 200)
            running, context = running + 1, context + [length]
            with trace.step(annotate("prefill", 1, length, length)):
                eager_layers(trace, scale=length / 50)
                trace.read_back()
            continue
        context = [length + 1 for length in context]
        padded = 1 << (running - 1).bit_length()
        with trace.step(annotate("decode", running, running, sum(context))):
            trace.launch("copy_kernel", 1)
            trace.graph(decode_graph(trace, padded), gap_ns=choose.choice((0, 300, 6000)))
            trace.launch("ArgMaxOps", 2)
            trace.read_back()
        if choose.random() < .1:
            trace.lonely("Lonely", choose.randrange(1, 30))
        if number % 7 == 6:
            trace.launch("between_steps", choose.randrange(1, 8))
    return trace


def vllm(phase, requests, tokens, sk):
    return (f"execute_context_{requests}({tokens})_generation_0(0)" if phase == "prefill" else
            f"execute_context_0(0)_generation_{requests}({tokens})")


def vllm_detailed(phase, requests, tokens, sk):
    none, some = "0(sq0sk0sqsq0sqsk0)", f"{requests}(sq{tokens}sk{sk}sqsq1sqsk1)"
    return f"execute_{tokens}_context_{some if phase == 'prefill' else none}_generation_{none if phase == 'prefill' else some}"


def sglang(phase, requests, tokens, sk):
    return f"step[EXTEND bs={requests} toks={tokens}]" if phase == "prefill" else f"step[DECODE bs={requests}]"
