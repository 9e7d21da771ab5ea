#!/usr/bin/env python3
"""Chains of pointwise kernels in simulated programs: what the report says the fused version gains, against the same program with fused kernels.

    python3 -m tests.findings.test_chains --bin build/gputally [--only TEXT]

Kernels take the time that their bytes need at RATE, as those of real pointwise operators do; the fused ones, too.
"""
import itertools
import sys

from tests.common import harness
from tests.findings import test_simulated
from tests.findings.simulated_host import Program

RATE = 3.0e6  # bytes per us
FLOAT, HALF = "float", "c10::BFloat16"
BYTES = {FLOAT: 4, HALF: 2}
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor>"
REDUCE = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>"
STEPS, LAYERS, SHORTEST = 6, 6, 2.0


class Chain:
    """Operators as (name, types of the large inputs, type of the output or None for a reduction); what the fused version moves per element."""

    def __init__(self, function, forward, backward, fused_forward, fused_backward, what, advice):
        self.function, self.forward, self.backward = function, forward, backward
        self.fused_forward, self.fused_backward, self.what, self.advice = fused_forward, fused_backward, what, advice


CHAINS = {
    "norm": Chain("model.py(12): rms",
                  [("aten::copy_", [FLOAT, HALF], FLOAT), ("aten::pow", [FLOAT], FLOAT), ("aten::mean", [FLOAT], None), ("aten::rsqrt", [], None),
                   ("aten::mul", [FLOAT], FLOAT), ("aten::copy_", [HALF, FLOAT], HALF), ("aten::mul", [HALF], HALF)],
                  [("aten::mul", [HALF, HALF], HALF), ("aten::sum", [HALF], None), ("aten::copy_", [FLOAT, HALF], FLOAT), ("aten::mul", [FLOAT, FLOAT], FLOAT),
                   ("aten::sum", [FLOAT], None), ("aten::mul", [FLOAT], FLOAT), ("aten::mul", [FLOAT, FLOAT], FLOAT), ("aten::add", [FLOAT, FLOAT], FLOAT),
                   ("aten::copy_", [HALF, FLOAT], HALF)], 4, 6, "normalisation", "rms_norm"),
    "act": Chain("model.py(20): act",
                 [("aten::pow", [HALF], HALF), ("aten::mul", [HALF], HALF), ("aten::add", [HALF, HALF], HALF), ("aten::mul", [HALF], HALF),
                  ("aten::tanh", [HALF], HALF), ("aten::add", [HALF], HALF), ("aten::mul", [HALF, HALF], HALF)],
                 [("aten::mul", [HALF, HALF], HALF), ("aten::mul", [HALF, HALF], HALF), ("aten::tanh_backward", [HALF, HALF], HALF), ("aten::mul", [HALF], HALF),
                  ("aten::mul", [HALF, HALF], HALF), ("aten::add", [HALF, HALF], HALF)], 4, 6, "activation", "gelu"),
    "ema": Chain("train.py(70): average",
                 [("aten::mul_", [FLOAT], FLOAT), ("aten::mul", [FLOAT], FLOAT), ("aten::add_", [FLOAT, FLOAT], FLOAT), ("aten::mul_", [FLOAT], FLOAT)],
                 [], 12, 0, "pointwise operators", "torch._foreach"),
}


def kernel(program, rows, columns, op, shapes, pointwise=POINTWISE):
    """One operator with its kernel."""
    name, inputs, output = op
    size = rows * columns
    moved = inputs[1:] if name == "aten::copy_" else inputs
    us = (sum(BYTES[kind] for kind in moved) + (BYTES[output] if output else 0)) * size / RATE
    args = {"Input Dims": [[rows, columns] for _ in inputs] or [[rows, 1]], "Input type": list(inputs) or [FLOAT]} if shapes else {}
    with program.event("cpu_op", name, **args):
        program.host(4)
        program.launch(max(us, SHORTEST), REDUCE if not output and inputs else pointwise)
        program.host(3)


