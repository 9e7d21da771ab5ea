#!/usr/bin/env python3
"""Energy of a run: samples, the counters of the GPUs, a stand-in for NVIDIA's library; and runs on a full disk, which must not succeed.

    python3 -m tests.run.test_energy --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import datetime
import os
import shutil
import subprocess
import sys

import openpyxl

from tests.common.disks import small_disk
from tests.run.gpus import rocm_smi
from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []
POWER = ["--tools", "gpu_info_power_profiler"]

# Two devices. The average of a second is 100 W; at the moment, the first draws 300.456 W, the second cannot tell. The
# counters of both grow by 60 J from call to call.
NVML = r"""
#include <string.h>
typedef struct { unsigned field, scope; long long timestamp, latency; int type, status; union { double d; unsigned u; } value; } field;
static unsigned long long joules[2] = {5000, 7000};
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h) { *h = joules + i; return 0; }
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) { (void)h; *mw = 100000; return 0; }
int nvmlDeviceGetMemoryInfo(void *h, unsigned long long *m) { (void)h; m[0] = 200; m[1] = 150; m[2] = 50; return 0; }
int nvmlDeviceGetFieldValues(void *h, int n, field *f)
{
    if (n != 1 || f->field != 186 || f->scope != 0) return 2;
    f->status = h == joules ? 0 : 3;
    f->type = 1;
    f->value.u = 300456;
    return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *h, unsigned long long *mj)
{
    unsigned long long *j = h;
    *mj = *j * 1000;
    *j += 60;
    return 0;
}
"""


def system(program):
    """A program of this machine that is not among the harness's tools; None: there is none."""
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")


def test(function):
    TESTS.append(function)
    return function


def sheet(path, name):
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path)[name]]


def seconds_of(p):
    rows = p.rows("gpu_info_power_profiler_output.csv")
    begin, end = (datetime.datetime.fromisoformat(rows[i][0]) for i in (1, -1))
    return (end - begin).total_seconds()


@test
def missing_samples_are_bridged(binary):
    with Place(binary) as p:
        gpus = os.path.join(p.path, "gpus")
        with open(gpus, "w") as f:
            f.write("0,0,100,1,2\n0.3,0,,1,2\n0.9,0,100,1,2\n")
        equal(p.run(*POWER, "--name", "x", "--", "sleep", "1.3", **rocm_smi(gpus)).returncode, 0)
        header, row = sheet(p.file("x_run_summary.xlsx"), "power_summary")
        equal(header[-1], "energy_J")
        assert row[1] < len(p.rows("gpu_info_power_profiler_output.csv")) - 1, "no sample is missing"
        assert abs(row[6] - 100 * seconds_of(p)) < 0.01, (row, seconds_of(p))
        energy = p.record()["energy"]
        equal((energy["gpus"][0]["energy_counter_J"], energy["total_from"]), (None, "samples"))
        assert abs(energy["total_J"] - row[6]) < 1e-9


@test
def counters_win(binary):
    with Place(binary) as p:
        gpus = os.path.join(p.path, "gpus")
        with open(gpus, "w") as f:
            f.write("0,0,100,1,2,1000\n0,1,50,1,2\n0.4,0,100,1,2,1075.5\n")
        equal(p.run(*POWER, "--name", "x", "--", "sleep", "0.6", **rocm_smi(gpus)).returncode, 0)
        rows = sheet(p.file("x_run_summary.xlsx"), "power_summary")
        equal(rows[0], ["gpu", "samples", "min", "mean", "max", "p95", "energy_J", "energy_counter_J"])
        equal([row[7] for row in rows[1:]], [75.5, None])
        energy = p.record()["energy"]
        equal(energy["total_from"], "counter and samples")
        assert abs(energy["total_J"] - 75.5 - 50 * seconds_of(p)) < 0.01
        equal(p.rows("gpu_info_power_profiler_output.csv")[0], ["time", "Power(Watt) GPU0", "Power(Watt) GPU1"])


@test
def the_counter_of_the_driver(binary):
    """amdgpu counts microjoules in hwmon."""
    with Place(binary) as p:
        device = os.path.join(p.path, "sys", "devices", "0000:0c:00.0")
        os.makedirs(os.path.join(device, "hwmon", "hwmon3"))
        counter = os.path.join(device, "hwmon", "hwmon3", "energy1_input")
        for name, text in (("vendor", "0x1002"), ("device", "0x74a1"), ("mem_info_vram_used", "1"), ("mem_info_vram_total", "2"),
                           ("hwmon/hwmon3/power1_input", "100000000"), ("hwmon/hwmon3/energy1_input", "5000000")):
            with open(os.path.join(device, name), "w") as f:
                f.write(text)
        os.makedirs(os.path.join(p.path, "sys", "class", "drm", "renderD128"))
        os.symlink(device, os.path.join(p.path, "sys", "class", "drm", "renderD128", "device"))
        done = p.run(*POWER, "--", "sh", "-c", f"sleep 0.3; echo 17250000 > {counter}", GPUTALLY_SYSFS=os.path.join(p.path, "sys"))
        equal(done.returncode, 0)
        equal(p.record()["energy"]["gpus"][0]["energy_counter_J"], 12.25)


