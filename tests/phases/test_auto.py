#!/usr/bin/env python3
"""The method auto of inference phases: steps, their phases and times must agree with a computation from the raw trace.

    python3 -m tests.phases.test_auto --bin build/gputally [--only TEXT]

Traces with annotations are compared with plain Python that reads the JSON file: it parses the annotations with regular
expressions, finds the annotation around each launch, and adds up kernel times. For traces without annotations, the generator
knows the phase of each pass.
"""
import collections
import gzip
import json
import math
import os
import re
import sys
import tempfile

from tests.common import harness, scaling
from tests.phases.generate_serving import Server, write

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
SUMS = r"\(sq(\d+)sk\d+sqsq\d+sqsk\d+\)"

# ---- what annotations say, by regular expressions ----


def pairs(text):
    return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", text)}


def parse(name):
    """(tier, context requests, context tokens, generation requests, generation tokens); None: not a step."""
    if found := re.match(rf"execute_\d+_context_(\d+){SUMS}_generation_(\d+){SUMS}", name):
        return (1, *map(int, found.groups()))
    if found := re.match(r"execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)", name):
        return (2, *map(int, found.groups()))
    if found := re.match(r"step\[(EXTEND|DECODE|MIXED)\b([^\]]*)\]", name):
        mode, said = found[1], pairs(found[2])
        if "c_sqsq" in said or "g_sqsq" in said:
            context = said.get("c", 0) if mode == "MIXED" else said["bs"] if mode == "EXTEND" else 0
            generation = said.get("g", 0) if mode == "MIXED" else said["bs"] if mode == "DECODE" else 0
            return (1, context, said.get("c_sq", 0), generation, said.get("g_sq", 0))
        if "bs" not in said:
            return (2, 0, 0, 0, 0)
        if mode == "DECODE":
            return (2, 0, 0, said["bs"], said["bs"])
        return (2, said["bs"], said.get("toks", 0), 0 if mode == "EXTEND" else -1, 0)  # -1: an unknown part of them
    if found := re.match(r"(prefill|decode)\[(.*)\]", name):
        said = pairs(found[2])
        requests = (said["bs"], said["tok"])
        return (1 if "sqsq" in said else 2, *(requests + (0, 0) if found[1] == "prefill" else (0, 0) + requests))
    return (2, 0, 0, 0, 0) if name.startswith("execute_diffusion_") else None


def phases(said):
    """(phase, counted as) of a step."""
    _, context, context_tokens, generation, generation_tokens = said
    if not context and not generation:
        return "", ""
    if context and generation:
        return "mixed", "prefill" if context_tokens >= generation_tokens else "decode"
    return ("prefill",) * 2 if context else ("decode",) * 2


# ---- the sheet from the raw file ----


def inside(spans, time):
    """The span that contains the time and starts first."""
    found = [span for span in spans if span["ts"] <= time < span["ts"] + span["dur"]]
    return min(found, key=lambda span: span["ts"]) if found else None


