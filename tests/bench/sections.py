"""The parts of scripts/bench: what is measured, and the limits."""
import glob
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

from tests.bench import inputs
from tests.bench.inputs import DENSE_COLLECTIVES, MANY_RANKS

READER_LIMITS = {1: 1.0, 2: 0.6}  # threads -> simdjson passes
# Reports: of a simdjson pass, and of the size of the uncompressed file.
ROCPROF_LIMITS = 0.3, 0.25
GZIP_LIMITS = 0.8, 0.18
LONG_LIMITS = 0.35, 0.12
LONG_GZIP_LIMITS = 0.7, 0.12
WORKBOOK_LIMIT = 1.2
READER_MEMORY_LIMIT = 0.25
GROWTH_LIMIT = 1.1  # time of a copy among many, over its time in a smaller file
RANK_GROWTH_LIMIT = 1.2
NESTED = (24_000, 96_000)
SPEED_UP, SCALING_CORES, SCALING_GB_S = 10, 16, 8
INDEX_LIMIT = 0.1  # a second report over the first one
FINDINGS_LIMIT = 1.25  # a report with findings over one without
BUSY_LIMIT = 0.9  # of the cores
OWN_INFLATE_GAIN = 1.2  # ISA-L's time over ours, from which on our own inflate is kept
JAX_SPEED_LIMIT = 500  # MB/s of the reader on one core, at least
JAX_MEMORY_LIMIT = 1.0  # sizes of the file
PORTABLE_LIMIT, START_LIMIT = 1.03, 5  # the portable program's time over the normal one's; ms until it has started
FEW_RANKS = 4
RANK_MEMORY_LIMIT = 0.02  # memory per rank, over the size of its uncompressed trace
DENSE_LIMIT = 1024  # MB for 1,000 such ranks: half of the allowed 2 GiB
FORMAT_BLOCK, FORMAT_TIMES = 20_000, 50  # a million dispatches
FORMAT_LIMITS = {"json": (0, 0.35), "csv": (300, 0.35), "rocpd": (0, 0.35), "pftrace": (300, 0.35)}  # MB/s, sizes of the file
ROCPROF_SHEETS = ("rocprof", "--kernel_details", "--short_kernel_study", "--threads", "2")
PYTORCH_DEFAULT = ("pytorch", "--threads", "2")
PYTORCH_ALL = ("pytorch", "--enable_kernel_summary", "--short_kernel_study")
PYTORCH_SHEETS = (*PYTORCH_ALL, "--threads", "2")
FINDINGS_SHEETS = ("--threads", "2")


def readers(bench, path):
    return {f"reader, {n} thread{'s' * (n > 1)}": (limit, READER_MEMORY_LIMIT, lambda n=n: bench.reader(path, n))
            for n, limit in READER_LIMITS.items()}


def compare_rocprof(bench):
    title, path = inputs.rocprof(bench)
    bench.compare(title, path, {**readers(bench, path), "report, all sheets as CSV": (
        *ROCPROF_LIMITS, lambda: bench.report(path, ROCPROF_SHEETS))})


def compare_inflate(bench):
    """ISA-L's time over that of our own inflate: ours must be faster where it is used, and only there."""
    print("Inflate: ISA-L's time over ours", flush=True)
    traces = [bench.conformance(inputs.ROCPROF_TRACE), *glob.glob(bench.conformance(inputs.PYTORCH_TRACES))]
    example = os.path.join(inputs.ROOT, "examples", "transformer_training.json.gz")
    for path in [path for path in traces if os.path.exists(path)] or [example]:
        done = subprocess.run([bench.tool("bench_inflate"), path], capture_output=True, text=True, check=True)
        ratio, best = re.search(r"ratio (\S+) bytes \d+ best (.*)", done.stdout).groups()
        right = (float(ratio) >= OWN_INFLATE_GAIN) == (best == "own")
        bench.over |= not right
        print(f"  {os.path.basename(path)[:40]:<40} {float(ratio):6.3f} (own from {OWN_INFLATE_GAIN}; used here: {best}) "
              f"{'ok' if right else 'WRONG CHOICE'}", flush=True)


