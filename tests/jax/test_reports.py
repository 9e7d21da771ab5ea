#!/usr/bin/env python3
"""The smaller JAX reports, on profiles and dumps written here. Expected cells are computed by hand, from the formulas in docs/jax.md.

    python3 -m tests.jax.test_reports --bin build/gputally
"""
import argparse
import csv
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.jax.generate_xplane import counted, encode

CORRELATION, HLO_OP, HLO_MODULE, HLO_PROTO = 1, 2, 3, 4
STATS = {CORRELATION: "correlation_id", HLO_OP: "hlo_op", HLO_MODULE: "hlo_module", HLO_PROTO: "Hlo Proto"}
F32, BF16, S8, TUPLE = 11, 16, 2, 13


def number(field, value):
    return encode(field << 3) + encode(value)


def text(field, value):
    return counted(field, value.encode())


# ---- planes ----


def entry(field, key, value):
    return counted(field, number(1, key) + counted(2, value))


def event(kind, start_ns, dur_ns, correlation=None, op=None, module="jit_train_step"):
    stats = b""
    if correlation is not None:
        stats += counted(4, number(1, CORRELATION) + number(3, correlation))
    if op:
        stats += counted(4, number(1, HLO_OP) + text(5, op)) + counted(4, number(1, HLO_MODULE) + text(5, module))
    return counted(4, number(1, kind) + number(2, start_ns * 1000) + number(3, dur_ns * 1000) + stats)


def plane(id, name, lines=(), kinds=(), protos=()):
    body = (number(1, id) if id else b"") + text(2, name)
    for tid, title, events in lines:
        body += counted(3, number(1, tid) + text(2, title) + b"".join(events))
    body += b"".join(entry(4, key, number(1, key) + text(2, kind)) for key, kind in enumerate(kinds, 1))
    body += b"".join(entry(4, key, number(1, key) + text(2, title) + counted(5, number(1, HLO_PROTO) + counted(6, proto)))
                     for key, (title, proto) in enumerate(protos, 100))
    return counted(1, body + b"".join(entry(5, key, number(1, key) + text(2, stat)) for key, stat in STATS.items()))


# ---- modules ----


def shape(type, *dims):
    layout = counted(5, b"".join(number(1, i) for i in reversed(range(len(dims)))))
    return number(2, type) + b"".join(number(3, d) for d in dims) + layout


def pair(a, b):
    return number(2, TUPLE) + counted(4, a) + counted(4, b)


def instruction(id, name, opcode, form, operands=(), target="", config=""):
    body = text(1, name) + text(2, opcode) + counted(3, form) + counted(7, text(2, "op"))
    body += (text(28, target) if target else b"") + number(35, id) + b"".join(number(36, o) for o in operands)
    return counted(2, body + (text(43, config) if config else b""))


def module(name, instructions, root, schedule=()):
    computation = text(1, "main") + b"".join(instructions) + number(5, 1) + number(6, root)
    order = counted(7, counted(1, number(1, 1) + counted(2, b"".join(number(1, i) for i in schedule)))) if schedule else b""
    return counted(1, text(1, name) + counted(3, computation) + order)


# ---- running ----


def run(binary, *arguments, code=0):
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    return path


def close(found, expected):
    assert math.isclose(float(found), expected, rel_tol=1e-12), (found, expected)


# ---- the analysis report ----

CONFIG = ('{"gemm_backend_config":{"alpha_real":1,"beta":0,"dot_dimension_numbers":{"lhs_contracting_dimensions":["%d"],'
          '"rhs_contracting_dimensions":["%d"]},"epilogue":"DEFAULT"}}')


