"""A small cluster, simulated event by event: traces, and what is true about them.

Each rank has a host, a compute stream and a communication stream. Every event knows the event that decided when it could
start, so the critical path of the run is the way back from the last event; no code of gputally is needed for that. Clocks of
ranks may be shifted and may drift, and ranks may leave a collective a little later than the others.

    cluster = Cluster(ranks=4)
    cluster.run(steps=3, program=lambda step, rank: [("op", "aten::mm", 400), ("collective", "world", 1000, 50), ("join",)])
    cluster.write(folder)

Items of a program, for each rank:
    ("data", us)                              the data loader, on the host
    ("op", name, us)                          a kernel on the compute stream
    ("collective", group, elements, us, ...)  an all-reduce on the communication stream, after the compute stream; us is the
                                              transfer time. Another kind and a dictionary of arguments may follow
    ("send", rank, elements, us), ("recv", rank, elements, us)
                                              a transfer on a stream of its own; a send comes after the compute stream, and the
                                              compute stream waits for a receive
    ("join",)                                 the compute stream waits for the communication stream
A step ends with a synchronisation of the host with the compute stream."""
import json
import os

LAUNCH, CALL, DELAY = 5.0, 1.0, 4.0  # us: host time per launch, until the call in it, from the call to the kernel


class Event:
    def __init__(self, rank, kind, name, start, end, decided_by):
        self.rank, self.kind, self.name, self.start, self.end, self.decided_by = rank, kind, name, start, end, decided_by


def later(*events):
    """The event that ends last; None is an event before all."""
    known = [event for event in events if event]
    return max(known, key=lambda event: event.end) if known else None


class Rank:
    def __init__(self, number, begin):
        self.number, self.records, self.ids = number, [], 0
        self.host = Event(number, "host", "begin", begin, begin, None)
        self.compute = self.comm = None
        self.transfers = {"send": None, "recv": None}
        self.step_starts = []  # of the first kernel of each step

    def record(self, cat, name, start, dur, tid, **args):
        self.records.append({"ph": "X", "cat": cat, "name": name, "pid": 0 if cat == "kernel" else 9, "tid": tid, "ts": start,
                             "dur": dur, "args": args})

    def launch(self, op):
        """The host's side; the result is the event from which the kernel can start."""
        self.ids += 1
        start = self.host.end
        self.record("cpu_op", op, start, LAUNCH, 9, **{"External id": self.ids})
        self.record("cuda_runtime", "cudaLaunchKernel", start + CALL, 2.0, 9, **{"External id": self.ids, "correlation": self.ids})
        called = Event(self.number, "host", "launch", start, start + CALL + DELAY, self.host)
        self.host = Event(self.number, "host", "launch", start, start + LAUNCH, self.host)
        return called

    def kernel(self, name, start, dur, stream, **args):
        self.record("kernel", name, start, dur, stream, **{"External id": self.ids, "correlation": self.ids, "stream": stream,
                                                           "device": 0, **args})


