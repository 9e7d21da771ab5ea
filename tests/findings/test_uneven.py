#!/usr/bin/env python3
"""Steps that take longer than the others, in simulated programs: which, why, and what they cost per step in a long run.

    python3 -m tests.findings.test_uneven --bin build/gputally [--only TEXT]
"""
import itertools
import sys

from tests.common import harness
from tests.findings import small_traces, test_simulated
from tests.findings.simulated_host import Program

LONG = 60  # steps of a long run, many periods

PLACES = {"a checkpoint": ("torch/serialization.py(945): save", "checkpoint"), "logging": ("train.py(90): log_metrics", "Log from another thread"),
          "garbage collection": ("<built-in function collect>", "gc.freeze"), "recompilation": ("torch/_dynamo/convert_frame.py(500): __call__", "mark_dynamic"),
          "Python code": ("train.py(80): shuffle", "See what this function")}


def train(steps, host=None, gpu=None, larger=(), kernels=40, us=100, backward=True):
    """Steps of equal kernels and a synchronisation; host(program, step) and gpu(program, step) do more in some. `larger`: steps whose kernels take three times as long."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(steps):
            with program.step(number), program.function("train.py(10): step"):
                for i in range(kernels):
                    if backward and i >= kernels // 2:
                        with program.event("cpu_op", "autograd::engine::evaluate_function: MmBackward0"):
                            program.matmul(us * (3 if number in larger else 1))
                    else:
                        program.matmul(us * (3 if number in larger else 1))
                if gpu:
                    gpu(program, number)
                program.synchronise()
                if host:
                    host(program, number)
            program.host(20)
    return program


def pause(name, us, when):
    def work(program, number):
        if when(number):
            with program.function(name):
                program.host(us)
    return work


def more_kernels(name, count, when):
    def work(program, number):
        if when(number):
            with program.function(name):
                for _ in range(count):
                    program.matmul(100)
    return work


def only(binary, program):
    """(the finding, the document) of a program with uneven steps, which is its first finding."""
    _, document, terminal = test_simulated.report(binary, program)
    first = document["findings"][0]
    assert first["id"] == "uneven_steps", document["findings"]
    assert f"median {document['median_step_ms']:.2f}, mean {document['recorded_ms']:.2f} ms per step" in " ".join(terminal.split()), terminal
    return first, document


def check_period(binary, folder, what, period, first_at, steps):
    """A pause every few steps costs what it costs in a long run, wherever the window begins and ends."""
    name, advice = PLACES[what]
    work = pause(name, 30000, lambda n: n % period == first_at)
    finding, document = only(binary, train(steps, work))
    truth = train(LONG * period, work).step_ms() - train(LONG * period).step_ms()
    assert abs(finding["gain_ms"] / truth - 1) < 0.05, (finding, truth)
    assert finding["confidence"] == "high" and f"(every {period} steps): {what}" in finding["title"] and advice in finding["advice"], finding
    uneven = [str(n) for n in range(steps) if n % period == first_at]
    assert finding["evidence"][0].startswith("steps " + ", ".join(uneven[:6])) and f" of 0 to {steps - 1}," in finding["evidence"][0], finding
    assert not [f for f in document["findings"] if f["id"] in ("python_busy", "host_untraced")], document["findings"]
    # Whatever the window has of them, the program without them is as fast as the other steps.
    assert abs(document["all_fixed_ms"] - document["median_step_ms"]) < 0.3, document
    return []


def check_gpu(binary, folder, period):
    """An evaluation on the GPU, found by its name and by what it lacks: a backward pass."""
    for name in ("train.py(60): validate", "train.py(61): check_model"):
        work = more_kernels(name, 60, lambda n: n % period == 1)
        finding, _ = only(binary, train(13, gpu=work))
        truth = train(LONG * period, gpu=work).step_ms() - train(LONG * period).step_ms()
        assert abs(finding["gain_ms"] / truth - 1) < 0.05 and finding["kind"] == "gpu", (finding, truth)
        assert finding["title"].endswith("evaluation") and finding["where"] == name, finding
    finding, _ = only(binary, train(13, gpu=more_kernels("train.py(62): sample", 60, lambda n: n % period == 1), backward=False))
    assert finding["title"].endswith("GPU work"), finding
    return []


def check_once(binary, folder):
    """One pause is a mean over the steps that were recorded, and may be chance."""
    for at in (2, 5):
        finding, _ = only(binary, train(9, pause(PLACES["a checkpoint"][0], 30000, lambda n, at=at: n == at)))
        assert finding["confidence"] == "medium" and finding["title"].startswith(f"Step {at} takes 30."), finding
        assert abs(finding["gain_ms"] - 30.0 / 8) < 0.2, finding
    found, document, _ = test_simulated.report(binary, train(9, pause(PLACES["Python code"][0], 30000, lambda n: n == 0)))
    assert found["uneven_steps"]["hint"] and found["uneven_steps"]["severity"] != "high", document["findings"]
    return []


def check_last(binary, folder):
    """The last step has no end in the window: it counts if others are uneven, too."""
    finding, _ = only(binary, train(9, pause(PLACES["a checkpoint"][0], 30000, lambda n: n in (2, 5, 8))))
    assert "steps 2, 5, 8 of" in finding["evidence"][0] and "(every 3 steps)" in finding["title"] and abs(finding["gain_ms"] - 10) < 0.3, finding
    found, document, _ = test_simulated.report(binary, train(9, pause(PLACES["a checkpoint"][0], 30000, lambda n: n == 8)))
    assert "uneven_steps" not in found, document["findings"]
    return []


def check_irregular(binary, folder):
    finding, _ = only(binary, train(13, pause(PLACES["logging"][0], 30000, lambda n: n in (2, 3, 9))))
    assert finding["confidence"] == "medium" and "(3 of 13, in no regular row)" in finding["title"], finding
    assert abs(finding["gain_ms"] - 3 * 30.0 / 12) < 0.3, finding
    return []


def check_even(binary, folder):
    """Inputs of different sizes, pauses in most steps, few steps, small differences, data loading: none of them is an uneven step."""
    programs = {
        "larger inputs": train(13, larger=(3, 4, 9)), "even": train(13), "four steps": train(4, pause(PLACES["logging"][0], 30000, lambda n: n == 1)),
        "most steps": train(13, pause(PLACES["Python code"][0], 30000, lambda n: n % 4 != 0)),
        "small": train(13, pause(PLACES["Python code"][0], 500, lambda n: n % 4 == 0)),
        "input data": train(13, pause(small_traces.LOADER, 30000, lambda n: n % 4 == 0)),
        "every step": train(13, pause(PLACES["Python code"][0], 30000, lambda n: True))}
    for name, program in programs.items():
        found, document, _ = test_simulated.report(binary, program)
        assert "uneven_steps" not in found and document["median_step_ms"] is None, (name, document["findings"])
    assert "data_stall" in test_simulated.report(binary, programs["input data"])[0]
    return []


def check_other_findings(binary, folder):
    """What is slow in each step keeps its own finding beside uneven steps, without what is in these."""
    save, tokenize = pause(PLACES["a checkpoint"][0], 60000, lambda n: n % 4 == 2), pause("train.py(50): tokenize", 8000, lambda n: True)

    def both(program, number):
        tokenize(program, number)
        save(program, number)
    found, document, _ = test_simulated.report(binary, train(13, both))
    assert document["findings"][0]["id"] == "uneven_steps" and abs(found["uneven_steps"]["gain_ms"] - 15) < 0.1, document["findings"]
    truth = train(LONG, both).step_ms() - train(LONG, save).step_ms()
    assert abs(found["python_busy"]["gain_ms"] - truth) < 0.1, (truth, document["findings"])
    assert "15.00 ms of it are in uneven steps" in " ".join(found["python_busy"]["evidence"]), found["python_busy"]
    return []


def check_place_in_step(binary, folder, where):
    """A pause counts wherever it is: before the first kernel, with a copy in its middle, at the end, between two steps."""
    def program(steps, pauses=True):
        made = Program()

        def save(number):
            if not pauses or number % 4 != 2:
                return
            with made.function(PLACES["a checkpoint"][0]):
                made.host(15000)
                if where == "with a copy":
                    with made.op("aten::copy_", [1000, 1000]):
                        made.copy("DtoH (Device -> Pageable)", 4000000)
                made.host(15000)
        with made.function("train.py(1): <module>"):
            for number in range(steps):
                if where == "between":
                    save(number)
                with made.step(number), made.function("train.py(10): step"):
                    if where in ("at first", "with a copy"):
                        save(number)
                    for _ in range(40):
                        made.matmul(100)
                    made.synchronise()
                    if where == "at last":
                        save(number)
                made.host(20)
        return made
    finding, _ = only(binary, program(13))
    # Starts of steps are those of kernels: a copy in a checkpoint is none.
    spans = [[event["ts"] for event in p.on_gpu if event["cat"] == "kernel"] for p in (program(LONG * 4), program(LONG * 4, False))]
    truth = (spans[0][-1] - spans[0][0] - (spans[1][-1] - spans[1][0])) / (LONG * 4 - 1) / 1e3
    assert abs(finding["gain_ms"] / truth - 1) < 0.05 and finding["confidence"] == "high", (truth, finding)
    steps = "1, 5, 9" if where == "between" else "2, 6, 10"
    assert finding["evidence"][0].startswith(f"steps {steps} of"), finding
    assert finding["title"].endswith("(every 4 steps): a checkpoint"), finding
    return []


def check_no_row(binary, folder):
    """Two slow steps are no row if others of it are missing, nor the first ones, nor two that do different things."""
    hiccup = pause(PLACES["Python code"][0], 30000, lambda n: n in (7, 9))
    finding, _ = only(binary, train(20, hiccup))
    assert finding["confidence"] == "medium" and abs(finding["gain_ms"] - 60 / 19) < 0.1, finding
    found, document, _ = test_simulated.report(binary, train(12, pause(PLACES["Python code"][0], 30000, lambda n: n in (0, 1))))
    assert found["uneven_steps"]["hint"] and "(2 of 12, the first ones)" in found["uneven_steps"]["title"], document["findings"]

    def different(program, number):
        pause(PLACES["a checkpoint"][0], 30000, lambda n: n == 3)(program, number)
        pause(PLACES["logging"][0], 30000, lambda n: n == 7)(program, number)
    finding, _ = only(binary, train(9, different))
    assert finding["confidence"] == "medium" and "(2 of 9, which do different things)" in finding["title"], finding
    return []


def check_optimizer(binary, folder):
    """Gradients of several batches: an optimizer that steps every four batches is no fault."""
    found, document, _ = test_simulated.report(binary, train(13, gpu=more_kernels("Optimizer.step#AdamW.step", 60, lambda n: n % 4 == 3)))
    assert "uneven_steps" not in found, document["findings"]
    return []


def check_words(binary, folder):
    """A cause is a word of a function's name, not any part of it; an evaluation computes something."""
    words = {"retrieval": "Python code", "medieval": "Python code", "invalidate_cache": "Python code", "logits_step": "Python code", "catalog": "Python code",
             "validate_shapes": "Python code", "log_metrics": "logging", "save_model": "a checkpoint"}
    for name, what in words.items():
        finding, _ = only(binary, train(13, pause(f"/eval/train.py(40): {name}", 30000, lambda n: n % 4 == 1)))
        assert finding["title"].endswith(": " + what), (name, finding["title"])
    for name in ("evaluate", "run_eval", "validation_step", "test_model"):
        finding, _ = only(binary, train(13, gpu=more_kernels(f"train.py(40): {name}", 60, lambda n: n % 4 == 1), backward=False))
        assert finding["title"].endswith(": evaluation") and finding["where"].endswith(name), (name, finding)
    return []