def training_profile():
    product = lambda id, name, form, operands, dims: instruction(
        id, name, "custom-call", pair(form, shape(S8, 4194304)), operands, "__cublas$gemm", CONFIG % dims)
    step = module("jit_train_step", [
        instruction(1, "a", "parameter", shape(BF16, 1024, 4096)),
        instruction(2, "b", "parameter", shape(BF16, 4096, 512)),
        instruction(3, "p", "parameter", shape(F32, 4, 128, 512)),
        instruction(4, "q", "parameter", shape(F32, 4, 512, 256)),
        product(5, "gemm.1", shape(BF16, 1024, 512), (1, 2), (1, 0)),
        product(6, "gemm.2", shape(F32, 4, 128, 256), (3, 4), (2, 1)),
        instruction(7, "out", "tuple", shape(F32, 4, 128, 256), (6,)),
    ], 7, schedule=(1, 2, 3, 4, 6, 5, 7))
    kernels = ["Cijk_Alik_Bljk_BBS_BH_MT128x128x64", "nvjet_sm90_tst_128x64_TNT", "loop_fusion_7", "ncclAllReduce",
               "MemcpyD2D", "loop_fusion_"]
    events = [event(1, 0, 20000, 1, "gemm.1"), event(2, 30000, 11500, 2, "gemm.2"), event(1, 50000, 30000, 3, "gemm.1"),
              event(3, 90000, 4000, 4), event(4, 92000, 6000, 5), event(5, 100000, 1000, 6), event(6, 110000, 2000, 7),
              event(3, 120000, 500, 8, "gemm.1")]
    return (plane(0, "/host:metadata", protos=[("jit_train_step(100)", step)]) +
            plane(0, "/device:GPU:0", [(7, "Stream #7(Compute)", events)], kernels) +
            plane(1, "/device:GPU:1", [(8, "Stream #8(Compute)", [event(1, 0, 10000, 9)])], ["loop_fusion_9"]))


def check_analysis(binary, folder):
    profile = write(os.path.join(folder, "host.xplane.pb"), training_profile())
    run(binary, "jax-analysis", profile, "--output_path", folder, "--output_filename", "t", "--output_table_formats", ".csv")
    cells = lambda name: table(os.path.join(folder, f"t_{name}.csv"))
    # GPU 0: computation 20 + 11.5 + 30 + 4 + 2 + 0.5 us; communication 92..98, of which 2 us overlap computation.
    times = {row["type"]: (float(row["time ms"]), float(row["percent"])) for row in cells("gpu_events_averages")}
    assert list(times)[5:8] == ["total_time", "overlapped_comm", "total_comm_time"], times
    total = (120.5 + 10) / 2 / 1000
    for name, ms in (("computation_time", (68 + 10) / 2e3), ("exposed_comm_time", 4 / 2e3), ("total_comm_time", 6 / 2e3),
                     ("overlapped_comm", 2 / 2e3), ("total_time", total)):
        assert times[name] == (round(ms, 2), round(100 * ms / total, 2)), (name, times[name])
    classes = {row["name"]: row for row in cells("gpu_events_categorized_mean")}
    assert {name: int(row["count"]) for name, row in classes.items()} == {"GEMM": 4, "Uncategorized Events": 3}, classes
    gemm = classes["GEMM"]  # the fourth by its op: loop_fusion_7 of gemm.1
    assert [gemm["time ms"], gemm["time ms per gpu"], gemm["percent"]] == ["0.06", "0.03", str(round(62 / 78 * 100, 2))], gemm
    assert {name: row["percent of kernel time"] for name, row in classes.items()} == {
        "GEMM": str(round(62 / 78 * 100, 2)), "Uncategorized Events": str(round(16 / 78 * 100, 2))}, classes
    grouped = cells("xla_grouped")
    assert [(row["short_name_grouped"], row["count"], row["percent"]) for row in grouped] == [
        ("loop_fusion_", "2", "87.5"), ("loop_fusion", "1", "12.5")], grouped
    gemms = [list(row.values()) for row in cells("gemms")]
    assert gemms == [["%gemm.2", "4", "256", "128", "512", "0", "f32"],
                     ["%gemm.1", "1", "512", "1024", "4096", "0", "bf16"]], gemms
    detailed = cells("gemms_detailed")  # not the kernel whose own name is not that of a product
    assert [row["param: Op B"] for row in detailed] == ["1", "4", "1"], detailed
    flops, bytes = 2 * 1024 * 512 * 4096, 2 * (1024 * 4096 + 4096 * 512 + 1024 * 512)
    expected = {"GFLOPS": flops / 1e9, "Kernel Time (µs)": 20, "TFLOPS/s": flops / 20e6, "Data Moved (MB)": bytes / 2**20,
                "FLOPS/Byte": flops / bytes, "TB/s": bytes / 20e6, "param: M": 512, "param: N": 1024, "param: K": 4096}
    for name, value in expected.items():
        assert float(detailed[0][name]) == round(value, 2), (name, detailed[0][name], value)
    assert detailed[0]["param: dtype_A_B"] == "('bf16', 'bf16')" and detailed[0]["param: transpose"] == "(True, False)"
    assert detailed[1]["param: transpose"] == "(True, False)" and detailed[0]["param: stride_A"] == ""
    run(binary, "jax-analysis", profile, "--output_csvs_dir", os.path.join(folder, "all"), "--quiet")
    assert sorted(os.listdir(os.path.join(folder, "all")))[0] == "gemms.csv"


