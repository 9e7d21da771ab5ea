#!/usr/bin/env python3
"""Which traces do real programs with known faults leave, and what is each fault worth?

make_faults.py MODEL [NAME ...]: run the programs of one model (or only those named) on the first GPU and
write, into the current folder, NAME.json.gz (three profiled steps) and MODEL.jsonl (step times without
the profiler: faulty, every single repair, all repairs).

A program is a model and a set of flags. Most flags are faults; a repair takes the flag away. The fault
launch_bound is a program that is too small for its GPU, and its repair is the flag graph. The flags small,
strict and reentrant choose a variant and stay in the repaired program.
"""
import gc
import gzip
import json
import os
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

GPU = 'cuda'
LOG = open(os.devnull, 'w')


# ---------------------------------------------------------------- models
class ConvBlock(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.c2, self.n2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        self.skip = nn.Identity() if a == b else nn.Conv2d(a, b, 1, stride, bias=False)

    def forward(self, x):
        y = self.n2(self.c2(F.relu(self.n1(self.c1(x)))))
        return F.relu(y + self.skip(x))


class ConvNet(nn.Module):
    """Residual convolutions: a stem, four blocks, a classifier."""

    def __init__(self, flags):
        super().__init__()
        c = 63 if 'odd_shapes' in flags else 64
        self.stem, self.norm = nn.Conv2d(3, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c)
        self.blocks = nn.ModuleList([ConvBlock(c, c, 1), ConvBlock(c, 2 * c, 2), ConvBlock(2 * c, 4 * c, 2), ConvBlock(4 * c, 8 * c, 2)])
        self.head = nn.Linear(8 * c, 1000)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        for b in self.blocks:
            x = b(x)
        return self.head(x.mean((2, 3)))


class MixerBlock(nn.Module):
    def __init__(self, d, tokens, flags):
        super().__init__()
        self.flags = flags
        self.n1, self.t1, self.t2 = nn.LayerNorm(d), nn.Linear(tokens, 2 * tokens), nn.Linear(2 * tokens, tokens)
        self.n2, self.c1, self.c2 = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        if 'layout_copies' in self.flags:
            x = x.transpose(1, 2).contiguous().transpose(1, 2).contiguous()
        y = self.n1(x).transpose(1, 2)
        y = self.t2(F.gelu(self.t1(y))).transpose(1, 2)
        if 'layout_copies' in self.flags:
            x = x.clone()
        x = x + y
        return x + self.c2(F.gelu(self.c1(self.n2(x))))


class Mixer(nn.Module):
    """An MLP mixer: its transposes copy also where no fault is planted."""

    def __init__(self, flags):
        super().__init__()
        self.flags = flags
        d = 256 if 'small' in flags else 1001 if 'odd_shapes' in flags else 1024
        self.inp = nn.Linear(192, d)
        self.blocks = nn.ModuleList([MixerBlock(d, 256, flags) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 1000)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant='reentrant' in self.flags) if 'recompute' in self.flags else b(x)
        return self.head(self.norm(x).mean(1))


class EncoderLayer(nn.Module):
    def __init__(self, d, heads, flags):
        super().__init__()
        self.h, self.flags = heads, flags
        self.qkv, self.out, self.n1 = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d)
        self.up, self.down, self.n2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.LayerNorm(d)

    def attend(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        if 'math_attention' in self.flags:
            a = torch.softmax(q @ k.transpose(-1, -2) * (d // self.h) ** -0.5, -1) @ v
        else:
            a = F.scaled_dot_product_attention(q, k, v)
        return self.out(a.transpose(1, 2).reshape(b, s, d))

    def forward(self, x):
        x = self.n1(x + self.attend(x))
        x = self.n2(x + self.down(F.gelu(self.up(x))))
        if 'host_sync' in self.flags and x[0, 0, 0].isnan():
            raise ValueError('not a number')
        return x


class Encoder(nn.Module):
    """A bidirectional encoder with LayerNorm after each part and a token head."""

    def __init__(self, flags):
        super().__init__()
        self.flags = flags
        d, vocab, layers = (256, 2048, 3) if 'small' in flags else (1024, 16381 if 'odd_shapes' in flags else 16384, 3)
        self.emb = nn.Embedding(16384, d)
        self.layers = nn.ModuleList([EncoderLayer(d, d // 64, flags) for _ in range(layers)])
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, t):
        x = self.emb(t)
        for b in self.layers:
            x = checkpoint(b, x, use_reentrant='reentrant' in self.flags) if 'recompute' in self.flags else b(x)
        return self.head(x).flatten(0, 1)


class DecoderLayer(nn.Module):
    def __init__(self, d, heads, length, flags):
        super().__init__()
        self.h, self.flags, self.length = heads, flags, length
        self.n1, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.n2, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.register_buffer('k', torch.zeros(1, heads, length, d // heads))
        self.register_buffer('v', torch.zeros(1, heads, length, d // heads))

    def forward(self, x, pos, mask):
        if 'host_sync' in self.flags and pos >= self.length:
            raise IndexError('the cache is full')
        q, k, v = self.qkv(self.n1(x)).view(1, 1, 3, self.h, -1).unbind(2)
        self.k.index_copy_(2, pos, k.transpose(1, 2))
        self.v.index_copy_(2, pos, v.transpose(1, 2))
        a = F.scaled_dot_product_attention(q.transpose(1, 2), self.k, self.v, attn_mask=mask)
        x = x + self.out(a.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    """A decoder that makes one token at a time from its cache of keys and values."""

    def __init__(self, flags, d=1024, length=512, vocab=8192):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList([DecoderLayer(d, d // 64, length, flags) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
        self.register_buffer('places', torch.arange(length))

    def forward(self, token, pos):
        x = self.emb(token)[None]
        mask = (self.places <= pos)[None, None, None]
        for b in self.layers:
            x = b(x, pos, mask)
        return self.head(self.norm(x))[0].argmax(-1)


# ---------------------------------------------------------------- input
class Batches(Dataset):
    """Ready batches in pinned (or pageable) memory; with data_stall each takes CPU time to make."""

    def __init__(self, batch, flags, sleep):
        self.flags, self.sleep = flags, sleep
        self.ready = [[t if 'pageable_copy' in flags else t.pin_memory() for t in batch] for _ in range(2)]
        self.raw = (batch[0] * 32).to(torch.int16) if batch[0].is_floating_point() else None

    def __len__(self):
        return 1 << 40

    def __getitem__(self, i):
        x, y = self.ready[i % 2]
        if 'data_stall' in self.flags:
            if self.sleep:
                time.sleep(self.sleep)
            else:
                decode(self.raw, x)
        return x, y


def decode(raw, out):
    for _ in range(3):
        torch.mul(raw, 1 / 32, out=out).sub_(0.45).div_(0.225).clamp_(-3, 3)


def batches(batch, flags, sleep=0.0):
    return iter(DataLoader(Batches(batch, flags, sleep), batch_size=None))


def busy_python(n):
    k, s = 0, 0
    while k < n:
        s += k * k % 7
        k += 1
    return s


# ---------------------------------------------------------------- programs: each returns its step function
def dtype_of(flags):
    return torch.float32 if 'fp32_gemm' in flags else torch.bfloat16


def captured(body):
    """Record body into a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            body()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    return graph


def conv_parts(flags):
    n, side = (16, 32) if 'small' in flags else (512, 64)
    batch = [torch.randn(n, 3, side, side), torch.randint(0, 1000, (n,))]
    model = ConvNet(flags).to(GPU, dtype_of(flags))
    if 'layout_copies' not in flags:
        model = model.to(memory_format=torch.channels_last)
        batch[0] = batch[0].to(memory_format=torch.channels_last)
    return model, batch


def mixer_parts(flags):
    n = 8 if 'small' in flags else 128
    return Mixer(flags).to(GPU, dtype_of(flags)), [torch.randn(n, 256, 192), torch.randint(0, 1000, (n,))]


def encoder_parts(flags):
    n, s = (4, 128) if 'small' in flags else (32, 512)
    vocab = 2048 if 'small' in flags else 16381
    t = torch.randint(0, vocab, (n, s))
    return Encoder(flags).to(GPU, dtype_of(flags)), [t, torch.randint(0, vocab, (n * s,))]


PARTS = {'conv': conv_parts, 'mixer': mixer_parts, 'encoder': encoder_parts, 'compiled': encoder_parts}


def train(kind, flags):
    model, batch = PARTS[kind](flags)
    if kind == 'compiled':
        model.compile(mode='reduce-overhead' if 'graph' in flags else None)
    slow = 'slow_optimizer' in flags
    params = list(model.parameters())
    graph = 'graph' in flags and kind != 'compiled'
    opt = torch.optim.AdamW(params, 1e-4, fused=not slow, foreach=False if slow else None, capturable=graph)
    data = batches(batch, flags, 0.0 if kind == 'conv' else 0.025)
    dtype = dtype_of(flags)

    def to_gpu(t):
        t = t.to(GPU, non_blocking=True)
        return t.to(dtype) if t.is_floating_point() else t

    def learn(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if 'host_sync' in flags and kind != 'encoder':
            norm = 0.0
            for p in params:
                norm += p.grad.norm().item() ** 2
            if norm > 1e9:
                print('gradient', norm, file=LOG)
        opt.step()
        return loss

    if graph:
        sx, sy = [to_gpu(t) for t in next(data)]
        recorded = captured(lambda: learn(sx, sy))

    def step():
        x, y = next(data)
        if graph:
            sx.copy_(x, non_blocking=True)
            sy.copy_(y, non_blocking=True)
            recorded.replay()
            return
        loss = learn(to_gpu(x), to_gpu(y))
        if 'python_busy' in flags:
            busy_python(100000 if 'small' in flags else 600000)
        if 'host_sync' in flags:
            print('loss', loss, file=LOG)
        if 'allocator_churn' in flags:
            torch.cuda.empty_cache()
    return step


def infer(kind, flags):
    """Batches through the convolutional net, results back to the host."""
    model, batch = conv_parts(flags)
    model.eval()
    data = batches(batch, flags, 0.015)
    dtype = dtype_of(flags)
    results = [torch.empty(batch[0].shape[0], 1000, dtype=dtype).pin_memory() for _ in range(2)]
    turn = [0]

    @torch.no_grad()
    def step():
        x, _ = next(data)
        y = model(x.to(GPU, non_blocking=True).to(dtype))
        if 'cpu_roundtrip' in flags:
            y = y.cpu().float().sort(-1, descending=True).values.to(GPU)
        y = y.softmax(-1)
        if 'host_sync' in flags:
            best = y.amax(-1)
            for i in range(24):
                if best[i] > 2:
                    print(i, best[i].item(), file=LOG)
        if 'pageable_copy' in flags:
            y.cpu()
        else:
            turn[0] ^= 1
            results[turn[0]].copy_(y, non_blocking=True)
        if 'allocator_churn' in flags:
            torch.cuda.empty_cache()
        if 'python_busy' in flags:
            busy_python(200000)
    return step


def decode_tokens(kind, flags):
    """Two tokens a step from one sequence: small kernels, so the host decides the speed."""
    model = Decoder(flags).to(GPU, torch.bfloat16).eval()
    token, pos = torch.zeros(1, dtype=torch.long, device=GPU), torch.zeros(1, dtype=torch.long, device=GPU)
    out = torch.zeros(512, dtype=torch.long, device=GPU)

    @torch.no_grad()
    def one():
        token.copy_(model(token, pos))
        out.index_copy_(0, pos, token)
        pos.add_(1).remainder_(512)

    recorded = captured(one) if 'graph' in flags else None

    @torch.no_grad()
    def step():
        for _ in range(2):
            if recorded:
                recorded.replay()
            else:
                one()
            if 'host_sync' in flags and token.item() < 0:
                print('end', file=LOG)
            if 'python_busy' in flags:
                busy_python(60000)
    return step


def streams(kind, flags):
    """Training whose next batch is copied on a second stream."""
    n = 64
    model = Mixer(flags).to(GPU, dtype_of(flags))
    batch = [torch.randn(n, 256, 768), torch.randint(0, 1000, (n,))]
    data = batches(batch, flags, 0.025)
    opt = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    side = torch.cuda.current_stream() if 'exposed_copy' in flags else torch.cuda.Stream()
    ahead = []

    def fetch():
        with torch.cuda.stream(side):
            ahead.append([t.to(GPU, non_blocking=True) for t in next(data)])
        if 'host_sync' in flags:
            torch.cuda.synchronize()

    def step():
        main = torch.cuda.current_stream()
        main.wait_stream(side)
        x, y = ahead.pop()
        x.record_stream(main)
        y.record_stream(main)
        fetch()
        opt.zero_grad()
        loss = F.cross_entropy(model(x[..., :192].to(dtype_of(flags))), y)
        loss.backward()
        opt.step()
        if 'allocator_churn' in flags:
            torch.cuda.empty_cache()

    fetch()
    return step


BUILD = {'conv': train, 'mixer': train, 'encoder': train, 'compiled': train, 'infer': infer, 'decode': decode_tokens, 'streams': streams}

# name -> (model, faults, other flags)
PROGRAMS = {}


def program(model, faults='', variant='', suffix=''):
    faults = tuple(faults.split())
    PROGRAMS['_'.join((model,) + (faults or ('healthy',)) + ((suffix,) if suffix else ()))] = (model, faults, frozenset(variant.split()))


program('conv')
for fault in 'data_stall fp32_gemm layout_copies odd_shapes allocator_churn pageable_copy python_busy'.split():
    program('conv', fault)
program('conv', 'fp32_gemm', 'strict', 'strict')
for fault in 'host_sync slow_optimizer launch_bound'.split():
    program('conv', fault, 'small')
program('conv', 'data_stall fp32_gemm')
program('conv', 'pageable_copy layout_copies')
program('conv', 'host_sync allocator_churn')
program('mixer')
for fault in 'data_stall fp32_gemm layout_copies odd_shapes python_busy'.split():
    program('mixer', fault)
program('mixer', 'recompute', 'reentrant')
for fault in 'host_sync slow_optimizer launch_bound allocator_churn'.split():
    program('mixer', fault, 'small', 'small' if fault == 'allocator_churn' else '')
program('mixer', 'python_busy slow_optimizer', 'small')
program('mixer', 'fp32_gemm layout_copies')
program('encoder')
for fault in 'math_attention recompute odd_shapes host_sync fp32_gemm allocator_churn'.split():
    program('encoder', fault)
program('encoder', 'host_sync', 'small', 'small')
program('encoder', 'host_sync allocator_churn')
program('encoder', 'math_attention recompute')
program('infer')
for fault in 'data_stall pageable_copy cpu_roundtrip host_sync fp32_gemm allocator_churn python_busy'.split():
    program('infer', fault)
program('infer', 'data_stall cpu_roundtrip')
program('infer', 'host_sync fp32_gemm')
program('decode', '', 'graph')
for fault in 'launch_bound host_sync python_busy'.split():
    program('decode', fault)
program('streams')
for fault in 'host_sync pageable_copy exposed_copy data_stall'.split():
    program('streams', fault)
program('streams', 'pageable_copy fp32_gemm')
program('compiled')
for fault in 'data_stall fp32_gemm'.split():
    program('compiled', fault)
program('compiled', 'launch_bound', 'small')
program('compiled', 'slow_optimizer', 'small')
program('compiled', 'host_sync', 'small')


# ---------------------------------------------------------------- measuring and recording
def repaired(flags, fault):
    return flags | {'graph'} if fault == 'launch_bound' else flags - {fault}


def clean():
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def start(model, flags):
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = 'strict' not in flags
    return BUILD[model](model, flags)


def spin(step, k):
    t = time.perf_counter()
    for _ in range(k):
        step()
    torch.cuda.synchronize()
    return time.perf_counter() - t


def round_of(step, k):
    """Step time of the running program: 3k steps less k steps, so filling and draining the queue cancel."""
    spin(step, 2)
    short = spin(step, k)
    return (spin(step, 3 * k) - short) / (2 * k)


def record(step, name):
    def keep(p):
        p.export_chrome_trace('t.json')

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=schedule(wait=1, warmup=3, active=3), on_trace_ready=keep, record_shapes=True, with_stack=True) as p:
        for _ in range(7):
            step()
            p.step()
    torch.cuda.synchronize()
    with open('t.json', 'rb') as f, open(name + '.json.gz', 'wb') as g:
        with gzip.GzipFile('', 'wb', 9, g, 0) as z:
            z.write(f.read())
    os.remove('t.json')


def measure(steps):
    """Median step times in ms. The programs take turns, so that changes of clock rates meet all of them alike."""
    ks = []
    for step in steps:
        spin(step, 5)
        ks.append(max(3, min(100, round(0.12 / spin(step, 3)))))
    rounds = [[round_of(step, k) for step, k in zip(steps, ks)] for _ in range(7)]
    return [round(1e3 * statistics.median(r), 3) for r in zip(*rounds)]


def variants(name):
    """flags of the faulty program, of each single repair, of all repairs, and of all with a CUDA graph"""
    model, faults, variant = PROGRAMS[name]
    faulty = frozenset(faults) | variant
    fixed = faulty
    for fault in faults:
        fixed = repaired(fixed, fault)
    single = {fault: repaired(faulty, fault) for fault in faults}
    graph = fixed | {'graph'} if ('small' in variant or model == 'decode') and model != 'compiled' else fixed
    return faulty, single, fixed, graph


def run(name):
    model, faults, variant = PROGRAMS[name]
    faulty, single, fixed, graph = variants(name)
    wanted = list(dict.fromkeys([faulty, *single.values(), fixed, graph]))
    steps = [start(model, flags) for flags in wanted]
    ms = dict(zip(wanted, measure(steps)))
    record(steps[0], name)
    steps.clear()
    clean()
    entry = {'fault': faults[0] if faults else 'healthy', 'model': model, 'step_ms': ms[faulty], 'repaired_ms': ms[fixed]}
    if len(faults) > 1:
        entry['faults'], entry['repaired_one_ms'] = list(faults), {f: ms[single[f]] for f in faults}
    if graph != fixed:
        entry['graph_ms'] = ms[graph]
    return entry


def main(model, names):
    torch.set_num_threads(2)
    for name in names or [n for n in PROGRAMS if PROGRAMS[n][0] == model]:
        t = time.time()
        try:
            entry = run(name)
        except Exception as e:
            clean()
            entry = {'error': repr(e)[:400]}
        with open(model + '.jsonl', 'a') as f:
            f.write(json.dumps({name: entry}) + '\n')
        print(name, entry, '%.1f s' % (time.time() - t), flush=True)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2:])
