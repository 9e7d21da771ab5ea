#!/usr/bin/env python3
"""Writes one synthetic run in every format of rocprofv3, with code that is independent of the readers.

    python3 -m tests.rocprof.generate_run FOLDER [--dispatches N] [--processes N] [--seed N] [--formats json,csv,rocpd,pftrace] [--times N]

FOLDER gets json/HOST/PID_results.json, csv/HOST/PID_*.csv, rocpd/HOST/PID_results.db, pftrace/HOST/PID_results.pftrace.
The run has several agents, queues and streams, kernels of C++ and of other languages, copies in all directions, HIP and HSA calls,
markers, and counters with several hardware instances. Kernel names are given in all forms of rocprofv3
(truncated, formatted, demangled), written by hand. The same options give the same bytes. write_csv_old() and
write_csv_converted() write the headers of other versions; --times repeats the records of each file, so that a million of them
take seconds. The tables of the database are those of rocpd's schema 3, with a set of views on top.
"""
import argparse
import json
import os
import random
import sqlite3
import struct
from typing import NamedTuple

HOST = "node-a"
COUNTERS = ("SQ_WAVES", "SQ_BUSY_CU_CYCLES", "SQ_INSTS_VALU")
INSTANCES = 4
COPY_NAMES = ("MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
              "MEMORY_COPY_DEVICE_TO_DEVICE")
HIP_CALLS = ("hipLaunchKernel", "hipMemcpyAsync", "hipMalloc", "hipStreamSynchronize")
HSA_CALLS = ("hsa_queue_create", "hsa_signal_wait_scacquire", "hsa_amd_memory_pool_allocate")
MARKERS = ("forward", "backward, all layers", "step")


class Kernel(NamedTuple):
    truncated: str
    formatted: str  # in CSV files and rocpd
    demangled: str  # in Perfetto traces
    vgprs: int
    accum: int
    sgprs: int
    lds: int


KERNELS = (
    Kernel("Cijk_Ailk_Bljk_HB_MT128x128x32.kd", "Cijk_Ailk_Bljk_HB_MT128x128x32", "Cijk_Ailk_Bljk_HB_MT128x128x32.kd",
           128, 64, 96, 32768),
    Kernel("vectorized_elementwise_kernel", "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>"
           ", std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
           "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int"
           ", at::native::FillFunctor<float>, std::array<char*, 1ul>) [clone .kd]", 16, 0, 32, 0),
    Kernel("reduce_kernel", "void demo::reduce_kernel<512, 1, demo::Op<float, demo::{lambda(float, float)#2}> >(demo::Op)",
           "void demo::reduce_kernel<512, 1, demo::Op<float, demo::{lambda(float, float)#2}> >(demo::Op) [clone .kd]",
           48, 0, 48, 4096),
    Kernel("foo", "Foo<int, float>::foo(a[], int (int))", "Foo<int, float>::foo(a[], int (int)) [clone .kd]", 8, 0, 16, 512),
    Kernel("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer", "__amd_rocclr_copyBuffer.kd", 24, 0, 32, 0),
    Kernel("ncclDevKernel_Generic_1", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
           "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>) [clone .kd]", 96, 32, 100, 65536),
    Kernel("noyau_é", "void démo::noyau_é<float>(float*)", "void démo::noyau_é<float>(float*) [clone .kd]", 12, 4, 24, 0),
)


class Dispatch(NamedTuple):
    number: int
    kernel: int  # index in KERNELS
    agent: int
    queue: int
    stream: int
    thread: int
    correlation: int
    start: int
    end: int
    grid: tuple
    block: tuple
    scratch: int
    counters: tuple  # a list of instances for each counter, or ()


class Copy(NamedTuple):
    direction: int
    source: int
    destination: int
    stream: int
    thread: int
    correlation: int
    start: int
    end: int
    size: int


class Call(NamedTuple):
    domain: str  # hip_api, hsa_api, marker_api
    kind: str
    name: str
    thread: int
    correlation: int
    start: int
    end: int


class Process:
    def __init__(self, pid, agents):
        self.pid, self.agents = pid, agents
        self.dispatches, self.copies, self.calls = [], [], []
        self.init = self.fini = 0


AGENTS = ((0, "CPU", "Demo EPYC"), (1, "CPU", "Demo EPYC"), (2, "GPU", "gfx942"), (3, "GPU", "gfx942"))
GPUS = (2, 3)