def check_shares(binary, folder):
    """Kernels of two streams at the same time: computation lasts 100 us, the kernels 109."""
    kernels = ["Cijk_Alik_Bljk_BBS_BH_MT128x128x64", "loop_fusion_7", "FmhaFwd_x"]
    profile = write(os.path.join(folder, "host.xplane.pb"), plane(0, "/device:GPU:0", [
        (7, "Stream #7(Compute)", [event(1, 0, 60000, 1), event(2, 60000, 40000, 2)]),
        (8, "Stream #8(Compute)", [event(3, 10000, 9000, 3)])], kernels))
    old = os.path.join(folder, "TraceLens_generate_perf_report_jax_analysis")
    os.symlink(os.path.abspath(binary), old)
    for program in ([binary, "jax-analysis"], [old]):
        out = os.path.join(folder, program[-1].rsplit("/")[-1] + "_out")
        run(*program, "--profile_xplane_pb_path", profile, "--output_path", out, "--output_table_formats", ".csv")
        rows = table(os.path.join(out, "trace_analysis_results_gpu_events_categorized_mean.csv"))
        assert [(row["name"], row["percent"]) for row in rows] == [("GEMM", "60.0"), ("Uncategorized Events", "40.0"),
                                                                   ("FA FWD", "9.0")], rows
        shares = [row.get("percent of kernel time") for row in rows]
        wanted = [str(round(us / 109 * 100, 2)) for us in (60, 40, 9)] if len(program) > 1 else [None] * 3
        assert shares == wanted, shares
        grouped = table(os.path.join(out, "trace_analysis_results_xla_grouped.csv"))
        assert sum(float(row["percent"]) for row in grouped) == 100, grouped


FIXTURE = os.path.join(harness.FIXTURES, "jax", "streams.xplane.pb.gz")


def check_real_analysis(binary, folder):
    """Four steps of 2048 x 1024 by 1024 x 512 on an H200 (tests/fixtures/README.md); copies on other streams."""
    run(binary, "jax-analysis", FIXTURE, "--output_csvs_dir", folder, "--quiet")
    gemm, = table(os.path.join(folder, "gemms.csv"))
    assert [gemm[name] for name in ("Batch", "M", "N", "K", "Type")] == ["1", "512", "2048", "1024", "bf16"], gemm
    rows = table(os.path.join(folder, "gemms_detailed.csv"))
    assert [row["Kernel Time (µs)"] for row in rows] == ["5.57", "5.31", "5.15", "5.28"], rows
    assert {row["GFLOPS"] for row in rows} == {str(round(2 * 2048 * 1024 * 512 / 1e9, 2))}, rows


# ---- folders ----


