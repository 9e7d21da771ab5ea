/* Field numbers of Perfetto's protobuf messages (protos/perfetto/trace in its repository), for the reader of
 * such traces and for their writer. Messages are written as base/protobuf.h describes. */
#pragma once

/* Trace */
enum { GT_PF_TRACE_PACKET = 1 };

/* TracePacket */
enum {
    GT_PF_PACKET_CLOCK_SNAPSHOT = 6,
    GT_PF_PACKET_TIMESTAMP = 8,
    GT_PF_PACKET_SEQUENCE_ID = 10,
    GT_PF_PACKET_TRACK_EVENT = 11,
    GT_PF_PACKET_INTERNED_DATA = 12,
    GT_PF_PACKET_SEQUENCE_FLAGS = 13,
    GT_PF_PACKET_TRACE_CONFIG = 33,
    GT_PF_PACKET_TRACE_STATS = 35,
    GT_PF_PACKET_SYNC_MARKER = 36,
    GT_PF_PACKET_STATE_CLEARED = 41,
    GT_PF_PACKET_PROCESS_DESCRIPTOR = 43,
    GT_PF_PACKET_THREAD_DESCRIPTOR = 44,
    GT_PF_PACKET_SYSTEM_INFO = 45,
    GT_PF_PACKET_COMPRESSED_PACKETS = 50,
    GT_PF_PACKET_CLOCK_ID = 58,
    GT_PF_PACKET_DEFAULTS = 59,
    GT_PF_PACKET_TRACK_DESCRIPTOR = 60,
    GT_PF_PACKET_TRUSTED_PID = 79,
    GT_PF_PACKET_TRACE_UUID = 89,
};

/* Bits of TracePacket.sequence_flags */
enum { GT_PF_STATE_CLEARED = 1, GT_PF_NEEDS_STATE = 2 };

/* TracePacketDefaults has two of the packet's settings. */
enum { GT_PF_DEFAULTS_TRACK_EVENT = 11, GT_PF_DEFAULTS_CLOCK_ID = 58 };

/* ClockSnapshot and its Clock */
enum { GT_PF_SNAPSHOT_CLOCK = 1, GT_PF_SNAPSHOT_TRACE_CLOCK = 2 };
enum {
    GT_PF_CLOCK_ID = 1,
    GT_PF_CLOCK_TIMESTAMP = 2,
    GT_PF_CLOCK_IS_INCREMENTAL = 3,
    GT_PF_CLOCK_UNIT_NS = 4,
};

/* InternedData: tables of names, whose entries have an id and a string. */
enum {
    GT_PF_INTERNED_CATEGORIES = 1,
    GT_PF_INTERNED_NAMES = 2,
    GT_PF_INTERNED_NOTE_NAMES = 3,
    GT_PF_INTERNED_NOTE_STRINGS = 29,
};
enum { GT_PF_ENTRY_IID = 1, GT_PF_ENTRY_STRING = 2 };

/* TrackEvent; TrackEventDefaults has its track too. */
enum {
    GT_PF_EVENT_CATEGORY_IID = 3,
    GT_PF_EVENT_NOTE = 4,
    GT_PF_EVENT_LEGACY = 6,
    GT_PF_EVENT_TYPE = 9,
    GT_PF_EVENT_NAME_IID = 10,
    GT_PF_EVENT_TRACK = 11,
    GT_PF_EVENT_CATEGORY = 22,
    GT_PF_EVENT_NAME = 23,
    GT_PF_EVENT_INT_VALUE = 30,
    GT_PF_EVENT_OLD_FLOW = 36,
    GT_PF_EVENT_OLD_FLOW_END = 42,
    GT_PF_EVENT_DOUBLE_VALUE = 44,
    GT_PF_EVENT_FLOW = 47,
    GT_PF_EVENT_FLOW_END = 48,
};

/* TrackEvent.type */
enum { GT_PF_SLICE_BEGIN = 1, GT_PF_SLICE_END = 2, GT_PF_INSTANT = 3, GT_PF_COUNTER = 4 };

/* LegacyEvent: what Chrome traces have beyond slices */
enum {
    GT_PF_LEGACY_NAME_IID = 1,
    GT_PF_LEGACY_PHASE = 2,
    GT_PF_LEGACY_DUR_US = 3,
    GT_PF_LEGACY_UNSCOPED_ID = 6,
    GT_PF_LEGACY_LOCAL_ID = 10,
    GT_PF_LEGACY_GLOBAL_ID = 11,
};

/* DebugAnnotation ("note" in this code) */
enum {
    GT_PF_NOTE_NAME_IID = 1,
    GT_PF_NOTE_BOOL = 2,
    GT_PF_NOTE_UINT = 3,
    GT_PF_NOTE_INT = 4,
    GT_PF_NOTE_DOUBLE = 5,
    GT_PF_NOTE_STRING = 6,
    GT_PF_NOTE_POINTER = 7,
    GT_PF_NOTE_NESTED = 8,
    GT_PF_NOTE_JSON = 9,
    GT_PF_NOTE_NAME = 10,
    GT_PF_NOTE_DICT = 11,
    GT_PF_NOTE_LIST = 12,
    GT_PF_NOTE_STRING_IID = 17,
};

/* DebugAnnotation.NestedValue, and its nested_type */
enum {
    GT_PF_NESTED_TYPE = 1,
    GT_PF_NESTED_KEY = 2,
    GT_PF_NESTED_DICT_VALUE = 3,
    GT_PF_NESTED_LIST_VALUE = 4,
    GT_PF_NESTED_INT = 5,
    GT_PF_NESTED_DOUBLE = 6,
    GT_PF_NESTED_BOOL = 7,
    GT_PF_NESTED_STRING = 8,
};
enum { GT_PF_NESTED_IS_DICT = 1, GT_PF_NESTED_IS_LIST = 2 };

/* TrackDescriptor, ProcessDescriptor, ThreadDescriptor */
enum {
    GT_PF_TRACK_UUID = 1,
    GT_PF_TRACK_NAME = 2,
    GT_PF_TRACK_PROCESS = 3,
    GT_PF_TRACK_THREAD = 4,
    GT_PF_TRACK_PARENT = 5,
    GT_PF_TRACK_COUNTER = 8,
    GT_PF_TRACK_STATIC_NAME = 10,
};
enum { GT_PF_PROCESS_PID = 1, GT_PF_PROCESS_NAME = 6, GT_PF_PROCESS_LABELS = 8 };
enum { GT_PF_THREAD_PID = 1, GT_PF_THREAD_TID = 2, GT_PF_THREAD_NAME = 5 };
