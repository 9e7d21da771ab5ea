"""Programs of one host thread and one stream, simulated: the trace that PyTorch's profiler would write, and the step time.

The host is a clock. What a program does moves it on; a launch puts a kernel at the end of the stream, and a synchronisation
waits for the end of the stream. So the gain of a repair is known: the same program without the fault, simulated again.
"""
import contextlib

from tests.findings import small_traces

LAUNCH_US = 5.0  # a launching call
START_US = 6.0  # from a launch to the start of its kernel on an idle stream
GAP_US = 1.2  # between queued kernels
RETURN_US = 4.0  # from the end of the stream to the return of a synchronising call
EVENT_US = 0.3  # of the host before and after what is inside an event


class Program:
    def __init__(self):
        self.now = small_traces.START_US
        self.free = 0.0  # when the stream is
        self.on_host, self.on_gpu = [], []
        self.starts = []  # when the first kernel of each step starts
        self.correlation = 0

    def host(self, us):
        self.now += us

    @contextlib.contextmanager
    def event(self, category, name, **args):
        begin = self.now
        at = len(self.on_host)
        self.on_host.append(None)  # events around others come first
        self.now += EVENT_US
        yield
        self.now += EVENT_US
        self.on_host[at] = small_traces.host(category, name, begin, self.now - begin, **args)

    def function(self, name):
        return self.event("python_function", name)

    def op(self, name, *dims, kind="float"):
        args = {"Input Dims": list(dims), "Input type": [kind] * len(dims)} if dims else {}
        return self.event("cpu_op", name, **args)

    @contextlib.contextmanager
    def step(self, number):
        self.starts.append(None)
        with self.event("user_annotation", f"ProfilerStep#{number}"):
            yield

    def on_stream(self, event, us):
        """Puts work at the end of the stream; the present time is that of its call. Returns when it ends."""
        start = max(self.now + START_US, self.free + GAP_US)
        event.update(ts=start, dur=us)
        self.on_gpu.append(event)
        self.free = start + us
        if self.starts and self.starts[-1] is None:
            self.starts[-1] = start
        return self.free

    def call(self, name, end, **args):
        self.on_host.append(small_traces.host("cuda_runtime", name, self.now, end - self.now, **args))
        self.now = end

    def launch(self, us, name="ampere_bf16_gemm"):
        self.correlation += 1
        self.on_stream(small_traces.kernel(0, 0, self.correlation, name=name), us)
        self.call("cudaLaunchKernel", self.now + LAUNCH_US, correlation=self.correlation)

    def copy(self, kind, size, gb_per_s=6.0, blocks=True):
        self.correlation += 1
        event = small_traces.kernel(0, 0, self.correlation, name="Memcpy " + kind)
        event.update(cat="gpu_memcpy")
        event["args"].update({"bytes": size, "memory bandwidth (GB/s)": gb_per_s})
        end = self.on_stream(event, max(1.0, size / gb_per_s / 1e3))
        self.call("cudaMemcpyAsync", end + RETURN_US if blocks else self.now + LAUNCH_US, correlation=self.correlation)

    def synchronise(self):
        self.call("cudaStreamSynchronize", max(self.now + 3, self.free + RETURN_US))

    def matmul(self, us, host_us=12.0, size=1024):
        with self.op("aten::mm", [size, size], [size, size], kind="c10::BFloat16"):
            self.host(host_us / 2)
            self.launch(us)
            self.host(host_us / 2)

    def item(self):
        with self.op("aten::item", []), self.op("aten::_local_scalar_dense", []):
            self.host(4)
            self.copy("DtoH (Device -> Pageable)", 4, blocks=False)
            self.synchronise()

    def trace(self):
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0}],
                "traceEvents": self.on_host + self.on_gpu}

    def step_ms(self):
        """From the first kernel of the first step to that of the last, per step."""
        return (self.starts[-1] - self.starts[0]) / (len(self.starts) - 1) / 1e3
