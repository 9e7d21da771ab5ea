"""Folders with models for tests of `gputally run --tags`, `build` and `discover`: models.json, Dockerfiles, scripts, and stand-ins
on PATH; `madengine` is a link to the program."""
import json
import os
import subprocess

from tests.common import harness
from tests.run.test_profiling_runs import Place

DOCKERFILE = "# CONTEXT {'gpu_vendor': 'AMD', 'guest_os': 'UBUNTU'}\nARG BASE_DOCKER=rocm/pytorch\nFROM $BASE_DOCKER\n"
SCRIPT = 'echo "args $*"\necho "performance: 12.5 samples_per_second"\n'


def model(name, **fields):
    return {"name": name, "dockerfile": "docker/dummy", "scripts": "scripts/dummy/run.sh", "n_gpus": "1", "owner": "someone",
            "training_precision": "fp16", "tags": ["all_dummies"], "args": "", **fields}


class Project(Place):
    """A place with models; `programs` are stand-ins."""

    def __init__(self, binary, models, *programs, script=SCRIPT):
        super().__init__(binary, *programs)
        os.symlink(os.path.abspath(binary), os.path.join(self.bin, "madengine"))
        self.write("models.json", json.dumps(models))
        self.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE)
        self.write("scripts/dummy/run.sh", script)

    def write(self, path, text, mode=0o644):
        path = self.file(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)

    def call(self, *words, **env):
        """Runs "madengine WORDS"."""
        variables = {**self.environment(GPUTALLY_SYSFS=self.path), **env}
        return subprocess.run([os.path.join(self.bin, "madengine"), *words], cwd=self.work, env=variables, capture_output=True, text=True,
                              timeout=harness.WALL_SECONDS, stdin=subprocess.DEVNULL)

    def table(self, name="perf.csv"):
        rows = self.rows(name)
        return [dict(zip(rows[0], row)) for row in rows[1:]]

    def docker(self):
        """The arguments of docker's calls."""
        return [call["argv"] for call in self.calls() if call.get("program") == "docker"]

    def json(self, *parts):
        return json.loads(self.read(*parts))

    def exists(self, *parts):
        return os.path.exists(self.file(*parts))
