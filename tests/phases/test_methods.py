#!/usr/bin/env python3
"""Phases of inference: the sheets must agree with a reference model of the documented rules.

    python3 -m tests.phases.test_methods --bin build/gputally [--traces N] [--only TEXT]

The traces are the fixtures and synthetic ones whose names combine the keywords of the rules at random. Each is reported with
every method. The traces of the conformance folder, if available, are compared with known rows.
"""
import argparse
import glob
import json
import os
import random
import re
import sys
import tempfile
from fractions import Fraction

from tests.common import harness
from tests.pytorch import reference_sheets as pytorch_reference
from tests.pytorch import test_reports as pytorch_reports
from tests.pytorch import test_cases as cases

METHODS = ("hybrid", "kernel_names", "framework_apis", "attention_patterns", "operation_frequency", "gemm_params", "union")
SHEETS = {f"{kind}_summary_{phase}": kind for kind in ("ops", "kernel") for phase in ("prefill", "decode")}
pytorch_reports.SORTED = {  # the only sheets that are compared here
    sheet: (("name",), "total_direct_kernel_time_sum") if kind == "ops" else pytorch_reports.SORTED["kernel_summary"]
    for sheet, kind in SHEETS.items()}

# ---- phases by names ----

PREFILL_WORDS = ("prefill context prompt chunked_prefill batch_prefill context_attention prompt_attention context_phase initialization "
                 "first_token").split()
DECODE_WORDS = ("decode generation autoregressive batch_decode continuous_batch paged_attention kv_cache reshape_and_cache "
                "generation_phase incremental single_token _decode_ decode_kernel").split()
UNION_PREFILL = ("prefill chunked_prefill batch_prefill prefill_attention context_attention prompt_attention context_phase first_token "
                 "initialization prompt_processing").split()
UNION_DECODE = ("decode generation batch_decode continuous_batch paged_attention decode_attention generation_phase autoregressive "
                "incremental single_token next_token").split()
PAGED_DECODE = ("paged_attention.*decode|paged_attn_v2|kv_cache|reshape_and_cache|block_sparse_attention|page_attention|"
                "flash_attn.*decode|flash_decode|varlen.*decode")
PAGED_PREFILL = "paged_attention.*prefill|chunked_prefill|block_prefill|flash_attn.*prefill|flash_prefill|varlen.*prefill"
FAMILIES = (("vllm::", "paged_attention|reshape_and_cache|batch_decode", "decode|cache", "prefill"),
            ("sglang::", "radix_attention|prefix_cache|tree_attention", "decode|cache", "prefill"),
            ("tgi::", "continuous_batch|decode_kernel|token_generation", "decode|generation", "prefill|encode"),
            ("\0", "context_phase|generation_phase|mha_|mlp_", "generation|decode", "context|prefill"))


def either(decode, prefill):
    return "Decode" if decode else "Prefill" if prefill else "Mixed"


def by_lengths(text):
    found = [int(a or b or c) for a, b, c in re.findall(r"sl([0-9]+)|seqlen[_\s]?([0-9]+)|seq([0-9]+)", text)]
    found = [length for length in found if length]
    mean = Fraction(sum(found), len(found)) if found else 0
    return either(mean == 1, mean > 10)


def by_kernel_names(name, text):
    found = by_lengths(text)
    if found != "Mixed":
        return found
    prefill = any(word in text for word in PREFILL_WORDS)
    return either(not prefill and any(word in text for word in DECODE_WORDS), prefill)


def by_framework(name):
    for space, words, decode, prefill in FAMILIES:
        if space in name or re.search(words, name.lower()):
            return either(re.search(decode, name.lower()), re.search(prefill, name.lower()))
    return "Mixed"


def union_framework(name):
    for space, decode, prefill in (("vllm::", "decode|cache|paged", "prefill"), ("sglang::", "decode|cache|radix", "prefill"),
                                   ("tgi::", "decode|generation|continuous", "prefill|encode")):
        found = either(re.search(decode, name), re.search(prefill, name)) if space in name else "Mixed"
        if found != "Mixed":
            return found
    return "Mixed"


# ---- phases by shapes, for the ops of PyTorch in these traces ----

GEMM_M = {"aten::mm": (0, 0), "aten::addmm": (1, 0), "aten::bmm": (0, 1), "aten::baddbmm": (1, 1)}