def check_folders(binary, folder):
    """The newest run of a TensorBoard folder, given as any of its folders; one report per host."""
    profile = lambda kernel: plane(0, "/device:GPU:0", [(1, "Stream #1", [event(1, 0, 5, 1)])], [kernel])
    runs = os.path.join(folder, "logs", "plugins", "profile")
    for run_name, host, kernel in (("2025_01_02_03", "a", "old"), ("2025_11_02_03", "a", "new_a"), ("2025_11_02_03", "b", "new_b")):
        write(os.path.join(runs, run_name, host + ".xplane.pb"), profile(kernel))
    os.makedirs(os.path.join(runs, "2026_no_profile"))
    out = os.path.join(folder, "out")
    for given in (os.path.join(folder, "logs"), runs, os.path.join(runs, "2025_11_02_03")):
        run(binary, "jax", given, "--output_csvs_dir", out, "--quiet")
        names = [table(os.path.join(out, host, "kernel_launchers.csv"))[0]["name"] for host in ("a", "b")]
        assert names == ["new_a", "new_b"], (given, names)
    run(binary, "jax", os.path.join(runs, "2025_01_02_03"), "--output_csvs_dir", out, "--quiet")
    assert table(os.path.join(out, "kernel_launchers.csv"))[0]["name"] == "old"


# ---- collectives ----

DUMP = """HloModule jit_train_step
  %ag = (bf16[96,4096]{1,0}, bf16[768,4096]{1,0}) all-gather-start(%p), channel_id=1, replica_groups=[1,8]<=[8], dimensions={0}, metadata={op_name="x" scheduling_name="all-gather-start.1"}
  %ar = f32[1000]{0} all-reduce(%p), channel_id=2, replica_groups={{0,8},{1,9}}, to_apply=%add, metadata={scheduling_name="all-reduce.5"}
  %rs = (f32[64,10]{1,0}, pred[7]{0}) reduce-scatter(%p), replica_groups={{0,1,8,9}}, dimensions={0}, metadata={scheduling_name="reduce-scatter.2"}
  %cp = u16[5,2]{1,0} collective-permute(%p), source_target_pairs={{0,1},{1,0}}, metadata={scheduling_name="collective-permute.3"}
  %other = f32[9]{0} add(%p, %q), metadata={scheduling_name="add.1"}
"""


def collective_profile(node):
    """Two GPUs; GPU 1 is faster. The second node is slower than the first."""
    ops = ["all-gather-start.1", "all-reduce.5", "reduce-scatter.2", "collective-permute.3", "all-gather-start.1", None]
    planes = b""
    for gpu in range(2):
        events = [event(1, 1000000 * i + 100 * gpu, 412785 + 1000 * i + 500 * node - 250 * gpu, i + 1, op)
                  for i, op in enumerate(ops)]
        planes += plane(gpu, f"/device:GPU:{gpu}", [(3, "Stream #3", events + [event(2, 9000000, 5)])],
                        ["ncclDevKernel_AllGather", "fusion"])
    return planes


