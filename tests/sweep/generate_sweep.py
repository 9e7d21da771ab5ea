"""Synthetic sweeps: a tiny one whose numbers can be computed by hand, and workbooks like those of reports.

    python3 -m tests.sweep.generate_sweep DIR        writes the tiny sweep into DIR

Threads 256 and 512, channels 28 and 42, ranks 0 to 7. Each rank runs two matrix products, of three and two instances, an
elementwise kernel, and three collectives on another stream. Durations depend on threads, channels and rank.
"""
import json
import os
import sys

BASE_US = 1_000_000.0
K1 = "Cijk_Alik_Bljk_BBS_BH_MT256x256x64_MI16x16x1"
K2 = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x1"
THREADS, CHANNELS, RANKS = (256, 512), (28, 42), range(8)


class Trace:
    def __init__(self, rank):
        self.rank = rank
        self.events = [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 10, "tid": 10,
                        "ts": BASE_US - 10, "dur": 9000.0, "args": {"External id": 9999}}]

    def op(self, name, arguments, kernel, start_us, dur_us, stream, kernel_arguments=None):
        """A host op, its launch and its kernel."""
        number = len(self.events)
        at = BASE_US + 20.0 * number
        self.events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 10, "tid": 10, "ts": at, "dur": 8.0,
             "args": {"External id": number, **arguments}},
            {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "pid": 10, "tid": 10, "ts": at + 2, "dur": 3.0,
             "args": {"External id": number, "correlation": 100 + number}},
            {"ph": "s", "id": 100 + number, "pid": 10, "tid": 10, "ts": at + 2, "cat": "ac2g", "name": "ac2g"},
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": self.rank, "tid": stream, "ts": BASE_US + start_us,
             "dur": float(dur_us), "args": {"External id": number, "correlation": 100 + number, "device": self.rank,
                                            "stream": stream, **(kernel_arguments or {})}},
            {"ph": "f", "id": 100 + number, "pid": self.rank, "tid": stream, "ts": BASE_US + start_us, "cat": "ac2g",
             "name": "ac2g", "bp": "e"},
        ]

    def collective(self, name, elements, out_elements, start_us, dur_us):
        self.op("record_param_comms", {}, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", start_us, dur_us, 2,
                {"Collective name": name, "dtype": "BFloat16", "In msg nelems": elements, "Out msg nelems": out_elements,
                 "Group size": 8, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"})


def shapes(*dims):
    types = ["c10::BFloat16" if d else "Scalar" for d in dims]
    strides = [[d[1], 1] if len(d) == 2 else [1] * len(d) for d in dims]
    return {"Input Dims": list(dims), "Input type": types, "Input Strides": strides, "Concrete Inputs": [""] * len(dims)}


def trace(threads, channels, rank):
    t = Trace(rank)
    for start, dur in (100, 100), (1100, 100 + threads / 256 * channels / 2 + rank), (2100, 110):
        t.op("aten::mm", shapes([512, 256], [256, 1024]), K1, start, dur, 0)
    for start, dur in (5100, 40.5), (6100, 60.25 + rank / 2 + channels / 7):
        t.op("aten::addmm", shapes([1024], [512, 512], [512, 1024], [], []), K2, start, dur, 0)
    t.op("aten::mul", shapes([512, 1024], [512, 1024]), "void at::native::vectorized_elementwise_kernel<4>(int)", 8000, 5, 0)
    t.collective("allreduce", 1048576, 1048576, 1050 + 2 * rank, 100 + channels)
    t.collective("allreduce", 2048, 2048, 1200 + 2 * rank, 30)
    t.collective("_allgather_base", 67108864, 536870912, 6000, 200 + threads / 10)
    return {"schemaVersion": 1, "deviceProperties": [{"id": i} for i in range(8)],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}, "traceEvents": t.events}


def lay_out(folder, threads=THREADS, channels=CHANNELS, ranks=RANKS, place="rank{rank}/customer_trace_step10.json"):
    for t in threads:
        for c in channels:
            for r in ranks:
                path = os.path.join(folder, f"{t}thread", f"nccl_{c}channels", "torch_profiler", place.format(rank=r))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(trace(t, c, r), file)


def write_workbook(path, **sheets):
    """Writes lists of rows, the first one with the headings, to a workbook with openpyxl, as TraceLens does."""
    import openpyxl
    os.makedirs(os.path.dirname(path), exist_ok=True)
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)


def read_workbook(path):
    """{sheet: rows}, each row a tuple."""
    import openpyxl
    book = openpyxl.load_workbook(path, read_only=False)
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in book.worksheets}


if __name__ == "__main__":
    lay_out(sys.argv[1])