def extent(op):
    dims = (op.get("args") or {}).get("Input Dims")
    if not isinstance(dims, list):
        return None
    if op["name"] in GEMM_M and len(dims) > 1:
        which, axis = GEMM_M[op["name"]]
        return dims[which][axis]
    first = dims[0][0] if len(dims) >= 2 and isinstance(dims[0], list) and dims[0] else 0
    return int(first) if isinstance(first, (int, float)) and first > 0 else None


def queries(op):
    dims = (op.get("args") or {}).get("Input Dims")
    known = op["name"].startswith("aten::_scaled_dot_product_") and op["name"].endswith("_attention")
    return dims[0][2] if known and dims else None


def by_attention(op):
    name = op["name"].lower()
    found = either(re.search("paged_attention|kv_cache|reshape_and_cache|batch_decode|decode_attention", name),
                  re.search("prefill_attention|chunked_prefill|batch_prefill", name))
    if found == "Mixed" and re.search("attention|attn|sdpa", name) and queries(op) is not None:
        found = either(queries(op) <= 10, True)
    return found


# ---- frequency ----


def quantile(values, q):
    values, place = sorted(values), (len(values) - 1) * Fraction(str(q))
    low = int(place)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (place - low)


def by_frequency(name, counts, low, high, between):
    if counts[name] > quantile(counts.values(), high):
        return "Decode"
    return "Prefill" if counts[name] < quantile(counts.values(), low) else between


# ---- the methods ----


def judge(method, op, text, counts, threshold):
    """counts is None if the kernel has no op."""
    name, size = op["name"], extent(op)
    if method == "kernel_names":
        return by_kernel_names(name, text)
    if method == "framework_apis":
        return by_framework(name)
    if method == "attention_patterns":
        return by_attention(op)
    if method == "operation_frequency":
        return by_frequency(name, counts, "0.15", "0.5", "Decode") if counts else "Mixed"
    by_size = "Mixed" if size is None else either(size <= threshold, True)
    if method == "gemm_params":
        prefill, decode = "prefill" in text, "decode" in text or "continuous_batch" in text
        return "Mixed" if prefill and decode else either(decode, prefill) if prefill or decode else by_size
    if method == "union":
        return by_union(op, text, counts, by_size)
    for first in METHODS[1:5]:
        found = judge(first, op, text, counts, threshold)
        if found != "Mixed":
            return found
    return "Mixed"


def by_union(op, text, counts, by_size):
    name = op["name"].lower()
    said = by_lengths(text)
    if said == "Mixed":
        prefill, decode = any(w in text for w in UNION_PREFILL), any(w in text for w in UNION_DECODE)
        said = "Mixed" if prefill and decode else either(decode, prefill)
    votes = {"Prefill": 0, "Decode": 0, "Mixed": 0}
    votes[by_size] += 3
    votes[said] += 4
    votes[either(re.search(PAGED_DECODE, text), re.search(PAGED_PREFILL, text))] += 2
    votes[union_framework(name)] += 2
    votes[either(re.search("continuous_batch|dynamic_batch|batch_decode|multi_request|request_batch", name),
                 re.search("single_request|request_init|batch_prefill", name))] += 1
    if votes["Prefill"] + votes["Decode"] >= 2 and votes["Prefill"] != votes["Decode"]:
        return max("Prefill", "Decode", key=votes.get)
    return by_frequency(op["name"], counts, "0.3", "0.7", "Mixed") if counts else "Mixed"


# ---- categories of kernels: every rule as documented, also those that never decide ----

