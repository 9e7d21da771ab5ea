"""Synthetic traces of inference servers: steps with annotations, ops, graph launches, and kernels that run later.

A Server writes what vLLM, SGLang, ATOM and plain generation loops leave in a trace of torch.profiler. Kernels run after their
launch, often after the end of the annotation, and those of decode steps may be launched as one graph.
"""
import json
import random


class Server:
    def __init__(self, seed, pid=100, tid=101, device=0):
        self.random = random.Random(seed)
        self.pid, self.tid, self.device = pid, tid, device
        self.events, self.now, self.gpu_free, self.correlation = [], 1000.0, 5000.0, seed * 100000
        self.gpu_spans = []  # (first start, last end) per stream of the current step

    def add(self, category, name, start, duration, pid=None, tid=None, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "ts": round(start, 3), "dur": round(duration, 3),
                            "pid": self.pid if pid is None else pid, "tid": self.tid if tid is None else tid, "args": arguments})

    def kernel(self, name, duration, stream=7, linked=True):
        start = max(self.gpu_free, self.now + 5)
        self.gpu_free = start + duration + 0.5
        self.add("kernel", name, start, duration, self.device, stream, stream=stream, device=self.device,
                 **({"correlation": self.correlation} if linked else {}))
        self.gpu_spans.append((stream, start, start + duration))

    def launch(self, runtime, kernels, stream=7, tid=None):
        self.correlation += 1
        self.add("cuda_runtime", runtime, self.now, 2, tid=tid, correlation=self.correlation)
        if "Graph" not in runtime:
            for phase, pid, thread in (("s", self.pid, tid or self.tid), ("f", self.device, stream)):
                self.events.append({"ph": phase, "cat": "ac2g", "id": self.correlation, "name": "ac2g", "ts": self.now,
                                    "pid": pid, "tid": thread, "bp": "e"})
        for name, duration in kernels:
            self.kernel(name, duration, stream)
        self.now += 3

    def op(self, name, kernel, duration, dims=None, stream=7, tid=None, types=None, below=None, concrete=None):
        start = self.now
        self.now += 1
        if below:
            self.now += 1
        self.launch("cudaLaunchKernel", [(kernel, duration)], stream, tid)
        arguments = {}
        if dims is not None:
            strides = [[int(product_after(shape, i)) for i in range(len(shape))] for shape in dims]
            arguments = {"Input Dims": dims, "Input type": types or ["c10::BFloat16"] * len(dims), "Input Strides": strides,
                         "Concrete Inputs": concrete or [""] * len(dims)}
        if below:
            self.add("cpu_op", below, start + 0.5, self.now - start, tid=tid)
        self.now += 1
        self.add("cpu_op", name, start, self.now - start, tid=tid, **arguments)
        self.now += 1

    def duration(self, low=5, high=60):
        return round(self.random.uniform(low, high), 3)

    def layer(self, tokens, hidden=64, attention="attn::run", attention_kernel="attn_kernel"):
        self.op("aten::mm", "gemm_kernel_USL1", self.duration(), [[tokens, hidden], [hidden, 3 * hidden]])
        self.op(attention, attention_kernel, self.duration())
        self.op("aten::mm", "gemm_kernel_USL1", self.duration(), [[tokens, hidden], [hidden, hidden]])
        self.op("aten::add", "add_kernel", self.duration(1, 4), [[tokens, hidden], [tokens, hidden]])

    def step(self, annotation, body, host=True, gpu=False):
        """Runs body() in a step with this annotation; None: no annotation."""
        start, self.gpu_spans = self.now, []
        self.now += 2
        body()
        self.now += 1
        if annotation and host:
            self.add("user_annotation", annotation, start, self.now - start)
        if annotation and gpu:
            for stream in sorted({span[0] for span in self.gpu_spans}):
                spans = [span for span in self.gpu_spans if span[0] == stream]
                first, last = min(span[1] for span in spans), max(span[2] for span in spans)
                self.add("gpu_user_annotation", annotation, first, last - first, self.device, stream)
        self.now += self.random.choice((2, 50))

    def graph(self, kernels):
        self.launch("cudaGraphLaunch", [(f"graph_kernel_{i}", self.duration(2, 9)) for i in range(kernels)])

    def communicate(self):
        self.op("c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", self.duration(), stream=13)


def product_after(shape, index):
    product = 1
    for size in shape[index + 1:]:
        product *= size
    return product


def write(path, *servers, extra=()):
    events = [event for server in servers for event in server.events] + list(extra)
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events}, file)
    return events
