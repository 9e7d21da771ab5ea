"""Synthetic traces of an inference server that launches graphs, and traces of their captures.

A replay trace has steps; each launches graphs, whose kernels have no ops. A capture trace has the ops of a graph, each with the
calls that launch its kernels. Times are microseconds, so that all sums are exact.
"""
import json
import os

STEP = "execute_{n}_context_0(sq0sk0sqsq0sqsk0)_generation_{n}(sq{n}sk40sqsq{n}sqsk40)"


def event(category, name, start, length, process=1, thread=1, **arguments):
    made = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start, "dur": length}
    return {**made, "args": arguments} if arguments else made


class Kernel:
    def __init__(self, name, start, length, stream=0, category="kernel"):
        self.name, self.start, self.length, self.stream, self.category = name, start, length, stream, category

    def event(self, correlation):
        return event(self.category, self.name, self.start, self.length, 0, self.stream, correlation=correlation, stream=self.stream)


class Replay:
    """The trace of a server that runs one step per call of step()."""

    def __init__(self):
        self.events, self.correlation, self.end = [], 50, 990

    def step(self, graphs, batch=4, name=None, around=(), launch="hipGraphLaunch"):
        """One step with a launch per list of kernels; starts at the end of the one before. `around`: host events of its launches."""
        begin = self.end + 10
        length = 100 * len(graphs) + 900
        self.events += [event("user_annotation", name or STEP.format(n=batch), begin, length),
                        event("python_function", "serve.py(1): step", begin - 10, length + 100),
                        event("python_function", "nn.Module: Model_0", begin + 5, length - 90)]
        self.events += [event(category, text, begin + 8, length - 100) for category, text in around]
        for i, kernels in enumerate(graphs):
            self.events.append(event("cuda_runtime", launch, begin + 10 + 100 * i, 50, correlation=self.correlation))
            self.events += [kernel.event(self.correlation) for kernel in kernels]
            self.correlation += 1
        self.end = begin + length + 100
        return self

    def eager(self, name="aten::eager", length=5):
        """An op that launches a kernel itself."""
        start, self.correlation = self.end + 10, self.correlation + 1
        self.events += [event("cpu_op", name, start, 20, **{"Input Dims": [[4, 8]], "Input type": ["float"]}),
                        event("cuda_runtime", "hipLaunchKernel", start + 1, 5, correlation=self.correlation),
                        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": self.correlation, "pid": 1, "tid": 1, "ts": start + 1},
                        {"ph": "f", "bp": "e", "cat": "ac2g", "name": "ac2g", "id": self.correlation, "pid": 0, "tid": 0, "ts": start + 9},
                        Kernel("eager_kernel", start + 9, length).event(self.correlation)]
        self.end = start + 30
        return self


class Op:
    """An op of a captured graph; calls are pairs of a call and the kernel that its arguments name (None: they do not)."""

    def __init__(self, name, *calls, dims=((4, 8),)):
        self.name, self.dims = name, dims
        self.calls = [("hipLaunchKernel", call) if isinstance(call, str) else call for call in calls]


def call_event(call, kernel, start, length, process):
    return event("cuda_runtime", call, start, length, process, **({"kernel": kernel} if kernel else {"size": 8}))


def capture(*graphs, process=7):
    """A capture trace with these graphs, each a list of ops; an op None only has calls."""
    events, start = [], 100
    for ops in graphs:
        length = 400 + 70 * len(ops)
        events += [event("python_function", "runner.py(3): capture", start, length, process),
                   event("cuda_runtime", "hipStreamBeginCapture", start + 95, 5, process),
                   event("python_function", "nn.Module: Model_0", start + 105, length - 210, process)]
        for i, op in enumerate(ops):
            at = start + 110 + 70 * i
            events.append(event("python_function", f"nn.Module: Layer_{i}", at, 60, process))
            if op.name:
                shapes = {"Input Dims": [list(d) for d in op.dims], "Input type": ["float"] * len(op.dims)}
                events.append(event("cpu_op", op.name, at + 1, 58, process, **shapes))
            for k, (name, kernel) in enumerate(op.calls):
                events.append(call_event(name, kernel, at + 2 + 6 * k, 5, process))
        events.append(event("cuda_runtime", "hipStreamEndCapture", start + length - 90, 5, process))
        start += length + 100
    return events


def write_trace(path, events):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def write(folder, replay, captures, details=None):
    """Writes replay.json and the folder capture with these traces by file name; details: execution_details.json."""
    write_trace(os.path.join(folder, "replay.json"), replay.events)
    os.makedirs(os.path.join(folder, "capture"), exist_ok=True)
    for name, events in captures.items():
        write_trace(os.path.join(folder, "capture", name), events)
    if details is not None:
        with open(os.path.join(folder, "capture", "execution_details.json"), "w", encoding="utf-8") as file:
            json.dump(details, file)
