#!/usr/bin/env python3
"""Every command line of the document on ROCprofv3 profiling configurations (seed 004), as it stands: each block of shell commands is
run in a folder with models, where `gputally links` has written the name `madengine`, and stand-ins take the place of profilers, docker and SLURM; blocks that submit jobs also run on a real SLURM if it is installed
(test_slurm.py).
The commands end with status 0, the models succeed, and the files that the document names exist. Skipped without the document.

    python3 -m tests.run.test_seed_commands --bin build/gputally [TEXT]      only blocks with TEXT in them
"""
import argparse
import glob
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

from tests.common import harness
from tests.run.projects import DOCKERFILE, Project, model
from tests.run.test_profiling_runs import equal
from tests.run.test_slurm import cluster

SEEDS = os.path.join(os.path.dirname(os.path.dirname(harness.CONFORMANCE_TRACES)), "seeds")
MODELS = ["your_model", "dummy_prof", "pyt_vllm_llama2_7b", "pyt_torchtitan_llama3_8b", "pyt_torchvision_resnet50"]
SLURM = ["sbatch", "srun", "squeue", "sacct", "scontrol"]
STAND_INS = ["docker", "rocprofv3", "rocprof", *SLURM]
SCRIPT = """echo "runner: $MAD_MULTI_NODE_RUNNER"
echo "RCCL_DEBUG=$RCCL_DEBUG NCCL_DEBUG=$NCCL_DEBUG OMP=$OMP_NUM_THREADS SDMA=$HSA_ENABLE_SDMA"
echo "./rocblas-bench -f gemm"
echo "MIOpen(HIP): Command [x] ./bin/MIOpenDriver conv -n 1"
echo "performance: 100 samples_per_second"
"""

NODE = ["rocprof_output/2*/kernel_trace.csv", "rocprof_output/2*/hip_api_trace.csv", "rocprof_output/latest", "gputally_run.json"]
REPORT = ["*_perf_report.xlsx", "*_perf_report.html"]
TRACE = NODE + REPORT
POWER, VRAM, LIBRARIES = ["gpu_info_power_profiler_output.csv"], ["gpu_info_vram_profiler_output.csv"], ["library_trace.csv"]
PFTRACE, JSON = ["rocprof_output/model_trace.pftrace"], ["rocprof_output/trace.json"]

# What identifies a block, the files that it leaves (below the first folder that exists), and what the model's log must show.
BLOCKS = [
    ("your_model \\\n  --additional-context-file examples/profiling-configs/rocprofv3_compute_bound.json", "", TRACE + PFTRACE + POWER, []),
    ("your_model \\\n  --additional-context-file examples/profiling-configs/rocprofv3_memory_bound.json", "", TRACE + PFTRACE + VRAM, []),
    ("your_model \\\n  --additional-context-file examples/profiling-configs/rocprofv3_multi_gpu.json", "slurm_results/your_model/4242/node_0", TRACE + PFTRACE + POWER + VRAM,
     ["RCCL_DEBUG=INFO", "OMP=8", "runner: torchrun --standalone --nproc_per_node=4"]),
    ("rocprofv3_comprehensive.json", "", TRACE + PFTRACE + POWER + VRAM + LIBRARIES, ["RCCL_DEBUG=INFO", "SDMA=0"]),
    ("your_model \\\n  --additional-context-file examples/profiling-configs/rocprofv3_lightweight.json", "", TRACE + JSON, []),
    ("madengine build --tags your_model --registry your-registry:5000", "slurm_results/your_model/4242/node_1", NODE + ["../" + name for name in REPORT] + PFTRACE + POWER + VRAM,
     ["RCCL_DEBUG=INFO NCCL_DEBUG=INFO OMP=8", "runner: torchrun --nnodes=2 --nproc_per_node=4"]),
    ('"tools": [{"name": "rocprofv3_compute"}]', "", TRACE + PFTRACE, []),
    ('"tools": [{"name": "rocprofv3_communication"}]', "", TRACE + PFTRACE, ["RCCL_DEBUG=INFO", "runner: torchrun --standalone --nproc_per_node=8"]),
    ("-d ./my_traces --", "", ["my_traces/2*/*_results.pftrace", "*_perf_report.xlsx"], ["RCCL_DEBUG=TRACE", "SDMA=0"]),
    ("pyt_vllm_llama2_7b", "", TRACE + PFTRACE + POWER, []),
    ("pyt_torchtitan_llama3_8b", "slurm_results/pyt_torchtitan_llama3_8b/4242/node_0", TRACE + PFTRACE + POWER + VRAM, ["RCCL_DEBUG=INFO"]),
    ("pyt_torchvision_resnet50", "", TRACE + PFTRACE + VRAM, []),
    ("dummy_prof \\\n  --additional-context-file examples/profiling-configs/rocprofv3_lightweight.json", "", TRACE + JSON, []),
    ("--output-format json -d ./traces --", "", ["traces/2*/*_results.json", "*_perf_report.xlsx"], []),
    ("which rocprofv3", None, [], []),
    ("rocprofv3-avail", None, [], []),
    ("Upload files to https://ui.perfetto.dev/", None, [], []),
]


def document():
    paths = glob.glob(os.path.join(SEEDS, "004_*.txt"))
    if not paths:
        raise harness.Skipped(f"no seed 004 in {SEEDS}")
    with open(paths[0], encoding="utf-8") as f:
        return f.read()


