#!/usr/bin/env python3
"""What is known of public traces of servers and of the three small ones: classes of kernels, the rate of the KV cache, and the items of
serving_check.py. Skipped without the traces.

    python3 -m tests.serving.test_public --bin build/gputally [--only TEXT]
"""
import collections
import csv
import os
import shutil
import subprocess
import sys

from tests.common import harness

TRACES = harness.CONFORMANCE_TRACES
SERVING = os.path.normpath(os.path.join(TRACES, "..", "..", "serving"))
DECODE, PIECEWISE = "vllm_decode_full", "vllm_prefilldecode_piecewise"
PUBLIC = {DECODE: f"inference__{DECODE}__graph_execution", PIECEWISE: f"inference__{PIECEWISE}__graph_execution",
          "sglang": "inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode"}
# What the ops of the captures compute; moe_forward is all of the experts.
CLASSES = {"aten::addmm": "gemm", "vllm::moe_forward": "moe_gemm moe_route", "vllm::unified_attention_with_output": "attention",
           "TopK": "moe_route", "SortTokens": "moe_route", "aiter::rmsnorm2d_fwd_with_add_ck": "norm", "aiter::rms_norm": "norm",
           "triton_poi_fused__to_copy_1": "elementwise", "triton_poi_fused_0": "elementwise embedding", "_C::rotary_embedding": "rope",
           "_C_cache_ops::reshape_and_cache_flash": "kv_cache", "triton_poi_fused_constant_pad_nd_moe_forward_0": "elementwise"}


def sheets(binary, path, out, *options):
    outcome = harness.run([binary, "report", path, "--output_csvs_dir", out, *options])
    assert outcome.code == 0, outcome.stderr

    def read(name):
        with open(os.path.join(out, name + ".csv"), newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    return read


def public(binary, folder, name):
    captures = os.path.join(TRACES, "inf_captures", name)
    options = ["--gpu_arch_platform", "MI300X"] + (["--capture_folder", captures] if os.path.isdir(captures) else [])
    return sheets(binary, os.path.join(TRACES, PUBLIC[name] + ".json.gz"), os.path.join(folder, name), *options)


def check_other(binary, folder, name):
    """At most 5 % of the GPU time has no class."""
    times = collections.Counter()
    for row in public(binary, folder, name)("kernel_classes"):
        times[row["class"]] += float(row["us_per_step"]) * int(row["steps"])
    return [] if times["other"] <= .05 * sum(times.values()) else [str(times)]


def check_classes(binary, folder, name):
    """The class by the name of a kernel is that of its op for 95 % of the time."""
    alike = total = 0
    for row in public(binary, folder, name)("graph_kernels"):
        us = float(row["us_sum"])
        total += us
        alike += us * (row["class"] in CLASSES.get(row["op"], "").split())
    return [] if alike >= .95 * total else [f"{100 * alike / total:.1f} %"]


def check_cache(binary, folder):
    """Public decode of vLLM: 2.74 TB/s, 52 % of an MI300X, in the layers without a window."""
    row = next(row for row in public(binary, folder, DECODE)("kv_roofline") if row["reads"] == "context")
    got = row["layers"], round(float(row["tb_per_s"]), 2), round(float(row["pct_of_peak"]))
    return [] if got == ("12.0", 2.74, 52) else [str(got)]


def check_small(binary, folder, name):
    out, graph = os.path.join(folder, "out"), os.path.join(SERVING, name + ".graph.json.gz")
    captures = os.path.join(folder, "captures")
    os.mkdir(captures)
    for file in os.listdir(SERVING):
        if file.startswith(name + ".capture"):
            shutil.copy(os.path.join(SERVING, file), captures)
    sheets(binary, graph, os.path.join(out, name))
    sheets(binary, graph, os.path.join(out, name + ".eager"), "--eager_trace", os.path.join(SERVING, name + ".eager.json.gz"))
    sheets(binary, graph, os.path.join(out, name + ".capture"), "--capture_folder", captures)
    judged = subprocess.run([sys.executable, os.path.join(SERVING, "serving_check.py"), out, name, "--truth", SERVING],
                            capture_output=True, text=True, check=False)
    failed = [line for line in judged.stdout.splitlines() if not line.startswith("PASS")]
    return [] if judged.returncode == 0 and " 0 fail, 0 skipped" in judged.stdout else failed + [judged.stderr]


def cases():
    for name in PUBLIC:
        yield harness.Case(f"classes: {name}", check_other, name)
    for name in (DECODE, PIECEWISE):
        yield harness.Case(f"classes by op: {name}", check_classes, name)
    yield harness.Case("rate of the cache", check_cache)
    for name in ("dense_vllm", "moe_sglang", "dense_none"):
        yield harness.Case(f"all items: {name}", check_small, name)


if __name__ == "__main__":
    if not os.path.isdir(SERVING):
        print("skipped public servers: GPUTALLY_CONFORMANCE is not set, or the folder beside it is missing")
        sys.exit(harness.ALL_SKIPPED)
    sys.exit(harness.run_cases(__doc__.splitlines()[0], list(cases())))
