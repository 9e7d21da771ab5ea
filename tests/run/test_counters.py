#!/usr/bin/env python3
"""Hardware counters of a run: those that the GPU does not have are left out beforehand, the others packed into as few passes as
the hardware takes, as rocprofv3-avail tells.

    python3 -m tests.run.test_counters --bin build/gputally [TEXT]
"""
import argparse
import json
import math
import os
import subprocess
import sys

from tests.common import harness
from tests.run import hip_program
from tests.run.launchers import STAND_INS, Run, real_avail, tool, which
from tests.run.test_files import counter_sums, counts, true_sums
from tests.run.test_profiling_runs import equal, holds

TESTS = []

LISTS = {  # of the tools, as the specification has them
    "compute": """SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_ACTIVE_INST_VALU SQ_INSTS_VALU_ADD_F32 SQ_INSTS_VALU_MUL_F32
        SQ_INSTS_VALU_FMA_F32 SQ_INSTS_VALU_TRANS_F32 SQ_INSTS_SALU SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY""".split(),
    "memory": """L2CacheHit L2CacheMiss L2CacheHitRate TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum TCP_TCC_ATOMIC_REQ_sum
        TCC_HIT_sum TCC_MISS_sum TCC_EA_RDREQ_32B_sum TCC_EA_WRREQ_64B_sum TCC_EA_RDREQ_LEVEL_sum TCC_EA_WRREQ_LEVEL_sum
        SQ_INSTS_SMEM SQ_LDS_BANK_CONFLICT""".split(),
    "full": """SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_INSTS_SALU SQ_ACTIVE_INST_VALU L2CacheHit TCC_HIT_sum TCC_MISS_sum
        TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum TCC_EA_RDREQ_32B_sum TCC_EA_WRREQ_64B_sum SQ_WAIT_INST_ANY SQ_WAIT_INST_VALU
        SQ_LDS_BANK_CONFLICT""".split(),
    "agent_counter": "SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY".split()}
ABSENT = """L2CacheHit L2CacheMiss L2CacheHitRate TCP_TCC_ATOMIC_REQ_sum SQ_WAIT_INST_VALU TCC_EA_RDREQ_32B_sum
    TCC_EA_WRREQ_64B_sum TCC_EA_RDREQ_LEVEL_sum TCC_EA_WRREQ_LEVEL_sum""".split()  # on gfx942
GFX942 = sorted((set().union(*LISTS.values()) - set(ABSENT)) | set(
    """TCC_EA0_RDREQ_32B_sum TCC_EA0_WRREQ_64B_sum TCC_EA0_RDREQ_LEVEL_sum TCC_EA0_WRREQ_LEVEL_sum GRBM_COUNT
    TCP_TCC_ATOMIC_WITH_RET_REQ_sum TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum TCC_HIT TA_BUSY_min""".split()))
LIMITS = {"SQ": 8, "TCC": 4, "TCP": 2}


def test(function):
    TESTS.append(function)
    return function


def gpu(names=GFX942, kind="gfx942", limits=LIMITS):
    lines = [f"gpu {kind}"] + [f"limit {block} {number}" for block, number in limits.items()]
    return "\n".join(lines + [f"counter {name} {name.split('_')[0]}" for name in names]) + "\n"


def fewest(names, limits=LIMITS):
    blocks = [name.split("_")[0] for name in names]
    return max(math.ceil(blocks.count(block) / limits.get(block, 4)) for block in blocks)


def plan(p, env, *words):
    return p.plan(*words, **env)["profiler"]


@test
def presets_are_packed(binary):
    for name, counters in LISTS.items():
        with Run(binary) as p:
            env = p.install_avail(gpu())
            kept = [c for c in counters if c not in ABSENT]
            shown = p.plan("--tools", "rocprofv3_" + name, **env)
            profiler, notes = shown["profiler"], " ".join(shown["notes"])
            equal((name, profiler["passes"]), (name, fewest(kept)))
            equal(len(profiler["counters"]), profiler["passes"])
            equal(sorted(" ".join(profiler["counters"]).split()), sorted(kept))
            for line in profiler["counters"]:  # no pass has more than the hardware takes
                equal(fewest(line.split()), 1)
            missing = [c for c in counters if c in ABSENT]
            equal("not on this GPU (gfx942), left out: " in notes, bool(missing))
            for counter in missing:
                holds(notes, counter)
            holds(notes, f"{len(kept)} counters in {fewest(kept)} pass")
            assert "no GPU has" not in notes and "gfx90a" not in notes, notes


