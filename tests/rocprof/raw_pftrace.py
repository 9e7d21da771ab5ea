"""The events of a rocprofv3 Perfetto trace, decoded field by field and independent of gputally."""
from tests.perfetto import reader

BEGIN = 1  # the type of an event that begins a slice


def begun(path, categories):
    """(category, name, [(annotation, its fields), ...]) of each slice of these categories, in the order of the file."""
    with open(path, "rb") as file:
        packets = [reader.fields(packet) for _, packet in reader.fields(file.read())]
    texts = {}
    for packet in packets:
        parts = dict(packet)
        for table, entry in reader.fields(parts.get(12, b"")):
            entry = dict(reader.fields(entry))
            texts[(table, entry[1])] = entry[2].decode()
        event = reader.fields(parts.get(11, b""))
        first = dict(event)
        category = texts.get((1, first.get(3)))
        if first.get(9) != BEGIN or category not in categories:
            continue
        notes = [dict(reader.fields(value)) for field, value in event if field == 4]
        yield category, texts[(2, first[10])], [(texts[(3, note[1])], note) for note in notes]