def compare_formats(bench):
    """Dispatches, copies and calls: the parts that a default report reads."""
    from tests.rocprof import generate_run
    place = os.path.join(bench.folder, "formats")
    if os.path.exists(place):
        shutil.rmtree(place)
    process = generate_run.make_run(dispatches=FORMAT_BLOCK, counted=False)[0]
    paths = generate_run.write_times(process, place, FORMAT_TIMES)
    print(f"rocprofv3 run of {FORMAT_BLOCK * FORMAT_TIMES:,} dispatches, reader on one core", flush=True)
    for kind, path in paths.items():
        speed_limit, memory_limit = FORMAT_LIMITS[kind]
        size = os.path.getsize(path)
        runs = [bench.reader(path, 1) for _ in range(bench.options.rounds)]
        ms = statistics.median(took for took, _ in runs)
        bench.speed(f"{kind}, {size / 1e6:.0f} MB, {FORMAT_BLOCK * FORMAT_TIMES / ms / 1e3:.1f} M dispatches/s", size, ms,
                    speed_limit)
        bench.line(f"peak memory, {kind}", statistics.median(peak for _, peak in runs) / size, memory_limit,
                   "of the file's size")
    shutil.rmtree(place)
    bench.warn_if_busy()


def compare_pytorch(bench, pytorch):
    report = lambda path, limits, sheets=PYTORCH_SHEETS, kind="csvs_dir": (
        *limits, lambda: bench.report(path, sheets, kind))
    bench.compare("PyTorch trace", pytorch.plain(), {
        "report from gzip": report(pytorch.packed, GZIP_LIMITS),
        "default report as workbook": report(pytorch.packed, (WORKBOOK_LIMIT, GZIP_LIMITS[1]), PYTORCH_DEFAULT, "xlsx_path")})
    ten = pytorch.copies(10)
    bench.compare("PyTorch trace, ten times", ten, {
        **readers(bench, ten),
        "report from the plain file": report(ten, LONG_LIMITS),
        "report from gzip": report(pytorch.copies_packed(10), LONG_GZIP_LIMITS)})
    bench.growth("PyTorch trace", {copies: pytorch.copies(copies) for copies in inputs.COPIES}, PYTORCH_SHEETS, GROWTH_LIMIT)
    bench.drop(pytorch.copies(inputs.COPIES[-1]))


def compare_nested(bench):
    """Ops inside each other: one of four times as many must not cost more."""
    print("Ops inside each other, each with a kernel", flush=True)
    each = {depth: statistics.median(bench.report(inputs.nested_ops(bench, depth), PYTORCH_SHEETS)[0] for _ in range(3)) / depth
            for depth in NESTED}
    few, many = NESTED
    bench.line(f"an op of {many:,} over one of {few:,}", each[many] / each[few], GROWTH_LIMIT, "of the time",
               f"   {each[few] * few:.0f} ms for {few:,}")


def compare_scaling(bench, pytorch):
    """The same report with more and more threads."""
    path = pytorch.copies(inputs.SCALING_COPIES)
    size, cores = os.path.getsize(path), len(os.sched_getaffinity(0))
    print(f"Threads: PyTorch trace, {size / 1e9:.1f} GB", flush=True)
    times = {}
    for threads in [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores]:
        times[threads] = statistics.median(bench.report(path, (*PYTORCH_ALL, "--threads", str(threads)))[0] for _ in range(3))
        print(f"  {f'{threads} threads':<40} {times[threads] / 1e3:6.3f} s, {times[1] / times[threads]:.2f} times as fast as one, "
              f"{size / times[threads] / 1e6:.2f} GB/s", flush=True)
    judged = cores >= SCALING_CORES
    most = times[SCALING_CORES if judged else max(times)]
    bench.at_least(f"speed-up, {SCALING_CORES} threads" if judged else f"speed-up, {max(times)} threads", times[1] / most,
                   SPEED_UP, "times", judged)
    bench.at_least("speed", size / most / 1e6, SCALING_GB_S, "GB/s", judged)
    bench.warn_if_busy()
    bench.drop(path)


def compare_index(bench, pytorch):
    """A report of a trace that has an index, over one of the trace."""
    print("Reading once: a second report, from the index", flush=True)
    for label, source in (("from gzip", pytorch.packed), ("ten times, plain", pytorch.copies(10))):
        copied = os.path.join(bench.folder, "indexed" + (".json.gz" if source.endswith(".gz") else ".json"))
        shutil.copyfile(source, copied)
        time.sleep(2.5)  # a trace that has just changed is compared as a whole
        first = statistics.median(bench.report(copied, PYTORCH_SHEETS)[0] for _ in range(bench.options.rounds))
        bench.report(copied, (*PYTORCH_SHEETS, "--index", "auto"))
        second = statistics.median(bench.report(copied, PYTORCH_SHEETS)[0] for _ in range(bench.options.rounds))
        bench.line(label, second / first, INDEX_LIMIT, "of the first one's time", f"   {first:.0f} and {second:.1f} ms")
        for path in glob.glob(copied + "*"):
            os.unlink(path)


