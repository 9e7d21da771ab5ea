"""Writes SQLite files as `nsys export --type sqlite` does, with Python's own sqlite3.

An export is a dict of tables: {name: [row, ...]}, each row a dict of cells. write() makes the columns of the version that is asked
for; cells of columns that it does not have are dropped, as an older nsys would not have written them.

    python3 -m tests.nsys.generate_export FILE [--kernels N] [--calls N] [--ranges N]     a large one, for measurements
"""
import argparse
import os
import sqlite3
import struct

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"

# Columns by table; a name after "/" was added in that version.
COLUMNS = {
    KERNEL: "start end deviceId contextId greenContextId/2024 streamId correlationId globalPid demangledName shortName mangledName/2022 "
            "launchType registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory gridId "
            "graphNodeId graphId/2025",
    MEMCPY: "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind srcDeviceId dstDeviceId "
            "graphNodeId copyCount/2025",
    MEMSET: "start end deviceId contextId streamId correlationId globalPid value bytes memKind graphNodeId",
    RUNTIME: "start end eventClass globalTid correlationId nameId returnValue callchainId",
    GRAPH: "start end deviceId contextId streamId correlationId globalPid graphId graphExecId",
    "NVTX_EVENTS": "start end eventType rangeId category color text globalTid endGlobalTid textId domainId jsonText binaryData/2025",
    "OSRT_API": "start end eventClass globalTid nameId returnValue",
    "TARGET_INFO_GPU": "vmId id name busLocation totalMemory memoryBandwidth clockRate smCount uuid chipName cuDevice threadsPerWarp "
                       "computeMajor computeMinor",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx flags type name offset",
    "PROCESSES": "globalPid pid name",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "ANALYSIS_DETAILS": "globalVid duration startTime stopTime",
    "META_DATA_EXPORT": "name value",
    "EXPORT_META_DATA": "name value",
    "META_DATA_CAPTURE": "name value",
    "DIAGNOSTIC_EVENT": "timestamp severity text globalPid",
    "StringIds": "id value",
}
TEXTS = {"text", "name", "value", "jsonText", "busLocation", "uuid", "chipName", "devStateName"}
# Tables that older versions do not write.
SINCE = {GRAPH: 2024, "TARGET_INFO_CUDA_DEVICE": 2025, "NVTX_PAYLOAD_SCHEMA_ENTRIES": 2025, "PROCESSES": 2022, "ANALYSIS_DETAILS": 2022,
         "META_DATA_EXPORT": 2023, "EXPORT_META_DATA": 2022, "META_DATA_CAPTURE": 2023, "DIAGNOSTIC_EVENT": 2024}


def columns_of(table, version):
    split = [name.partition("/") for name in COLUMNS[table].split()]
    return [name for name, _, since in split if not since or int(since) <= version]


def create(db, table, names):
    def declared(name):
        if table == "StringIds":
            return "id INTEGER NOT NULL PRIMARY KEY" if name == "id" else "value TEXT NOT NULL"
        is_text = name in TEXTS and not (table == MEMSET and name == "value")
        return f'"{name}" {"BLOB" if name == "binaryData" else "TEXT" if is_text else "INTEGER"}'
    db.execute(f'CREATE TABLE "{table}" ({", ".join(declared(name) for name in names)})')