def check_collectives(binary, folder):
    for node in range(2):
        write(os.path.join(folder, f"n{node}", "plugins", f"host{node}.xplane.pb"), collective_profile(node))
        write(os.path.join(folder, f"n{node}", "xla_dumps", "module_1.jit_train_step.sm_gpu_after_optimizations.txt"),
              DUMP.encode())
    out = os.path.join(folder, "out")
    done = run(binary, "jax-collective", "--traces_dir", folder, "--output_csvs_dir", out)
    events = table(os.path.join(out, "collective_events.csv"))
    assert len(events) == 24 and list(events[0])[:5] == ["node", "gpu_rank", "pid", "ts", "dur"], events[0]
    last = events[-1]
    assert [last[name] for name in ("node", "gpu_rank", "pid", "collective_name", "collective_id", "replica_groups",
                                    "data(bytes)", "process_name")] == [
        "1", "9", "2", "unknown", "unknown_0", "", "", "host1 /device:GPU:1"], last
    second = [row for row in events if row["collective_id"] == "all-gather-start.1_1"]
    assert len(second) == 4 and second[0]["replica_groups"] == "[[0, 1, 2, 3, 4, 5, 6, 7]]" and second[0]["ts"] == "4000.0"
    # Of 8 ranks, only 0 and 1 have profiles; 768 * 4096 * 2 / 8 bytes each. The fastest is GPU 1 of node 0.
    data, gather = 768 * 4096 * 2 // 8, []
    for slice, extra in enumerate((0, 4000)):
        gather.append(2 * data * 7 / 2**30 / ((412785 + extra - 250) / 1e9))
    rows = {row["collective_name"]: row for row in table(os.path.join(out, "collective_bandwidths.csv"))}
    assert list(rows) == ["all-gather-start.1", "all-reduce.5", "reduce-scatter.2", "collective-permute.3"], list(rows)
    assert rows["all-gather-start.1"]["data_size_bytes"] == str(data) and rows["all-gather-start.1"]["num_slices"] == "2"
    close(rows["all-gather-start.1"]["avg_bandwidth_gbps"], sum(gather) / 2)
    close(rows["all-gather-start.1"]["avg_bus_bandwidth_gbps"], sum(gather) / 2 * 7 / 8)
    seconds = lambda ns: ns / 1e9
    groups = [(412785 + 1000) / 1e9, (412785 + 1000 - 250) / 1e9]  # of ranks 0 and 8, of ranks 1 and 9
    reduce = sum(2 * 4000 / 2**30 / s for s in groups) / 2
    close(rows["all-reduce.5"]["avg_bandwidth_gbps"], reduce)
    close(rows["all-reduce.5"]["avg_bus_bandwidth_gbps"], reduce)  # 2 (n - 1) / n of two ranks
    scatter = 64 // 4 * 10 * 4  # the second tensor has no four equal parts
    assert rows["reduce-scatter.2"]["data_size_bytes"] == str(scatter)
    close(rows["reduce-scatter.2"]["avg_bandwidth_gbps"], (scatter + scatter / 4) / 2**30 / seconds(412785 + 2000 - 250))
    permute = 2 * 20 / 2**30 / seconds(412785 + 3000 - 250)
    close(rows["collective-permute.3"]["avg_bus_bandwidth_gbps"], permute)
    types = {row["type"]: row for row in table(os.path.join(out, "collective_types.csv"))}
    gather_row, mean = types["all-gather"], sum(gather) / 2
    assert [gather_row["num_operations"], gather_row["total_slices"]] == ["1", "2"]
    close(gather_row["std_bandwidth_gbps"], abs(gather[0] - gather[1]) / 2)
    close(gather_row["p25_bandwidth_gbps"], gather[1] + (gather[0] - gather[1]) * 0.25)
    close(gather_row["avg_data_size_mb"], data / 2**20)
    assert f"{'all-gather':<15} {1:<4} {mean:<8.1f} {mean * 7 / 8:<8.1f}\n" in done.stdout, done.stdout
    slices = table(os.path.join(out, "collective_groups.csv"))
    assert (slices[0]["gpus_in_data"], slices[0]["fastest_gpu_rank"], slices[0]["participants_in_data"]) == ("[0, 1]", "1", "2")
    check_known_collective(binary, folder)


def check_known_collective(binary, folder):
    """An all-gather of eight ranks with 1572864 bytes each, the fastest in 412.785 us: 49.681 GB/s, 43.471 on the bus."""
    planes = b"".join(plane(gpu, f"/device:GPU:{gpu}", [(3, "Stream #3", [event(1, 0, 412785 + gpu, 1, "all-gather.1")])],
                            ["rcclKernel"]) for gpu in range(8))
    profile = write(os.path.join(folder, "eight", "a.xplane.pb"), planes)
    dump = write(os.path.join(folder, "eight", "dump.txt"),
                 b'%x = s8[12582912]{0} all-gather(%p), replica_groups=[1,8]<=[8], dimensions={0}, '
                 b'metadata={scheduling_name="all-gather.1"}')
    run(binary, "jax-collective", profile, "--xla_dumps", dump, "--output_csvs_dir", folder, "--quiet")
    row, = table(os.path.join(folder, "collective_groups.csv"))
    assert row["algorithmic_bytes"] == "22020096.0", row
    for name, expected in (("algorithmic_bandwidth_gbps", 49.681), ("bus_bandwidth_gbps", 43.471)):
        assert abs(float(row[name]) - expected) < 1e-3, row


# ---- two traces of a language model ----

