#!/usr/bin/env python3
"""Models and commands in real containers of podman: images are built from nothing (no registry is needed), and /usr of this machine
is mounted into them. Skipped, with the reason, where podman cannot run containers, as inside of many containers.

    python3 -m tests.run.test_containers --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from tests.common import harness
from tests.run.projects import Project, model
from tests.run.test_models import ran
from tests.run.test_profiling_runs import STAND_INS, equal, holds, run_tests

TESTS = []
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DOCKERFILE = ("# CONTEXT {'gpu_vendor': 'AMD', 'guest_os': 'UBUNTU'}\nFROM scratch\nCOPY root /\nENV PATH=/stand_ins:/usr/bin:/bin LC_ALL=C.UTF-8\n")
MOUNTS = f"-v /usr:/usr:ro -v {STAND_INS}:/stand_ins:ro"


def test(function):
    TESTS.append(function)
    return function


def fill(p):
    """The image's root folder: links into /usr, which is mounted, and the users that docker's options name."""
    root = p.file("docker/root")
    for folder in ("etc", "usr", "tmp", "stand_ins"):
        os.makedirs(os.path.join(root, folder))
    for name in ("bin", "sbin", "lib", "lib64"):
        os.symlink("usr/" + name, os.path.join(root, name))
    p.write("docker/root/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
    p.write("docker/root/etc/group", "root:x:0:\nvideo:x:44:\n")
    p.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE)


@functools.cache
def settings():
    """Settings of podman that work here, as variables; raises Skipped if there are none."""
    podman = shutil.which("podman", path=SYSTEM)
    if not podman:
        raise harness.Skipped("no podman")
    folder = tempfile.mkdtemp(prefix="gputally-podman-")
    atexit.register(shutil.rmtree, folder, True)
    os.makedirs(os.path.join(folder, "context/usr"))
    with open(os.path.join(folder, "context/Dockerfile"), "w") as f:
        f.write("FROM scratch\nCOPY usr /usr\n")
    reasons = []
    for runtime in ("", "runc", "crun"):
        if runtime and not shutil.which(runtime, path=SYSTEM):
            continue
        path = os.path.join(folder, f"containers-{runtime}.conf")
        with open(path, "w") as f:
            f.write('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\ncgroup_manager = "cgroupfs"\n'
                    + (f'runtime = "{runtime}"\n' if runtime else ""))
        env = {"PATH": SYSTEM, "HOME": os.environ.get("HOME", "/root"), "CONTAINERS_CONF": path}
        name = f"gputally-test-{os.getpid()}"
        build = subprocess.run([podman, "build", "-q", "-t", name, os.path.join(folder, "context")], env=env, capture_output=True, text=True, timeout=300)
        if build.returncode:
            reasons.append(build.stderr.strip())
            continue
        started = subprocess.run([podman, "run", "-t", "-d", "--network", "host", "--name", name, "-v", "/usr:/usr:ro", "-v", "/lib:/lib:ro",
                                  *(["-v", "/lib64:/lib64:ro"] if os.path.exists("/lib64") else []), name, "/usr/bin/cat"], env=env, capture_output=True, text=True, timeout=300)
        ran_it = subprocess.run([podman, "exec", name, "/usr/bin/true"], env=env, capture_output=True, text=True, timeout=300)
        subprocess.run([podman, "rm", "-f", "-t", "0", name], env=env, capture_output=True, timeout=300)
        subprocess.run([podman, "rmi", "-f", name], env=env, capture_output=True, timeout=300)
        if started.returncode == 0 and ran_it.returncode == 0:
            print(f"podman with runtime {runtime or 'of its settings'}")
            return {"CONTAINERS_CONF": path, "HOME": env["HOME"], "GPUTALLY_DOCKER": podman}
        reasons.append((started.stderr + ran_it.stderr).strip())
    raise harness.Skipped("podman cannot run containers here: " + " | ".join(reasons)[:500])


class Real(Project):
    """A project whose images are real; they are removed at the end."""

    def __init__(self, binary, models, script):
        self.variables = settings()
        super().__init__(binary, [{**m, "name": f"t{os.getpid()}_{m['name']}", "additional_docker_run_options": MOUNTS} for m in models], script=script)
        fill(self)

    def environment(self, **more):
        env = super().environment(**more)
        env["PATH"] += ":" + SYSTEM
        return {**env, **self.variables}

    def podman(self, *words):
        return subprocess.run([self.variables["GPUTALLY_DOCKER"], *words], env=self.environment(), capture_output=True, text=True, timeout=300)

    def name(self, short):
        return f"t{os.getpid()}_{short}"

    def __exit__(self, *error):
        names = self.podman("ps", "-a", "--format", "{{.Names}}").stdout.split()
        for name in names:
            if self.name("") in name:
                self.podman("rm", "-f", "-t", "0", name)
        for image in self.podman("images", "--format", "{{.Repository}}").stdout.split():
            if self.name("") in image:
                self.podman("rmi", "-f", image)
        return super().__exit__(*error)


@test
def a_model(binary):
    script = 'echo "$PWD $MAD_MODEL_NAME $*"; id -un; cat from_pre.txt; echo "performance: 3 x"\n'
    with Real(binary, [model("m", args="'a b'")], script) as p:
        p.write("scripts/own/pre.sh", 'echo "pre $1 $OWN" > from_pre.txt; umask 077; mkdir private; echo x > private/file\n')
        context = json.dumps({"pre_scripts": [{"path": "scripts/own/pre.sh", "args": "1"}], "env_vars": {"OWN": "yes", "A_TOKEN": "hidden"}})
        ran(p.call("run", "--tags", "all", "-c", context))
        name = p.name("m")
        equal(p.read(f"{name}_dummy.ubuntu.amd.run.live.log").replace("\r", "").splitlines(), [f"/myworkspace/run_directory {name} a b", "root", "pre 1 yes", "performance: 3 x"])
        row = p.table()[0]
        equal((row["status"], row["docker_image"]), ("SUCCESS", f"ci-{name}_dummy.ubuntu.amd"))
        assert not p.exists("run_directory")
        equal([c for c in p.podman("ps", "-a", "--format", "{{.Names}}").stdout.split() if name in c], [])
        holds(p.read(f"{name}_dummy.ubuntu.amd.build.live.log"), "FROM scratch")
        ran(p.call("run", "-m", "build_manifest.json", "--live-output"))
        equal(len(p.table()), 2)


@test
def a_profiler_in_a_container(binary):
    """The stand-in for rocprofv3 is mounted into the image; what it writes in there is collected outside."""
    with Real(binary, [model("m")], 'echo "performance: 3 x"\n') as p:
        mounts = f"{MOUNTS} -v {p.fixtures}:{p.fixtures}:ro -v {p.path}:{p.path}"
        p.write("models.json", json.dumps([{**model(p.name("m")), "additional_docker_run_options": mounts}]))
        context = json.dumps({"tools": [{"name": "rocprofv3_lightweight"}], "env_vars": {"STANDIN_LOG": p.log, "STANDIN_FIXTURES": p.fixtures}})
        ran(p.call("run", "--tags", "all", "-c", context))
        for name in ("rocprof_output/trace.json", "rocprof_output/latest/kernel_trace.csv", f"{p.name('m')}_perf_report.xlsx"):
            assert p.exists(name), (name, p.tree())


@test
def an_end_before_the_end(binary):
    with Real(binary, [model("m", timeout=3)], "sleep 1000\n") as p:
        begin = time.monotonic()
        holds(ran(p.call("run", "--tags", "all"), 3).stderr, "Program timed out. Requested timeout=3")
        assert time.monotonic() - begin < 300
        equal([c for c in p.podman("ps", "-a", "--format", "{{.Names}}").stdout.split() if p.name("m") in c], [])
        equal((p.table()[0]["status"], p.exists("run_directory")), ("FAILURE", False))


@test
def a_container_that_stays(binary):
    with Real(binary, [model("m")], 'echo "performance: 3 x"\n') as p:
        ran(p.call("run", "--tags", "all", "--keep-alive"))
        container = f"container_ci-{p.name('m')}_dummy.ubuntu.amd"
        equal(p.podman("exec", container, "ls", "/myworkspace/run_directory").stdout.split(), ["run.sh"])
        ran(p.call("run", "--tags", "all"))
        equal([c for c in p.podman("ps", "-a", "--format", "{{.Names}}").stdout.split() if p.name("m") in c], [])


@test
def a_command_with_scripts(binary):
    """Scripts of a context run in the container of a plain command, too."""
    with Real(binary, [model("m")], "") as p:
        image = p.name("plain")
        done = subprocess.run([p.variables["GPUTALLY_DOCKER"], "build", "-t", image, "-f", "docker/dummy.ubuntu.amd.Dockerfile", "docker"], cwd=p.work,
                              env=p.environment(), capture_output=True, text=True, timeout=300)
        equal(done.returncode, 0)
        p.write("pre.sh", 'echo "pre in $(cat /etc/passwd | wc -l)" > pre.txt\n')
        context = json.dumps({"pre_scripts": [{"path": "pre.sh"}], "docker_mounts": {"/usr": "/usr"}})
        done = subprocess.run([binary, "run", f"--docker={image}", "-c", context, "--report", "none", "--", "sh", "-c", "cat pre.txt; exit 5"], cwd=p.work,
                              env=p.environment(GPUTALLY_SYSFS=p.path), capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        equal((done.returncode, done.stdout.strip()), (3, "pre in 1"))
        equal(p.record()["exit_code"], 5)


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
