#!/usr/bin/env python3
"""`gputally run` on Kubernetes: real kubectl where it is installed, otherwise a stand-in (the first line says which), against a
stand-in cluster (kube_server.py) that checks every object and runs the pods as processes of this machine.

    python3 -m tests.run.test_kubernetes --bin build/gputally [--stand-in] [TEXT]      only tests with TEXT in their name
"""
import argparse
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

import yaml

from tests.common import harness
from tests.run.kube_server import Cluster, check_object

STAND_INS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_ins")
KUBECTL = shutil.which("kubectl", path=harness.SYSTEM_PATH)
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def equal(a, b):
    assert a == b, f"\n     got {a!r}\nexpected {b!r}"


def holds(text, part):
    assert part in text, f"\n     {part!r} is not in\n{text}"


class Place:
    """A cluster, and a folder with a blank in its name where runs are started."""

    def __init__(self, binary, namespace=None, context="main"):
        self.binary = binary
        self.path = tempfile.mkdtemp(prefix="gputally-k8s-")
        self.bin, self.pod_bin, self.work = (os.path.join(self.path, name) for name in ("bin", "pod bin", "my work"))
        for folder in (self.bin, self.pod_bin, self.work):
            os.mkdir(folder)
        os.symlink(os.path.realpath(binary), os.path.join(self.pod_bin, "gputally"))
        os.symlink(os.path.join(STAND_INS, "rocprofv3"), os.path.join(self.pod_bin, "rocprofv3"))
        os.symlink(KUBECTL or os.path.join(STAND_INS, "kubectl"), os.path.join(self.bin, "kubectl"))
        for program in ("tar", "gzip"):
            for folder in (self.bin, self.pod_bin):
                os.symlink(shutil.which(program, path=harness.SYSTEM_PATH), os.path.join(folder, program))
        self.cluster = Cluster(os.path.join(self.path, "cluster"), self.pod_bin + ":" + os.environ["PATH"])
        self.kubeconfig = self.cluster.kubeconfig(os.path.join(self.path, "kubeconfig"), context, namespace)

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("GPUTALLY", "KUBE"))}
        env.update({"PATH": self.bin + ":" + os.environ["PATH"], "KUBECONFIG": self.kubeconfig, "HOME": self.path, "TZ": "UTC",
                    "GPUTALLY_K8S_POLL_SECONDS": "0.4", "ASAN_OPTIONS": "detect_leaks=0", **more})
        return env

    def words(self, context, *words, image="img:1"):
        context = {"k8s": {}, **context}
        return [self.binary, "run", "-c", json.dumps(context), "--docker=" + image, "--name", "job", *words]

    def run(self, context, *words, image="img:1", **env):
        return subprocess.run(self.words(context, *words, image=image), cwd=self.work, env=self.environment(**env),
                              capture_output=True, text=True, timeout=harness.WALL_SECONDS)

    def results(self, *parts):
        folders = glob.glob(os.path.join(glob.escape(self.work), "k8s_results", "job", "*"))
        equal(len(folders), 1)
        return os.path.join(folders[0], *parts)

    def summary(self):
        with open(self.results("results_summary.json")) as f:
            return json.load(f)

    def created(self, kind):
        return [item for item in self.cluster.created if item["kind"] == kind]

    def left(self, seconds=5):
        """Objects that exist once pods had time to end."""
        for _ in range(int(seconds * 20)):
            if not any(name.startswith("pods/") for name in self.cluster.left()):
                break
            time.sleep(0.05)
        return self.cluster.left()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.stop()
        shutil.rmtree(self.path, ignore_errors=True)


def sh(line):
    return ["--", "bash", "-c", line]


# --- a run from beginning to end ---

@test
def one_pod(binary):
    with Place(binary) as p:
        done = p.run({}, *sh("echo to stdout; echo to stderr >&2; echo 'performance: 12 samples_per_second'"))
        equal((done.returncode, done.stderr.count("warning")), (0, 0))
        equal(sorted(done.stdout.splitlines()[:3]), ["performance: 12 samples_per_second", "to stderr", "to stdout"])
        equal(sorted(os.listdir(p.results())), ["job.log", "job.yaml", "job_run_summary.xlsx", "node_0", "results_summary.json"])
        with open(p.results("node_0", "gputally_run.json")) as f:
            record = json.load(f)
        equal((record["status"], record["performance"]), ("SUCCESS", 12.0))
        equal((p.summary()["status"], p.summary()["metrics"]), ("SUCCESS", {"samples_per_second": 12.0}))
        equal(p.left(), [])
        equal(sorted(item["kind"] for item in p.cluster.created), ["ConfigMap", "Job", "PersistentVolumeClaim", "Pod"])