def raw_steps(events):
    """{annotation: [kernels, time]} by (name, start), with None for kernels outside, and the time of each op per phase."""
    timed = [event for event in events if event.get("ph") == "X"]
    said = [(event, parse(event["name"])) for event in timed if event["cat"] in ("user_annotation", "gpu_user_annotation")]
    best = min((what[0] for _, what in said if what), default=0)
    spans = [event for event, what in said if what and what[0] == best]
    host = [span for span in spans if span["cat"] == "user_annotation"]
    device = merged([span for span in spans if span["cat"] == "gpu_user_annotation"])
    projected = {}  # annotations of the GPU that repeat one of the host: the k-th of a name is the k-th of the host
    home = {}       # from a device to the process that launches on it
    calls = {event["args"]["correlation"]: event for event in timed if event["cat"] == "cuda_runtime"}
    for event in timed:
        if event["cat"] in GPU and event["args"].get("correlation") in calls:
            home[event["pid"]] = calls[event["args"]["correlation"]]["pid"]
    for span in device:
        before = sum(s["name"] == span["name"] and s["pid"] == span["pid"] for s in device[:device.index(span)])
        same = sorted((s for s in host if s["name"] == span["name"] and s["pid"] == home.get(span["pid"])), key=lambda s: s["ts"])
        if before < len(same):
            projected[id(span)] = same[before]
    processes = {span["pid"] for span in host}
    threads = {(span["pid"], span["tid"]) for span in host}
    ops = [event for event in timed if event["cat"] == "cpu_op"]
    steps = {(span["name"], span["ts"], span["dur"]): [0, 0.0] for span in host + [span for span in device if id(span) not in projected]}
    steps[None] = [0, 0.0]
    by_op, lone = {"prefill": collections.Counter(), "decode": collections.Counter(), "": collections.Counter()}, collections.Counter()
    for kernel in timed:
        if kernel["cat"] not in GPU:
            continue
        call = calls.get(kernel["args"].get("correlation"))
        if call and call["pid"] in processes:
            own = (call["pid"], call["tid"]) in threads
            span = inside([s for s in host if s["pid"] == call["pid"] and (not own or s["tid"] == call["tid"])], call["ts"])
        else:
            span = inside([s for s in device if s["pid"] == kernel["pid"]], kernel["ts"])
            span = projected.get(id(span), span)
        step = steps[span and (span["name"], span["ts"], span["dur"])]
        step[0] += 1
        step[1] += kernel["dur"]
        phase = phases(parse(span["name"]))[1] if span else ""
        lone[phase] += kernel["dur"]
        if call and "nccl" not in kernel["name"]:
            around = [op for op in ops if (op["pid"], op["tid"]) == (call["pid"], call["tid"]) and
                      op["ts"] <= call["ts"] and call["ts"] + call["dur"] <= op["ts"] + op["dur"]]
            op = max(around, key=lambda op: (op["ts"], -op["dur"]))["name"] if around else call["name"]
            if span and phases(parse(span["name"]))[0] == "mixed" and "attn" in op:
                text = op + kernel["name"]
                phase = "prefill" if "prefill" in text else "decode" if "decode" in text else phase
            by_op[phase][op] += kernel["dur"]
    return steps, by_op, lone


def merged(spans):
    """Annotations with the same name on several streams of a device, one after the other, are one."""
    result = []
    for device in sorted({span["pid"] for span in spans}):
        streams = set()
        for span in sorted((span for span in spans if span["pid"] == device), key=lambda span: span["ts"]):
            if streams and result[-1]["name"] == span["name"] and span["tid"] not in streams:
                result[-1]["dur"] = max(result[-1]["dur"], span["ts"] + span["dur"] - result[-1]["ts"])
            else:
                result.append(dict(span))
                streams = set()
            streams.add(span["tid"])
    return result


# ---- the program's sheets ----


def report(binary, trace, folder, *options, command="report"):
    out = tempfile.mkdtemp(dir=folder)
    launches = ["--no_graph_ops"] if command == "report" else []  # kernels of graphs count for the launch, as in TraceLens
    outcome = harness.run([binary, command, trace, "--inference_phase_analysis", "--enable_kernel_summary", "--output_csvs_dir", out,
                           *launches, *options])
    sheets = {}
    for name in os.listdir(out) if os.path.isdir(out) else []:
        headings, rows = harness.read_csv(os.path.join(out, name))
        sheets[name[:-4]] = [dict(zip(headings, row)) for row in rows]
    return outcome, sheets


def near(a, b):
    return math.isclose(float(a or 0), b, rel_tol=1e-9, abs_tol=2e-3)


def compare_steps(sheets, events):
    problems = []
    steps, by_op, by_kernel = raw_steps(events)
    rows = sheets.get("inference_phases", [])
    annotated = [row for row in rows if row["evidence"].startswith("step annotations")]
    expected = sorted((key for key in steps if key), key=lambda key: key[1])
    if [(row["name"], float(row["start_us"])) for row in annotated] != [(key[0], key[1]) for key in expected]:
        return [f"{len(annotated)} steps instead of {len(expected)}"]
    for row, key in zip(annotated, expected):
        said = parse(key[0])
        phase, counted = phases(said)
        tokens = ("", "", "") if not phase else tuple(str(max(0, n)) for n in (said[1] + max(0, said[3]), said[2], said[4]))
        found = (row["phase"], row["counted_as"], row["batch_size"], row["prefill_tokens"], row["decode_tokens"], row["gpu_events"])
        if found != (phase, counted, *tokens, str(steps[key][0])) or row["method"] != "auto":
            problems.append(f"{key[0]}: {found}, not {(phase, counted, *tokens, steps[key][0])}")
        if not near(row["gpu_time_us"], steps[key][1]) or not near(row["duration_us"], key[2]):
            problems.append(f"{key[0]}: {row['gpu_time_us']} us, not {steps[key][1]}")
    for phase in ("prefill", "decode"):
        found = {row["name"]: float(row["total_direct_kernel_time_sum"]) for row in sheets.get(f"ops_summary_{phase}", [])}
        expected = by_op[phase]
        for op in set(found) | set(expected):
            if not near(found.get(op, 0), expected[op]):
                problems.append(f"{op} has {found.get(op)} us of {phase}, not {expected[op]}")
    return problems