BEGINNINGS = {
    "cijk": "GEMM-CK", "cutlass": "GEMM-CUTLASS", "cublas": "GEMM-cuBLAS", "softmax": "Activation-Softmax", "gelu": "Activation-GELU",
    "silu": "Activation-SiLU", "rmsnorm": "Norm-RMS", "layernorm": "Norm-Layer", "batchnorm": "Norm-Batch", "transpose": "Memory-Transpose",
    "memcpy": "Memory-Copy", "memset": "Memory-Set", "triton": "Triton-Custom", **dict.fromkeys(["fmha", "flash"], "Attention-Generic"),
    **dict.fromkeys(["paged", "pagedattention"], "PagedAttention-Generic"), **dict.fromkeys(["rope", "rotary"], "RoPE-Generic"),
    **dict.fromkeys(["rocblas", "hipblas"], "GEMM-ROCm"), **dict.fromkeys(["sgemm", "dgemm", "hgemm", "gemm"], "GEMM-Generic"),
}
RULES = [  # keywords | category, or categories for further keywords and a default
    ("paged_attention pagedattention", "reduce: PagedAttention-Reduce; qkv kernel prefill decode: PagedAttention-Compute; PagedAttention-Generic"),
    ("chunked_prefill continuous_batch batch_decode", "InferenceBatching"),
    ("gemm cijk matmul cublas nvjet mfma wmma tensor_op sgemm dgemm hgemm bgemm i8gemm f4gemm f8gemm cutlass rocblas hipblas matrix_multiply",
     "f4gemm fp4 int4: GEMM-FP4; f8gemm fp8 int8: GEMM-FP8; cijk: GEMM-CK; cublas cublaslt: GEMM-cuBLAS; cutlass: GEMM-CUTLASS; "
     "rocblas hipblas: GEMM-ROCm; nvjet: GEMM-NVJET; mfma: GEMM-MFMA; wmma: GEMM-WMMA; splitk wvsplitk: GEMM-SplitK; tensor_op: GEMM-TensorOp; "
     "GEMM-Generic"),
    ("attention fmha flash attn sdpa scaled_dot_product",
     "fwd forward fprop: Attention-Forward; bwd backward bprop: Attention-Backward; Attention-Generic"),
    ("conv winograd im2col fillbuffer", "fwd forward: Conv-Forward; bwd backward: Conv-Backward; Conv-Generic"),
    ("fused", "add rmsnorm layernorm norm: Fused-AddNorm; qk rope cache: Fused-QKRoPECache; mlp ffn: Fused-MLP; Fused-Generic"),
    ("norm rmsnorm layernorm batchnorm instancenorm groupnorm", "rms: Norm-RMS; layer: Norm-Layer; batch: Norm-Batch; Norm-Generic"),
    ("relu gelu silu swish sigmoid tanh softmax act_and_mul activation",
     "act_and_mul: Activation-Gated; silu swish: Activation-SiLU; gelu: Activation-GELU; softmax: Activation-Softmax; Activation-Generic"),
    ("elementwise pointwise add mul div sub fused_add scalar", "Elementwise"),
    ("reduce sum mean max min argmax argmin all_reduce", "Reduce"),
    ("copy memcpy memset transpose permute reshape cast convert fill_buffer matrix_transpose data_transfer",
     "transpose permute: Memory-Transpose; copy memcpy data_transfer: Memory-Copy; memset fill_buffer: Memory-Set; "
     "reshape cast convert: Memory-Reshape; Memory-Generic"),
    ("nccl rccl msccl allreduce allgather reducescatter broadcast send recv barrier alltoall",
     "allreduce: Comm-AllReduce; allgather: Comm-AllGather; reducescatter: Comm-ReduceScatter; alltoall: Comm-AllToAll; send: Comm-Send; "
     "recv: Comm-Recv; broadcast: Comm-Broadcast; barrier: Comm-Barrier; Comm-Generic"),
    ("quant dequant fp8 int8 int4 fp4 scale per_group per_channel quantize dequantize qkv_quant weight_quant",
     "per_group per_channel: Quant-PerGroup; dynamic: Quant-Dynamic; dequant: Dequant; weight: Quant-Weight; act: Quant-Activation; Quant-Generic"),
    ("rope rotary", "cached: RoPE-Cached; gqa grouped: RoPE-GQA; RoPE-Generic"),
    ("cache", "reshape: KVCache-Reshape; append update: KVCache-Update; compress prune: KVCache-Compression; KVCache-*"),
    ("embedding lookup gather scatter index", "gather: Indexing-Gather; scatter: Indexing-Scatter; Indexing-Generic"),
    ("sample topk topp beam argmax argmin sampling select choice greedy nucleus",
     "topk top_k: Sampling-TopK; topp top_p nucleus: Sampling-TopP; argmax argmin greedy: Sampling-ArgMax; beam: Sampling-Beam; Sampling-Generic"),
    ("speculative draft verify_tokens", "SpeculativeDecoding"), ("radix prefix_cache tree_attention", "PrefixCaching"),
    ("logits token_gen next_token", "TokenGeneration"), ("triton", "Triton-Custom"), ("flashinfer flash_infer", "FlashInfer"),
]
FRAMEWORKS = {"vllm": "vLLM", "sglang sgl": "SGLang", "tgi text_generation": "TGI", "transformers hf huggingface": "HuggingFace",
              "tensorrt trt": "TensorRT", "onnx ort": "ONNX"}