def check_waits(binary, folder):
    """The host reads the loss, and then does something: that is the reason, not what it waits for; nor is a synchronisation that each step has."""
    def log(program, number):
        if number % 4 == 2:
            with program.function("train.py(60): log_metrics"):
                with program.function("<built-in method item of Tensor object at 0x7f0000000000>"):
                    program.item()
                with program.function("train.py(70): render_figure"):
                    program.host(9000)
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(13):
            with program.step(number), program.function("train.py(10): step"):
                for _ in range(40):
                    program.matmul(150)
                log(program, number)
            program.host(20)
    finding, _ = only(binary, program)
    assert finding["where"] == "train.py(70): render_figure" and "item" not in finding["advice"], finding
    finding, _ = only(binary, train(13, pause("train.py(80): shuffle", 9000, lambda n: n % 4 == 2)))
    assert finding["title"].endswith("Python code") and ".item()" not in finding["advice"], finding
    return []


def check_allocation(binary, folder):
    """What no name explains, another finding may: its cause and its advice are taken over."""
    def allocate(program, number):
        for _ in range(5 if number == 5 else 0):
            program.call("cudaFree", program.now + 3000)
            program.call("cudaMalloc", program.now + 3000)
    finding, document = only(binary, train(9, allocate))
    assert finding["title"].startswith("Step 5 takes 30.") and finding["title"].endswith(": allocation of memory"), finding
    assert "expandable_segments" in finding["advice"] and [f["id"] for f in document["findings"]].count("allocator_churn") == 0, document["findings"]
    return []


def cases():
    found = [harness.Case(f"{what}, every {period} steps", check_period, what, period, period - 2, 3 * period + 1)
             for what, period in itertools.product(PLACES, (3, 4, 5))]
    found += [harness.Case(f"window from {first} to {steps}", check_period, "a checkpoint", 4, first, steps)
              for first, steps in itertools.product((0, 1, 3), (8, 9, 10, 11))]
    found += [harness.Case(f"gpu, every {period} steps", check_gpu, period) for period in (3, 4, 5)]
    found += [harness.Case(f"pause {where}", check_place_in_step, where) for where in ("at first", "with a copy", "at last", "between")]
    return found + [harness.Case(name, check) for name, check in (
        ("no row", check_no_row), ("optimizer", check_optimizer), ("words", check_words), ("waits", check_waits), ("allocation", check_allocation), ("once", check_once), ("last", check_last), ("irregular", check_irregular), ("even", check_even), ("other findings", check_other_findings))]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
