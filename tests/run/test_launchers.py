#!/usr/bin/env python3
"""Launchers of distributed programs (distributed.launcher) under `gputally run`.

torchrun, deepspeed and accelerate are stand-ins that accept the options of the real ones and start the processes (see
stand_ins/python_launcher). mpirun is the real one, if Open MPI is installed; srun is tested in test_slurm.py. Expected lines are
written by hand from the documentation of each launcher.

    python3 -m tests.run.test_launchers --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import shutil
import sys

from tests.common import harness
from tests.run.test_profiling_runs import STAND_INS, Place, equal, holds

PRINT_RANK = "import os, sys; print('rank', *(os.environ.get(n) for n in ('RANK', 'LOCAL_RANK', 'WORLD_SIZE')), *sys.argv[1:])\n"


class Launchers(Place):
    """A folder with stand-ins for these launchers, and train.py, which prints its ranks and arguments."""

    def __init__(self, binary, *names, others=()):
        super().__init__(binary, *others)
        for name in names:
            os.symlink(os.path.join(STAND_INS, "python_launcher"), os.path.join(self.bin, name))
        self.write("train.py", PRINT_RANK)

    def write(self, name, text):
        with open(self.file(name), "w") as file:
            file.write(text)

    def start(self, launcher, command, more=None, **env):
        context = {"distributed": {"launcher": launcher, "nproc_per_node": 2, **(more or {})}}
        return self.run("-c", json.dumps(context), "--report", "none", "--no_sys_env_details", "--", *command, **env)

    def line(self, context, *command, **env):
        done = self.run("-c", json.dumps(context), "--dry-run", "--", *command, **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


TWO_NODES = {"NNODES": "2", "NODE_RANK": "1", "MASTER_ADDR": "n1"}
TORCH_ONE = "torchrun --standalone --nproc_per_node=4 "
TORCH_TWO = "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=${NODE_RANK} --master_addr=${MASTER_ADDR} --master_port=29500 "


def test_lines(binary):
    rows = [
        # launcher, more keys, variables, command, line
        ("torchrun", {}, {}, "python3 train.py --n 2", TORCH_ONE + "train.py --n 2"),
        ("torchrun", {}, {}, "python3 -u train.py", TORCH_ONE + "train.py"),
        ("torchrun", {}, {}, "./train.py", TORCH_ONE + "./train.py"),
        ("torchrun", {}, {}, "python -m pkg.train -x", TORCH_ONE + "--module pkg.train -x"),
        ("torchrun", {}, {}, "/opt/venv/bin/python3 train.py", TORCH_ONE + "--no_python /opt/venv/bin/python3 train.py"),
        ("torchrun", {}, {}, "python3 -X dev train.py", TORCH_ONE + "--no_python python3 -X dev train.py"),
        ("torchrun", {}, {}, "./app --flag", TORCH_ONE + "--no_python ./app --flag"),
        ("torchtitan", {}, TWO_NODES, "python3 train.py", TORCH_TWO + "train.py"),
        ("megatron_lm", {}, {}, "python3 train.py", TORCH_ONE + "train.py"),
        ("torchrun", {"port": 1234, "rdzv_backend": "c10d"}, TWO_NODES, "python3 train.py",
         "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=${NODE_RANK} --rdzv_backend=c10d --rdzv_endpoint=${MASTER_ADDR}:1234 "
         "--rdzv_id=${MAD_SLURM_JOB_ID:-gputally} train.py"),
        ("torchrun", {"nnodes": 2}, {}, "python3 train.py", TORCH_ONE + "train.py"),  # nobody says which node this is
        ("deepspeed", {}, {}, "python3 train.py", "deepspeed --num_gpus=4 train.py"),
        ("deepspeed", {}, {}, "./app", "deepspeed --num_gpus=4 --no_python --no_local_rank ./app"),
        ("deepspeed", {"hostfile": "my hosts"}, TWO_NODES, "python3 train.py",
         "deepspeed --hostfile='my hosts' --no_ssh --node_rank=${NODE_RANK} --master_addr=${MASTER_ADDR} --master_port=29500 train.py"),
        ("accelerate", {}, {}, "python3 train.py", "accelerate launch --num_machines=1 --num_processes=4 --multi_gpu train.py"),
        ("accelerate", {}, TWO_NODES, "python3 train.py", "accelerate launch --num_machines=2 --num_processes=8 --multi_gpu "
         "--machine_rank=${NODE_RANK} --main_process_ip=${MASTER_ADDR} --main_process_port=29500 train.py"),
        ("accelerate", {"nproc_per_node": 1}, {}, "python3 train.py", "accelerate launch --num_machines=1 --num_processes=1 train.py"),
        ("none", {}, {}, "python3 train.py", "python3 train.py"),
        ("vllm", {}, {}, "vllm serve", "vllm serve"),
    ]
    with Launchers(binary) as p:
        for launcher, keys, variables, command, expected in rows:
            context = {"distributed": {"launcher": launcher, "nproc_per_node": 4, **keys}}
            equal((launcher, command, p.line(context, *command.split(), **variables)["argv_shell"]), (launcher, command, expected))


def test_commands_that_start_the_launcher_themselves(binary):
    context = {"distributed": {"launcher": "torchrun", "nproc_per_node": 4}}
    with Launchers(binary) as p:
        p.write("uses.sh", "$MAD_MULTI_NODE_RUNNER train.py\n")
        p.write("calls.sh", "set -e\nexec torchrun --nproc-per-node 2 train.py\n")
        p.write("plain.sh", "# not with torchrun\npython3 train.py\n")
        for command in (["torchrun", "--nproc-per-node", "2", "train.py"], ["torchrun", "--max_restarts", "3", "--nnodes", "1", "train.py"],
                        ["python3", "-m", "torch.distributed.run", "--nproc_per_node=2", "train.py"], ["env", "A=1", "torchrun", "train.py"],
                        ["bash", "uses.sh"], ["bash", "-x", "calls.sh"], ["./calls.sh"], ["sh", "-c", "$MAD_MULTI_NODE_RUNNER train.py"],
                        ["bash", "-ec", "cd x; torchrun train.py"]):
            plan = p.line(context, *command)
            equal((command, plan["launcher"]["runner"]), (command, None))
            holds(" ".join(plan["notes"]), "the command starts torchrun itself")
        plan = p.line(context, "bash", "in_the_image.sh")  # may use the variable
        equal((plan["launcher"]["runner"], plan["argv_shell"]), (None, "bash in_the_image.sh"))
        holds(" ".join(plan["notes"]), "the script cannot be read here, so it is not started by torchrun; it can use $MAD_MULTI_NODE_RUNNER")
        for command, line in ((["bash", "plain.sh"], TORCH_ONE + "--no_python bash plain.sh"),
                              (["python3", "train.py", "torchrun"], TORCH_ONE + "train.py torchrun"),
                              (["sh", "-c", "echo mytorchrun"], TORCH_ONE + "--no_python sh -c 'echo mytorchrun'"),
                              # its options do not say how many processes
                              (["torchrun", "train.py", "--nnodes"], TORCH_ONE + "train.py --nnodes"),
                              (["/x/torchrun", "--max_restarts=1", "train.py"],
                               "/x/torchrun --standalone --nproc_per_node=4 --max_restarts=1 train.py")):
            equal(p.line(context, *command)["argv_shell"], line)


def test_processes_are_started(binary):
    for launcher, command, extra in (("torchrun", ["python3", "train.py", "a b"], ""), ("accelerate", ["python3", "train.py", "a b"], ""),
                                     ("deepspeed", ["python3", "train.py", "a b"], "--local_rank={} "),
                                     ("torchrun", ["sh", "-c", "python3 train.py \"$0\"", "a b"], ""),
                                     ("deepspeed", ["sh", "-c", "python3 train.py \"$0\"", "a b"], "")):
        with Launchers(binary, launcher) as p:
            done = p.start(launcher, command)
            equal((launcher, done.returncode), (launcher, 0))
            equal(done.stdout.splitlines(), [f"rank {r} {r} 2 {extra.format(r)}a b" for r in (0, 1)])
            equal([call["program"] for call in p.calls()], [launcher])
    with Launchers(binary, "torchrun") as p:  # the second of two nodes
        done = p.start("torchrun", ["python3", "train.py"], **TWO_NODES)
        equal((done.returncode, done.stdout.splitlines()), (0, ["rank 2 0 4", "rank 3 1 4"]))
        equal(p.calls()[0]["argv"], ["--nnodes=2", "--nproc_per_node=2", "--node_rank=1", "--master_addr=n1", "--master_port=29500", "train.py"])
    with Launchers(binary, "torchrun") as p:  # through the variable
        done = p.start("torchrun", ["sh", "-c", "$MAD_MULTI_NODE_RUNNER train.py"])
        equal((done.returncode, done.stdout.splitlines()), (0, ["rank 0 0 2", "rank 1 1 2"]))


def test_status_of_a_launcher(binary):
    with Launchers(binary, "torchrun") as p:
        done = p.start("torchrun", ["sh", "-c", "exit $((RANK * 4))"])
        equal((done.returncode, p.record()["exit_code"]), (3, 4))
    with Launchers(binary) as p:
        done = p.start("torchrun", ["python3", "train.py"])
        equal((done.returncode, done.stdout), (3, ""))
        holds(done.stderr, "torchrun not found in PATH; it is the launcher of the context (distributed)")


def test_unknown_launchers(binary):
    with Launchers(binary) as p:
        for distributed, text in (({"launcher": "torchrn"}, "unknown launcher 'torchrn', did you mean 'torchrun'?"),
                                  ({"launcher": "mpi run"}, "did you mean 'mpirun'?"), ({"launcher": "xyzzy"}, "choose from torchrun"),
                                  ({"launcher": ["torchrun"]}, "launcher must be a string"),
                                  ({"launcher": "torchrun", "nproc_per_node": "many"}, "nproc_per_node must be between 1 and 100000"),
                                  ({"launcher": "torchrun", "nproc_per_node": -1}, "nproc_per_node must be"),
                                  ({"nnodes": 0}, "nnodes must be"), ({"port": 70000}, "port must be between 1 and 65535"),
                                  ({"launcher": "sglang-disagg"}, "needs at least 3 nodes")):
            done = p.run("-c", json.dumps({"distributed": distributed}), "--", "true")
            equal((distributed, done.returncode, done.stdout), (distributed, 4, ""))
            holds(done.stderr, text)


def test_processes_per_gpu(binary):
    with Launchers(binary) as p:
        for context, variables, expected in (({}, {"HIP_VISIBLE_DEVICES": "0,2,5"}, 3), ({}, {"CUDA_VISIBLE_DEVICES": "1"}, 1),
                                             ({"gpus_per_node": "4"}, {"HIP_VISIBLE_DEVICES": "0"}, 4), ({"n_gpus": 6}, {}, 6)):
            for how in (None, "gpu", "auto"):
                distributed = {"launcher": "torchrun", **({"nproc_per_node": how} if how else {})}
                plan = p.line({**context, "distributed": distributed}, "python3", "train.py", **variables)
                equal((plan["launcher"]["processes_per_node"], plan["env"]["NPROC_PER_NODE"]), (expected, str(expected)))


def test_variables(binary):
    def variables(distributed, **env):
        return p.line({"distributed": distributed}, "true", **env)["env"]

    with Launchers(binary) as p:
        equal(variables({"launcher": "vllm", "nproc_per_node": 4}),
              {"NNODES": "1", "NPROC_PER_NODE": "4", "VLLM_TENSOR_PARALLEL_SIZE": "4", "VLLM_PIPELINE_PARALLEL_SIZE": "1"})
        equal(variables({"launcher": "sglang_disagg", "nproc_per_node": 8}, NNODES="6", NODE_RANK="0", MASTER_ADDR="a"),
              {"NNODES": "6", "NPROC_PER_NODE": "8", "SGLANG_DISAGG_PREFILL_NODES": "2", "SGLANG_DISAGG_DECODE_NODES": "3",
               "SGLANG_TENSOR_PARALLEL_SIZE": "8", "SGLANG_PIPELINE_PARALLEL_SIZE": "1"})
        equal(variables({"launcher": "primus", "nproc_per_node": 1, "primus": {"config": "c d.yaml", "cli_extra": "--x", "backend": "b"}}),
              {"NNODES": "1", "NPROC_PER_NODE": "1", "PRIMUS_CONFIG_PATH": "c d.yaml", "PRIMUS_CLI_EXTRA": "--x", "BACKEND": "b"})
        equal(variables({"launcher": "torchrun", "nproc_per_node": 4}, **TWO_NODES)["MAD_MULTI_NODE_RUNNER"],
              "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=1 --master_addr=n1 --master_port=29500")
        equal(variables({"launcher": "torchrun", "nproc_per_node": 4, "rdzv_backend": "c10d"}, **TWO_NODES)["MAD_MULTI_NODE_RUNNER"],
              "torchrun --nnodes=2 --nproc_per_node=4 --node_rank=1 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 --rdzv_id=gputally")
        equal(variables({"launcher": "mpirun", "nproc_per_node": 2, "hostfile": "${HOME:x"})["MAD_MULTI_NODE_RUNNER"],
              "mpirun -np 2 --hostfile '${HOME:x'")  # not a variable
        # the user's own value stays
        equal(variables({"launcher": "torchrun", "nproc_per_node": 4}, MAD_MULTI_NODE_RUNNER="mine")["MAD_MULTI_NODE_RUNNER"], "mine")
        plan = p.line({"slurm": {"network_interface": "ib7"}, "env_vars": {"NCCL_SOCKET_IFNAME": "eth0"}}, "true")
        equal(plan["slurm"]["directives"][0], "--job-name=gputally-true")
        done = p.run("-c", '{"slurm": {"network_interface": "ib7"}, "env_vars": {"NCCL_SOCKET_IFNAME": "eth0"}}', "--target", "local", "--",
                     "sh", "-c", "echo $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME")
        equal((done.returncode, done.stdout), (0, "ib7 ib7\n"))
        holds(done.stderr, "slurm.network_interface ib7 replaces NCCL_SOCKET_IFNAME=eth0")


def test_in_a_container(binary):
    with Launchers(binary, "torchrun", others=("docker",)) as p:
        context = {"distributed": {"launcher": "torchrun", "nproc_per_node": 2}}
        done = p.run("-c", json.dumps(context), "--docker=img", "--report", "none", "--", "python3", "train.py")
        equal((done.returncode, done.stdout.splitlines()), (0, ["rank 0 0 2", "rank 1 1 2"]))
        done = p.run("--docker=img", "--report", "none", "-c", '{"n_gpus": 0}', "--", "sh", "-c", "echo $MAD_MULTI_NODE_RUNNER", HIP_VISIBLE_DEVICES="0,1,2")
        equal((done.returncode, done.stdout), (0, "torchrun --standalone --nproc_per_node=3\n"))
        done = p.run("--docker=img", "-c", '{"distributed": {"launcher": "srun"}}', "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "launcher srun cannot start processes from inside a container")


def test_profilers_around_launchers(binary):
    with Launchers(binary, "torchrun", others=("rocprofv3",)) as p:
        context = {"tools": [{"name": "rocprofv3_lightweight"}], "distributed": {"launcher": "torchrun", "nproc_per_node": 2}}
        done = p.run("-c", json.dumps(context), "--report", "none", "--", "python3", "train.py")
        equal(done.returncode, 0)
        profiler, launcher = p.calls()
        equal(profiler["argv"][profiler["argv"].index("--") + 1:], ["torchrun", "--standalone", "--nproc_per_node=2", "train.py"])
        equal(launcher["program"], "torchrun")
        equal(p.line(context, "true")["launcher"]["profiler"], "around the launcher")


def with_mpi(binary, *others):
    """A folder with the real mpirun on PATH."""
    programs = {name: shutil.which(name, path=harness.SYSTEM_PATH) for name in ("mpirun", "orted")}
    if not programs["mpirun"]:
        raise harness.Skipped("mpirun is not installed (Debian: openmpi-bin)")
    place = Launchers(binary, others=others)
    for name, path in programs.items():
        if path:
            os.symlink(path, os.path.join(place.bin, name))
    return place


def test_mpirun(binary):
    with with_mpi(binary) as p:
        done = p.start("mpirun", ["python3", "train.py", "a b"])
        equal((done.returncode, sorted(done.stdout.splitlines())), (0, ["rank 0 0 2 a b", "rank 1 1 2 a b"]))
        done = p.start("mpirun", ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "1", "python3", "train.py"])
        equal((done.returncode, len(done.stdout.splitlines())), (0, 1))
        holds(done.stderr, "the command starts mpirun itself")
        equal(p.start("mpirun", ["sh", "-c", "exit $((RANK * 5))"]).returncode, 3)


def test_profilers_inside_mpirun(binary):
    with with_mpi(binary, "rocprofv3") as p:
        context = {"tools": [{"name": "rocprofv3_lightweight"}], "distributed": {"launcher": "mpirun", "nproc_per_node": 2}}
        done = p.run("-c", json.dumps(context), "--report", "none", "--", "python3", "train.py")
        equal((done.returncode, sorted(done.stdout.splitlines())), (0, ["rank 0 0 2", "rank 1 1 2"]))
        calls = p.calls()
        equal([call["argv"][call["argv"].index("--") + 1:] for call in calls], [["python3", "train.py"]] * 2)  # one per process
        results = [name for name in p.tree() if name.endswith("_results.json")]
        assert len(results) >= 2, results
        # a profiler that runs the command several times stands around mpirun, because MPI_Init works once per process
        context["tools"] = [{"name": "rocprofv3_compute"}]
        plan = p.line(context, "python3", "train.py")
        equal(plan["launcher"]["profiler"], "around the launcher")
        assert plan["argv_shell"].index("rocprofv3") < plan["argv_shell"].index("mpirun"), plan["argv_shell"]
        plan = p.line(context, "python3", "train.py", **TWO_NODES)
        assert plan["argv_shell"].index("rocprofv3") > plan["argv_shell"].index("mpirun"), plan["argv_shell"]


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
