#!/usr/bin/env python3
"""Writes seeds of the targets that run steps of sweeps (fuzz_command_sweep_*): which setting is the best, what changed between two
sweeps, and submissions to SLURM.

    python3 -m tests.fuzz.make_sweep_corpus --fuzz_dir build-asan

A scenario lays out files and yields command lines, which are not run here. The traces are as small as the measures allow: a step has
a GEMM alone, a GEMM during a collective, a collective that nothing overlaps, and a kernel that ends the step.
"""
import argparse
import glob
import json
import os
import shutil
import sys
import tempfile

from tests.fuzz import record_seeds
from tests.fuzz.make_command_corpus import write
from tests.jax import test_reports as jax_reports
from tests.sweep.generate_sweep import write_workbook
from tests.sweep.test_recommendation import write_kernels
from tests.sweep.test_two_sweeps import machine

TOP = "tracelens_analysis/top5_gemm_kernels_time_variance.csv"


class Trace:
    def __init__(self, rank, ranks):
        self.rank, self.ranks, self.events, self.number = rank, ranks, [], 0

    def step(self, number, at):
        self.events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 9, "tid": 9, "ts": at - 9, "dur": 8})

    def kernel(self, name, launch, start, dur, stream=0, **more):
        self.number += 1
        link = {"correlation": self.number}
        self.events += [{"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 9, "tid": 9, "ts": launch, "dur": 1, "args": link},
                        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": start, "dur": dur,
                         "args": {**link, "device": 0, "stream": stream, **more}}]

    def collective(self, launch, start, dur, name="allreduce", elements=4096):
        self.kernel("ncclDevKernel", launch, start, dur, 1, **{
            "Collective name": name, "dtype": "Float", "In msg nelems": elements, "Out msg nelems": elements, "Group size": self.ranks,
            "Process Group Name": "0", "Process Group Ranks": str(list(range(self.ranks)))})


def trace(lengths_us, rank=0, ranks=1, slowdown=1.5, marked=True, **more):
    """The last step only ends the one before it."""
    t, at = Trace(rank, ranks), 1000
    for number, length in enumerate([*lengths_us, 0]):
        if marked:
            t.step(number, at)
        t.kernel("gemm_a", at - 8, at, 20)
        if length:
            t.collective(at - 7, at + 29, 20 * slowdown + 2, **more)
            t.kernel("gemm_a", at - 6, at + 30, 20 * slowdown)
            t.collective(at - 5, at + 80, 15, **more)
            t.kernel("fill", at - 4, at + 100, length - 100)
        at += length
    return {"distributedInfo": {"rank": rank, "world_size": ranks}, "traceEvents": t.events}


def lay_out(root, places, steps=1, ranks=(0,), world=None, **more):
    """places: {folder: length of a step in microseconds}"""
    for place, length in places.items():
        for rank in ranks:
            write(f"{root}/{place}/torch_profiler/rank{rank}/t.json",
                  trace([length + 2 * i for i in range(steps)], rank, world or len(ranks), **more))


def with_repeats(places, repeats=2):
    return {(f"repeat_{r}/" if r > 1 else "") + place: length + r for place, length in places.items() for r in range(1, repeats + 1)}


def classic(*lengths):
    names = [f"{t}thread/nccl_{c}channels" for t in (256, 512) for c in (28, 42)]
    return dict(zip(names, lengths))


def record(root, axes, points, **more):
    """points: {folder: (values, repeat, status, command)}"""
    write(f"{root}/sweep.json", {"sweep": root, "axes": [{"name": name, "values": values, "variable": variable} for name, values, variable in axes],
                                 "points": [{"values": values, "repeat": repeat, "directory": f"{root}/{place}", "status": status, "exit_code": 0,
                                             "command": command} for place, (values, repeat, status, command) in points.items()], **more})


def top_rows(axes="threads,channel,rank"):
    rows = "".join(f"{256 * (1 + i % 2)},{28 + i % 3},{i % 2},gemm_a,{10 + i},{20 + 3 * i},{10 + 2 * i}\n" for i in range(6))
    return f"{axes},kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us\n{rows}"


