/* A mutator for inputs that are mostly text: JSON, CSV, words of a command line. Bytes changed at random
 * hardly ever give another valid trace, so most changes here are made to whole values: a number becomes an
 * extreme one, a value or a bracketed group is copied over another, repeated or removed. */
#ifndef GT_FUZZ_MUTATE_TEXT_H
#define GT_FUZZ_MUTATE_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

typedef struct span {
    size_t begin, end;
} span;

/* xorshift; never 0 */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static bool ends_value(uint8_t c)
{
    return strchr("\n\t ,:[]{}\"", c) != NULL; /* also NUL */
}

/* The value at or after a place: a quoted string, a bracketed group or a run of other characters. */
static span value_at(const uint8_t *data, size_t size, size_t at)
{
    while (at < size && ends_value(data[at]) && data[at] != '"' && data[at] != '{' && data[at] != '[') at++;
    span found = {at, at};
    if (at == size) return found;
    uint8_t first = data[at], last = first == '{' ? '}' : first == '[' ? ']' : '"';
    int depth = 0;
    if (ends_value(first)) {
        for (found.end++; found.end < size; found.end++) {
            if (data[found.end] == last && depth-- == 0) break;
            if (first != '"' && data[found.end] == first) depth++;
            if (first == '"' && data[found.end] == '\\') found.end++;
        }
        found.end = found.end < size ? found.end + 1 : size;
    } else {
        while (found.end < size && !ends_value(data[found.end])) found.end++;
    }
    return found;
}

static span line_at(const uint8_t *data, size_t size, size_t at)
{
    const uint8_t *end = memchr(data + at, '\n', size - at);
    span found = {at, end ? (size_t)(end - data) + 1 : size};
    while (found.begin > 0 && data[found.begin - 1] != '\n') found.begin--;
    return found;
}

static span number_at(const uint8_t *data, size_t size, size_t at)
{
    while (at < size && !(data[at] >= '0' && data[at] <= '9')) at++;
    span found = {at, at};
    while (found.end < size && memchr("0123456789.eE+-", data[found.end], 15)) found.end++;
    return found;
}

/* Replaces a part by other bytes, which do not lie in data; 0 if that would be too long. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, span part, const void *bytes, size_t len)
{
    size_t rest = size - part.end;
    if (part.begin + len + rest > max_size) return 0;
    memmove(data + part.begin + len, data + part.end, rest);
    memcpy(data + part.begin, bytes, len);
    return part.begin + len + rest;
}

static size_t change_number(uint8_t *data, size_t size, size_t max_size, span number, uint32_t *state)
{
    static const char *const values[] = {"0",
                                         "-1",
                                         "1",
                                         "2",
                                         "3",
                                         "7",
                                         "0.5",
                                         "-0.0",
                                         "1e308",
                                         "-1e308",
                                         "1e-320",
                                         "NaN",
                                         "Infinity",
                                         "-Infinity",
                                         "127",
                                         "255",
                                         "65536",
                                         "2147483647",
                                         "4294967295",
                                         "4294967296",
                                         "9007199254740993",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "18446744073709551615",
                                         "1e22",
                                         "100000000000000000000",
                                         "null",
                                         "\"\"",
                                         "[]",
                                         "{}",
                                         "true",
                                         "\"1\""};
    const char *value = values[next_random(state) % (sizeof values / sizeof *values)];
    return number.begin == number.end ? 0 : replace(data, size, max_size, number, value, strlen(value));
}

static size_t copy_over(uint8_t *data, size_t size, size_t max_size, span from, span to)
{
    uint8_t *copy = malloc(from.end - from.begin + 1);
    if (!copy) return 0;
    memcpy(copy, data + from.begin, from.end - from.begin);
    size_t changed = replace(data, size, max_size, to, copy, from.end - from.begin);
    free(copy);
    return changed;
}

/* One change of whole values; 0 if it is not possible here. */
static size_t mutate_values(uint8_t *data, size_t size, size_t max_size, uint32_t *state)
{
    size_t at = next_random(state) % size, other = next_random(state) % size;
    span value = value_at(data, size, at), other_value = value_at(data, size, other);
    span line = line_at(data, size, at);
    switch (next_random(state) % 8) {
    case 0:
    case 1:
        return change_number(data, size, max_size, number_at(data, size, at), state);
    case 2:
    case 3:
        return copy_over(data, size, max_size, other_value, value);
    case 4: /* again, as the next element of an array */
        if (value.end < size && data[value.end] == ',') value.end++;
        return copy_over(data, size, max_size, value, (span){value.end, value.end});
    case 5:
        if (value.end < size && data[value.end] == ',') value.end++;
        return replace(data, size, max_size, value, "", 0);
    case 6:
        return copy_over(data, size, max_size, line, (span){line.end, line.end});
    default:
        return replace(data, size, max_size, line, "", 0);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint32_t state = seed * 2654435761u | 1;
    size_t changed = 0;
    for (uint32_t rounds = 1 + next_random(&state) % 3; size && rounds && next_random(&state) % 4; rounds--) {
        size_t now = mutate_values(data, size, max_size, &state);
        if (now) changed = size = now;
    }
    return changed ? changed : LLVMFuzzerMutate(data, size, max_size);
}

#endif