# ---- traces with annotations ----

VLLM = "execute_{all}_context_{c}(sq{cs}sk9sqsq9sqsk9)_generation_{g}(sq{gs}sk9sqsq9sqsk9)"
FORMS = {
    "vLLM": VLLM,
    "short vLLM": "execute_context_{c}({cs})_generation_{g}({gs})",
}


def sglang(c, cs, g, gs, **_):
    mode = "MIXED" if c and g else "EXTEND" if c else "DECODE"
    return f"step[{mode} bs={c + g} toks={cs + gs} c={c} g={g} c_sq={cs} c_sk=9 c_sqsq=9 c_sqsk=9 g_sq={gs} g_sk=9 g_sqsq=9 g_sqsk=9]"


def short_sglang(c, cs, g, gs, **_):
    return f"step[DECODE bs={g}]" if not c else f"step[{'MIXED' if g else 'EXTEND'} bs={c + g} toks={cs + gs}]"


def atom(c, cs, g, gs, **_):
    return f"prefill[bs={c} tok={cs} ctx=[{cs}, 3]]" if c else f"decode[bs={g}/128 tok={gs} d={gs}]"


MAKERS = {**{form: text.format for form, text in FORMS.items()}, "SGLang": sglang, "short SGLang": short_sglang, "ATOM": atom}
STEPS = [(2, 512, 0, 0), (0, 0, 4, 4), (1, 300, 5, 5), (1, 3, 60, 60), (0, 0, 200, 200), (0, 0, 9, 9), (3, 900, 0, 0)]


def serve(server, make, host=True, gpu=False, graphs=True):
    """Prefill, mixed and decode steps; decode steps as graphs; work of other threads and between steps."""
    for number, (c, cs, g, gs) in enumerate(STEPS):
        if c and g and make is atom:
            continue

        def body():
            tokens = cs + gs
            if not c and graphs and number % 2:
                server.graph(5)
            else:
                server.layer(tokens)
                if c and g:
                    server.op("attn::prefill", "k_prefill", server.duration())
                    server.op("my::attn", "decode_kernel", server.duration())
            server.communicate()
            server.op("worker::copy", "copy_kernel", server.duration(), stream=9, tid=555)

        server.step(make(all=cs + gs, c=c, cs=cs, g=g, gs=gs), body, host, gpu)
        if number % 3 == 0:
            server.op("sampler::top_k", "topk_kernel", server.duration())
    server.kernel("stray_kernel", 3, linked=False)


def check_annotated(binary, folder, form, **how):
    one, two = Server(1), Server(2, pid=200, tid=201, device=1)
    serve(one, MAKERS[form], **how)
    two.now += 37.5
    serve(two, MAKERS[form], **how)
    path = os.path.join(folder, "trace.json")
    events = write(path, one, two)
    outcome, sheets = report(binary, path, folder)
    problems = outcome.problems() + compare_steps(sheets, events)
    evidence = {row["evidence"] for row in sheets["inference_phases"] if row["name"] not in ("", "outside all steps")}
    expected = "step annotations" if how.get("host", True) else "step annotations of the GPU"
    return problems + ([] if evidence == {expected} else [f"evidence {evidence}"])


def check_gpu_only(binary, folder):
    """No host events at all: annotations of the GPU, and kernel sheets."""
    server = Server(3)
    serve(server, MAKERS["vLLM"], host=False, gpu=True)
    events = [event for event in server.events if event["cat"] in GPU + ("gpu_user_annotation",)]
    path = os.path.join(folder, "trace.json")
    with open(path, "w") as file:
        json.dump({"traceEvents": events}, file)
    outcome, sheets = report(binary, path, folder)
    problems = outcome.problems() + compare_steps(sheets, events)
    by_kernel = raw_steps(events)[2]
    for phase in ("prefill", "decode"):
        found = sum(float(row["Kernel duration (µs)_sum"]) for row in sheets.get(f"kernel_summary_{phase}", []))
        if not near(found, by_kernel[phase]):
            problems.append(f"kernels of {phase}: {found} us, not {by_kernel[phase]}")
    return problems


