#!/usr/bin/env python3
"""Generates rocprofv3 JSON traces: a small training run of an imaginary model, as long and as unusual as a test needs.

    python3 -m tests.rocprof.generate_trace OUT.json[.gz] [--dispatches N] [--agents N] [--layers N] [--symbols N] [--copies N]
                          [--api_calls N] [--processes N] [--seed N] [--odd_names]

The same options give the same bytes. Every step runs a transformer's forward pass, backward pass and optimizer on each
GPU, with collectives on a separate stream. Records are filled into text templates, so a million dispatches take
seconds. write_trace() also returns the trace as a reference_sheets.Run, so that a test of a huge trace need not
parse it. Kernel names and numbers are invented.
"""
import argparse
import gzip
import json
import random
from typing import NamedTuple

from tests.rocprof.reference_sheets import Dispatch, Run

START_NS = 4_211_008_400_120
FIRST_GPU, BACKWARD_THREAD = 51_202, 2
COMPUTE, COMM = 0, 1  # the two streams of a GPU


class Kernel(NamedTuple):
    function: str  # the truncated name of rocprofv3
    template: str  # text around it in the demangled name
    mean_ns: int
    block: tuple
    grid: tuple
    stream: int = COMPUTE


def gemm(shape, tile, mean_ns, grid):
    name = (f"Cijk_{shape}_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile}_MI16x16x1_SN_LDSB1_AFC1_CLR1_GRVWA8_GRVWB8_GSU0_GLS0"
            f"_ISA942_K1_LPA16_LPB16_MIWT4_4_NTA0_NTB0_PGR2_PLR1_SIA3_SS1_SVW4_TLDS1_VWA4_VWB4_WS64_WG32_8_1.kd")
    return Kernel(name, "", mean_ns, (256, 1, 1), grid)


def native(function, arguments, mean_ns, block, grid, stream=COMPUTE):
    return Kernel(function, arguments, mean_ns, block, grid, stream)


KERNELS = {
    "qkv": gemm("Alik_Bljk", "256x128x64", 412_000, (49152, 8, 1)),
    "attn_out": gemm("Alik_Bljk", "128x128x64", 148_000, (16384, 8, 1)),
    "mlp_up": gemm("Alik_Bljk", "256x256x64", 539_000, (65536, 8, 1)),
    "mlp_down": gemm("Alik_Bljk", "256x192x64", 517_000, (16384, 16, 1)),
    "dgrad": gemm("Ailk_Bljk", "256x128x32", 433_000, (49152, 8, 1)),
    "wgrad": gemm("Ailk_Bjlk", "128x256x32", 468_000, (32768, 12, 1)),
    "attn_fwd": native("flash_fwd_kernel", "void demo::{}<demo::tile<128, 64, 128>, true>(demo::attention_args)",
                       391_000, (256, 1, 1), (8192, 16, 4)),
    "attn_bwd": native("flash_bwd_dkdv_kernel", "void demo::{}<demo::tile<64, 128, 128>, true>(demo::attention_args)",
                       902_000, (256, 1, 1), (8192, 16, 4)),
    "norm_fwd": native("rms_norm_forward", "void demo::{}<bfloat16, float, 4096>(bfloat16 const*, float const*, "
                       "bfloat16*, float)", 27_400, (512, 1, 1), (2097152, 1, 1)),
    "norm_bwd": native("rms_norm_backward", "void demo::{}<bfloat16, float, 4096>(bfloat16 const*, float*, long)",
                       61_300, (512, 1, 1), (2097152, 1, 1)),
    "add": native("vectorized_elementwise_kernel", "void demo::{}<4, demo::add_functor<bfloat16>, "
                  "demo::array<char*, 3>>(int, demo::add_functor<bfloat16>, demo::array<char*, 3>)",
                  18_900, (256, 1, 1), (1048576, 1, 1)),
    "gelu": native("elementwise_kernel_unrolled", "void demo::{}<8, demo::gelu_functor>(int, demo::gelu_functor, "
                   "demo::offsets<2>)", 33_700, (256, 1, 1), (2097152, 1, 1)),
    "dropout": native("fused_dropout_kernel", "void demo::{}<bfloat16, 4>(bfloat16*, unsigned char*, float, "
                      "demo::philox)", 22_100, (256, 1, 1), (524288, 1, 1)),
    "softmax": native("softmax_warp_forward", "void demo::{}<float, 10, true>(float*, bfloat16 const*, int)",
                      44_800, (32, 8, 1), (4096, 8, 1)),
    "reduce": native("reduce_kernel", "void demo::{}<512, 1, demo::sum_op<float>>(demo::reduce_config)",
                     9_300, (32, 16, 1), (4096, 16, 1)),
    "fill": native("vectorized_fill_kernel", "void demo::{}<4, float>(float*, long)",
                   3_100, (256, 1, 1), (65536, 1, 1)),
    "copy": native("__amd_rocclr_copyBuffer.kd", "", 5_600, (512, 1, 1), (131072, 1, 1)),
    "embedding": native("embedding_gather", "void demo::{}<bfloat16, long>(bfloat16*, bfloat16 const*, long const*)",
                        38_200, (64, 4, 1), (65536, 64, 1)),
    "adam": native("multi_tensor_apply_kernel", "void demo::{}<demo::tensor_list<4>, demo::adam_step<float>>(long, "
                   "demo::tensor_list<4>, demo::adam_step<float>, float, float)", 118_000, (512, 1, 1), (163840, 1, 1)),
    "all_reduce": native("ncclDevKernel_Generic_2", "{}(ncclDevKernelArgsStorage<4096ul>)",
                         1_240_000, (512, 1, 1), (28672, 1, 1), COMM),
    "reduce_scatter": native("ncclDevKernel_Generic_1", "{}(ncclDevKernelArgsStorage<4096ul>)",
                             690_000, (512, 1, 1), (28672, 1, 1), COMM),
}

