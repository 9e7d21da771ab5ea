#!/usr/bin/env python3
"""Traces of real programs with chains of small kernels, uneven steps, waits and threads in the background, and what each repair gains.

make_chains.py FOLDER [MODEL_FAULT ...]: run the programs (or those named) on the first GPU and write, into the folder, NAME.json.gz (eight profiled
steps) and faults.json: step times without the profiler, with the fault and without it, in turns.

A program is a model and one fault; its repair is the same program without the fault.
"""
import gc
import gzip
import json
import os
import queue
import statistics
import sys
import threading
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule

GPU = "cuda"
PERIODS = {"checkpoint_save": 3, "save_first": 3, "accumulate": 4, "eval_every": 4, "gc_every": 4, "log_every": 5}
LIMIT_S = float(os.environ.get("LIMIT_S", "540"))


# ---------------------------------------------------------------- operators, whole and written out
def layer_norm(x, norm, by_hand):
    if not by_hand:
        return norm(x)
    y = x.float()
    mean = y.mean(-1, keepdim=True)
    var = (y - mean).pow(2).mean(-1, keepdim=True)
    return ((y - mean) * torch.rsqrt(var + norm.eps) * norm.weight + norm.bias).to(x.dtype)


def group_norm(x, norm, by_hand):
    if not by_hand:
        return norm(x)
    b, c, h, w = x.shape
    y = x.float().reshape(b, norm.num_groups, -1)
    mean, var = y.mean(-1, keepdim=True), y.var(-1, keepdim=True, unbiased=False)
    y = ((y - mean) / torch.sqrt(var + norm.eps)).reshape(b, c, h, w)
    return (y * norm.weight[None, :, None, None] + norm.bias[None, :, None, None]).to(x.dtype)


def gelu(x, by_hand):
    if not by_hand:
        return F.gelu(x)
    return x * 0.5 * (1 + torch.erf(x / 1.4142135623730951))


def silu(x, by_hand):
    if not by_hand:
        return F.silu(x)
    return x / (1 + torch.exp(-x))


def swiglu(a, b, by_hand):
    return silu(a, by_hand) * b


def focal_loss(logits, targets, by_hand):
    if not by_hand:
        return F.binary_cross_entropy_with_logits(logits, targets)
    p = torch.sigmoid(logits.float())
    t = targets.float()
    return -(t * torch.log(p + 1e-6) + (1 - t) * torch.log(1 - p + 1e-6)).mean()


# ---------------------------------------------------------------- models
class VisionBlock(nn.Module):
    def __init__(self, d, heads, fault):
        super().__init__()
        self.heads, self.fault = heads, fault
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(layer_norm(x, self.n1, self.fault == "unfused_norm")).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.down(gelu(self.up(layer_norm(x, self.n2, self.fault == "unfused_norm")), self.fault == "unfused_act"))


class Vision(nn.Module):
    """Images in patches through an encoder."""

    def __init__(self, fault):
        super().__init__()
        self.patches, self.place = nn.Conv2d(3, 768, 16, 16), nn.Parameter(torch.zeros(1, 196, 768))
        self.blocks, self.head = nn.ModuleList(VisionBlock(768, 12, fault) for _ in range(6)), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))

    def batch(self):
        return torch.randn(96, 3, 224, 224), torch.randint(0, 1000, (96,))

    def loss(self, out, target):
        return F.cross_entropy(out, target)


class UnetBlock(nn.Module):
    def __init__(self, a, b, fault):
        super().__init__()
        self.fault = fault
        self.n1, self.c1, self.n2, self.c2 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, 1, 1), nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, 1, 1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        y = self.c1(silu(group_norm(x, self.n1, self.fault == "unfused_norm"), self.fault == "unfused_act"))
        y = self.c2(silu(group_norm(y, self.n2, self.fault == "unfused_norm"), self.fault == "unfused_act"))
        return self.skip(x) + y


class Unet(nn.Module):
    """A net that denoises images: down and up again."""

    def __init__(self, fault):
        super().__init__()
        self.first, self.last = nn.Conv2d(4, 128, 3, 1, 1), nn.Conv2d(128, 4, 3, 1, 1)
        self.down, self.middle, self.up = UnetBlock(128, 256, fault), UnetBlock(256, 256, fault), UnetBlock(256 + 256, 128, fault)

    def forward(self, x):
        x = self.down(self.first(x))
        y = self.middle(F.avg_pool2d(x, 2))
        return self.last(self.up(torch.cat([x, F.interpolate(y, scale_factor=2.0)], 1)))

    def batch(self):
        x = torch.randn(16, 4, 64, 64)
        return x, torch.randn(16, 4, 64, 64)

    def loss(self, out, target):
        return F.mse_loss(out.float(), target.float())


