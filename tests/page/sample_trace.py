"""A synthetic training loop for sample.py: host threads and GPU streams with times, the same for the same seed.

Five steps of a small transformer on two GPUs, one process each. The host of each process runs module by module: Python
function, op, launch. A kernel starts when it was launched and its stream is free. Before each step the GPU waits for the
data loader; gradients are summed on a stream of their own while the backward pass runs.
"""
import random
from typing import NamedTuple

US = 1000
STEPS = 5
SCALE = 0.3  # of computation: some stretches are limited by launches, some by the GPU
COMPUTE, COMMUNICATION, COPIES = 7, 20, 21  # numbers of the streams


class Kernel(NamedTuple):
    name: str
    short: str
    category: str
    us: float  # usual duration


class GpuEvent(NamedTuple):
    device: int
    stream: int
    start: int
    ns: int
    kernel: int  # of Trace.kernels
    call: int  # of Trace.calls; None: unknown
    launch: int
    thread: tuple  # of Trace.threads

    @property
    def begins(self):
        """Whether this is the first GPU work of its op's call: some ops have several kernels."""
        return self.start // US % 3 != 0


class HostEvent(NamedTuple):
    start: int
    ns: int
    depth: int
    name: str
    kind: str


GEMM_TEMPLATE = ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_{}_align8>"
                 "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_{}_align8::Params)")
ELEMENTWISE = ("void at::native::vectorized_elementwise_kernel<4, at::native::{}Functor<c10::BFloat16>, std::array<char*, 3ul> >"
               "(int, at::native::{}Functor<c10::BFloat16>, std::array<char*, 3ul>)")
KERNELS = {
    "gemm_nn": Kernel(GEMM_TEMPLATE.format("nn", "nn"), "cutlass::Kernel2", "GEMM", 180),
    "gemm_nt": Kernel(GEMM_TEMPLATE.format("nt", "nt"), "cutlass::Kernel2", "GEMM", 210),
    "gemm_tn": Kernel("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
                      "GEMM", 150),
    "flash": Kernel("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>, false, true>(pytorch_flash::Flash_fwd_params)",
                    "pytorch_flash::flash_fwd_kernel", "attention", 120),
    "flash_bwd": Kernel("void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, 8> >(pytorch_flash::Flash_bwd_params)",
                        "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel", "attention", 260),
    "conv": Kernel("cudnn::ops::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, false, true, (cudnnKernelDataType_t)0>",
                   "cudnn::ops::nchwToNhwcKernel", "convolution", 35),
    "norm": Kernel("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
                   "vectorized_layer_norm_kernel", "normalisation", 22),
    "norm_bwd": Kernel("void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float, false>(float const*)",
                       "layer_norm_grad_input_kernel_vectorized", "normalisation", 41),
    "gelu": Kernel(ELEMENTWISE.format("Gelu", "Gelu"), "vectorized_elementwise_kernel", "elementwise", 28),
    "add": Kernel(ELEMENTWISE.format("CUDAFunctor_add<c10::BFloat16>, Add", "Add"), "vectorized_elementwise_kernel", "elementwise", 9),
    "sum": Kernel("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<float> > >(at::native::ReduceOp<float>)",
                  "reduce_kernel", "reduction", 14),
    "adam": Kernel("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>, TensorListMetadata<4> >(TensorListMetadata<4>)",
                   "multi_tensor_apply_kernel", "optimizer", 95),
    "embedding": Kernel("void at::native::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>(at::cuda::detail::TensorInfo<long>)",
                        "indexSelectLargeIndex", "other", 18),
    "allreduce": Kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                        "communication", 340),
    "htod": Kernel("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)", "copy", 420),
    "dtoh": Kernel("Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pinned)", "copy", 3),
    "memset": Kernel("Memset (Device)", "Memset (Device)", "copy", 2),
}


class Call(NamedTuple):
    node: int
    op: str
    shapes: str
    python: str
    runtime: str


class Trace:
    """What the loop below fills. Nodes are (parent, kind, name)."""

    def __init__(self, seed, speed):
        self.random = random.Random(seed)
        self.speed = speed  # of GEMMs: a factor on their durations
        self.kernels = list(KERNELS.values())
        self.kernel_rows = {key: row for row, key in enumerate(KERNELS)}
        self.nodes, self.node_rows = [], {}
        self.calls, self.call_rows = [], {}
        self.gpu = []
        self.threads = {}  # (process, thread): list of HostEvent
        self.gaps = []  # (start of waiting, cause, site) on the host of GPU 0, by time
        self.steps = []  # (name, host start) of GPU 0
        self.copies = []  # (direction, kind, bytes, ns)

    def node(self, path):
        """The row of a path of (kind, name) pairs."""
        if path not in self.node_rows:
            parent = self.node(path[:-1]) if len(path) > 1 else None
            self.node_rows[path] = len(self.nodes)
            self.nodes.append((parent, *path[-1]))
        return self.node_rows[path]

    def call(self, node, op, shapes, python, runtime):
        call = Call(node, op, shapes.replace(",", ", ").replace(", )", ",)"), python, runtime)  # as Python prints tuples
        if call not in self.call_rows:
            self.call_rows[call] = len(self.calls)
            self.calls.append(call)
        return self.call_rows[call]