@test
def a_packed_run(binary):
    """Two passes instead of twelve, and every counter of every dispatch is there."""
    with Run(binary) as p:
        env = p.install_avail(gpu())
        done = p.run("--tools", "rocprofv3_compute", *p.program(processes=2, dispatches=7), **env)
        equal((done.returncode, counts(done)), (0, (15, 2)))
        holds(done.stderr, "12 counters in 2 passes on this GPU (gfx942)")
        holds(done.stderr, "the command runs 2 times")
        newest = p.file("rocprof_output", "latest")
        equal(sorted(n for n in os.listdir(newest) if n.startswith("pmc_")), ["pmc_1", "pmc_2"])
        equal(counter_sums(p), true_sums(LISTS["compute"], 2, 7))
        with open(os.path.join(newest, "counters", "compute_bound.txt")) as file:
            equal(len(file.readlines()), 2)
        equal(p.record()["passes"], 2)


@test
def replacements_are_suggested(binary):
    with Run(binary) as p:
        notes = " ".join(p.plan("--tools", "rocprofv3_memory", **p.install_avail(gpu()))["notes"])
        for text in ("TCC_EA_RDREQ_32B_sum (instead: TCC_EA0_RDREQ_32B_sum)", "L2CacheMiss (instead: TCC_MISS_sum)",
                     "L2CacheHit (instead: 100 * TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum))",
                     "TCP_TCC_ATOMIC_REQ_sum (instead: TCP_TCC_ATOMIC_WITH_RET_REQ_sum + TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum)"):
            holds(notes, text)
    with Run(binary) as p:  # only what this GPU has is suggested
        notes = " ".join(p.plan("--tools", "rocprofv3_memory", **p.install_avail(gpu(["SQ_INSTS_SMEM", "TCC_MISS_sum"])))["notes"])
        holds(notes, "L2CacheMiss (instead: TCC_MISS_sum)")
        holds(notes, "TCC_EA_RDREQ_32B_sum, ")
        equal(notes.count("instead"), 1)


@test
def no_counter_is_left(binary):
    with Run(binary) as p:
        env = p.install_avail(gpu(["GRBM_COUNT"], "gfx1100"))
        done = p.run("--tools", "rocprofv3_compute", "--", "touch", "started", **env)
        equal((done.returncode, p.tree()), (4, []))
        holds(done.stderr, "this GPU (gfx1100) has none of the counters of ")
        holds(done.stderr, "SQ_WAVES, SQ_WAVE_CYCLES")
        for context in (tool("--pmc SQ_WAVES SQ_INSTS_VALU"), tool("-i own.txt")):
            with open(p.file("own.txt"), "w") as file:
                file.write("pmc: SQ_WAVES\n")
            done = p.run("-c", context, "--", "touch", "started", **env)
            equal((done.returncode, p.tree()), (4, ["own.txt"]))


@test
def counters_without_values(binary):
    """As on a machine whose driver refuses them: the kernels are there, their counters are not."""
    for form in ("csv", "json", "rocpd"):
        for words in ("--kernel-trace --pmc SQ_WAVES", "--kernel-trace", "-i own.txt"):
            for has_values in (True, False):
                with Run(binary) as p:
                    with open(p.file("own.txt"), "w") as file:
                        file.write("pmc: SQ_WAVES\npmc: SQ_INSTS_VALU\n")
                    env = {} if has_values else {"HIP_PROGRAM_COUNTERS": "GRBM_COUNT"}
                    done = p.run("-c", tool(f"{words} --output-format {form}"), "--report", "none", *p.program(dispatches=3), **env)
                    case = (form, words, has_values)
                    equal((case, done.returncode, "no counter values in " in done.stderr), (case, 0, not has_values and words != "--kernel-trace"))
                    equal((case, "no GPU kernel records" in done.stderr), (case, False))


@test
def own_files_stay_as_they_are(binary):
    with Run(binary) as p:
        env = p.install_avail(gpu())
        text = "# my counters\npmc: SQ_WAVES TCC_EA_RDREQ_32B_sum\npmc: SQ_INSTS_VALU # pmc\npmc: SQ_INSTS_SALU\n"
        with open(p.file("own.txt"), "w") as file:
            file.write(text)
        shown = p.plan("-c", tool("--kernel-trace -i own.txt"), **env)
        equal(shown["profiler"]["passes"], 3)
        equal([line.split() for line in shown["profiler"]["counters"]],
              [["SQ_WAVES", "TCC_EA_RDREQ_32B_sum"], ["SQ_INSTS_VALU"], ["SQ_INSTS_SALU"]])
        options = shown["profiler"]["options"]
        equal(options[options.index("-i") + 1], os.path.realpath(p.file("own.txt")))
        holds(" ".join(shown["warnings"]), "not on this GPU (gfx942), so these have no values: TCC_EA_RDREQ_32B_sum (instead: TCC_EA0_RDREQ_32B_sum)")
        env["HIP_PROGRAM_COUNTERS"] = " ".join(GFX942)
        done = p.run("-c", tool("--kernel-trace -i own.txt --output-format csv"), *p.program(dispatches=5), **env)
        equal((done.returncode, counts(done), p.read("own.txt")), (0, (5, 1), text))
        equal(counter_sums(p), true_sums(["SQ_WAVES", "SQ_INSTS_VALU", "SQ_INSTS_SALU"], 1, 5))
        shown = p.plan("-c", tool("--pmc SQ_WAVES L2CacheHit:device=0 'TCC_HIT[3]'"), **env)
        holds(" ".join(shown["warnings"]), "no values: L2CacheHit:device=0")
        assert "TCC_HIT" not in " ".join(shown["warnings"])
        # a file of definitions may define any name
        open(p.file("more.yaml"), "w").close()
        equal(p.plan("-c", tool("--pmc MINE -E more.yaml"), **env)["warnings"], [])


