"""rocprofv3 for tests, with hip_program.py as the program that it profiles.

The real launcher script is used if GPUTALLY_ROCPROFV3 is the path of rocprofv3.py, of ROCm/rocm-systems
(projects/rocprofiler-sdk/source/bin) or an older ROCm/rocprofiler-sdk. It gets a folder of its own with empty libraries, because it
only looks whether they exist. Otherwise stand_ins/rocprofv3 is used; test_rocprofv3_command_lines.py compares the two.
"""
import atexit
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.run.test_profiling_runs import STAND_INS, Place

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hip_program.py")
LIBRARIES = ("lib/librocprofiler-sdk.so", "lib/librocprofiler-sdk-roctx.so", "lib/rocprofiler-sdk/librocprofv3-list-avail.so",
             "lib/rocprofiler-sdk/librocprofiler-sdk-tool.so", "lib/rocprofiler-sdk/librocprofiler-sdk-tool-kokkosp.so",
             "libexec/rocprofiler-sdk/librocprofv3-list-avail.so")  # the last one of version 0.7


@functools.cache
def real_launcher():
    """The path of the real launcher in a folder with libraries, or None."""
    script = os.environ.get("GPUTALLY_ROCPROFV3")
    compiler = shutil.which("cc", path=harness.SYSTEM_PATH) or shutil.which("gcc", path=harness.SYSTEM_PATH)
    if not script or not os.path.exists(script) or not compiler:
        return None
    folder = tempfile.mkdtemp(prefix="gputally-rocm-")
    atexit.register(shutil.rmtree, folder, True)
    for name in ("lib", "libexec"):
        os.makedirs(os.path.join(folder, name, "rocprofiler-sdk"))
    os.mkdir(os.path.join(folder, "bin"))
    with open(script, encoding="utf-8") as file:  # the build replaces these
        text = re.sub("@[A-Z_a-z]*@", "stub", file.read().replace("@FULL_VERSION_STRING@", "1.0.0"))
    launcher = os.path.join(folder, "bin", "rocprofv3")
    with open(launcher, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(launcher, 0o755)
    source = os.path.join(folder, "empty.c")
    with open(source, "w") as file:
        file.write("int gputally_empty;\n")
    for name in LIBRARIES:
        subprocess.run([compiler, "-shared", "-fPIC", "-o", os.path.join(folder, name), source], check=True,
                       env={**os.environ, "PATH": harness.SYSTEM_PATH})
    return launcher


@functools.cache
def real_avail():
    """The path of the real rocprofv3-avail, if it is beside the real launcher, with avail_library.c as its library; or None."""
    script = os.environ.get("GPUTALLY_ROCPROFV3", "")
    sources = os.path.dirname(script)
    program, module = os.path.join(sources, "rocprofv3-avail.py"), os.path.join(sources, "rocprofv3_avail_module")
    if not real_launcher() or not os.path.exists(program) or not os.path.isdir(module):
        return None
    folder = os.path.dirname(os.path.dirname(real_launcher()))
    shutil.copytree(module, os.path.join(folder, "bin", "rocprofv3_avail_module"))
    shutil.copy(program, os.path.join(folder, "bin", "rocprofv3-avail"))
    os.chmod(os.path.join(folder, "bin", "rocprofv3-avail"), 0o755)
    library = os.path.join(folder, "lib", "rocprofiler-sdk", "librocprofv3-list-avail.so")
    compiler = shutil.which("cc", path=harness.SYSTEM_PATH) or shutil.which("gcc", path=harness.SYSTEM_PATH)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, os.path.join(os.path.dirname(PROGRAM), "avail_library.c")],
                   check=True, env={**os.environ, "PATH": harness.SYSTEM_PATH})
    return os.path.join(folder, "bin", "rocprofv3-avail")


def formats():
    """Those of this rocprofv3; rocpd is one since 1.0."""
    all_formats = ["csv", "json", "pftrace", "rocpd"]
    if not real_launcher():
        return all_formats
    with open(real_launcher(), encoding="utf-8") as file:
        text = file.read()
    return [name for name in all_formats if f'"{name}"' in text]


def which():
    return "the real launcher" if real_launcher() else "a stand-in (GPUTALLY_ROCPROFV3 names no rocprofv3.py)"


class Run(Place):
    """A folder in which rocprofv3 is installed, and hip_program.py writes the files."""

    def __init__(self, binary, *programs):
        super().__init__(binary, *programs)
        self.install(real_launcher(), "rocprofv3")
        self.fixtures = ""

    def install(self, real, name):
        """A script that starts the real program, or a link to the stand-in."""
        path = os.path.join(self.bin, name)
        if not real:
            os.symlink(os.path.join(STAND_INS, name), path)
            return
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "{real}" "$@"\n')
        os.chmod(path, 0o755)

    def install_avail(self, text):
        """Installs rocprofv3-avail for GPUs that have these counters; returns the variables that it needs."""
        self.install(real_avail(), "rocprofv3-avail")
        path = os.path.join(self.path, "gpus")
        with open(path, "w") as file:
            file.write(text)
        return {"STANDIN_AVAIL": path}

    def program(self, *options, **settings):
        """The command line: program(processes=3) starts three."""
        words = [word for name, value in settings.items() for word in ("--" + name, str(value))]
        return ["--", sys.executable, PROGRAM, *words, *options]


def tool(options, name="rocprof"):
    """A context with the user's own rocprofv3 command."""
    return json.dumps({"tools": [{"name": name, "cmd": f"rocprofv3 {options} --"}]})
