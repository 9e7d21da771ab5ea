#!/usr/bin/env python3
"""Tests of the portable program and its release archives (scripts/dist): they run everywhere, say the same as the normal
program, need nothing else, and are the same bytes when they are built again.

    python3 -m tests.packages.test_portable --bin build/gputally [--packages build/packages]

Archives are taken from the folder that GPUTALLY_DIST names (default: build/dist). What runs in emulation needs qemu-user.
"""
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

from tests.build.test_hardening import DF_1_PIE, DT_FLAGS_1, PT_GNU_RELRO, PT_GNU_STACK, PT_INTERP, read
from tests.packages import common
from tests.packages.common import EXAMPLE, MACHINE, ROOT, CleanRoot, Setting, Skipped, need, need_root, run

ARCHITECTURES = ("x86_64", "aarch64")
SIZE_LIMIT = 10_000_000
DIST = os.environ.get("GPUTALLY_DIST") or os.path.join(ROOT, "build", "dist")
OTHER = next(name for name in ARCHITECTURES if name != MACHINE)
DT_NEEDED, SHT_VERNEED = 1, 0x6FFFFFFE
# Every kind of file that a report can be; the workbook is a ZIP file, whose compression depends on the processor.
OUTPUTS = ("--output_csvs_dir", "sheets", "--output_xlsx_path", "book.xlsx", "--output_db", "sheets.db", "--output_html",
           "page.html", "--output_json", "report.json", "--output_md", "report.md")


def newest_section():
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        return re.search(r"^## (\d+\.\d+\.\d+)(.*)$", file.read(), re.M)


def archive(arch):
    found = glob.glob(os.path.join(DIST, f"gputally-*-linux-{arch}.tar.gz"))
    if not found:
        raise Skipped(f"no archive for {arch} in {DIST}: make dist")
    assert len(found) == 1, found
    return found[0]


def unpacked(arch):
    """The folder of the archive, unpacked as README.md says."""
    folder = common.temporary_folder()
    run(["tar", "-xzf", archive(arch), "-C", folder])
    names = os.listdir(folder)
    assert names == [os.path.basename(archive(arch))[:-7]], names
    return os.path.join(folder, names[0])


def program(arch=MACHINE):
    return os.path.join(unpacked(arch), "bin", "gputally")


def emulated(arch):
    """What starts a program of the architecture here."""
    if arch == MACHINE:
        return []
    for name in (f"qemu-{arch}", f"qemu-{arch}-static"):
        if shutil.which(name):
            return [shutil.which(name)]
    raise Skipped(f"qemu-{arch} is not installed")


def files(folder):
    found = {}
    for name in common.harness.files_under(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def report(command, trace=EXAMPLE, options=(), stdin=None):
    """{name: bytes} of everything that a report writes, also on the terminal."""
    folder = common.temporary_folder()
    if stdin is None:
        shutil.copy(trace, folder)
        trace = os.path.basename(trace)
    done = subprocess.run([*command, "report", trace, *OUTPUTS, *options], cwd=folder, capture_output=True, input=stdin)
    assert done.returncode == 0, done.stderr.decode()
    found = files(folder)
    found.pop(trace, None)
    return {**found, "stdout": done.stdout, "stderr": done.stderr}


def assert_same(ours, expected, same_processor=True):
    assert sorted(ours) == sorted(expected), set(ours) ^ set(expected)
    assert len(expected) > 20, sorted(expected)
    for name, data in expected.items():
        if name.endswith(".xlsx") and not same_processor:
            continue
        assert ours[name] == data, f"{name} differs"


# ---- quick checks ----

def test_version_is_that_of_the_changelog():
    assert run([Setting.bin, "--version"]) == f"gputally {newest_section().group(1)}\n"


def test_version_of_a_tag_wins():
    need("cmake", "git")
    folder = os.path.join(common.temporary_folder(), "tree")
    os.makedirs(os.path.join(folder, "cmake"))
    shutil.copy(os.path.join(ROOT, "cmake/Version.cmake"), os.path.join(folder, "cmake"))
    with open(os.path.join(folder, "CHANGELOG.md"), "w", encoding="utf-8") as file:
        file.write("# Changelog\n\n## 3.1.4 (unreleased)\n\n## 3.1.3 (2025-01-01)\n")
    version = lambda: run(["cmake", "-P", "cmake/Version.cmake"], cwd=folder).strip()
    assert version() == "3.1.4", "without git"
    git = lambda *command: run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *command], cwd=folder)
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    assert version() == "3.1.4", "without a tag"
    git("tag", "nightly")
    assert version() == "3.1.4", "a tag of another kind"
    git("tag", "v3.2.0")
    assert version() == "3.2.0"


