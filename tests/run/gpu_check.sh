#!/usr/bin/env bash
# Checks `gputally run` on a machine with an NVIDIA GPU: a PyTorch training script with power and memory samplers,
# repeats, report and page; energy compared with NVML's own counter; nsys and ncu where they are installed.
#
#     tests/run/gpu_check.sh build/gputally FOLDER [SECONDS]      SECONDS: length of the training (default 20)
#
# Needs bash, python3 with PyTorch, and libnvidia-ml. Prints one line per check (ok, FAIL, skip) and leaves all
# files in FOLDER. The exit status is 1 if a check failed. It is no part of `make test`: that needs no GPU.
set -u
[ $# -ge 2 ] || { sed -n 2,8p "$0"; exit 2; }
binary=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
seconds=${3:-20}
failures=0

result() { # result STATUS NAME TEXT
    printf '%-4s %-28s %s\n' "$1" "$2" "${3-}"
    [ "$1" = FAIL ] && failures=$((failures + 1))
    return 0
}
verdict() { # verdict STATUS_CODE NAME TEXT
    if [ "$1" -eq 0 ]; then result ok "$2" "${3-}"; else result FAIL "$2" "${3-}"; fi
}

cat > "$folder/train.py" <<'PY'
"""A small training: the seconds and the trace come from the command line. One line per start is added to starts.txt."""
import sys, time
import torch

seconds, trace = float(sys.argv[1]), len(sys.argv) > 2 and sys.argv[2] == "trace"
open("starts.txt", "a").write(f"{time.time()}\n")
torch.manual_seed(0)
model = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
x = torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16)

def step():
    optimizer.zero_grad(set_to_none=True)
    loss = model(x).float().pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss

for _ in range(3):
    step()
torch.cuda.synchronize()
begin, steps = time.time(), 0
while steps < 2 or time.time() - begin < seconds:
    for _ in range(10 if seconds else 1):
        step()
        steps += 1
    torch.cuda.synchronize()
took = time.time() - begin
if trace:
    with torch.profiler.profile() as p:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    p.export_chrome_trace("train.pt.trace.json")
print(f"performance: {steps * len(x) / took:.1f} samples_per_second", flush=True)
PY

# Reads NVML by itself every 20 ms: time, energy counter (mJ), power usage, average power, instant power (mW) of each GPU.
cat > "$folder/nvml.py" <<'PY'
import ctypes, signal, sys, time

class Value(ctypes.Structure):
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("type", ctypes.c_int), ("status", ctypes.c_int), ("value", ctypes.c_ulonglong)]

nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0, "nvmlInit_v2 failed"
count = ctypes.c_uint()
nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
devices = []
for i in range(count.value):
    handle = ctypes.c_void_p()
    nvml.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle))
    devices.append(handle)

def text(function, handle=None, size=96):
    buffer = ctypes.create_string_buffer(size)
    arguments = ([handle] if handle else []) + [buffer, size]
    return buffer.value.decode() if getattr(nvml, function)(*arguments) == 0 else ""

def counter(handle):
    value = ctypes.c_ulonglong()
    return value.value if nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(value)) == 0 else -1

def usage(handle):
    value = ctypes.c_uint()
    return value.value if nvml.nvmlDeviceGetPowerUsage(handle, ctypes.byref(value)) == 0 else -1

def field(handle, number):
    value = Value(field=number)
    ok = hasattr(nvml, "nvmlDeviceGetFieldValues") and nvml.nvmlDeviceGetFieldValues(handle, 1, ctypes.byref(value)) == 0 and value.status == 0
    return value.value & 0xFFFFFFFF if ok else -1

if sys.argv[1:] == ["facts"]:
    for handle in devices:
        print("name", text("nvmlDeviceGetName", handle), sep="\t")
        print("uuid", text("nvmlDeviceGetUUID", handle), sep="\t")
    print("driver", text("nvmlSystemGetDriverVersion"), sep="\t")
    sys.exit()
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
while not stop:
    for i, handle in enumerate(devices):
        print(i, f"{time.time():.6f}", counter(handle), usage(handle), field(handle, 185), field(handle, 186), sep="\t")
    sys.stdout.flush()
    time.sleep(0.02)
PY

# check.py NAME FOLDER: the parts that need more than a shell. Prints a text; exits 1 if the check fails.
cat > "$folder/check.py" <<'PY'
import csv, datetime, json, os, re, sys, zipfile

