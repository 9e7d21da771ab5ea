#!/usr/bin/env python3
"""kv_roofline and decode_bound: of synthetic steps with values by hand, and of two small servers on an H200 whose weights, heads,
contexts and times without the profiler are known.

    python3 -m tests.serving.test_memory --bin build/gputally [--only TEXT]
"""
import csv
import json
import os
import sys
import tempfile

from tests.common import harness
from tests.serving.generate import Trace

REAL = os.path.join(os.path.dirname(__file__), "..", "fixtures", "serving")
PEAK, CACHE = 4800.0, 256e6  # of an H200: bytes per ns; what a cache may hold
BF16, FP8 = "c10::BFloat16", "c10::Float8_e4m3fn"
SPARE = [[], "Scalar"]


def sheets_of(binary, path, *options):
    with tempfile.TemporaryDirectory() as folder:
        outcome = harness.run([binary, "report", path, "--output_csvs_dir", folder, *options])
        assert outcome.code == 0 and not outcome.problems(), outcome.stderr
        found = []
        for name in ("kv_roofline", "decode_bound"):
            file = os.path.join(folder, name + ".csv")
            found.append(list(csv.DictReader(open(file, encoding="utf-8"))) if os.path.exists(file) else [])
        return found


class Op:
    """An op with inputs, (shape, type) each, and the kernels that it launches."""

    def __init__(self, name, inputs, *kernels):
        self.name, self.inputs, self.kernels = name, inputs, kernels


def mm(rows, columns, microseconds, kind=BF16):
    return Op("aten::mm", [([8, rows], kind), ([rows, columns], kind)], ("nvjet_tst_64x8", microseconds))


def attention(microseconds, kernel="paged_attention_kernel", heads=8, dim=128, kind=BF16):
    keys = ([8, heads, dim], kind)
    return Op("vllm::unified_attention_with_output", [([8, 32, dim], kind), keys, keys, ([8, 32, dim], kind)], (kernel, microseconds))


def cache_write(kind, heads=8, dim=128):
    keys, pages = ([8, heads, dim], BF16), ([1000, 16, heads, dim], kind)
    return Op("_C_cache_ops::reshape_and_cache_flash", [keys, keys, pages, pages], ("reshape_and_cache_flash_kernel", 2))


def step_of(trace, name, ops):
    with trace.step(name):
        for op in ops:
            dims, types = [shape for shape, _ in op.inputs], [kind for _, kind in op.inputs]
            with trace.op(op.name, **{"Input Dims": dims, "Input type": types}):
                for kernel, microseconds in op.kernels:
                    trace.launch(kernel, microseconds)


def decode(sk=100_000, requests=8):
    return f"execute_{requests}_context_0(sq0sk0sqsq0sqsk0)_generation_{requests}(sq{requests}sk{sk}sqsq{requests}sqsk{sk})"


def made(binary, folder, ops, name=None, gpu=True, steps=4):
    trace = Trace(latency_ns=0)
    for _ in range(steps):
        step_of(trace, name or decode(), ops)
    path = os.path.join(folder, "t.json")
    trace.write(path)
    return sheets_of(binary, path, *(["--gpu_arch_platform", "H200"] if gpu else []))


def expect(rows, wanted):
    """The cells that are wanted, of each row in order."""
    if len(rows) != len(wanted):
        return [f"{len(rows)} rows instead of {len(wanted)}: {rows}"]
    return [f"{column} is {row[column]!r}, not {value!r}" for row, want in zip(rows, wanted) for column, value in want.items()
            if not (row[column] == value if isinstance(value, str) else row[column] and abs(float(row[column]) - value) <= 1e-3 * abs(value))]


def check_plain(binary, folder):
    """4 layers of attention at 2 TB/s, and weights of 671 MB: 100,000 tokens x 4096 bytes in 204.8 us."""
    ops = [mm(16384, 20480, 200)] + [attention(204.8)] * 4
    kv, bound = made(binary, folder, ops)
    least = (16384 * 20480 * 2 + 4 * 100_000 * 4096 - CACHE) / PEAK / 1000
    return expect(kv, [{"phase": "decode", "kernel": "paged_attention_kernel", "reads": "context", "layers": 4, "steps": 4, "sk_sum": 100_000,
                        "us_per_layer": 204.8, "kv_bytes_per_token": 4096, "tb_per_s": 2, "pct_of_peak": 41.67}]) + \
        expect(bound, [{"phase": "decode", "batch": "8", "steps": "4", "weights_mb": 671.089, "weights_known_pct": 100, "kv_mb": 1638.4,
                        "bound_us": least, "bound_by": "KV cache"}])


