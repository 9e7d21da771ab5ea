#!/usr/bin/env python3
"""`gputally build` with a stand-in for docker: which Dockerfiles are chosen, docker's arguments, build_manifest.json, registries,
batches, images that exist, and builds in a SLURM job. Expected values are those of the specification or typed by hand.

    python3 -m tests.run.test_build --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import json
import os
import sys

from tests.run.projects import DOCKERFILE, SCRIPT, Project, model
from tests.run.test_models import ran
from tests.run.test_profiling_runs import equal, holds, run_tests

TESTS = []
IMAGE = "ci-dummy_dummy.ubuntu.amd"


def test(function):
    TESTS.append(function)
    return function


@test
def the_manifest(binary):
    context = json.dumps({"docker_build_arg": {"A": 1, "B": True}, "docker_env_vars": {"E": "x"}, "tools": [{"name": "rocprof"}], "slurm": {"nodes": 2},
                          "distributed": {"launcher": "torchrun"}, "env_vars": {"OMP_NUM_THREADS": "8", "MIOPEN_USER_DB_PATH": "/x"}, "deploy": "slurm"})
    with Project(binary, [model("dummy", args="-x", cred="HUB")], "docker") as p:
        p.write("credential.json", json.dumps({"HUB": {"username": "me", "password": "secret-word"}}))
        ran(p.call("build", "--tags", "dummy", "-c", context, "--summary-output", "summary.json"))
        manifest = p.json("build_manifest.json")
        image = manifest["built_images"][IMAGE]
        seconds = image["build_duration"]
        assert 0 < seconds < 600
        command = (f"docker build --network=host -t {IMAGE} --pull -f docker/dummy.ubuntu.amd.Dockerfile --build-arg 'A=1' --build-arg 'B=True' "
                   "--build-arg HUB_USERNAME --build-arg HUB_PASSWORD ./docker")
        expected = {"model": "dummy", "docker_image": IMAGE, "dockerfile": "docker/dummy.ubuntu.amd.Dockerfile", "base_docker": "rocm/pytorch", "docker_sha": "",
                    "build_duration": seconds, "build_command": command, "log_file": "dummy_dummy.ubuntu.amd.build.live.log", "gpu_vendor": "AMD"}
        entry = model("dummy", args="-x", cred="HUB")
        whole = {"built_images": {IMAGE: expected}, "built_models": {IMAGE: entry},
                 "context": {"docker_env_vars": {"E": "x"}, "docker_mounts": {}, "docker_build_arg": {"A": "1", "B": "True"}, "gpu_vendor": "AMD", "guest_os": "UBUNTU",
                             "docker_gpus": "", "tools": [{"name": "rocprof"}]},
                 "credentials_required": ["HUB"],
                 "summary": {"successful_builds": [expected], "failed_builds": [], "total_build_time": seconds, "successful_pushes": [], "failed_pushes": []},
                 "deployment_config": {"target": "slurm", "slurm": {"nodes": 2}, "distributed": {"launcher": "torchrun"}, "env_vars": {"OMP_NUM_THREADS": "8"}, "debug": False}}
        equal(p.read("build_manifest.json"), json.dumps(whole, indent=2) + "\n")  # keys and their order, too
        equal(p.json("summary.json"), whole["summary"])
        equal(p.docker()[0], command.replace("'", "").split()[1:])
        images = json.load(open(p.log + ".docker/images.json"))
        equal(images[IMAGE]["arguments"], ["A=1", "B=True", "HUB_USERNAME=me", "HUB_PASSWORD=secret-word"])
        holds(p.read("dummy_dummy.ubuntu.amd.build.live.log"), "building " + IMAGE)
        for folder, _, files in os.walk(p.work):
            for name in files:
                assert name == "credential.json" or "secret-word" not in p.read(os.path.join(folder, name)), name


@test
def secrets_of_builds(binary):
    """Values with names of secrets are not arguments of docker, and only the owner can read a manifest that has them."""
    with Project(binary, [model("dummy")], "docker") as p:
        ran(p.call("build", "--tags", "dummy"))
        equal(oct(os.stat(p.file("build_manifest.json")).st_mode & 0o077), "0o44")
        ran(p.call("build", "--tags", "dummy", "-c", '{"docker_build_arg": {"HF_TOKEN": "hidden-1", "A": "1"}, "docker_env_vars": {"MY_PASSWORD": "hidden-2"}}'))
        assert "hidden" not in json.dumps(p.docker())
        equal(json.load(open(p.log + ".docker/images.json"))[IMAGE]["arguments"], ["A=1", "HF_TOKEN=hidden-1"])
        manifest = p.json("build_manifest.json")
        equal((manifest["context"]["docker_env_vars"], oct(os.stat(p.file("build_manifest.json")).st_mode & 0o777)), ({"MY_PASSWORD": "hidden-2"}, "0o600"))
        assert "hidden" not in manifest["built_images"][IMAGE]["build_command"]


@test
def dockerfiles_by_context(binary):
    other = "# CONTEXT {'gpu_vendor': 'NVIDIA', 'guest_os': 'UBUNTU'}\nFROM nvidia/cuda\n"
    with Project(binary, [model("dummy")], "docker") as p:
        p.write("docker/dummy.ubuntu.nvidia.Dockerfile", other)
        p.write("docker/dummy.special.ubuntu.amd.Dockerfile", "FROM a\n\n\n\n# CONTEXT {'gpu_vendor': 'AMD', 'flavour': 'special', 'n': 2}\n")
        p.write("docker/dummy.late.ubuntu.amd.Dockerfile", "FROM a\n\n\n\n\n# CONTEXT {'gpu_vendor': 'AMD'}\n")  # the sixth line
        p.write("docker/dummy.none.ubuntu.amd.Dockerfile", "FROM a\n")
        p.write("docker/dummytwo.ubuntu.amd.Dockerfile", DOCKERFILE)

        def built(context):
            ran(p.call("build", "--tags", "dummy", "-c", context))
            return sorted(image["dockerfile"][len("docker/dummy."):-len(".Dockerfile")] for image in p.json("build_manifest.json")["built_images"].values())
        equal(built('{"gpu_vendor": "nvidia"}'), ["ubuntu.nvidia"])
        equal(p.json("build_manifest.json")["built_images"]["ci-dummy_dummy.ubuntu.nvidia"]["gpu_vendor"], "NVIDIA")
        equal(built("{}"), ["special.ubuntu.amd", "ubuntu.amd"])  # a key that only the Dockerfile has does not matter
        equal(built('{"flavour": "special"}'), ["special.ubuntu.amd", "ubuntu.amd"])
        equal(built('{"flavour": "plain"}'), ["ubuntu.amd"])
        equal(built('{"n": 2}'), ["special.ubuntu.amd", "ubuntu.amd"])
        equal(built('{"n": 3}'), ["ubuntu.amd"])
        done = ran(p.call("build", "--tags", "dummy", "-c", '{"guest_os": "CENTOS", "gpu_vendor": "NVIDIA"}'), 2)
        holds(done.stderr, "no Dockerfile docker/dummy.* has a line '# CONTEXT {...}' for gpu_vendor NVIDIA, guest_os CENTOS")
        equal(p.json("build_manifest.json")["summary"]["failed_builds"][0]["model"], "dummy")


@test
def folders_of_builds(binary):
    models = [model("own", dockercontext="."), model("Primus/X", dockerfile="docker/primus"), model("usual")]
    with Project(binary, models, "docker") as p:
        p.write("docker/primus.ubuntu.amd.Dockerfile", DOCKERFILE)
        p.write("docker/common/tool.sh", "")
        ran(p.call("build", "--tags", "all", "--clean-docker-cache"))
        calls = [words for words in p.docker() if words[0] == "build"]
        equal([words[-1] for words in calls], [".", ".", "./docker"])
        equal(calls[0][:6], ["build", "--no-cache", "--network=host", "--build-context", "tools=docker/common", "-t"])
        equal(calls[1][6], "ci-primus_x_primus.ubuntu.amd")


@test
def architectures(binary):
    with Project(binary, [model("dummy")], "docker") as p:
        ran(p.call("build", "--tags", "dummy", "--target-archs", "gfx90a,gfx942", "-a", "gfx950"))
        images = p.json("build_manifest.json")["built_images"]
        equal({name: image["gpu_architecture"] for name, image in images.items()},
              {IMAGE + "_gfx90a": "gfx90a", IMAGE + "_gfx942": "gfx942", IMAGE + "_gfx950": "gfx950"})
        equal([words[-3:-1] for words in p.docker() if words[0] == "build"], [["--build-arg", f"MAD_SYSTEM_GPU_ARCHITECTURE={a}"] for a in ("gfx90a", "gfx942", "gfx950")])
        done = ran(p.call("build", "--tags", "dummy", "-a", "gfx90a", "-c", '{"docker_build_arg": {"MAD_SYSTEM_GPU_ARCHITECTURE": "gfx942"}}'))
        holds(done.stderr, "--target_archs: not used")
        equal({name: image["gpu_architecture"] for name, image in p.json("build_manifest.json")["built_images"].items()}, {IMAGE: "gfx942"})
        # images for other GPUs do not run here
        ran(p.call("build", "--tags", "dummy", "-a", "gfx90a,gfx942"))
        done = ran(p.call("run", "-m", "build_manifest.json", "-c", '{"docker_env_vars": {"MAD_SYSTEM_GPU_ARCHITECTURE": "gfx942"}}'))
        holds(done.stderr, f"{IMAGE}_gfx90a: skipped: architecture mismatch (gfx90a != gfx942)")
        equal([row["docker_image"] for row in p.table()], [IMAGE + "_gfx942"])
        done = ran(p.call("run", "-m", "build_manifest.json", "-c", '{"docker_env_vars": {"MAD_SYSTEM_GPU_ARCHITECTURE": "gfx1100"}}'), 3)
        holds(done.stderr, "No compatible images for GPU vendor 'NONE' and architecture 'gfx1100'")
        p.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE + 'ARG MAD_SYSTEM_GPU_ARCHITECTURE="gfx908"\n')
        ran(p.call("build", "--tags", "dummy"))
        equal(p.json("build_manifest.json")["built_images"][IMAGE]["gpu_architecture"], "gfx908")


@test
def registries(binary):
    cases = (("reg:5000", {}, f"reg:5000/{IMAGE}"), ("reg:5000", {"reg:5000": {"repository": "team/x", "username": "u", "password": "p w"}}, f"reg:5000/team/x:{IMAGE}"),
             ("docker.io", {"dockerhub": {"repository": "org/repo", "username": "u", "password": "p w"}}, f"org/repo:{IMAGE}"), ("docker.io", {}, IMAGE))
    for registry, credentials, name in cases:
        with Project(binary, [model("dummy")], "docker") as p:
            if credentials:
                p.write("credential.json", json.dumps(credentials))
            ran(p.call("build", "--tags", "dummy", "--registry", registry))
            manifest = p.json("build_manifest.json")
            image = manifest["built_images"][IMAGE]
            equal((image["registry"], image["registry_image"], manifest["summary"]["successful_pushes"]), (registry, name, [name]))
            equal(manifest["built_models"][IMAGE]["env_vars"], {"DOCKER_IMAGE_NAME": name})
            pushes = [words for words in p.docker() if words[0] in ("tag", "push")]
            equal(pushes, ([["tag", IMAGE, name]] if name != IMAGE else []) + [["push", name]])
            if credentials:
                equal(json.load(open(p.log + ".docker/users.json")), {registry: ["u", "p w"]})
                assert "p w" not in json.dumps(p.docker())
    with Project(binary, [model("dummy")], "docker") as p:
        done = ran(p.call("build", "--tags", "dummy", "--registry", "refused:5000"))
        holds(done.stderr, f"{IMAGE}: docker push refused:5000/{IMAGE}: exit status 1")
        manifest = p.json("build_manifest.json")
        failure = {"image": IMAGE, "intended_registry_image": f"refused:5000/{IMAGE}", "error": f"docker push refused:5000/{IMAGE}: exit status 1"}
        equal((manifest["push_failures"], manifest["summary"]["failed_pushes"]), ([failure], [failure]))
        assert manifest["built_images"][IMAGE]["push_error"] and "registry_image" not in manifest["built_images"][IMAGE]
        ran(p.call("run", "-m", "build_manifest.json"))  # the local image is there
        equal(p.table()[0]["docker_image"], IMAGE)


@test
def builds_that_fail(binary):
    with Project(binary, [model("good"), model("bad", dockerfile="docker/bad")], "docker") as p:
        p.write("docker/bad.ubuntu.amd.Dockerfile", DOCKERFILE + "RUN false\n")
        done = ran(p.call("build", "--tags", "all"), 2)
        holds(done.stderr, "bad: no image: docker/bad.ubuntu.amd.Dockerfile: the build failed with exit status 1; see bad_bad.ubuntu.amd.build.live.log")
        manifest = p.json("build_manifest.json")
        equal((list(manifest["built_images"]), [f["model"] for f in manifest["summary"]["failed_builds"]]), (["ci-good_dummy.ubuntu.amd"], ["bad"]))
        done = ran(p.call("run", "--tags", "all", "-s", "s.json"), 1)  # the good one ran
        equal(([row["model"] for row in p.table()], p.json("s.json")["overall_success"]), (["good"], False))
        done = ran(p.call("run", "--tags", "bad"), 2)
        holds(done.stderr, "All builds failed - no images available; see the *.build.live.log files")
        holds(ran(p.call("build", "--tags", "good", PATH=p.bin.replace("/bin", "/none")), 2).stderr, "neither docker nor podman found in PATH")


@test
def images_that_exist(binary):
    own = model("dummy", env_vars={"DOCKER_IMAGE_NAME": "card:1"}, distributed={"launcher": "torchrun", "nnodes": 2}, slurm={"partition": "p", "nodes": 2})
    with Project(binary, [own, model("plain")], "docker") as p:
        ran(p.call("build", "--tags", "dummy", "--use-image", "auto", "-c", '{"slurm": {"nodes": 3}}'))
        manifest = p.json("build_manifest.json")
        equal(manifest["built_images"], {"dummy": {"image_name": "card:1", "docker_image": "card:1", "local_image": True, "dockerfile": "", "build_time": 0, "prebuilt": True}})
        equal((manifest["deployment_config"]["slurm"], manifest["deployment_config"]["distributed"]), ({"partition": "p", "nodes": 3}, {"launcher": "torchrun", "nnodes": 2}))
        ran(p.call("build", "--tags", "plain", "--use-image", "other:2"))
        equal(p.json("build_manifest.json")["built_models"]["plain"]["env_vars"], {"DOCKER_IMAGE_NAME": "other:2"})
        holds(ran(p.call("build", "--tags", "plain", "--use-image", "auto"), 4).stderr, "No DOCKER_IMAGE_NAME found in model card env_vars")
        equal(p.docker(), [])


@test
def excluded_options(binary):
    with Project(binary, [model("dummy")], "docker") as p:
        p.write("batch.json", "[]")
        p.write("c.json", "{}")
        for words, text in ((["--tags", "x", "--batch-manifest", "batch.json"], "Cannot specify both --batch-manifest and --tags"),
                            (["--tags", "x", "-c", '{"a": 1}', "-f", "c.json"], "Cannot specify both --additional-context-file and --additional-context"),
                            (["--tags", "x", "--use-image", "i", "--registry", "r"], "Cannot specify both --use-image and --registry"),
                            (["--tags", "x", "--use-image", "i", "--build-on-compute"], "Cannot specify both --use-image and --build-on-compute"),
                            (["--tags", "x", "--build-on-compute"], "--build-on-compute requires --registry"),
                            (["--tags", "dummy", "-c", '{"k8s": {}, "slurm": {}}'], "Both 'k8s' and 'slurm' fields present"),
                            (["--tags", "dummy", "-c", '{"gpu_vendor": "intel"}'], "Invalid gpu_vendor: intel\nSupported values: AMD, NVIDIA"),
                            (["--batch-manifest", "none.json"], "none.json"), (["--batch-manifest", "c.json"], "Batch manifest must be a list"),
                            (["--tags", "dummy", "--build-on-compute", "--registry", "r"], "Missing required SLURM field: partition")):
            done = p.call("build", *words)
            equal((words, done.returncode), (words, 4))
            holds(done.stderr, text)
        ran(p.call("build"), 1)
        equal(p.docker(), [])


@test
def batches(binary):
    batch = [{"model_name": "new", "build_new": True, "registry_image": "reg/own:tag", "registry": "reg"}, {"model_name": "old", "registry_image": "reg/old:1"}, {"model_name": "older"}]
    with Project(binary, [model("new"), model("old"), model("older"), model("other")], "docker") as p:
        p.write("batch.json", json.dumps(batch))
        ran(p.call("build", "--batch-manifest", "batch.json", "--registry", "reg"))
        manifest = p.json("build_manifest.json")
        equal({key: image.get("registry_image") for key, image in manifest["built_images"].items()},
              {"ci-new_dummy.ubuntu.amd": "reg/own:tag", "ci-old_dummy.ubuntu.amd": "reg/old:1", "ci-older_dummy.ubuntu.amd": "reg/ci-older_dummy.ubuntu.amd"})
        equal(manifest["built_images"]["ci-old_dummy.ubuntu.amd"]["build_command"], "# Skipped build for old (build_new=false)")
        equal(sorted(manifest["built_models"]), sorted(manifest["built_images"]))
        equal(len([words for words in p.docker() if words[0] == "build"]), 1)
        for text, message in (("[1]", "Model entry 0 must be a dictionary"), ("[{}]", "Model entry 0 missing required 'model_name' field")):
            p.write("batch.json", text)
            holds(ran(p.call("build", "--batch-manifest", "batch.json"), 4).stderr, message)


@test
def builds_in_a_job(binary):
    with Project(binary, [model("Dummy")], "docker") as p:
        p.write("../bin/sbatch", '#!/bin/bash\necho "sbatch $*" >> sbatch.log\nbash "${@: -1}"\n', 0o755)
        ran(p.call("build", "--tags", "Dummy", "--build-on-compute", "--registry", "docker.io/org/repo", "-c", '{"slurm": {"partition": "gpu", "reservation": "r1"}}'))
        script = p.read("madengine_build_job.sh")
        for line in ("#SBATCH --partition=gpu\n", "#SBATCH --reservation=r1\n", "#SBATCH --nodes=1\n", "#SBATCH --time=02:00:00\n"):
            holds(script, line)
        equal(p.read("sbatch.log"), "sbatch --wait madengine_build_job.sh\n")
        equal([words[0] for words in p.docker()], ["build", "tag", "push"])
        manifest = p.json("build_manifest.json")
        equal(manifest["built_images"]["Dummy"], {"image_name": "docker.io/org/repo:dummy", "docker_image": "docker.io/org/repo:dummy", "local_image": "ci-dummy_dummy.ubuntu.amd",
                                                  "dockerfile": "docker/dummy.ubuntu.amd.Dockerfile", "build_time": 0, "built_on_compute": True, "registry": "docker.io/org/repo"})
        equal((manifest["deployment_config"]["target"], manifest["deployment_config"]["slurm"]), ("slurm", {"partition": "gpu", "reservation": "r1"}))
        p.write("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE + "RUN false\n")
        holds(ran(p.call("build", "--tags", "Dummy", "--build-on-compute", "--registry", "r", "-c", '{"slurm": {"partition": "gpu"}}'), 2).stderr, "Build on compute node failed with exit code 1")
        holds(ran(p.call("build", "--tags", "Dummy", "--build-on-compute", "--registry", "r", "-c", '{"slurm": {"partition": "x --wrap=id"}}'), 4).stderr, "cannot be used in a job script")


@test
def live_output(binary):
    with Project(binary, [model("dummy")], "docker", script=SCRIPT) as p:
        assert "building" not in p.call("build", "--tags", "dummy").stdout
        holds(p.call("build", "--tags", "dummy", "--live-output").stdout, "building " + IMAGE)
        ran(p.call("build", "-t", "dummy", "-m", "m.json"))
        assert p.exists("m.json")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
