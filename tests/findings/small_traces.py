"""Small synthetic PyTorch traces of a training loop, for the tests of findings.

A step loads data for DATA_US, then launches KERNELS kernels of KERNEL_US one after the other. Host and GPU are one thread and
one stream. GPU events come last in the file, as PyTorch writes them.
"""
import gzip
import json

DATA_US = 400.0
KERNELS = 20
KERNEL_US = 30.0
OP_US = 12.0  # one op with its launch on the host
STEP_US = 2000.0
START_US = 1000000.0
LOADER = "torch/utils/data/dataloader.py(700): __next__"


def host(category, name, start, duration, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": 100, "ts": start, "dur": duration, "args": args}


def kernel(start, duration, correlation, stream=7, device=0, name="ampere_bf16_gemm"):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": start, "dur": duration,
            "args": {"correlation": correlation, "stream": stream, "device": device}}


def step(number, correlation, kernels=KERNELS):
    """(host events, GPU events) of one step."""
    begin = START_US + number * STEP_US
    on_host = [host("user_annotation", f"ProfilerStep#{number}", begin, STEP_US - 100),
               host("python_function", "train.py(10): step", begin + 1, STEP_US - 110),
               host("python_function", LOADER, begin + 2, DATA_US)]
    on_gpu = []
    free = 0.0
    for i in range(kernels):
        at = begin + 10 + DATA_US + i * OP_US
        on_host.append(host("cpu_op", "aten::mm", at, OP_US - 1, **{"Input Dims": [[512, 512], [512, 512]],
                                                                   "Input type": ["c10::BFloat16", "c10::BFloat16"],
                                                                   "Input Strides": [[512, 1], [512, 1]], "External id": correlation}))
        on_host.append(host("cuda_runtime", "cudaLaunchKernel", at + 3, 4.0, correlation=correlation))
        free = max(at + 10, free + 1)
        on_gpu.append(kernel(free, KERNEL_US, correlation))
        free += KERNEL_US
        correlation += 1
    return on_host, on_gpu, correlation


def training(steps=5, device="NVIDIA H200"):
    on_host, on_gpu, correlation = [], [], 1
    for number in range(steps):
        more_host, more_gpu, correlation = step(number, correlation)
        on_host += more_host
        on_gpu += more_gpu
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device, "computeMajor": 9, "computeMinor": 0}],
            "traceEvents": on_host + on_gpu}


def write(path, trace):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8") as file:
        json.dump(trace, file)
    return path


def read(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rb") as file:
        return json.loads(file.read(), strict=False)