FORWARD = ["norm_fwd", "qkv", "attn_fwd", "attn_out", "dropout", "add", "norm_fwd", "mlp_up", "gelu", "mlp_down", "add"]
BACKWARD = ["dgrad", "wgrad", "gelu", "dgrad", "wgrad", "norm_bwd", "reduce", "add", "dgrad", "wgrad", "attn_bwd",
            "dgrad", "wgrad", "norm_bwd", "reduce", "add", "reduce_scatter"]

# Names that break careless writers and readers.
ODD_NAMES = [
    'quote"inside',
    '"',
    '""',
    "comma, inside",
    ",",
    "line\nbreak",
    "carriage\rreturn",
    "both\r\nends",
    "tab\tinside",
    "<script>alert('x')</script>",
    "<b>&amp;&lt;</b>",
    "emoji 🚀 and 漢字 and ñ and \u2028",
    "controls " + "".join(map(chr, range(1, 32))) + "\x7f\x80\x9f",
    "back\\slash \\n \\u0041",
    "case_SENSITIVE",
    "case_sensitive",
    "Case_Sensitive",
    " leading space",
    "trailing space ",
    "   ",
    "=1+1",
    "+SUM(A1:A2)",
    "@mention",
    "-1",
    "123",
    "1e5",
    "nan",
    "None",
    "TRUE",
    "'apostrophe",
    "https://example.org/?a=1&b=2",
    "internal:Sheet2!A1",
    "_x0041_ and _x005F_",
    "%s%n%d",
    "];drop table kernel_summary;--",
    "\ufeffbyte order mark",
    "e\u0301 is not \u00e9",
    "long_" + "x" * 39_995,
    "quoted_long_" + 'a"b,c\n' * 6_000,
    "at_the_limit_" + "y" * (32_767 - 13),
    "over_the_limit_" + "z" * (32_768 - 15),
    "\U0001f600" * 20_000,
]


class Options(NamedTuple):
    dispatches: int = 3_000
    agents: int = 2
    layers: int = 12
    symbols: int = 0  # at least this many kernel symbols, most of them never dispatched
    copies: int = 40
    api_calls: int = 0
    processes: int = 1
    seed: int = 1
    names: tuple = ()  # kernels of these names are dispatched as well, in turn


def step_program(layers):
    """The kernels of one training step, in launch order."""
    program = ["copy", "embedding", "dropout"] + FORWARD * layers + ["norm_fwd", "qkv", "softmax", "reduce", "fill"]
    program += BACKWARD * layers + ["all_reduce", "reduce", "copy"]
    return program + ["adam"] * max(1, layers * 2) + ["fill"]