class Process:
    """One process with its GPU: the time of its host, and when its streams are free."""

    def __init__(self, trace, device):
        self.trace, self.device = trace, device
        self.pid = 12345 + device * 54
        self.now = 1_000_000 + device * 3_000
        self.free = {COMPUTE: 0, COMMUNICATION: 0, COPIES: 0}
        self.stack = []  # open (kind, name) of the running thread
        self.path = ()  # of nodes
        self.use_thread("main", self.pid)

    def use_thread(self, role, number):
        self.thread = (self.pid, number, role)
        self.events = self.trace.threads.setdefault(self.thread, [])

    def wait(self, us):
        self.now += int(us * US * self.trace.random.uniform(0.8, 1.3))

    def scope(self, kind, name, in_path=False):
        return Scope(self, kind, name, in_path)

    def launch(self, kernel, call, stream=COMPUTE, runtime="cudaLaunchKernel", after=0):
        trace = self.trace
        launch = self.now
        with self.scope("call", runtime):
            self.wait(4)
        usual = KERNELS[kernel].us * (SCALE if stream == COMPUTE else 1) * (trace.speed if KERNELS[kernel].category == "GEMM" else 1)
        ns = max(800, int(usual * US * trace.random.lognormvariate(0, 0.08)))
        start = max(self.free[stream] + trace.random.randint(600, 1400), launch + trace.random.randint(4000, 9000), after)
        self.free[stream] = start + ns
        trace.gpu.append(GpuEvent(self.device, stream, start, ns, trace.kernel_rows[kernel], call, launch, self.thread))
        return start + ns

    def op(self, name, kernels, shapes, python, inner=None, **options):
        """An op that launches kernels, the last one perhaps below another op."""
        end = 0
        with self.scope("op", name, True):
            self.wait(6)
            with self.scope("op", inner, True) if inner else self.scope(None, None):
                self.wait(3)
                runtime = options.get("runtime", "cudaLaunchKernel")
                call = self.trace.call(self.trace.node(self.path), inner or name, shapes, python, runtime)
                for kernel in kernels:
                    end = self.launch(kernel, call, **options)
                self.wait(2)
        return end


class Scope:
    def __init__(self, process, kind, name, in_path):
        self.process, self.kind, self.name, self.in_path = process, kind, name, in_path

    def __enter__(self):
        process = self.process
        if self.kind is None:
            return
        self.start, self.place = process.now, len(process.events)
        process.events.append(None)  # outer ones first
        process.stack.append(self)
        self.path = process.path
        if self.in_path:
            kind = "function" if self.kind == "python" else self.kind
            process.path += ((("module", self.name[11:]) if self.name.startswith("nn.Module: ") else (kind, self.name)),)

    def __exit__(self, *_):
        process = self.process
        if self.kind is None:
            return
        process.stack.pop()
        process.path = self.path
        process.now += 500
        process.events[self.place] = HostEvent(self.start, process.now - self.start, len(process.stack), self.name, self.kind)


def linear(process, shapes, python, kernel):
    with process.scope("python", "nn.Module: Linear_0", True):
        process.wait(5)
        process.op("aten::linear", [kernel], shapes, python, inner="aten::addmm")


def forward_block(process, layer):
    with process.scope("python", f"nn.Module: Block_{layer % 12}", True):
        process.op("aten::layer_norm", ["norm"], "((8,1024,768),(768,))", "model.py(31): forward", inner="aten::native_layer_norm")
        with process.scope("python", "nn.Module: Attention_0", True):
            linear(process, "((2304,),(8192,768),(768,2304))", "model.py(18): forward", "gemm_tn")
            process.op("aten::scaled_dot_product_attention", ["flash"], "((8,12,1024,64),(8,12,1024,64),(8,12,1024,64))",
                       "model.py(20): forward", inner="aten::_flash_attention_forward")
            linear(process, "((768,),(8192,768),(768,768))", "model.py(21): forward", "gemm_nn")
        process.op("aten::add", ["add"], "((8,1024,768),(8,1024,768),())", "model.py(33): forward")
        with process.scope("python", "nn.Module: MLP_0", True):
            linear(process, "((3072,),(8192,768),(768,3072))", "model.py(25): forward", "gemm_tn")
            process.op("aten::gelu", ["gelu"], "((8,1024,3072),)", "model.py(26): forward")
            linear(process, "((768,),(8192,3072),(3072,768))", "model.py(27): forward", "gemm_nn")