def check_tiers(binary, folder):
    """A short annotation inside a detailed one is no step; unreadable and diffusion steps have no phase."""
    server = Server(4)
    server.step(VLLM.format(all=8, c=1, cs=8, g=0, gs=0), lambda: server.step("step[DECODE bs=8]", lambda: server.layer(8)))
    path = os.path.join(folder, "trace.json")
    events = write(path, server)
    outcome, sheets = report(binary, path, folder)
    problems = outcome.problems() + compare_steps(sheets, events)
    other = Server(5)
    for name in ("execute_diffusion_1_64x64", "step[EXTEND what]", "step[DECODE bs=3]"):
        other.step(name, lambda: other.layer(8))
    events = write(path, other)
    outcome, sheets = report(binary, path, folder)
    return problems + outcome.problems() + compare_steps(sheets, events)


# ---- traces without annotations ----


def expect_phases(sheets, expected, evidence):
    found = [(row["phase"], row["evidence"]) for row in sheets.get("inference_phases", []) if row["step"]]
    wanted = [(phase, evidence if phase else "") for phase in expected]
    return [] if found == wanted else [f"steps {found} instead of {wanted}"]


def attention(server, batch, heads, queries, keys, dim=16):
    server.op("aten::_scaled_dot_product_flash_attention", "flash_kernel", server.duration(),
              [[batch, heads, queries, dim], [batch, heads, keys, dim], [batch, heads, keys, dim], [], [], []],
              types=["c10::BFloat16"] * 3 + ["Scalar"] * 3, below="aten::_flash_attention_forward",
              concrete=["", "", "", "0.", str(queries == keys), "False"])


def check_queries(binary, folder):
    """A generation loop: one prompt, then one token per pass; batch 32, so that decode GEMMs have more than 10 rows."""
    server = Server(6)
    for number, queries in enumerate((40, 1, 1, 3)):  # the last one verifies drafts of speculative decoding
        keys = 40 if number == 0 else 40 + number * 3

        def body():
            server.op("aten::embedding", "embed_kernel", 2, [[1000, 64], [32, queries]], types=["c10::BFloat16", "long int"])
            for _ in range(2):
                server.layer(32 * queries)
                attention(server, 32, 4, queries, keys)
        server.step(None, body)
    path = os.path.join(folder, "trace.json")
    write(path, server)
    outcome, sheets = report(binary, path, folder)
    problems = outcome.problems() + expect_phases(sheets, ["prefill", "decode", "decode", "decode"], "query lengths")
    if [row["batch_size"] for row in sheets["inference_phases"] if row["step"]] != ["32"] * 4:
        problems.append("batch size is not 32")
    return problems


def check_short_prompt(binary, folder):
    """A prompt of four tokens: as many keys as queries."""
    server = Server(7)
    server.step(None, lambda: attention(server, 1, 4, 4, 4))
    path = os.path.join(folder, "trace.json")
    write(path, server)
    outcome, sheets = report(binary, path, folder)
    return outcome.problems() + expect_phases(sheets, ["prefill"], "query lengths")


def forward(server, tokens, logits, vocabulary=32000, few=None, words="my::attn", layers=2):
    """One pass with packed ids, so that only GEMMs tell: logits is the number of rows of the last GEMM. few: (queries, keys)."""
    def body():
        server.op("aten::embedding", "embed_kernel", 2, [[vocabulary, 64], [tokens]], types=["c10::BFloat16", "long int"])
        for _ in range(layers):
            server.layer(tokens, attention=words)
            if few:
                attention(server, 1, 4, *few)
        if logits:
            server.op("aten::mm", "head_kernel", 4, [[logits, 64], [64, vocabulary]])
    return body