def check_unknown(binary, folder, ops, name, gpu, wanted_kv, wanted_bound):
    kv, bound = made(binary, folder, ops, name, gpu)
    return expect(kv, wanted_kv) + expect(bound, wanted_bound)


BIG = mm(16384, 20480, 200)
UNKNOWN = {"reads": "", "tb_per_s": "", "pct_of_peak": ""}
EXPERTS = Op("vllm::inplace_fused_experts",
             [([8, 4096], BF16), ([64, 4096, 4096], BF16), ([64, 4096, 2048], BF16), ([8, 8], "float"), ([8, 8], "int")],
             ("moe_align_block_size_kernel", 3), ("fused_moe_kernel", 300), ("fused_moe_kernel", 200))
LATENT = Op("vllm::unified_mla_attention_with_output", [([8, 16, 576], BF16), ([8, 512], BF16), ([8, 1, 64], BF16), ([8, 2048], BF16)],
            ("flash_fwd_mla_kernel", 60))
CASES = {
    # (ops, name of the steps, whether the GPU is known, rows of kv_roofline, rows of decode_bound)
    "no lengths in the names: only weights": ([BIG, attention(200)], "execute_context_0(0)_generation_8(8)", True, [],
                                              [{"weights_mb": 671.089, "sk_sum": "", "kv_mb": "", "bound_by": ""}]),
    "weights that a cache may hold": ([mm(4096, 4096, 20)], None, True, [], []),
    "no GPU: no share, no bound": ([BIG, attention(204.8)], None, False, [{"tb_per_s": 2, "pct_of_peak": ""}], []),
    "an FP8 cache of BF16 keys": ([cache_write(FP8), attention(204.8)], None, True, [{"kv_bytes_per_token": 2048, "tb_per_s": 1}], []),
    "a cache of bytes": ([cache_write("unsigned char"), attention(204.8)], None, True, [{"kv_bytes_per_token": 2048}], []),
    "a latent cache": ([LATENT], None, True, [{"kv_bytes_per_token": 1152, "tb_per_s": 1.92}], []),
    "faster than the memory": ([BIG, attention(50)], None, True, [UNKNOWN], [{"weights_mb": 671.089, "kv_mb": ""}]),
    "sparse attention": ([attention(204.8, "flash_mla_sparse_fwd")], None, True, [{**UNKNOWN, "kv_bytes_per_token": ""}], []),
    "two kernels of one op": ([Op(*[(a := attention(9)).name, a.inputs], ("prefill_attention", 9), ("paged_attention", 300))], None, True,
                              [UNKNOWN, UNKNOWN], []),
    "a kernel and its reduction": ([Op(*[(a := attention(9)).name, a.inputs], ("flash_fwd_splitkv_kernel", 204.8),
                                       ("flash_fwd_splitkv_combine_kernel", 9))], None, True, [{"tb_per_s": 2, "layers": 1}],
                                   [{"weights_mb": "", "kv_mb": 409.6, "bound_us": (409.6e6 - CACHE) / PEAK / 1000, "bound_by": "KV cache"}]),
    "layers with a window": ([attention(204.8), attention(40)] * 3, None, True,
                             [{"reads": "context", "layers": 3, "tb_per_s": 2}, {"reads": "part", "layers": 3, "tb_per_s": ""}],
                             [{"kv_mb": 1228.8}]),
    "one layer of six without a window": ([attention(40)] * 5 + [attention(204.8)], None, True,
                                          [{"reads": "context", "layers": 1, "tb_per_s": 2}, {"reads": "part", "layers": 5, "tb_per_s": ""}], [{"kv_mb": 409.6}]),
    "experts: those of one token": ([EXPERTS], None, True, [],
                                    [{"weights_mb": 8 * (4096 * 4096 + 4096 * 2048) * 2 / 1e6, "weights_known_pct": 100}]),
    "products of activations": ([BIG, Op("aten::bmm", [([8, 4096, 4096], BF16)] * 2, ("nvjet_tst_64x8", 200))], None, True, [],
                                [{"weights_mb": 671.089, "weights_known_pct": 50, "bound_by": "weights"}]),
    "weights that are not known": ([attention(204.8)] * 2 + [Op("aten::bmm", [([8, 4096, 4096], BF16)] * 2, ("nvjet_tst_64x8", 200))], None, True,
                                   [{"tb_per_s": 2}], [{"weights_mb": "", "weights_known_pct": "", "kv_mb": 819.2, "bound_by": ""}]),
    "weights that were not read": ([mm(16384, 20480, 20)], None, True, [], []),
    "no shapes": ([Op("aten::mm", [], ("nvjet_tst_64x8", 200)), Op("vllm::unified_attention_with_output", [], ("paged_attention", 9))],
                  None, True, [{**UNKNOWN, "kv_bytes_per_token": "", "layers": 1}], []),
    "shapes of another form": ([Op("aten::mm", [("x", BF16), ([-4, 2, 7], BF16)], ("nvjet_tst_64x8", 200))], None, True, [], []),
    "a prompt": ([BIG, attention(204.8)], "execute_512_context_1(sq512sk100000sqsq1sqsk1)_generation_0(sq0sk0sqsq0sqsk0)", True,
                 [{"phase": "prefill", "tb_per_s": 2}], []),
}