def test_linked_packages_have_versions_and_licences():
    with open(os.path.join(ROOT, "scripts/static-packages.txt"), encoding="utf-8") as file:
        rows = [line.split(None, 3) for line in file if line.strip() and not line.startswith("#")]
    assert len(rows) > 10
    for row in rows:
        assert len(row) == 4 and row[1][0].isdigit() and row[2] in ("library", "headers", "font", "source"), row
    # Each library that CMake links is in the list, under the name of its package.
    with open(os.path.join(ROOT, "cmake/Dependencies.cmake"), encoding="utf-8") as file:
        linked = set(re.findall(r"PACKAGE (\S+?)[ )]", file.read().split("# For the tests only")[0])) - {"debian-package"}
    listed = {"libisal-dev" if row[0] == "libisal" else row[0] for row in rows}
    assert linked <= listed, linked - listed


# ---- archives ----

def test_package_archives_have_checksums():
    with open(os.path.join(DIST, "SHA256SUMS"), encoding="utf-8") as file:
        sums = dict(reversed(line.split()) for line in file)
    names = {os.path.basename(archive(arch)) for arch in ARCHITECTURES}
    assert names | {name.replace(".tar.gz", ".spdx.json") for name in names} <= set(sums), sums
    assert set(sums) == set(os.listdir(DIST)) - {"SHA256SUMS"}, "files without a checksum, or the reverse"
    for name, checksum in sums.items():
        assert common.digest(os.path.join(DIST, name)) == checksum, name


def test_package_archives_hold_the_same_files_with_one_time_and_owner():
    contents = {}
    for arch in ARCHITECTURES:
        with tarfile.open(archive(arch)) as tar:
            members = tar.getmembers()
        assert len({member.mtime for member in members}) == 1
        assert {(member.uid, member.gid, member.uname) for member in members} == {(0, 0, "")}
        assert [member.name for member in members] == sorted(member.name for member in members)
        contents[arch] = {member.name.split("/", 1)[-1]: member.mode for member in members if not member.isdir()}
    assert contents["x86_64"] == contents["aarch64"]
    for name in ("bin/gputally", "bin/TraceLens_generate_perf_report_pytorch", "libexec/gputally/gputally-helper",
                 "share/man/man1/gputally.1", "share/bash-completion/completions/gputally", "share/doc/gputally/LICENSE"):
        assert name in contents[MACHINE], name


def test_package_programs_are_static_small_and_hardened():
    for arch in ARCHITECTURES:
        path = program(arch)
        assert os.path.getsize(path) < SIZE_LIMIT, f"{arch}: {os.path.getsize(path)} bytes"
        elf = read(path)
        assert not elf.segment(PT_INTERP), f"{arch}: needs a dynamic linker"
        dynamic = elf.dynamic()
        assert DT_NEEDED not in dynamic and dynamic.get(DT_FLAGS_1, 0) & DF_1_PIE, arch
        assert elf.segment(PT_GNU_RELRO) and not elf.segment(PT_GNU_STACK)[1] & 1, arch


def test_package_helper_needs_no_version_of_glibc():
    for arch in ARCHITECTURES:
        elf = read(os.path.join(unpacked(arch), "libexec/gputally/gputally-helper"))
        assert elf.segment(PT_INTERP)
        assert not any(section[1] == SHT_VERNEED for section in elf.sections), f"{arch}: needs versions of symbols"


