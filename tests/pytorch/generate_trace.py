#!/usr/bin/env python3
"""Generates PyTorch (Kineto) traces: training steps of an imaginary transformer, as long and as unusual as a test needs.

    python3 -m tests.pytorch.generate_trace OUT.json[.gz] [--events N] [--streams N] [--threads N] [--layers N] [--seed N]
                          [--times float|integer|mixed] [--layout kineto|dense|indented] [--shuffle_keys] [--array_root]
                          [--old_names] [--python_functions] [--graphs] [--collectives] [--no_shapes] [--odd_events]

The same options give the same bytes. A step is a forward pass on one thread, a backward pass on another, an optimizer,
copies, fills, and on request: Python frames with a recomputed layer, CUDA graphs, NCCL kernels. --old_names writes the names of
PyTorch 1.8 to 1.11. --odd_events adds events that a reader must ignore, and unusual launches. Events are joined from text, so a
million take seconds. Names and numbers are invented.
"""
import argparse
import gzip
import itertools
import json
import random
import sys
from typing import NamedTuple

HOST, GPU = 4100, 0  # processes
MAIN, BACKWARD = 4100, 4177  # threads
START_NS = 3_855_933_376_657_879

FLOW = {"new": "ac2g", "old": "async_cpu_to_gpu"}
OLD_CATEGORIES = {"cpu_op": "Operator", "cuda_runtime": "Runtime", "cuda_driver": "Runtime", "kernel": "Kernel",
                  "gpu_memcpy": "Memcpy", "gpu_memset": "Memset"}

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel"
ELEMENTWISE = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
               "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)")
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(float)"
ADAM = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "TensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4>>(float)")
KERNELS = {  # name, mean duration in ns
    "gemm": (GEMM, 21_400), "gemm_split": ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(Params)", 9_700),
    "attention": ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>(Flash_fwd_params)", 33_100),
    "attention_bwd": ("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<bf16>(Flash_bwd_params)", 71_900),
    "norm": ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(int, float)", 5_200),
    "norm_bwd": ("void at::native::(anonymous namespace)::layer_norm_grad_input_kernel<float>(float const*)", 7_700),
    "add": (ELEMENTWISE, 2_900), "mean": (REDUCE, 4_100), "adam": (ADAM, 48_000), "triton": ("triton_poi_fused_gelu_0", 3_300),
    "copy": ("Memcpy HtoD (Pinned -> Device)", 14_000), "fill": ("Memset (Device)", 1_100),
    "rocm_copy": ("__amd_rocclr_copyBuffer.kd", 6_000),
    "all_reduce": ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 95_000),
    "graph_a": ("graph_gemm_kernel", 8_800), "graph_b": ("graph_add_kernel", 2_200),
}
SHAPES = {  # Input Dims, Input type, Input Strides, Concrete Inputs
    "aten::addmm": ([[1024], [512, 512], [512, 1024], [], []], ["c10::BFloat16"] * 3 + ["Scalar"] * 2,
                    [[1], [512, 1], [1, 512], [], []], ["", "", "", "1", "1"]),
    "aten::mm": ([[512, 512], [512, 1024]], ["c10::BFloat16"] * 2, [[512, 1], [1, 512]], ["", ""]),
    "aten::_scaled_dot_product_flash_attention": ([[4, 8, 512, 64]] * 3 + [[], [], [], []], ["c10::BFloat16"] * 3 + ["Scalar"] * 4,
                                                  [[262144, 64, 512, 1]] * 3 + [[], [], [], []],
                                                  ["", "", "", "0.", "True", "False", ""]),
    "aten::native_layer_norm": ([[4, 512, 512], [], [512], [512], []], ["float", "ScalarList", "float", "float", "Scalar"],
                                [[262144, 512, 1], [], [1], [1], []], ["", "[512]", "", "", "1.0000000000000001e-05"]),
    "aten::add": ([[4, 512, 512], [4, 512, 512], []], ["c10::BFloat16", "c10::BFloat16", "Scalar"],
                  [[262144, 512, 1], [262144, 512, 1], []], ["", "", "1"]),
    "aten::mul": ([[4, 512, 512], [4, 512, 512]], ["c10::BFloat16"] * 2, [[262144, 512, 1]] * 2, ["", ""]),
    "aten::mean": ([[4, 512, 512], [], []], ["float", "Scalar", ""], [[262144, 512, 1], [], []], ["", "False", ""]),
    "aten::native_layer_norm_backward": ([[4, 512, 512], [4, 512, 512], [], [4, 512, 1], [4, 512, 1], [512], [512], []],
                                         ["float", "float", "ScalarList"] + ["float"] * 4 + [""],
                                         [[262144, 512, 1]] * 2 + [[], [512, 1, 1], [512, 1, 1], [1], [1], []],
                                         ["", "", "[512]", "", "", "", "", "[True, True, True]"]),
    "aten::copy_": ([[4, 512], [4, 512], []], ["long int", "long int", "Scalar"], [[512, 1], [512, 1], []], ["", "", "True"]),
}
ANY_SHAPE = ([[4, 512]], ["float"], [[512, 1]], [""])
ARGUMENTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")


