#!/usr/bin/env python3
"""Writes the seeds of the JSON, record, rocprof and Kineto fuzz targets: small, one feature each.

    python3 -m tests.fuzz.make_corpus        writes tests/fuzz/corpus/{json,records,rocprof,kineto}/

The first byte of each seed chooses options and the block size; see the targets.
"""
import gzip
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def write(target, name, data, option=b"\x00"):
    folder = os.path.join(HERE, "corpus", target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(option + (data if isinstance(data, bytes) else data.encode()))


def json_seeds():
    texts = {
        "scalars": '[null, true, false, 0, -1.5e+3, "a\\u0041\\ud83d\\ude00\\n", NaN, -Infinity]',
        "nested": '{"a": {"b": [[], {}, [[1]]]}, "a": 2}',
        "spaces": ' \n\t{ "k" :\r [ 1 , 2 ] } ',
        "bom": b"\xef\xbb\xbf[1]",
        "bytes": b'["\x01\xff\xc0\x80", "\\ud800"]',
        "deep": "[" * 200 + "]" * 200,
        "numbers": "[12345678901234567890, 0.1, 1e308, 1E-400, 9007199254740993]",
    }
    for name, text in texts.items():
        write("json", name, text, b"\x07")


def event(i, **more):
    return {"ph": "X", "name": f"op{i % 3}", "ts": 1000.5 + i, "n": 7, "u": [1, {"k": "]"}],
            "args": {"x": {"y": -i}, "dims": [[1, 2], []], "label": 'l"\\', **more}}


def record_seeds():
    for style, separators in (("spaced", None), ("dense", (",", ":"))):
        write("records", "alike_" + style, json.dumps([event(i) for i in range(6)], separators=separators), b"\x20")
    mixed = [event(0), 17, None, {}, {"ph": 1, "name": 2, "ts": "x", "n": "12", "args": 5}, event(1, s="t")]
    write("records", "mixed", json.dumps(mixed, indent=1), b"\x10")
    write("records", "same_value", json.dumps([event(1) for _ in range(40)]), b"\x7f")
    many = [event(i, label="x" * 700 if i == 9 else '},{"ph":"X"' * (i % 3)) for i in range(24)]
    for name, text in (("threads", json.dumps(many, separators=(",", ":"))), ("threads_cut", json.dumps(many, separators=(",", ":"))[:-1500])):
        write("records", name, text, b"\xc0")
    write("records", "escapes", '[{"name": "a\\"b", "n": 1}, {"name": "a\\"b", "n": 1}, {"n\\u0061me": "\\u00e9"}]', b"\x05")


def rocprof(dispatches=3, **more):
    symbols = [{"kernel_id": i, "kernel_name": f"k{i}.kd", "formatted_kernel_name": f"k{i}", "truncated_kernel_name": ""}
               for i in range(2)]
    records = [{"size": 184, "thread_id": 9, "start_timestamp": 100 * i, "end_timestamp": 100 * i + 50,
                "dispatch_info": {"agent_id": {"handle": 5}, "kernel_id": i % 3, "dispatch_id": i,
                                  "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 256, "y": 1, "z": 1}},
                "stream_id": {"handle": 0}} for i in range(dispatches)]
    process = {"metadata": {"pid": 1, "init_time": 0, "fini_time": 1000, "node": {"hostname": "h"}},
               "kernel_symbols": symbols,
               "buffer_records": {"kernel_dispatch": records, "hip_api": [{}], "hsa_api": [],
                                  "memory_copy": [{"start_timestamp": 10, "end_timestamp": 20}]}}
    process.update(more)
    return {"rocprofiler-sdk-tool": [process]}


def rocprof_seeds():
    text = json.dumps(rocprof(), separators=(",", ":"))
    write("rocprof", "small", text)
    write("rocprof", "blocks", text, b"\x06")
    write("rocprof", "strict", text, b"\x01")
    write("rocprof", "pretty", json.dumps(rocprof(), indent=2))
    write("rocprof", "gzip", gzip.compress(text.encode(), mtime=0))
    write("rocprof", "cut", text[:len(text) * 2 // 3])
    write("rocprof", "odd", json.dumps(rocprof(kernel_symbols=None, metadata={"pid": -1})))
    write("rocprof", "other", '{"x": 1}')
    write("rocprof", "samples", json.dumps(with_samples(), separators=(",", ":")), b"\x80")


def with_samples():
    """Samples of the program counter, some of whose instructions and dispatches are unknown."""
    document = rocprof(strings={"pc_sample_instructions": ["s_nop 0", "s_endpgm"], "pc_sample_comments": ["a.cpp:1", ""]})
    sample = lambda i, **more: {"record": {"dispatch_id": i % 5, **more}, "inst_index": i % 4 - 1}
    stalled = lambda i: {"wave_issued": i % 2, "snapshot": {"stall_reason": f"ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_R{i % 3}"}}
    document["rocprofiler-sdk-tool"][0]["buffer_records"].update(
        pc_sample_host_trap=[sample(i) for i in range(6)], pc_sample_stochastic=[sample(i, **stalled(i)) for i in range(12)])
    return document


def kineto_seeds():
    events = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    for i in range(3):
        t = 1000 + 100 * i
        events += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": t, "dur": 90,
             "args": {"External id": i, "Input Dims": [[4, 4]], "Input type": ["float"], "Concrete Inputs": [""]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": t + 10, "dur": 5,
             "args": {"correlation": i}},
            {"ph": "s", "cat": "ac2g", "id": i, "pid": 1, "tid": 1, "ts": t + 10, "name": "ac2g"},
            {"ph": "f", "cat": "ac2g", "id": i, "pid": 0, "tid": 7, "ts": t + 50, "name": "ac2g"},
            {"ph": "X", "cat": "kernel", "name": "ncclKernel" if i == 2 else "gemm", "pid": 0, "tid": 7, "ts": t + 50,
             "dur": 20.25, "args": {"correlation": i, "stream": 7}},
            {"ph": "X", "cat": "python_function", "name": "torch/utils/checkpoint.py(1): recompute_fn", "pid": 1,
             "tid": 1, "ts": t - 1, "dur": 95},
        ]
    text = json.dumps({"schemaVersion": 1, "traceEvents": events, "traceName": "t"})
    write("kineto", "small", text)
    write("kineto", "python", text, b"\x02")
    write("kineto", "everything", text, b"\x0e")
    write("kineto", "array", json.dumps(events))
    write("kineto", "gzip", gzip.compress(text.encode(), mtime=0), b"\x03")
    head = {"pytorch_version": "2.9", "cuda_runtime_version": 12080, "deviceProperties": [{"id": 0, "name": "GPU"}, {"name": 5}],
            "distributedInfo": {"backend": "nccl", "world_size": 8, "nccl_version": None}, "with_stack": 1}
    write("kineto", "head", json.dumps({**head, "traceEvents": events * 3}), b"\x7a")
    write("kineto", "graph", text.replace("cudaLaunchKernel", "cudaGraphLaunch"))


if __name__ == "__main__":
    json_seeds()
    record_seeds()
    rocprof_seeds()
    kineto_seeds()
