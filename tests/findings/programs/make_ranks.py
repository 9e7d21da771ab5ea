#!/usr/bin/env python3
"""What do two ranks that train together on one GPU leave, and what does a slow rank cost?

make_ranks.py RANK FAULT: run one of two ranks (start both). Gradients are summed over gloo, because NCCL refuses
two ranks on one GPU. With the fault slow_rank the second rank sleeps 6 ms in each step. Writes
ranks_FAULT_RANK.json.gz and ranks_FAULT_RANK.jsonl into the current folder.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn

from make_faults import GPU, record, round_of

rank, fault = int(sys.argv[1]), sys.argv[2]
os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29511', RANK=str(rank), WORLD_SIZE='2')
torch.cuda.set_device(0)
dist.init_process_group('gloo')
net = nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(1024, 1024), nn.GELU())]).to(GPU, torch.bfloat16)
model = nn.parallel.DistributedDataParallel(net, device_ids=[0])
opt = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
x = torch.randn(4096, 1024, device=GPU, dtype=torch.bfloat16)


def step():
    if fault == 'slow_rank' and rank == 1:
        time.sleep(0.006)
    opt.zero_grad()
    model(x).float().square().mean().backward()
    opt.step()


times = sorted(round_of(step, 5) for _ in range(7))
name = 'ranks_%s_%d' % (fault, rank)
record(step, name)
with open(name + '.jsonl', 'w') as f:
    f.write(json.dumps({name: {'fault': fault, 'model': 'ranks', 'step_ms': round(1e3 * times[3], 3)}}) + '\n')
print(name, times, flush=True)
dist.destroy_process_group()