@test
def nvidia_power_is_that_of_the_moment(binary):
    with Place(binary) as p:
        source, folder = os.path.join(p.path, "nvml.c"), os.path.join(p.path, "lib")
        os.mkdir(folder)
        with open(source, "w") as f:
            f.write(NVML)
        if not system("cc"):
            print("nvidia_power_is_that_of_the_moment: there is no C compiler here; not tested")
            return
        subprocess.run([system("cc"), "-shared", "-fPIC", "-o", os.path.join(folder, "libnvidia-ml.so.1"), source], check=True,
                       env={"PATH": "/usr/bin:/bin"})
        done = p.run(*POWER, "--name", "x", "--", "sleep", "0.3", GPUTALLY_SYSFS=folder, LD_LIBRARY_PATH=folder)
        equal(done.returncode, 0)
        rows = p.rows("gpu_info_power_profiler_output.csv")
        equal({tuple(row[1:]) for row in rows[1:]}, {("300.46", "100.0")})
        equal([row[7] for row in sheet(p.file("x_run_summary.xlsx"), "power_summary")[1:]], [60, 60])
        equal((p.record()["energy"]["total_J"], p.record()["energy"]["total_from"]), (120, "counter"))


@test
def both_dies_of_a_gpu(binary):
    context = '{"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_DUAL_GCD": "true"}}, {"name": "rocprofv3_agent"}]}'
    with Place(binary, "rocprofv3") as p:
        gpus = os.path.join(p.path, "gpus")
        with open(gpus, "w") as f:
            f.write("0,0,100,1,2\n0,1,-,1,2\n")
        # each waits for the other one, so that they must run at the same time
        command = ["bash", "-c", 'touch "$0 $HIP_VISIBLE_DEVICES"; until [ -e "$0 0" -a -e "$0 1" ]; do sleep 0.05; done; '
                   'exit $((HIP_VISIBLE_DEVICES * 7))', "a name"]
        done = p.run("-c", context, "--timeout", "60", "--report", "none", "--", *command, **rocm_smi(gpus))
        equal((done.returncode, p.record()["exit_code"]), (3, 7))
        equal([os.path.exists(p.file(f"a name {d}")) for d in (0, 1)], [True, True])
        for rows in ("0,0,100,1,2\n", "0,0,100,1,2\n0,2,100,1,2\n"):
            with open(gpus, "w") as f:
                f.write(rows)
            done = p.run("-c", context, "--", "true", **rocm_smi(gpus))
            equal(done.returncode, 3)
            holds(done.stderr, f"POWER_DUAL_GCD needs a machine with exactly two GPU dies; this one has {3 if '2,100' in rows else 1}")
        plan = p.plan("-c", context[:-1] + ', "gpu_vendor": "NVIDIA"}')
        assert "dual_gcd" not in plan["argv_shell"] and any("ignored" in note for note in plan["notes"]), plan


@test
def a_full_disk_is_a_failure(binary):
    cases = (("the log", 128, ["--", "sh", "-c", "head -c 500000 /dev/zero | tr '\\0' x"], {}, "run.live.log"),
             ("the samples", 80, ["-c", '{"tools": [{"name": "gpu_info_power_profiler", "env_vars": {"POWER_SAMPLING_RATE": "0.001"}}]}',
                                  "--report", "none", "--", "sh", "-c", "head -c 500000 /dev/zero > $DISK/fill 2>/dev/null; sleep 1"], rocm_smi("gpus"), "gpu_info_power"),
             ("the record", 80, ["--report", "none", "--", "sh", "-c", "head -c 500000 /dev/zero > $DISK/fill"], {}, "gputally_run.json"),
             ("the report", 256, ["--tools", "rocprofv3_lightweight", "--", "true"], {}, "is full"),
             ("the profiler's own files", 80, ["--tools", "rocprofv3_lightweight", "--report", "none", "--", "true"], {}, "is full"))
    for what, kib, words, env, text in cases:
        with small_disk(kib) as disk:
            if not disk:
                print("a_full_disk_is_a_failure: no file system can be mounted here; not tested")
                return
            with Place(binary, "rocprofv3") as p:
                with open(os.path.join(p.path, "gpus"), "w") as f:
                    f.write("0,0,100,1,2\n")
                if "report" in what:  # leaves room for the trace, not for the report on it
                    words = [*words[:-1], "sh", "-c", "head -c 100000 /dev/zero > $DISK/fill"]
                done = p.run("--output_dir", disk, *words, DISK=disk, **{k: os.path.join(p.path, v) for k, v in env.items()})
                equal((what, done.returncode), (what, 3))
                holds(done.stderr, text)


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