def symbols_of(options, rng):
    """[(truncated, formatted, demangled, mangled, Kernel)], kernel ids counting from 1."""
    symbols = []
    for kernel in KERNELS.values():
        if kernel.template:
            formatted = kernel.template.format(kernel.function)
            mangled = f"_ZN4demo{len(kernel.function)}{kernel.function}ILi{len(formatted)}EEEvv.kd"
            symbols.append((kernel.function, formatted, formatted + " [clone .kd]", mangled, kernel))
        else:
            name = kernel.function
            symbols.append((name, name.removesuffix(".kd"), name, name, kernel))
    for name in options.names:
        symbols.append((name, name, name, name, native(name, "", rng.randrange(900, 60_000), (64, 1, 1), (640, 2, 3))))
    while len(symbols) < options.symbols:
        n = len(symbols)
        kernel = gemm("Alik_Bjlk" if n % 2 else "Ailk_Bjlk", f"{16 + n % 240}x{16 + n // 240}x64_" + "_".join(
            f"{part}{(n * 7 + i) % 16}" for i, part in enumerate(["NLCA", "NLCB", "SPO", "SRVW", "SSO", "SK", "SKXCCM",
                                                                  "ULSGRO", "USFGRO", "WSGRA", "WSGRB"])), 1, (1, 1, 1))
        symbols.append((kernel.function, kernel.function[:-3], kernel.function, kernel.function, kernel))
    return symbols


def symbol_json(kernel_id, symbol):
    truncated, formatted, demangled, mangled, _ = symbol
    address = 139_900_000_000_000 + kernel_id * 64
    return json.dumps({
        "size": 88, "kernel_id": kernel_id, "code_object_id": 1 + kernel_id // 400, "kernel_name": mangled,
        "kernel_object": address, "kernarg_segment_size": 280, "kernarg_segment_alignment": 16,
        "group_segment_size": 0, "private_segment_size": 0, "sgpr_count": 96, "arch_vgpr_count": 64,
        "accum_vgpr_count": 4, "kernel_code_entry_byte_offset": 4096 + kernel_id * 256,
        "kernel_address": {"handle": address + 8192}, "formatted_kernel_name": formatted,
        "demangled_kernel_name": demangled, "truncated_kernel_name": truncated,
    }, separators=(",", ":"))


def agent_json(index, handle, is_gpu):
    return {
        "size": 312, "id": {"handle": handle}, "type": 2 if is_gpu else 1, "cpu_cores_count": 0 if is_gpu else 96,
        "simd_count": 1216 if is_gpu else 0, "wave_front_size": 64 if is_gpu else 0, "cu_count": 304 if is_gpu else 96,
        "gfx_target_version": 90402 if is_gpu else 0, "vendor_id": 4098 if is_gpu else 0,
        "hive_id": 15_871_064_337_215_400_917 if is_gpu else 0,  # above 2^63, as real ones are
        "workgroup_max_dim": {"x": 1024, "y": 1024, "z": 1024}, "name": "gfx942" if is_gpu else "Demo CPU",
        "vendor_name": "AMD" if is_gpu else "CPU", "product_name": "Demo Accelerator" if is_gpu else "Demo CPU",
        "node_id": index, "logical_node_id": index, "logical_node_type_id": index - 1 if is_gpu else 0,
        "runtime_visibility": {"hsa": 1, "hip": 1, "rccl": 1, "rocdecode": 1}, "gpu_index": index - 1,
        "mem_banks": [{"heap_type": 1, "width": 8192, "mem_clk_max": 2600, "size_in_bytes": 206_141_652_992}],
        "caches": [], "io_links": [],
    }


def head_json(options, pid, init, fini):
    """The process up to kernel_symbols, without the closing brace."""
    code_objects = [{"size": 88, "code_object_id": i, "agent_id": {"handle": FIRST_GPU}, "uri": f"memory://{pid}#{i}",
                     "load_base": 139_900_000_000_000, "load_size": 4096, "load_delta": 139_900_000_000_000,
                     "storage_type": 2} for i in range(3)]
    kinds = ["NONE", "HSA_CORE_API", "HIP_RUNTIME_API", "MEMORY_COPY", "KERNEL_DISPATCH"]
    process = {
        "metadata": {
            "node": {"id": 0, "hash": 0, "machine_id": "0" * 32, "system_name": "Linux", "hostname": "demo-node",
                     "release": "6.1.0-demo", "version": "#1 SMP", "hardware_name": "x86_64", "domain_name": "(none)"},
            "pid": pid, "init_time": init, "fini_time": fini,
            "command": ["python3", "train.py", "--layers", str(options.layers), "--note", 'a "quoted" word, \\ and ☃'],
            "config": {"output_path": "traces", "output_file": str(pid), "summary": False, "summary_groups": [],
                       "json_output": True, "kernel_rename": False},
        },
        "agents": [agent_json(0, FIRST_GPU - 1, False)] +
                  [agent_json(i + 1, FIRST_GPU + i, True) for i in range(options.agents)],
        "counters": [],
        "strings": {
            "callback_records": [{"kind": kind, "operations": []} for kind in kinds],
            "buffer_records": [{"kind": kind, "operations": ["first", "second"]} for kind in kinds],
            "marker_api": [], "correlation_id": {"external": []}, "counters": {"dimension_ids": []},
            "pc_sample_instructions": [], "pc_sample_comments": [],
        },
        "code_objects": code_objects,
    }
    return json.dumps(process, separators=(",", ":"), ensure_ascii=False)[:-1]