class Cluster:
    def __init__(self, ranks, groups=None, per_node=2, clock=None, leaves=None, begins=None):
        """clock(rank, t): what its clock shows at t. leaves(rank): how much later it leaves a collective than the first."""
        self.ranks = [Rank(r, 1000.0 + (begins[r] if begins else 0)) for r in range(ranks)]
        self.groups = groups or {"world": list(range(ranks))}
        self.per_node, self.clock = per_node, clock or (lambda rank, t: t)
        self.leaves = leaves or (lambda rank: 0.0)

    def run(self, steps, program):
        for step in range(steps):
            items = [program(step, rank.number) for rank in self.ranks]
            begins = [rank.host.end for rank in self.ranks]
            fresh = [True] * len(self.ranks)
            at = [0] * len(self.ranks)
            waiting = {}  # group: {rank: (event that it was ready after)}
            while any(at[r.number] < len(items[r.number]) for r in self.ranks):
                moved = False
                for rank in self.ranks:
                    r = rank.number
                    while at[r] < len(items[r]) and not any(r in arrived for arrived in waiting.values()):
                        self.item(step, rank, items[r][at[r]], waiting, fresh)
                        at[r] += 1
                        moved = True
                for group in [g for g, arrived in waiting.items() if len(arrived) == len(self.groups.get(g, g))]:
                    (self.transfer if group in self.groups else self.move)(group, waiting.pop(group))
                    moved = True
                assert moved, "ranks wait for each other"
            for rank, begin in zip(self.ranks, begins):
                self.synchronise(rank)
                rank.record("user_annotation", f"ProfilerStep#{step + 3}", begin, rank.host.end - begin, 9)

    def item(self, step, rank, item, waiting, fresh):
        if item[0] == "data":
            start, us = rank.host.end, item[1]
            rank.record("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start, us, 9)
            rank.host = Event(rank.number, "data", "data", start, start + us, rank.host)
        elif item[0] == "op":
            first = later(rank.launch(item[1]), rank.compute)
            rank.compute = Event(rank.number, "compute", item[1], first.end, first.end + item[2], first)
            rank.kernel("kernel_" + item[1].split("::")[-1], first.end, item[2], 7)
            if fresh[rank.number]:
                rank.step_starts.append(first.end)
            fresh[rank.number] = False
        elif item[0] == "collective":
            first = later(rank.launch("record_param_comms"), rank.compute, rank.comm)
            waiting.setdefault(item[1], {})[rank.number] = (first, rank.ids, item)
        elif item[0] in ("send", "recv"):
            pair = (rank.number, item[1]) if item[0] == "send" else (item[1], rank.number)
            first = later(rank.launch("c10d::" + item[0]), rank.transfers[item[0]], rank.compute if item[0] == "send" else None)
            waiting.setdefault(pair, {})[rank.number] = (first, rank.ids, item)
        elif item[0] == "join":
            rank.compute = later(rank.compute, rank.comm)

    def transfer(self, group, arrived):
        members = self.groups[group]
        last = max((arrived[r][0] for r in members), key=lambda event: event.end)
        for r in members:
            first, number, (_, _, elements, us, *rest) = arrived[r]
            kind, *more = rest or ["allreduce"]
            rank, end = self.ranks[r], last.end + us
            rank.comm = Event(last.rank, "communication", kind, last.end, end, last)
            rank.record("kernel", f"ncclDevKernel_{kind}", first.end, end - first.end + self.leaves(r), 20,
                        **{"External id": number, "correlation": number, "stream": 20, "device": 0, "Collective name": kind,
                           "In msg nelems": elements, "Out msg nelems": elements, "Group size": len(members), "dtype": "Float",
                           "In split size": "[]", "Out split size": "[]", "Process Group Name": group,
                           "Process Group Ranks": str(members), **(more[0] if more else {})})

    def move(self, pair, arrived):
        last = max((arrived[r][0] for r in pair), key=lambda event: event.end)
        for r in pair:
            first, number, (kind, other, elements, us) = arrived[r]
            rank, end = self.ranks[r], last.end + us
            rank.transfers[kind] = event = Event(last.rank, "communication", kind, last.end, end, last)
            if kind == "recv":
                rank.compute = later(rank.compute, event)
            rank.record("kernel", "ncclDevKernel_SendRecv", first.end, end - first.end, 21 if kind == "send" else 22,
                        **{"External id": number, "correlation": number, "stream": 21 if kind == "send" else 22, "device": 0,
                           "Collective name": kind, "In msg nelems": elements, "Out msg nelems": elements,
                           "Group size": len(self.ranks), "dtype": "Float", "In split size": "[]", "Out split size": "[]",
                           "Process Group Name": "pipeline", "Process Group Ranks": str(list(range(len(self.ranks)))),
                           "Dst Rank" if kind == "send" else "Src Rank": other})

    def synchronise(self, rank):
        start, done = rank.host.end, later(rank.host, rank.compute)
        end = done.end + 2.0
        rank.ids += 1
        rank.record("cuda_runtime", "cudaStreamSynchronize", start, end - start, 9, correlation=rank.ids)
        rank.host = Event(rank.number, "host", "sync", done.end, end, done)

    def path(self, until):
        """The events that decided when `until` could start, from the first to the last: (rank, kind, name, from, to)."""
        found, event = [], until
        while event:
            found.append((event.rank, event.kind, event.name, event.decided_by.end if event.decided_by else event.start, event.end))
            event = event.decided_by
        return found[::-1]

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for rank in self.ranks:
            events = []
            for record in rank.records:
                start, end = (self.clock(rank.number, t) for t in (record["ts"], record["ts"] + record["dur"]))
                events.append({**record, "ts": round(start, 3), "dur": round(end - start, 3)})
            trace = {"distributedInfo": {"rank": rank.number, "world_size": len(self.ranks)}, "traceEvents": events,
                     "baseTimeNanoseconds": 1760000000000000000, "host_name": f"host{rank.number // self.per_node}"}
            with open(os.path.join(folder, f"rank{rank.number}_trace.json"), "w") as file:
                json.dump(trace, file)
