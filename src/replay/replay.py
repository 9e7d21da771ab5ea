

def kernels_of(call, repeats, before):
    """The names of the kernels and copies of a call, and for each call their time in microseconds. None if they cannot be told apart."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiled:
        for _ in range(repeats):
            before()
            call()
            torch.cuda.synchronize()
    ran = [e for e in profiled.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    ran.sort(key=lambda e: e.time_range.start)
    per_call = len(ran) // repeats
    calls = [ran[i + 1:i + per_call] for i in range(0, len(ran), per_call)] if per_call > 1 and len(ran) % repeats == 0 else []
    names = [[e.name for e in one] for one in calls]
    if not calls or any(one != names[0] for one in names):
        return None
    return names[0], [busy(one) for one in calls]


def busy(events):
    total = end = 0
    for e in events:
        total += max(0, e.time_range.end - max(end, e.time_range.start))
        end = max(end, e.time_range.end)
    return total


def replay(entry, options):
    call = prepare(entry, options.device)
    for _ in range(options.warmup):
        call()
    if options.device == "cpu":
        return {}
    torch.cuda.synchronize()
    # Writing this memory empties the caches, and meanwhile the host prepares the call.
    flushed = torch.empty(1 if options.warm else 256 << 20, dtype=torch.uint8, device=options.device)
    times = event_times(call, options.repeats, flushed.zero_)
    done = {"event_us": statistics.median(times), "gpu": torch.cuda.get_device_name()}
    try:
        found = kernels_of(call, options.repeats, flushed.zero_)
    except RuntimeError:  # without the right to profile
        found = None
    if found:
        done.update(kernels=found[0], kernel_us=statistics.median(found[1]))
    return done


def line(entry, done):
    if "error" in done:
        return "%-45s %s" % (entry["op_name"], done["error"])
    before, now = entry.get("kernel_time_us"), done.get("kernel_us", done.get("event_us"))
    known = "kernels" in done and "kernels" in entry
    same = known and done["kernels"] == entry["kernels"]
    ratio = "%.2f" % (before / now) if before and now and (same or not known) else ""
    return "%-45s %10s %10s %7s  %s" % (entry["op_name"], *("%.2f" % n if n is not None else "" for n in (before, now)), ratio,
                                       "" if not known else "same kernels" if same else "other kernels")


def main():
    import argparse
    parser = argparse.ArgumentParser(description="Runs ops of a trace again, one at a time, and measures them.")
    parser.add_argument("file", nargs="?", default="event_replay_ir.json", help="the ops (default: %(default)s)")
    parser.add_argument("-o", "--output", default="replay_results.json", help="write the results to this file (default: %(default)s)")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: only call the ops, without times")
    parser.add_argument("--op-filter", default="", help="only ops whose name contains this")
    parser.add_argument("--op-limit", type=int, help="only the first ops")
    parser.add_argument("--warmup", type=int, default=10, help="calls before measuring (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=30, help="measured calls, of which the median counts (default: %(default)s)")
    parser.add_argument("--warm", action="store_true", help="do not empty the caches before each call")
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE", help="import MODULE first, which has further ops")
    parser.add_argument("--schemas", action="store_true", help="print the schemas of all ops, for gputally replay-ir --schemas")
    parser.add_argument("--done", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for module in options.modules:
        __import__(module)
    if options.schemas:
        print("\n".join(str(schema) for schema in torch._C._jit_get_all_schemas()))
        return 0
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU; run this on a machine with one, or use --device cpu to only call the ops")
    with open(options.file) as file:
        entries = [e for e in json.load(file) if options.op_filter in e["op_name"]][:options.op_limit]
    results = []
    if options.done:
        with open(options.output) as file:
            results = json.load(file)
    else:
        print("%-45s %10s %10s %7s" % ("op", "trace µs", "replay µs", "ratio"))
    torch.set_grad_enabled(False)
    for entry in entries[len(results):]:
        try:
            done = replay(entry, options)
        except Exception as error:
            done = {"error": (str(error).strip() or repr(error)).split("\n")[0]}
        print(line(entry, done), flush=True)
        results.append({**entry, "replay": done})
        with open(options.output + ".part", "w") as file:
            json.dump(results, file, indent=1)
        os.replace(options.output + ".part", options.output)
        if "error" in done and is_broken(options.device):
            os.execv(sys.executable, [sys.executable] + sys.orig_argv[1:] + ["--done", "1"] * (not options.done))
    failed = sum("error" in result["replay"] for result in results)
    print("%d of %d ops replayed; results in %s" % (len(results) - failed, len(results), options.output))
    return 1 if failed else 0


def is_broken(device):
    """After an invalid access, the GPU refuses everything of this process, and a new one has to go on."""
    try:
        torch.zeros(1, device=device).item()
        return False
    except RuntimeError:
        return True


sys.exit(main())
