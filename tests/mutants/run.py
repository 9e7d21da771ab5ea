#!/usr/bin/env python3
"""Which small changes to the program do the tests of an area notice? `make mutants AREA=index SAMPLE=60`

    python3 -m tests.mutants.run --area index [--sample 60] [--seed 1] [--seconds 30] [--folder build-mutants]

Copies the tree, rewrites the files of the area (generate.py), and builds it once. Each test of the area runs once without a change,
which shows how long it takes and which changes it reaches; those that take longer than --seconds are left out. Then each change of
the sample runs with the tests that reach it, the quickest first, until one fails. What no test reaches survives. Survivors that are
known, with the reason why they may, are in survivors.txt; the table at the end counts the others.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

from tests.common import harness
from tests.mutants import generate

# Area: its files, and the labels of its tests.
AREAS = {"findings": (["src/findings"], ["findings"]), "trust": (["src/findings/trust.c"], ["findings"]),
         "input": (["src/input"], ["input", "rocprof", "nsys", "ncu", "perfetto", "damage"]), "output": (["src/output"], ["output", "cli"]),
         "index": (["src/index"], ["index"]), "procs": (["src/procs"], ["procs", "partial"]), "os": (["src/os/own.c", "src/os/paths.c"], ["cli", "os"])}
TREE = ("src", "include", "cmake", "tests", "scripts", "completions", "docs", "examples", "packaging", "CMakeLists.txt", "Makefile",
        "CHANGELOG.md", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "action.yml")


def copy_tree(tree):
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    files = subprocess.run(["git", "ls-files", *TREE], cwd=harness.ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for path in filter(None, files):
        if os.path.exists(os.path.join(harness.ROOT, path)):
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            shutil.copy2(os.path.join(harness.ROOT, path), os.path.join(tree, path))
    for name in ("mutant.h", "mutant.c"):
        shutil.copy2(os.path.join(harness.ROOT, "tests", "mutants", name), os.path.join(tree, "src", name))


def generate_all(tree, build, places):
    compiler = ["cc", "-std=gnu17", "-D_GNU_SOURCE", '-DGT_VERSION="0"', f"-I{tree}/src", f"-I{tree}/include", f"-I{build}/generated"]
    flags = subprocess.run(["pkg-config", "--cflags", "cairo", "sqlite3"], capture_output=True, text=True).stdout.split()
    found = {}
    for place in places:
        top = os.path.join(tree, place)
        files = [top] if os.path.isfile(top) else [os.path.join(tree, place, name) for name in harness.files_under(top) if name.endswith(".c")]
        for path in files:
            found.update(generate.mutate(path, len(found) and max(found) + 1, compiler + flags))
    return found


def tests_of(build, labels, environment):
    listed = json.loads(subprocess.run(["ctest", "--show-only=json-v1"], cwd=build, capture_output=True, text=True, env=environment).stdout)
    for test in listed["tests"]:
        properties = {one["name"]: one["value"] for one in test.get("properties", [])}
        if set(properties.get("LABELS", [])) & set(labels) and "command" in test:
            extra = dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", []))
            yield test["name"], test["command"], properties.get("WORKING_DIRECTORY", build), extra


def run_test(test, environment, mutant, seen, limit_s):
    """True: it passed."""
    _, command, folder, extra = test
    env = {**environment, **extra, "GPUTALLY_MUTANT": str(mutant), **({"GPUTALLY_MUTANT_SEEN": seen} if seen else {})}
    child = subprocess.Popen(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
    try:
        return child.wait(timeout=limit_s) in (0, harness.ALL_SKIPPED)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, 9)
        child.wait()
        return False


def measure(tests, environment, count, seconds, seen):
    """[(test, seconds, reached)] of the quick tests that pass without a change, the quickest first."""
    found = []
    for test in tests:
        with open(seen, "wb") as file:
            file.write(bytes(count))
        begin = time.monotonic()
        passed = run_test(test, environment, -1, seen, seconds)
        took = time.monotonic() - begin
        if not passed:
            print(f"left out: {test[0]} ({'fails' if took < seconds else 'takes too long'})", flush=True)
            continue
        with open(seen, "rb") as file:
            found.append((test, took, file.read()))
    return sorted(found, key=lambda one: one[1])


def known_survivors(tree):
    """{(path, text of the line)} of survivors.txt."""
    with open(os.path.join(tree, "tests", "mutants", "survivors.txt"), encoding="utf-8") as file:
        return {tuple(part.strip() for part in line.split(" | ")[:2]) for line in file if " | " in line and not line.startswith("#")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", required=True, choices=AREAS)
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--folder", default="build-mutants")
    options = parser.parse_args()
    environment = {**INHERITED, "GPUTALLY_CONFORMANCE": os.environ.get("GPUTALLY_CONFORMANCE", "")}
    folder = os.path.abspath(options.folder)
    tree, build, seen = (os.path.join(folder, name) for name in ("tree", "build", "seen"))
    copy_tree(tree)
    os.makedirs(build, exist_ok=True)
    subprocess.run(["cmake", "-S", tree, "-B", build, "-DCMAKE_BUILD_TYPE=Release"], check=True, stdout=subprocess.DEVNULL, env=environment)
    subprocess.run(["cmake", "--build", build, "--target", "gputally_commit"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    mutants = generate_all(tree, build, AREAS[options.area][0])
    targets = ["product", *(f"tests_{label}" for label in AREAS[options.area][1])]
    subprocess.run(["cmake", "--build", build, "-j", str(os.cpu_count() or 1), "--target", *targets], check=True, stdout=subprocess.DEVNULL, env=environment)
    quick = measure(tests_of(build, AREAS[options.area][1], environment), environment, max(mutants) + 1, options.seconds, seen)
    chosen = sorted(random.Random(options.seed).sample(sorted(mutants), min(options.sample, len(mutants))))
    caught, known, survivors, listed = 0, 0, [], known_survivors(harness.ROOT)
    for number in chosen:
        path, line, what = mutants[number]
        reaching = [(test, took) for test, took, reached in quick if reached[number]]
        by = next((test[0] for test, took in reaching if not run_test(test, environment, number, None, 3 * took + 10)), None)
        name = os.path.relpath(path, tree)
        with open(os.path.join(harness.ROOT, name), encoding="utf-8") as file:
            text = file.read().split("\n")[line - 1].strip()
        state = f"caught by {by}" if by else "survives" + ("" if reaching else " (reached by no quick test)")
        print(f"{name}:{line}  {what}  {state}", flush=True)
        caught += bool(by)
        if not by and (name, text) in listed:
            known += 1
        elif not by:
            survivors.append(f"{name} | {text} | {what}")
    print(f"\n{options.area}: {len(mutants)} changes, {len(chosen)} tried, {caught} caught ({100 * caught / len(chosen):.0f} %), "
          f"{known} known survivors, {len(survivors)} others:")
    print("\n".join(survivors))
    return 0 if caught + known >= 0.85 * len(chosen) else 1


INHERITED = {name: value for name, value in harness.ORIGINAL_ENVIRONMENT.items() if not name.startswith("GPUTALLY_MUTANT")}

if __name__ == "__main__":
    sys.exit(main())