OTHER_FRAMEWORKS = {"deepspeed ds": "DeepSpeed", "megatron mcore": "Megatron", "fairscale fair": "FairScale"}


def holds(text, words):
    return any(word in text for word in words.split())


def category(name):
    low = name.lower()
    begin = low.split("_")[0] if "_" in low else low.split(" ")[0] if " " in low else low[:20]
    if begin in BEGINNINGS:
        found = BEGINNINGS[begin]
        if found.startswith("GEMM"):
            for words, kind in (("splitk", "GEMM-SplitK"), ("fp4 int4 f4", "GEMM-FP4"), ("fp8 int8 f8", "GEMM-FP8")):
                if holds(low, words):
                    return kind
        if "Attention" in found and holds(low, "fwd forward"):
            return found.replace("Generic", "Forward")
        if "Attention" in found and holds(low, "bwd backward"):
            return found.replace("Generic", "Backward")
        return found
    space = low.split("::")[0] if "::" in low else ""
    framework = next((kind for words, kind in FRAMEWORKS.items() if holds(space, words)), None)
    for words, kinds in RULES:
        if not holds(low, words) or (words == "cache" and "paged" in low):
            continue
        *choices, otherwise = kinds.split("; ")
        for choice in choices:
            when, kind = choice.split(": ")
            if holds(low, when):
                return kind
        return otherwise.replace("*", framework or "Generic")
    for begin, kind in (("_fwd_kernel", "Kernel-Forward"), ("_bwd_kernel", "Kernel-Backward")):
        if name.startswith(begin):
            return kind
    framework = framework or next((kind for words, kind in OTHER_FRAMEWORKS.items() if holds(space, words)), None)
    return f"{framework}-Custom" if framework else "Uncategorized"


# ---- the sheets ----


def sheets(document, method, threshold):
    trace = pytorch_reference.Trace(document)
    gpu_only = not trace.of_kind("cpu_op")
    own = {} if gpu_only else pytorch_reference.launchers(trace)
    named = lambda i: trace.events[i]["name"]
    counts, phase = {}, {}
    for i in own:
        counts[named(i)] = counts.get(named(i), 0) + 1
    for i, kernels in own.items():
        text = " ".join([named(i), *map(named, kernels)]).lower()
        phase[i] = judge(method, trace.events[i], text, counts, threshold)
        phase.update(dict.fromkeys(kernels, phase[i]))
    for i in trace.of_kind("kernel"):
        if i not in phase:
            phase[i] = judge(method, {"name": ""}, " " + named(i).lower(), None, threshold)
    direct = dict(zip(own, pytorch_reference.column([trace.busy(own[i]) for i in own])))
    made = {}
    for wanted in ("Prefill", "Decode"):
        by_name = {}
        for i in own:
            if phase[i] == wanted:
                by_name.setdefault(named(i), []).append(i)
        rows = []
        for name, ops in by_name.items():
            kinds = sorted({category(named(k)) for k in own[ops[0]]}, key=str.encode)
            total = pytorch_reference.add_up([direct[i] for i in ops])
            rows.append([", ".join(kinds), name, total, len(ops), float(total) / 1000])
        rows = [row[:5] + [float(share) for share in row[5:]] for row in pytorch_reference.with_shares(rows, 4)]
        if rows:
            made[f"ops_summary_{wanted.lower()}"] = (
                ["Kernel categories", "name", "total_direct_kernel_time_sum", "Count", "total_direct_kernel_time_ms", "Percentage (%)",
                 "Cumulative Percentage (%)"], rows)
        chosen = {i for i in trace.of_kind("kernel") if phase[i] == wanted}
        if chosen:
            headings, rows = pytorch_reference.kernel_summary(trace, 1, chosen)
            made[f"kernel_summary_{wanted.lower()}"] = headings[:-1], [row[:-1] for row in rows]
    return made


# ---- synthetic traces ----