class Experts(nn.Module):
    """A language model whose layers choose two of eight experts for each token."""

    def __init__(self, fault):
        super().__init__()
        d, self.fault, self.n = 1024, fault, 8
        self.emb, self.norms, self.gate = nn.Embedding(8000, d), nn.ModuleList(nn.LayerNorm(d) for _ in range(3)), nn.ModuleList(nn.Linear(d, self.n) for _ in range(3))
        self.w1, self.w2, self.w3 = (nn.ParameterList(nn.Parameter(torch.randn(self.n, *shape) * 0.02) for _ in range(3)) for shape in ((d, 2048), (d, 2048), (2048, d)))
        self.head = nn.Linear(d, 8000)

    def expert_layer(self, x, i):
        score, which = self.gate[i](x).float().softmax(-1).topk(2, -1)
        order = which.flatten().argsort()
        rows = x[order // 2].view(self.n, -1, x.shape[-1])  # as if all experts had as many tokens
        y = torch.bmm(swiglu(torch.bmm(rows, self.w1[i]), torch.bmm(rows, self.w2[i]), self.fault == "unfused_act"), self.w3[i])
        y = y.view(-1, x.shape[-1]) * score.flatten()[order, None].to(x.dtype)
        return torch.zeros_like(x).index_add(0, order // 2, y)

    def forward(self, x):
        x = self.emb(x).flatten(0, 1)
        for i, norm in enumerate(self.norms):
            x = x + self.expert_layer(layer_norm(x, norm, self.fault == "unfused_norm"), i)
        return self.head(x)

    def batch(self):
        x = torch.randint(0, 8000, (16, 512))
        return x, x.flatten()

    def loss(self, out, target):
        return F.cross_entropy(out, target)


class Ranker(nn.Module):
    """Embeddings of users and items, and how likely each of many clicks is."""

    def __init__(self, fault):
        super().__init__()
        self.fault, self.tables = fault, nn.ModuleList(nn.Embedding(200000, 128) for _ in range(8))
        self.mlp = nn.Sequential(nn.Linear(8 * 128, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 2048))

    def forward(self, x):
        return self.mlp(torch.cat([table(x[:, i]) for i, table in enumerate(self.tables)], -1))

    def batch(self):
        return torch.randint(0, 200000, (32768, 8)), (torch.rand(32768, 2048) < 0.1).bfloat16()

    def loss(self, out, target):
        return focal_loss(out, target, self.fault == "unfused_loss")


class Recurrent(nn.Module):
    """A recurrent net over a series."""

    def __init__(self, fault):
        super().__init__()
        self.fault, self.first, self.rnn, self.norm, self.last = fault, nn.Linear(64, 512), nn.GRU(512, 512, 2, batch_first=True), nn.LayerNorm(512), nn.Linear(512, 64)

    def forward(self, x):
        return self.last(layer_norm(gelu(self.rnn(self.first(x))[0], self.fault == "unfused_act"), self.norm, self.fault == "unfused_norm"))

    def batch(self):
        x = torch.randn(256, 512, 64)
        return x, x

    def loss(self, out, target):
        return F.mse_loss(out, target)


MODELS = {"vision": Vision, "unet": Unet, "experts": Experts, "ranker": Ranker, "recurrent": Recurrent}
STEPS = ("healthy", "accumulate", "save_first", "checkpoint_save", "eval_every", "gc_every", "log_every", "queue_wait", "background_writer", "ema")
FAULTS = {"vision": STEPS + ("unfused_norm", "unfused_act"), "unet": STEPS + ("unfused_norm", "unfused_act"), "experts": STEPS + ("unfused_norm", "unfused_act"),
          "ranker": ("healthy", "unfused_loss", "eval_every", "queue_wait", "background_writer", "log_every"),
          "recurrent": ("unfused_norm", "unfused_act", "gc_every")}


# ---------------------------------------------------------------- programs
class Program:
    def __init__(self, name, fault):
        torch.manual_seed(0)
        self.fault, self.model, self.number, self.stop = fault, MODELS[name](fault).to(GPU).bfloat16(), 0, threading.Event()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-5, fused=True)
        self.items = [t.bfloat16().pin_memory() if t.is_floating_point() else t.pin_memory() for t in self.model.batch()]
        self.averages = [torch.zeros_like(p) for p in self.model.parameters()]
        self.fetched = queue.Queue(2)
        if fault == "queue_wait":
            threading.Thread(target=self.feed, daemon=True).start()
        if fault == "background_writer":
            threading.Thread(target=self.write, daemon=True).start()

    def feed(self):
        while not self.stop.is_set():
            time.sleep(0.05)
            self.fetched.put(1)

    def write(self):
        side, big = torch.cuda.Stream(), torch.randn(8000000, device=GPU)
        while not self.stop.is_set():
            time.sleep(0.02)
            with torch.cuda.stream(side):
                copy = big.cpu()
            copy[:1000000].sum().item()

    def average(self):
        for p, a in zip(self.model.parameters(), self.averages):
            a.copy_(a * 0.99 + p.detach() * 0.01)

    def evaluate(self, x):
        with torch.no_grad():
            for _ in range(3):
                self.model(x)

    def log_weights(self):
        return sum(p.float().norm().item() for p in self.model.parameters() for _ in range(4))

    def train_step(self):
        self.number += 1
        if self.fault == "queue_wait":
            self.fetched.get()
        if self.fault == "save_first" and self.number % PERIODS["save_first"] == 0:
            torch.save(self.model.state_dict(), "/tmp/checkpoint.pt")
        x, target = (t.to(GPU, non_blocking=True) for t in self.items)
        loss = self.model.loss(self.model(x), target)
        loss.backward()
        if self.fault != "accumulate" or self.number % PERIODS["accumulate"] == 0:  # a healthy program: gradients of several batches
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        if self.fault == "ema":
            self.average()
        if self.number % PERIODS.get(self.fault, 1) or self.fault not in PERIODS:
            return
        if self.fault == "checkpoint_save":
            torch.save(self.model.state_dict(), "/tmp/checkpoint.pt")
        if self.fault == "eval_every":
            self.evaluate(x)
        if self.fault == "gc_every":
            garbage = [[i] for i in range(300000)]
            gc.collect()
            del garbage
        if self.fault == "log_every":
            self.log_weights()


def time_steps(program, steps):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        program.train_step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e3


def measure(faulty, repaired):
    """Medians of three rounds, in turns; a round has whole periods of 3, 4 and 5 steps."""
    rounds = []
    for program in (faulty, repaired):
        time_steps(program, 6)
    for _ in range(3):
        rounds.append((time_steps(faulty, 60 if faulty.fault == "log_every" else 24), time_steps(repaired, 24)))
    return [statistics.median(times) for times in zip(*rounds)]


def record(name, fault, path):
    program = Program(name, fault)
    time_steps(program, 4)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=True, schedule=schedule(wait=1, warmup=1, active=8 if fault != "log_every" else 11)) as profiler:
        for _ in range(10 if fault != "log_every" else 13):
            program.train_step()
            profiler.step()
    program.stop.set()
    profiler.export_chrome_trace("t.json")
    with open("t.json", "rb") as file, gzip.open(path, "wb", 9) as packed:
        packed.write(file.read())


def main():
    folder, names, start = sys.argv[1], sys.argv[2:], time.time()
    facts = {}
    for model, faults in FAULTS.items():
        for fault in faults:
            name = f"{model}_{fault}"
            if (names and name not in names) or time.time() - start > LIMIT_S:
                continue
            faulty, repaired = Program(model, fault), Program(model, "healthy")
            step_ms, repaired_ms = measure(faulty, repaired)
            faulty.stop.set()
            del faulty, repaired
            record(model, fault, os.path.join(folder, name + ".json.gz"))
            facts[name] = {"fault": fault, "model": model, "step_ms": round(step_ms, 3), "repaired_ms": round(repaired_ms, 3)}
            print(name, facts[name], os.path.getsize(os.path.join(folder, name + ".json.gz")), round(time.time() - start), flush=True)
            with open(os.path.join(folder, "faults.json"), "w", encoding="utf-8") as file:
                json.dump(facts, file, indent=1)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
