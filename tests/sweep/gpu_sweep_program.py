#!/usr/bin/env python3
"""The program that gpu_sweep.sh sweeps: a few training steps of a stack of square layers in float32, under torch.profiler.

    MATMUL_PRECISION=high gpu_sweep_program.py --size 4096 --output PROFILER_DIR

Two settings matter and are known: with a size that is not a multiple of 4, matrices are not aligned as tensor cores need them, and
with the precision "highest", tensor cores are not used at all. What PYTORCH_CUDA_ALLOC_CONF says about segments does not matter,
because every step allocates the same sizes.

--without_gpu writes synthetic traces with the same order of the settings instead, so that the script can be tested anywhere. They
need no PyTorch.
"""
import argparse
import json
import os
import random
import sys

LAYERS, STEPS, WARM_UP = 4, 6, 3


def train(size, path):
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
    torch.manual_seed(1)
    torch.set_float32_matmul_precision(os.environ["MATMUL_PRECISION"])
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(size, size, bias=False), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(size, size, device="cuda")
    plan = schedule(wait=0, warmup=WARM_UP, active=STEPS, repeat=1)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=plan, record_shapes=True,
                 on_trace_ready=lambda p: p.export_chrome_trace(path)) as profiler:
        for _ in range(WARM_UP + STEPS):
            optimizer.zero_grad(set_to_none=True)
            loss = model(data).square().mean()
            loss.backward()
            optimizer.step()
            loss.item()  # waits, as a program that logs its loss does
            profiler.step()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}: size {size}, loss {loss.item():.6f}")


def pretend(size, path):
    from tests.sweep.generate_decisions import trace
    dice = random.Random(os.path.relpath(path, os.environ["GPUTALLY_SWEEP_DIR"]))  # another noise for each run, the same in each sweep
    step_us = 4000.0 * (1.3 if size % 4 else 1) * (3 if os.environ["MATMUL_PRECISION"] == "highest" else 1)
    length = step_us * dice.lognormvariate(0, 0.005)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(trace(0, 1, [length * dice.lognormvariate(0, 0.002) for _ in range(STEPS)], 1.2, 0.01, dice.random()), file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--without_gpu", action="store_true")
    args = parser.parse_args()
    folder = os.path.join(args.output, "rank0")
    os.makedirs(folder, exist_ok=True)
    (pretend if args.without_gpu else train)(args.size, os.path.join(folder, "trace.json"))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.exit(main())