@test
def output_appears_while_the_pod_runs(binary):
    with Place(binary) as p:
        gate = os.path.join(p.path, "gate")
        command = sh(f"echo first; while [ ! -e '{gate}' ]; do sleep 0.05; done; echo second")
        process = subprocess.Popen(p.words({}, *command), cwd=p.work, env=p.environment(), stdout=subprocess.PIPE, text=True,
                                   stderr=subprocess.DEVNULL)
        equal(process.stdout.readline(), "first\n")  # the pod cannot end before this was read
        open(gate, "w").close()
        equal(process.stdout.readline(), "second\n")
        process.communicate(timeout=60)
        equal(process.returncode, 0)


@test
def several_nodes(binary):
    with Place(binary) as p:
        context = {"distributed": {"nnodes": 2, "nproc_per_node": 1, "launcher": "none", "port": 29123}}
        done = p.run(context, *sh("echo \"I am $NODE_RANK of $NNODES at $MASTER_ADDR:$MASTER_PORT\"; echo \"performance: $((NODE_RANK + 1)) tokens_per_second\""))
        equal(done.returncode, 0)
        name = p.created("Job")[0]["metadata"]["name"]
        for rank in (0, 1):
            holds(done.stdout, f"[node_{rank}] I am {rank} of 2 at {name}-0.{name}:29123\n")
        equal(p.summary()["metrics"], {"tokens_per_second": 3.0})
        equal([n["node"] for n in p.summary()["nodes"]], [0, 1])
        spec = p.created("Job")[0]["spec"]
        equal((spec["completions"], spec["parallelism"], spec["completionMode"]), (2, 2, "Indexed"))
        equal(spec["template"]["spec"]["subdomain"], name)
        service = p.created("Service")[0]
        equal((service["metadata"]["name"], service["spec"]["selector"]), (name, {"job-name": name}))
        equal(p.left(), [])


@test
def two_runs_at_once(binary):
    with Place(binary) as p:
        runs = [subprocess.Popen(p.words({}, *sh(f"echo run {i}; sleep 1")), cwd=p.work, env=p.environment(), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True) for i in range(2)]
        for i, process in enumerate(runs):
            out, err = process.communicate(timeout=90)
            equal((process.returncode, f"run {i}\n" in out, f"run {1 - i}\n" in out), (0, True, False))
        folders = glob.glob(os.path.join(glob.escape(p.work), "k8s_results", "job", "*"))
        equal(len(folders), 2)
        equal(p.left(), [])


# --- what goes in and what comes out ---

@test
def all_outputs_come_back(binary):
    """Links too: hard links of the collected files keep their contents, which `kubectl cp` would lose."""
    with Place(binary) as p:
        counters = os.path.join(p.work, "my counters.txt")
        with open(counters, "w") as f:
            f.write("pmc: SQ_WAVES\n")
        context = {"tools": [{"name": "rocprofv3", "cmd": "rocprofv3 --kernel-trace --output-format csv -i 'my counters.txt' -d ./rocprof_output --"}]}
        p.cluster.variables.update(STANDIN_LOG=os.path.join(p.path, "log"), STANDIN_FIXTURES=p.path)
        done = p.run(context, *sh("true"))
        equal(done.returncode, 0)
        stored = [f for f in p.created("ConfigMap")[0]["data"].items() if f[0] != "context.json"]
        equal(stored, [("file0_my_counters.txt", "pmc: SQ_WAVES\n")])
        with open(os.path.join(p.path, "log")) as f:
            argv = json.loads(f.readline())["argv"]
        holds(argv[argv.index("-i") + 1], "/file0_my_counters.txt")
        output = p.results("node_0", "rocprof_output")
        equal(os.path.islink(os.path.join(output, "latest")), True)
        kernels = os.path.join(output, "latest", "kernel_trace.csv")
        assert os.path.getsize(kernels) > 100, "the table of kernels is empty"


@test
def scripts_and_tools_come_along(binary):
    with Place(binary) as p:
        for name, text in (("pre.sh", "echo before $1\n"), ("own.sh", "echo from the tool\n")):
            with open(os.path.join(p.work, name), "w") as f:
                f.write(text)
        with open(os.path.join(p.work, "tools.json"), "w") as f:
            json.dump({"tools": {"mine": {"cmd": "env WRAPPED=yes", "pre_scripts": [{"path": "own.sh"}]}}}, f)
        context = {"pre_scripts": [{"path": "pre.sh", "args": "it"}], "tools": [{"name": "mine"}]}
        done = p.run(context, "--tools_config", "tools.json", *sh("echo wrapped=$WRAPPED"))
        equal((done.returncode, done.stdout.splitlines()[:3]), (0, ["from the tool", "before it", "wrapped=yes"]))