WORDS = sorted({word for text in ([" ".join(PREFILL_WORDS + DECODE_WORDS + UNION_PREFILL + UNION_DECODE)] + [words for words, _ in RULES]
                                  + list(FRAMEWORKS) + list(OTHER_FRAMEWORKS) + list(BEGINNINGS) + [f[1].replace("|", " ") for f in FAMILIES]
                                  + [re.sub("[:;]|[A-Z][A-Za-z-]+", " ", kinds) for _, kinds in RULES])
                for word in text.split()} |
               set("flash_attn varlen paged_attn_v2 block_prefill flash_prefill dynamic_batch multi_request request_batch single_request "
                   "request_init paged sdpa attn encode splitk f8 f4 fwd backward".split()))
LENGTHS = ["sl1", "USL1", "sl512", "seqlen_0", "seqlen_8", "seqlen 21", "seqlen", "SeqLen", "seq1", "seq", "sl", "sl007", "sl99999999999999999999"]
SPACES = ["vllm::", "sglang::", "tgi::", "VLLM::", "Sgl::", "x::", "mha_", "_fwd_kernel", "void ", "8"]
ARGS = lambda dims: {"Input Dims": dims, "Input type": ["float"] * len(dims), "Input Strides": [[1, 1, 1] for _ in dims],
                     "Concrete Inputs": ["", "", "", "0.", "False", "", ""][:len(dims)]}
KNOWN_OPS = [
    ("aten::mm", [[11, 4], [4, 8]]), ("aten::mm", [[3, 4], [4, 8]]), ("aten::addmm", [[8], [7, 4], [4, 8], [], []]),
    ("aten::addmm", [[8], [70, 4], [4, 8], [], []]), ("aten::bmm", [[2, 32, 4], [2, 4, 8]]),
    ("aten::_scaled_dot_product_flash_attention", [[2, 8, 1, 64]] * 3 + [[]] * 4),
    ("aten::_scaled_dot_product_efficient_attention", [[2, 8, 128, 64]] * 3 + [[]] * 4), ("aten::relu", [[64, 64]]),
    ("aten::cat", [[], [64, 64]]), ("aten::add", [[10], [10], []]), ("aten::add", [[11], [11], []]),
]


def random_name(rng):
    parts = [rng.choice(LENGTHS if rng.random() < 0.15 else WORDS) for _ in range(rng.randint(0, 3))]
    name = rng.choice(["_", " ", "", "::", "-"]).join(parts)
    name = rng.choice(SPACES) + name if rng.random() < 0.3 else name
    return name.upper() if rng.random() < 0.1 else name or "k"


def synthetic(seed):
    """Ops with a few kernels each, launches without ops, communication and unlinked kernels; names are drawn from a few."""
    rng = random.Random(seed)
    neutral = [f"op{i}" for i in range(8)] + ["myop", "cudaMemcpy", "k"]
    ops = [(random_name(rng), None) for _ in range(8)] + rng.sample(KNOWN_OPS, 5) + [(rng.choice(neutral), None) for _ in range(5)]
    kernels = [random_name(rng) for _ in range(12)] + rng.sample(neutral, 6)
    events, at, link = [], 1000, 1
    scale = 1 if seed % 3 else 0.5
    for _ in range(60):
        name, dims = rng.choice(ops[:rng.randint(1, len(ops))])
        dims = dims or rng.choice([None, [[rng.randint(0, 25)], [2]], [[4]], [[], [1]]])
        alone = rng.random() < 0.1
        if not alone:
            events.append(["cpu", name, at, 90, ARGS(dims) if dims else {}])
        for k in range(1 if alone else rng.choice([1, 1, 1, 2, 4])):
            kernel = rng.choice(kernels) if rng.random() < 0.95 else "nccl " + rng.choice(kernels)
            events.append(["L", kernel, at + 10 * k, 5, at + 20 * k, rng.randint(1, 40) * scale, link, rng.randint(0, 1)])
            link += 1
        at += 100
    for _ in range(4):
        events.append(["event", {"ph": "X", "cat": "kernel", "name": rng.choice(kernels), "pid": 0, "tid": 0, "ts": at, "dur": 7,
                                 "args": {"stream": 0, "correlation": 900000 + at}}])
        at += 10
    if seed % 10 == 9:
        events = [event for event in events if event[0] != "cpu"]
    return cases.trace_of({"events": events})


# ---- running ----


