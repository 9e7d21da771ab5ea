"""rocprofv3 JSON files of a few records, for tests of findings."""
import json

KINDS = ("KERNEL_DISPATCH", "MEMORY_COPY", "HIP_RUNTIME_API", "MARKER_CORE_RANGE_API")
COPIES = ("MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
          "MEMORY_COPY_DEVICE_TO_DEVICE")
HOST, GPU, OTHER_GPU = 1, 2, 3
US = 1000


class Run:
    """Times are nanoseconds after the run's beginning."""

    def __init__(self, begin=8_000_000_000_000, product="AMD Instinct MI300X", architecture="gfx942"):
        self.begin, self.product, self.architecture = begin, product, architecture
        self.names, self.calls = [], []
        self.dispatches, self.copies, self.hip, self.markers = [], [], [], []

    def record(self, kind, operation, start, end, correlation):
        return {"size": 80, "kind": KINDS.index(kind), "operation": operation, "thread_id": 7,
                "correlation_id": {"internal": correlation, "external": 0},
                "start_timestamp": self.begin + start, "end_timestamp": self.begin + end}

    def kernel(self, name, start, length, stream=1, correlation=0, agent=GPU, queue=1):
        if name not in self.names:
            self.names.append(name)
        record = self.record("KERNEL_DISPATCH", 0, start, start + length, correlation)
        axes = {"x": 64, "y": 1, "z": 1}
        record.update(stream_id={"handle": stream}, dispatch_info={
            "agent_id": {"handle": agent}, "queue_id": {"handle": queue}, "kernel_id": 1 + self.names.index(name),
            "dispatch_id": len(self.dispatches) + 1, "private_segment_size": 0, "group_segment_size": 0,
            "workgroup_size": axes, "grid_size": axes})
        self.dispatches.append(record)

    def copy(self, direction, start, length, size, stream=1, correlation=0):
        record = self.record("MEMORY_COPY", COPIES.index("MEMORY_COPY_" + direction), start, start + length, correlation)
        source, destination = {"HOST_TO_DEVICE": (HOST, GPU), "DEVICE_TO_HOST": (GPU, HOST)}.get(direction, (GPU, GPU))
        record.update(bytes=size, src_agent_id={"handle": source}, dst_agent_id={"handle": destination},
                      stream_id={"handle": stream})
        self.copies.append(record)

    def call(self, name, start, length, correlation=0):
        if name not in self.calls:
            self.calls.append(name)
        self.hip.append(self.record("HIP_RUNTIME_API", self.calls.index(name), start, start + length, correlation))

    def document(self):
        def agent(handle, kind, name, product):
            return {"size": 312, "id": {"handle": handle}, "type": kind, "name": name, "product_name": product, "vendor_name": "",
                    "model_name": "", "node_id": handle, "logical_node_id": handle, "cu_count": 304 if kind == 2 else 64,
                    "max_engine_clk_fcompute": 2100 if kind == 2 else 0}
        strings = [{"kind": kind, "operations": list(COPIES) if kind == "MEMORY_COPY" else self.calls}
                   for kind in KINDS]
        return {"rocprofiler-sdk-tool": [{
            "metadata": {"node": {"hostname": "node-a"}, "pid": 7, "init_time": self.begin, "fini_time": self.begin + 10**9,
                         "command": ["python3"]},
            "agents": [agent(HOST, 1, "EPYC", "EPYC"), agent(GPU, 2, self.architecture, self.product),
                       agent(OTHER_GPU, 2, self.architecture, self.product)],
            "counters": [], "strings": {"callback_records": [], "buffer_records": strings, "marker_api": [],
                                        "correlation_id": {"external": []}},
            "code_objects": [], "kernel_symbols": [{"kernel_id": 1 + i, "kernel_name": name + ".kd", "formatted_kernel_name": name,
                                                    "truncated_kernel_name": name, "demangled_kernel_name": name}
                                                   for i, name in enumerate(self.names)],
            "host_functions": [], "summary": [], "callback_records": {},
            "buffer_records": {"kernel_dispatch": self.dispatches, "hip_api": self.hip, "hsa_api": [], "marker_api": [],
                               "memory_copy": self.copies}}]}

    def write(self, path):
        with open(path, "w") as file:
            json.dump(self.document(), file)
        return path