@test
def secrets_are_in_a_secret_only(binary):
    with Place(binary) as p:
        context = {"env_vars": {"HF_TOKEN": "hf_abcdef", "PLAIN": "p1"}, "docker_env_vars": {"API_KEY": "key_abcdef"}}
        done = p.run(context, *sh("test \"$HF_TOKEN$API_KEY$PLAIN\" = hf_abc''def''key_abc''def''p1"))
        equal(done.returncode, 0)
        secret = p.created("Secret")[0]
        equal(secret["stringData"], {"HF_TOKEN": "hf_abcdef", "API_KEY": "key_abcdef"})
        others = json.dumps([item for item in p.cluster.created if item["kind"] != "Secret"])
        equal(("abcdef" in others, "p1" in others), (False, True))
        for folder, _, names in os.walk(p.work):
            for name in names:
                with open(os.path.join(folder, name), errors="replace") as f:
                    assert "abcdef" not in f.read(), f"{name} has a secret"
        equal(p.left(), [])
        written = p.run(context, "--generate-only", "--", "true")
        path = written.stdout.strip()
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path) as f:
            equal([o["stringData"]["API_KEY"] for o in yaml.safe_load_all(f) if o["kind"] == "Secret"], ["key_abcdef"])
        os.chmod(path, 0o644)
        equal(p.run(context, "--generate-only", "--", "true").returncode, 0)
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)


HOSTILE = ["a: b", "# no comment", "1.50", "true", "null", "x\ny: z\n---\nkind: Evil", "'\"\\", "{a}", "- x", "\u2028\ufeff\U0001F600", "%s $(id) `id`",
           "", " both ends ", "\t"]


@test
def values_cannot_change_the_objects(binary):
    with Place(binary) as p:
        env = {f"V{i}": value for i, value in enumerate(HOSTILE)}
        k8s = {"node_selector": {"a.b/c": "yes"}, "memory": "1Gi", "tolerations": [{"key": "a: b", "operator": "Exists"}]}
        # the value of a variable as the command sees it, not as YAML has it
        program = "import json, os; print('VALUES ' + json.dumps({k: os.environ[k] for k in sorted(os.environ) if k[0] == 'V' and k[1:].isdigit()}))"
        done = p.run({"env_vars": env, "k8s": k8s}, "--", "python3", "-c", program)
        equal(done.returncode, 0)
        seen = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("VALUES "))[7:])
        equal(seen, env)
        pod = p.created("Job")[0]["spec"]["template"]["spec"]
        equal((pod["nodeSelector"], pod["tolerations"]), ({"a.b/c": "yes"}, k8s["tolerations"]))
        equal(sorted({item["kind"] for item in p.cluster.created}), ["ConfigMap", "Job", "PersistentVolumeClaim", "Pod"])


@test
def names_are_valid(binary):
    with Place(binary) as p:
        for name in ("Ünïcode", "---", "a" * 200, "Mixed_Case.v1", "x: y", "<script>"):
            done = p.run({"distributed": {"nnodes": 99999}}, "--name=" + name, "--generate-only", "--", "true")
            equal((name, done.returncode, done.stderr), (name, 0, ""))
            with open(done.stdout.strip()) as f:
                for item in yaml.safe_load_all(f):
                    kind = {"Job": "jobs", "ConfigMap": "configmaps", "Service": "services", "PersistentVolumeClaim": "persistentvolumeclaims"}[item["kind"]]
                    check_object(kind, item)  # raises


@test
def kubectl_reads_the_file(binary):
    """With kubectl's own reader of YAML, not only Python's."""
    if not KUBECTL:
        raise harness.Skipped("kubectl is not installed")
    with Place(binary) as p:
        env = {f"V{i}": value for i, value in enumerate(HOSTILE)}
        path = p.run({"env_vars": env}, "--generate-only", "--", "echo", *HOSTILE).stdout.strip()
        words = [KUBECTL, "create", "--dry-run=client", "--validate=false", "-o", "json", "-f", path]
        done = subprocess.run(words, env=p.environment(), capture_output=True, text=True)
        equal((done.returncode, done.stderr), (0, ""))
        items = json.loads("[" + re.sub(r"^\}\s*\{", "},{", done.stdout, flags=re.M) + "]")
        items = items[0]["items"] if items[0]["kind"] == "List" else items
        with open(path) as f:
            expected = list(yaml.safe_load_all(f))
        job = next(item for item in items if item["kind"] == "Job")
        equal(job["spec"], next(item for item in expected if item["kind"] == "Job")["spec"])
        values = {e["name"]: e.get("value", "") for e in job["spec"]["template"]["spec"]["containers"][0]["env"]}
        equal({name: values[name] for name in env}, env)