def sheets(path):
    """{sheet: [rows]} of a workbook, all cells as text."""
    book = zipfile.ZipFile(path)
    text = lambda name: book.read(name).decode() if name in book.namelist() else ""
    plain = lambda xml: "".join(re.findall(r"<t[^>]*>([^<]*)</t>", xml))
    shared = [plain(item) for item in re.findall(r"<si>.*?</si>", text("xl/sharedStrings.xml"), re.S)]
    attribute = lambda xml, name: re.search(name + r'="([^"]*)"', xml)[1]
    targets = {attribute(r, "Id"): attribute(r, "Target") for r in re.findall(r"<Relationship [^>]*>", text("xl/_rels/workbook.xml.rels"))}
    result = {}
    for sheet in re.findall(r"<sheet [^>]*>", text("xl/workbook.xml")):
        name, target = attribute(sheet, "name"), targets[attribute(sheet, "r:id")]
        rows = []
        for row in re.findall(r"<row[^>]*>(.*?)</row>", text(target.lstrip("/") if target.startswith("/") else "xl/" + target), re.S):
            cells = []
            for attributes, body in re.findall(r"<c ([^>]*?)(?:/>|>(.*?)</c>)", row, re.S):
                value = re.search(r"<v>([^<]*)</v>", body)
                cells.append(shared[int(value[1])] if 't="s"' in attributes else plain(body) if "<is>" in body else value[1] if value else "")
            rows.append(cells)
        result[name] = rows
    return result

def samples(path):
    with open(path, newline="") as f:
        rows = list(csv.reader(f))
    moment = lambda t: datetime.datetime.strptime(t, "%Y-%m-%d %H:%M:%S.%f").timestamp()
    return rows[0][1:], [(moment(r[0]), [float(c) if c not in ("N/A", "") else None for c in r[1:]]) for r in rows[1:]]

def readings(path, gpu):
    rows = [line.split("\t") for line in open(path)]
    return [(float(r[1]), *map(int, r[2:])) for r in rows if len(r) == 6 and int(r[0]) == gpu]

def at(rows, t, column):
    """The value at t, interpolated."""
    for a, b in zip(rows, rows[1:]):
        if a[0] <= t <= b[0]:
            return a[column] + (b[column] - a[column]) * (t - a[0]) / (b[0] - a[0])
    return rows[0][column] if t < rows[0][0] else rows[-1][column]

def integral(rows, begin, end, column):
    inside = [r for r in rows if begin <= r[0] <= end]
    return sum(a[column] * (b[0] - a[0]) for a, b in zip(inside, inside[1:])) / 1000

def energy(folder, log):
    book = sheets(os.path.join(folder, "train_run_summary.xlsx"))
    head, *rows = book["power_summary"]
    column = head.index("energy_J")
    _, taken = samples(os.path.join(folder, "gpu_info_power_profiler_output.csv"))
    begin, end = taken[0][0], taken[-1][0]
    texts, ok = [], True
    for i, row in enumerate(rows):
        ours, nvml = float(row[column]), readings(log, i)
        if len(nvml) < 2 or nvml[0][1] < 0:
            texts.append(f"GPU{i}: " + ("NVML has no energy counter" if nvml else "no readings of NVML"))
            ok = ok and bool(nvml)
            continue
        counter = (at(nvml, end, 1) - at(nvml, begin, 1)) / 1000
        off = (ours - counter) / counter
        ok = ok and abs(off) <= 0.05
        texts.append(f"GPU{i}: {ours:.1f} J, NVML's counter {counter:.1f} J ({off:+.2%}) in {end - begin:.1f} s, {len(taken)} samples; "
                     f"own integrals at 20 ms: usage {integral(nvml, begin, end, 2):.1f}, average {integral(nvml, begin, end, 3):.1f}, "
                     f"instant {integral(nvml, begin, end, 4):.1f} J")
    print("; ".join(texts))
    return ok

def memory(folder):
    names, taken = samples(os.path.join(folder, "gpu_info_vram_profiler_output.csv"))
    peaks = [max(v[i] or 0 for _, v in taken) for i in range(len(names))]
    print(f"{len(taken)} samples, peak {max(peaks):.2f} % of the memory")
    return max(peaks) > 0.3

def record(folder):
    with open(os.path.join(folder, "gputally_run.json")) as f:
        return json.load(f)

def machine(folder, facts):
    wanted = [line.rstrip("\n").split("\t") for line in open(facts)]
    text = json.dumps(record(folder).get("machine"))
    import importlib.metadata
    wanted.append(["torch", importlib.metadata.version("torch")])
    missing = [f"{k} {v}" for k, v in wanted if v and v not in text]
    print("not in gputally_run.json: " + ", ".join(missing) if missing else
          ", ".join(v for k, v in wanted if k != "uuid") + "; clocks " + json.dumps((record(folder)["machine"].get("gpus") or [{}])[0].get("clocks")))
    return not missing

def files(folder, *endings):
    found = [f["path"] for f in record(folder)["files"]]
    missing = [e for e in endings if not any(p.endswith(e) and os.path.getsize(p) for p in found)]
    print("missing: " + ", ".join(missing) if missing else ", ".join(os.path.basename(p) for p in found if p.endswith(endings)))
    return not missing

def workbook(path, *names):
    book = sheets(path)
    empty = [n for n in names if len(book.get(n, [])) < 2]
    print("no rows in: " + ", ".join(empty) + "; sheets: " + ", ".join(book) if empty else ", ".join(f"{n} {len(book[n]) - 1}" for n in names))
    return not empty

def repeats(folder, starts, wanted):
    count = len(open(starts).readlines())
    found = {k: v for k, v in record(folder).items() if "repeat" in k or "overhead" in k or "warmup" in k}
    print(f"{count} starts (expected {wanted}); " + json.dumps(found)[:1500])
    return count == int(wanted) and bool(found)