def simulate(chain, rows, fused, stacks=True, shapes=True, columns=1024):
    """Layers of a product and a chain, then their backward pass."""
    program, sequence = Program(), 0
    size = rows * columns

    def once(name, bytes_per_element):
        with program.event("cpu_op", name):
            program.host(4)
            program.launch(max(bytes_per_element * size / RATE, SHORTEST), "fused_kernel")
            program.host(3)

    def call(body):
        if not stacks:
            return body()
        with program.function("model.py(30): forward"), program.function("nn.Module: Block_3"), program.function(chain.function):
            return body()

    with program.function("train.py(1): <module>"):
        for number in range(STEPS):
            with program.step(number):
                made = []
                for _ in range(LAYERS):
                    program.matmul(100)
                    sequence += 1
                    made.append(sequence)

                    def forward():
                        with program.event("cpu_op", "autograd_function" if fused else "aten::chain", **{"Sequence number": made[-1]}):
                            if fused:
                                once("custom::fused", chain.fused_forward)
                            else:
                                for op in chain.forward:
                                    kernel(program, rows, columns, op, shapes)
                    call(forward)
                for which in reversed(made if chain.backward else []):
                    with program.event("cpu_op", "autograd::engine::evaluate_function: ChainBackward0", **{"Sequence number": which}):
                        if fused:
                            once("custom::fused_backward", chain.fused_backward)
                        else:
                            for op in chain.backward:
                                kernel(program, rows, columns, op, shapes)
                    program.matmul(200)
            program.host(20)
    return program


def check_gain(binary, folder, name, rows, kind):
    chain = CHAINS[name]
    more = {"stacks": kind != "no stacks", "shapes": kind != "no shapes"}
    program = simulate(chain, rows, False, **more)
    truth = program.step_ms() - simulate(chain, rows, True, **more).step_ms()
    found, document, _ = test_simulated.report(binary, program)
    first = document["findings"][0]
    assert first["id"] == "unfused_pointwise", document["findings"]
    ratio = first["gain_ms"] / truth
    assert (0.75 if more["shapes"] else 0.5) <= ratio <= (1.33 if more["shapes"] else 1.5), (ratio, truth, first)
    assert f"({chain.what})" in first["title"] and chain.advice in first["advice"], first
    kernels = len(chain.forward) + len(chain.backward)
    assert first["title"].startswith(f"{LAYERS} chains of {kernels} kernels per step ({chain.what}) could be {'two' if chain.backward else 'one'} each:"), first
    if more["stacks"]:
        assert first["where"] == chain.function + " in module Block", first
    if more["stacks"] and more["shapes"]:
        passes = sum(bool(inputs) for _, inputs, _ in chain.forward)
        assert first["evidence"][0].startswith(f"{passes} kernels forward") and f"[{rows}, 1024]" in first["evidence"][0], first["evidence"]
        assert first["confidence"] == "high" or first["gain_ms"] > 1.5 * float(first["title"].split(": ")[1].split(" ms")[0]) - 0.01, first
    assert "dtype_casts" not in found and "layout_copies" not in found, document["findings"]
    return []


def check_fused(binary, folder, name):
    """What is fused already is no finding, and what the report predicts for the unfused program is what this one takes."""
    _, document, _ = test_simulated.report(binary, simulate(CHAINS[name], 16384, True))
    assert not [f for f in document["findings"] if f["id"] == "unfused_pointwise"], document["findings"]
    return []


