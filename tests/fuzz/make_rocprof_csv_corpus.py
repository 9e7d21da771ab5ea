#!/usr/bin/env python3
"""Writes the seeds of fuzz_rocprof_csv: one file of each kind and dialect, a few rows each.

    python3 -m tests.fuzz.make_rocprof_csv_corpus        writes tests/fuzz/corpus/rocprof_csv/

The first byte of a seed sets the options; see fuzz_rocprof_csv.c.
"""
import glob
import os
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
from tests.rocprof import generate_run as maker

OUT = os.path.join(HERE, "corpus", "rocprof_csv")
os.makedirs(OUT, exist_ok=True)


def write(name, data, options=b"\2"):
    with open(os.path.join(OUT, name), "wb") as file:
        file.write(options + data)


with tempfile.TemporaryDirectory() as folder:
    run = maker.make_run(dispatches=5, seed=2)
    maker.write_csv(run[0], os.path.join(folder, "a", "1"))
    maker.write_csv_old(run[0], os.path.join(folder, "b", "old"))
    maker.write_csv_converted(run, os.path.join(folder, "c", "converted"))
    for path in glob.glob(os.path.join(folder, "*", "*.csv")):
        with open(path, "rb") as file:
            write(os.path.basename(path)[:-4], file.read(), b"\4" if "agent" in path else b"\2")
    # Long enough for several threads, whose chunks have 512 bytes.
    several = maker.make_run(dispatches=12, processes=2, seed=5)
    maker.write_csv(maker.make_run(dispatches=25, seed=5)[0], os.path.join(folder, "d", "1"))
    maker.write_csv_converted(several, os.path.join(folder, "e", "1"))
    for name in ("d/1_kernel_trace", "d/1_hip_api_trace", "e/1_kernel_trace"):
        with open(os.path.join(folder, name + ".csv"), "rb") as file:
            write("threads_" + name.replace("/1", ""), file.read()[:3000], b"\x0a")
write("v1", b'Index,KernelName,gpu-id,pid,grd,wgr,SQ_WAVES,BeginNs,EndNs\n0,"f(int)",2,41,64,64,16,10,30\n')
write("quotes", b'\xef\xbb\xbf"Kernel_Name","Dispatch_Id","Start_Timestamp","End_Timestamp"\r\n"a "b" c",1,-5,18446744073709551615\r\n')
write("cut", b'Guid,Kernel_Name,Dispatch_Id,Start_Timestamp,End_Timestamp\nx,"a ""b"", c",1,2,3\nx,"y', b"\1")
