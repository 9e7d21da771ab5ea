#!/usr/bin/env python3
"""Which kernels count as communication: --comm_kernels, --comm_kernel_regex, the warning and the line of the summary.

    python3 -m tests.pytorch.test_communication_kernels --bin build/gputally

Each trace has kernels one after the other, so that the times of gpu_timeline are sums of durations.
"""
import json
import os
import sys

from tests.common.harness import Case, read_csv, run, run_cases

DEEP_EP = "void deep_ep::internode_ll::dispatch<false, true, 3, 7168>(void*, float*, int*)"
MORI = "void mori::moe::EpDispatchIntraNodeKernel<hip_bfloat16>(mori::moe::EpDispatchCombineArgs)"
COMBINE = "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)"
MINE = "halo_exchange_kernel"
KERNELS = [("gemm", 40), (DEEP_EP, 25), ("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 10), (COMBINE, 5), (MINE, 20)]  # µs
HINT = "kernels that look like communication are counted as computation: DeepEP (1 kernel, 0.025 ms)"


def make_trace(path, rank=0):
    events, at = [], 0
    for number, (name, dur) in enumerate(KERNELS, 1):
        events += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::op", "pid": 1, "tid": 1, "ts": at, "dur": 2},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 1,
             "args": {"correlation": number}},
            {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": number, "pid": 1, "tid": 1, "ts": at},
            {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": number, "pid": 0, "tid": 7, "ts": at, "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 3 + rank, "dur": dur,
             "args": {"correlation": number, "stream": 7}}]
        at += dur
    with open(path, "w") as file:
        json.dump({"traceEvents": events}, file)


def timeline(folder):
    _, rows = read_csv(os.path.join(folder, "out", "gpu_timeline.csv"))
    return {kind: round(float(ms) * 1000, 6) for kind, ms, _ in rows}


def of_pytorch(binary, arguments, communication_us, line, hint):
    """The command and its options -> time of communication, the line of the summary, whether it warns."""
    def check(folder):
        make_trace(os.path.join(folder, "trace.json"))
        done = run([binary, *arguments, "trace.json", "--extra", "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        found = timeline(folder)
        problems = [f"{kind}: {found[kind]} µs instead of {wanted}" for kind, wanted in
                    (("total_comm_time", communication_us), ("exposed_comm_time", communication_us),
                     ("computation_time", 100 - communication_us)) if found[kind] != wanted]
        _, ops = read_csv(os.path.join(folder, "out", "ops_summary.csv"))
        if float(ops[0][1]) != 100 - communication_us:
            problems.append(f"ops_summary has {ops[0][1]} µs instead of {100 - communication_us}")
        _, (row,) = read_csv(os.path.join(folder, "out", "temporal_breakdown.csv"))
        if float(row[2]) != 100 - communication_us:
            problems.append(f"temporal_breakdown has {row[2]} µs of computation")
        if f"\ncommunication: {line}\n" not in done.stdout:
            problems.append(f"the summary lacks 'communication: {line}':\n{done.stdout[:300]}")
        if (HINT in done.stderr) != hint:
            problems.append(f"warning: {done.stderr}")
        return problems
    return check


def of_usage(binary, arguments, message):
    def check(folder):
        make_trace(os.path.join(folder, "trace.json"))
        done = run([binary, *arguments, "--output_csvs_dir", "out"], cwd=folder)
        if done.code != 2 or message not in done.stderr or os.path.exists(os.path.join(folder, "out")):
            return [f"exit status {done.code}: {done.stderr}"]
        return []
    return check


def of_rocprof(binary, command, arguments, categories):
    def check(folder):
        with open(os.path.join(folder, "1_kernel_trace.csv"), "w") as file:
            file.write('"Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id",'
                       '"Start_Timestamp","End_Timestamp"\n')
            at = 1000
            for number, (name, dur) in enumerate(KERNELS, 1):
                name = MORI if name == DEEP_EP else name  # rocprofv3's short names have no namespaces
                file.write(f'"KERNEL_DISPATCH","Agent 1",1,1,{number},{number},"{name}",{number},{at},{at + dur * 1000}\n')
                at += dur * 1000
        done = run([binary, command, "1_kernel_trace.csv", *arguments, "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        headings, rows = read_csv(os.path.join(folder, "out", "kernel_summary_by_category.csv"))
        found = {row[0]: round(float(row[headings.index("total_direct_kernel_time_ms")]) * 1000, 6) for row in rows}
        problems = [] if found == categories else [f"{found} instead of {categories}"]
        hinted = "in other categories than COMM: MORI (1 kernel, 0.025 ms)" in done.stderr
        if hinted == ("all" in arguments or command == "report"):
            problems.append(f"warning: {done.stderr}")
        return problems
    return check


def of_collective(binary, arguments, kernels):
    """Ranks that start one after the other: each kernel that counts is a row per rank."""
    def check(folder):
        for rank in range(2):
            make_trace(os.path.join(folder, f"rank{rank}_trace.json"), rank)
        done = run([binary, "collective", "--trace_dir", ".", "--world_size", "2", "--quiet", *arguments,
                    "--output_csvs_dir", "out"], cwd=folder)
        if done.problems() or done.code:
            return done.problems() + [done.stderr]
        headings, rows = read_csv(os.path.join(folder, "out", "nccl_long.csv"))
        found = sorted(float(row[headings.index("dur")]) for row in rows)
        wanted = sorted(dur for name, dur in KERNELS if name in kernels for _ in range(2))
        return [] if found == wanted else [f"nccl_long has kernels of {found} µs instead of {wanted}"]
    return check


def cases(binary):
    nccl, deep = "NCCL or RCCL (1 kernel, 0.010 ms)", "DeepEP (1 kernel, 0.025 ms)"
    mine = "^halo_ (1 kernel, 0.020 ms)"
    yield Case("pytorch", of_pytorch(binary, ["pytorch"], 10, nccl, True))
    yield Case("pytorch, all", of_pytorch(binary, ["pytorch", "--comm_kernels", "all"], 35, f"{deep}, {nccl}", False))
    yield Case("pytorch, expression", of_pytorch(binary, ["pytorch", "--comm_kernel_regex", "^halo_"], 30,
                                                 f"{mine}, {nccl}", True))
    yield Case("pytorch, two expressions", of_pytorch(
        binary, ["pytorch", "--comm_kernel_regex", "^halo_", "--comm_kernel_regex=(?i)DEEP_EP"], 55,
        f"(?i)DEEP_EP (1 kernel, 0.025 ms), {mine}, {nccl}", False))
    yield Case("report", of_pytorch(binary, ["report"], 35, f"{deep}, {nccl}", False))
    yield Case("report, as TraceLens", of_pytorch(binary, ["report", "--comm_kernels", "tracelens"], 10, nccl, True))
    yield Case("report, expression", of_pytorch(binary, ["report", "--comm_kernel_regex", "^halo_"], 55,
                                                f"{deep}, {mine}, {nccl}", False))
    for command in (["pytorch", "trace.json"], ["report", "trace.json"], ["rocprof", "trace.json"],
                    ["collective", "--trace_dir", ".", "--world_size", "1"]):
        yield Case(f"{command[0]}, invalid expression", of_usage(
            binary, [*command, "--comm_kernel_regex", "(open"],
            "argument --comm_kernel_regex: invalid regular expression '(open': missing closing parenthesis"))
        yield Case(f"{command[0]}, invalid set", of_usage(
            binary, [*command, "--comm_kernels", "some"], "argument --comm_kernels: invalid choice: 'some'"))
    # In the categories of TraceLens, AllReduce_Sum is a Reduction and flash_fwd_splitkv_combine an Attention kernel.
    yield Case("rocprof", of_rocprof(binary, "rocprof", [], {"GEMM": 40, "Other": 45, "Reduction": 10, "Attention": 5}))
    yield Case("rocprof, all", of_rocprof(binary, "rocprof", ["--comm_kernels", "all"],
                                          {"GEMM": 40, "COMM": 35, "Other": 20, "Attention": 5}))
    yield Case("rocprof, expression", of_rocprof(binary, "rocprof", ["--comm_kernel_regex", "^halo_"], {
        "GEMM": 40, "Other": 25, "COMM": 20, "Reduction": 10, "Attention": 5}))
    yield Case("rocprof by report", of_rocprof(binary, "report", [], {"GEMM": 40, "communication": 35, "other": 20, "attention": 5}))
    nccl = KERNELS[2][0]
    yield Case("collective", of_collective(binary, [], [nccl]))
    yield Case("collective, all", of_collective(binary, ["--comm_kernels", "all"], [nccl, DEEP_EP]))
    yield Case("collective, expression", of_collective(binary, ["--comm_kernel_regex", "^halo_"], [nccl, MINE]))


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