PAGE = ["--output_html", "out/page.html", "--output_json", "out/d.json"]


def decisions():
    """`sweep decide` for each kind of spread and of trace."""
    lay_out("best", with_repeats(classic(400, 300, 400, 400)))
    write(f"best/{TOP}", top_rows())
    parts = ["computation_time", "exposed_comm_time", "busy_time", "idle_time", "total_time"]
    write_workbook("best/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx", Summary_By_Config=[
        ["full_config", *(f"{part} (ms)" for part in parts)], ["256thread_28ch", 1, 2.5, 3, 4, 5], ["256thread_28ch_repeat_2", 1, 2, 3, 4, None],
        ["none", 1, 2, 3, 4, 5]])
    yield ["sweep", "decide", "best", *PAGE, "--baseline", "256thread_28ch"]
    lay_out("equal", with_repeats(classic(300, 301, 302)), slowdown=1.0)
    yield ["sweep", "decide", "equal", *PAGE]
    for place, lengths in (("mode_a", (300, 300.1)), ("mode_b", (300, 500))):
        lay_out("noisy", {place: lengths[0], f"repeat_2/{place}": lengths[1]})
    yield ["sweep", "decide", "noisy", *PAGE]
    lay_out("steps", classic(300, 320), steps=3)
    yield ["sweep", "decide", "steps", *PAGE, "--baseline", "256thread_42ch"]
    lay_out("ranks", classic(300, 340, 360), ranks=(0, 1), marked=False)
    shutil.rmtree("ranks/512thread/nccl_28channels/torch_profiler/rank1")
    yield ["sweep", "decide", "ranks", *PAGE]
    lay_out("single", classic(300, 350), marked=False, name="broadcast")
    write_workbook("single/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx", Summary_By_Config=[["config"], ["256thread_28ch"]])
    yield ["sweep", "decide", "single", *PAGE]
    lay_out("one", classic(300), ranks=(0, 2), world=3)
    write("one/512thread/nccl_28channels/torch_profiler/rank0/t.json", '{"traceEvents":[')
    yield ["sweep", "decide", "one", *PAGE]
    axes = {f"mode_{m}/batch_{b}": 300 + 20 * int(b) + (0 if m == "a*" else 9) for m in ("a*", "b c") for b in ("1", "2", "4")}
    lay_out("axes", axes)
    record("axes", [("mode", ["a*", "b c"], "MODE"), ("batch", ["1", "2", "4"], "1 batch")],
           {place: ({"mode": place[5:].split("/")[0], "batch": place[-1]}, 1, "SUCCESS", "train") for place in axes})
    yield ["sweep", "decide", "axes", *PAGE]
    for threads in 256, 512:
        kernels = [("gemm_a", 0, 100), ("gemm_b", 100, 130), ("ncclDevKernel", 150, 300), ("gemm_a", 160, 240), ("gemm_b", 240, 290),
                   ("fill", 300, threads)]
        write_kernels(f"rocprof/{threads}thread/nccl_28channels/rocprof_traces/host/77_kernel_trace.csv", kernels)
    yield ["sweep", "decide", "rocprof", *PAGE]
    write("jax/256thread/nccl_28channels/plugins/profile/2026/a.xplane.pb", jax_reports.collective_profile(0))
    write("jax/256thread/nccl_28channels/run_output.log", "")
    yield ["sweep", "decide", "jax", *PAGE]


def left_out():
    """Runs that failed or had another command, and tasks of SLURM that have ended since sweep.json was written."""
    places = with_repeats(classic(300, 320, 340, 400))
    lay_out("s", places)
    points = {place: ({"threads": place[-25:-22], "channels": place[-10:-8]}, 1 + ("repeat" in place), "SUCCESS",
                      "new" if "42" in place else "old") for place in places}
    points["512thread/nccl_42channels"] = ({"threads": "512", "channels": "42"}, 1, "FAILED", "new")
    points["256thread/nccl_28channels"] = ({"threads": "256", "channels": "28"}, 1, "PENDING", "new")
    record("s", [("threads", ["256", "512"], "T"), ("channels", ["28", "42"], "C")], points, commands=["old", "new"],
           sessions=[{"machine": machine("2.20", "2.5", "MI300X", 2100, 130)}])
    tasks(["256thread/nccl_28channels", "512thread/nccl_42channels", "512thread/nccl_28channels", "nowhere"])
    for more in ([], ["--include_failed"]):
        yield ["sweep", "decide", "s", *more, "-o", "out", *PAGE]


