// The unit of measurement of scripts/bench: one cold simdjson On-Demand pass over a trace.
//
//     simdjson_pass FILE.json
//
// Cold means what a fresh process has to do: load the file into padded memory, make a parser, walk the
// document once. A rocprofv3 trace is walked to its last value, every string and number read; of a Chrome or
// Kineto trace four fields of each event are read (ph, name, ts, dur). Prints three times in milliseconds,
// "load L walk W pass P" with P = L + W, and counts that show that the work was done.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <simdjson.h>

using namespace simdjson;
using steady = std::chrono::steady_clock;

struct Counts {
    uint64_t events = 0, values = 0, text_bytes = 0;
    double sum = 0;
};

static double milliseconds(steady::time_point from, steady::time_point to)
{
    return std::chrono::duration<double, std::milli>(to - from).count();
}

static void read_number(ondemand::number number, Counts &counts)
{
    counts.sum += number.is_double()  ? number.get_double()
                  : number.is_int64() ? double(number.get_int64())
                                      : double(number.get_uint64());
}

static void read_every_value(ondemand::value value, Counts &counts)
{
    counts.values++;
    switch (value.type()) {
    case ondemand::json_type::object:
        for (auto field : value.get_object()) read_every_value(field.value(), counts);
        break;
    case ondemand::json_type::array:
        for (auto item : value.get_array()) read_every_value(item.value(), counts);
        break;
    case ondemand::json_type::string:
        counts.text_bytes += value.get_string().value().size();
        break;
    case ondemand::json_type::number:
        read_number(value.get_number().value(), counts);
        break;
    case ondemand::json_type::boolean:
        counts.values += value.get_bool().value();
        break;
    case ondemand::json_type::null:
        counts.values += value.is_null();
        break;
    }
}

static void read_event(ondemand::object event, Counts &counts)
{
    counts.events++;
    for (auto field : event) {
        auto key = field.key().value();
        if (key == "ph" || key == "name")
            counts.text_bytes += field.value().get_string().value().size();
        else if (key == "ts" || key == "dur")
            counts.sum += field.value().get_double().value();
    }
}

static void walk(ondemand::document &document, Counts &counts)
{
    for (auto field : document.get_object()) {
        std::string_view key = field.unescaped_key();
        if (key == "rocprofiler-sdk-tool")
            read_every_value(field.value(), counts);
        else if (key == "traceEvents")
            for (auto event : field.value().get_array()) read_event(event.get_object(), counts);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return std::fputs("usage: simdjson_pass FILE.json\n", stderr), 2;
    try {
        auto begin = steady::now();
        padded_string text = padded_string::load(argv[1]);
        auto loaded = steady::now();
        ondemand::parser parser;
        ondemand::document document = parser.iterate(text);
        Counts counts;
        walk(document, counts);
        auto end = steady::now();
        std::printf("load %.3f walk %.3f pass %.3f\n", milliseconds(begin, loaded), milliseconds(loaded, end),
                    milliseconds(begin, end));
        std::printf("events %llu values %llu text_bytes %llu sum %.17g\n", (unsigned long long)counts.events,
                    (unsigned long long)counts.values, (unsigned long long)counts.text_bytes, counts.sum);
        return 0;
    } catch (const simdjson_error &error) {
        std::fprintf(stderr, "simdjson_pass: %s: %s\n", argv[1], error.what());
        return 1;
    }
}
