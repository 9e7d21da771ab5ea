"""Synthetic traces of a small inference server: eager, with CUDA graphs, and captures of the graphs.

The three have the same model, so the op of each replayed kernel is known: `forward` lists what one pass launches, and
`Trace.ops` has the op of each kernel that a graph replays.
"""
import json
import random
from typing import NamedTuple

NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>(int, float)"
REDUCE = "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(cublasLt::cublasSplitKParams<float>)"
SPLIT = "void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64> >(Flash_fwd_params)"
COMBINE = "void pytorch_flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64, 64> >(Flash_fwd_params)"
PROMPT = "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128> >(Flash_fwd_params)"
PUT = "void at::native::index_elementwise_kernel<128, 4, at::native::index_put_kernel_impl<int> >(long)"
SELECT = "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>()"
ARGMAX = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >(int)"


def pointwise(functor):
    return f"void at::native::vectorized_elementwise_kernel<4, at::native::{functor}, std::array<char*, 2ul> >(int)"


class Model(NamedTuple):
    layers: int = 4
    width: int = 512
    attention: bool = True


class Launch(NamedTuple):
    op: str
    module: str
    dims: list
    kernels: list  # (name, grid): those of one call of the op


def gemm(batch, width, tile):
    """Of small batches split, with a second kernel."""
    name = f"nvjet_hsh_{64 if batch <= 8 else 128}x{tile}_64x16_{1 + batch // 16}x1_h_bz_TNN"
    return [(name, [width // 64, 1, 1])] + ([(REDUCE, [batch, 1, 1])] if batch <= 8 else [])


def forward(model, batch, prompt=False):
    """What one pass launches, in order."""
    width = model.width
    two = [[batch, width], [width, width]]
    one = [[batch, width]]

    def mm(module, tile):
        return Launch("aten::mm", module, two, gemm(batch, width, tile))

    def simple(op, module, kernel):
        return Launch(op, module, one, [(kernel, [batch * width // 512, 1, 1])])

    def norm(module):
        return Launch("aten::_fused_rms_norm", module, one, [(NORM, [batch, 1, 1])])

    steps = [simple("aten::index_select", "Embedding_0", SELECT)]
    for i in range(model.layers):
        block = f"Block_{i}"
        steps += [norm(f"RMSNorm_{2 * i}"), mm(f"Linear_{4 * i}", 8),
                  simple("aten::mul", block, pointwise("BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >")),
                  simple("aten::_index_put_impl_", block, PUT)]
        if model.attention:
            kernels = [(PROMPT, [batch, 8, 1])] if prompt else [(SPLIT, [1, 8, batch]), (COMBINE, [batch, 1, 1])]
            steps.append(Launch("aten::_scaled_dot_product_flash_attention", f"Attention_{i}", one * 3, kernels))
        steps += [mm(f"Linear_{4 * i + 1}", 16), simple("aten::add", block, pointwise("CUDAFunctor_add<float>")),
                  norm(f"RMSNorm_{2 * i + 1}"), mm(f"Linear_{4 * i + 2}", 24),
                  simple("aten::silu", "SiLU_0", pointwise("(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)")),
                  mm(f"Linear_{4 * i + 3}", 32), simple("aten::add", block, pointwise("CUDAFunctor_add<float>"))]
    steps += [norm("RMSNorm_99"), mm("Linear_99", 48)]
    if not prompt:
        steps.append(simple("aten::ge", "", pointwise("CompareFunctor<float>")))
    return steps + [simple("aten::argmax", "", ARGMAX)]


class Trace:
    """A trace being recorded. Times are nanoseconds."""

    def __init__(self, seed=1, names_in_calls=False):
        self.events, self.random = [], random.Random(seed)
        self.host, self.gpu, self.correlation = 1000000, 1000000, 100
        self.names_in_calls = names_in_calls  # as on ROCm: calls of captures name their kernels
        self.ops = []  # (op, ns) of replayed kernels

    def add(self, category, name, start, end, thread=1, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 1 if thread == 1 else 0, "tid": thread,
                            "ts": start / 1000, "dur": (end - start) / 1000, "args": arguments})

    def run(self, kernel, grid, kind="kernel"):
        """Something runs on the GPU after its call, which has begun."""
        took = self.random.randrange(1500, 9000)
        start = max(self.gpu + 300, self.host)
        self.gpu = start + took
        self.add(kind, kernel, start, self.gpu, 7, stream=7, correlation=self.correlation, device=0,
                 **({"grid": grid} if kind == "kernel" else {"bytes": 64}))
        return took

    def call(self, name, ns=2000, **arguments):
        start = self.host
        self.host += ns
        self.add("cuda_runtime", name, start, self.host, correlation=self.correlation, **arguments)

    def launch(self, item, captured):
        """An op with its calls, in its module."""
        begin = self.host
        self.host += 1000
        for kernel, grid in item.kernels:
            self.correlation += 1
            if not captured:
                self.run(kernel, grid)
            self.call("cudaLaunchKernel", **({"kernel": kernel} if captured and self.names_in_calls else {}))
        self.add("cpu_op", item.op, begin + 500, self.host, **{"Input Dims": item.dims, "Input type": ["c10::BFloat16"] * len(item.dims)})
        if item.module:
            self.add("python_function", f"nn.Module: {item.module}", begin + 200, self.host + 100)
        self.host += 500

    def copy(self, name):
        begin = self.host
        self.correlation += 1
        self.run(name, None, "gpu_memcpy")
        self.host += 500
        self.call("cudaMemcpyAsync")
        self.add("cpu_op", "aten::copy_", begin + 100, self.host + 100, **{"Input Dims": [[8], [8]]})
        self.host += 500

    def step(self, name, launches, graph=None):
        """An annotated step: eager, or with a copy of its inputs and then a graph of these launches."""
        begin = self.host
        self.host += 500
        if graph is None:
            for item in launches:
                self.launch(item, False)
        else:
            self.copy("Memcpy HtoD (Pageable -> Device)")
            self.correlation += 1
            for item in launches:
                for kernel, grid in item.kernels:
                    self.ops.append((item.op, self.run(kernel, grid)))
            self.call("cudaGraphLaunch", 9000)
        self.copy("Memcpy DtoH (Device -> Pageable)")
        self.host = max(self.host, self.gpu)
        self.add("user_annotation", name, begin, self.host + 500)
        self.host += 30000

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9,
                       "computeMinor": 0}], "traceEvents": self.events}, file)
        return path


def serve(path, model, batches, graphs, prompts=(24, 40, 24), seed=1):
    """Prompts, then decode steps of these batches, each three times. Returns the trace."""
    trace = Trace(seed)
    for tokens in prompts:
        trace.step(f"execute_context_1({tokens})_generation_0(0)", forward(model, tokens, True))
    for batch in [batch for batch in batches for _ in range(3)]:
        trace.step(f"execute_context_0(0)_generation_{batch}({batch})", forward(model, batch), graphs or None)
    trace.write(path)
    return trace


def capture(path, model, batch, names=False):
    trace = Trace(2, names)
    begin = trace.host
    trace.host += 1000
    trace.call("cudaStreamBeginCapture")
    for item in forward(model, batch):
        trace.launch(item, True)
    trace.call("cudaStreamEndCapture")
    trace.add("user_annotation", f"capture_{batch}_FULL", begin, trace.host + 1000)
    trace.write(path)
