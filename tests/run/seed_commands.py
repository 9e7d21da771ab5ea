"""The shell blocks of the document on ROCprofv3 profiling configurations (seed 004): each runs in a folder with models, where `gputally links`
has written the name `madengine`. The commands end with status 0, the models succeed, and the files that the document names exist.

Stand-ins take the place of docker and SLURM, and of rocprofv3 without the real launcher (launchers.py). Blocks that submit jobs also run
on a real SLURM, and the others in containers of podman, where these are (test_slurm.py, test_containers.py).
tests/links/test_seed_documents.py calls this.
"""
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
from tests.run import launchers, test_containers
from tests.run.gpus import rocm_smi
from tests.run.projects import DOCKERFILE, Project, model
from tests.run.test_profiling_runs import STAND_INS as STAND_IN_FOLDER
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
PFTRACE, JSON = ["rocprof_output/model_trace.pftrace", "rocprof_output/2*/*_results.db"], ["rocprof_output/trace.json"]

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


def row_of(text):
    """The row of a block, which is printed on several lines or listed on one."""
    plain = re.sub(r"\s*\\?\n\s*", " ", text)
    rows = [row for row in BLOCKS if re.sub(r"\s*\\?\n\s*", " ", row[0]) in plain]
    equal((text, len(rows)), (text, 1))
    return rows[0]


def script():
    """Of the models. Under the real launcher, hip_program.py writes the files."""
    return SCRIPT + (f'python3 "{launchers.PROGRAM}"\n' if launchers.real_launcher() else "")


def models():
    return [model(name, n_gpus="8" if "titan" in name else "1") for name in MODELS]


def finish_project(binary, p):
    os.remove(os.path.join(p.bin, "madengine"))
    subprocess.run([binary, "links", "--quiet", p.bin], check=True)
    p.write("../smi", "0,0,100,1,10\n0,1,110,2,10\n")
    for name, text in (("rocm-smi", "ROCm version: 7.0.0"), ("rocprofv3-avail", "SQ_WAVES")):
        p.write(f"../bin/{name}", f"#!/bin/sh\necho '{text}'\n", 0o755)
    return p


def make_project(binary, real=True):
    p = finish_project(binary, Project(binary, models(), *STAND_INS, script=script() if real else SCRIPT))
    p.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE)
    os.symlink(shutil.which("which", path="/usr/bin:/bin"), os.path.join(p.bin, "which"))
    if real and launchers.real_launcher():
        os.remove(os.path.join(p.bin, "rocprofv3"))
        p.write("../bin/rocprofv3", f'#!/bin/sh\nexec "{sys.executable}" "{launchers.real_launcher()}" "$@"\n', 0o755)
    return p


class Containers(test_containers.Real):
    """The same with podman. rocprofv3 is in /opt/rocm/bin of the containers, outside of their PATH: the real launcher, or the stand-in."""

    def __init__(self, binary):
        self.variables = test_containers.settings()
        Project.__init__(self, binary, [], script=script())
        rocm = self.file("../rocm")
        if launchers.real_launcher():
            shutil.copytree(os.path.dirname(os.path.dirname(launchers.real_launcher())), rocm)
        else:
            os.makedirs(os.path.join(rocm, "bin"))
            shutil.copy(os.path.join(STAND_IN_FOLDER, "rocprofv3"), os.path.join(rocm, "bin"))
        folders = [f"{self.path}:{self.path}", f"{rocm}:/opt/rocm:ro", f"{harness.ROOT}:{harness.ROOT}:ro", f"{self.fixtures}:{self.fixtures}:ro", "/usr:/usr:ro"]
        mounts = " ".join("-v " + folder for folder in folders)
        self.write("models.json", json.dumps([{**m, "additional_docker_run_options": mounts} for m in models()]))
        test_containers.fill(self)
        variables = f"ENV PATH=/usr/bin:/bin STANDIN_LOG={self.log} STANDIN_FIXTURES={self.fixtures} PYTHONDONTWRITEBYTECODE=1 "
        self.write("docker/dummy.ubuntu.amd.Dockerfile", test_containers.DOCKERFILE + variables + "\n")
        os.makedirs(self.file("docker/root/opt/rocm"))
        finish_project(binary, self)

    def name(self, short):
        return "ci-" + short


def use_real_slurm(p):
    """Replaces the stand-ins for SLURM's programs by the real ones; returns the variables that they need."""
    variables = {"SLURM_CONF": cluster()}
    for name in SLURM:
        os.remove(os.path.join(p.bin, name))
        os.symlink(shutil.which(name, path=harness.SYSTEM_PATH), os.path.join(p.bin, name))
    return variables


def run_block(binary, block, make=make_project, real_slurm=False):
    _, folder, files, lines = row_of(block)
    with make(binary) as p:
        env = p.environment(**rocm_smi(os.path.join(p.path, "smi")), GPUTALLY_SLURM_POLL_SECONDS="0.2")
        if real_slurm:
            env.update(use_real_slurm(p))
            folder = folder.replace("4242", "*")
        done = subprocess.run(["bash", "-e", "-c", block], cwd=p.work, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.WALL_SECONDS)
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr[-3000:]}\n{done.stdout[-2000:]}"
        if folder is not None:
            check_block(p, block, folder, files, lines, done)


def check_block(p, block, folder, files, lines, done):
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
    its query. The stand-in writes a database as rocprofv3 does, hip_program.py only its tables."""
    with make_project(binary, real=False) as p:
        done = p.call("run", "--tags", "dummy_prof", "-c", '{"tools": [{"name": "rocprofv3_communication"}]}')
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


def tests(binary, blocks, text):
    """All blocks in all the ways that they can run; `text`: the document, or None."""
    equal(sorted(row_of(block)[0] for block in blocks if block.strip()), sorted(row[0] for row in BLOCKS if text or row[1] is not None or "Upload" not in row[0]))
    found = []
    for block in blocks:
        mark, folder, _, _ = row_of(block)
        title = f"madengine, block '{mark[:60]}'"
        found.append((title, lambda block=block: run_block(binary, block)))
        if folder and folder.startswith("slurm_results"):
            found.append((title + " on a real SLURM", lambda block=block: run_block(binary, block, real_slurm=True)))
        elif folder is not None:
            found.append((title + " with podman", lambda block=block: run_block(binary, block, make=Containers)))
    if text:
        found += [("madengine, the block of Python", lambda: run_python_block(binary, *re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))),
                  ("madengine, the blocks of JSON", lambda: run_json_blocks(binary, re.findall(r"^```json\n(.*?)^```", text, re.M | re.S)))]
    return found
