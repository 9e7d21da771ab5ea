"""Stand-ins for the libraries of GPU drivers (stand_ins/*.c), compiled when they are first needed."""
import atexit
import functools
import os
import shutil
import subprocess
import tempfile

from tests.common import harness

STAND_INS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_ins")


@functools.cache
def library(name, source):
    """A folder with the library, made from a file of stand_ins."""
    folder = tempfile.mkdtemp(prefix="gputally-library-")
    atexit.register(shutil.rmtree, folder, True)
    subprocess.run(["cc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", os.path.join(folder, name), os.path.join(STAND_INS, source)],
                   check=True, env={**os.environ, "PATH": harness.SYSTEM_PATH})
    return folder


def nvml():
    return library("libnvidia-ml.so.1", "nvml.c")


def rocm_smi(rows):
    """The variables with which gputally finds the GPUs of a file of rows (stand_ins/rocm_smi.c), and no others."""
    folder = library("librocm_smi64.so", "rocm_smi.c")
    return {"LD_LIBRARY_PATH": folder, "STANDIN_SMI": rows, "GPUTALLY_SYSFS": folder}
