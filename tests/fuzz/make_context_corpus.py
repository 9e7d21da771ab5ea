#!/usr/bin/env python3
"""Writes the corpus of fuzz_context: contexts as users write them.

    python3 -m tests.fuzz.make_context_corpus tests/fuzz/corpus/context
"""
import os
import sys

CONTEXTS = {
    "tools.json": '{"tools": [{"name": "rocprofv3_compute"}, {"name": "gpu_info_power_profiler", "env_vars": '
                  '{"POWER_DEVICE": "0,1"}}, {"name": "miopen_trace"}]}',
    "literal.txt": "{'tools': [{'name': 'rocprof', 'cmd': 'bash ../scripts/common/tools/rocprof_wrapper.sh --sys-trace'}], "
                   "'debug': None, 'x': (1, .5, -1_0, True), 'y': 'a\\'b\\x41\\u00e9\\101',}",
    "keys.json": '{"gpu_vendor": "nvidia", "guest_os": "centos", "docker_build_arg": {"A": 1, "B": true}, "env_vars": '
                 '{"OMP_NUM_THREADS": "8"}, "slurm": {"nodes": 2}, "distributed": {"nproc_per_node": 4}, '
                 '"encapsulate_script": "numactl -N 0", "pre_scripts": [{"path": "a.sh", "args": "b c"}]}',
    "own.json": '{"tools": [{"name": "rocprof", "cmd": "rocprofv3 --hip-trace=false -f csv json -o x -i c.yaml --pmc A B -- '
                'env A=1"}, {"name": "test_tools_A"}, {"name": "test_tools_B", "cmd": "echo \\"$HOME\\" && "}]}',
}

for name, text in CONTEXTS.items():
    with open(os.path.join(sys.argv[1], name), "w") as out:
        out.write(text)