def check_finding(binary, folder, microseconds, found):
    """Weights of 3.4 GB take 0.65 ms of the 0.7 or 1.4 ms of a step: half of the 0.7 ms at the peak would be saved."""
    trace = Trace(latency_ns=0)
    for _ in range(6):
        step_of(trace, decode(), [mm(16384, 102400, microseconds), attention(1, heads=1)])
        trace.now = max(trace.now, trace.free) - 3000
    path = os.path.join(folder, "t.json")
    trace.write(path)
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", folder, "--gpu_arch_platform", "H200", "--all_findings"])
    with open(os.path.join(folder, "findings.csv"), encoding="utf-8") as file:
        row = next((row for row in csv.DictReader(file) if row["id"] == "decode_bound"), None)
    share = 100 * (16384 * 102400 * 2 - CACHE) / PEAK / 1000 / (microseconds + 1)
    line = "is reading weights and KV cache" in outcome.stdout
    if bool(row) != found or not line:
        return [f"{row}, {outcome.stdout[:600]}"]
    gain = 16384 * 102400 / PEAK / 1e6
    right = not found or (row["hint"].lower() == "true" and abs(float(row["phase_gain_ms"]) - gain) < .05 * gain and
                          f"{share:.0f}%" in row["title"] and "quantise" in row["advice"])
    return [] if right else [str(row), f"{share} {gain}"]


# ---- real servers ----

def mean(values):
    return sum(values) / len(values)


def check_real(binary, _, name):
    with open(os.path.join(REAL, name + ".truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    kv, bound = sheets_of(binary, os.path.join(REAL, name + ".graph.json.gz"))
    per_token, steps = truth["kv_bytes_per_token_layer"], [s for s in truth["unprofiled_steps"] if s["phase"] == "decode"]
    full = truth["layers"] // 2 if truth["window"] else truth["layers"]
    contexts = {f'{s["context_sum"]}': s for s in steps}
    alone = {key.split()[1]: value["layer_0"] for key, value in truth["attention_us"].items()}
    rate = sum(map(int, contexts)) * per_token / sum(alone.values()) / 1e6
    row = next(row for row in kv if row["phase"] == "decode" and row["reads"] == "context")
    problems = expect([row], [{"layers": full, "steps": str(len(steps)), "sk_sum": mean([s["context_sum"] for s in steps]),
                               "kv_bytes_per_token": per_token, "pct_of_peak": 100_000 * float(row["tb_per_s"]) / PEAK}])
    if abs(float(row["tb_per_s"]) / rate - 1) > .05:
        problems.append(f"{row['tb_per_s']} TB/s, {rate:.4f} by events around the attention alone")
    if truth["window"] and [r["layers"] for r in kv if r["phase"] == "decode" and r["reads"] == "part"] != [str(float(full))]:
        problems.append("not as many layers with a window")
    for row in bound:
        mine = [s for s in steps if s["padded"] == int(row["batch"])]
        tokens = mean([s["context_sum"] for s in mine])
        least = (truth["gemm_weight_bytes"] + full * tokens * per_token - CACHE) / PEAK / 1000
        problems += expect([row], [{"weights_mb": truth["gemm_weight_bytes"] / 1e6, "weights_known_pct": 100, "steps": str(len(mine)),
                                    "kv_mb": full * tokens * per_token / 1e6, "bound_us": least}])
        if not float(row["bound_us"]) <= mean([s["us"] for s in mine]):
            problems.append(f"the bound {row['bound_us']} us is above the step without the profiler")
    return problems + ([] if len(bound) == 3 else [f"{len(bound)} batches"])


def cases():
    yield harness.Case("values by hand", check_plain)
    for name, case in CASES.items():
        yield harness.Case(name, check_unknown, *case)
    yield harness.Case("finding: bound by weights", check_finding, 720, True)
    yield harness.Case("finding: another limit", check_finding, 1440, False)
    for name in ("gqa", "hybrid"):
        yield harness.Case(f"a real server: {name}", check_real, name)


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], list(cases())))
