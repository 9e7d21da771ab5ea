#!/usr/bin/env python3
"""`gputally run --tags` and `--manifest_file`, and `discover`: which models are found and chosen, how they run with and without
containers (a stand-in for docker), and what stays afterwards. Expected values are those of the specification or typed by hand.

    python3 -m tests.run.test_models --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from tests.common import harness
from tests.run.gpus import rocm_smi
from tests.run.projects import SCRIPT, Project, model
from tests.run.test_profiling_runs import equal, holds, run_tests

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def ran(done, status=0):
    assert done.returncode == status, f"exit status {done.returncode}\n{done.stderr}\n{done.stdout}"
    return done


def selected(done):
    ran(done)
    return [entry["name"] for entry in json.loads(done.stdout.split(":\n", 1)[1])]


# --- finding and choosing ---

@test
def tags_choose_models(binary):
    models = [model("a", tags=["x", "y"]), model("b", tags="y , z"), model("c", tags=[], args="-n 1"), model("a/y", tags=["q"])]
    with Project(binary, models) as p:
        p.write("scripts/scope/models.json", json.dumps([model("m1", tags=["y"], dockerfile="../d/file", scripts="run.sh"), model("m2")]))
        for tags, names in (("x", "a"), ("y", "a b scope/m1"), ("z", "b"), ("a", "a"), ("all", "a b c a/y scope/m1 scope/m2"),
                            ("x,z", "a b"), (" x , c ", "a c"), ("scope/y", "scope/m1"), ("scope/all", "scope/m1 scope/m2"),
                            ("scope/m2", "scope/m2"), ("c:lr=0.1:fast", "c"), ("c,c", "c c")):
            equal((tags, selected(p.call("discover", "--tags", tags))), (tags, names.split()))
        equal(selected(p.call("discover", "-t", "x", "-t", "z")), ["a", "b"])
        entries = json.loads(p.call("discover", "--tags", "c:lr=0.1:fast,scope/m1").stdout.split(":\n", 1)[1])
        equal(entries[0]["args"], "-n 1 --lr 0.1 --fast")
        equal((entries[1]["dockerfile"], entries[1]["scripts"]), ("scripts/d/file", "scripts/scope/run.sh"))
        done = ran(p.call("discover"))
        equal(done.stdout, "Available Models (6 total):\n  a\n  b\n  c\n  a/y\n  scope/m1\n  scope/m2\n")
        equal((ran(p.call("discover", "-t", "x", "-o", "list.json")).stdout, p.json("list.json")), ("", [models[0]]))
        for tag in ("nothing", "scope/nothing", "other/y", "::"):
            done = ran(p.call("discover", "--tags", tag), 1)
            holds(done.stderr, f"No models found corresponding to the given tag: {tag}")
            equal(ran(p.call("run", "--tags", tag), 2).stderr.count("No models found"), 1)


@test
def models_of_python(binary):
    script = """from madengine.utils.discover_models import CustomModel
print("a line of its own")
class Mine(CustomModel):
    def update_model(self):
        self.args += " --updated " + self.name
def list_models():
    return [Mine(name="one", tags=["t"], scripts="run.sh", dockerfile="docker/d", args="-a"), CustomModel(name="two")]