def make_project(binary):
    p = Project(binary, [model(name, n_gpus="8" if "titan" in name else "1") for name in MODELS], *STAND_INS, script=SCRIPT)
    os.remove(os.path.join(p.bin, "madengine"))
    subprocess.run([binary, "links", "--quiet", p.bin], check=True)
    p.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE)
    p.write("../smi", "0,0,100,1,10\n0,1,110,2,10\n")
    os.symlink(shutil.which("which", path="/usr/bin:/bin"), os.path.join(p.bin, "which"))
    for name, text in (("rocm-smi", "ROCm version: 7.0.0"), ("rocprofv3-avail", "SQ_WAVES")):
        p.write(f"../bin/{name}", f"#!/bin/sh\necho '{text}'\n", 0o755)
    return p


def use_real_slurm(p):
    """Replaces the stand-ins for SLURM's programs by the real ones; returns the variables that they need."""
    variables = {"SLURM_CONF": cluster()}
    for name in SLURM:
        os.remove(os.path.join(p.bin, name))
        os.symlink(shutil.which(name, path=harness.SYSTEM_PATH), os.path.join(p.bin, name))
    return variables


def run_block(binary, block, folder, files, lines, real_slurm=False):
    with make_project(binary) as p:
        env = {**p.environment(GPUTALLY_SYSFS=p.path), "GPUTALLY_SMI_FAKE": os.path.join(p.path, "smi"), "GPUTALLY_SLURM_POLL_SECONDS": "0.2"}
        if real_slurm:
            env.update(use_real_slurm(p))
            folder = folder.replace("4242", "*")
        done = subprocess.run(["bash", "-e", "-c", block], cwd=p.work, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.WALL_SECONDS)
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-3000:]}\n{done.stdout[-2000:]}"
        if folder is None:
            return
        for pattern in files:
            found = [name for name in glob.glob(os.path.join(p.work, folder, pattern)) if os.path.getsize(name)]
            assert found, f"no {pattern} in {folder}\n{p.tree()}\n{done.stderr[-3000:]}"
        rows = p.table()
        equal([(row["performance"], row["metric"], row["status"]) for row in rows], [("100", "samples_per_second", "SUCCESS")])
        logs = "".join(p.read(name) for name in p.tree() if name.endswith(".run.live.log"))
        for line in lines:
            assert line in logs, f"no {line!r} in\n{logs}"
        if "library_trace.csv" in files:
            text = p.read("library_trace.csv")
            assert "rocblas,./rocblas-bench -f gemm," in text and "miopen,./bin/MIOpenDriver conv -n 1," in text, text
        if "registry" in block:
            image = json.loads(p.read("build_manifest.json"))["built_images"]["ci-your_model_dummy.ubuntu.amd"]
            equal(image["registry_image"], "your-registry:5000/ci-your_model_dummy.ubuntu.amd")


def run_python_block(binary, block):
    """The block of Python, with the placeholders filled in: the view "kernels" of a database that rocprofv3 wrote. Without pandas, only
    its query."""
    with make_project(binary) as p:
        done = p.call("run", "--tags", "dummy_prof", "-c", '{"tools": [{"name": "rocprof"}]}')
        assert done.returncode == 0, done.stderr
        database = glob.glob(p.file("rocprof_output/2*/*_results.db"))
        equal(len(database), 1)
        with sqlite3.connect(database[0]) as connection:
            assert connection.execute("SELECT COUNT(*) FROM kernels").fetchone()[0] > 0
        if importlib.util.find_spec("pandas"):
            program = block.replace("rocprof_output/<timestamp>/*_results.db", database[0])
            assert program != block
            shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
            assert re.search(r"\[\d rows x \d+ columns\]", shown), shown


def run_json_blocks(binary, blocks):
    """The entries of "tools" that are printed as right and wrong: both work, because the missing "--" is added with a note."""
    for block in blocks:
        tool = {"name": "rocprof", **json.loads(block)}
        with make_project(binary) as p:
            done = p.call("run", "--tags", "dummy_prof", "-c", json.dumps({"tools": [tool]}))
            assert done.returncode == 0 and glob.glob(p.file("rocprof_output/2*/*")), done.stderr
            equal("added the missing separator --" in done.stderr, not tool["cmd"].endswith("--"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary = harness.require_binary(options.bin)
    try:
        text = document()
    except harness.Skipped as reason:
        print(f"skipped: {reason}\n0 passed, 0 failed")
        return 0
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)

    def every_block_is_known():
        for block in blocks:
            equal((block, sum(mark in block for mark, *_ in BLOCKS)), (block, 1))
        for mark, *_ in BLOCKS:
            assert any(mark in block for block in blocks), mark
        equal(len(blocks), len(BLOCKS))
    tests = [("every_block_is_known", every_block_is_known), ("the_block_of_python", lambda: run_python_block(binary, *re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))),
             ("the_blocks_of_json", lambda: run_json_blocks(binary, re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)))]
    for mark, folder, files, lines in BLOCKS:
        for block in blocks:
            if mark in block and options.only in block:
                tests.append((f"block '{mark[:60]}'", lambda block=block, folder=folder, files=files, lines=lines: run_block(binary, block, folder, files, lines)))
                if folder and folder.startswith("slurm_results"):
                    tests.append((f"on a real SLURM: block '{mark[:60]}'",
                                  lambda block=block, folder=folder, files=files, lines=lines: run_block(binary, block, folder, files, lines, real_slurm=True)))
    return harness.run_functions(tests)


if __name__ == "__main__":
    sys.exit(main())
