#!/usr/bin/env python3
"""Secrets in the variables of a run: the command gets them, and nothing that is printed, written or visible to other users has them.

    python3 -m tests.run.test_secrets --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import sys

from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []
SECRETS = {"HF_TOKEN": "hf_geheim1", "AWS_SECRET_ACCESS_KEY": "aws/geheim+2", "DB_PASSWORD": "it's geheim3"}
CONTEXT = {"env_vars": {"HF_TOKEN": SECRETS["HF_TOKEN"], "OMP_NUM_THREADS": "8"},
           "docker_env_vars": {"AWS_SECRET_ACCESS_KEY": SECRETS["AWS_SECRET_ACCESS_KEY"]},
           "tools": [{"name": "therock_check", "env_vars": {"DB_PASSWORD": SECRETS["DB_PASSWORD"]}}]}
PRINT = 'for v in HF_TOKEN AWS_SECRET_ACCESS_KEY DB_PASSWORD OMP_NUM_THREADS; do printf "%s\\n" "${!v}"; done > seen'


def test(function):
    TESTS.append(function)
    return function


def has_no_secret(text, *allowed):
    for name, value in SECRETS.items():
        assert value not in text, f"the value of {name} is in\n{text}"
    assert "geheim" not in text.replace("***", ""), text


def all_texts(folder, *without):
    for d, _, files in os.walk(folder):
        for name in files:
            if name not in without:
                with open(os.path.join(d, name), errors="replace") as f:
                    yield os.path.join(d, name), f.read()


@test
def nothing_left_behind_has_them(binary):
    with Place(binary) as p:
        done = p.run("-c", json.dumps(CONTEXT), "-v", "-s", "second.json", "--", "bash", "-c", PRINT)
        equal(done.returncode, 0)
        equal(p.read("seen").splitlines(), [*SECRETS.values(), "8"])
        has_no_secret(done.stdout + done.stderr)
        names = []
        for name, text in all_texts(p.work, "seen"):
            has_no_secret(text)
            names.append(os.path.basename(name))
        assert {"gputally_run.json", "second.json", "bash.run.live.log"} <= set(names), names
        equal(p.record()["env"], {"HF_TOKEN": "***", "OMP_NUM_THREADS": "8", "DB_PASSWORD": "***", "AWS_SECRET_ACCESS_KEY": "***"})
        equal(p.record()["context"]["env_vars"], {"HF_TOKEN": "***", "OMP_NUM_THREADS": "8"})


@test
def dry_run_and_verbose_mask_the_line(binary):
    with Place(binary) as p:
        words = ["-c", json.dumps({**CONTEXT, "encapsulate_script": "env PG_PASSWORD=geheim4"}), "--", "./app", "--api-key", "geheim5",
                 "hf_geheim1", "--url=https://me:geheim6@host/x"]
        done = p.run("--dry-run", *words)
        equal(done.returncode, 0)
        has_no_secret(done.stdout)
        equal(json.loads(done.stdout)["argv_shell"], "env PG_PASSWORD=*** ./app --api-key *** *** --url=https://me:***@host/x")
        done = p.run("--verbose", *words)
        holds(done.stderr, "bash -c env PG_PASSWORD=*** ./app --api-key *** *** --url=https://me:***@host/x")


@test
def quotes_headers_and_inherited_values_are_masked(binary):
    commands = [["sh", "-c", "export MY_TOKEN='geheim_value'; true"], ["sh", "-c", "true --token 'geheim_value'"],
                ["python3", "-c", "MY_TOKEN='geheim_value'"], ["true", "--hf", "hf_geheim1"], ["true", "-H", "Authorization: Bearer geheim_value"],
                ["true", '{"api_key": "geheim_value"}'], ["env", "PGPASS=geheim_value", "true"]]
    for command in commands:
        with Place(binary) as p:
            context = {"env_vars": {"OTHER_TOKEN": "geheim_other", "FOO": "Bearer geheim_other", "BAR": "x-geheim_other-y"}}
            done = p.run("--verbose", "-c", json.dumps(context), "--", *command, HF_TOKEN="hf_geheim1")
            equal(done.returncode, 0)
            has_no_secret(done.stdout + done.stderr)
            for name, text in all_texts(p.work):
                has_no_secret(text)
            equal(p.record()["context"]["env_vars"]["BAR"], "x-***-y")


@test
def docker_gets_them_through_its_environment(binary):
    with Place(binary, "docker") as p:
        done = p.run("-c", json.dumps(CONTEXT), "--docker=img", "--", "bash", "-c", PRINT)
        equal(done.returncode, 0)
        equal(p.read("seen").splitlines(), [*SECRETS.values(), "8"])
        argv = p.calls()[0]["argv"]
        for name in SECRETS:
            equal(argv[argv.index(name) - 1], "--env")
        holds(argv, "OMP_NUM_THREADS=8")
        has_no_secret(json.dumps(argv))
        has_no_secret(json.dumps(p.record()))


@test
def the_description_of_the_machine_masks_them(binary):
    with Place(binary) as p:
        equal(p.run("--name", "x", "--", "true", MAD_SECRETS_HFTOKEN="hf_geheim1", MAD_OTHER="shown").returncode, 0)
        rows = {row[1]: row[2] for row in p.rows("x_env.csv")}
        equal((rows["MAD_SECRETS_HFTOKEN"], rows["MAD_OTHER"]), ("***", "shown"))


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