def backward_block(process, layer):
    with process.scope("op", "autograd::engine::evaluate_function: AddmmBackward0", True):
        for kernel, shapes in (("gemm_nt", "((8192,768),(768,3072))"), ("gemm_nn", "((3072,8192),(8192,768))")):
            process.op("AddmmBackward0", [kernel], shapes, None, inner="aten::mm")
        process.op("aten::sum", ["sum"], "((8192,3072),(),(),())", None)
    with process.scope("op", "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0", True):
        process.op("aten::_scaled_dot_product_flash_attention_backward", ["flash_bwd"], "((8,12,1024,64),(8,12,1024,64))", None)
    process.op("NativeLayerNormBackward0", ["norm_bwd"], "((8,1024,768),(8,1024,768),(768,))", None, inner="aten::native_layer_norm_backward")
    if layer % 2 == 0:
        with process.scope("op", "c10d::allreduce_", True):
            call = process.trace.call(process.trace.node(process.path), "c10d::allreduce_", "(((7087872,),),)", None, "cudaLaunchKernelExC")
            process.launch("allreduce", call, COMMUNICATION, runtime="cudaLaunchKernelExC", after=process.free[COMPUTE])


def run_step(process, step, layers):
    trace = process.trace
    begin = process.now
    stretch = 1.6 if step == 2 else 1.0  # one slow step
    with process.scope("annotation", f"ProfilerStep#{step + 3}"):
        with process.scope("python", "train.py(12): step", True):
            if process.device == 0:
                trace.gaps.append((process.now, "data", "train.py(44): __getitem__ -> sleep()"))
            with process.scope("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                process.wait(1800 * stretch * max(1, layers / 8))
            if process.device == 0:
                trace.steps.append((f"ProfilerStep#{step + 3}", begin))
                trace.gaps.append((process.now, "copy", "train.py(14): step -> cudaMemcpyAsync"))
            with process.scope("op", "aten::to", True):
                process.op("aten::copy_", ["htod"], "((8,3,512,512),(8,3,512,512),())", "train.py(14): step", stream=COPIES,
                           runtime="cudaMemcpyAsync")
            process.free[COMPUTE] = process.now = max(process.now, process.free[COPIES])
            if process.device == 0:
                trace.gaps.append((process.now, "launch", None))
            with process.scope("python", "nn.Module: Net_0", True):
                process.op("aten::embedding", ["embedding"], "((50304,768),(8,1024))", "model.py(40): forward", inner="aten::index_select")
                process.op("aten::conv2d", ["conv"], "((8,3,512,512),(768,3,16,16))", "model.py(41): forward", inner="aten::cudnn_convolution")
                for layer in range(layers):
                    forward_block(process, layer)
            if process.device == 0:
                trace.gaps.append((process.now, "sync", "train.py(17): step -> item()"))
            process.op("aten::item", ["dtoh"], "((),)", "train.py(17): step -> item()", inner="aten::_local_scalar_dense",
                       runtime="cudaMemcpyAsync")
            with process.scope("call", "cudaStreamSynchronize"):
                process.now = max(process.now, process.free[COMPUTE])
            if process.device == 0:
                trace.gaps.append((process.now, "launch", None))
            outer, path = process.stack, process.path
            process.stack, process.path = [], ()
            process.use_thread("autograd", process.pid + 7)
            for layer in reversed(range(layers)):
                backward_block(process, layer)
            process.use_thread("main", process.pid)
            process.stack, process.path = outer, path
            with process.scope("annotation", "Optimizer.step#AdamW.step", True):
                process.free[COMPUTE] = max(process.free[COMPUTE], process.free[COMMUNICATION])
                if process.device == 0:
                    trace.gaps.append((process.now, "device_wait", None))
                for _ in range(max(1, layers // 4)):
                    process.op("aten::_fused_adamw_", ["memset", "adam"], "(((768,3072),),((768,3072),))", "train.py(20): step")
                process.wait(40)
            with process.scope("call", "cudaDeviceSynchronize"):
                process.now = max(process.now, *process.free.values())


def make_trace(events, seed=1, speed=1.0):
    """About this number of GPU events."""
    layers = max(2, round((events / STEPS / 2 - 4) / 15))
    trace = Trace(seed, speed)
    for device in range(2):
        process = Process(trace, device)
        for step in range(STEPS):
            run_step(process, step, layers)
            loader = process.pid + 90
            process.trace.threads.setdefault((process.pid, loader, "pin_memory"), []).append(
                HostEvent(process.now - 3_000_000, 2_500_000, 0, "pin_memory.py(21): _pin_memory_loop", "python"))
    for events_of_thread in trace.threads.values():
        events_of_thread.sort(key=lambda event: (event.start, -event.ns))
    trace.gpu.sort(key=lambda event: (event.device, event.stream, event.start))
    return trace