STAGES = [  # name of the kernel, end of its path, microseconds: one layer
    ("ln_fwd_tuned_kernel<Kernel_traits<bf16, 4096u, 1u>>", "/norm_attn/{mark}", 5), ("f", "/attn/q/add", 1),
    ("g", "/attn/q/dot_general", 20), ("g", "/attn/k/dot_general", 8), ("g", "/attn/v/dot_general", 8),
    ("aiter_FMHA_FWD_hd128", "/attn/x", 30), ("g", "/attn/out/dot_general", 20), ("Cijk_PostGSU4", "/attn/out/dot_general", 2),
    ("n", "/norm_mlp/y", 5), ("loop_multiply_fusion", "", 1), ("g", "/mlp/in/dot_general", 1000),
    ("loop_multiply_fusion_9", "", 3), ("g", "/mlp/out/dot_general", 60)]
EXPECTED = {"norm_attn": 5, "q_add": 1, "q_gemm": 20, "k_gemm": 8, "v_gemm": 8, "attn_core": 30, "out_gemm": 20, "norm_mlp": 5,
            "mlp_in_gemm": 1000, "swiglu_elementwise": 3, "mlp_out_gemm": 60, "post_gsu": 2, "other": 1}


def llama_trace(mark, factor):
    """Three tokens of two layers; the second token lacks its second layer."""
    events, ts = [{"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "h /device:GPU:0"}}], 0.0
    for token in range(3):
        for layer in range(1 if token == 1 else 2):
            for name, path, us in STAGES:
                path = f"jit(f)/Transformer/block_{layer}" + path.format(mark=mark) if path else "jit(f)/Transformer"
                events.append({"ph": "X", "pid": 2, "tid": 1, "ts": ts, "dur": us * factor, "name": name, "args": {"name": path}})
                ts += us * factor + 1
    events.append({"ph": "X", "pid": 2, "tid": 5, "ts": 0, "dur": 1, "name": "other stream"})
    return gzip.compress(json.dumps({"traceEvents": events[::-1]}).encode())


def check_llama(binary, folder):
    rocm = write(os.path.join(folder, "rocm.json.gz"), llama_trace("te_layernorm_forward", 2))
    cuda = write(os.path.join(folder, "cuda.json.gz"), llama_trace("te_norm_forward_ffi", 1))
    out = os.path.join(folder, "report.md")
    call = ("jax-llama-compare", "--rocm", rocm, "--cuda", cuda)
    done = run(binary, *call, "--tokens", "0:8", "--layers", "0:1", "--out", out)
    assert done.stdout == f"Wrote {out}\n", done.stdout
    with open(out, encoding="utf-8") as file:
        report = file.read()
    layer = sum(EXPECTED.values())
    for stage, us in EXPECTED.items():
        row = f"| {stage} | {2 * us:,.2f} | {100 * us / layer:.2f}% | {us:,.2f} | {100 * us / layer:.2f}% | 2.000 |"
        assert row in report, (row, report)
    assert "| k_add | 0.00 | 0.00% | 0.00 | 0.00% | inf |" in report
    assert f"- ROCm avg: **{4 * layer / 1000:.2f} ms/token** ({2 * layer:,.2f} µs/layer)" in report, report
    assert "- CUDA: d_model=4096, head_dim=128, PostGSU=4" in report
    assert "- [CUDA] token 1: incomplete blocks (have 1); skipped in stage avg" in report
    products = [us for name, _, us in STAGES if name == "g"] * 5  # five layers, of which p90 falls on the longest
    assert f"- `g` — count={len(products)}, total={sum(products) / 1000:,.2f} ms, " in report, report
    fail = run(binary, *call, "--layers", "0:9", code=1)
    assert "No complete token/layer windows found." in fail.stderr
    assert "Bad range '8:1': end < start." in run(binary, *call, "--tokens", "8:1", code=1).stderr


CHECKS = [check_analysis, check_shares, check_real_analysis, check_folders, check_collectives, check_llama]


def run_check(check, binary):
    with tempfile.TemporaryDirectory(prefix="gputally-test-") as folder:
        check(binary, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    binary = harness.require_binary(parser.parse_args().bin)
    return harness.run_functions((check.__name__, lambda check=check: run_check(check, binary)) for check in CHECKS)


if __name__ == "__main__":
    sys.exit(main())
