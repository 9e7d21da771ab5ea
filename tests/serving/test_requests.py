#!/usr/bin/env python3
"""`gputally report --serving FILE`: what clients and servers measured, next to the trace's steps. Each request of a synthetic
server is followed from its prompt through its tokens in plain Python; the sheets must give the same means.

    python3 -m tests.serving.test_requests --bin build/gputally [--only TEXT]
"""
import gzip
import json
import os
import random
import sys

from tests.common import harness
from tests.serving.generate import Trace

PREFILL, DECODE = "step[EXTEND bs={0} toks=9]", "step[DECODE bs={0}]"
VLLM = {"date": "20260101-000000", "backend": "vllm", "model_id": "m", "request_rate": "inf", "max_concurrency": None, "duration": 4.0,
        "completed": 10, "failed": 0, "total_input_tokens": 500, "total_output_tokens": 110, "request_goodput": None,
        "ttfts": [0.01, 0.02], "itls": [[0.001]], "generated_texts": ["}{\"mean_ttft_ms\": 7"], "mean_ttft_ms": 40.0, "median_ttft_ms": 39.5,
        "std_ttft_ms": 1.0, "p99_ttft_ms": 60.0, "mean_tpot_ms": 2.0, "median_tpot_ms": 1.5, "p99_tpot_ms": 3.0, "mean_itl_ms": 2.25,
        "median_itl_ms": 1.25, "p99_itl_ms": 4.0}
SGLANG = {"tag": None, "backend": "sglang", "server_info": {"mean_ttft_ms": 9}, "duration": 4.0, "completed": 10, "total_input_tokens": 500,
          "total_output_tokens": 110, "mean_e2e_latency_ms": 60.0, "median_e2e_latency_ms": 61.0, "p90_e2e_latency_ms": 62.0,
          "p99_e2e_latency_ms": 63.0, "mean_ttft_ms": 40.0, "median_ttft_ms": 39.5, "p90_ttft_ms": 50.0, "p99_ttft_ms": 60.0, "mean_tpot_ms": 2.0,
          "median_tpot_ms": 1.5, "p90_tpot_ms": 2.5, "p99_tpot_ms": 3.0, "mean_itl_ms": 2.25, "median_itl_ms": 1.25, "concurrency": 0.15,
          "accept_length": 2.5}
METRICS = """# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.02",model_name="a}\\",b"} 2.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.04",model_name="a}\\",b"} 4.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="a}\\",b"} 4.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.02",model_name="m"} 1.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="0.04",model_name="m"} 5.0
vllm:time_to_first_token_seconds_bucket{engine="1",le="+Inf",model_name="m"} 6.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="a}\\",b"} 4.0
vllm:time_to_first_token_seconds_count{engine="1",model_name="m"} 6.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="a}\\",b"} 0.1
vllm:time_to_first_token_seconds_sum{engine="1",model_name="m"} 0.3
vllm:time_to_first_token_seconds_created{engine="1",model_name="m"} 1.7e+09
vllm:request_queue_time_seconds_count{engine="0"} 10.0
vllm:request_queue_time_seconds_sum{engine="0"} 0.12
vllm:time_per_output_token_seconds_count 7.0
vllm:time_per_output_token_seconds_sum 70.0
vllm:inter_token_latency_seconds_bucket{le="0.01"} 80.0
vllm:inter_token_latency_seconds_bucket{le="0.025"} 100.0
vllm:inter_token_latency_seconds_bucket{le="+Inf"} 100.0
vllm:inter_token_latency_seconds_count 100.0
vllm:inter_token_latency_seconds_sum 0.225
vllm:request_success_total{finished_reason="stop"} 3.0
vllm:request_success_total{finished_reason="length"} 7.0
vllm:prompt_tokens_total 500.0
vllm:generation_tokens_total 110.0
process_cpu_seconds_total 3.5
"""


def serve(steps):
    """A trace of these steps (name, microseconds of each kernel, pause on the host before it), and by step: end, busy, idle, gap, took."""
    trace, times, end = Trace(latency_ns=0), [], None
    for name, kernels, pause in steps:
        trace.now = max(trace.now, trace.free)
        trace.host(pause)
        first = len(trace.events)
        with trace.step(name):
            for duration in kernels:
                trace.launch("nvjet_tst_8x8", duration)
                trace.host(3)
        runs = [(e["ts"], e["ts"] + e["dur"]) for e in trace.events[first:] if e["cat"] == "kernel"]
        start, last, busy = runs[0][0], runs[-1][1], sum(b - a for a, b in runs)
        gap = start - end if end is not None else 0.0
        times.append({"end": last, "busy": busy, "idle": last - start - busy, "gap": gap, "took": last - start + gap})
        end = last
    return trace, times