def make_process(rng, pid, dispatches, start_ns, counted=True, flat=False):
    process = Process(pid, AGENTS)
    now = process.init = start_ns
    correlation = 0
    for i in range(dispatches):
        correlation += 1
        now += rng.randrange(200, 9000)
        thread = pid if i % 5 else pid + 1
        process.calls.append(Call("hip_api", "HIP_RUNTIME_API_EXT", HIP_CALLS[0], thread, correlation, now,
                                  now + rng.randrange(900, 4000)))
        kernel = rng.randrange(len(KERNELS))
        begin = now + rng.randrange(3000, 20000)
        duration = rng.choice((5, 640, 4120, 17000, 91000)) + rng.randrange(3)
        block = (256, 1, 1) if flat or i % 3 else (16, 8, 2)
        grid = (block[0] * rng.randrange(1, 400), 1, 1) if flat or i % 3 else (block[0] * 7, block[1] * 3, block[2] * 2)
        counters = tuple([float(rng.randrange(1 << 20)) + 0.5 * (c == 1) for _ in range(INSTANCES)]
                         for c in range(len(COUNTERS))) if counted and i % 2 == 0 else ()
        process.dispatches.append(Dispatch(i + 1, kernel, GPUS[i % 2], i % 3, i % 4, thread, correlation, begin,
                                           begin + duration, grid, block, 0 if i % 7 else 128, counters))
        if i % 4 == 1:
            correlation += 1
            direction = 1 + (i // 4) % 4
            source = GPUS[0] if direction in (3, 4) else 0
            destination = GPUS[1] if direction in (2, 4) else 1
            process.calls.append(Call("hip_api", "HIP_RUNTIME_API_EXT", HIP_CALLS[1], thread, correlation, now + 10, now + 900))
            process.copies.append(Copy(direction, source, destination, i % 4, thread, correlation, now + 1000,
                                       now + 1000 + rng.randrange(1, 60000), 1 << rng.randrange(4, 26)))
        if i % 6 == 2:
            correlation += 1
            process.calls.append(Call("hsa_api", "HSA_CORE_API", HSA_CALLS[i // 6 % 3], thread, correlation, now + 5,
                                      now + 5 + rng.randrange(50, 90000)))
        if i % 10 == 3:
            correlation += 1
            process.calls.append(Call("marker_api", "MARKER_CORE_RANGE_API", MARKERS[i // 10 % 3], thread, correlation,
                                      now + 1, now + 70000))
    process.fini = now + 500_000
    return process


def make_run(dispatches=200, processes=1, seed=7, counted=True, flat=False):
    """Processes of one host. `flat` grids have one dimension, because Perfetto traces contain only the product."""
    rng = random.Random(seed)
    return [make_process(rng, 900 + 11 * p, dispatches, 8_211_000_000_000 + 1_000_003 * p, counted, flat)
            for p in range(processes)]


# ---- JSON ----


def agent_json(node, kind, name):
    return {"size": 312, "id": {"handle": node}, "type": 1 if kind == "CPU" else 2, "cu_count": 304 if kind == "GPU" else 96,
            "wave_front_size": 64 if kind == "GPU" else 0, "hive_id": 17332996360099338395 if kind == "GPU" else 0,
            "fw_version": {"uCode": 38, "Major": 0}, "workgroup_max_dim": {"x": 1024, "y": 1024, "z": 1024},
            "name": name, "vendor_name": "AMD" if kind == "GPU" else "CPU", "product_name": "Demo " + kind, "model_name": "",
            "node_id": node, "logical_node_id": node, "caches": [{"level": 1, "size": 32}]}


def axes(values):
    return dict(zip("xyz", values))


def process_json(process):
    kinds = ("NONE", "HSA_CORE_API", "MEMORY_COPY", "KERNEL_DISPATCH", "MARKER_CORE_RANGE_API", "HIP_RUNTIME_API_EXT")
    operations = {"HSA_CORE_API": list(HSA_CALLS), "MEMORY_COPY": list(COPY_NAMES), "HIP_RUNTIME_API_EXT": list(HIP_CALLS),
                  "MARKER_CORE_RANGE_API": ["roctxRangePush"], "NONE": [], "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE"]}

    def record(kind, operation, thread, correlation, start, end):
        return {"size": 80, "kind": kinds.index(kind), "operation": operation, "thread_id": thread,
                "correlation_id": {"internal": correlation, "external": 0, "ancestor": 0}, "start_timestamp": start,
                "end_timestamp": end}

    def info(d):
        return {"size": 72, "agent_id": {"handle": d.agent}, "queue_id": {"handle": d.queue}, "kernel_id": d.kernel + 1,
                "dispatch_id": d.number, "private_segment_size": d.scratch, "group_segment_size": KERNELS[d.kernel].lds,
                "workgroup_size": axes(d.block), "grid_size": axes(d.grid)}

    def call(c):
        names = operations[c.kind]
        return record(c.kind, names.index(c.name) if c.name in names else 0, c.thread, c.correlation, c.start, c.end)

    calls = {domain: [call(c) for c in process.calls if c.domain == domain] for domain in ("hip_api", "hsa_api", "marker_api")}
    for c in calls["hip_api"]:
        c["args"], c["stream_id"] = [{"type": "size_t", "name": "n", "value": "4"}], {"handle": 2}
    markers = [{"key": c.correlation, "value": c.name} for c in process.calls if c.domain == "marker_api"]
    return {
        "metadata": {"node": {"hostname": HOST}, "pid": process.pid, "init_time": process.init, "fini_time": process.fini},
        "agents": [agent_json(*a) for a in process.agents],
        "counters": [{"agent_id": {"handle": g}, "id": {"handle": 100 * g + i}, "name": name}
                     for g in GPUS for i, name in enumerate(COUNTERS)],
        "strings": {"callback_records": [], "buffer_records": [{"kind": k, "operations": operations[k]} for k in kinds],
                    "marker_api": markers, "counters": {"dimension_ids": []}},
        "kernel_symbols": [{"kernel_id": 0, "kernel_name": "0", "formatted_kernel_name": "0", "truncated_kernel_name": "0"}] +
                          [{"kernel_id": i + 1, "kernel_name": "_Z%d.kd" % i, "sgpr_count": k.sgprs, "arch_vgpr_count": k.vgprs,
                            "accum_vgpr_count": k.accum, "group_segment_size": k.lds, "formatted_kernel_name": k.formatted,
                            "demangled_kernel_name": k.demangled, "truncated_kernel_name": k.truncated}
                           for i, k in enumerate(KERNELS)],
        "callback_records": {"counter_collection": [
            {"thread_id": d.thread, "dispatch_data": {"size": 9, "start_timestamp": d.start, "end_timestamp": d.end,
                                                      "dispatch_info": info(d)},
             "records": [{"counter_id": {"handle": 100 * d.agent + c}, "value": value}
                         for c, instances in enumerate(d.counters) for value in instances]}
            for d in process.dispatches if d.counters]},
        "buffer_records": {
            "kernel_dispatch": [dict(record("KERNEL_DISPATCH", 0, d.thread, d.correlation, d.start, d.end),
                                     dispatch_info=info(d), stream_id={"handle": d.stream}) for d in process.dispatches],
            **calls,
            "memory_copy": [dict(record("MEMORY_COPY", c.direction, c.thread, c.correlation, c.start, c.end),
                                 src_agent_id={"handle": c.source}, dst_agent_id={"handle": c.destination}, bytes=c.size,
                                 stream_id={"handle": c.stream}) for c in process.copies]},
    }


def write_document(processes, path, indent=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"rocprofiler-sdk-tool": processes}, file, indent=indent, ensure_ascii=False)


def write_json(run, path, indent=None):
    write_document([process_json(p) for p in run], path, indent)


# ---- CSV ----

AGENT_COLUMNS = """Node_Id Logical_Node_Id Agent_Type Cpu_Cores_Count Simd_Count Cpu_Core_Id_Base Simd_Id_Base Max_Waves_Per_Simd
Lds_Size_In_Kb Gds_Size_In_Kb Num_Gws Wave_Front_Size Num_Xcc Cu_Count Array_Count Num_Shader_Banks Simd_Arrays_Per_Engine
Cu_Per_Simd_Array Simd_Per_Cu Max_Slots_Scratch_Cu Gfx_Target_Version Vendor_Id Device_Id Location_Id Domain Drm_Render_Minor
Num_Sdma_Engines Num_Sdma_Xgmi_Engines Num_Sdma_Queues_Per_Engine Num_Cp_Queues Max_Engine_Clk_Ccompute Max_Engine_Clk_Fcompute
Sdma_Fw_Version Fw_Version Capability Cu_Per_Engine Max_Waves_Per_Cu Family_Id Workgroup_Max_Size Grid_Max_Size Local_Mem_Size
Hive_Id Gpu_Id Workgroup_Max_Dim_X Workgroup_Max_Dim_Y Workgroup_Max_Dim_Z Grid_Max_Dim_X Grid_Max_Dim_Y Grid_Max_Dim_Z Name
Vendor_Name Product_Name Model_Name""".split()
KERNEL_COLUMNS = """Kind Agent_Id Queue_Id Stream_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp
End_Timestamp LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Workgroup_Size_X Workgroup_Size_Y
Workgroup_Size_Z Grid_Size_X Grid_Size_Y Grid_Size_Z""".split()
CALL_COLUMNS = "Domain Function Process_Id Thread_Id Correlation_Id Start_Timestamp End_Timestamp".split()
COPY_COLUMNS = """Kind Direction Stream_Id Source_Agent_Id Destination_Agent_Id Correlation_Id Start_Timestamp
End_Timestamp""".split()
COUNTER_COLUMNS = """Correlation_Id Dispatch_Id Agent_Id Queue_Id Process_Id Thread_Id Grid_Size Kernel_Id Kernel_Name
Workgroup_Size LDS_Block_Size Scratch_Size VGPR_Count Accum_VGPR_Count SGPR_Count Counter_Name Counter_Value Start_Timestamp
End_Timestamp""".split()


def csv_cell(value):
    """Strings in quotes, without escapes, as rocprofv3 writes them."""
    return f'"{value}"' if isinstance(value, str) else str(value)


class Bare(str):
    """A number with the given digits."""


def write_rows(path, columns, rows, quote=csv_cell):
    cell = lambda value: str(value) if isinstance(value, Bare) else quote(value)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(",".join(quote(c) for c in columns) + "\n")
        file.writelines(",".join(map(cell, row)) + "\n" for row in rows)


def counter_text(value):
    return Bare(f"{value:.6f}" if value >= 1 else f"{value:.8e}")


def product(values):
    return values[0] * values[1] * values[2]


def rounded_lds(size):
    return (size + 511) // 512 * 512


def kernel_row(d, agent):
    k = KERNELS[d.kernel]
    return ["KERNEL_DISPATCH", agent(d.agent), d.queue, d.stream, d.thread, d.number, d.kernel + 1, k.formatted, d.correlation,
            d.start, d.end, rounded_lds(k.lds), d.scratch, k.vgprs, k.accum, k.sgprs, *d.block, *d.grid]


def counter_rows(process, agent):
    for d in process.dispatches:
        k = KERNELS[d.kernel]
        for name, instances in zip(COUNTERS, d.counters):
            yield [d.correlation, d.number, agent(d.agent), d.queue, process.pid, d.thread, product(d.grid), d.kernel + 1,
                   k.formatted, product(d.block), rounded_lds(k.lds), d.scratch, k.vgprs, k.accum, k.sgprs, name,
                   counter_text(sum(instances)), d.start, d.end]


def agent_row(node, kind, name):
    known = {"Node_Id": node, "Logical_Node_Id": node, "Agent_Type": kind, "Cu_Count": 304 if kind == "GPU" else 96,
             "Wave_Front_Size": 64 if kind == "GPU" else 0, "Hive_Id": 17332996360099338395 if kind == "GPU" else 0,
             "Fw_Version": 38, "Workgroup_Max_Dim_X": 1024, "Workgroup_Max_Dim_Y": 1024, "Workgroup_Max_Dim_Z": 1024,
             "Name": name, "Vendor_Name": "AMD" if kind == "GPU" else "CPU", "Product_Name": "Demo " + kind, "Model_Name": ""}
    return [known.get(column, Bare("")) for column in AGENT_COLUMNS]


def named_agent(node):
    return f"Agent {node}"


def write_csv(process, prefix, only=None):
    """As rocprofv3 1.0 writes them. `only` limits the kinds."""
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    files = {
        "agent_info": (AGENT_COLUMNS, [agent_row(*a) for a in process.agents]),
        "kernel_trace": (KERNEL_COLUMNS, (kernel_row(d, named_agent) for d in process.dispatches)),
        "memory_copy_trace": (COPY_COLUMNS, [["MEMORY_COPY", COPY_NAMES[c.direction], c.stream, named_agent(c.source),
                                              named_agent(c.destination), c.correlation, c.start, c.end] for c in process.copies]),
        "counter_collection": (COUNTER_COLUMNS, list(counter_rows(process, named_agent))),
    }
    for domain in ("hip_api", "hsa_api", "marker_api"):
        files[domain + "_trace"] = (CALL_COLUMNS, [[c.kind, c.name, process.pid, c.thread, c.correlation, c.start, c.end]
                                                   for c in process.calls if c.domain == domain])
    for kind, (columns, rows) in files.items():
        if (only is None or kind in only) and (kind in ("agent_info", "kernel_trace") or rows):
            write_rows(f"{prefix}_{kind}.csv", columns, rows)


def write_csv_old(process, prefix):
    """As rocprofv3 0.5 (ROCm 6.3) writes them: no streams, bare agents, segment sizes."""
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    columns = """Kind Agent_Id Queue_Id Thread_Id Dispatch_Id Kernel_Id Kernel_Name Correlation_Id Start_Timestamp End_Timestamp
    Private_Segment_Size Group_Segment_Size Workgroup_Size_X Workgroup_Size_Y Workgroup_Size_Z Grid_Size_X Grid_Size_Y
    Grid_Size_Z""".split()
    write_rows(prefix + "_kernel_trace.csv", columns,
               ([*row[:3], *row[4:11], row[12], row[11], *row[16:]] for row in
                (kernel_row(d, int) for d in process.dispatches)))
    write_rows(prefix + "_memory_copy_trace.csv", [c for c in COPY_COLUMNS if c != "Stream_Id"],
               (["MEMORY_COPY", COPY_NAMES[c.direction], c.source, c.destination, c.correlation, c.start, c.end]
                for c in process.copies))
    kept = [i for i, c in enumerate(COUNTER_COLUMNS) if c not in ("Accum_VGPR_Count", "Start_Timestamp", "End_Timestamp")]
    write_rows(prefix + "_counter_collection.csv", [COUNTER_COLUMNS[i] for i in kept],
               ([row[i] for i in kept] for row in counter_rows(process, int)))


def doubled(value):
    """As Python's csv module writes it, with quoted strings."""
    return '"' + value.replace('"', '""') + '"' if isinstance(value, str) else str(value)


def write_csv_converted(run, prefix):
    """As `rocpd convert -f csv` writes them: a guid first, title case, a duration, all processes in one file by start."""
    os.makedirs(os.path.dirname(prefix), exist_ok=True)
    columns = ["Guid"] + [{"LDS_Block_Size": "Lds_Block_Size", "VGPR_Count": "Vgpr_Count", "SGPR_Count": "Sgpr_Count",
                           "Accum_VGPR_Count": "Accum_Vgpr_Count"}.get(c, c) for c in KERNEL_COLUMNS]
    at = columns.index("End_Timestamp") + 1
    rows = []
    for process in run:
        for d in sorted(process.dispatches, key=lambda d: (d.start, -d.end)):
            row = [guid_of(process)] + kernel_row(d, named_agent)
            rows.append(row[:at] + [d.end - d.start] + row[at:])
    write_rows(prefix + "_kernel_trace.csv", columns[:at] + ["Duration"] + columns[at:], rows, doubled)


# ---- rocpd ----

ROCPD = {  # columns after id and guid
    "string": "string",
    "info_node": "hash machine_id system_name hostname release version hardware_name domain_name",
    "info_process": "nid ppid pid init fini start end command environment extdata",
    "info_thread": "nid ppid pid tid name start end extdata",
    "info_agent": "nid pid type absolute_index logical_index type_index uuid name model_name vendor_name product_name user_name "
                  "extdata",
    "info_queue": "nid pid name extdata",
    "info_stream": "nid pid name extdata",
    "info_pmc": "nid pid agent_id target_arch event_code instance_id name symbol description long_description component units "
                "value_type block expression is_constant is_derived extdata",
    "info_code_object": "nid pid agent_id uri load_base load_size load_delta storage_type extdata",
    "info_kernel_symbol": "nid pid code_object_id kernel_name display_name kernel_object kernarg_segment_size "
                          "kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count "
                          "accum_vgpr_count extdata",
    "track": "nid pid tid name_id extdata",
    "event": "category_id stack_id parent_stack_id correlation_id call_stack line_info extdata",
    "arg": "event_id position type name value extdata",
    "pmc_event": "event_id pmc_id value extdata",
    "region": "nid pid tid start end name_id event_id extdata",
    "sample": "track_id timestamp event_id extdata",
    "kernel_dispatch": "nid pid tid agent_id kernel_id dispatch_id queue_id stream_id start end private_segment_size "
                       "group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y "
                       "grid_size_z region_name_id event_id extdata",
    "memory_copy": "nid pid tid start end name_id dst_agent_id dst_address src_agent_id src_address size queue_id stream_id "
                   "region_name_id event_id extdata",
    "memory_allocate": "nid pid tid agent_id type level start end address size queue_id stream_id event_id extdata",
}
TEXT_COLUMNS = set("string machine_id system_name hostname release version hardware_name domain_name command name model_name "
                   "vendor_name product_name user_name type level kernel_name display_name symbol extdata environment".split())
NEWER = {"kernel_dispatch": " graph_exec_id graph_node_id", "memory_copy": " graph_exec_id graph_node_id",
         "pmc_event": " sample_id xcc shader_engine instance"}


def guid_of(process):
    return f"0190a4b2-0000-7000-8000-{process.pid:012d}"


class Rocpd:
    def __init__(self, path, newer=False):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.remove(path)
        self.db, self.newer = sqlite3.connect(path), newer
        self.db.execute("PRAGMA synchronous = OFF")  # a test needs no file that survives a power failure

    def add_tables(self, process, with_views=True):
        suffix = "_" + guid_of(process).replace("-", "_")
        for table, columns in ROCPD.items():
            columns = (columns + (NEWER.get(table, "") if self.newer else "")).split()
            types = "".join(f', "{c}" {"TEXT" if c in TEXT_COLUMNS else "REAL" if c == "value" else "INTEGER"}' for c in columns)
            self.db.execute(f'CREATE TABLE "rocpd_{table}{suffix}" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, '
                            f'"guid" TEXT DEFAULT "{guid_of(process)}" NOT NULL{types})')
            if with_views:
                self.db.execute(f'CREATE VIEW "rocpd_{table}" AS SELECT * FROM "rocpd_{table}{suffix}"')
        self.db.execute(f'CREATE TABLE "rocpd_metadata{suffix}" (id INTEGER PRIMARY KEY, tag TEXT, value TEXT)')
        rows = [("schema_version", "3.0.5" if self.newer else "3"), ("uuid", suffix), ("guid", guid_of(process))]
        self.db.executemany(f'INSERT INTO "rocpd_metadata{suffix}" (tag, value) VALUES (?, ?)', rows)
        return suffix

    def insert(self, table, suffix, rows):
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        names = list(first)
        sql = (f'INSERT INTO "rocpd_{table}{suffix}" ({", ".join(chr(34) + n + chr(34) for n in names)}) '
               f'VALUES ({", ".join("?" * len(names))})')
        self.db.execute(sql, list(first.values()))
        self.db.executemany(sql, (list(row.values()) for row in rows))

    def add(self, process, with_views=True):
        suffix = self.add_tables(process, with_views)
        nid, pid, put = 77, process.pid, lambda table, rows: self.insert(table, suffix, rows)
        texts = {}

        def text(value):
            return texts.setdefault(value, len(texts) + 1)

        put("info_node", [{"id": nid, "hash": 5, "machine_id": "m", "hostname": HOST}])
        put("info_process", [{"id": pid, "nid": nid, "ppid": 1, "pid": pid, "init": process.init, "fini": process.fini,
                              "command": "demo --steps 3"}])
        threads = sorted({d.thread for d in process.dispatches} | {c.thread for c in process.calls})
        put("info_thread", [{"id": t, "nid": nid, "ppid": 1, "pid": pid, "tid": t} for t in threads])
        put("info_agent", [{"id": node, "nid": nid, "pid": pid, "type": kind, "absolute_index": node, "logical_index": node,
                            "type_index": node % 2, "name": name, "model_name": "", "vendor_name": "AMD",
                            "extdata": json.dumps(agent_json(node, kind, name))} for node, kind, name in process.agents])
        put("info_queue", [{"id": q, "nid": nid, "pid": pid, "name": f"Queue {q}"} for q in range(3)])
        put("info_stream", [{"id": s, "nid": nid, "pid": pid, "name": f"Stream {s}"} for s in range(4)])
        put("info_pmc", [{"id": 100 * g + i + 1, "nid": nid, "pid": pid, "agent_id": g, "target_arch": "GPU", "name": name,
                          "symbol": name} for g in GPUS for i, name in enumerate(COUNTERS)])
        put("info_kernel_symbol", [{"id": i + 1, "nid": nid, "pid": pid, "code_object_id": 1, "kernel_name": "_Z%d.kd" % i,
                                    "display_name": k.formatted, "group_segment_size": k.lds, "private_segment_size": 0,
                                    "sgpr_count": k.sgprs, "arch_vgpr_count": k.vgprs, "accum_vgpr_count": k.accum,
                                    # one symbol without its JSON: the display name is used
                                    "extdata": "{}" if i == 2 else json.dumps({"truncated_kernel_name": k.truncated})}
                                   for i, k in enumerate(KERNELS)])
        events, regions, pmc = [], [], []

        def event(category, stack):
            events.append({"id": len(events) + 1, "category_id": text(category), "stack_id": stack, "correlation_id": 0})
            return len(events)

        def dispatch(d):
            at = event("KERNEL_DISPATCH", d.correlation)
            pmc.extend({"event_id": at, "pmc_id": 100 * d.agent + c + 1, "value": v}
                       for c, instances in enumerate(d.counters) for v in instances)
            return {"nid": nid, "pid": pid, "tid": d.thread, "agent_id": d.agent, "kernel_id": d.kernel + 1,
                    "dispatch_id": d.number, "queue_id": d.queue, "stream_id": d.stream, "start": d.start, "end": d.end,
                    "private_segment_size": d.scratch, "group_segment_size": KERNELS[d.kernel].lds,
                    "workgroup_size_x": d.block[0], "workgroup_size_y": d.block[1], "workgroup_size_z": d.block[2],
                    "grid_size_x": d.grid[0], "grid_size_y": d.grid[1], "grid_size_z": d.grid[2], "event_id": at}

        put("kernel_dispatch", (dispatch(d) for d in process.dispatches))
        put("memory_copy", [{"nid": nid, "pid": pid, "tid": c.thread, "start": c.start, "end": c.end,
                             "name_id": text(COPY_NAMES[c.direction]), "dst_agent_id": c.destination, "src_agent_id": c.source,
                             "size": c.size, "stream_id": c.stream, "event_id": event("MEMORY_COPY", c.correlation)}
                            for c in process.copies])
        for c in process.calls:
            regions.append({"nid": nid, "pid": pid, "tid": c.thread, "start": c.start, "end": c.end, "name_id": text(c.name),
                            "event_id": event(c.kind, c.correlation)})
        put("region", regions)
        put("pmc_event", pmc)
        put("event", events)
        put("string", [{"id": number, "string": value} for value, number in texts.items()])

    def close(self):
        self.db.commit()
        self.db.close()


def write_rocpd(processes, path, newer=False):
    """One database per process, or several processes merged into one (then without views)."""
    rocpd = Rocpd(path, newer)
    for process in processes:
        rocpd.add(process, with_views=len(processes) == 1)
    rocpd.close()


# ---- Perfetto ----


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A varint, a double, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


class Pftrace:
    """One sequence with interned names. Events of a thread go on its track, those of a GPU on tracks of streams."""
    SEQUENCE, PROCESS_TRACK = 3, 1000

    def __init__(self, process):
        self.process, self.packets, self.first = process, [], True
        self.names, self.fresh = {1: {}, 2: {}, 3: {}, 29: {}}, []
        self.open = []  # (time, order, packet body)
        pid = process.pid
        self.packet(field(60, field(1, self.PROCESS_TRACK) + field(3, field(1, pid) + field(6, "demo"))))
        self.packet(field(60, field(1, 1) + field(5, self.PROCESS_TRACK) + field(4, field(1, pid) + field(2, pid))))
        self.packet(field(60, field(1, 2) + field(5, self.PROCESS_TRACK) + field(2, f"THREAD 1 ({pid + 1})")))
        for stream in range(4):
            self.packet(field(60, field(1, 10 + stream) + field(5, self.PROCESS_TRACK) + field(2, f"STREAM [{stream}]")))

    def packet(self, body, timestamp=None):
        flags = 1 if self.first else 2
        self.first = False
        head = field(10, self.SEQUENCE) + field(13, flags) + (field(8, timestamp) if timestamp is not None else b"")
        self.packets.append(field(1, head + body))

    def iid(self, table, text):
        known = self.names[table]
        if text not in known:
            known[text] = len(known) + 1
            self.fresh.append(field(table, field(1, known[text]) + field(2, text)))
        return known[text]

    def annotation(self, name, value):
        kind = 6 if isinstance(value, str) else 5 if isinstance(value, float) else 3
        return field(4, field(1, self.iid(3, name)) + field(kind, value))

    def slice(self, track, category, name, start, end, annotations):
        body = field(9, 1) + field(11, track) + field(3, self.iid(1, category)) + field(10, self.iid(2, name))
        body += b"".join(self.annotation(key, value) for key, value in
                         {"begin_ns": start, "end_ns": end, "delta_ns": end - start, **annotations}.items())
        interned, self.fresh = b"".join(self.fresh), []
        self.packet((field(12, interned) if interned else b"") + field(11, body), start)
        self.packet(field(11, field(9, 2) + field(11, track)), end)

    def add_all(self):
        p = self.process
        for c in p.calls:
            self.slice(1 if c.thread == p.pid else 2, c.domain, c.name, c.start, c.end,
                       {"tid": c.thread, "kind": 5, "operation": 1, "corr_id": c.correlation, "ancestor_id": 0})
        for c in p.copies:
            self.slice(10 + c.stream, "memory_copy", COPY_NAMES[c.direction], c.start, c.end,
                       {"kind": 2, "operation": c.direction, "src_agent": f"Agent-{c.source}",
                        "dst_agent": f"Agent-{c.destination}", "copy_bytes": c.size, "corr_id": c.correlation, "tid": c.thread,
                        "stream_ID": c.stream})
        for d in p.dispatches:
            k = KERNELS[d.kernel]
            self.slice(10 + d.stream, "kernel_dispatch", k.demangled, d.start, d.end,
                       {"kind": 3, "agent": f"Agent-{d.agent}", "agent_type": "GPU", "corr_id": d.correlation,
                        "queue": d.queue, "tid": d.thread, "kernel_id": d.kernel + 1, "Scratch_Size": d.scratch,
                        "LDS_Block_Size": k.lds, "VGPR_Count": k.vgprs, "Accum_VGPR_Count": k.accum, "SGPR_Count": k.sgprs,
                        "workgroup_size": product(d.block), "grid_size": product(d.grid), "stream_ID": d.stream,
                        **{name: sum(values) for name, values in zip(COUNTERS, d.counters)}})
        return b"".join(self.packets)


def write_pftrace(process, path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(Pftrace(process).add_all())


# ---- all of them ----


def write_json_times(process, path, times):
    """Repeats every array of records `times` times."""
    document = process_json(process)
    parts = {name: json.dumps(records, ensure_ascii=False)[1:-1] for name, records in document.pop("buffer_records").items()}
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"rocprofiler-sdk-tool": [' + json.dumps(document, ensure_ascii=False)[:-1] + ', "buffer_records": {')
        for number, (name, text) in enumerate(parts.items()):
            file.write((", " if number else "") + f'"{name}": [')
            for i in range(times if text else 0):
                file.write((", " if i else "") + text)
            file.write("]")
        file.write("}}]}")


def repeat_rows(path, times):
    with open(path, encoding="utf-8") as file:
        header, rows = file.readline(), file.read()
    with open(path, "a", encoding="utf-8") as file:
        for _ in range(times - 1):
            file.write(rows)


def repeat_tables(path, process, times):
    db, suffix = sqlite3.connect(path), "_" + guid_of(process).replace("-", "_")
    for table in ("kernel_dispatch", "memory_copy", "region"):
        columns = ", ".join(f'"{c}"' for c in ["guid", *ROCPD[table].split()])
        name = f'"rocpd_{table}{suffix}"'
        db.execute(f"CREATE TEMP TABLE once AS SELECT {columns} FROM {name}")
        for _ in range(times - 1):
            db.execute(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM once")
        db.execute("DROP TABLE once")
    db.commit()
    db.close()


def write_times(process, folder, times, formats=("json", "csv", "rocpd", "pftrace")):
    """Writes the files of one process, with its records repeated `times` times; returns the paths by format."""
    paths = {kind: os.path.join(folder, kind, HOST, f"{process.pid}_{name}") for kind, name in
             (("json", "results.json"), ("csv", "kernel_trace.csv"), ("rocpd", "results.db"), ("pftrace", "results.pftrace"))
             if kind in formats}
    for kind, path in paths.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
    if "json" in paths:
        write_json_times(process, paths["json"], times)
    if "csv" in paths:
        write_csv(process, paths["csv"][:-len("_kernel_trace.csv")], only=("kernel_trace",))
        repeat_rows(paths["csv"], times)
    if "rocpd" in paths:
        write_rocpd([process], paths["rocpd"])
        repeat_tables(paths["rocpd"], process, times)
    if "pftrace" in paths:
        data = Pftrace(process).add_all()
        with open(paths["pftrace"], "wb") as file:
            for _ in range(times):
                file.write(data)
    return paths


def write_all(run, folder, formats=("json", "csv", "rocpd", "pftrace")):
    for process in run:
        prefix = lambda kind: os.path.join(folder, kind, HOST, str(process.pid))
        if "json" in formats:
            write_json([process], prefix("json") + "_results.json")
        if "csv" in formats:
            write_csv(process, prefix("csv"))
        if "rocpd" in formats:
            write_rocpd([process], prefix("rocpd") + "_results.db")
        if "pftrace" in formats:
            write_pftrace(process, prefix("pftrace") + "_results.pftrace")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--dispatches", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--no_counters", action="store_true")
    parser.add_argument("--formats", default="json,csv,rocpd,pftrace")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    run = make_run(options.dispatches, options.processes, options.seed, not options.no_counters)
    if options.times > 1:
        write_times(run[0], options.folder, options.times, options.formats.split(","))
    else:
        write_all(run, options.folder, options.formats.split(","))


if __name__ == "__main__":
    main()