def steps_of(binary, folder, passes, *options, shuffle=False):
    """[(phase, counted as, evidence, batch, prefill tokens, decode tokens)] of passes: bodies, or (annotation, body)."""
    server = Server(8)
    for one in passes(server):
        server.step(*(one if isinstance(one, tuple) else (None, one)))
    if shuffle:
        server.random.shuffle(server.events)
    path = os.path.join(folder, "trace.json")
    write(path, server)
    outcome, sheets = report(binary, path, folder, *options)
    return outcome.problems(), [tuple(row[key] for key in ("phase", "counted_as", "evidence", "batch_size", "prefill_tokens", "decode_tokens"))
                                for row in sheets.get("inference_phases", []) if row["step"]]


def compare_passes(binary, folder, passes, expected, *options, **how):
    problems, found = steps_of(binary, folder, passes, *options, **how)
    return problems + ([] if found == expected else [f"steps {found} instead of {expected}"])


SIZES = "GEMM sizes"


def prefill(tokens, batch, evidence=SIZES):
    return ("prefill", "prefill", evidence, str(batch), str(tokens), "0")


def decode(batch, evidence=SIZES, tokens=None):
    return ("decode", "decode", evidence, str(batch), "0", str(tokens or batch))


def guessed(rows, threshold):
    phase, how = ("prefill", "above") if rows > threshold else ("decode", "at most")
    return (phase, phase, f"guess: M = {rows} is {how} --decode_threshold {threshold}", "", "", "")


def check_logits(binary, folder):
    """A step with fewer rows of logits than tokens reads prompts; then a step with as many is decode, in any order."""
    cases = [([(512, 1), (32, 32), (32, 32), (32, 32)], [prefill(512, 1), decode(32), decode(32), decode(32)]),
             ([(200, 200), (7, 1), (200, 200)], [decode(200), prefill(7, 1), decode(200)]),
             ([(900, 3), (1, 1)], [prefill(900, 3), decode(1)])]
    problems = []
    for passes, expected in cases:
        for how in ({}, {"shuffle": True}):
            problems += compare_passes(binary, folder, lambda server: [forward(server, *one) for one in passes], expected, **how)
    # few columns: the logits are then only the last GEMM
    problems += compare_passes(binary, folder, lambda server: [forward(server, 512, 4, 100), forward(server, 16, 16, 100)],
                               [prefill(512, 4), decode(16)])
    # another model of the trace says nothing about this one
    problems += compare_passes(binary, folder, lambda server: [forward(server, 512, 1, 5000), forward(server, 32, 32, 7000)],
                               [prefill(512, 1), guessed(32, 10)])
    # annotated steps are examples, too
    problems += compare_passes(binary, folder, lambda server: [("step[EXTEND bs=1 toks=512]", forward(server, 512, 1)), forward(server, 32, 32)],
                               [prefill(512, 1, "step annotations"), decode(32)])
    return problems


def check_mixed_logits(binary, folder):
    """Fewer than two tokens per request: some requests have one token and some have more, and how many is unknown."""
    return compare_passes(binary, folder, lambda server: [forward(server, 36, 33), forward(server, 50, 30), forward(server, 66, 33)],
                          [("mixed", "decode", SIZES, "33", "", ""), ("mixed", "prefill", SIZES, "30", "", ""), prefill(66, 33)])


def check_guesses(binary, folder):
    """As many rows of logits as tokens in all steps: only the threshold is left, unless names say it, and no numbers are known."""
    same = lambda server: [forward(server, rows, rows) for rows in (32, 32, 5, 1)]
    problems = compare_passes(binary, folder, same, [guessed(32, 10), guessed(32, 10), guessed(5, 10), decode(1)])
    problems += compare_passes(binary, folder, same, [guessed(32, 64), guessed(32, 64), guessed(5, 64), decode(1)], "--decode_threshold", "64")
    problems += compare_passes(binary, folder, lambda server: [forward(server, 32, 0)], [guessed(32, 10)])
    named = ("decode", "decode", "names", "", "0", "32")
    problems += compare_passes(binary, folder, lambda server: [forward(server, 32, 32, words="my::attn_decode")], [named])
    steps_of(binary, folder, lambda server: [forward(server, 32, 32)])
    _, sheets = report(binary, os.path.join(folder, "trace.json"), folder)
    evidence = {row["evidence"] for row in sheets["ops_summary_prefill"]}
    return problems + ([] if evidence == {"guess by --decode_threshold"} else [f"evidence of ops {evidence}"])


