#!/usr/bin/env python3
"""Makes the seeds of the targets that run commands (fuzz_command_*) out of the command lines of the end-to-end tests.

    python3 -m tests.fuzz.record_seeds --bin build/gputally --fuzz_dir build-asan [AREA/SCRIPT...]

Runs the tests with a stand-in for the program that keeps each command line and the files that it names, if they are small.
Each target then takes those that reach code that its seeds do not reach yet into tests/fuzz/corpus/command_X.
input_files.h explains how a seed looks.
"""
import argparse
import base64
import glob
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIZE_MAX = 32 << 10  # of a seed
FILES_MAX = 60


# ---- the stand-in; it must start quickly, and runs in the folder and environment of the test ----

def files_of(path):
    if os.path.isfile(path):
        return [path]
    found = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
    return sorted(found)[:FILES_MAX + 1]


def is_pattern(word):
    return any(c in word for c in "*?{") and not any(c in word for c in "<>")  # a condition


def place_of(path):
    """The name of a path in the seed: relative to the current folder, or else to the parent of its own."""
    absolute, here = os.path.abspath(path), os.getcwd()
    inside = os.path.relpath(absolute, here)
    return inside if not inside.startswith("..") else os.path.join(*absolute.rsplit("/", 2)[1:])


def record(store, arguments, also=()):
    """`also`: further files and folders that the command reads."""
    words, files = [], {}
    for word in [*arguments, *also]:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        looks_like_path = "/" in value or os.path.exists(value)
        if not value or not (looks_like_path or is_pattern(value)):
            words.append(word)
            continue
        sources = [value] if os.path.exists(value) else glob.glob(value) if is_pattern(value) else []
        if is_pattern(value) and not sources:
            sources = [os.path.dirname(value) or "."]
        for source in sources:
            if os.path.abspath(source) == "/":
                return
            for name in files_of(source):
                if not os.path.isfile(name) or os.path.getsize(name) > 8 * SIZE_MAX or len(files) > FILES_MAX:
                    return
                with open(name, "rb") as f:
                    data = f.read()
                if os.path.basename(__file__).encode() not in data:  # a stand-in for the program, see run_scripts
                    files[os.path.normpath(os.path.join(place_of(source), os.path.relpath(name, source)))] = data
        words.append(option + equals + (place_of(value) if os.path.isabs(value) else value))
    number = f"{os.getpid()}-{len(os.listdir(store))}"
    with open(os.path.join(store, number + ".json"), "w") as f:
        json.dump({"words": words[:len(arguments)], "files": {k: base64.b64encode(v).decode() for k, v in files.items()}}, f)


def stand_in():
    store, program, called_as, *arguments = sys.argv[2:]
    name = os.path.basename(called_as)
    try:
        record(store, ([name] if name.startswith("TraceLens_") else []) + arguments)
    except (OSError, UnicodeError):
        pass
    os.execv(program, [called_as, *arguments])


# ---- seeds ----

def cell_text(value):
    if value is None:
        return ""
    if isinstance(value, bytes):
        return "#" + value.decode(errors="replace")
    if isinstance(value, bool):
        return "'" + str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    try:
        float(text)
        is_number = True
    except ValueError:
        is_number = text == ""
    return "'" + text if is_number or text[0] in "'#[@" else text


def tables_text(tables):
    return "".join(f"[{name}]\n" + "".join("\t".join(map(cell_text, row)) + "\n" for row in rows) for name, rows in tables)


def workbook_text(data):
    import openpyxl
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    return tables_text((sheet.title, sheet.iter_rows(values_only=True)) for sheet in book).encode()


def database_text(data):
    import sqlite3
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        file.write(data)
        file.flush()
        db = sqlite3.connect(file.name)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        tables = []
        for name in names:
            columns = db.execute(f'PRAGMA table_info("{name}")').fetchall()
            keys = [column for column in columns if column[5]]
            heads = [column[1] + "!" * (keys == [column] and column[2] == "INTEGER") for column in columns]
            tables.append((name, [heads, *db.execute(f'SELECT * FROM "{name}"').fetchall()]))
        db.close()
    return tables_text(tables).encode()


def file_part(name, data):
    try:
        if data[:2] == b"\x1f\x8b":
            return f"gz {name}", gzip.decompress(data)
        if data[:2] == b"PK":
            return f"xlsx {name}", workbook_text(data)
        if data[:15] == b"SQLite format 3":
            return f"db {name}", database_text(data)
    except Exception:  # damaged on purpose
        pass
    return f"file {name}", data


def is_partial(data):
    return data[:8] == b"GTPART\r\n"


def partial_part(name, data, files):
    """A partial in a folder of them; None if its trace is not a file of the seed."""
    from tests.fuzz import container  # not at the top: the stand-in must start quickly
    trace = next((other for other in files if container.trace_of(data).endswith("/" + other)), None)
    if not trace or name == trace + ".gtpart":
        return None
    (key, sections), = container.records(data)
    return f"part {os.path.dirname(name)} {trace}", key.encode() + b"\n" + container.input_of(sections)