@test
def a_context_that_is_too_large(binary):
    with Place(binary) as p:
        with open(os.path.join(p.work, "big.json"), "w") as f:
            json.dump({"k8s": {}, "_comment": "x" * (1 << 20)}, f)
        done = subprocess.run([binary, "run", "-f", "big.json", "--docker=img", "--generate-only", "--", "true"], cwd=p.work,
                              env=p.environment(), capture_output=True, text=True)
        equal(done.returncode, 4)
        assert re.fullmatch(r"gputally: k8s: context, counter lists and scripts have \d+ bytes; a ConfigMap holds 1 MiB\n", done.stderr), done.stderr


@test
def namespace_context_and_kubeconfig(binary):
    with Place(binary, namespace="team", context="other") as p:
        done = p.run({}, *sh("true"))  # that of the kubeconfig's context
        equal((done.returncode, {item["metadata"].get("namespace") for item in p.cluster.created}), (0, {"team"}))
        equal(p.left(), [])
        p.cluster.created.clear()
        os.rename(p.kubeconfig, os.path.join(p.path, "elsewhere"))
        k8s = {"kubeconfig": "~/elsewhere", "namespace": "lab", "context": "other"}
        done = p.run({"k8s": k8s}, *sh("true"))
        equal((done.returncode, {item["metadata"]["namespace"] for item in p.cluster.created}), (0, {"lab"}))
        equal(p.left(), [])
        done = p.run({"k8s": {**k8s, "context": "none"}}, *sh("true"))
        equal(done.returncode, 3)
        holds(done.stderr, "none")
        holds(done.stderr, "the job could not be submitted")


@test
def a_claim_of_the_user(binary):
    with Place(binary) as p:
        p.cluster.create("persistentvolumeclaims", "default", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "mine", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}})
        done = p.run({"k8s": {"results_pvc": "mine", "data_pvc": "mine"}}, *sh("true"))
        equal(done.returncode, 0)
        equal(p.summary()["status"], "SUCCESS")
        equal(p.left(), ["persistentvolumeclaims/mine"])
        equal(os.listdir(p.cluster.volume("default", "mine")), [])
        mounts = {m["mountPath"]: m["name"] for m in p.created("Job")[0]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]}
        equal((mounts["/data"], mounts["/results"]), ("data", "results"))


# --- failures ---

@test
def a_command_that_fails_is_not_repeated(binary):
    with Place(binary) as p:
        done = p.run({}, *sh("echo once; exit 7"))
        equal((done.returncode, len(p.cluster.started), done.stdout.count("once")), (3, 1, 1))
        equal((p.summary()["status"], p.summary()["nodes"][0]["exit_code"]), ("FAILURE", 7))
        holds(done.stderr, "failed: PodFailurePolicy: exit status 3")
        equal(p.left(), [])


@test
def retries_on_request(binary):
    with Place(binary) as p:
        done = p.run({"k8s": {"backoff_limit": 1}}, *sh("echo try; exit 7"))
        equal((done.returncode, len(p.cluster.started), done.stdout.count("try\n")), (3, 2, 2))
        holds(done.stderr, "BackoffLimitExceeded")
        for folder in ("node_0", "node_0_attempt_1"):
            with open(p.results(folder, "gputally_run.json")) as f:
                equal(json.load(f)["exit_code"], 7)
        equal(p.left(), [])


@test
def a_node_of_several_fails(binary):
    with Place(binary) as p:
        done = p.run({"distributed": {"nnodes": 2, "launcher": "none"}}, *sh("sleep 1; exit $NODE_RANK"))
        equal(done.returncode, 3)
        by_node = {n["node"]: n for n in p.summary()["nodes"]}
        equal((by_node[1]["status"], by_node[1]["exit_code"]), ("FAILURE", 1))
        holds(done.stderr, "node_1: FAILURE: the command failed with exit status 1")
        equal(p.left(), [])