def kept():
    """The second command uses what the first one has kept, or removes it."""
    lay_out("k", classic(300, 320), ranks=(0, 1))
    record("k", [], {"256thread/nccl_42channels": ({"threads": "256", "channels": "42"}, 1, "FAILED", "train")})
    decide, report = ["sweep", "decide", "k", *PAGE], ["sweep", "report", "k"]
    yield [*decide, "&&", *decide]
    yield [*report, "&&", *report]
    yield [*report, "--include_failed", "&&", *report]
    yield [*report, "--partials", "p", "&&", *report, "--force", "--partials", "p"]
    yield [*report, "&&", "sweep", "timeline", "--sweep_dir", "k", "&&", *decide]


def tasks(places, root="s", stamp="20260101_000000"):
    """A submission with one task of each fate: ended well, killed and started again, cancelled, not begun."""
    at = f"{root}/slurm/{stamp}"
    write(f"{at}/tasks.json", {"name": f"sweep_{stamp}_1", "array_size": 2, "at_once": 1, "timeout_s": 5, "unset": ["A"],
                               "tasks": [{"place": place, "directory": f"{root}/{place}", "rocprof_directory": None if i else f"{root}/{place}/r",
                                          "argv": ["train", "it's"], "env": ["B=1"]} for i, place in enumerate(places)]})
    write(f"{at}/jobs.json", {"jobs": ["12", "14"]})
    begun = {"job": "12_0", "node": "n1", "start": "2026-01-01T00:00:00+0000"}
    ended = {**begun, "status": "SUCCESS", "exit_code": 0, "end": "2026-01-01T00:01:00+0000", "duration_s": 60, "output_files": 1, "output_bytes": 9}
    write(f"{at}/results/0.0.json", ended)
    write(f"{at}/results/1.0.json", begun)
    write(f"{at}/results/1.1.json", {**begun, "job": "12_1"})
    write(f"{at}/results/1.slurm.json", {"status": "TIMEOUT", "exit_code": None, "end": "2026-01-01T00:02:00+0000", "state": "TIMEOUT"})
    write(f"{at}/results/2.slurm.json", {"status": "FAILED", "exit_code": 1, "end": "", "state": "FAILED"})
    write(f"{at}/nodes/n1.json", {"start": "", "task": f"{stamp}/n1", "machine": machine("2.21", "2.6", "MI300X", 2100, 130)})