def check_absurd_sizes(binary, folder):
    """Sizes and products of sizes that fit no integer."""
    huge = 2 ** 63 - 1

    def passes(server):
        def ids():
            server.op("aten::embedding", "embed_kernel", 2, [[100, 64], [huge, huge]], types=["c10::BFloat16", "long int"])
        def sizes(rows, columns):
            return lambda: (server.op("aten::embedding", "embed_kernel", 2),
                            server.op("aten::mm", "k", 9, [[rows, 64], [64, 64]]), server.op("aten::mm", "k", 2, [[1, 64], [64, columns]]))
        return [ids, sizes(huge, huge), sizes(5, 2 ** 70), sizes(5, 0), sizes(5, -3), lambda: server.op("aten::mm", "k", 9, [[huge, 64], [64, 64]])]

    problems, found = steps_of(binary, folder, passes)
    numbers = [number for step in found for number in step[3:] if number]
    return problems + ([] if numbers and all(int(number) < 9e18 for number in numbers) else [f"numbers {numbers}"])


def check_few_queries(binary, folder):
    """Two to ten queries over more keys: a short prompt in a cache of fixed size, or drafts."""
    queries = "query lengths"
    one = lambda keys: (1, 1, 32000, (1, keys))
    cases = [
        # only the logits of the last token: a prompt
        ([(5, 1, 32000, (5, 256)), one(256), one(256)], [prefill(5, 1), decode(1, queries), decode(1, queries)]),
        # the logits of all tokens, though the model computes only those of the last one of a prompt: drafts
        ([(40, 1, 32000, (40, 256)), (4, 4, 32000, (4, 256))], [prefill(40, 1, queries), decode(1, SIZES, 4)]),
        # the logits say nothing: the steps around it do
        ([(5, 5, 32000, (5, 256)), one(256), (3, 3, 32000, (3, 256)), one(256)],
         [prefill(5, 1, queries), decode(1, queries), prefill(3, 1, queries), decode(1, queries)]),
        ([one(40), (4, 4, 32000, (4, 44)), (4, 4, 32000, (4, 47))], [decode(1, queries), decode(1, queries, 4), decode(1, queries, 4)]),
        ([(4, 4, 32000, (4, 44)), (4, 4, 32000, (4, 47))], [decode(1, queries, 4)] * 2),
        # nothing says it
        ([(5, 5, 32000, (5, 256))], [guessed(5, 10)[:3] + ("1", "", "")]),
    ]
    problems = []
    for passes, expected in cases:
        problems += compare_passes(binary, folder, lambda server: [forward(server, *what) for what in passes], expected)
    return problems


def check_names(binary, folder):
    """Without shapes: one op with a clear name decides for its pass."""
    server = Server(9)
    for word in ("prefill", "decode", None):
        def body():
            server.op("aten::embedding", "embed_kernel", 2)
            server.op("aten::mm", "gemm_USL1", 9)
            server.op(f"my::attn_{word}" if word else "my::attn", "k", 5)
        server.step(None, body)
    path = os.path.join(folder, "trace.json")
    write(path, server)
    outcome, sheets = report(binary, path, folder)
    problems = outcome.problems() + expect_phases(sheets, ["prefill", "decode"], "names")
    for phase in ("prefill", "decode"):
        gemm = [row for row in sheets.get(f"ops_summary_{phase}", []) if row["name"] == "aten::mm"]
        if len(gemm) != 1 or gemm[0]["Count"] != "1" or gemm[0]["evidence"] != "names":
            problems.append(f"aten::mm of {phase}: {gemm}")
    last = sheets["inference_phases"][-1]
    if (last["step"], last["name"], last["gpu_events"], float(last["gpu_time_us"])) != ("", "outside all steps", "3", 16.0):
        problems.append(f"the pass without evidence: {last}")
    return problems


# ---- defaults and real traces ----


