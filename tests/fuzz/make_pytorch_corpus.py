#!/usr/bin/env python3
"""Writes the seeds of the fuzz target of the PyTorch report: small traces, one feature each.

    python3 -m tests.fuzz.make_pytorch_corpus        writes tests/fuzz/corpus/pytorch/

The first two bytes of each seed choose options; see the target.
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ALL, PLAIN = b"\xff\x0f", b"\x00\x00"
BF = "c10::BFloat16"


def host(category, name, ts, dur, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": ts, "dur": dur, "args": args}


def op(name, ts, dur, dims=None, types=None, concrete=None, **more):
    args = dict(more.pop("args", {}))
    for key, value in (("Input Dims", dims), ("Input type", types), ("Concrete Inputs", concrete)):
        if value is not None:
            args[key] = value
    return host("cpu_op", name, ts, dur, **more, **args)


def launch(kernel, ts, kernel_ts, dur, link, stream=7, thread=1):
    return [host("cuda_runtime", "hipLaunchKernel", ts, 2, thread, correlation=link),
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": stream, "ts": kernel_ts, "dur": dur,
             "args": {"correlation": link, "stream": stream}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": link, "pid": 1, "tid": thread, "ts": ts},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": link, "pid": 0, "tid": stream, "ts": kernel_ts}]


def attention():
    args = {"Sequence number": 7}
    return [op("aten::_scaled_dot_product_flash_attention", 100, 50, [[2, 8, 16, 64]] * 3 + [[], []], [BF] * 3 + ["Scalar"] * 2,
               ["", "", "", "0.", "False"], args=args), *launch("fwd", 110, 200, 5, 1),
            op("autograd::engine::evaluate_function: A0", 300, 50, thread=2, args=args), op("A0", 305, 40, thread=2),
            *launch("bwd", 310, 400, 9, 2, thread=2)]


def gemms():
    return [op("aten::mm", 100, 50, [[4, 8], [8, 2]], [BF, BF]), *launch("Cijk_Ailk_Bljk_BBS", 110, 200, 5, 1),
            op("aten::mm", 160, 50, [[4, 8], [8, 2]], [BF, BF]), *launch("nvjet_tst_NNT", 170, 206, 5.5, 2),
            op("aten::addmm", 260, 50, [[2], [4, 8], [8, 2]], ["float"] * 3), *launch("ncclKernel", 270, 204, 5, 3, 8)]


def python():
    return [host("python_function", "train.py(1): main", 0, 1000), host("python_function", "nn.Module: Linear_3", 10, 500),
            op("aten::foo_1", 20, 50), *launch("k_1", 30, 100, 5, 1), *launch("k_2", 40, 110, 5, 2),
            host("python_function", "torch/utils/checkpoint.py(900): recompute_fn", 100, 100), op("aten::foo_1", 110, 50),
            *launch("k_1", 120, 200, 5, 3)]


def experts():
    return [op("vllm::moe_forward", 0, 100, [[32, 64], [32, 8]], [BF, BF]), op("TopK", 5, 5, concrete=["", "4"]),
            *launch("matmul_ogs_mxfp4_swiglu", 20, 200, 5, 1), *launch("matmul_ogs_fp8", 30, 210, 5, 2),
            *launch("matmul_scatter", 40, 220, 5, 3),
            op("vllm::outplace_fused_experts", 300, 100, [[16, 64], [8, 256, 32], [8, 64, 64], [16, 2], [16, 2]], [BF]),
            *launch("fused_moe_kernel_gptq_awq", 310, 400, 5, 4), *launch("fused_moe_kernel_gptq_awq", 320, 410, 5, 5)]


def functions():
    return [op("aiter::fused_moe_", 0, 100, [[1]]), host("python_function", "a.py(1): flydsl_moe_stage1", 10, 20),
            *launch("s1", 15, 500, 5, 1), host("python_function", "aiter/mla.py(2): mla_decode_fwd", 200, 50),
            op("aiter::mla_decode_stage1_asm_fwd", 205, 20, [[8, 16, 64], [8, 1, 64]], [BF, BF]), *launch("s2", 210, 520, 5, 2),
            op("aiter::v4_attention_with_output", 300, 90, [[64]]), *launch("qk_norm_rope_H32_D512_RD64", 305, 540, 5, 3),
            host("python_function", "a/paged_decode.py(7): sparse_attn_v4_paged_decode", 320, 50), *launch("d", 330, 550, 5, 4)]


def mixture():
    return [{"ph": "X", "cat": "user_annotation", "name": "execute_1_context_1(sq8sk9sqsq64sqsk72)_generation_1(sq1sk9sqsq1sqsk9)",
             "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
            op("vllm::unified_attention_with_output", 10, 50, [[9, 8, 64], [9, 2, 64]], [BF, BF]), *launch("a", 20, 100, 5, 1),
            op("triton_poi_fused_add_mul_0", 100, 20, [[64], [64], []], [BF, BF, "Scalar"], ["", "", "64"]),
            *launch("triton_poi_fused_add_mul_0", 110, 120, 5, 2),
            host("cuda_runtime", "hipGraphLaunch", 200, 5, correlation=9),
            {"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "tid": 7, "ts": 300, "dur": 5, "args": {"correlation": 9, "stream": 7}},
            op("sglang_profiler::fp8_utils_gemm_a8w8_blockscale_17", 400, 20), *launch("x", 405, 500, 5, 3),
            op("aten::sum", 450, 20, [[8, 8], [1]], ["float", ""], ["", "[1]"]), *launch("reduce_kernel", 455, 505.5, 4, 4, 8)]


def deep():
    """So many products below each other that the busy times of their kernels are found by a sweep."""
    return [op("aten::mm", i, 400 - 2 * i, [[4, 8], [8, 2]], [BF, BF]) for i in range(70)] + \
        [event for i in range(3) for event in launch("k", 100 + 5 * i, 200 + 10 * i, (15, 5.5)[i % 2], i + 1)]


def main():
    folder = os.path.join(HERE, "corpus", "pytorch")
    os.makedirs(folder, exist_ok=True)
    for make in (attention, gemms, python, experts, functions, mixture, deep):
        for suffix, option in (("", PLAIN), ("_all", ALL))[make is deep:]:
            with open(os.path.join(folder, make.__name__ + suffix), "wb") as f:
                f.write(option + json.dumps(make(), separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
