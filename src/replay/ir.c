/* The IR of an op.
 *
 * A trace has the arguments of an op as parallel lists (types, shapes, strides, values as text), without
 * names. Which is which says the op's schema, of which there may be several: the first one is taken that has
 * as many arguments and whose types fit.
 *
 * A trace has no contents of tensors. Most kernels take the same time for all values, but what is an index
 * must be one: indices get the range that the shapes of the other arguments allow. */
#include "replay/replay.h"

#include "json/number.h"

#ifndef GT_REPLAY_DIR
#define GT_REPLAY_DIR "src/replay"
#endif

__asm__(".pushsection .rodata\n"
        "gt_replay_known_schemas:\n"
        ".incbin \"" GT_REPLAY_DIR "/schemas.txt\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char gt_replay_known_schemas[] __attribute__((visibility("hidden")));

#define IS_IN(text, list) gt_str_is_one_of(text, list, GT_LENGTH(list))

static gt_str str(const char *text)
{
    return (gt_str){text, strlen(text)};
}

/* ---- schemas ---- */

typedef struct parameter {
    gt_str type, name; /* "Tensor(a!)?", "self" */
    gt_str otherwise;  /* its default; may be empty */
    bool keyword_only;
} parameter;

typedef struct schema {
    gt_str name;         /* without overload: aten::add; "aten::add|sub": of each of these */
    size_t first, count; /* of its parameters */
} schema;

struct gt_schemas {
    char *text; /* that was given; names point into it */
    schema *items;
    size_t count, capacity;
    parameter *parameters; /* of all */
    size_t parameter_count, parameter_capacity;
};

static bool is_in(char c, const char *set)
{
    return c && strchr(set, c);
}

static gt_str trim(gt_str text)
{
    while (text.len && gt_is_blank(text.bytes[0])) text = (gt_str){text.bytes + 1, text.len - 1};
    while (text.len && gt_is_blank(text.bytes[text.len - 1])) text.len--;
    return text;
}

/* Takes off the text up to the first one of `ends` that is outside of brackets and strings; false if there is
 * none: then all is taken. */
static bool take_before(gt_str *rest, const char *ends, gt_str *taken)
{
    int depth = 0;
    char quote = 0;
    size_t i = 0;
    for (; i < rest->len; i++) {
        char c = rest->bytes[i];
        if (quote && c == '\\' && i + 1 < rest->len)
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (!depth && is_in(c, ends))
            break;
        else if (is_in(c, "\"'"))
            quote = c;
        else
            depth += is_in(c, "([") - is_in(c, ")]");
    }
    bool found = i < rest->len;
    *taken = trim((gt_str){rest->bytes, i});
    *rest = (gt_str){rest->bytes + i + found, rest->len - i - found};
    return found;
}

static bool read_schema(gt_schemas *schemas, gt_str line)
{
    schema made = {.first = schemas->parameter_count};
    gt_str parameters, text, overload;
    bool keyword_only = false;
    if (!take_before(&line, "(", &overload) || !take_before(&line, ")", &parameters)) return false;
    take_before(&overload, ".", &made.name);
    while (parameters.len) {
        parameter p = {.keyword_only = keyword_only};
        take_before(&parameters, ",", &text); /* "int[2] stride=[1, 1]" */
        keyword_only |= gt_str_equals(text, "*");
        if (gt_str_equals(text, "*")) continue;
        take_before(&text, " ", &p.type);
        take_before(&text, "=", &p.name);
        p.otherwise = trim(text);
        if (!p.type.len || !p.name.len) return false;
        GT_PUSH(schemas->parameters, schemas->parameter_count, schemas->parameter_capacity, p);
    }
    made.count = schemas->parameter_count - made.first;
    if (!memmem(made.name.bytes, made.name.len, "::", 2)) return false;
    GT_PUSH(schemas->items, schemas->count, schemas->capacity, made);
    return true;
}

/* The length of the first line with the lines after it that begin with a blank. */
static size_t length_of_line(gt_str text)
{
    size_t len = 0;
    do {
        const char *end = memchr(text.bytes + len, '\n', text.len - len);
        len = end ? (size_t)(end - text.bytes) + 1 : text.len;
    } while (len < text.len && is_in(text.bytes[len], " \t"));
    return len;
}

/* Skips what is no schema, and schemas with "..." in place of arguments. */
static void read_schemas(gt_schemas *schemas, gt_str text)
{
    while (text.len) {
        size_t len = length_of_line(text), parameters = schemas->parameter_count;
        gt_str line = trim((gt_str){text.bytes, len});
        if (!line.len || !read_schema(schemas, line)) schemas->parameter_count = parameters;
        text = (gt_str){text.bytes + len, text.len - len};
    }
}

static bool is_of(const schema *s, gt_str op)
{
    gt_str space, name, names = s->name, one;
    const char *colons = memmem(op.bytes, op.len, "::", 2);
    if (!colons) return false;
    space = (gt_str){op.bytes, (size_t)(colons - op.bytes) + 2};
    name = (gt_str){op.bytes + space.len, op.len - space.len};
    if (names.len < space.len || memcmp(names.bytes, space.bytes, space.len) != 0) return false;
    names = (gt_str){names.bytes + space.len, names.len - space.len};
    while (names.len) {
        take_before(&names, "|", &one);
        if (gt_str_compare(one, name) == 0) return true;
    }
    return false;
}

gt_schemas *gt_schemas_new(gt_str text, gt_error *error)
{
    gt_schemas *schemas = gt_alloc_zero(1, sizeof *schemas);
    schemas->text = gt_alloc(text.len + 1);
    memcpy(schemas->text, text.bytes, text.len);
    read_schemas(schemas, (gt_str){schemas->text, text.len});
    bool valid = schemas->count || !text.len;
    read_schemas(schemas, str(gt_replay_known_schemas));
    if (valid) return schemas;
    gt_schemas_free(schemas);
    gt_fail(error, "no schemas of ops, such as aten::mm(Tensor self, Tensor mat2) -> Tensor");
    return NULL;
}

void gt_schemas_free(gt_schemas *schemas)
{
    if (!schemas) return;
    gt_free(schemas->text);
    gt_free(schemas->items);
    gt_free(schemas->parameters);
    gt_free(schemas);
}

/* ---- values ---- */

/* The tensors' types in a trace, and in the IR. */
static const struct {
    const char *trace, *ir;
    bool is_integer;
} types[] = {
    {"double", "double", false},
    {"float", "float", false},
    {"c10::Half", "c10::Half", false},
    {"c10::BFloat16", "c10::BFloat16", false},
    {"c10::Float8_e4m3fn", "c10::Float8_e4m3fn", false},
    {"c10::Float8_e5m2", "c10::Float8_e5m2", false},
    {"c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", false},
    {"c10::Float8_e5m2fnuz", "c10::Float8_e5m2fnuz", false},
    {"c10::complex<float>", "c10::complex<float>", false},
    {"c10::complex<double>", "c10::complex<double>", false},
    {"long int", "long", true},
    {"long", "long", true},
    {"int", "int", true},
    {"short int", "short int", true},
    {"signed char", "signed char", true},
    {"unsigned char", "unsigned char", true},
    {"bool", "bool", false},
};
enum { NO_TYPE = GT_LENGTH(types) };

/* An op, and a schema that may be its. */
typedef struct match {
    const gt_replay_op *op;
    const gt_value *dims, *types, *strides, *concrete;
    const char *list_type;
    const parameter *parameters;
    size_t count;
    bool lacks_type, lacks_list; /* it fits, but for the types or shapes of a list's tensors */
} match;

static size_t type_of(const gt_value *name)
{
    for (size_t i = 0; i < GT_LENGTH(types); i++)
        if (gt_value_equals_cstr(name, types[i].trace)) return i;
    return NO_TYPE;
}

static bool is_shape(const gt_value *list)
{
    bool fits = gt_value_is_list(list);
    for (size_t i = 0; fits && i < list->count; i++)
        fits = list->items[i].type == GT_VALUE_INT && list->items[i].integer >= 0;
    return fits;
}

/* Traces of old versions have no strides. */
static void put_strides(gt_json_writer *w, const gt_value *shape, const gt_value *strides)
{
    gt_json_put_open(w, "strides", '[');
    for (size_t i = 0; i < shape->count; i++) {
        int64_t step = 1;
        for (size_t k = i + 1; k < shape->count; k++)
            if (__builtin_mul_overflow(step, shape->items[k].integer, &step)) step = INT64_MAX;
        gt_json_add_int(w, strides->count == shape->count ? strides->items[i].integer : step);
    }
    gt_json_close(w, ']');
}

static bool add_tensor(gt_json_writer *w, const gt_value *shape, const gt_value *strides, size_t type,
                       const char *init)
{
    if (type == NO_TYPE || !is_shape(shape)) return false;
    gt_json_open(w, '{');
    gt_json_put_value(w, "shape", shape);
    gt_json_put_cstr(w, "dtype", types[type].ir);
    put_strides(w, shape, is_shape(strides) ? strides : &gt_value_missing);
    gt_json_put_cstr(w, "init", init);
    gt_json_close(w, '}');
    return true;
}

static bool add_tensors(gt_json_writer *w, match *m, int64_t i)
{
    gt_value type = gt_value_cstr(m->list_type ? m->list_type : "");
    const gt_value *shapes = gt_value_at(m->dims, i), *strides = gt_value_at(m->strides, i);
    m->lacks_list |= gt_value_equals_cstr(gt_value_at(m->types, i), "");
    if (!gt_value_equals_cstr(gt_value_at(m->types, i), "TensorList") || !gt_value_is_list(shapes))
        return false;
    m->lacks_type |= !m->list_type;
    gt_json_open(w, '[');
    for (size_t k = 0; k < shapes->count; k++)
        if (!add_tensor(w, &shapes->items[k], gt_value_at(strides, (int64_t)k), type_of(&type), "normal"))
            return false;
    gt_json_close(w, ']');
    return true;
}

/* A value as the trace has it: "3", "0.5", "1.", "-inf", "True". */
static bool add_scalar(gt_json_writer *w, gt_str kind, gt_str text)
{
    static const char *const integers[] = {"int", "SymInt", "ScalarType", "Layout", "MemoryFormat"};
    static const char *const numbers[] = {"float", "Scalar", "number"};
    char word[64], *end;
    bool is_true = gt_str_equals_nocase(text, "true"),
         is_bool = is_true || gt_str_equals_nocase(text, "false");
    gt_json_number number;
    if (is_bool && (gt_str_equals(kind, "bool") || gt_str_equals(kind, "Scalar")))
        return gt_json_add_bool(w, is_true), true;
    if (is_bool || !text.len || text.len >= sizeof word) return false;
    memcpy(word, text.bytes, text.len);
    word[text.len] = 0;
    if (gt_json_parse_number(text, &number) && number.is_int &&
        (IS_IN(kind, integers) || IS_IN(kind, numbers)))
        return gt_json_add_int(w, number.integer), true;
    double real = strtod(word, &end);
    if (*end || !IS_IN(kind, numbers)) return false;
    if (isfinite(real))
        gt_json_add_real(w, real);
    else
        gt_json_add_raw(w, str(isnan(real) ? "NaN" : real < 0 ? "-Infinity" : "Infinity"));
    return true;
}

/* "[1, 1]" */
static bool add_scalars(gt_json_writer *w, gt_str kind, gt_str text)
{
    gt_str item;
    if (text.len < 2 || text.bytes[0] != '[' || text.bytes[text.len - 1] != ']') return false;
    text = trim((gt_str){text.bytes + 1, text.len - 2});
    gt_json_open(w, '[');
    while (text.len) {
        take_before(&text, ",", &item);
        if (!add_scalar(w, kind, item)) return false;
    }
    gt_json_close(w, ']');
    return true;
}

/* ---- contents of tensors ---- */

static int64_t find(const match *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (gt_str_equals(m->parameters[i].name, name)) return (int64_t)i;
    return INT64_MAX; /* of which the lists have none */
}

static int64_t size_of(const match *m, const char *tensor, int64_t dim)
{
    const gt_value *size = gt_value_at(gt_value_at(m->dims, find(m, tensor)), dim);
    return size->type == GT_VALUE_INT ? size->integer : 1;
}

static int64_t int_of(const match *m, const char *name, int64_t otherwise)
{
    const gt_value *text = gt_value_at(m->concrete, find(m, name));
    gt_json_number number;
    bool is_int = text->type == GT_VALUE_STRING && gt_json_parse_number(text->text, &number) && number.is_int;
    return is_int ? number.integer : otherwise;
}

/* Indices are below this: the values of other integers are not known to be valid, except zero, but of the
 * operands of plain arithmetic. */
static int64_t bound_of(const match *m, gt_str name)
{
    static const char *const operands[] = {"self",  "other",  "src",  "input",
                                           "value", "values", "mat2", "mask"};
    bool has_self = find(m, "self") != INT64_MAX;
    const gt_value *self = gt_value_at(m->dims, find(m, "self"));
    if (gt_str_equals(name, "indices") && find(m, "weight") != INT64_MAX) return size_of(m, "weight", 0);
    if (gt_str_equals(name, "indices") && find(m, "num_weights") != INT64_MAX)
        return int_of(m, "num_weights", 1);
    if (gt_str_equals(name, "indices") && has_self && find(m, "kernel_size") != INT64_MAX)
        return size_of(m, "self", -1);
    if (gt_str_equals(name, "index") && has_self) return size_of(m, "self", int_of(m, "dim", 0));
    if (gt_str_equals(name, "target") && has_self) return size_of(m, "self", self->count > 1);
    return IS_IN(name, operands) ? 100 : 1;
}

/* The host's side of a copy, by the name of what ran: "Memcpy HtoD (Pinned -> Device)". And numbers that
 * Python has made tensors of. */
static const char *device_of(const match *m, size_t i, const gt_value *shape, size_t type)
{
    const char *host = gt_str_starts_with(m->op->kernel, "Memcpy HtoD")   ? "src"
                       : gt_str_starts_with(m->op->kernel, "Memcpy DtoH") ? "self"
                                                                          : NULL;
    if (gt_str_equals(str(m->op->name), "aten::copy_"))
        return !host || !gt_str_equals(m->parameters[i].name, host) ? NULL
               : gt_str_contains(m->op->kernel, "Pinned")           ? "pinned"
                                                                    : "cpu";
    static const char *const numbers[] = {"self", "other", "value", "exponent"};
    bool is_number = !shape->count && IS_IN(m->parameters[i].name, numbers) &&
                     (strcmp(types[type].ir, "double") == 0 || strcmp(types[type].ir, "long") == 0);
    for (size_t k = 0; is_number && k < m->count; k++)
        if (gt_value_at(m->dims, (int64_t)k)->count && type_of(gt_value_at(m->types, (int64_t)k)) != NO_TYPE)
            return "cpu";
    return NULL;
}

static void put_contents(gt_json_writer *w, const match *m, size_t i)
{
    static const char *const chances[] = {"aten::multinomial", "aten::bernoulli", "aten::bernoulli_",
                                          "aten::binary_cross_entropy",
                                          "aten::binary_cross_entropy_backward"};
    const parameter *p = &m->parameters[i];
    const gt_value *shape = gt_value_at(m->dims, (int64_t)i);
    size_t type = type_of(gt_value_at(m->types, (int64_t)i));
    if (type == NO_TYPE) return;
    const char *device = device_of(m, i, shape, type);
    int64_t high = types[type].is_integer ? bound_of(m, p->name) : IS_IN(str(m->op->name), chances);
    if (high) gt_json_put_int(w, "low", 0), gt_json_put_int(w, "high", high < 1 ? 1 : high);
    if (gt_str_equals(p->name, "sorted_sequence")) gt_json_put_bool(w, "sorted", true);
    if (device) gt_json_put_cstr(w, "device", device);
}

/* ---- arguments ---- */

/* fill_ and copy_ read nothing of what they write. */
static const char *init_of(const match *m, gt_str name)
{
    bool writes_only = strcmp(m->op->name, "aten::fill_") == 0 ||
                       (strcmp(m->op->name, "aten::copy_") == 0 && !gt_str_equals(name, "src"));
    return writes_only ? NULL : "normal";
}

static bool add_value(gt_json_writer *w, match *m, size_t place)
{
    const parameter *p = &m->parameters[place];
    int64_t i = (int64_t)place;
    const gt_value *type = gt_value_at(m->types, i), *concrete = gt_value_at(m->concrete, i);
    gt_str kind = p->type, text = concrete->type == GT_VALUE_STRING ? concrete->text : (gt_str){"", 0};
    bool is_optional = kind.bytes[kind.len - 1] == '?',
         is_empty = gt_value_equals_cstr(type, "") && !text.len;
    kind.len -= is_optional;
    const char *bracket = memchr(kind.bytes, '[', kind.len);
    gt_str element = {kind.bytes, bracket ? (size_t)(bracket - kind.bytes) : kind.len};
    bool is_tensor = gt_str_starts_with(kind, "Tensor");
    if (is_empty && (is_optional || (is_tensor && !bracket))) return gt_json_add_cstr(w, NULL), true;
    if (is_empty && gt_str_equals(kind, "str")) { /* traces do not have these */
        bool is_known = p->otherwise.len > 2;     /* in quotes */
        gt_json_add_string(w, is_known ? (gt_str){p->otherwise.bytes + 1, p->otherwise.len - 2} : str(""));
        return true;
    }
    if (is_tensor && bracket) return add_tensors(w, m, i);
    if (is_tensor)
        return add_tensor(w, gt_value_at(m->dims, i), gt_value_at(m->strides, i), type_of(type),
                          init_of(m, p->name));
    if (!bracket) return add_scalar(w, element, text);
    return !gt_str_equals(element, "str") && add_scalars(w, element, text); /* not of names of dimensions */
}

static bool add_arguments(gt_json_writer *w, match *m, bool keyword_only)
{
    gt_json_put_open(w, keyword_only ? "list_kwargs" : "list_pos_args", '[');
    for (size_t i = 0; i < m->count; i++) {
        const parameter *p = &m->parameters[i];
        if (p->keyword_only != keyword_only) continue;
        gt_json_open(w, '{');
        gt_json_key(w, "arg_name");
        gt_json_add_string(w, p->name);
        gt_json_key(w, "arg_type");
        gt_json_add_string(w, p->type);
        gt_json_key(w, "value");
        if (!add_value(w, m, i)) return false;
        put_contents(w, m, i);
        gt_json_close(w, '}');
    }
    gt_json_close(w, ']');
    return true;
}

/* Adds nothing if the schema does not fit. */
static bool add_ir(gt_json_writer *w, match *m)
{
    gt_json_writer ir = {.depth = w->depth};
    gt_json_open(&ir, '{');
    bool fits = add_arguments(&ir, m, false) && add_arguments(&ir, m, true);
    if (fits) {
        gt_json_close(&ir, '}');
        gt_json_put_cstr(w, "op_name", m->op->name);
        gt_json_key(w, "replay_ir");
        gt_json_add_raw(w, gt_buffer_str(&ir.text));
    }
    gt_json_writer_free(&ir);
    return fits;
}

static bool fail(const match *m, size_t known, gt_error *error)
{
    if (m->lacks_type) return gt_fail(error, "no type of a list's tensors (--list_type)");
    if (m->lacks_list) return gt_fail(error, "the trace lacks a list of tensors");
    if (known) return gt_fail(error, "no known schema fits (--schemas)");
    return gt_fail(error, "no schema known (--schemas)");
}

/* Most ops also exist with a last argument, the tensor that gets the result: `with_out` tries these. */
static bool fits_any(match *m, const gt_schemas *schemas, gt_json_writer *w, bool with_out, size_t *known)
{
    bool fits = false;
    *known = 0;
    for (size_t i = 0; i < schemas->count && !fits; i++) {
        const schema *s = &schemas->items[i];
        if (!is_of(s, str(m->op->name))) continue;
        *known += 1;
        m->count = s->count + with_out;
        if (!gt_value_is_list(m->types) || m->types->count != m->count) continue;
        parameter *list = gt_alloc(m->count * sizeof *list + 1);
        if (s->count) memcpy(list, schemas->parameters + s->first, s->count * sizeof *list);
        if (with_out)
            list[s->count] = (parameter){.type = str("Tensor(a!)"), .name = str("out"), .keyword_only = true};
        m->parameters = list;
        fits = add_ir(w, m);
        gt_free(list);
    }
    return fits;
}

bool gt_replay_add_ir(gt_json_writer *w, const gt_schemas *schemas, const gt_replay_op *op,
                      const char *list_type, gt_error *error)
{
    gt_arena arena = {0};
    match m = {.op = op, .list_type = list_type};
    m.dims = gt_value_parse(&arena, op->dims);
    m.types = gt_value_parse(&arena, op->types);
    m.strides = gt_value_parse(&arena, op->strides);
    m.concrete = gt_value_parse(&arena, op->concrete);
    size_t known = 0;
    bool fits = fits_any(&m, schemas, w, false, &known) || fits_any(&m, schemas, w, true, &known);
    if (!fits && gt_value_is_list(m.types)) fail(&m, known, error);
    if (!fits && !gt_value_is_list(m.types)) gt_fail(error, "recorded without record_shapes=True");
    gt_arena_free(&arena);
    return fits;
}
