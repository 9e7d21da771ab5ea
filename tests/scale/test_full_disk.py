#!/usr/bin/env python3
"""Reports of all ranks where there is no room for temporary files: the rows are in memory then, and the report is the same.

    python3 -m tests.scale.test_full_disk --bin build/gputally
"""
import filecmp
import os
import subprocess
import sys
import tempfile

from tests.common import disks, harness
from tests.crew import crews

RANKS = 12


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names)


def test_no_room_for_rows(binary):
    with tempfile.TemporaryDirectory() as folder, disks.small_disk(16) as disk:
        if not disk:
            raise harness.Skipped("needs root, to mount a small disk")
        traces = os.path.join(folder, "run")
        crews.write_ranks(traces, RANKS, collectives=60)
        for out, place in (("room", folder), ("full", disk)):
            done = subprocess.run([binary, "report", traces, "--output_csvs_dir", os.path.join(folder, out)], capture_output=True, text=True,
                                  env={**os.environ, "TMPDIR": place})
            assert done.returncode == 0, (out, done.stderr)
        names = files_below(os.path.join(folder, "room"))
        assert "collective/nccl_long.csv" in names, names
        equal, *others = filecmp.cmpfiles(os.path.join(folder, "room"), os.path.join(folder, "full"), names, shallow=False)
        assert len(equal) == len(names), others


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