def report(binary, folder, trace, text, name="bench.json", options=()):
    path, out = os.path.join(folder, "trace.json"), os.path.join(folder, "out")
    trace.write(path)
    if text is not None:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    outcome = harness.run([binary, "report", path, "--no_html", "--output_csvs_dir", out, "--serving", os.path.join(folder, name), *options])
    sheets = {}
    for sheet in ("serving_requests", "serving_request_parts"):
        if os.path.exists(os.path.join(out, sheet + ".csv")):
            heads, rows = harness.read_csv(os.path.join(out, sheet + ".csv"))
            sheets[sheet] = [dict(zip(heads, row)) for row in rows]
    return outcome, sheets


def near(cell, wanted):
    return cell == "" if wanted is None else cell != "" and abs(float(cell) - wanted) < 1e-5 * max(1, abs(wanted))


def parts(sheets, latency):
    return {row["part"]: float(row["ms"]) for row in sheets.get("serving_request_parts", []) if row["latency"] == latency}


def differ(got, wanted):
    return [f"{key}: {got.get(key)} instead of {wanted.get(key)}" for key in sorted(set(got) | set(wanted))
            if abs(got.get(key, 0) - wanted.get(key, 0)) > 2e-6]


def row_of(sheets, latency):
    return next(row for row in sheets["serving_requests"] if row["latency"] == latency)


