"""Writes Perfetto traces field by field from the public .proto files; independent of the reader.

    trace = Writer(); process = trace.process(100); thread = trace.thread(100, 101, process)
    trace.slice(thread, "hip_api", "hipMalloc", 1000, 2000, {"corr_id": 3}); trace.bytes()
"""
import struct
import zlib


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value & (1 << 64) - 1)


def double(field, value):
    return varint(field << 3 | 1) + struct.pack("<d", value)


class Writer:
    """One sequence, as Perfetto's SDK writes it: names are interned, times are increments of a clock (with an
    absolute packet if time goes backwards). With plain=True, each event has its name and time."""

    CLEARED, NEEDED = 1, 2
    INCREMENTAL, BOOTTIME = 64, 6

    def __init__(self, plain=False, sequence=7, start=0):
        self.plain, self.sequence = plain, sequence
        self.packets, self.uuid = [], 1000
        self.interned = {1: {}, 2: {}, 3: {}, 29: {}}
        self.time = start
        first = number(13, self.CLEARED)
        if not plain:
            clocks = data(1, number(1, self.BOOTTIME) + number(2, start))
            clocks += data(1, number(1, self.INCREMENTAL) + number(2, start) + number(3, 1))
            first += data(6, clocks) + data(59, number(58, self.INCREMENTAL))
        self.packet(first)

    def packet(self, body, sequence=None):
        self.packets.append(data(1, number(10, sequence or self.sequence) + body))

    def clear(self):
        """Clears the incremental state: all names are defined again."""
        self.interned = {table: {} for table in self.interned}
        first = number(13, self.CLEARED)
        if not self.plain:
            clocks = data(1, number(1, self.BOOTTIME) + number(2, self.time))
            clocks += data(1, number(1, self.INCREMENTAL) + number(2, self.time) + number(3, 1))
            first += data(6, clocks) + data(59, number(58, self.INCREMENTAL))
        self.packet(first)

    # ---- tracks

    def descriptor(self, body, parent=None):
        self.uuid += 0x9E3779B97F4A7C15  # of the SDK's size
        self.uuid &= (1 << 64) - 1
        if parent is not None:
            body += number(5, parent)
        self.packet(data(60, number(1, self.uuid) + body))
        return self.uuid

    def process(self, pid, name="python"):
        return self.descriptor(data(3, number(1, pid) + data(6, name)))

    def thread(self, pid, tid, process, name="main"):
        return self.descriptor(data(4, number(1, pid) + number(2, tid) + data(5, name)), process)

    def track(self, name, process):
        return self.descriptor(data(2, name), process)

    def counter_track(self, name, process):
        return self.descriptor(data(2, name) + data(8, b""), process)

    # ---- events

    def intern(self, table, text, new):
        known = self.interned[table]
        if text not in known:
            known[text] = len(known) + 1
            new.append(data(table, number(1, known[text]) + data(2, text)))
        return known[text]

    def note(self, name, value, new):
        """A DebugAnnotation."""
        if name is None:
            body = b""
        elif self.plain:
            body = data(10, name)
        else:
            body = number(1, self.intern(3, name, new))
        if isinstance(value, bool):
            return body + number(2, value)
        if isinstance(value, int):
            return body + (number(3, value) if value >= 0 else number(4, value))
        if isinstance(value, float):
            return body + double(5, value)
        if isinstance(value, str):
            return body + (data(6, value) if self.plain else number(17, self.intern(29, value, new)))
        if isinstance(value, dict):
            return body + b"".join(data(11, self.note(k, v, new)) for k, v in value.items())
        if isinstance(value, list):
            return body + b"".join(data(12, self.note(None, v, new)) for v in value)
        return body + data(6, "null")

    def event(self, track, kind, time_ns, category=None, name=None, notes=(), flows=(), extra=b""):
        new, body = [], number(9, kind) + number(11, track)
        if category is not None:
            body += data(22, category) if self.plain else number(3, self.intern(1, category, new))
        if name is not None:
            body += data(23, name) if self.plain else number(10, self.intern(2, name, new))
        for key, value in dict(notes).items():
            body += data(4, self.note(key, value, new))
        for flow in flows:
            body += fixed64(47, flow)
        body += extra
        head = b""
        if self.plain:
            head += number(8, time_ns)
        elif time_ns >= self.time:
            head += number(8, time_ns - self.time)
            self.time = time_ns
        else:
            head += number(8, time_ns) + number(58, self.BOOTTIME)
        if new:
            head += data(12, b"".join(new))
        self.packet(head + data(11, body) + (b"" if self.plain else number(13, self.NEEDED)))

    def slice(self, track, category, name, begin_ns, end_ns, notes=(), flows=()):
        self.event(track, 1, begin_ns, category, name, notes, flows)
        self.event(track, 2, end_ns, category)

    def count(self, track, time_ns, value):
        self.event(track, 4, time_ns, extra=number(30, value))

    def bytes(self):
        return b"".join(self.packets)

    def compressed(self):
        """The same with all packets except the first one compressed, a hundred at a time."""
        out = [self.packets[0]]
        for i in range(1, len(self.packets), 100):
            out.append(data(1, data(50, zlib.compress(b"".join(self.packets[i:i + 100])))))
        return b"".join(out)


def rocprof(events, **options):
    """Chrome events of a rocprofv3 trace as in its pftrace: API calls on their threads, of which only the main one is a thread
    track, and GPU events on one track per stream. Each end follows its beginning."""
    trace = Writer(**options)
    tracks = {}
    for e in events:
        pid, tid = e.get("pid", 1), e.get("tid", 1)
        if pid not in tracks:
            tracks[pid] = trace.process(pid)
        work = e["cat"] in ("kernel_dispatch", "memory_copy")
        key = (pid, "stream" if work else tid)
        if key not in tracks:
            if work:
                tracks[key] = trace.track('STREAM [" 0 "] ', tracks[pid])
            elif tid == pid:
                tracks[key] = trace.thread(pid, tid, tracks[pid])
            else:
                tracks[key] = trace.track("THREAD %d (%d)" % (len(tracks), tid), tracks[pid])
        args = e.get("args") or {}
        begin = args.get("begin_ns", int(e.get("ts", 0) * 1000))
        end = args.get("end_ns", begin + args.get("delta_ns", int(e.get("dur", 0) * 1000)))
        trace.slice(tracks[key], e["cat"], e["name"], begin, end, args,
                    [args["corr_id"]] if isinstance(args.get("corr_id"), int) else [])
    return trace