@test
def an_image_that_does_not_exist(binary):
    with Place(binary) as p:
        done = p.run({}, *sh("true"), image="missing/it")
        equal(done.returncode, 3)
        equal(done.stderr.count("is waiting"), 1)
        holds(done.stderr, "cannot start: ")
        holds(done.stderr, "manifest unknown")
        equal((p.summary()["status"], p.summary()["nodes"][0]["status"]), ("FAILURE", "MISSING"))
        equal(p.left(), [])


@test
def a_registry_that_does_not_answer(binary):
    with Place(binary) as p:
        begin = time.monotonic()
        done = p.run({"k8s": {"pull_timeout": 2}}, *sh("true"), image="flaky/it")
        equal((done.returncode, time.monotonic() - begin >= 2), (3, True))
        holds(done.stderr, "i/o timeout")
        equal(p.left(), [])


@test
def a_pod_that_waits_for_a_machine(binary):
    with Place(binary) as p:
        process = subprocess.Popen(p.words({"k8s": {"node_selector": {"nowhere": "x"}}}, *sh("echo ran")), cwd=p.work, env=p.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = process.stderr.readline()
        while "is waiting" not in line and line:
            line = process.stderr.readline()
        holds(line, "Unschedulable: 0/3 nodes are available")
        time.sleep(1)  # several more questions
        p.cluster.has_room = True
        out, err = process.communicate(timeout=60)
        equal((process.returncode, "ran\n" in out, "is waiting" in err), (0, True, False))


@test
def a_quota_that_is_used_up(binary):
    """No pod exists that could say why it waits."""
    with Place(binary) as p:
        p.cluster.quota = True
        process = subprocess.Popen(p.words({}, *sh("echo ran")), cwd=p.work, env=p.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        line = process.stderr.readline()
        while "has no pods" not in line and line:
            line = process.stderr.readline()
        holds(line, "FailedCreate: pods are forbidden: exceeded quota: gpus")
        time.sleep(1)
        p.cluster.quota = False
        out, err = process.communicate(timeout=60)
        equal((process.returncode, "ran\n" in out, "no pods" in err), (0, True, False))


@test
def an_image_without_gputally(binary):
    with Place(binary) as p:
        os.unlink(os.path.join(p.pod_bin, "gputally"))
        done = p.run({}, *sh("true"))
        equal((done.returncode, len(p.cluster.started)), (3, 1))
        holds(done.stdout, "gputally: not found")
        holds(done.stderr, "exit status 127")
        equal(p.left(), [])


@test
def an_evicted_pod_is_replaced(binary):
    with Place(binary) as p:
        done = p.run({"env_vars": {"STANDIN_EVICT_FIRST": "1.5"}}, *sh("echo start; sleep 4; echo end"))
        equal((done.returncode, len(p.cluster.started)), (0, 2))
        holds(done.stderr, "failed: Evicted: The node was low on resource: ephemeral-storage.")
        equal((done.stdout.count("start\n"), done.stdout.count("end\n")), (2, 1))
        equal(p.summary()["status"], "SUCCESS")


@test
def an_evicted_pod_that_is_not_replaced(binary):
    with Place(binary) as p:
        done = p.run({"env_vars": {"STANDIN_EVICT_FIRST": "0.7"}, "k8s": {"backoff_limit": 0}}, *sh("sleep 30"))
        equal(done.returncode, 3)
        equal(p.summary()["nodes"][0]["status"], "MISSING")
        holds(p.summary()["nodes"][0]["reason"], "Evicted")
        holds(p.summary()["reason"], "BackoffLimitExceeded: Evicted")
        equal(p.left(), [])


@test
def a_deadline(binary):
    with Place(binary) as p:
        done = p.run({"k8s": {"active_deadline_seconds": 2}}, *sh("sleep 60"))
        equal((done.returncode, p.summary()["status"]), (3, "TIMEOUT"))
        holds(done.stderr, "timed out after 2 s")
        equal(p.left(15), [])


@test
def the_timeout_of_the_run(binary):
    with Place(binary) as p:
        done = p.run({}, "--timeout", "1", *sh("sleep 60"))
        equal((done.returncode, len(p.cluster.started)), (3, 1))
        with open(p.results("node_0", "gputally_run.json")) as f:
            equal(json.load(f)["timed_out"], True)
        equal(p.left(), [])


@test
def interrupting(binary):
    """Ctrl-C ends the pods, fetches what they had, and removes everything."""
    with Place(binary) as p:
        process = subprocess.Popen(p.words({}, *sh("echo started; exec sleep 60")), cwd=p.work, env=p.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        equal(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        equal(process.returncode, 3)
        holds(err, "interrupted by signal 2")
        with open(p.results("node_0", "job.run.live.log")) as f:
            equal(f.read(), "started\n")
        equal(p.left(), [])


@test
def interrupting_twice(binary):
    with Place(binary) as p:
        command = sh("trap '' TERM; echo started; for i in $(seq 600); do sleep 0.1; done")
        process = subprocess.Popen(p.words({}, *command), cwd=p.work, env=p.environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        equal(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGINT)
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.WALL_SECONDS)
        equal(process.returncode, 3)
        equal([name for name in p.cluster.left() if not name.startswith("pods/")], [])


@test
def keeping_the_objects(binary):
    with Place(binary) as p:
        done = p.run({}, "--keep-alive", *sh("true"))
        equal((done.returncode, sorted(name.split("/")[0] for name in p.cluster.left())),
              (0, ["configmaps", "jobs", "persistentvolumeclaims", "pods", "pods"]))
        line = re.search(r"kept; to remove: (kubectl.* delete .*)", done.stderr)[1]
        equal(subprocess.run(["bash", "-c", line], env=p.environment(), capture_output=True).returncode, 0)
        equal(p.left(), [])
    with Place(binary) as p:
        done = p.run({"cleanup_on_failure": False}, *sh("exit 1"))
        equal(done.returncode, 3)
        assert any(name.startswith("jobs/") for name in p.cluster.left()), p.cluster.left()
    with Place(binary) as p:
        equal((p.run({"cleanup_on_failure": False}, *sh("true")).returncode, p.left()), (0, []))


@test
def a_cluster_that_stumbles(binary):
    """Questions that fail are asked again; logs that break off go on after the last line."""
    with Place(binary) as p:
        p.cluster.fail_next["GET jobs"] = 3
        p.cluster.cut_logs = 2
        done = p.run({}, *sh("for i in $(seq 1 20); do echo line $i; sleep 0.1; done"))
        equal(done.returncode, 0)
        equal([line for line in done.stdout.splitlines() if line.startswith("line")], [f"line {i}" for i in range(1, 21)])
        equal(p.cluster.cut_logs, 0)
        holds(done.stderr, "trying again")
        equal(p.left(), [])


@test
def results_that_cannot_be_fetched(binary):
    with Place(binary) as p:
        p.cluster.fail_next["POST exec"] = 3
        done = p.run({}, *sh("true"))
        equal(done.returncode, 3)
        holds(done.stderr, "its results could not be fetched")
        equal([name.split("/")[0] for name in p.left()], ["persistentvolumeclaims"])
        holds(done.stderr, "kept; to remove: ")
    with Place(binary) as p:
        p.cluster.fail_next["POST exec"] = 2
        equal((p.run({}, *sh("true")).returncode, p.summary()["status"], p.left()), (0, "SUCCESS", []))


@test
def a_job_that_is_refused(binary):
    with Place(binary) as p:
        done = p.run({"k8s": {"memory": "lots: of"}}, *sh("true"))
        equal(done.returncode, 3)
        holds(done.stderr, "Invalid value")
        holds(done.stderr, "the job could not be submitted")
        equal(p.left(), [])


@test
def without_kubectl(binary):
    with Place(binary) as p:
        empty = os.path.join(p.path, "empty")
        os.mkdir(empty)
        done = p.run({}, *sh("true"), PATH=empty)
        equal(done.returncode, 3)
        holds(done.stderr, "kubectl not found in PATH; wrote ")
        equal(os.listdir(p.work), ["gputally-job.yaml"])


@test
def keep_alive_elsewhere(binary):
    done = subprocess.run([binary, "run", "--keep_alive", "--", "true"], capture_output=True, text=True, cwd="/tmp")
    equal(done.returncode, 2)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    arguments.add_argument("--stand-in", action="store_true", help="use the stand-in of kubectl even if kubectl is installed")
    options = arguments.parse_args()
    global KUBECTL
    KUBECTL = None if options.stand_in else KUBECTL
    binary = harness.require_binary(options.bin)
    print(f"kubectl: {KUBECTL or 'a stand-in'}; cluster: a stand-in", flush=True)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # they mostly wait
        tests = [(function.__name__, pool.submit(function, binary)) for function in TESTS if options.only in function.__name__]
        return harness.run_functions([(name, future.result) for name, future in tests])


if __name__ == "__main__":
    sys.exit(main())