def changes():
    """`sweep compare OLD NEW`: worse, better, missing, new, not comparable; machines that differ; gates."""
    answers = ["--output", "out", "--output_json", "out/a.json", "--output_md", "out/a.md", "--output_html", "out/page.html"]
    lay_out("old", with_repeats(classic(300, 400, 350)))
    lay_out("new", with_repeats(classic(400, 300, 352)), slowdown=2)
    for name, machines in (("old", [machine("2.20", "2.5", "MI300X", 2100, 130)]),
                           ("new", [machine("2.21", "2.5", "MI300X", 2100, 133), machine("2.22", "2.5", "MI325X", 2400, 133), None])):
        write(f"{name}/sweep.json", {"sweep": name, "points": [], "sessions": [{"machine": m} for m in machines]})
    yield ["sweep", "compare", "old", "new", *answers, "--fail_if", "step_ms > 3% significant", "--fail_if", "bus_gb_s < -5%"]
    yield ["sweep", "compare", "old", "new", *answers, "--fail_if", "'512*'.gemm_ms > 90%", "--quiet"]
    lay_out("few", {**classic(300, 400), "512thread/nccl_56channels": 500})
    for place in ("256thread/nccl_28channels", "512thread/nccl_28channels"):
        lay_out("other", {place: 310}, ranks=(0, 1), steps=2)
    yield ["sweep", "compare", "few", "other", *answers, "--fail_if", "step_ms > 1%", "--allow_missing"]
    yield ["sweep", "compare", "old", "few", *answers, "--fail_if", "step_ms > 1% significant"]
    lay_out("plain", classic(300, 400), marked=False)
    yield ["sweep", "compare", "plain", "plain", *answers, "--fail_if", "step_ms > 1% significant"]
    shutil.rmtree("old/repeat_2")
    shutil.rmtree("new/repeat_2")
    yield ["sweep", "compare", "old", "new", "few", "plain", "--output_html", "out/page.html"]
    shutil.rmtree("new/256thread")
    yield ["sweep", "compare", "plain", "new", *answers]
    head = {"cuda_driver_version": 12080, "distributedInfo": {"backend": "nccl", "nccl_version": "2.21.5", "world_size": 1},
            "deviceProperties": [{"id": 0, "name": "AMD <b>"}] * 2}
    write("heads/256thread/nccl_28channels/torch_profiler/rank0/t.json", {**head, "traceEvents": trace([300])["traceEvents"]})
    yield ["sweep", "compare", "heads", "plain", *answers]


def plots_of_sweeps():
    """`sweep html` of sweeps with and without rows, and with other axes."""
    for name, axes in (("a", "threads,channel,rank"), ("b", "threads,axis batch,rank"), ("c*", "threads,axis batch,axis x")):
        write(f"{name}/{TOP}", top_rows(axes))
    write("d/x", "")
    write(f"e/{TOP}", "threads\n1\n")
    yield ["sweep", "html", "--sweep1", "a", "--sweep2", "b", "--sweep", "c*=*", "--sweep", "d", "--output", "out/page.html"]
    yield ["sweep", "html", "--sweep", "a", "--sweep", "a=again", "--sweep", "e", "--output", "out/page.html"]
    yield ["sweep", "html", "--sweep", "d", "--sweep", "e", "--output", "out/page.html"]


def times_of_any_axes():
    """`sweep timestamps`: the runs of a sweep are found by the values of its axes."""
    lay_out("s", {"mode_a b/batch_8": 300, "mode_true/batch_2": 300, "repeat_2/mode_NA/batch_8": 300})
    write("top.csv", "mode,batch,repeat,rank,kernel_name,kernel_time_min_us,kernel_time_max_us,time_diff_us\na b,8.0,1,0,gemm_a,20,30,10\n"
          "True,2,1,0,gemm_a,20,30,10\n,8,2,0,gemm_a,20,30,10\nnone,8,,0,gemm_a,20,30,10\n")
    yield ["sweep", "timestamps", "--input_csv", "top.csv", "--base_path", "s"]


def odd_sheets():
    """Sheets of two runs whose columns have other types, that one run lacks, or that have no runs."""
    write_workbook("./a.xlsx", both=[["n", "f", "b", "s", "source"], [1, 2.5, True, "x", "old"], [None, 3.5, False, "y", "old"]], only=[["n"], [1]])
    write_workbook("./b.xlsx", both=[["n", "f", "b", "s", "more"], ["one", "two", "three", 4, 5]])
    yield ["sweep", "combine-reports", "--baseline", "a.xlsx", "--test", "b.xlsx", "--output", "out/c.xlsx"]
    write_workbook("./c.xlsx", gpu_timeline=[["type", "time ms"], ["busy_time", 1]])
    yield ["sweep", "add-comparison-sheets", "--input", "c.xlsx", "--output", "out/d.xlsx"]


