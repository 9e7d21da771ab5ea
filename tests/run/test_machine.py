#!/usr/bin/env python3
"""What the run record and NAME_env.csv say about the machine: GPUs from a made /sys and from a library that stands in for NVIDIA's
(stand_ins/nvml.c), versions from made folders of Python packages and libraries. Expected values are those that the stand-ins have.

    python3 -m tests.run.test_machine --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import argparse
import json
import os
import platform
import shutil
import socket
import sys
import time

from tests.common import harness
from tests.run.gpus import STAND_INS, nvml
from tests.run.test_profiling_runs import Place, equal, holds

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def made_sysfs(p, *gpus):
    """A /sys with GPUs: (render node, PCI address, {file: text})."""
    sysfs = os.path.join(p.path, "sys")
    os.makedirs(os.path.join(sysfs, "class", "drm"), exist_ok=True)
    for node, address, files in gpus:
        device = os.path.join(sysfs, "devices", address)
        for name, text in files.items():
            write(os.path.join(device, name), text + "\n")
        link = os.path.join(sysfs, "class", "drm", f"renderD{node}")
        os.makedirs(link)
        os.symlink(device, os.path.join(link, "device"))
    return sysfs


AMD = {"vendor": "0x1002", "device": "0x74a1", "unique_id": "8f1c2d3e4a5b6c7d", "vbios_version": "113-M3000100-103",
       "product_name": "AMD Instinct MI300X OAM", "mem_info_vram_total": "206141652992",
       "pp_dpm_sclk": "S: 132Mhz *\n0: 500Mhz\n1: 2100Mhz", "pp_dpm_mclk": "0: 900Mhz *\n1: 1300Mhz",
       "hwmon/hwmon4/power1_cap": "750000000"}
NVIDIA = {"vendor": "0x10de", "device": "0x2335"}


def environment(p):
    return {(section, key): value for section, key, value in p.rows("true_env.csv")[1:]}


@test
def system(binary):
    with Place(binary) as p:
        equal(p.run("--", "true", GPUTALLY_SYSFS=made_sysfs(p)).returncode, 0)
        machine = p.record()["machine"]
        equal([machine[k] for k in ("host", "kernel", "architecture")], [socket.gethostname(), platform.release(), platform.machine()])
        equal(machine["cores"], os.sysconf("SC_NPROCESSORS_ONLN"))
        total = next(line.split() for line in open("/proc/meminfo") if line.startswith("MemTotal"))
        equal(machine["memory_bytes"], int(total[1]) * 1024)
        equal(machine["profiler"], {"name": "none", "version": None})
        equal(environment(p)["os_information", "host"], socket.gethostname())


@test
def gpus_of_amdgpu(binary):
    with Place(binary) as p:
        sysfs = made_sysfs(p, (129, "0000:1b:00.0", {"vendor": "0x1002", "device": "0x740f"}), (128, "0000:0c:00.0", AMD))
        write(os.path.join(sysfs, "module", "amdgpu", "version"), "6.10.5\n")
        equal(p.run("--", "true", GPUTALLY_SYSFS=sysfs, LD_LIBRARY_PATH="").returncode, 0)
        machine = p.record()["machine"]
        gpus = machine["gpus"][:2]  # NVIDIA's library may add GPUs of this machine
        equal(gpus[0], {"index": 0, "vendor": "AMD", "name": "AMD Instinct MI300X OAM", "uuid": "8f1c2d3e4a5b6c7d",
                        "pci": "0000:0c:00.0", "vbios": "113-M3000100-103", "memory_bytes": 206141652992,
                        "power_limit_w": 750.0, "ecc": None,
                        "clocks": {"max": {"core_mhz": 2100.0, "memory_mhz": 1300.0},
                                   "start": {"core_mhz": 132.0, "memory_mhz": 900.0},
                                   "end": {"core_mhz": 132.0, "memory_mhz": 900.0}}})
        equal((gpus[1]["name"], gpus[1]["uuid"], gpus[1]["memory_bytes"], gpus[1]["clocks"]["max"]["core_mhz"]),
              ("AMD 0x740f at 0000:1b:00.0", None, None, None))
        equal(machine["amdgpu_driver"], "6.10.5")
        rows = environment(p)
        equal(rows["gpu_information", "GPU0"], "AMD 0x74a1 at 0000:0c:00.0")
        equal(rows["gpu_information", "GPU0 power limit"], "750 W")
        equal(rows["gpu_information", "GPU0 max core clock"], "2100 MHz")
        assert ("gpu_information", "GPU1 uuid") not in rows


@test
def gpus_of_nvml(binary):
    with Place(binary) as p:
        clocks = p.file("clocks")
        write(clocks, "345 3201")
        done = p.run("--name", "true", "--", "sh", "-c", f"echo 1980 1593 > {clocks}", GPUTALLY_SYSFS=made_sysfs(p),
                     LD_LIBRARY_PATH=nvml(), STANDIN_NVML_CLOCKS=clocks)
        equal(done.returncode, 0)
        machine = p.record()["machine"]
        equal(machine["gpus"][0], {"index": 0, "vendor": "NVIDIA", "name": "NVIDIA H200", "uuid": "GPU-0000-a",
                                   "pci": "0000:19:00.0", "vbios": "96.00.CF.00.01", "memory_bytes": 150754820096,
                                   "power_limit_w": 700.0, "ecc": True,
                                   "clocks": {"max": {"core_mhz": 1980.0, "memory_mhz": 3201.0},
                                              "start": {"core_mhz": 345.0, "memory_mhz": 3201.0},
                                              "end": {"core_mhz": 1980.0, "memory_mhz": 1593.0}}})
        equal((len(machine["gpus"]), machine["gpus"][1]["uuid"], machine["gpus"][1]["ecc"]), (2, "GPU-1111-b", False))
        equal((machine["nvidia_driver"], machine["cuda_driver"]), ("580.159.03", "13.0"))
        rows = environment(p)
        equal((rows["gpu_information", "GPU1"], rows["gpu_information", "GPU1 ecc"]), ("NVIDIA H200", "off"))
        equal(rows["nvidia_information", "driver"], "580.159.03")


@test
def gpus_are_matched_by_address(binary):
    """The kernel lists 43:00.0 first only by its render node; both sources name the same GPU once."""
    with Place(binary) as p:
        sysfs = made_sysfs(p, (128, "0000:43:00.0", NVIDIA), (129, "0000:19:00.0", NVIDIA), (130, "0000:0c:00.0", AMD))
        equal(p.run("--", "true", GPUTALLY_SYSFS=sysfs, LD_LIBRARY_PATH=nvml()).returncode, 0)
        equal([(g["vendor"], g["uuid"]) for g in p.record()["machine"]["gpus"]],
              [("AMD", "8f1c2d3e4a5b6c7d"), ("NVIDIA", "GPU-0000-a"), ("NVIDIA", "GPU-1111-b")])


@test
def a_library_that_knows_little(binary):
    with Place(binary) as p:
        fail = ("nvmlDeviceGetName nvmlDeviceGetUUID nvmlDeviceGetVbiosVersion nvmlDeviceGetEnforcedPowerLimit nvmlDeviceGetEccMode "
                "nvmlDeviceGetPciInfo_v3 nvmlDeviceGetClockInfo nvmlDeviceGetMaxClockInfo nvmlSystemGetDriverVersion nvmlDeviceGetMemoryInfo")
        done = p.run("--", "true", GPUTALLY_SYSFS=made_sysfs(p), LD_LIBRARY_PATH=nvml(), STANDIN_NVML_FAIL=fail)
        equal((done.returncode, done.stderr), (0, ""))
        gpu = p.record()["machine"]["gpus"][0]
        equal({k: v for k, v in gpu.items() if k not in ("index", "vendor", "clocks")},
              dict.fromkeys(("name", "uuid", "pci", "vbios", "memory_bytes", "power_limit_w", "ecc")))
        done = p.run("--", "true", GPUTALLY_SYSFS=made_sysfs(p), LD_LIBRARY_PATH=nvml(), STANDIN_NVML_FAIL="init")
        equal((done.returncode, p.record()["machine"]["gpus"]), (0, []))


def made_python(p, *packages):
    """A virtual environment with packages."""
    prefix = os.path.join(p.path, "my env")
    os.makedirs(os.path.join(prefix, "bin"))
    os.symlink(shutil.which("true"), os.path.join(prefix, "bin", "python3"))
    write(os.path.join(prefix, "pyvenv.cfg"), "home = /usr/bin\ninclude-system-site-packages = false\n")
    for package in packages:
        write(os.path.join(prefix, "lib", "python3.11", "site-packages", package, "METADATA"))
    return prefix


@test
def packages_of_the_command(binary):
    with Place(binary) as p:
        prefix = made_python(p, "torch-2.5.1+rocm6.2.dist-info", "vllm-0.6.3.post1.dist-info", "Torchvision-0.20.dist-info",
                             "nvidia_nccl_cu12-2.21.5.dist-info", "torch_geometric-2.6.0.dist-info", "jax-broken.dist-info",
                             "deepspeed-0.15.1-py3.11.egg-info", "flash-attn-2.7.0.dist-info")
        python = os.path.join(prefix, "bin", "python3")
        wanted = {"torch": "2.5.1+rocm6.2", "torchvision": "0.20", "vllm": "0.6.3.post1", "deepspeed": "0.15.1",
                  "flash_attn": "2.7.0", "nvidia_nccl_cu12": "2.21.5"}
        equal(p.run("--name", "true", "--", python, "train.py", HOME=p.path).returncode, 0)
        equal((p.record()["machine"]["python"], p.record()["machine"]["packages"]), (python, wanted))
        equal(environment(p)["python_packages", "torch"], "2.5.1+rocm6.2")
        text = json.dumps({"env_vars": {"PATH": os.path.dirname(python) + ":" + os.environ["PATH"]}})
        equal(p.run("-c", text, "--", "python3", "x.py", HOME=p.path).returncode, 0)
        equal(p.record()["machine"]["packages"], wanted)


@test
def links_to_python_are_followed(binary):
    with Place(binary) as p:
        base = os.path.join(p.path, "base")
        write(os.path.join(base, "lib", "python3.12", "site-packages", "torch-1.13.dist-info", "METADATA"))
        os.makedirs(os.path.join(base, "bin"))
        shutil.copy(shutil.which("true"), os.path.join(base, "bin", "python3.12"))
        os.symlink(os.path.join(base, "bin", "python3.12"), os.path.join(p.bin, "python3"))
        equal(p.run("--", "python3", "x.py", HOME=p.path).returncode, 0)
        equal(p.record()["machine"]["packages"], {"torch": "1.13"})
        venv = made_python(p, "numpy-2.0.dist-info")
        os.remove(os.path.join(venv, "bin", "python3"))
        os.symlink(os.path.join(p.bin, "python3"), os.path.join(venv, "bin", "python3"))
        for value, wanted in (("false", {"numpy": "2.0"}), ("true", {"torch": "1.13", "numpy": "2.0"})):
            write(os.path.join(venv, "pyvenv.cfg"), f"include-system-site-packages = {value}\n")
            equal(p.run("--", os.path.join(venv, "bin", "python3"), HOME=p.path).returncode, 0)
            equal(p.record()["machine"]["packages"], wanted)


@test
def the_interpreter_of_a_launcher(binary):
    with Place(binary) as p:
        prefix = made_python(p, "torch-2.4.0.dist-info")
        os.rename(prefix, os.path.join(p.path, "env"))  # no kernel starts an interpreter with a blank in its path
        python, launcher = os.path.join(p.path, "env", "bin", "python3"), os.path.join(p.path, "env", "bin", "torchrun")
        write(launcher, f"#!{python} -s\n")
        os.chmod(launcher, 0o755)
        equal(p.run("--", launcher, "train.py", HOME=p.path).returncode, 0)
        equal((p.record()["machine"]["python"], p.record()["machine"]["packages"]), (python, {"torch": "2.4.0"}))


@test
def packages_of_pythonpath_come_first(binary):
    with Place(binary) as p:
        prefix = made_python(p, "torch-2.4.0.dist-info", "numpy-1.26.0.dist-info")
        write(p.file("more", "torch-2.9.0.dist-info", "METADATA"))
        equal(p.run("--", os.path.join(prefix, "bin", "python3"), HOME=p.path, PYTHONPATH=":more:/nowhere").returncode, 0)
        equal(p.record()["machine"]["packages"], {"torch": "2.9.0", "numpy": "1.26.0"})


@test
def a_python_that_hangs(binary):
    """A launcher script in place of Python is asked where its packages are, but not for long."""
    with Place(binary) as p:
        shim = os.path.join(p.path, "shims", "python3")
        write(shim, '#!/bin/sh\n[ "$1" = -c ] && exec sleep 30\nexit 0\n')
        os.chmod(shim, 0o755)
        begin = time.monotonic()
        equal(p.run("--", shim, "train.py", HOME=p.path).returncode, 0)
        assert time.monotonic() - begin < 10, time.monotonic() - begin
        equal(p.record()["machine"]["packages"], {})


@test
def a_python_launcher_is_asked(binary):
    with Place(binary) as p:
        write(p.file("found", "torch-2.3.0.dist-info", "METADATA"))
        shim = os.path.join(p.path, "shims", "python3")
        write(shim, f'#!/bin/sh\n[ "$1" = -c ] && echo {p.file("found")}\nexit 0\n')
        os.chmod(shim, 0o755)
        equal(p.run("--", shim, "train.py", HOME=p.path).returncode, 0)
        equal(p.record()["machine"]["packages"], {"torch": "2.3.0"})


@test
def libraries_and_toolkits(binary):
    with Place(binary) as p:
        lib, rocm, cuda = (os.path.join(p.path, name) for name in ("lib", "rocm", "cuda"))
        write(os.path.join(lib, "libnccl.so.2.21.5"))
        os.symlink("libnccl.so.2.21.5", os.path.join(lib, "libnccl.so.2"))
        write(os.path.join(rocm, "lib", "librccl.so.1.0.60200"))
        os.symlink("librccl.so.1.0.60200", os.path.join(rocm, "lib", "librccl.so.1"))
        write(os.path.join(rocm, ".info", "version"), "6.2.0-66\n")
        write(os.path.join(cuda, "version.json"), '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, "nccl": 3}')
        equal(p.run("--", "true", LD_LIBRARY_PATH=f"::{lib}", ROCM_PATH=rocm, CUDA_HOME=cuda).returncode, 0)
        machine = p.record()["machine"]
        equal([machine[k] for k in ("nccl", "rccl", "rocm", "cuda")], ["2.21.5", "1.0.60200", "6.2.0-66", "12.4.1"])
        rows = environment(p)
        equal((rows["nvidia_information", "cuda"], rows["rocm_information", "rccl"]), ("12.4.1", "1.0.60200"))


@test
def version_of_rocprofv3(binary):
    with Place(binary, "rocprofv3") as p:
        rocm = os.path.join(p.path, "rocm")
        os.makedirs(os.path.join(rocm, "bin"))
        os.remove(os.path.join(p.bin, "rocprofv3"))
        shutil.copy(os.path.join(STAND_INS, "rocprofv3"), os.path.join(rocm, "bin", "rocprofv3"))
        write(os.path.join(rocm, "lib", "librocprofiler-sdk.so.1.0.0"))
        os.symlink("librocprofiler-sdk.so.1.0.0", os.path.join(rocm, "lib", "librocprofiler-sdk.so"))
        equal(p.run("--tools", "rocprofv3_lightweight", "--report", "none", "--", "true", ROCM_PATH=rocm).returncode, 0)
        equal(p.record()["machine"]["profiler"], {"name": "rocprofv3", "version": "1.0.0"})
        equal(environment(p)["profiler", "rocprofv3"], "1.0.0")


@test
def hostile_files(binary):
    """Nothing in these files may fail the run."""
    with Place(binary) as p:
        name = "x" * 40000 + "</script>\u202e"
        sysfs = made_sysfs(p, (128, "0000:0c:00.0", {**AMD, "product_name": name, "mem_info_vram_total": "nan", "pp_dpm_sclk": "::*\n:\n1: 1e999Mhz *",
                                                     "hwmon/hwmon4/power1_cap": "", "unique_id": ""}))
        prefix = made_python(p, "torch-.dist-info", "torch-9" + "9" * 200 + ".dist-info", "-info", "torch.dist-info")
        cuda = os.path.join(p.path, "cuda")
        write(os.path.join(cuda, "version.json"), "[[[")
        done = p.run("--", os.path.join(prefix, "bin", "python3"), GPUTALLY_SYSFS=sysfs, HOME=p.path, CUDA_HOME=cuda)
        equal(done.returncode, 0)
        machine = p.record()["machine"]
        gpu = machine["gpus"][0]
        equal((gpu["name"], gpu["memory_bytes"], gpu["power_limit_w"], gpu["uuid"]), (name, None, None, None))
        equal((gpu["clocks"]["max"]["core_mhz"], machine["cuda"]), (None, None))
        equal(machine["packages"], {"torch": "9" + "9" * 200})


@test
def without_a_start_there_is_no_machine(binary):
    with Place(binary) as p:
        done = p.run("--tools", "rocprofv3", "-s", "summary.json", "--", "true", ROCM_PATH=p.path)
        equal(done.returncode, 3)
        holds(p.read("summary.json"), '"machine": null')


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