def seed_of(words, files):
    """The bytes of a seed: a list of words, and {name: bytes} or {name: text}."""
    seed = "\n".join(word.replace("\n", " ") for word in words).encode(errors="surrogateescape")
    files = {name: data if isinstance(data, bytes) else data.encode() for name, data in files.items()}
    for name in sorted(files, key=lambda name: is_partial(files[name])):  # after their traces
        data = files[name]
        heading, data = is_partial(data) and partial_part(name, data, files) or file_part(name, data)
        seed += b"\n@@@ " + heading.encode(errors="surrogateescape") + b"\n" + data
    return seed


def targets(folder):
    """{name of a command: target}, read from the sources of the targets."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "fuzz_command_*.c"))):
        with open(path) as f:
            text = f.read()
        names = text[text.index("commands[]"):].split("}")[0].split('"')[1::2]
        for name in names:
            found.setdefault(name, []).append(os.path.basename(path)[:-2])
    return found


def takes_seed(target, files):
    """Replies of programs are for targets with stand-ins for these. fuzz_command_programs needs one."""
    with open(os.path.join(HERE, target + ".c")) as f:
        has_stand_ins = "STAND_INS" in f.read()
    has_reply = any(name.split(".")[0] == "reply" for name in files)
    return has_stand_ins if has_reply else target != "fuzz_command_programs"


def command_of(words, old_names):
    name = old_names.get(words[0], words[0]) if words else ""
    return f"sweep {words[1]}" if name == "sweep" and len(words) > 1 else name


def old_names_of(root):
    found = {}
    with open(os.path.join(root, "src", "cli", "commands.c")) as f:
        for line in f:
            parts = line.split('"')
            if len(parts) > 3 and parts[3].startswith("TraceLens_"):
                found[parts[3]] = parts[1]
    return found


def add_seeds(fuzz_dir, corpus, seeds):
    """Adds to the corpus of each target those seeds that reach new code. seeds: {target: set of bytes}"""
    os.makedirs(os.path.join(fuzz_dir, "failures"), exist_ok=True)
    for target, found in sorted(seeds.items()):
        folder = os.path.join(corpus, target[len("fuzz_"):])
        os.makedirs(folder, exist_ok=True)
        before = len(os.listdir(folder))
        with tempfile.TemporaryDirectory(prefix="gputally-seeds-") as new:
            for number, seed in enumerate(sorted(found, key=len)):
                with open(os.path.join(new, f"{number}"), "wb") as f:
                    f.write(seed)
            done = subprocess.run([os.path.abspath(os.path.join(fuzz_dir, target)), "-set_cover_merge=1", "-use_counters=0", "-timeout=60",
                                   "-rss_limit_mb=4096", "-artifact_prefix=" + os.path.abspath(fuzz_dir) + "/failures/",
                                   os.path.abspath(folder), new], capture_output=True, text=True, errors="replace",
                                  env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0", "LLVM_PROFILE_FILE": "/dev/null"})
        if done.returncode:
            print(done.stderr[-2000:])
        print(f"{target}: {len(found)} recorded, {len(os.listdir(folder)) - before} added", flush=True)


def run_scripts(scripts, program, store):
    """Runs tests with a stand-in for the program that records its calls."""
    with tempfile.TemporaryDirectory(prefix="gputally-record-") as folder:
        recorder = os.path.join(folder, "gputally")
        with open(recorder, "w") as f:
            f.write(f'#!/bin/sh\nexec {sys.executable} -I -S {os.path.abspath(__file__)} --record {store} {program} "$0" "$@"\n')
        os.chmod(recorder, 0o755)
        for script in scripts:
            area, name = script.split("/")
            command = ["tests.cli.run_cases", "--bin", recorder, f"tests/{script}"] if name.endswith(".txt") else \
                      [f"tests.{area}.{name.removesuffix('.py')}", "--bin", recorder]
            done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
            print(f"{script}: {(done.stdout.strip() or 'nothing').splitlines()[-1]}, {len(os.listdir(store))} calls", flush=True)


def read_calls(store):
    """{target: set of seeds}"""
    seeds, by_command, old_names = {}, targets(HERE), old_names_of(ROOT)
    for name in os.listdir(store):
        with open(os.path.join(store, name)) as f:
            call = json.load(f)
        files = {k: base64.b64decode(v) for k, v in call["files"].items()}
        for target in by_command.get(command_of(call["words"], old_names), []):
            seed = seed_of(call["words"], files)
            if len(seed) <= SIZE_MAX and takes_seed(target, files):
                seeds.setdefault(target, set()).add(seed)
    return seeds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--fuzz_dir", required=True)
    parser.add_argument("--corpus", default=os.path.join(HERE, "corpus"))
    parser.add_argument("scripts", nargs="*", help="such as convert/test_traces.py or sweep/cli_cases.txt; default: all")
    options = parser.parse_args()
    tests = os.path.dirname(HERE)
    scripts = options.scripts or sorted(os.path.relpath(path, tests) for pattern in ("test_*.py", "cli_cases.txt")
                                        for path in glob.glob(os.path.join(tests, "*", pattern)))
    with tempfile.TemporaryDirectory(prefix="gputally-calls-") as store:
        run_scripts(scripts, os.path.abspath(options.bin), store)
        seeds = read_calls(store)
    add_seeds(options.fuzz_dir, options.corpus, seeds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--record"]:
        stand_in()
    main()