def test_package_licences_are_there():
    for arch in ARCHITECTURES:
        folder = os.path.join(unpacked(arch), "share/doc/gputally/licenses")
        with open(archive(arch)[:-7] + ".spdx.json", encoding="utf-8") as file:
            packages = json.load(file)["packages"]
        for package in packages[1:]:
            with open(os.path.join(folder, package["name"] + ".txt"), encoding="utf-8") as file:
                assert len(file.read()) > 500, package["name"]


def test_package_bill_of_materials_is_valid_spdx():
    """The mandatory fields of SPDX 2.3 and their forms, as far as the document uses them."""
    for arch in ARCHITECTURES:
        with open(archive(arch)[:-7] + ".spdx.json", encoding="utf-8") as file:
            document = json.load(file)
        assert document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0"
        assert document["SPDXID"] == "SPDXRef-DOCUMENT" and document["name"]
        assert re.fullmatch(r"https?://[^#\s]+", document["documentNamespace"])
        created = document["creationInfo"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created["created"]) and created["creators"]
        assert all(re.match(r"(Tool|Person|Organization): \S", creator) for creator in created["creators"])
        ids = [package["SPDXID"] for package in document["packages"]]
        assert len(set(ids)) == len(ids) > 10
        licence = r"\(?[A-Za-z0-9.+-]+\)?( (AND|OR|WITH) \(?[A-Za-z0-9.+-]+\)?)*"
        for package in document["packages"]:
            assert re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", package["SPDXID"]) and package["name"] and package["versionInfo"]
            assert package["downloadLocation"] and package["filesAnalyzed"] is False and package["copyrightText"]
            for field in ("licenseConcluded", "licenseDeclared"):
                assert re.fullmatch(licence, package[field]), package
            for checksum in package["checksums"]:
                assert checksum["algorithm"] == "SHA256" and re.fullmatch(r"[0-9a-f]{64}", checksum["checksumValue"])
        assert document["packages"][0]["checksums"][0]["checksumValue"] == common.digest(archive(arch))
        relations = [(row["spdxElementId"], row["relationshipType"], row["relatedSpdxElement"])
                     for row in document["relationships"]]
        assert ("SPDXRef-DOCUMENT", "DESCRIBES", ids[0]) in relations
        assert {end for _, _, end in relations} == set(ids), "a package without a relationship"


# ---- the same results ----

def test_package_report_is_that_of_the_normal_program():
    assert_same(report([program()]), report([Setting.bin]))


def test_package_report_of_the_other_architecture():
    expected, ours = report([Setting.bin]), report([*emulated(OTHER), program(OTHER)])
    assert_same(ours, expected, same_processor=False)
    # The workbooks have the same parts.
    parts = []
    for data in (ours["book.xlsx"], expected["book.xlsx"]):
        path = os.path.join(common.temporary_folder(), "book.xlsx")
        with open(path, "wb") as file:
            file.write(data)
        with zipfile.ZipFile(path) as book:
            parts.append({name: book.read(name) for name in book.namelist()})
    assert parts[0] == parts[1]


def test_package_inputs_and_threads():
    need("zstd")
    portable, folder = program(), common.temporary_folder()
    with gzip.open(EXAMPLE) as file:
        text = file.read()
    plain = os.path.join(folder, "transformer_training.json")
    with open(plain, "wb") as file:
        file.write(text)
    run(["zstd", "-q", plain])
    for trace, options, stdin in ((plain, (), None), (plain + ".zst", (), None), ("-", (), text),
                                  (plain, ("--threads", "1"), None), (plain, ("--threads", "16"), None)):
        assert_same(report([portable], trace, options, stdin), report([Setting.bin], trace, options, stdin))