sys.exit(0 if globals()[sys.argv[1]](*sys.argv[2:]) else 1)
PY

check() { # check NAME FUNCTION ARGUMENTS...
    local name=$1 text
    shift
    text=$(python3 "$folder/check.py" "$@" 2> "$folder/check.err")
    local status=$?
    [ $status -ne 0 ] && text="$text $(tail -1 "$folder/check.err")"
    verdict $status "$name" "$text"
}
knows() { "$binary" help run 2>/dev/null | grep -q -- "--$1"; }

python3 "$folder/nvml.py" facts > "$folder/facts.txt" 2> "$folder/facts.err"
verdict $? nvml "$(tr '\n\t' '  ' < "$folder/facts.txt")$(tail -1 "$folder/facts.err")"
text=$(python3 -c 'import torch; assert torch.cuda.is_available(), "no CUDA device"; print(torch.__version__, torch.cuda.get_device_name())' 2>&1)
verdict $? torch "$(tail -1 <<< "$text")"
[ $failures -eq 0 ] || exit 1

# 1. Samplers, report, page, energy.
mkdir -p "$folder/plain" && cd "$folder/plain" && rm -f starts.txt
python3 "$folder/nvml.py" > "$folder/nvml.tsv" 2> "$folder/nvml.err" &
monitor=$!
sleep 0.5
"$binary" run --tools gpu_info_power_profiler,gpu_info_vram_profiler --name train -- \
    python3 "$folder/train.py" "$seconds" trace > "$folder/plain.log" 2>&1
verdict $? "run" "$(grep -m1 '^performance:' "$folder/plain.log")"
sleep 0.5
kill $monitor
wait $monitor 2>/dev/null
check energy energy "$folder/plain" "$folder/nvml.tsv"
check memory memory "$folder/plain"
check "report and page" files "$folder/plain" _perf_report.xlsx .html _run_summary.xlsx
check "machine in the record" machine "$folder/plain" "$folder/facts.txt"

# 2. Repeats.
if knows repeat; then
    mkdir -p "$folder/repeats" && cd "$folder/repeats" && rm -f starts.txt
    "$binary" run --warmup 1 --repeat 3 --tools gpu_info_power_profiler --name train -- \
        python3 "$folder/train.py" 3 > "$folder/repeats.log" 2>&1
    verdict $? "run with repeats"
    check repeats repeats "$folder/repeats" "$folder/repeats/starts.txt" 4
else
    result skip repeats "this gputally has no --repeat"
fi

# 3. Profilers.
if ! knows profiler; then
    result skip profilers "this gputally has no --profiler"
elif nsys=$(command -v nsys); then
    mkdir -p "$folder/nsys" && cd "$folder/nsys" && rm -f starts.txt
    "$binary" run --profiler nsys --name train -- python3 "$folder/train.py" 2 > "$folder/nsys.log" 2>&1
    verdict $? "run with nsys" "$($nsys --version | head -1)"
    check "nsys export" files "$folder/nsys" .nsys-rep .sqlite _perf_report.xlsx .html
    check "nsys sheets" workbook "$folder/nsys/train_perf_report.xlsx" kernel_summary
else
    "$binary" run --profiler nsys --name train -- true > "$folder/nsys.log" 2>&1
    [ $? -eq 3 ] && grep -q "nsys not found" "$folder/nsys.log"
    verdict $? "nsys is missing" "$(grep -m1 "nsys" "$folder/nsys.log")"
fi
if knows profiler && ncu=$(command -v ncu); then
    mkdir -p "$folder/ncu" && cd "$folder/ncu" && rm -f starts.txt
    "$binary" run --profiler ncu --profiler_args "--launch-skip 20 --launch-count 30 --clock-control none" --name train -- \
        python3 "$folder/train.py" 0 > "$folder/ncu.log" 2>&1
    status=$?
    if grep -q ERR_NVGPUCTRPERM "$folder/ncu.log"; then
        grep -q "gputally:.*performance counters" "$folder/ncu.log"
        verdict $? "ncu without permission" "$(grep -m1 'gputally:.*performance counters' "$folder/ncu.log")"
    else
        verdict $status "run with ncu" "$($ncu --version | tail -1)"
        check "ncu export" files "$folder/ncu" .ncu-rep .csv _perf_report.xlsx
        "$binary" report "$folder"/ncu/ncu_output/latest/*.ncu-rep > "$folder/ncu_report.log" 2>&1
        grep -q "export it with: ncu --import" "$folder/ncu_report.log"
        verdict $? "hint for .ncu-rep" "first bytes: $(head -c 8 "$folder"/ncu/ncu_output/latest/*.ncu-rep | od -An -c | tr -s ' ')"
        check "ncu sheets" workbook "$folder/ncu/train_perf_report.xlsx" ncu_kernels ncu_details
    fi
elif knows profiler; then
    result skip ncu "not installed"
fi
echo "$failures checks failed; files are in $folder"
[ $failures -eq 0 ]