TAIL_JSON = ('"marker_api":[],"rccl_api":[],"memory_copy":[%s],"memory_allocation":[],"scratch_memory":[],'
             '"rocdecode_api":[],"rocjpeg_api":[],"pc_sample_host_trap":[],"pc_sample_stochastic":[]}}')
HOST_FUNCTIONS_JSON = ('"host_functions":[{"size":0,"host_function_id":0,"kernel_id":0,"code_object_id":0,'
                       '"host_function":{"handle":0},"modules":{"handle":0},"device_function":""}],"summary":[],'
                       '"callback_records":{"counter_collection":[]}')


COPY_JSON = ('{"size":120,"kind":10,"operation":%d,"thread_id":%d,"correlation_id":{"internal":%d,"external":0},'
             '"start_timestamp":%d,"end_timestamp":%d,"dst_agent_id":{"handle":%d},"src_agent_id":{"handle":%d},'
             '"bytes":%d,"stream_id":{"handle":0}}')


def axes_json(axes):
    return '{"x":%d,"y":%d,"z":%d}' % axes


def dispatch_template(kernel_id, kernel, agent, stream, thread):
    """A record template with four fields to fill: correlation id, start, end, dispatch id."""
    return ('{"size":184,"kind":11,"operation":2,"thread_id":%d,"correlation_id":{"internal":%%d,"external":0},'
            '"start_timestamp":%%d,"end_timestamp":%%d,"dispatch_info":{"size":72,"agent_id":{"handle":%d},'
            '"queue_id":{"handle":%d},"kernel_id":%d,"dispatch_id":%%d,"private_segment_size":0,'
            '"group_segment_size":%d,"workgroup_size":%s,"grid_size":%s},"stream_id":{"handle":%d}}' % (
                thread, agent, 2 * agent + stream, kernel_id, 1024 * (kernel_id % 9), axes_json(kernel.block),
                axes_json(kernel.grid), stream))


class Step(NamedTuple):
    template: str
    kernel: Kernel
    truncated: str
    gpu: int
    stream: int
    thread: int


def schedule(options, symbols, pid):
    """One training step: a Step per kernel and GPU, in launch order."""
    ids = {key: number for number, key in enumerate(KERNELS, 1)}
    ids.update({name: number for number, name in enumerate(options.names, len(KERNELS) + 1)})
    keys = step_program(options.layers)
    for i, name in enumerate(options.names):
        keys.insert(1 + i * 3 % len(keys), name)
    steps = []
    for key in keys:
        for gpu in range(options.agents):
            kernel_id = ids[key]
            kernel = symbols[kernel_id - 1][4]
            agent, stream = FIRST_GPU + gpu, 2 * gpu + kernel.stream
            thread = pid + (BACKWARD_THREAD if key in ("dgrad", "wgrad", "attn_bwd", "norm_bwd") else 0)
            template = dispatch_template(kernel_id, kernel, agent, stream, thread)
            steps.append(Step(template, kernel, symbols[kernel_id - 1][0], gpu, stream, thread))
    return steps


def timed_dispatches(options, steps, first_ns, rng):
    """(Step, start, end) of each dispatch; times are multiples of 10 ns, like the clock of the GPUs."""
    random_unit = rng.random
    clocks = [[first_ns + 700 * gpu, first_ns] for gpu in range(options.agents)]
    made = 0
    while True:
        for step in steps:
            if made == options.dispatches:
                return
            kernel = step.kernel
            jitter = random_unit()
            duration = int(kernel.mean_ns * (0.9 + 0.2 * jitter)) // 10 * 10
            if jitter > 0.998:
                duration *= 4
            clock = clocks[step.gpu]
            if kernel.stream == COMM:
                start = max(clock[COMM], clock[COMPUTE])
                clock[COMM] = start + duration + 2_000
            else:
                start = clock[COMPUTE]
                clock[COMPUTE] = start + duration + 400 + int(2_600 * random_unit()) // 10 * 10
            made += 1
            yield step, start, start + duration
        for clock in clocks:  # after the optimizer: a pause for gradients and the next batch
            clock[COMPUTE] = max(clock) + 4_500_000 + int(4_000_000 * random_unit()) // 10 * 10