def test_package_plots_have_the_same_pixels():
    from tests.phases.test_phase_plots import make_trace
    from tests.sweep.test_plots import ROWS, write_csv
    need("fc-match")
    if "DejaVuSans.ttf" not in run(["fc-match", "sans-serif"]):
        raise Skipped("sans-serif is not DejaVu Sans here")
    drawn = []
    for binary in (program(), Setting.bin):
        folder = common.temporary_folder()
        write_csv(os.path.join(folder, "top.csv"), ROWS)
        run([binary, "sweep", "plot", "--quiet", "--csv-path", "top.csv", "--dpi", "60"], cwd=folder)
        trace = make_trace(folder)
        for kind in ("png", "svg", "pdf"):
            run([binary, "report", trace, "--quiet", "--inference_phase_analysis", "--generate_plots", "--plot_format", kind,
                 "--output_csvs_dir", kind], cwd=folder)
        drawn.append({name: data for name, data in files(folder).items() if name.endswith((".png", ".svg", ".pdf"))})
    assert len(drawn[0]) > 20 and sorted(drawn[0]) == sorted(drawn[1]), sorted(drawn[0])
    # A PDF file holds the time of its creation.
    undated = lambda data: re.sub(rb"/CreationDate \(D:[^)]*\)", b"", data)
    for name, data in drawn[1].items():
        assert undated(drawn[0][name]) == undated(data), f"{name} differs"


def test_package_plots_of_the_other_architecture():
    from tests.sweep.test_plots import ROWS, write_csv
    drawn = []
    for command in ([program()], [*emulated(OTHER), program(OTHER)]):
        folder = common.temporary_folder()
        write_csv(os.path.join(folder, "top.csv"), ROWS)
        run([*command, "sweep", "plot", "--quiet", "--csv-path", "top.csv", "--dpi", "60"], cwd=folder)
        drawn.append(files(os.path.join(folder, "plots")))
    assert len(drawn[0]) == 5 and drawn[0] == drawn[1]


# ---- other systems ----

def inside(root):
    """What starts a program in a root that has only /proc mounted; its folder there comes next."""
    return ["unshare", "-m", "-p", "-f", "--propagation", "private", "sh", "-c",
            'mount -t proc proc "$0/proc" && cd "$0$1" && shift && exec env -i PATH=/bin HOME=/home "$(command -v chroot)" "$0" "$@"', root]


def test_package_in_an_empty_root():
    """Only the program, the trace and /proc: no C library, no shell, no fonts, no /dev and no /etc."""
    need_root()
    need("unshare", "chroot")
    root = common.temporary_folder()
    for name in ("proc", "out"):
        os.mkdir(os.path.join(root, name))
    shutil.copy(program(), root)
    shutil.copy(EXAMPLE, os.path.join(root, "out"))
    mounted = [*inside(root), "/out"]
    assert run([*mounted, "/gputally", "--version"]).startswith("gputally ")
    options = [f"/out/{value}" if not value.startswith("--") else value for value in OUTPUTS]
    run([*mounted, "/gputally", "report", "--quiet", "/out/" + os.path.basename(EXAMPLE), *options])
    ours = files(os.path.join(root, "out"))
    ours.pop(os.path.basename(EXAMPLE))
    expected = report([Setting.bin])
    for name in ("stdout", "stderr", "report.json", "page.html", "report.md"):  # these hold the path of the trace
        expected.pop(name)
        ours.pop(name, None)
    assert_same(ours, expected)
    # Text in plots comes from the font in the program.
    from tests.sweep.test_plots import ROWS, write_csv
    write_csv(os.path.join(root, "out", "top.csv"), ROWS)
    run([*mounted, "/gputally", "sweep", "plot", "--quiet", "--csv-path", "/out/top.csv", "--dpi", "60"])
    assert len(os.listdir(os.path.join(root, "out", "plots"))) == 5