def compare_findings(bench, pytorch):
    """A report with findings over one without, in turns; the least times count, because other work only adds to them. The
    limit is for what the command writes by default. Its page needs the host's events with and without findings; sheets alone
    do not, so findings cost more there."""
    print("Findings: the report with them over the same without", flush=True)
    for label, path in (("from gzip", pytorch.packed), ("ten times, plain", pytorch.copies(10))):
        for files, limit in (("workbook and page", FINDINGS_LIMIT), ("sheets as CSV", None)):
            runs = {with_findings: [] for with_findings in (True, False)}
            for _ in range(2 * bench.options.rounds):
                for with_findings, measured in runs.items():
                    out = tempfile.mkdtemp(dir=bench.folder)
                    output = ["--output_csvs_dir", out] if limit is None else ["-o", os.path.join(out, "report.xlsx")]
                    command = [bench.options.bin, "report", path, *output, "--quiet", *FINDINGS_SHEETS]
                    measured.append(bench.timed(command if with_findings else [*command, "--no_findings"])[:3])
                    shutil.rmtree(out)
            took, cpu, peak = ([min(run[i] for run in runs[with_findings]) for with_findings in runs] for i in range(3))
            bench.line(f"{label}, {files}", took[0] / took[1], limit, "of the time",
                       f"   {took[0]:.1f} and {took[1]:.1f} ms; CPU {cpu[0]:.1f} and {cpu[1]:.1f} ms, {cpu[0] / cpu[1]:.2f}; "
                       f"peak {peak[0] / 2**20:.0f} and {peak[1] / 2**20:.0f} MiB")
    bench.warn_if_busy()


def compare_many_ranks(bench, pytorch):
    """How busy the cores are while many ranks are read."""
    cores, large, real = len(os.sched_getaffinity(0)), inputs.large_ranks(bench, pytorch), inputs.real_ranks(bench)
    print(f"{MANY_RANKS} ranks, gzip, one command, on {cores} cores", flush=True)
    out = os.path.join(bench.folder, "many_out")
    commands = {"report, ranks of 55 MB": ["report", large],
                f"collective, ranks of {real[1] / 1e6:.0f} MB": ["collective", "--trace_dir", real[0], "--world_size",
                                                                  str(MANY_RANKS)]}
    for label, command in commands.items():
        took, cpu, peak, _ = bench.timed([bench.options.bin, *command, "--output_csvs_dir", out, "--quiet"])
        busy, more = cpu / took / cores, f"   {took / 1e3:.2f} s, peak {peak / 2**20:.0f} MiB"
        if command[0] == "report":
            bench.at_least(label, busy, BUSY_LIMIT, "of the cores busy", more=more)
        else:  # over in 0.06 s on 16 cores
            bench.line(label, busy, None, "of the cores busy", more)
        shutil.rmtree(out)
    bench.warn_if_busy()


def compare_jax(bench):
    """Reader and report of a long JAX profile, and whether it costs more than a short one for its size."""
    short, path = inputs.jax(bench)
    size = os.path.getsize(path)
    print(f"JAX profile, {size / 1e6:.1f} MB", flush=True)
    median = lambda runs: [statistics.median(figures) for figures in zip(*runs)]
    rounds = range(bench.options.rounds)
    short_ms, _ = median(bench.reader(short, 1) for _ in rounds)
    read_ms, read_peak = median(bench.reader(path, 1) for _ in rounds)
    report_ms, report_peak = median(bench.report(path, ("jax", "--threads", "1")) for _ in rounds)
    bench.speed("reader, 1 thread", size, read_ms, JAX_SPEED_LIMIT)
    bench.speed("report, all sheets as CSV, 1 thread", size, report_ms)
    bench.line("peak memory, reader", read_peak / size, JAX_MEMORY_LIMIT, "of the file's size")
    bench.line("peak memory, report", report_peak / size, JAX_MEMORY_LIMIT, "of the file's size")
    bench.line("a megabyte over one of a tenth of it", read_ms / size / (short_ms / os.path.getsize(short)), RANK_GROWTH_LIMIT,
               "of the time")
    bench.warn_if_busy()


def rank_costs(bench, label, command):
    """Prints the time of a rank among many over its time among few; (bytes that stay of each rank, the peak of many).

    command: ranks -> a command line."""
    times, peaks = {}, {}
    for _ in range(min(bench.options.rounds, 5)):
        for count in (FEW_RANKS, MANY_RANKS):
            took, peak, _ = bench.measured(command(count))
            times.setdefault(count, []).append(took / count)
            peaks.setdefault(count, []).append(peak)
    few, many = (statistics.median(times[count]) for count in (FEW_RANKS, MANY_RANKS))
    bench.line(f"{label}: a rank among {MANY_RANKS} over {FEW_RANKS}", many / few, RANK_GROWTH_LIMIT, "of the time",
               f"   {many:.1f} ms a rank")
    few, many = (statistics.median(peaks[count]) for count in (FEW_RANKS, MANY_RANKS))
    return (many - few) / (MANY_RANKS - FEW_RANKS), many