def copy_records(options, first, last, pid, rng):
    """[(start, end)] spread over the run, and their JSON."""
    spans, texts = [], []
    for i in range(options.copies):
        start = first + (last - first) * i // max(1, options.copies) + rng.randrange(0, 40_000)
        end = start + rng.randrange(8_000, 950_000)
        gpu, to_device = FIRST_GPU + i % options.agents, i % 4 != 3
        source, target = (FIRST_GPU - 1, gpu) if to_device else (gpu, FIRST_GPU - 1)
        spans.append((start, end))
        texts.append(COPY_JSON % (2 if to_device else 3, pid, 900_000 + i, start, end, target, source,
                                  4096 * rng.randrange(1, 9_000)))
    return spans, texts


def api_records(kind, count, first, last, pid, rng):
    for i in range(count):
        start = first + (last - first) * i // count
        yield ('{"size":96,"kind":%d,"operation":%d,"thread_id":%d,"correlation_id":{"internal":%d,"external":0},'
               '"start_timestamp":%d,"end_timestamp":%d}' % (kind, rng.randrange(1, 400), pid, i + 1, start,
                                                              start + rng.randrange(500, 20_000)))


def write_list(write, texts):
    """Writes [text,text,…] without keeping all of it in memory."""
    write("[")
    batch, comma = [], ""
    for text in texts:
        batch.append(text)
        if len(batch) == 4096:
            write(comma + ",".join(batch))
            batch, comma = [], ","
    write((comma if batch else "") + ",".join(batch) + "]")


def write_process(write, options, number, run):
    rng = random.Random(options.seed * 1000 + number)
    pid = 7_100 + 31 * number
    symbols = symbols_of(options, rng)
    steps = schedule(options, symbols, pid)
    first = START_NS + 62_000_000
    last = first
    # The window precedes the records in the file, so the dispatches are timed twice: first to find the end.
    state = rng.getstate()
    for _, _, end in timed_dispatches(options, steps, first, rng):
        last = max(last, end)
    rng.setstate(state)
    run.init, run.fini = START_NS, last + 38_000_000
    write(head_json(options, pid, run.init, run.fini) + ',"kernel_symbols":')
    null_symbol = ("", "", "", "", None)
    write_list(write, (symbol_json(number, symbol) for number, symbol in enumerate([null_symbol] + symbols)))
    write("," + HOST_FUNCTIONS_JSON + ',"buffer_records":{"kernel_dispatch":')

    def dispatches():
        keep = run.dispatches.append
        for number, (step, start, end) in enumerate(timed_dispatches(options, steps, first, rng), 1):
            keep(Dispatch(step.truncated, start, end, step.stream, number, step.kernel.grid, step.kernel.block,
                          FIRST_GPU + step.gpu, step.thread))
            yield step.template % (number, start, end, number)

    write_list(write, dispatches())
    hsa_calls = options.api_calls // 8
    for name, kind, count in (("hip_api", 5, options.api_calls - hsa_calls), ("hsa_api", 1, hsa_calls)):
        write(f',"{name}":')
        write_list(write, api_records(kind, count, START_NS, last, pid, rng))
    run.copies, texts = copy_records(options, first, last, pid, rng)
    write("," + TAIL_JSON % ",".join(texts))


def write_trace(path, options):
    """Writes the trace (gzip if the name ends with .gz, without a time stamp) and returns its first process as a Run."""
    runs = [Run() for _ in range(options.processes)]
    with open(path, "wb") as file:
        out = gzip.GzipFile("", "wb", 9, file, mtime=0) if str(path).endswith(".gz") else file
        write = lambda text: out.write(text.encode())
        write('{"rocprofiler-sdk-tool":[')
        for number, run in enumerate(runs):
            write("," if number else "")
            write_process(write, options, number, run)
        write("]}")
        if out is not file:
            out.close()
    return runs[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    for field, default in Options._field_defaults.items():
        if field != "names":
            parser.add_argument(f"--{field}", type=int, default=default)
    parser.add_argument("--odd_names", action="store_true", help="also dispatch kernels with names that are hard to write")
    given = vars(parser.parse_args())
    path, odd_names = given.pop("out"), given.pop("odd_names")
    write_trace(path, Options(**given, names=tuple(ODD_NAMES) if odd_names else ()))


if __name__ == "__main__":
    main()