def in_release(release):
    root = CleanRoot(release)
    shutil.copytree(unpacked(MACHINE), root.path + "/opt/gputally", symlinks=True)
    trace = root.copy(EXAMPLE)
    os.chmod(root.path + "/tmp", 0o1777)
    root.run("/opt/gputally/bin/gputally", "report", "--quiet", trace, "--output_csvs_dir", "/tmp/sheets", ordinary_user=True)
    expected = common.sheets_of(Setting.bin, common.temporary_folder())
    assert common.read_folder(root.path + "/tmp/sheets") == expected
    # The helper loads a library of the system's C library, whatever its version.
    need("cc")
    run(["cc", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", root.path + "/tmp/libnvidia-ml.so.1",
         os.path.join(ROOT, "tests/run/stand_ins/nvml.c")])
    answers = root.run("sh", "-c", "printf 'power 1\\nversions\\nunknown\\n' | LD_LIBRARY_PATH=/tmp "
                       "/opt/gputally/libexec/gputally/gputally-helper nvml").split("\n")
    assert answers[0] == "2 libnvidia-ml" and float(answers[1]) > 0 and answers[2].count("\t") == 1 and answers[3] == "", answers
    assert root.run("sh", "-c", "! /opt/gputally/libexec/gputally/gputally-helper nvml") == ""


def test_package_in_debian_11():
    in_release("bullseye")


def test_package_in_debian_12():
    in_release("bookworm")


def test_package_in_debian_13():
    in_release("trixie")


def test_package_with_musl():
    """A root as Alpine has it, with musl and BusyBox from Debian's packages: installed as README.md says, and run."""
    from tests.packages.test_readme import commands, write_tool
    need_root()
    need("apt-get", "dpkg-deb", "unshare", "chroot")
    root = os.path.join(common.temporary_folder(), "root")
    for name in ("proc", "home", "bin"):
        os.makedirs(os.path.join(root, name))
    packages = common.temporary_folder()
    for name in ("musl", "busybox-static"):
        done = subprocess.run(["apt-get", "download", name], cwd=packages, capture_output=True, text=True)
        if done.returncode:
            raise Skipped(f"no package {name}: {done.stderr.strip()}")
        run(["dpkg-deb", "--extract", *glob.glob(os.path.join(packages, name + "_*")), root])
    mounted = [*inside(root), "/home"]
    run([*mounted, "/bin/busybox", "--install", "-s", "/bin"])
    assert not glob.glob(os.path.join(root, "lib*", "**", "ld-linux*"), recursive=True)
    assert run([*mounted, "sh", "-c", f"/lib/ld-musl-{MACHINE}.so.1 2>&1 || true"]).startswith("musl libc")
    shutil.copy(archive(MACHINE), root + "/home")
    shutil.copy(EXAMPLE, root + "/home")
    run([*mounted, "sh", "-ec", "cd; " + commands("Any Linux")])
    run([*mounted, "sh", "-ec", f"cd; PATH=~/.local/bin:$PATH; gputally report --quiet --output_csvs_dir sheets {os.path.basename(EXAMPLE)}"])
    assert common.read_folder(root + "/home/sheets") == common.sheets_of(Setting.bin, common.temporary_folder())
    # `run` needs bash, and the helper glibc, as the libraries do that it loads.
    write_tool(root + "/bin", "bash", 'exec sh "$@"\n')
    os.makedirs(root + "/sys/devices/gpu")
    os.makedirs(root + "/sys/class/drm/renderD128")
    with open(root + "/sys/devices/gpu/vendor", "w", encoding="utf-8") as file:
        file.write("0x10de\n")
    os.symlink("/sys/devices/gpu", root + "/sys/class/drm/renderD128/device")
    printed = run([*mounted, "sh", "-ec", "cd; ~/.local/bin/gputally run --output out -- true 2>&1"])
    assert "gputally-helper: it needs the C library glibc" in printed and "reads no sensors" in printed, printed


# ---- libraries that the helper loads ----

def test_package_sensors_through_the_helper():
    """The tests of the normal program, which give it a library that stands in for NVIDIA's."""
    portable = program()
    for name in ("test_energy", "test_machine"):
        run([common.PYTHON, "-m", f"tests.run.{name}", "--bin", portable], cwd=ROOT)