def follow(steps, times):
    """Per token after the first of each request: {part: ms}. A request ends when a step generates for fewer: the oldest goes first."""
    decode = sorted(t["took"] for (name, _, _), t in list(zip(steps, times))[1:] if "DECODE" in name)
    median = (decode[(len(decode) - 1) // 2] + decode[len(decode) // 2]) / 2
    alive, tokens = [], []
    for (name, _, _), t in zip(steps, times):
        numbers = {key: int(value) for key, _, value in (word.partition("=") for word in name[:-1].split()[1:]) if value}
        decodes, own = "DECODE" in name or "MIXED" in name, 1.0
        if "MIXED" in name and t["took"] > median:
            own = median / t["took"]
        spent = ({"gpu": own * t["busy"], "idle_in_step": own * t["idle"], "host_between_steps": own * t["gap"],
                  "prefill": (1 - own) * t["took"]} if decodes else {"prefill": t["took"]})
        for request in alive:
            for part, us in spent.items():
                request[part] = request.get(part, 0) + us / 1000
        if decodes:
            alive = alive[-numbers.get("g", numbers["bs"]):]
            tokens += alive
            alive = [{} for _ in alive]
        if not decodes or "MIXED" in name:
            alive += [{} for _ in range(numbers.get("c", numbers["bs"]))]
    return tokens


def check_tokens(binary, folder, seed):
    """The parts of the time per token are the means over the tokens of all requests."""
    choose, steps, running = random.Random(seed), [], 0
    for number in range(40):
        kernels, pause = [choose.randrange(5, 60) for _ in range(choose.randrange(1, 4))], choose.choice((0, 5, 200))
        if not running or choose.random() < .3:
            new = choose.randrange(1, 4)
            mixed = running and choose.random() < .5
            name = f"step[MIXED bs={running + new} c={new} g={running} c_sq=9 c_sk=9 g_sq={running} g_sk=99]" if mixed else PREFILL.format(new)
            steps.append((name, [10 * us for us in kernels], pause))
            running += new
        else:
            running -= choose.random() < .2 and running > 1
            steps.append((DECODE.format(running), kernels, pause))
    trace, times = serve(steps)
    outcome, sheets = report(binary, folder, trace, json.dumps(VLLM))
    tokens = follow(steps, times)
    wanted = {part: sum(t.get(part, 0) for t in tokens) / len(tokens) for part in ("gpu", "idle_in_step", "host_between_steps", "prefill")}
    mean, sums = sum(wanted.values()), sorted(sum(t.values()) for t in tokens)
    wanted["not_in_trace"] = VLLM["mean_tpot_ms"] - mean
    row = row_of(sheets, "time_per_output_token")
    quantiles = {key: sums[-(-len(sums) * percent // 100) - 1] for key, percent in
                 (("trace_p50_ms", 50), ("trace_p90_ms", 90), ("trace_p99_ms", 99))}
    return (outcome.problems() + differ(parts(sheets, "time_per_output_token"), wanted) +
            [f"{key}: {row[key]} instead of {value}" for key, value in {**quantiles, "trace_mean_ms": mean, "unexplained_ms": 2 - mean}.items()
             if not near(row[key], value)])


SIMPLE = [(PREFILL.format(2), [100, 100], 0)] + [(DECODE.format(2), [50], 20)] * 4


def check_first_token(binary, folder, text, waits):
    """The step of the prompt, and what is waited for before it: the queue if the server says it, else the rest of a running step."""
    trace, times = serve([SIMPLE[1]] + SIMPLE)
    outcome, sheets = report(binary, folder, trace, text)
    prompt, took = times[1], [t["took"] for t in times]
    rest = sum(us * us for us in took) / sum(took) / 2
    wanted = {"gpu": prompt["busy"] / 1000, "idle_in_step": prompt["idle"] / 1000, "host_between_steps": prompt["gap"] / 1000}
    wanted.update({"queue": 12.0} if waits == "queue" else {"running_step": rest / 1000})
    wanted["not_in_trace"] = 40 - sum(wanted.values())
    return outcome.problems() + differ(parts(sheets, "time_to_first_token"), {key: ms for key, ms in wanted.items() if ms})


def check_cells(binary, folder, text, name, wanted):
    """What the file says, cell by cell."""
    outcome, sheets = report(binary, folder, serve(SIMPLE)[0], text, name)
    problems = outcome.problems() + ([] if {row["latency"] for row in sheets["serving_requests"]} == set(wanted) else [str(sheets)])
    for latency, cells in wanted.items():
        row = row_of(sheets, latency)
        got = [row[key] for key in ("requests", "mean_ms", "p50_ms", "p90_ms", "p99_ms")]
        problems += [f"{latency}: {got} instead of {cells}"] * (not all(map(near, got, cells)))
        problems += [f"{row}"] * ((row["file"], row["input_tokens"], row["output_tokens"]) != (name, "500", "110"))
    return problems


def check_drafts(binary, folder, text, latency):
    """A step that verifies drafts makes several tokens: the client says how many, or only the time between answers can be explained."""
    trace, times = serve([(PREFILL.format(2), [100], 0)] + [("step[DRAFT_EXTEND bs=2]", [7], 0), ("step[TARGET_VERIFY bs=2]", [50], 5)] * 6)
    outcome, sheets = report(binary, folder, trace, text)
    tokens = json.loads(text).get("accept_length", 1)
    verify, draft = times[2::2], times[1::2]
    wanted = {part: sum(t[key] for t in verify) / 6000 / tokens for part, key in
              (("gpu", "busy"), ("idle_in_step", "idle"), ("host_between_steps", "gap"))}
    wanted["draft"] = sum(t["took"] for t in draft) / 6000 / tokens
    wanted["not_in_trace"] = (2 if latency == "time_per_output_token" else 2.25) - sum(wanted.values())
    return outcome.problems() + differ(parts(sheets, latency), wanted)


def check_load(binary, folder, concurrency, is_said):
    """Another number of requests than in the trace is said with what is not explained."""
    outcome, sheets = report(binary, folder, serve(SIMPLE)[0], json.dumps({**SGLANG, "concurrency": concurrency}))
    text = [row["text"] for row in sheets["serving_request_parts"] if row["part"] == "not_in_trace"]
    said = [f"the server had {concurrency:.1f} requests at a time, the trace's steps generate for 2.0" in words for words in text]
    return outcome.problems() + ([] if said == [is_said] * 2 else text)


def check_littles_law(binary, folder):
    """vLLM does not say how many requests it had: 10 of 40 + 10 * 2 ms in 4 s, 0.15 at a time."""
    outcome, sheets = report(binary, folder, serve(SIMPLE)[0], json.dumps(VLLM))
    text = sheets["serving_request_parts"][-1]["text"]
    return outcome.problems() + ([] if "the server had 0.1 requests" in text or "the server had 0.2 requests" in text else [text])


def check_terminal(binary, folder):
    """The first screen has the parts of the sheet."""
    outcome, sheets = report(binary, folder, serve(SIMPLE)[0], json.dumps(VLLM))
    got = parts(sheets, "time_per_output_token")
    line = " ".join(outcome.stdout.split())
    wanted = [f"time_per_output_token: mean 2.00 ms = gpu {got['gpu']:.2f}", f"not in the trace {got['not_in_trace']:.2f} ("]
    return outcome.problems() + [f"no {words}: {outcome.stdout[:600]}" for words in wanted if words not in line]


def check_no_steps(binary, folder):
    """A trace without steps explains nothing; what the file says is still there."""
    trace = Trace()
    trace.launch("nvjet_tst_8x8", 5)
    outcome, sheets = report(binary, folder, trace, json.dumps(VLLM))
    row = row_of(sheets, "time_to_first_token")
    return outcome.problems() + ([] if (row["mean_ms"], row["trace_mean_ms"], row["unexplained_ms"]) == ("40.0", "", "") else [str(row)]) + \
        (["has parts"] if "serving_request_parts" in sheets else [])


def check_refused(binary, folder, text, words):
    """One sentence, and exit status 1."""
    outcome, sheets = report(binary, folder, serve(SIMPLE)[0], text)
    lines = [line for line in outcome.stderr.splitlines() if line]
    return ([] if outcome.code == 1 and len(lines) == 1 and words in lines[0] and "bench.json" in lines[0] and not sheets
            else [f"{outcome.code} {outcome.stderr}"])


OF_VLLM = {"time_to_first_token": (10, 40, 39.5, None, 60), "time_per_output_token": (10, 2, 1.5, None, 3),
           "inter_token_latency": (None, 2.25, 1.25, None, 4)}
OF_SGLANG = {"time_to_first_token": (10, 40, 39.5, 50, 60), "time_per_output_token": (10, 2, 1.5, 2.5, 3),
             "inter_token_latency": (None, 2.25, 1.25, None, None), "end_to_end": (10, 60, 61, 62, 63)}
# 3 of 10 up to 20 ms, 9 up to 40: the median is 2/6 of the second bucket; that of the queue has no buckets.
OF_METRICS = {"time_to_first_token": (10, 40, 20 + 20 * 2 / 6, 40, None), "inter_token_latency": (None, 2.25, 10 * 50 / 80, 10 + 15 * 10 / 20, 10 + 15 * 19 / 20),
              "queue": (10, 12, None, None, None)}
OLDER = "".join(line + "\n" for line in METRICS.splitlines() if "inter_token" not in line)
WITHOUT = {key: value for key, value in SGLANG.items() if key != "accept_length"}
CASES = [harness.Case(f"tokens {seed}", check_tokens, seed) for seed in range(6)] + [
    harness.Case("first token of clients", check_first_token, json.dumps(VLLM), "running_step"),
    harness.Case("first token with a queue", check_first_token, METRICS, "queue"),
    harness.Case("vLLM", check_cells, json.dumps(VLLM), "bench.json", OF_VLLM),
    harness.Case("vLLM, indented and compressed", check_cells, gzip.compress(json.dumps(VLLM, indent=1).encode()), "bench.json.gz", OF_VLLM),
    harness.Case("SGLang", check_cells, json.dumps(SGLANG) + "\n", "bench.jsonl", OF_SGLANG),
    harness.Case("last of several", check_cells, json.dumps({**SGLANG, "mean_ttft_ms": 1, "p90_itl_ms": 3}) + "\n" + json.dumps(SGLANG) + "\n",
                 "bench.jsonl", OF_SGLANG),
    harness.Case("metrics", check_cells, METRICS, "metrics.txt", OF_METRICS),
    harness.Case("metrics with line ends of Windows", check_cells, METRICS.replace("\n", "\r\n"), "metrics.txt", OF_METRICS),
    harness.Case("metrics of SGLang", check_cells, METRICS.replace("vllm:request_success", "sglang:num_requests").replace("vllm:", "sglang:"),
                 "metrics.txt", OF_METRICS),
    harness.Case("older metrics", check_cells, OLDER, "metrics.txt",
                 {**{key: OF_METRICS[key] for key in ("time_to_first_token", "queue")}, "inter_token_latency": (None, 10000, None, None, None)}),
    harness.Case("drafts, accepted tokens known", check_drafts, json.dumps(SGLANG), "time_per_output_token"),
    harness.Case("drafts, accepted tokens unknown", check_drafts, json.dumps(WITHOUT), "inter_token_latency"),
    harness.Case("another load", check_load, 16.0, True),
    harness.Case("the same load", check_load, 2.2, False),
    harness.Case("load by Little's law", check_littles_law),
    harness.Case("terminal", check_terminal),
    harness.Case("no steps", check_no_steps),
    harness.Case("no such file", check_refused, None, "No such file"),
    harness.Case("empty", check_refused, " \n", "empty file"),
    harness.Case("other text", check_refused, "hello\n", "neither a benchmark result in JSON nor metrics"),
    harness.Case("other metrics", check_refused, "go_goroutines 7\n", "neither a benchmark result in JSON nor metrics"),
    harness.Case("other JSON", check_refused, "{\"traceEvents\": []}", "not a result of `vllm bench serve`"),
    harness.Case("truncated", check_refused, json.dumps(VLLM)[:-30], "ends early"),
    harness.Case("truncated gzip", check_refused, gzip.compress(METRICS.encode())[:-12], "ends early"),
    harness.Case("text after it", check_refused, json.dumps(VLLM) + "x", "expected an object"),
    harness.Case("no request", check_refused, json.dumps({**VLLM, "completed": 0}), "no request was completed"),
    harness.Case("no request in metrics", check_refused, "vllm:time_to_first_token_seconds_count 0.0\n", "no request was completed"),
]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], CASES))