@test
def several_gpus(binary):
    """A counter that one of them has is collected; passes are those of the first one."""
    with Run(binary) as p:
        env = p.install_avail(gpu(LISTS["compute"][:9]) + gpu(LISTS["compute"], "gfx90a", {}))
        profiler = plan(p, env, "--tools", "rocprofv3_compute")
        equal(sorted(" ".join(profiler["counters"]).split()), sorted(LISTS["compute"]))


@test
def nobody_to_ask(binary):
    with Run(binary) as p:
        profiler = plan(p, {}, "--tools", "rocprofv3_compute")
        equal((profiler["passes"], profiler["counters"]), (12, LISTS["compute"]))
    answers = ("exit 1", "echo nothing", "printf 'GPU : 0\\nName : gfx942\\nPMC :\\n\\n'", "kill -9 $$", "head -c 300000 /dev/zero",
               "printf 'PMC:\\n%%s \\377 <script> 1abc\\n'", "yes 'Traceback (most recent call last): x' | head -n 20000")
    for answer in answers:
        with Run(binary) as p:
            path = os.path.join(p.bin, "rocprofv3-avail")
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + answer + "\n")
            os.chmod(path, 0o755)
            shown = p.plan("--tools", "rocprofv3_memory")
            equal((answer, shown["profiler"]["passes"], shown["profiler"]["counters"]), (answer, 14, LISTS["memory"]))
            holds(" ".join(shown["notes"]), "rocprofv3-avail lists no counters; they are not checked")
            holds(" ".join(shown["notes"]), "L2CacheMiss, L2CacheHitRate, TCP_TCC_ATOMIC_REQ_sum")


@test
def only_the_machine_that_runs_it_is_asked(binary):
    with Run(binary) as p:
        env = p.install_avail(gpu(["GRBM_COUNT"]))
        done = p.run("-c", '{"slurm": {}, "tools": [{"name": "rocprofv3_compute"}]}', "--generate-only", "--", "true", **env)
        equal(done.returncode, 0)
        done = p.run("--tools", "rocprofv3_compute", "--docker=image", "--dry-run", "--", "true", **env)
        equal((done.returncode, json.loads(done.stdout)["profiler"]["passes"]), (0, 12))


@test
def few_questions(binary):
    """One list, and about one question per counter: each takes a second on a real machine."""
    with Run(binary) as p:
        path = os.path.join(p.path, "gpus")
        with open(path, "w") as file:
            file.write(gpu())
        os.symlink(os.path.join(STAND_INS, "rocprofv3-avail"), os.path.join(p.bin, "rocprofv3-avail"))
        p.plan("--tools", "rocprofv3_full", STANDIN_AVAIL=path)
        asked = [call["avail"] for call in p.calls() if "avail" in call]
        equal(asked[0], ["list", "--pmc"])
        assert len(asked) <= 1 + 2 * len(LISTS["full"]), len(asked)


@test
def the_stand_in_is_like_the_real_one(binary):
    if not real_avail():
        raise harness.Skipped("no rocprofv3-avail.py beside the script that GPUTALLY_ROCPROFV3 names")
    with Run(binary) as p:
        text = gpu() + gpu(["SQ_WAVES", "TCC_HIT"], "gfx90a")
        env = p.environment(**p.install_avail(text), COLUMNS="80")
        env.pop("STANDIN_LOG")
        compute = LISTS["compute"]
        for words in (["list"], ["list", "--pmc"], ["-d", "1", "list", "--pmc"], ["-d", "0", "pmc-check", "SQ_WAVES"],
                      ["-d", "0", "pmc-check", *compute[:8]], ["-d", "0", "pmc-check", *compute[:9]], ["-d", "0", "pmc-check", "NONE"],
                      ["-d", "0", "pmc-check", "TCP_TCC_READ_REQ_sum", "TCC_HIT", "SQ_WAVES"], ["pmc-check"]):
            results = [subprocess.run([sys.executable, program, *words], env=env, capture_output=True, text=True)
                       for program in (real_avail(), os.path.join(STAND_INS, "rocprofv3-avail"))]
            equal((words, results[1].returncode, results[1].stdout, results[1].stderr),
                  (words, results[0].returncode, results[0].stdout, results[0].stderr))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    print("with", which())
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