"""
    with Project(binary, [model("plain")]) as p:
        p.write("scripts/py/get_models_json.py", script)
        equal(ran(p.call("discover")).stdout, "Available Models (3 total):\n  plain\n  py/one\n  py/two\n")
        entry = json.loads(p.call("discover", "--tags", "t:k=v").stdout.split(":\n", 1)[1])
        equal(selected(p.call("discover", "--tags", "t")), ["py/one"])
        done = p.call("discover", "--tags", "py/one")
        entry = json.loads(done.stdout.split(":\n", 1)[1])[0]
        equal((entry["args"], entry["scripts"], entry["dockerfile"], entry["timeout"], entry["n_gpus"]),
              ("-a --updated one", "scripts/py/run.sh", "scripts/py/docker/d", 7200, "-1"))
        entry = json.loads(p.call("discover", "--tags", "t:k=v").stdout.split(":\n", 1)[1])[0]
        equal(entry["args"], "-a --updated one --k v")
        holds(ran(p.call("discover", PATH="/nonexistent"), 1).stderr, "get_models_json.py: python3 not found in PATH")
        p.write("scripts/py/models.json", "[]")
        holds(ran(p.call("discover"), 1).stderr, "Both models.json and get_models_json.py found in scripts/py.")
        os.remove(p.file("scripts/py/models.json"))
        p.write("scripts/py/get_models_json.py", "x = 1\n")
        holds(ran(p.call("discover"), 1).stderr, "Please define a list_models function")
        p.write("scripts/py/get_models_json.py", "def list_models(): return [{'name': 'x'}]\n")
        holds(ran(p.call("discover"), 1).stderr, "subclass madengine.utils.discover_models.CustomModel")


@test
def folders_without_models(binary):
    for text, message in ((None, "models.json file not found."), ("{}", "models.json: must be a list of models"), ("[1]", "entry 1 must be an object"),
                          ('[{"name": ""}]', "entry 1 has no name"), ('[{"name": "a\\nb"}]', "control character"), ("[", "models.json: "),
                          ('[{"name": "x", "args": 1}]', "entry 1: args must be a string"), ('[{"name": ".."}]', "entry 1: '..' is not a valid name")):
        with Project(binary, []) as p:
            if text is None:
                os.remove(p.file("models.json"))
            else:
                p.write("models.json", text)
            holds(ran(p.call("discover"), 1).stderr, message)
            ran(p.call("run", "--tags", "x"), 2)
            ran(p.call("build", "--tags", "x"), 2)


@test
def model_dir(binary):
    with Project(binary, [model("here")]) as p, Project(binary, [model("there", scripts="scripts/other/go.sh")]) as q:
        q.write("scripts/other/go.sh", SCRIPT)
        q.write("data.json", "{}")
        q.write("unrelated.txt", "stays")
        equal(ran(p.call("discover", MODEL_DIR=q.work)).stdout, "Available Models (1 total):\n  there\n")
        assert p.exists("scripts/other/go.sh") and p.exists("scripts/dummy/run.sh") and p.exists("data.json") and not p.exists("unrelated.txt")
        holds(p.call("discover", MODEL_DIR="/nonexistent").stderr, "MODEL_DIR: no folder /nonexistent")


# --- running without a container ---

@test
def a_model_without_a_container(binary):
    script = 'pwd; ls; echo "args $*"; env | grep -E "^(MAD_|JENKINS|OWN|OF_MODEL)" | sort\necho "performance: 14164/s, samples_per_second"\n'
    with Project(binary, [model("scope_less", args="--a 'b c' $HOME", env_vars={"OF_MODEL": "1", "OWN": "model"}, multiple_results="")], script=script) as p:
        p.write("scripts/dummy/beside.txt", "x")
        done = ran(p.call("run", "--tags", "scope_less", "--no-docker", "-c", '{"env_vars": {"OWN": "context"}}', BUILD_NUMBER="7", HOME="/home/x"))
        log = p.read("scope_less.run.live.log")
        lines = log.splitlines()
        equal(lines[:4], [os.path.join(p.work, "run_directory"), "beside.txt", "run.sh", "args --a b c /home/x"])
        for line in ("MAD_MODEL_NAME=scope_less", "MAD_GPU_VENDOR=AMD", "MAD_GUEST_OS=UBUNTU", "MAD_SYSTEM_NGPUS=0", "JENKINS_BUILD_NUMBER=7",
                     "OF_MODEL=1", "OWN=context", "MAD_MULTI_NODE_RUNNER=torchrun --standalone --nproc_per_node=1"):
            assert line in lines, (line, log)
        assert "samples_per_second" not in done.stdout  # quiet, as madengine is
        holds(done.stderr, "scope_less: SUCCESS, 14164 samples_per_second")
        row = p.table()[0]
        equal([row[k] for k in ("model", "performance", "metric", "status", "launcher", "deployment_type", "build_number", "tags", "docker_image")],
              ["scope_less", "14164", "samples_per_second", "SUCCESS", "native", "local", "7", "all_dummies", ""])
        assert not p.exists("run_directory") and float(row["test_duration"]) > 0
        record = p.record()
        equal((record["status"], record["performance"], record["metric"]), ("SUCCESS", 14164, "samples_per_second"))
        done = ran(p.call("run", "--tags", "scope_less", "--no-docker", "--live-output"))
        holds(done.stdout, "samples_per_second")
        equal(len(p.table()), 2)


@test
def scripts_of_all_kinds(binary):
    models = [model("folder", scripts="scripts/dummy"), model("py", scripts="scripts/dummy/go.py", args="1 2"), model("slurm", scripts="scripts/dummy/job.slurm"),
              model("top", scripts="top.sh")]
    with Project(binary, models) as p:
        p.write("scripts/dummy/go.py", "import sys\nprint('performance:', sum(map(int, sys.argv[1:])), 'ops')\n")
        p.write("scripts/dummy/job.slurm", "echo performance: 4 ops\n")
        p.write("top.sh", "ls; echo performance: 5 ops\n")
        ran(p.call("run", "--tags", "all", "--no-docker"))
        equal([(row["model"], row["performance"], row["status"]) for row in p.table()],
              [("folder", "12.5", "SUCCESS"), ("py", "3", "SUCCESS"), ("slurm", "4", "SUCCESS"), ("top", "5", "SUCCESS")])
        equal(p.read("top.run.live.log").splitlines()[0], "top.sh")
        holds(ran(p.call("run", "--tags", "py", "--no-docker", "-c", '{"model_args": "10 20"}')).stderr, "30 ops")
        p.write("models.json", json.dumps([model("gone", scripts="scripts/gone.sh")]))
        holds(ran(p.call("run", "--tags", "gone", "--no-docker"), 3).stderr, "scripts/gone.sh: No such file")
        equal(p.table()[-1]["status"], "FAILURE")
        assert not p.exists("run_directory")


@test
def statuses(binary):
    cases = {"ok": ("echo performance: 1 x", "SUCCESS"), "silent": ("echo nothing", "FAILURE"), "status": ("echo performance: 1 x; exit 4", "FAILURE"),
             "trace": ("echo performance: 1 x; echo 'Traceback (most recent call last)'", "FAILURE"),
             "oom": ("echo performance: 1 x; echo 'HIP out of memory' >&2", "FAILURE"),
             "warned": ("echo performance: 1 x; echo 'FutureWarning: ValueError: x'", "SUCCESS"),
             "glog": ("echo performance: 1 x; echo 'E20250101 00:00:00 1 tool.cpp:9] FAILED'", "SUCCESS"),
             "trainer": ("echo \"'train_samples_per_second': 4.23\"", "SUCCESS")}
    models = [model(name, scripts=f"scripts/dummy/{name}.sh") for name in cases]
    models.append(model("allowed", scripts="scripts/dummy/trace.sh", log_error_benign_patterns=["Traceback"]))
    models.append(model("unscanned", scripts="scripts/dummy/trace.sh", log_error_pattern_scan=False))
    models.append(model("own", scripts="scripts/dummy/ok.sh", log_error_patterns=["performance"]))
    with Project(binary, models) as p:
        for name, (line, _) in cases.items():
            p.write(f"scripts/dummy/{name}.sh", line + "\n")
        done = ran(p.call("run", "--tags", "all", "--no-docker", "-s", "summary.json"), 3)
        expected = {**{name: status for name, (_, status) in cases.items()}, "allowed": "SUCCESS", "unscanned": "SUCCESS", "own": "FAILURE"}
        equal({row["model"]: row["status"] for row in p.table()}, expected)
        summary = p.json("summary.json")
        equal((len(summary["successful_runs"]), len(summary["failed_runs"]), summary["total_runs"]), (6, 5, 11))
        holds(done.stderr, "silent: FAILURE: no performance figure in the log")
        os.remove(p.file("perf.csv"))
        ran(p.call("run", "--tags", "silent", "--no-docker", MAD_COLLECT_METRICS="false"))  # another node has the figures
        assert not p.exists("perf.csv")


@test
def time_limits(binary):
    models = [model("own", scripts="scripts/dummy/sleep.sh", timeout=1)]
    with Project(binary, models, script="sleep 1000\n") as p:
        p.write("scripts/dummy/sleep.sh", "sleep 1000\n")
        done = ran(p.call("run", "--tags", "own", "--no-docker"), 3)
        holds(done.stderr, "Program timed out. Requested timeout=1")
        equal(p.table()[0]["status"], "FAILURE")
        assert not p.exists("run_directory")
        p.write("scripts/dummy/sleep.sh", "sleep 2; echo performance: 1 x\n")
        ran(p.call("run", "--tags", "own", "--no-docker", "--timeout", "600"))  # the command line wins
        for wrong in ("-2", "-100"):
            holds(ran(p.call("run", "--tags", "own", "--no-docker", "--timeout", wrong), 4).stderr, "Timeout must be -1 (default), 0 (no timeout)")


@test
def several_results(binary):
    script = 'printf "model, performance, metric, batch\\na, 1.5, x, 8\\nb, , x, 16\\n" > results.csv\n'
    with Project(binary, [model("many", multiple_results="results.csv")], script=script) as p:
        holds(ran(p.call("run", "--tags", "many", "--no-docker")).stderr, "many: SUCCESS, 2 results")
        rows = p.table()
        equal([(row["model"], row["performance"], row["metric"], row["status"], row["batch"]) for row in rows],
              [("many_a", "1.5", "x", "SUCCESS", "8"), ("many_b", "", "x", "FAILURE", "16")])
        assert p.exists("results.csv")
        entry = p.json("perf_super.json")
        equal([(e["model"], e["performance"], e["multi_results"], e["configs"]) for e in entry], [("many_a", 1.5, {"batch": 8}, None), ("many_b", "", {"batch": 16}, None)])
        for text, reason in (("model,metric\\na,b\\n", "no column performance"), ("model,performance,metric\\na,,x\\n", "no row has a performance"), ("", "no column model")):
            p.write("scripts/dummy/run.sh", f'printf "{text}" > results.csv\n')
            holds(ran(p.call("run", "--tags", "many", "--no-docker"), 3).stderr, reason)
        p.write("scripts/dummy/run.sh", "true\n")
        os.remove(p.file("results.csv"))
        holds(ran(p.call("run", "--tags", "many", "--no-docker"), 3).stderr, "no file results.csv with the results")
        equal([row["status"] for row in p.table()][2:], ["FAILURE"] * 4)


@test
def files_of_several_models(binary):
    models = [model(name) for name in ("one", "two")]
    script = 'echo "performance: 1 x"; echo $MAD_MODEL_NAME > own_output.csv; mkdir -p deep; echo "{\\"traceEvents\\": []}" > deep/$MAD_MODEL_NAME.pt.trace.json\n'
    context = json.dumps({"tools": [{"name": "rocprofv3_lightweight"}, {"name": "gpu_info_power_profiler"}]})
    with Project(binary, models, "rocprofv3", script=script) as p:
        samples = os.path.join(p.path, "smi")
        with open(samples, "w") as f:
            f.write("0,0,100,1,10\n")
        ran(p.call("run", "--tags", "one", "--no-docker", "-c", context, **rocm_smi(samples)))
        for name in ("rocprof_output/latest", "rocprof_output/trace.json", "gpu_info_power_profiler_output.csv", "one_perf_report.xlsx", "one_run_summary.xlsx",
                     "one_env.csv", "own_output.csv", "one_traces/deep/one.pt.trace.json", "gputally_run.json"):
            assert p.exists(name), (name, p.tree())
        ran(p.call("run", "--tags", "all", "--no-docker", "-c", context, **rocm_smi(samples)))
        for name in ("one", "two"):
            folder = "model_outputs/" + name
            for file in ("rocprof_output/trace.json", "gpu_info_power_profiler_output.csv", f"{name}_perf_report.xlsx", "own_output.csv", "gputally_run.json"):
                assert p.exists(folder, file), (folder, file, p.tree())
            equal(p.read(folder, "own_output.csv"), name + "\n")
            equal(p.json(folder, "gputally_run.json")["name"], name)
            assert p.exists(name + ".run.live.log")
        equal(len(p.table()), 3)


@test
def one_folder_at_a_time(binary):
    """Two runs in one folder do not share run_directory, and no row is lost."""
    with Project(binary, [model("slow")], script='touch mine; sleep 1; ls | wc -l; echo "performance: 1 x"\n') as p:
        words = [os.path.join(p.bin, "madengine"), "run", "--tags", "slow", "--no-docker", "--live-output", "--no_sys_env_details", "--report", "none"]
        runs = [subprocess.Popen([*words, "--output-dir", f"out{i}"], cwd=p.work, env=p.environment(GPUTALLY_SYSFS=p.path), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for i in range(3)]
        for run in runs:
            out, err = run.communicate(timeout=harness.WALL_SECONDS)
            equal((run.returncode, out.splitlines()[0].strip()), (0, "2"))
        equal([row["status"] for row in p.table()], ["SUCCESS"] * 3)
        equal(len(p.json("perf_super.json")), 3)
        assert not [name for name in os.listdir(p.work) if name.startswith("run_directory")]
        os.symlink("/tmp", p.file("run_directory"))
        holds(ran(p.call("run", "--tags", "slow", "--no-docker"), 3).stderr, "not a folder that a model can run in")
        assert os.path.islink(p.file("run_directory"))


@test
def kept_folders_and_skipped_scripts(binary):
    with Project(binary, [model("m")]) as p:
        ran(p.call("run", "--tags", "m", "--no-docker", "--keep-model-dir"))
        equal(sorted(os.listdir(p.file("run_directory"))), ["run.sh"])
        done = ran(p.call("run", "--tags", "m", "--no-docker", "--skip-model-run"))
        holds(done.stderr, "m: SKIPPED")
        holds(done.stderr, "0 of 1 models succeeded, 1 skipped; table: ")
        equal(([row["status"] for row in p.table()], p.exists("run_directory")), (["SUCCESS", "SKIPPED"], False))
        assert "performance" not in (p.read("m.run.live.log") if p.exists("m.run.live.log") else "")


@test
def deprecated_models(binary):
    with Project(binary, [model("old", deprecated=True), model("new")]) as p:
        done = ran(p.call("run", "--tags", "all", "--no-docker"))
        holds(done.stderr, "old: skipped, because it is deprecated")
        equal([row["model"] for row in p.table()], ["new"])
        ran(p.call("run", "--tags", "all", "--no-docker", "--ignore-deprecated"))
        equal([row["model"] for row in p.table()], ["new", "old", "new"])


@test
def excluded_gpus(binary):
    models = [model("not_here", skip_gpu_arch="gfx90a, gfx942"), model("here", skip_gpu_arch="gfx90a"), model("listed", skip_gpu_arch=["gfx942"])]
    with Project(binary, models) as p:
        nodes = os.path.join(p.path, "class/kfd/kfd/topology/nodes")
        for i, version in enumerate((0, 90402)):
            os.makedirs(os.path.join(nodes, str(i)))
            with open(os.path.join(nodes, str(i), "properties"), "w") as f:
                f.write(f"cpu_cores_count 4\ngfx_target_version {version}\n")
        device = os.path.join(p.path, "devices/0000:0c:00.0")
        os.makedirs(device)
        os.makedirs(os.path.join(p.path, "class/drm"))
        for name, text in (("vendor", "0x1002\n"), ("device", "0x74a1\n"), ("product_name", "AMD Instinct MI300X\n")):
            with open(os.path.join(device, name), "w") as f:
                f.write(text)
        os.makedirs(os.path.join(p.path, "class/drm/renderD128"))
        os.symlink(device, os.path.join(p.path, "class/drm/renderD128/device"))
        ran(p.call("run", "--tags", "all", "--no-docker"))
        equal([(row["model"], row["status"], row["gpu_architecture"]) for row in p.table()],
              [("not_here", "SKIPPED", "gfx942"), ("listed", "SKIPPED", "gfx942"), ("here", "SUCCESS", "gfx942")])
        ran(p.call("run", "--tags", "not_here", "--no-docker", "--disable-skip-gpu-arch"))
        equal(p.table()[-1]["status"], "SUCCESS")
        ran(p.call("run", "--tags", "here", "--no-docker", "-c", '{"docker_env_vars": {"MAD_SYSTEM_GPU_ARCHITECTURE": "gfx90a"}}'))
        equal(p.table()[-1]["status"], "SKIPPED")


@test
def repositories(binary):
    """A model with a url runs in a clone of it."""
    with Project(binary, [model("cloned", url="SOURCE")], script='cat in_repository.txt; git rev-parse HEAD; echo "performance: 1 x"\n') as p:
        git = shutil.which("git", path="/usr/bin:/usr/local/bin:/bin")
        if not git:
            raise harness.Skipped("no git")
        os.symlink(git, os.path.join(p.bin, "git"))
        source = os.path.join(p.path, "a repository.git")
        git = [git, "-C", source, "-c", "user.name=t", "-c", "user.email=t@t"]
        os.mkdir(source)
        subprocess.run([*git, "init", "-q"], check=True)
        with open(os.path.join(source, "in_repository.txt"), "w") as f:
            f.write("from the repository\n")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", "x"], check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        p.write("models.json", json.dumps([model("cloned", url=source)]))
        ran(p.call("run", "--tags", "cloned", "--no-docker", "--keep-model-dir"))
        holds(p.read("cloned.run.live.log"), f"from the repository\n{commit}\n")
        equal(p.table()[0]["git_commit"], commit)
        assert p.exists("a repository", "run.sh")
        p.write("models.json", json.dumps([model("cloned", url="/nonexistent/x")]))
        holds(ran(p.call("run", "--tags", "cloned", "--no-docker"), 3).stderr, "cannot clone /nonexistent/x")


@test
def data_and_credentials(binary):
    models = [model("local", data="set"), model("two", data="set,made"), model("far", data="bucket"), model("unknown", data="none"),
              model("secret", cred="HUB", scripts="scripts/dummy/secret.sh")]
    script = 'for folder in ${MAD_DATAHOME//,/ }; do ls "$folder"; done; echo "names $MAD_DATANAME"; echo "performance: 1 x"\n'
    with Project(binary, models, script=script) as p:
        data = os.path.join(p.path, "data")
        os.mkdir(data)
        open(os.path.join(data, "sample.bin"), "w").close()
        p.write("fill.sh", 'echo "$1" > made.bin\n')
        p.write("data.json", json.dumps({"set": {"local": {"path": data}}, "made": {"custom": {"path": "fill.sh", "args": "x"}}, "bucket": {"aws": {"path": "s3://x"}}}))
        p.write("credential.json", json.dumps({"HUB": {"username": "me", "password": "pa ss'word"}}))
        p.write("scripts/dummy/secret.sh", '[ "$HUB_USERNAME,$HUB_PASSWORD" = "me,pa ss\'word" ] && echo "performance: 1 x"\n')
        ran(p.call("run", "--tags", "local,two,secret", "--no-docker"))
        holds(p.read("local.run.live.log"), "sample.bin\nnames set\n")
        holds(p.read("two.run.live.log"), "sample.bin\nmade.bin\nnames set,made\n")
        equal([(row["dataname"], row["data_provider_type"]) for row in p.table()], [("set", "local"), ("set,made", "custom"), ("", "")])
        for folder, _, files in os.walk(p.work):
            for name in files:
                if name not in ("credential.json", "secret.sh"):
                    with open(os.path.join(folder, name), errors="replace") as f:
                        assert "pa ss" not in f.read(), name
        holds(ran(p.call("run", "--tags", "far", "--no-docker"), 3).stderr, "data 'bucket': provider aws is unsupported; copy the data to this machine")
        holds(ran(p.call("run", "--tags", "unknown", "--no-docker"), 3).stderr, "data.json: no data 'none'")
        mirror = os.path.join(p.path, "mirror")
        os.mkdir(mirror)
        ran(p.call("run", "--tags", "two", "--no-docker", "--force-mirror-local", mirror))
        equal(os.listdir(os.path.join(mirror, "made")), ["made.bin"])
        os.remove(p.file("data.json"))
        holds(ran(p.call("run", "--tags", "local", "--no-docker"), 3).stderr, "data.json: no such file")


# --- containers ---

CONTAINER_OPTIONS = ("--network host -u root --cap-add=SYS_PTRACE --cap-add SYS_ADMIN --device /dev/fuse --security-opt seccomp=unconfined "
                     "--security-opt apparmor=unconfined --ipc=host --group-add video").split()


@test
def a_model_in_a_container(binary):
    script = 'echo "in $PWD $*"; cat from_pre.txt; echo "performance: 2 x"\n'
    context = json.dumps({"pre_scripts": [{"path": "scripts/own/pre.sh", "args": "1 2"}], "post_scripts": [{"path": "scripts/own/post.sh"}],
                          "env_vars": {"OWN": "1", "MY_TOKEN": "hidden-value"}, "docker_env_vars": {"LAST": "2"}, "docker_mounts": {"/in": "/out"}})
    with Project(binary, [model("Dummy/Prof", args="-x", additional_docker_run_options="--label a=b")], "docker", script=script) as p:
        p.write("scripts/own/pre.sh", 'echo "pre $* $OWN" > from_pre.txt\n')
        p.write("scripts/own/post.sh", "echo post; ls\n")
        done = ran(p.call("run", "--tags", "Dummy/Prof", "-c", context))
        image, name = "ci-dummy_prof_dummy.ubuntu.amd", "container_ci-dummy_prof_dummy.ubuntu.amd"
        holds(done.stderr, f"running Dummy/Prof in {image}; log: Dummy_Prof_dummy.ubuntu.amd.run.live.log")
        equal(p.read("Dummy_Prof_dummy.ubuntu.amd.run.live.log").splitlines(),
              [f"in {p.work}/run_directory -x", "pre 1 2 1", "performance: 2 x", "post", "from_pre.txt", "post.sh", "pre.sh", "run.sh"])
        calls = p.docker()
        start = [words for words in calls if words[0] == "run"][0]
        equal(start[:7], ["run", "-t", "-d", "--stop-signal", "SIGKILL", "--label", start[6]])
        equal(start[7:9] + start[9:9 + len(CONTAINER_OPTIONS)], ["--name", name] + CONTAINER_OPTIONS)
        text = " ".join(start)
        for part in ("--env MAD_MODEL_NAME=Dummy/Prof", "--env OWN=1", "--env LAST=2", f"-v {p.work}:{p.work}", f"-v {p.work}:/myworkspace/", "-v /out:/in",
                     "--label a=b --workdir /myworkspace " + image + " cat", "--env MY_TOKEN --env"):
            holds(text, part)
        assert "hidden-value" not in json.dumps(calls)
        equal([words[0] for words in calls if words[0] in ("exec", "rm")], ["exec", "exec", "exec", "exec", "rm"])
        equal([words[1:5] for words in calls if words[0] == "exec"][1], ["--workdir", "/myworkspace/run_directory", name, "bash"])
        row = p.table()[0]
        equal([row[k] for k in ("model", "docker_file", "base_docker", "docker_image", "launcher", "status", "additional_docker_run_options")],
              ["Dummy/Prof", "docker/dummy.ubuntu.amd.Dockerfile", "rocm/pytorch", image, "docker", "SUCCESS", "--label a=b"])
        holds(p.read("Dummy_Prof_dummy.ubuntu.amd.live.log"), "building " + image + "\n\n" + "=" * 80 + "\nRUN PHASE LOG\n" + "=" * 80 + "\n\nin ")
        assert not p.exists("run_directory") and not json.load(open(p.log + ".docker/containers.json"))


@test
def a_run_that_starts_at_the_same_time(binary):
    with Project(binary, [model("m")], "docker") as p:
        ran(p.call("run", "--tags", "m", "--keep-alive"))  # the other one's container
        # a docker that does not show it yet
        p.write("late/docker", f'#!/bin/sh\n[ "$1" = inspect ] && exit 1\nexec {p.bin}/docker "$@"\n', 0o755)
        done = ran(p.call("run", "--tags", "m", PATH=p.file("late") + ":" + p.environment()["PATH"]))
        holds(done.stderr, "1 of 1 models succeeded")
        names = [words[words.index("--name") + 1] for words in p.docker() if words[0] == "run"]
        equal((names[:2], names[2].startswith(names[0] + "_")), ([names[0]] * 2, True))
        equal(list(json.load(open(p.log + ".docker/containers.json"))), [names[0]])


@test
def a_container_that_stays(binary):
    with Project(binary, [model("m")], "docker") as p:
        done = ran(p.call("run", "--tags", "m", "--keep-alive"))
        holds(done.stderr, "docker exec -it container_ci-m_dummy.ubuntu.amd bash")
        containers = json.load(open(p.log + ".docker/containers.json"))
        equal((list(containers), p.exists("run_directory")), (["container_ci-m_dummy.ubuntu.amd"], True))
        ran(p.call("run", "--tags", "m"))  # the run that started it has ended: it is replaced
        equal(json.load(open(p.log + ".docker/containers.json")), {})
        containers["container_ci-m_dummy.ubuntu.amd"]["labels"]["gputally.pid"] = str(os.getpid())
        with open(p.log + ".docker/containers.json", "w") as f:
            json.dump(containers, f)
        ran(p.call("run", "--tags", "m"))  # that of a run that goes on is left alone
        equal(list(json.load(open(p.log + ".docker/containers.json"))), ["container_ci-m_dummy.ubuntu.amd"])


@test
def a_container_that_takes_too_long(binary):
    with Project(binary, [model("m", timeout=2)], "docker", script="touch begun; sleep 1000\n") as p:
        done = ran(p.call("run", "--tags", "m"), 3)
        holds(done.stderr, "Program timed out. Requested timeout=2")
        equal((json.load(open(p.log + ".docker/containers.json")), p.table()[0]["status"], p.exists("run_directory")), ({}, "FAILURE", False))


@test
def an_image_that_exists(binary):
    with Project(binary, [model("a/b", timeout=9)], "docker") as p:
        os.makedirs(p.log + ".docker")
        with open(p.log + ".docker/registry.json", "w") as f:
            json.dump({"rocm/pytorch:latest": {}}, f)
        ran(p.call("run", "--tags", "a/b", "-c", "{'MAD_CONTAINER_IMAGE': 'rocm/pytorch:latest'}"))
        assert p.exists("a_b_rocm_pytorch_latest.run.live.log"), p.tree()
        assert not [words for words in p.docker() if words[0] == "build"]
        manifest = p.json("build_manifest.json")
        equal(list(manifest["built_images"].items()), [("local-a_b", {"docker_image": "rocm/pytorch:latest", "dockerfile": "N/A (local image mode)", "build_status": "SKIPPED",
                                                                     "build_time": 0, "local_image": True, "registry_image": None})])
        equal((manifest["local_image_mode"], manifest["local_image_name"], manifest["built_models"]["local-a_b"]["timeout"]), (True, "rocm/pytorch:latest", 9))
        ran(p.call("run", "--manifest-file", "build_manifest.json"))
        equal([row["docker_image"] for row in p.table()], ["rocm/pytorch:latest"] * 2)
        holds(ran(p.call("run", "--tags", "a/b", "-c", '{"MAD_CONTAINER_IMAGE": "not/there"}'), 3).stderr, "Docker image 'not/there' not found")
        holds(ran(p.call("run", "--manifest-file", "x.json", "-c", '{"MAD_CONTAINER_IMAGE": "i"}'), 4).stderr, "Tags required for MAD_CONTAINER_IMAGE mode")


@test
def profilers_in_containers(binary):
    """The profiler runs in the container, the sampler outside; files and reports are in the working folder."""
    context = json.dumps({"tools": [{"name": "rocprofv3_compute"}, {"name": "gpu_info_power_profiler"}, {"name": "rocblas_trace"}]})
    with Project(binary, [model("dummy_prof")], "docker", "rocprofv3", script='./rocblas-bench -f x 2>/dev/null; echo "./rocblas-bench -f gemm"; echo "performance: 1 x"\n') as p:
        samples = os.path.join(p.path, "smi")
        with open(samples, "w") as f:
            f.write("0,0,100,1,10\n")
        ran(p.call("run", "--tags", "dummy_prof", "-c", context, **rocm_smi(samples)))
        for name in ("rocprof_output/latest/kernel_trace.csv", "rocprof_output/model_trace.pftrace", "gpu_info_power_profiler_output.csv", "library_trace.csv",
                     "dummy_prof_perf_report.xlsx", "dummy_prof_perf_report.html", "gputally_run.json", "perf.csv"):
            assert p.exists(name), (name, p.tree())
        equal(len([call for call in p.calls() if call.get("program") == "rocprofv3" and call.get("pass")]) or p.record()["passes"], 12)
        holds(p.read("library_trace.csv"), "dummy_prof,rocblas,./rocblas-bench -f gemm,12")
        line = [words[-1] for words in p.docker() if words[0] == "exec" and "rocprofv3" in words[-1]][0]
        assert line.startswith("rocprofv3 ") and line.endswith(" -- bash run.sh"), line


# --- manifests and other ways to call it ---

@test
def manifests_of_madengine(binary):
    """A manifest that madengine has written, with settings of the run on top; the file is changed in place."""
    manifest = {"built_images": {"ci-m_dummy.ubuntu.amd": {"docker_image": "ci-m_dummy.ubuntu.amd", "dockerfile": "docker/dummy.ubuntu.amd.Dockerfile", "build_duration": 3.5,
                                                           "registry_image": "reg:5000/ci-m_dummy.ubuntu.amd"}},
                "built_models": {"ci-m_dummy.ubuntu.amd": model("m")}, "context": {"docker_env_vars": {"KEPT": "1"}, "tools": [{"name": "rocprofv3_full"}]},
                "deployment_config": {"target": "local", "env_vars": {"A": "1"}, "debug": False}}
    with Project(binary, [], "docker", script='echo "$A $B $KEPT"; echo "performance: 1 x"\n') as p:
        os.makedirs(p.log + ".docker")
        with open(p.log + ".docker/registry.json", "w") as f:
            json.dump({"reg:5000/ci-m_dummy.ubuntu.amd": {}}, f)
        p.write("m.json", json.dumps(manifest))
        ran(p.call("run", "-m", "m.json", "-c", '{"env_vars": {"B": "2"}, "tools": []}'))
        row = p.table()[0]
        equal((row["docker_image"], row["build_duration"], row["status"]), ("reg:5000/ci-m_dummy.ubuntu.amd", "3.5", "SUCCESS"))
        holds(p.read("m_reg_5000_m_dummy.ubuntu.amd.run.live.log"), " 2 1\n")
        changed = p.json("m.json")
        equal((changed["context"]["tools"], changed["deployment_config"]["env_vars"]), ([], {"B": "2"}))
        equal(list(changed), list(manifest))
        for text, message in (("[]", "not a build manifest: no object built_images"), ('{"built_images": {}, "built_models": {"x": 1}}', "model x has no name"), ("{", "m.json")):
            p.write("m.json", text)
            holds(ran(p.call("run", "-m", "m.json"), 1).stderr, message)


@test
def wrong_calls(binary):
    with Project(binary, [model("m")], "docker") as p:
        for words, status, text in ((["run"], 4, "Either --manifest-file or --tags required"), (["run", "-m", "none.json"], 4, "Either --manifest-file or --tags required, and there is no file none.json\n"),
                                    (["run", "--tags", "m", "--", "true"], 4, "cannot be used together with a command"),
                                    (["run", "--tags", "m", "-c", "[1]"], 4, "additional_context must be a JSON object"),
                                    (["run", "--tags", "m", "-c", '{"slurm": {}, "k8s": {}}'], 4, "Conflicting deployment configuration"),
                                    (["run", "--tags", "m", "-c", '{"guest_os": "CENTOS"}'], 2, "no Dockerfile docker/dummy.* has a line '# CONTEXT {...}' for gpu_vendor AMD, guest_os CENTOS"),
                                    (["nothing"], 2, "usage: madengine"),
                                    (["report", "to-html", "--csv-file-path", "perf.csv"], 2, "madengine: error: gputally has no report: gputally run writes the page"),
                                    (["database", "--csv-file-path", "perf.csv"], 2, "madengine: error: gputally has no database: to store perf.csv in MongoDB, use mongoimport")):
            done = p.call(*words)
            equal((words, done.returncode), (words, status))
            holds(done.stderr, text)
        equal(p.docker(), [])
        p.write("perf.csv", "a,b\n1,2\n")
        holds(ran(p.call("run", "--tags", "m"), 4).stderr, "perf.csv: not a performance table (no column 'model'); name another file with --output")
        equal((p.read("perf.csv"), p.docker()), ("a,b\n1,2\n", []))
        ran(p.call("run", "--tags", "m", "-o", "other.csv"))
        equal(len(p.table("other.csv")), 1)
    with Project(binary, [model("m")]) as p:
        holds(ran(p.call("run", "--tags", "m", PATH=p.bin), 2).stderr, "neither docker nor podman found in PATH")


@test
def dry_runs_start_nothing(binary):
    with Project(binary, [model("m"), model("n", tags=["t"])], "docker") as p:
        p.write("scripts/py/get_models_json.py", "raise SystemExit(3)\n")
        done = ran(p.call("run", "--tags", "m,t", "--dry-run", "-c", '{"tools": [{"name": "rocprofv3_lightweight"}]}'))
        plans = json.loads(done.stdout)
        equal([plan["name"] for plan in plans], ["m", "n"])
        equal(plans[0]["docker"]["argv"][-2:], ["ci-m_dummy.ubuntu.amd", "cat"])
        assert plans[0]["argv_shell"].endswith("-- bash run.sh"), plans[0]["argv_shell"]
        equal((p.calls(), sorted(os.listdir(p.work))), ([], ["docker", "models.json", "scripts"]))


@test
def folders_with_odd_names(binary):
    with Project(binary, [model("a b;$(touch x)", args="'1 2'", tags=["odd"])], "docker") as p:
        moved = p.work + " with 'blank"
        os.rename(p.work, moved)
        p.work = moved
        ran(p.call("run", "--tags", "odd", "--no-docker"))
        holds(p.read("a b;$(touch x).run.live.log"), "args 1 2\n")
        equal(p.table()[0]["model"], "a b;$(touch x)")
        assert not p.exists("x")


@test
def absurd_models(binary):
    """Names, numbers and types that make no sense: a row that says FAILURE, or a plain run; never a crash."""
    models = [model("long" * 10000), model("x/../../y"), model("\u202e</script>"), model("numbers", n_gpus=10**30, timeout=1e300),
              model("types", env_vars=[1], skip_gpu_arch={"a": 1}, data=None, multiple_results=5, tags=7, distributed="x"), model("values", env_vars={"A": [1]}),
              model("variable", env_vars={"A=B": "1"}), model("launcher", distributed={"launcher": "unheard of"})]
    with Project(binary, models) as p:
        done = ran(p.call("run", "--tags", "all", "--no-docker", "--report", "none"), 3)
        equal([(row["model"][:12], row["status"]) for row in p.table()],
              [("longlonglong", "FAILURE"), ("x/../../y", "SUCCESS"), ("\u202e</script>", "SUCCESS"), ("numbers", "SUCCESS"), ("types", "SUCCESS"), ("values", "FAILURE"),
               ("variable", "FAILURE"), ("launcher", "FAILURE")])
        assert not [name for name in os.listdir(p.path) if name == "y"]
        holds(done.stderr, "unheard of")


@test
def interrupted_models(binary):
    """Ctrl-C ends the model that runs, and no other one begins."""
    with Project(binary, [model("first"), model("second")], script="touch ../begun; sleep 1000\n") as p:
        run = subprocess.Popen([os.path.join(p.bin, "madengine"), "run", "--tags", "all", "--no-docker"], cwd=p.work, env=p.environment(GPUTALLY_SYSFS=p.path),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not p.exists("begun") and run.poll() is None:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate(timeout=harness.WALL_SECONDS)
        equal((run.returncode, [row["model"] for row in p.table()], p.exists("run_directory")), (3, ["first"], False))
        holds(err, "interrupted by signal 2")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