class Options(NamedTuple):
    events: int = 5000  # at least this many
    streams: int = 2
    threads: int = 2  # with their own forward passes
    layers: int = 3
    seed: int = 1
    times: str = "float"
    layout: str = "kineto"
    shuffle_keys: bool = False
    array_root: bool = False
    old_names: bool = False
    python_functions: bool = False
    graphs: bool = False
    collectives: bool = False
    no_shapes: bool = False
    odd_events: bool = False


# ---- events as text ----


class Layout:
    """Joins keys and encoded values to an event, in one of the ways of writing JSON."""

    def __init__(self, options, rng):
        self.rng = rng if options.shuffle_keys else None
        self.orders = {}
        if options.layout == "dense":
            self.colon, self.event, self.args = ":", ("{", ",", "}"), ("{", ",", "}")
            self.between = ","
        elif options.layout == "indented":
            self.colon, self.event, self.args = ": ", ("{\n      ", ",\n      ", "\n    }"), ("{\n        ", ",\n        ", "\n      }")
            self.between = ",\n    "
        else:
            self.colon, self.event, self.args = ": ", ("{\n    ", ", ", "\n  }"), ("{\n      ", ", ", "\n    }")
            self.between = ",\n  "

    def join(self, marks, pairs):
        items = [f'"{key}"{self.colon}{value}' for key, value in pairs]
        if self.rng and len(items) > 1:
            orders = self.orders.setdefault(len(items), [self.rng.sample(range(len(items)), len(items)) for _ in range(4)])
            items = [items[i] for i in self.rng.choice(orders)]
        return marks[0] + marks[1].join(items) + marks[2]