def queues():
    """`sweep run` on SLURM: what is submitted, and what earlier submissions have become. The stand-ins of the target print the replies."""
    grid = ["--threads", "256,512", "--channels", "28,42", "-o", "s", "--target", "slurm"]
    command = ["--", "train", "{threads}"]
    write("c.json", {"slurm": {"nodes": 2, "gpus_per_node": 4, "partition": "p", "cpus_per_task": 3}, "distributed": {"launcher": "torchrun"},
                     "env_vars": {"A": "1", "MY_TOKEN": "x"}, "other": 1})
    write("reply.sbatch", "12;c\n")
    write("reply.scontrol", "MaxArraySize = 3\n")
    yield ["sweep", "run", *grid, "--generate_only", *command]
    yield ["sweep", "run", *grid, "--no_wait", "--slots", "2", "--repeat", "2", "--rocprof", *command]
    yield ["sweep", "run", *grid, "--no_wait", "--additional_context_file", "c.json", "--gpus", "3"]
    yield ["sweep", "run", *grid, "--generate_only", "--additional_context_file", "c.json", "--rocprof", *command]
    write("reply.sbatch", "no\n")
    yield ["sweep", "run", *grid, "--no_wait", *command]
    shutil.rmtree("s", ignore_errors=True)
    places = list(classic(1, 2, 3, 4))
    record("s", [], {place: ({"threads": place[:3], "channels": place[-10:-8]}, 1, "PENDING", "old") for place in places})
    tasks(places)
    write("reply.sbatch", "15\n")
    write("reply.squeue", "gputally-sweep_20260101_000000_1.2|0|RUNNING|14|None\ngputally-sweep_20260101_000000_1.2|1|CANCELLED|14|x\n")
    write("reply.sacct", "RUNNING|0:0\nOUT_OF_MEMORY|0:9\n")
    for more in (["--skip_existing"], ["--no_wait"], ["--skip_existing", "--generate_only"]):
        yield ["sweep", "run", *grid, *more, *command]
    write("reply.squeue", "")
    yield ["sweep", "run", *grid, "--skip_existing", "--repeat", "2", *command]
    write("reply.scontrol", "JobId=14 JobState=FAILED Reason=None ExitCode=1:0\n")
    yield ["sweep", "run", *grid, "--no_wait", *command]
    os.remove("reply.squeue")
    yield ["sweep", "run", *grid, "--skip_existing", "--no_wait", *command]
    yield ["sweep", "run", "--dry_run", "--skip_existing", *grid[:6], *command]
    write("s/256thread/nccl_28channels/t.json", "123456789")
    yield ["sweep", "run", "--dry_run", "--skip_existing", *grid[:6], *command]
    yield ["sweep", "run", "--dry_run", "--slots", "2", "--gpus", "0,1,2", *grid[:6], *command]
    for gpus in ("0,0", "none", "0", "0,,1"):
        yield ["sweep", "run", "--dry_run", "--slots", "2", "--gpus", gpus, *grid[:6], *command]
    yield ["sweep", "run", "--dry_run", "--task", "0", "-o", "s/slurm/20260101_000000"]
    yield ["sweep", "run", "--dry_run", "--task", "9", "-o", "s/slurm/20260101_000000"]
    tasks(["a"], stamp="2")
    with open("s/slurm/2/tasks.json", encoding="utf-8") as file:
        damaged = json.load(file)
    damaged["tasks"][0]["argv"] = [1]
    write("s/slurm/2/tasks.json", damaged)
    yield ["sweep", "run", "--dry_run", "--task", "0", "-o", "s/slurm/2"]


SCENARIOS = (decisions, left_out, kept, changes, plots_of_sweeps, times_of_any_axes, odd_sheets, queues)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz_dir", required=True)
    parser.add_argument("--corpus", default=os.path.join(record_seeds.HERE, "corpus"))
    options = parser.parse_args()
    home = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="gputally-calls-") as store:
        for scenario in SCENARIOS:
            with tempfile.TemporaryDirectory(prefix="gputally-scenario-") as folder:
                os.chdir(folder)
                for line in scenario():
                    record_seeds.record(store, line, also=glob.glob("reply.*"))
                os.chdir(home)
        seeds = record_seeds.read_calls(store)
    record_seeds.add_seeds(options.fuzz_dir, options.corpus, seeds)


if __name__ == "__main__":
    sys.exit(main())
