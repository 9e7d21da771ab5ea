"""File systems for tests of full disks."""
import contextlib
import os
import shutil
import subprocess

from tests.common import harness


@contextlib.contextmanager
def small_disk(kib):
    """A file system of this size; None where none can be mounted."""
    folder = os.path.join("/tmp", f"gputally-disk-{os.getpid()}-{kib}")
    os.makedirs(folder, exist_ok=True)
    mount, umount = (shutil.which(name, path=harness.SYSTEM_PATH) for name in ("mount", "umount"))
    mounted = mount and subprocess.run([mount, "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", folder], capture_output=True).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run([umount, "-l", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)
