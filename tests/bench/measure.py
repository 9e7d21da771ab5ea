"""Measuring for scripts/bench: commands against one simdjson On-Demand pass over the same file, and lines with limits."""
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ("simdjson_pass", "bench_reader", "bench_run", "bench_inflate")


def machine():
    """One line about the machine: processor, cores, memory, kernel."""
    model = next((line.split(":", 1)[1].strip() for line in subprocess.run(["lscpu"], capture_output=True, text=True, check=True)
                  .stdout.splitlines() if line.startswith("Model name")), "unknown processor")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return (f"{platform.machine()}, {model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, "
            f"{platform.system()} {platform.release()}")


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.over = False

    # ---- one run ----

    def conformance(self, name):
        """The path of a file of the conformance folder (GPUTALLY_CONFORMANCE of the environment, else of CMake)."""
        folder = os.environ.get("GPUTALLY_CONFORMANCE")
        if folder is None:
            with open(os.path.join(self.options.bench_dir, "CMakeCache.txt"), encoding="utf-8") as cache:
                folder = re.search(r"^GPUTALLY_CONFORMANCE:PATH=(.*)$", cache.read(), re.M)[1]
        return os.path.join(folder or "no-conformance-folder", name)

    def tool(self, name):
        return os.path.join(self.options.bench_dir, name)

    def timed(self, command, **more):
        """(milliseconds, milliseconds of CPU, peak bytes, standard output) of a command."""
        done = subprocess.run([self.tool("bench_run"), *command], capture_output=True, text=True, check=True, **more)
        printed, took, cpu, peak_kb, code = re.fullmatch(
            r"((?s:.*))milliseconds (\S+) cpu (\S+) peak_kb (\d+) code (\d+)\n", done.stdout).groups()
        if code != "0":
            sys.exit(f"bench: {' '.join(command)} ended with {code}: {done.stderr.strip()}")
        return float(took), float(cpu), int(peak_kb) * 1024, printed

    def measured(self, command):
        """(milliseconds, peak bytes, standard output) of a command."""
        took, _, peak, printed = self.timed(command)
        return took, peak, printed

    def simdjson(self, path):
        """(walk, load and walk) in milliseconds."""
        done = subprocess.run([self.tool("simdjson_pass"), path], capture_output=True, text=True, check=True)
        times = re.match(r"load (\S+) walk (\S+) pass (\S+)", done.stdout)
        return float(times.group(2)), float(times.group(3))

    def reader(self, path, threads):
        """The reader filling all columns. The first number that it prints is its own milliseconds."""
        _, peak, printed = self.measured([self.tool("bench_reader"), path, str(threads)])
        return float(re.search(r"\d+(\.\d+)?", printed).group(0)), peak

    def report(self, path, sheets, kind="csvs_dir"):
        """(milliseconds, peak bytes) of a report; sheets: the command and its options."""
        out = tempfile.mkdtemp(dir=self.folder)  # overwriting older files costs time of its own
        took, peak, _ = self.measured([self.options.bin, sheets[0], path, f"--output_{kind}", os.path.join(out, "report.xlsx"),
                                       "--quiet", *sheets[1:]])
        shutil.rmtree(out)
        return took, peak

    def drop(self, path):
        """Removes a large input after its last use."""
        if not self.options.keep:
            os.unlink(path)

    # ---- lines ----

    def line(self, label, ratio, limit, unit, more=""):
        """A figure that may be at most `limit`; None: any."""
        is_over = limit is not None and ratio > limit
        self.over |= is_over
        mark = "(no limit)" if limit is None else f"(limit {limit}) {'OVER' if is_over else 'ok'}"
        print(f"  {label:<40} {ratio:6.3f} {unit} {mark}{more}", flush=True)

    def at_least(self, label, figure, limit, unit, counts=True, more=""):
        """A figure that must be at least `limit`, where it counts."""
        self.over |= counts and figure < limit
        mark = "ok" if figure >= limit else "UNDER" if counts else "not judged on this machine"
        print(f"  {label:<40} {figure:6.2f} {unit} (at least {limit}) {mark}{more}", flush=True)

    def speed(self, label, size, ms, limit=0):
        """MB/s, of which there must be at least `limit`."""
        speed = size / 1e3 / ms
        self.over |= speed < limit
        mark = f"(limit {limit}) {'ok' if speed >= limit else 'UNDER'}" if limit else "(no limit)"
        print(f"  {label:<40} {speed:6.0f} MB/s {mark}", flush=True)

    @staticmethod
    def warn_if_busy():
        load, cores = os.getloadavg()[0], os.cpu_count()
        if load > 0.8 * cores + 1:
            print(f"  the machine is busy (load {load:.1f} on {cores} cores): these ratios are unreliable")

    # ---- several runs ----

    def compare(self, title, path, runs):
        """Alternates runs with passes over the plain file; runs: label -> (limit of time, limit of memory, function)."""
        size = os.path.getsize(path)
        print(f"{title}, {size / 1e6:.1f} MB", flush=True)
        walks, passes, times, peaks = [], [], {label: [] for label in runs}, {label: [] for label in runs}
        for _ in range(self.options.rounds):
            walk, whole = self.simdjson(path)
            walks.append(walk)
            passes.append(whole)
            for label, (_, _, run) in runs.items():
                took, peak = run()
                times[label].append(took)
                peaks[label].append(peak)
        for label, (limit, _, _) in runs.items():
            took = statistics.median(times[label])
            more = (f"   best over best {min(times[label]) / min(passes):.3f}; "
                    f"{took / statistics.median(walks):.3f} of its walk over text already in memory")
            self.line(label, took / statistics.median(passes), limit, "of a simdjson pass", more)
        for label, (_, limit, _) in runs.items():
            self.line(f"peak memory, {label}", statistics.median(peaks[label]) / size, limit, "of the file's size")
        spread = (max(passes) - min(passes)) / statistics.median(passes)
        print(f"  the {len(walks)} passes spread over {100 * spread:.0f} % of their median")
        self.warn_if_busy()

    def growth(self, title, paths, sheets, limit):
        """What one copy costs in files of several: copies -> path."""
        print(f"{title}: time of a copy", flush=True)
        times = {copies: [] for copies in paths}
        for _ in range(min(self.options.rounds, 3)):
            for copies, path in paths.items():
                times[copies].append(self.report(path, sheets)[0])
        counts = list(paths)
        for fewer, copies in zip(counts, counts[1:]):
            each = statistics.median(times[copies]) / copies
            self.line(f"among {copies} over among {fewer}", each / (statistics.median(times[fewer]) / fewer), limit,
                      "of the time", f"   {each:.1f} ms a copy")
        self.warn_if_busy()