def compare_ranks(bench):
    out = os.path.join(bench.folder, "ranks_out")
    collective = lambda ranks, *more: lambda count: [
        bench.options.bin, "collective", "--trace_dir", ranks, "--world_size", str(count), "--quiet", "--output_csvs_dir", out,
        *more]
    real = inputs.real_ranks(bench)
    if real:
        ranks, size = real
        fuse = lambda count: [bench.options.bin, "fuse", "--trace_dir", ranks, "--world_size", str(count), "--quiet", "-o",
                              out + ".json.gz"]
        print(f"Ranks of {size / 1e6:.1f} MB, gzip", flush=True)
        for label, command in (("collective", collective(ranks)), ("collective --extra", collective(ranks, "--extra")),
                               ("fuse", fuse)):
            stays, peak = rank_costs(bench, label, command)
            bench.line(f"{label}: memory that stays of a rank", stays / size, RANK_MEMORY_LIMIT, "of its trace",
                       f"   {stays / 1e3:.1f} kB; peak of {MANY_RANKS} {peak / 1e6:.1f} MB")
        os.unlink(out + ".json.gz")
    else:
        print("Ranks of a real trace: skipped, there is no conformance folder")
    print(f"Ranks of {DENSE_COLLECTIVES} collectives each", flush=True)
    stays, peak = rank_costs(bench, "collective", collective(inputs.dense_ranks(bench)))
    bench.line("memory for 1,000 of them", (peak + stays * (1000 - MANY_RANKS)) / 2**20, DENSE_LIMIT, "MB",
               f"   {stays / DENSE_COLLECTIVES:.0f} bytes a collective")
    shutil.rmtree(out)
    bench.warn_if_busy()


def compare_portable(bench):
    """The portable program over the normal one, in turns; the least times count, because other work only adds to them."""
    portable = bench.options.portable
    if not os.path.exists(portable):
        print(f"Portable program: skipped, there is no {portable}: scripts/dist {os.uname().machine}")
        return
    print("Portable program: its time over the normal one's", flush=True)
    programs = (portable, bench.options.bin)
    pytorch = inputs.PyTorch(bench)
    traces = [("rocprofv3 report", inputs.rocprof(bench)[1], ROCPROF_SHEETS)]
    if pytorch.packed:
        traces += [("PyTorch report from gzip", pytorch.packed, PYTORCH_SHEETS),
                   ("PyTorch report, ten times, plain", pytorch.copies(10), PYTORCH_SHEETS)]
    for label, path, sheets in traces:
        runs = {program: [] for program in programs}
        for _ in range(2 * bench.options.rounds):
            for program, measured in runs.items():
                out = tempfile.mkdtemp(dir=bench.folder)
                measured.append(bench.timed([program, sheets[0], path, "--output_csvs_dir", out, "--quiet", *sheets[1:]])[:2])
                shutil.rmtree(out)
        took, cpu = ([min(run[i] for run in runs[program]) for program in programs] for i in range(2))
        bench.line(label, cpu[0] / cpu[1], PORTABLE_LIMIT, "of the CPU time",
                   f"   {cpu[0]:.1f} and {cpu[1]:.1f} ms; {took[0]:.1f} and {took[1]:.1f} ms of time, {took[0] / took[1]:.2f}")
    starts = [min(bench.timed([program, "--version"])[0] for _ in range(10 * bench.options.rounds)) for program in programs]
    bench.line("start and end", starts[0], START_LIMIT, "ms", f"   {starts[0] / starts[1]:.2f} of the normal one's {starts[1]:.2f} ms")
    bench.warn_if_busy()


def compare_all_pytorch(bench):
    pytorch = inputs.PyTorch(bench)
    if not pytorch.packed:
        print("PyTorch trace: skipped, there is no conformance folder")
        return
    for compare in (compare_pytorch, compare_findings, compare_scaling, compare_index, compare_many_ranks):
        compare(bench, pytorch)


SECTIONS = {"rocprof": compare_rocprof, "inflate": compare_inflate, "formats": compare_formats, "pytorch": compare_all_pytorch,
            "portable": compare_portable, "nested": compare_nested, "jax": compare_jax, "ranks": compare_ranks}
PYTORCH_PARTS = {"reports": compare_pytorch, "findings": compare_findings, "scaling": compare_scaling, "index": compare_index, "many": compare_many_ranks}