def check(binary, case, folder):
    name, document, path, method, threshold = case
    if document is not None:
        path = os.path.join(folder, "trace.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
    else:
        document = pytorch_reference.read(path)
    out = os.path.join(folder, "out")
    outcome = harness.run([binary, "pytorch", path, "--output_csvs_dir", out, "--quiet", "--enable_kernel_summary", "--inference_phase_analysis",
                           "--phase_detection_method", method, "--decode_threshold", str(threshold)])
    if outcome.code or outcome.problems():
        return outcome.problems() + [f"exit {outcome.code}: {outcome.stderr[:300]}"]
    return pytorch_reports.csv_problems(sheets(document, method, threshold), out)


def all_cases(traces):
    for path in sorted(glob.glob(os.path.join(harness.FIXTURES, "pytorch", "*.json.gz"))):
        for method in METHODS:
            yield f"{os.path.basename(path)[:-8]}, {method}", None, path, method, 10
    for seed in range(traces):
        document = synthetic(seed)
        for method in METHODS:
            yield f"synthetic {seed}, {method}", document, None, method, seed % 5 * 5


# Public traces, reported by TraceLens: number of rows of prefill and decode, and first rows.
QWEN, BERT = "mi300__Qwen_Qwen1.5-0.5B-Chat__1016005", "mi300__gaunernst_bert-small-uncased__1016001"
SGLANG = "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode"
VLLM = "inference__vllm_prefilldecode_piecewise__graph_execution"
REAL_CASES = [
    # one row more and one less than in TraceLens: M of aten::bmm is 32 and not its batch of 1
    (QWEN, "gemm_params", 11, 3, ["GEMM-CK", "aten::mm", "8663.615234375", "96"], ["Elementwise", "aten::fill_", "107.544921875", "24"]),
    (QWEN, "kernel_names", 0, 3, None, None), (QWEN, "hybrid", 0, 21, None, None),
    (QWEN, "union", 8, 6, ["Elementwise", "aten::mul", "4533.87353515625", "218"], ["GEMM-CK", "aten::mm"]),
    (BERT, "hybrid", 0, 10, None, "GEMM-CK aten::addmm 174.130859375 26 0.174130859375 44.56340682259236 44.56340682259236".split()),
    (BERT, "gemm_params", 2, 7, "GEMM-CK aten::addmm 174.130859375 26 0.174130859375 96.44790860950793".split(), None),
    (BERT, "kernel_names", 0, 1, None, ["GEMM-CK", "aten::addmm"]), (BERT, "framework_apis", 0, 0, None, None),
    (BERT, "attention_patterns", 0, 0, None, None),
    (SGLANG, "hybrid", 1, 19, "Attention-Forward aiter::mha_batch_prefill 20075.15625 36 20.07515625 100.0 100.0".split(),
     "GEMM-CK aten::mm 420305.75390625 145 420.30575390625 88.90911713942916 88.90911713942916".split()),
    (SGLANG, "framework_apis", 1, 1, None, "KVCache-Generic sglang::store_cache 1271.2177734375 36 1.2712177734375 100.0 100.0".split()),
    (VLLM, "kernel_names", 0, 3, None, ["Fused-AddNorm, GEMM-CK, RoPE-Generic, Triton-Custom", "hipGraphLaunch", "149919.6494140625", "25",
                                        "149.9196494140625", "99.38151052182081"]),
    (VLLM, "gemm_params", 6, 0, None, None),
]


def check_real(binary, case, folder):
    trace, method, *counts, prefill, decode = case
    outcome = harness.run([binary, "pytorch", os.path.join(harness.CONFORMANCE_TRACES, trace + ".json.gz"), "--output_csvs_dir", folder, "--quiet",
                           "--inference_phase_analysis", "--phase_detection_method", method])
    problems = outcome.problems()
    for phase, count, first in (("prefill", counts[0], prefill), ("decode", counts[1], decode)):
        path = os.path.join(folder, f"ops_summary_{phase}.csv")
        rows = harness.read_csv(path)[1] if os.path.exists(path) else []
        if len(rows) != count or (first and rows[0][:len(first)] != first):
            problems.append(f"{phase} has {len(rows)} rows, not {count}; the first is {rows[:1]}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--traces", type=int, default=60, help="synthetic traces")
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    tally = harness.Tally()
    wanted = [case for case in all_cases(options.traces) if options.only in case[0]]
    for case in wanted:
        with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
            tally.add(case[0], check(binary, case, folder))
    for case in REAL_CASES if os.path.isdir(harness.CONFORMANCE_TRACES) and not options.only else []:
        with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
            tally.add(" ".join(case[:2]), check_real(binary, case, folder))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