def few(binary, operators, pointwise=POINTWISE):
    """The ids of findings of a program that runs these operators after each product."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(STEPS):
            with program.step(number):
                for _ in range(LAYERS):
                    program.matmul(100)
                    with program.function("model.py(20): act"):
                        for op in operators:
                            kernel(program, 16384, 1024, op, True, pointwise)
            program.host(20)
    return test_simulated.report(binary, program)[0]


def check_what_is_no_chain(binary, folder):
    """One kernel, two kernels, and kernels of Triton."""
    add, mul = ("aten::add", [HALF, HALF], HALF), ("aten::mul", [HALF, HALF], HALF)
    assert "unfused_pointwise" not in few(binary, [add])
    assert "unfused_pointwise" not in few(binary, [add, mul])
    assert "unfused_pointwise" in few(binary, [add, mul, mul, add])
    assert "unfused_pointwise" not in few(binary, [add, mul, mul, add], "triton_poi_fused_add_mul_0")
    return []


def check_loop(binary, folder):
    """A loop over parameters fuses what belongs to one of them, and an operator in place nothing."""
    ema = [("aten::mul_", [FLOAT], FLOAT), ("aten::mul", [FLOAT], FLOAT), ("aten::add_", [FLOAT, FLOAT], FLOAT)]
    finding = few(binary, ema * 8)["unfused_pointwise"]
    assert finding["title"].startswith(f"{8 * LAYERS} chains of 3 kernels per step (pointwise operators) could be one each:"), finding
    now, fused = (float(part.split()[-1]) for part in finding["title"].split(" ms")[:2])
    assert 1.9 < now / fused < 7 / 2 + 0.1, (now, fused)
    assert "unfused_pointwise" not in few(binary, [("aten::lerp_", [FLOAT, FLOAT], FLOAT)] * 32)
    return []


def check_damaged(binary, folder):
    """Without types, sizes say nothing: the fused version takes as long as the longest kernel, and that is less sure."""
    for damage in ("Input type", "Input Dims"):
        program = simulate(CHAINS["norm"], 16384, False)
        truth = program.step_ms() - simulate(CHAINS["norm"], 16384, True).step_ms()
        for event in program.on_host:
            if event["name"] in ("aten::pow", "aten::mean"):
                event["args"].pop(damage, None)
        finding = test_simulated.report(binary, program)[0]["unfused_pointwise"]
        assert finding["confidence"] == "medium" and 0.5 < finding["gain_ms"] / truth < 1.5, (truth, finding)
        assert finding["evidence"][-1].startswith("sizes were not recorded"), finding
    return []


def check_library_chain(binary, folder):
    """A loss of library operators in a row is normal: never of high severity."""
    found = few(binary, [("aten::copy_", [FLOAT, HALF], FLOAT), ("aten::_log_softmax", [FLOAT], FLOAT), ("aten::mul", [FLOAT], FLOAT)])
    finding = found["unfused_pointwise"]
    assert finding["confidence"] == "medium" and finding["severity"] == "medium" and finding["gain_pct"] > 20, finding
    assert "(loss)" in finding["title"], finding
    return []


def check_two_functions(binary, folder):
    """Two functions are two findings, that with the larger gain first; their gains add up."""
    program = Program()
    with program.function("train.py(1): <module>"):
        for number in range(STEPS):
            with program.step(number):
                for _ in range(LAYERS):
                    for name, rows in (("act", 8192), ("norm", 16384)):
                        program.matmul(100)
                        with program.function(CHAINS[name].function):
                            for op in CHAINS[name].forward:
                                kernel(program, rows, 1024, op, True)
            program.host(20)
    _, document, _ = test_simulated.report(binary, program)
    found = [f for f in document["findings"] if f["id"] == "unfused_pointwise"]
    assert [f["where"] for f in found] == [CHAINS["norm"].function, CHAINS["act"].function], found
    assert abs(document["model_step_ms"] - sum(f["gain_ms"] for f in found) - document["all_fixed_ms"]) < 0.02, document
    return []


def cases():
    kinds = ("whole", "no stacks", "no shapes")
    found = [harness.Case(f"{name} of {rows} rows, {kind}", check_gain, name, rows, kind)
             for name, rows, kind in itertools.product(CHAINS, (4096, 16384, 65536), kinds)]
    found += [harness.Case(f"fused {name}", check_fused, name) for name in CHAINS]
    return found + [harness.Case("what is no chain", check_what_is_no_chain), harness.Case("loop", check_loop), harness.Case("damaged", check_damaged), harness.Case("library chain", check_library_chain),
                    harness.Case("two functions", check_two_functions)]


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, cases()))
