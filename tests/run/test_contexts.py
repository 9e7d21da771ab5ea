#!/usr/bin/env python3
"""Keys of a context: misspelt ones, the time limit, and errors in the output of the command.

    python3 -m tests.run.test_contexts --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import sys

from tests.run.test_profiling_runs import Place, equal, holds, run_tests

TESTS = []

# Every key that a context of madengine may have, with a valid value.
VALID = {"docker_build_arg": {}, "docker_env_vars": {}, "docker_mounts": {}, "env_vars": {}, "distributed": {}, "vllm": {},
         "deployment_config": {}, "tools": [], "pre_scripts": [], "post_scripts": [], "log_error_benign_patterns": [],
         "log_error_patterns": ["x"], "docker_gpus": "all", "gpu_vendor": "AMD", "guest_os": "UBUNTU", "MAD_ROCM_PATH": None, "timeout": None,
         "debug": None, "log_error_pattern_scan": None, "encapsulate_script": "", "model_args": "", "docker_cpus": "0", "rocenv_mode": "lite",
         "gen_sys_env_details": False, "gpus_per_node": 1, "gpu_count": 1, "n_gpus": 1, "num_gpus": 1, "ngpus": 1, "live_output": True,
         "monitor": True, "cleanup_on_failure": True, "shared_data": "x", "launcher": "torchrun", "skip_perf_collection": False,
         "_comment": "x", "_tols": [], "_env_var_notes": {}}


def test(function):
    TESTS.append(function)
    return function


@test
def misspelt_keys_are_errors(binary):
    with Place(binary) as p:
        for key, meant in (("tols", "tools"), ("tool", "tools"), ("env_var", "env_vars"), ("slrum", "slurm"), ("k8", "k8s"),
                           ("docker_gpu", "docker_gpus"), ("log_error_paterns", "log_error_patterns"), ("pre-scripts", "pre_scripts")):
            done = p.run("-c", json.dumps({key: []}), "--", "true")
            equal((key, done.returncode), (key, 4))
            holds(done.stderr, f"unknown key '{key}' (did you mean '{meant}'?)")
        done = p.run("-c", '{"tools": [{"name": "therock_check", "env_var": {}}]}', "--", "true")
        equal(done.returncode, 4)
        holds(done.stderr, "unknown key 'env_var' in tools (did you mean 'env_vars'?)")


@test
def valid_keys_are_accepted(binary):
    with Place(binary) as p:
        done = p.run("-c", json.dumps(VALID), "--", "true")
        equal((done.returncode, "unknown key" in done.stderr), (0, False))
        done = p.run("-c", '{"x": 1, "framework_of_dockerfile": "y"}', "--", "true")  # Dockerfiles may have any key
        equal(done.returncode, 0)
        holds(done.stderr, "unknown key 'x' of the context: ignored")
        holds(done.stderr, "unknown key 'framework_of_dockerfile'")


# What madengine's code reads and its documents name; checked against its source by hand.
SECTIONS = {
    "slurm": "account allow_submit_without_clean_nodes auto_cleanup_nodes constraint enable_node_check exclude exclusive gpus_per_node mail_type "
             "mail_user mem modules network_interface nodelist nodes output_dir partition qos reservation results_dir shared_workspace time "
             "verbose_node_check _comment_node_check cpus_per_task",
    "distributed": "backend enabled launcher master_port nnodes nproc_per_node port primus sglang_disagg type _note hostfile rdzv_backend",
    "k8s": "_pvc_auto allow_privileged_profiling backoff_limit cpu cpu_limit cpu_request data_pvc data_storage_class data_storage_size gpu_count "
           "gpu_resource_name gpu_vendor host_ipc image_pull_policy kubeconfig local_path_storage_class memory memory_limit memory_request "
           "multi_node_results_storage_class namespace nfs_storage_class node_selector output_dir recreate_shared_data_pvc results_pvc "
           "results_storage_size secrets service_account single_node_results_storage_class storage_class tolerations ttl_seconds_after_finished "
           "active_deadline_seconds context pull_timeout results_image results_size workdir"}
SECTIONS["kubernetes"] = SECTIONS["k8s"]


@test
def keys_of_targets_and_launchers(binary):
    with Place(binary) as p:
        for section, names in SECTIONS.items():
            done = p.run("-c", json.dumps({section: {name: None for name in names.split()}}), "--dry-run", "--target", "local", "--", "true")
            equal((section, "unknown key" in done.stderr), (section, False))
        wrong = [("slurm", "node", "nodes"), ("slurm", "partion", "partition"), ("distributed", "launchr", "launcher"),
                 ("distributed", "nproc_per_nodes", "nproc_per_node"), ("k8s", "name_space", "namespace"), ("kubernetes", "name_space", "namespace")]
        for section, key, meant in wrong:
            done = p.run("-c", json.dumps({section: {key: 2}}), "--dry-run", "--", "true")
            equal((key, done.returncode), (key, 4))
            holds(done.stderr, f"unknown key '{key}' in {section} (did you mean '{meant}'?)")
        done = p.run("-c", '{"slurm": {"licenses_of_site": 1}}', "--dry-run", "--", "true")
        equal(done.returncode, 0)
        holds(done.stderr, "unknown key 'licenses_of_site' in slurm of the context: ignored")


@test
def wrong_values(binary):
    with Place(binary) as p:
        for value in ("-5", "true", "1e30", "-0.5", '"10"'):
            done = p.run("-c", f'{{"timeout": {value}}}', "--dry-run", "--", "true")
            equal((value, done.returncode), (value, 4))
            holds(done.stderr, "key timeout must be a number")
        for value, status in (("9-1", 4), ("0,x", 4), ("-1", 4), ("0,2-4", 0), ("0, 1", 0), ("all", 0)):
            equal((value, p.run("-c", json.dumps({"docker_gpus": value}), "--dry-run", "--", "true").returncode), (value, status))


@test
def names_without_control_characters(binary):
    with Place(binary) as p:
        for name in ("a\nb", "a\tb", "\x7f"):
            done = p.run("--name", name, "--", "true")
            equal((name, done.returncode), (name, 4))
            holds(done.stderr, "--name: contains a control character")
        equal(p.tree(), [])


@test
def figures_that_are_no_numbers(binary):
    with Place(binary) as p:
        equal(p.run("--", "printf", "performance: 1.5e400 x\nperformance: 2 y\n").returncode, 0)
        equal((p.record()["performance"], p.record()["metric"]), (2, "y"))
        equal(p.run("--", "echo", "performance: 1e999 x").returncode, 0)
        equal((p.record()["performance"], p.record()["metric"]), (None, None))


@test
def the_time_limit_of_the_context(binary):
    with Place(binary) as p:
        done = p.run("-c", '{"timeout": 1}', "--", "sleep", "60")
        equal((done.returncode, p.record()["timed_out"]), (3, True))
        holds(done.stderr, "Requested timeout=1")
        done = p.run("-c", '{"timeout": 0.5}', "--timeout", "600", "--", "sleep", "1")  # the option wins
        equal((done.returncode, p.record()["timed_out"]), (0, False))
        for text in ('{"timeout": null}', '{"timeout": 0}'):
            equal((text, p.run("-c", text, "--", "true").returncode), (text, 0))


def status_of(binary, context, *lines):
    with Place(binary) as p:
        done = p.run("-c", json.dumps(context), "--", "printf", "%s\\n", *lines)
        equal(done.returncode, 0 if p.record()["status"] == "SUCCESS" else 3)
        return done.returncode, p.record()["reason"]


@test
def errors_in_the_output(binary):
    error = "ValueError: no such layer"
    equal(status_of(binary, {}, error)[0], 0)  # a plain command is not searched
    code, reason = status_of(binary, {"log_error_pattern_scan": True}, "fine", error)
    equal((code, reason), (3, 'the log has an error ("ValueError:"): ValueError: no such layer'))
    for on in (1, "yes", "TRUE", " on "):
        equal((on, status_of(binary, {"log_error_pattern_scan": on}, error)[0]), (on, 3))
    for off in (0, "no", "off", False):
        equal((off, status_of(binary, {"log_error_pattern_scan": off, "log_error_patterns": ["Value"]}, error)[0]), (off, 0))
    equal(status_of(binary, {"log_error_patterns": ["layer$"]}, error)[0], 0)  # texts, not expressions
    equal(status_of(binary, {"log_error_patterns": ["such layer"]}, error)[0], 3)
    equal(status_of(binary, {"log_error_patterns": ["kaputt"]}, "RuntimeError: x")[0], 0)  # instead of the usual ones
    equal(status_of(binary, {"log_error_pattern_scan": True, "log_error_benign_patterns": ["no such layer"]}, error)[0], 0)
    for benign in ("FutureWarning: Exception: x", "E20250101 12:00:00 1 tool.cpp:99] FAILED", "[rocprofv3] FAILED", "rocpd_op: FAILED",
                   "W20250101 simple_timer.cpp FAILED"):
        equal((benign, status_of(binary, {"log_error_pattern_scan": True}, benign)[0]), (benign, 0))
    for bad in ("E2025010 tool.cpp FAILED", "I20250101 tool.cpp FAILED", "HIP out of memory", "x failed (exitcode: 1)",
                "Traceback (most recent call last):"):
        equal((bad, status_of(binary, {"log_error_pattern_scan": True}, bad)[0]), (bad, 3))


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