def write(export, path, version=2026):
    """Writes an export as nsys of this year would: 2021 has no meta table, 2022 an older one."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    for table, rows in export.items():
        if SINCE.get(table, 0) > version or (table == "EXPORT_META_DATA" and version > 2022):
            continue
        names = columns_of(table, version)
        create(db, table, names)
        marks = ", ".join("?" * len(names))
        db.executemany(f'INSERT INTO "{table}" VALUES ({marks})', ([row.get(name) for name in names] for row in rows))
    db.commit()
    db.close()
    return path


def global_pid(pid):
    return 1 << 48 | pid << 24


def global_tid(pid, tid):
    return global_pid(pid) | tid


def payload(communicator, size, domain=1, schema=16777221):
    """The bytes that NCCL attaches to a range."""
    body = struct.pack("<QQi4x", communicator, size, 0)
    return struct.pack("<IIIIQQ", domain, 0, schema, 0, len(body), 32 + len(body)) + body


def meta(version):
    schema = {2022: "2.9.1", 2023: "3.4.0", 2024: "3.13.2", 2025: "3.24.0"}.get(version, "3.25.0")
    return [{"name": "EXPORT_PRODUCT_NAME", "value": "NVIDIA Nsight Systems"}, {"name": "EXPORT_PRODUCT_VERSION", "value": f"{version}.1.1"},
            {"name": "EXPORT_SCHEMA_VERSION", "value": schema}]


# ---- a small run whose sheets are computed by hand (test_reports.py) ----

STRINGS = {1: "gemm", 2: "void gemm<float>(float*)", 3: "_Z4gemmIfEvPf", 4: "reduce_sum", 5: "void reduce_sum(int)",
           6: "cudaLaunchKernel_v7000", 7: "cuLaunchKernel", 8: "cudaMemcpyAsync_v3020", 9: "cudaGraphLaunch_v10000",
           10: "cuMemAlloc_v2", 11: "cudaLaunchKernel", 12: "forward", 13: "ncclAllReduce", 14: "read", 15: "void gemm<double>(double*)",
           16: "secret"}
A, B = 501, 502


def small_run(version=2026):
    def kernel(start, end, pid, stream, correlation, names, grid, block, number):
        short, full, mangled = names
        return {"start": start, "end": end, "deviceId": 0, "contextId": 1, "streamId": stream, "correlationId": correlation,
                "globalPid": global_pid(pid), "shortName": short, "demangledName": full, "mangledName": mangled, "gridX": grid[0],
                "gridY": grid[1], "gridZ": grid[2], "blockX": block, "blockY": 1, "blockZ": 1, "gridId": number, "registersPerThread": 32}

    def copy(start, end, kind, size, correlation, **more):
        return {"start": start, "end": end, "deviceId": 0, "streamId": 7, "correlationId": correlation, "globalPid": global_pid(A),
                "bytes": size, "copyKind": kind, **more}

    def call(start, end, kind, pid, tid, correlation, name):
        return {"start": start, "end": end, "eventClass": kind, "globalTid": global_tid(pid, tid), "correlationId": correlation,
                "nameId": name, "returnValue": 0}

    def event(start, end, kind, pid, tid, text=None, string=None, domain=0, **more):
        return {"start": start, "end": end, "eventType": kind, "globalTid": global_tid(pid, tid), "text": text, "textId": string,
                "domainId": domain, **more}

    entries = [{"domainId": 1, "schemaId": 16777221, "idx": i, "type": kind, "name": name, "offset": at}
               for i, (kind, name, at) in enumerate(((18, "NCCL communicator ID", None), (22, "Message size [bytes]", 8),
                                                     (5, "Reduction operation", 16)))]
    message = payload(0x1122334455667788, 4096)
    return {
        KERNEL: [kernel(1000, 4000, A, 7, 10, (1, 2, 3), (8, 4, 1), 256, 1),
                 kernel(5000, 6000, A, 7, 11, (1, 15, None), (2, 1, 1), 128, 2),
                 kernel(5500, 9500, B, 13, 10, (4, 5, None), (24, 1, 1), 512, 1),
                 kernel(12000, 12000, A, 7, 12, (1, 2, 3), (1, 1, 1), 32, 3),
                 kernel(13000, 13010, A, 7, 99, (777, 777, None), (1, 1, 1), 32, 4)],
        MEMCPY: [copy(500, 700, 1, 4096, 20), copy(9000, 10000, 2, 2000, 21), copy(11000, 11100, 11, 65536, 0),
                 copy(11100, 11150, 42, 10, 22), copy(17000, 18000, 10, 1000000, 23, srcDeviceId=0, dstDeviceId=1)],
        MEMSET: [{"start": 10500, "end": 10600, "deviceId": 0, "streamId": 13, "correlationId": 30, "globalPid": global_pid(B),
                  "value": 0, "bytes": 256}],
        GRAPH: [{"start": 14000, "end": 16000, "deviceId": 0, "streamId": 7, "correlationId": 15, "globalPid": global_pid(A),
                 "graphId": 3, "graphExecId": 4}],
        RUNTIME: [call(900, 1000, 0, A, 501, 10, 6), call(890, 1010, 67, A, 501, 10, 11), call(4100, 4300, 0, A, 505, 11, 6),
                  call(5000, 5300, 0, B, 502, 10, 6), call(13900, 13950, 1, A, 505, 12, 7), call(11500, 11600, 1, A, 501, 12, 7),
                  call(400, 450, 0, A, 501, 20, 8), call(8800, 8900, 0, A, 501, 21, 8), call(13500, 14000, 0, A, 501, 15, 9),
                  call(100, 300, 1, A, 501, 1, 10)],
        "NVTX_EVENTS": [event(60, None, 75, A, 501, "Other", domain=1), event(50, None, 75, A, 501, "NCCL", domain=1),
                        event(50, None, 75, B, 502, "NCCL", domain=1), event(800, 16000, 59, A, 501, "step"),
                        event(900, 4400, 59, A, 501, string=12), event(1400, 1900, 59, A, 501, string=13, domain=1, binaryData=message),
                        event(5000, 5300, 59, B, 502, string=13, domain=1, binaryData=message.hex()),
                        event(300, 800, 60, A, 501, "h2d", endGlobalTid=global_tid(A, 505)), event(2000, None, 34, A, 501, "mark"),
                        event(15000, None, 59, A, 501, "open"), event(1, None, 33, A, 501, "category")],
        "OSRT_API": [{"start": 100, "end": 350, "eventClass": 27, "globalTid": global_tid(A, 501), "nameId": 14},
                     {"start": 400, "end": 401, "eventClass": 31, "globalTid": global_tid(A, 501), "nameId": 14}],
        "TARGET_INFO_GPU": [{"id": gpu, "name": "NVIDIA H100 80GB HBM3", "busLocation": f"0000:{bus:02x}:00.0", "totalMemory": 85520809984,
                             "clockRate": 1980000000, "smCount": 132, "chipName": "GH100", "cuDevice": 1 - gpu, "threadsPerWarp": 32,
                             "computeMajor": 9, "computeMinor": 0} for gpu, bus in ((0, 0x1b), (1, 0x43))],
        "TARGET_INFO_CUDA_DEVICE": [{"gpuId": 0, "cudaId": 0, "pid": A}, {"gpuId": 1, "cudaId": 0, "pid": B}],
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": entries * 2,
        "PROCESSES": [{"globalPid": global_pid(pid), "pid": pid, "name": name} for pid, name in ((1, "init"), (A, "python"), (B, "python"))],
        "TARGET_INFO_SYSTEM_ENV": [{"name": "Password", "value": "hunter2"}, {"name": "Hostname", "value": "node01"}],
        "ANALYSIS_DETAILS": [{"duration": 20000, "startTime": 160525697317, "stopTime": 160525717317}],
        "META_DATA_EXPORT": meta(version), "EXPORT_META_DATA": meta(version),
        "META_DATA_CAPTURE": [{"name": "COMMAND_LINE", "value": "train.py --token hunter2"}],
        "DIAGNOSTIC_EVENT": [{"severity": 1, "text": "Profiling has started."}, {"severity": 3, "text": "CUDA buffers\x1b[31m were\ndropped."}],
        "StringIds": [{"id": number, "value": value} for number, value in STRINGS.items()],
    }


# ---- a large one ----

def write_large(path, kernels, calls, ranges):
    """Kernels of 200 names launched by as many calls, and ranges of which every tenth has a name of its own."""
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = OFF")
    for table in (KERNEL, RUNTIME, "NVTX_EVENTS", "StringIds"):
        create(db, table, columns_of(table, 2026))
    strings = [(i, f"kernel_{i}") for i in range(1, 201)] + [(i, f"void kernel_{i - 1000}<float>(float*)") for i in range(1001, 1201)]
    strings += [(2000 + i, f"cudaFunction{i}_v7000") for i in range(20)] + [(5000 + i, f"op {i}") for i in range(0, ranges, 10)]
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", strings)

    def insert(table, rows):
        names = rows[0]
        db.executemany(f'INSERT INTO {table} ({", ".join(chr(34) + name + chr(34) for name in names)}) VALUES '
                       f'({", ".join("?" * len(names))})', rows[1])

    pid, tid = global_pid(77), global_tid(77, 77)
    insert(KERNEL, (("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "shortName", "demangledName", "gridX", "gridY",
                     "gridZ", "blockX", "blockY", "blockZ", "gridId"),
                    ((5000 + 10000 * i, 9000 + 10000 * i + i % 1000, 0, 7, i + 1, pid, 1 + i % 200, 1001 + i % 200, 1 + i % 64, 1, 1, 256, 1, 1, i)
                     for i in range(kernels))))
    insert(RUNTIME, (("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"),
                     ((10000 * i, 10000 * i + 2000 + i % 500, 0, tid, i + 1, 2000 + i % 20, 0) for i in range(calls))))
    insert("NVTX_EVENTS", (("start", "end", "eventType", "globalTid", "textId", "domainId"),
                           ((10000 * i, 10000 * i + 8000, 59, tid, 5000 + i - i % 10, 0) for i in range(ranges))))
    db.commit()
    db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--ranges", type=int, default=1000)
    options = parser.parse_args()
    write_large(options.file, options.kernels, options.calls, options.ranges)


if __name__ == "__main__":
    main()