def test_package_mpi_through_the_helper():
    """The helper alone, then a command of several processes, with the libraries of Open MPI and MPICH."""
    need("mpirun.openmpi", "mpirun.mpich")
    portable = program()
    helper = os.path.join(os.path.dirname(portable), "..", "libexec/gputally/gputally-helper")
    run([common.PYTHON, "-m", "tests.procs.test_helper", "--bin", helper], cwd=ROOT)
    for test in ("open_mpi", "mpich", "no_library"):
        run([common.PYTHON, "-m", "tests.procs.test_procs", "--bin", portable, test], cwd=ROOT)


def test_package_missing_helper_is_reported_once():
    folder = common.temporary_folder()
    shutil.copy(program(), folder)
    device = os.path.join(folder, "sys/devices/0000:19:00.0")
    node = os.path.join(folder, "sys/class/drm/renderD128")
    os.makedirs(device)
    os.makedirs(node)
    with open(os.path.join(device, "vendor"), "w", encoding="utf-8") as file:
        file.write("0x10de\n")
    os.symlink(device, os.path.join(node, "device"))
    done = subprocess.run(["./gputally", "run", "--output", "out", "--", "true"], cwd=folder, capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": folder, "GPUTALLY_SYSFS": os.path.join(folder, "sys")})
    lines = [line for line in done.stderr.splitlines() if "gputally-helper" in line]
    assert len(lines) == 1 and "No such file or directory; without it, this portable gputally reads no sensors" in lines[0], done


# ---- the same bytes ----

def archived_files(path):
    """{name: bytes} of the files of an archive."""
    with tarfile.open(path) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def test_package_built_again_elsewhere_is_the_same():
    """Another folder, with a space in its name, without git and without a compiler cache: the archive has the same bytes."""
    if run(["git", "status", "--porcelain", "--untracked-files=no"], cwd=ROOT):
        raise Skipped("the sources differ from the commit")
    commit = run(["git", "log", "-1", "--format=%ct %H"], cwd=ROOT)
    name = os.path.basename(archive(MACHINE))
    bill = name.replace(".tar.gz", ".spdx.json")
    with open(os.path.join(DIST, bill), encoding="utf-8") as file:
        assert f"commit {commit.split()[1]}" in file.read(), "the archive is not one of this commit: make dist"
    folder = os.path.join(common.temporary_folder(), "another folder of sources")
    listed = run(["git", "ls-files", "-z"], cwd=ROOT).split("\0")[:-1]
    for path in listed:
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, path), os.path.join(folder, path), follow_symlinks=False)
    with open(os.path.join(folder, "cmake/commit.txt"), "w", encoding="utf-8") as file:
        file.write(commit)  # as git archive does
    shutil.copytree(os.path.join(ROOT, "build/sysroot", MACHINE), os.path.join(folder, "build/sysroot", MACHINE), symlinks=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_", "CCACHE_", "GPUTALLY_"))}
    run(["sh", "-c", "umask 077; exec scripts/dist " + MACHINE], cwd=folder,
        env=dict(environment, JOBS=str(os.cpu_count()), CCACHE_DISABLE="1", TZ="Asia/Tokyo"))
    again = os.path.join(folder, "build/dist")
    first, second = archived_files(os.path.join(DIST, name)), archived_files(os.path.join(again, name))
    differing = sorted(path for path in {*first, *second} if first.get(path) != second.get(path))
    assert not differing, f"other bytes: {differing}"
    for file in (name, bill):
        assert common.digest(os.path.join(again, file)) == common.digest(os.path.join(DIST, file)), file


def test_package_programs_hold_no_path_of_the_build():
    for arch in ARCHITECTURES:
        for name in ("bin/gputally", "libexec/gputally/gputally-helper"):
            with open(os.path.join(unpacked(arch), name), "rb") as file:
                data = file.read()
            assert ROOT.encode() not in data and b"build/sysroot" not in data, f"{arch}: {name}"


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