class Writer:
    """Counts events, names them for the version of PyTorch, writes times."""

    def __init__(self, options, rng):
        self.options, self.layout = options, Layout(options, rng)
        self.texts, self.count, self.rng = [], 0, rng
        self.quoted = {}
        self.whole = options.times == "integer"

    def quote(self, text):
        if text not in self.quoted:
            self.quoted[text] = json.dumps(text)
        return self.quoted[text]

    def time(self, ns):
        if self.whole or (self.options.times == "mixed" and ns % 1000 == 0):
            return str(ns // 1000)
        return f"{ns // 1000}.{ns % 1000:03d}"

    def slot(self):
        """Reserves the position in the file of an event whose duration is not known yet."""
        self.texts.append(None)
        self.count += 1
        return len(self.texts) - 1

    def put(self, pairs, slot=None):
        slot = self.slot() if slot is None else slot
        self.texts[slot] = self.layout.join(self.layout.event, pairs)

    def complete(self, category, name, pid, tid, start, dur, args, slot=None):
        if self.options.old_names:
            category = OLD_CATEGORIES.get(category, category)
        pairs = [("ph", '"X"'), ("cat", f'"{category}"'), ("name", self.quote(name)), ("pid", pid), ("tid", tid),
                 ("ts", self.time(start)), ("dur", self.time(dur))]
        if args is not None:
            pairs.append(("args", self.layout.join(self.layout.args, args)))
        self.put(pairs, slot)

    def metadata(self, name, pid, tid, key, value):
        self.put([("name", f'"{name}"'), ("ph", '"M"'), ("ts", self.time(START_NS)), ("pid", pid), ("tid", tid),
                  ("args", self.layout.join(self.layout.args, [(key, json.dumps(value))]))])

    def arrow(self, end, link, pid, tid, time, category=None):
        category = category or FLOW["old" if self.options.old_names else "new"]
        pairs = [("ph", f'"{end}"'), ("id", link), ("pid", pid), ("tid", tid), ("ts", self.time(time)),
                 ("cat", f'"{category}"'), ("name", f'"{category}"')]
        self.put(pairs + ([("bp", '"e"')] if end == "f" else []))


# ---- an imaginary model ----


class Machine:
    """Threads with clocks, streams that run one kernel after another."""

    def __init__(self, options):
        self.options = options
        self.rng = random.Random(options.seed)
        self.out = Writer(options, self.rng)
        self.clock = {}  # thread -> ns
        self.free = {}  # stream -> ns
        self.links, self.sequence = itertools.count(1000), itertools.count(1)
        self.externals = itertools.count(1)
        self.unit = 1000 if options.times == "integer" else 1  # times are multiples of this

    def ns(self, mean):
        """A duration near the mean; mixed times are whole microseconds half the time."""
        drawn = max(int(self.rng.gauss(mean, mean * 0.15)), 1)
        if self.options.times == "mixed" and self.rng.random() < 0.5:
            return max(drawn // 1000, 1) * 1000
        return max(drawn // self.unit, 1) * self.unit

    def tick(self, thread, mean=900):
        self.clock[thread] = self.clock.get(thread, START_NS // 1000 * 1000) + self.ns(mean)
        return self.clock[thread]

    def op(self, name, thread, body=(), category="cpu_op", sequence=None, args=None):
        """A host event around what the functions in `body` do on the same thread."""
        slot, start = self.out.slot(), self.tick(thread)
        for part in body:
            part()
        dur = self.tick(thread) - start
        self.out.complete(category, name, HOST, thread, start, dur, self.op_args(name, sequence) if args is None else args,
                          slot)

    def op_args(self, name, sequence):
        args = [("External id", next(self.externals))]
        if sequence is not None:
            args += [("Fwd thread id", 0), ("Sequence number", sequence)]
        if not self.options.no_shapes:
            shapes = SHAPES.get(name, ANY_SHAPE)
            args += [(key, self.out.quoted.setdefault(id(shape), json.dumps(shape)))
                     for key, shape in zip(ARGUMENTS, shapes)]
        return args

    def run(self, kernel, stream, category, link, after, more=()):
        """Adds a GPU event to a stream; returns its start."""
        name, mean = KERNELS[kernel]
        start = max(self.free.get(stream, 0), after + self.ns(3000))
        dur = self.ns(mean)
        self.free[stream] = start + dur
        args = [("External id", next(self.externals)), ("device", 0), ("stream", stream), ("correlation", link)]
        if category == "kernel":
            args += [("registers per thread", 64), ("grid", "[132, 1, 1]"), ("block", "[256, 1, 1]")]
        self.out.complete(category, name, GPU, stream, start, dur, args + list(more))
        return start

    def launch(self, thread, kernel, stream=7, category="kernel", call="cudaLaunchKernel", calls="cuda_runtime", more=()):
        link, start = next(self.links), self.tick(thread)
        dur = self.tick(thread, 4000) - start
        self.out.complete(calls, call, HOST, thread, start, dur, [("External id", link), ("cbid", 211), ("correlation", link)])
        began = self.run(kernel, stream, category, link, start + dur, more)
        self.out.arrow("s", link, HOST, thread, start)
        self.out.arrow("f", link, GPU, stream, began)

    # The operations of the model.

    def linear(self, thread, stream, sequence=None):
        self.op("aten::linear", thread, [lambda: self.op("aten::t", thread), lambda: self.op(
            "aten::addmm", thread, [lambda: self.launch(thread, "fill", stream, "gpu_memset", "cudaMemsetAsync"),
                                    lambda: self.launch(thread, "gemm", stream)], sequence=sequence)])

    def simple(self, thread, op, kernel, stream, sequence=None):
        self.op(op, thread, [lambda: self.launch(thread, kernel, stream)], sequence=sequence)

    def attention(self, thread, stream, sequence):
        self.op("aten::scaled_dot_product_attention", thread, [lambda: self.op(
            "aten::_scaled_dot_product_flash_attention", thread,
            [lambda: self.op("aten::_flash_attention_forward", thread, [lambda: self.launch(thread, "attention", stream)])],
            sequence=sequence)])

    def layer(self, number, thread, stream, sequences):
        body = [lambda: self.simple(thread, "aten::native_layer_norm", "norm", stream, sequences[0]),
                lambda: self.linear(thread, stream, sequences[1]), lambda: self.attention(thread, stream, sequences[2]),
                lambda: self.simple(thread, "aten::add", "add", stream, sequences[3]),
                lambda: self.op("triton_poi_fused_gelu_0", thread, [lambda: self.launch(
                    thread, "triton", stream, call="cuLaunchKernel", calls="cuda_driver")])]
        if not self.options.python_functions:
            for part in body:
                part()
            return
        frame = lambda name, inner: self.op(name, thread, inner, "python_function", args=[("Python id", number)])
        frame(f"nn.Module: Block_{number}", [lambda: frame(f"model.py({10 + number}): forward", body)])

    def backward(self, sequences, stream):
        backwards = [("AddBackward0", "aten::mul", "add"), ("ScaledDotProductFlashAttentionBackward0",
                     "aten::_scaled_dot_product_flash_attention_backward", "attention_bwd"), ("AddmmBackward0", "aten::mm",
                     "gemm_split"), ("NativeLayerNormBackward0", "aten::native_layer_norm_backward", "norm_bwd")]
        for sequence, (node, op, kernel) in zip(reversed(sequences), backwards):
            self.op(f"autograd::engine::evaluate_function: {node}", BACKWARD, [lambda: self.op(
                node, BACKWARD, [lambda: self.simple(BACKWARD, op, kernel, stream)], sequence=sequence)], sequence=sequence)

    def recompute(self, stream):
        frame = lambda name, inner: self.op(name, BACKWARD, inner, "python_function", args=[("Python id", 1)])
        frame("torch/utils/checkpoint.py(1120): unpack_hook", [lambda: frame(
            "torch/utils/checkpoint.py(1064): recompute_fn", [lambda: self.simple(BACKWARD, "aten::addmm", "gemm", stream),
                                                              lambda: self.simple(BACKWARD, "aten::add", "add", stream)])])

    def all_reduce(self, thread):
        size = self.rng.choice([1 << 20, 1 << 22])
        more = [("Collective name", '"allreduce"'), ("In msg nelems", size), ("Out msg nelems", size), ("Group size", 8),
                ("dtype", '"BFloat16"'), ("In split size", '"[]"'), ("Out split size", '"[]"'), ("Process Group Name", '"0"'),
                ("Process Group Description", '"default_pg"'), ("Process Group Ranks", '"[0, 1, 2, 3, 4, 5, 6, 7]"')]
        self.op("c10d::allreduce_", thread, [lambda: self.op("record_param_comms", thread, [lambda: self.launch(
            thread, "all_reduce", 20, call="cudaLaunchKernelExC", more=more)])])

    def graph(self, thread, stream):
        link, start = next(self.links), self.tick(thread)
        dur = self.tick(thread, 9000) - start
        self.out.complete("cuda_runtime", "cudaGraphLaunch", HOST, thread, start, dur, [("External id", link), ("correlation", link)])
        for i in range(6):
            self.run("graph_a" if i % 2 else "graph_b", stream + i % self.options.streams, "kernel", link, start + dur)

    def odd(self, thread, stream):
        """Events that a reader ignores, and launches of unusual kinds."""
        put, now = self.out.put, self.tick(thread)
        at = ("ts", self.out.time(now))
        put([("ph", '"i"'), ("name", '"Iteration Start"'), ("s", '"g"'), ("pid", HOST), ("tid", thread), at])
        put([("ph", '"C"'), ("name", '"memory"'), ("pid", HOST), ("tid", 0), at, ("args", '{"bytes": 1e9, "x": [1, {"y": null}]}')])
        put([("ph", '"X"'), ("name", '"no category"'), ("pid", '"Spans"'), ("tid", '"PyTorch Profiler"'), at, ("dur", 5), ("args", "{}")])
        put([("ph", '"X"'), ("cat", '"synthetic"'), ("name", '"caf\\u00e9 \\ud83d\\ude80 \\"q\\" \\\\n"'), ("pid", HOST), ("tid", thread), at,
             ("dur", "1e3"), ("args", "null")])
        put([("ph", '"M"'), ("name", '"thread_sort_index"'), ("pid", HOST), ("tid", thread), ("args", '{"sort_index": 7}')])
        put([("ph", '"s"'), ("cat", '"fwdbwd"'), ("name", '"fwdbwd"'), ("id", 1001), ("pid", HOST), ("tid", thread), at])
        put([("ph", '"X"'), ("cat", '"overhead"'), ("name", '"Buffer Flush"'), ("pid", -1), ("tid", 0), at, ("dur", 90)])
        put([("ph", '"X"'), ("cat", '"gpu_user_annotation"'), ("name", '"region"'), ("pid", GPU), ("tid", stream), at, ("dur", 50)])
        self.run("add", stream, "kernel", next(self.links), now)  # no flow event leads here
        self.out.complete("kernel", "no stream, no ids", GPU, stream, now, 0, None)  # and it takes no time
        self.op("aten::copy_", thread, [lambda: self.launch(thread, "rocm_copy", stream, call="hipMemcpyAsync")])
        outer = self.out.slot()
        began = self.tick(thread)
        self.launch(thread, "gemm", stream, call="cuLaunchKernelEx", calls="cuda_driver")  # inside another call
        self.out.complete("cuda_runtime", "cudaLaunchKernel", HOST, thread, began, self.tick(thread) - began,
                          [("correlation", next(self.links))], outer)
        self.op("conv_bn_fused", thread, [lambda: self.op("execute", thread, [lambda: self.launch(thread, "gemm", stream)])])
        self.outlasting(thread, stream)

    def outlasting(self, thread, stream):
        """An op that ends slightly or much later than its caller; and two that start together."""
        for more in (400, 1_000 * 30):
            inner, began = self.out.slot(), self.tick(thread)
            end = began + self.ns(20_000)
            self.out.complete("cpu_op", "aten::around", HOST, thread, began, end - began, [("External id", next(self.externals))], inner)
            late = end - 500 // self.unit * self.unit if more == 400 else end - 5_000
            self.out.complete("cpu_op", "aten::late", HOST, thread, late, more // self.unit * self.unit + 1000, [("External id", next(self.externals))])
            self.clock[thread] = late + 100 // self.unit * self.unit
            self.launch(thread, "add", stream)
            self.clock[thread] = end + more + 5_000 // self.unit * self.unit

    def step(self, number):
        options, main = self.options, MAIN
        whole = self.out.slot()
        began = self.tick(main)
        self.op("aten::to", main, [lambda: self.op("aten::copy_", main, [lambda: self.launch(
            main, "copy", 7, "gpu_memcpy", "cudaMemcpyAsync")])])
        layers = [[next(self.sequence) for _ in range(4)] for _ in range(options.layers)]
        for other in range(options.threads):
            thread = MAIN + other
            for i, sequences in enumerate(layers if other == 0 else layers[:1]):
                self.layer(i, thread, 7 + (i + other) % options.streams, sequences if other == 0 else [None] * 4)
        self.clock[BACKWARD] = max(self.clock.get(BACKWARD, 0), self.clock[main])
        for sequences in reversed(layers):
            self.backward(sequences, 7)
            if options.python_functions:
                self.recompute(7)
            if options.collectives:
                self.all_reduce(BACKWARD)
        self.clock[main] = max(self.clock[main], self.clock[BACKWARD])
        self.simple(main, "aten::mean", "mean", 7)
        if options.graphs:
            self.graph(main, 30)
        if options.odd_events:
            self.odd(main, 7)
        self.op("Optimizer.step#AdamW.step", main, [lambda: self.simple(main, "aten::_fused_adamw_", "adam", 7)], "user_annotation")
        self.out.complete("user_annotation", f"ProfilerStep#{number}", HOST, main, began, self.tick(main) - began,
                          [("External id", number)], whole)


def write_trace(path, options=Options()):
    """Writes the trace and returns its number of events."""
    machine = Machine(options)
    out, layout = machine.out, machine.out.layout
    opener = (lambda: gzip.open(path, "wt", encoding="utf-8", compresslevel=6)) if str(path).endswith(".gz") else (
        lambda: open(path, "w", encoding="utf-8"))
    for pid, name, label in ((HOST, "python", "CPU"), (GPU, "python", "GPU 0")):
        out.metadata("process_name", pid, 0, "name", name)
        out.metadata("process_labels", pid, 0, "labels", label)
    for thread in [MAIN + i for i in range(options.threads)] + [BACKWARD]:
        out.metadata("thread_name", HOST, thread, "name", f"thread {thread} (python)")
    with opener() as file:
        file.write("[" if options.array_root else '{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [')
        written, steps = False, 0
        while out.count < options.events or not steps:
            machine.step(steps)
            steps += 1
            file.write((layout.between if written else "") + layout.between.join(out.texts))
            out.texts, written = [], True
        file.write("]" if options.array_root else '], "traceName": "made-up.json"}')
    return out.count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path")
    for name, default in Options()._asdict().items():
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", action="store_true")
        else:
            choices = {"times": ("float", "integer", "mixed"), "layout": ("kineto", "dense", "indented")}.get(name)
            parser.add_argument(f"--{name}", type=type(default), default=default, choices=choices)
    options = vars(parser.parse_args())
    count = write_trace(options.pop("path"), Options(**options))
    print(f"{count} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