def check_defaults(binary, folder):
    """`report` uses auto, `pytorch` hybrid; --no_extra_sheets omits the new sheet; hybrid has no new columns."""
    server = Server(10)
    serve(server, MAKERS["vLLM"])
    path = os.path.join(folder, "trace.json")
    write(path, server)
    problems = []
    for command, options, auto, sheet in (("report", (), True, True), ("pytorch", (), False, False),
                                          ("report", ("--no_extra_sheets",), True, False),
                                          ("report", ("--phase_detection_method", "hybrid"), False, False),
                                          ("pytorch", ("--phase_detection_method", "auto"), True, True)):
        where = os.path.join(folder, str(len(os.listdir(folder))))
        os.mkdir(where)
        outcome, sheets = report(binary, path, where, *options, command=command)
        found = ("evidence" in sheets["ops_summary_decode"][0], "inference_phases" in sheets)
        if outcome.problems() or found != (auto, sheet):
            problems.append(f"{command} {options}: {found}")
    return problems


def check_real(binary, folder, name):
    path = os.path.join(harness.CONFORMANCE_TRACES, name + ".json.gz")
    if not os.path.exists(path):
        return []
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    events = [event for event in events if event.get("ph") == "X" and event.get("cat") in
              GPU + ("cuda_runtime", "cpu_op", "user_annotation", "gpu_user_annotation") and
              (event["cat"] != "cuda_runtime" or "correlation" in event.get("args", {}))]
    outcome, sheets = report(binary, path, folder)
    steps = raw_steps([event for event in events if event["cat"] != "cpu_op"])[0]
    rows = {(row["name"], float(row["start_us"])): row for row in sheets["inference_phases"] if row["step"]}
    problems = outcome.problems()
    for key, (count, time) in steps.items():
        row = rows.get(key[:2]) if key else None
        if key and (not row or row["gpu_events"] != str(count) or not near(row["gpu_time_us"], time)):
            problems.append(f"{key[0]}: {row and (row['gpu_events'], row['gpu_time_us'])}, not {(count, time)}")
    if "sglang" in name:
        gemm = [row for row in sheets["ops_summary_prefill"] if row["name"] == "aten::mm"]
        if not gemm or gemm[0]["Count"] != "145" or "ops_summary_decode" in sheets:
            problems.append("the GEMMs of the EXTEND step are not prefill")
    return problems


def check_growth(binary, folder, make):
    """Many steps, nested or of the same name, with and without annotations: time in proportion to the trace."""
    def command_for(n):
        server = Server(11)
        make(server, n)
        path = os.path.join(folder, f"trace{n}.json")
        write(path, server)
        return [binary, "report", path, "--inference_phase_analysis", "--quiet", "--output_csvs_dir", os.path.join(folder, "out")]

    return scaling.growth_problems(command_for, 2000)


def same_names(server, n):
    for _ in range(n):
        server.step("execute_context_0(0)_generation_8(8)", lambda: server.op("my::op", "k", 3), gpu=True)


def nested_steps(server, n):
    for i in range(n):
        server.now += 1
        server.add("user_annotation", f"execute_context_0(0)_generation_{i}({i})", server.now, 10 * n)
    for _ in range(n):
        server.op("my::op", "k", 3)


def passes(server, n):
    for i in range(n):
        server.op("aten::embedding", "embed", 1, [[100, 8], [2, 1 + i]])
        server.op("aten::mm", "gemm", 2, [[2 + 2 * i, 8], [8, 8]])


REAL = ("inference__sglang_prefilldecode__sglang_Qwen3-8B_prefilldecode", "inference__vllm_decode_full__graph_execution",
        "inference__vllm_prefilldecode_piecewise__graph_execution")
CASES = [harness.Case(f"annotations of {form}", check_annotated, form) for form in MAKERS]
CASES += [harness.Case("annotations of the GPU", lambda binary, folder: check_annotated(binary, folder, "vLLM", host=False, gpu=True)),
          harness.Case("annotations of both", lambda binary, folder: check_annotated(binary, folder, "SGLang", gpu=True)),
          harness.Case("trace without a host", check_gpu_only), harness.Case("kinds of annotations", check_tiers),
          harness.Case("query lengths", check_queries), harness.Case("short prompt", check_short_prompt),
          harness.Case("rows of logits", check_logits), harness.Case("mixed steps by logits", check_mixed_logits),
          harness.Case("guesses", check_guesses), harness.Case("few queries", check_few_queries),
          harness.Case("absurd sizes", check_absurd_sizes), harness.Case("names", check_names), harness.Case("defaults", check_defaults)]
CASES += [harness.Case(f"time for {make.__name__.replace('_', ' ')}", check_growth, make) for make in (same_names, nested_steps, passes)]
CASES += [harness.Case(name, check_real, name) for name in REAL]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
