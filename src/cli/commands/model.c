/* `gputally model`: evaluates the model of an op for arguments from the command line instead of a trace, and
 * prints its result and the minimum time of the op on a GPU. */
#include "cli/commands/commands.h"
#include "json/string.h"
#include "compat/python_repr.h"
#include "base/raise.h"
#include "output/file.h"

static const gt_option model_options[] = {
    {"shapes", GT_OPTION_STRING, "SHAPES", NULL,
     "set the shapes of the arguments in order: 4096x1024,1024x512 (- or None for a non-tensor or no "
     "tensor), "
     "or as in a trace: [[4096,1024],[1024,512]]"},
    {"dtype", GT_OPTION_STRING, "TYPES", "bf16",
     "set the types: bf16, fp16, fp32, fp64, fp8, fp4, int8, uint8, int32, int64 or a type name from a "
     "trace; one for all arguments, or a comma-separated list",
     .choices = "bf16|fp16|fp32|fp64|fp8|fp4|int8|uint8|int32|int64|"},
    {"concrete", GT_OPTION_STRING, "JSON", NULL,
     "set the values of non-tensor arguments, as in a trace: [\"\", \"\", \"\", \"0.0\", \"True\"]"},
    {"strides", GT_OPTION_STRING, "JSON", NULL, "set the strides of the tensors (default: contiguous)"},
    {"extra", GT_OPTION_STRING, "JSON", NULL, "set other arguments: {\"MoE topk\": 4}"},
    {"annotation", GT_OPTION_STRING, "TEXT", NULL,
     "set the name of the enclosing step, from which attention models of inference servers take sequence "
     "lengths"},
    {"kernel", GT_OPTION_STRING, "NAME", NULL, "set the name of the op's kernel"},
    {"backward", GT_OPTION_FLAG, NULL, NULL, "model the backward pass"},
};
static const gt_option_group model_group = {"Other arguments of the op", model_options,
                                            GT_LENGTH(model_options)};

static const gt_option gpu_options[] = {
    {"gpu", GT_OPTION_STRING, "NAME", NULL,
     "print the minimum time on this GPU, such as MI300X, or on all built-in GPUs: all",
     .choices = "@gpus|all|"},
    {"gpu_peaks", GT_OPTION_STRING, "SET", "peak",
     "use these rates of built-in GPUs: peak, achievable (by well-tuned GEMMs, where known) or tracelens",
     .needs = "gpu", .choices = GT_PEAK_SET_CHOICES},
    {"gpu_arch_json_path", GT_OPTION_STRING, "FILE", NULL,
     "print the minimum time on the GPU described in FILE"},
};
static const gt_option_group gpu_group = {"GPU", gpu_options, GT_LENGTH(gpu_options)};

static const gt_option output_options[] = {
    {"output", GT_OPTION_STRING, "FILE", NULL, "write the text to FILE instead of standard output"},
};
static const gt_option_group output_group = {"Output", output_options, GT_LENGTH(output_options)};

const gt_syntax gt_model_syntax = {
    .groups = {&model_group, &gpu_group, &output_group, &gt_messages_group},
    .main_options = {"shapes", "dtype", "gpu", "concrete", "backward"},
    .files = "OP",
    .file_choices = "@ops|list|",
    .files_max = 1,
    .output_option = "output",
};

/* ---- arguments ---- */

static const struct {
    const char *name, *trace_name;
} dtypes[] = {
    {"bf16", "c10::BFloat16"}, {"fp16", "c10::Half"},         {"fp32", "float"},
    {"fp64", "double"},        {"fp8", "c10::Float8_e4m3fn"}, {"fp4", "c10::Float4_e2m1fn_x2"},
    {"int8", "signed char"},   {"uint8", "unsigned char"},    {"int32", "int"},
    {"int64", "long int"},
};

/* An argument that is not a tensor, or an optional tensor that is not given. */
static bool is_absent(const char *text, size_t len)
{
    return !len || (len == 1 && *text == '-') || (len == 4 && strncasecmp(text, "None", 4) == 0);
}

/* "4096x1024" as [4096,1024]; "-", "None" and "" as []. */
static bool add_shape(gt_buffer *json, const char *text, size_t len)
{
    bool after_digit = false;
    if (is_absent(text, len)) {
        gt_buffer_add_cstr(json, "[]");
        return true;
    }
    gt_buffer_add_cstr(json, "[");
    for (size_t i = 0; i < len; i++) {
        bool is_digit = text[i] >= '0' && text[i] <= '9';
        if (!is_digit && (text[i] != 'x' || !after_digit)) return false;
        gt_buffer_add(json, is_digit ? &text[i] : ",", 1);
        after_digit = is_digit;
    }
    gt_buffer_add_cstr(json, "]");
    return after_digit;
}

static bool shapes_to_json(const char *text, gt_buffer *json)
{
    if (*text == '[') {
        gt_buffer_add_cstr(json, text);
        return true;
    }
    gt_buffer_add_cstr(json, "[");
    for (bool more = true; more;) {
        text += strspn(text, " ");
        size_t len = strcspn(text, ", ;");
        if (!add_shape(json, text, len)) return false;
        text += len;
        text += strspn(text, " ");
        more = *text != 0;
        text += *text == ',' || *text == ';';
        if (more) gt_buffer_add_cstr(json, ",");
    }
    gt_buffer_add_cstr(json, "]");
    return true;
}

static void add_quoted(gt_buffer *json, const char *text, size_t len)
{
    gt_buffer scratch = {0};
    gt_json_string_add(json, (gt_str){text, len}, &scratch);
    gt_buffer_free(&scratch);
}

static void add_dtype(gt_buffer *json, const char *name, size_t len)
{
    if (is_absent(name, len)) len = 0;
    for (size_t i = 0; i < GT_LENGTH(dtypes); i++)
        if (strlen(dtypes[i].name) == len && strncasecmp(dtypes[i].name, name, len) == 0) {
            name = dtypes[i].trace_name;
            len = strlen(name);
            break;
        }
    add_quoted(json, name, len);
}

/* One type per shape; a single type applies to all tensors. */
static void dtypes_to_json(const char *text, const gt_value *shapes, gt_buffer *json)
{
    bool single = !strchr(text, ',');
    gt_buffer_add_cstr(json, "[");
    for (uint32_t i = 0; i < shapes->count || (!single && text); i++) {
        if (i) gt_buffer_add_cstr(json, ",");
        if (single) {
            bool is_tensor = !gt_value_is_empty(&shapes->items[i]);
            add_dtype(json, is_tensor ? text : "Scalar", is_tensor ? strlen(text) : 6);
            continue;
        }
        size_t len = text ? strcspn(text, ",") : 0;
        add_dtype(json, text ? text : "", len);
        text = text && text[len] ? text + len + 1 : NULL;
    }
    gt_buffer_add_cstr(json, "]");
}

/* The strides of a contiguous tensor: each is the product of the dims after it. */
static void add_strides(gt_buffer *json, const gt_value *shape)
{
    gt_buffer_add_cstr(json, "[");
    for (uint32_t i = 0; gt_value_is_list(shape) && i < shape->count; i++) {
        int64_t stride = 1;
        for (uint32_t j = i + 1; j < shape->count; j++)
            if (__builtin_mul_overflow(
                    stride, shape->items[j].type == GT_VALUE_INT ? shape->items[j].integer : 0, &stride))
                stride = 0;
        if (i) gt_buffer_add_cstr(json, ",");
        gt_buffer_add_int(json, stride);
    }
    gt_buffer_add_cstr(json, "]");
}

static void strides_to_json(const gt_value *shapes, gt_buffer *json)
{
    gt_buffer_add_cstr(json, "[");
    for (uint32_t i = 0; i < shapes->count; i++) {
        if (i) gt_buffer_add_cstr(json, ",");
        add_strides(json, &shapes->items[i]);
    }
    gt_buffer_add_cstr(json, "]");
}

static uint32_t intern(gt_interner *strings, gt_buffer *buffer)
{
    uint32_t id = gt_interner_add(strings, buffer->bytes, buffer->len);
    buffer->len = 0;
    return id;
}

/* Interns the JSON value of an option, if it is given. False if it is not JSON. */
static bool read_json_option(const gt_call *call, gt_interner *strings, gt_arena *arena, const char *option,
                             uint32_t *id)
{
    const char *text = gt_arguments_string(&call->arguments, option);
    if (!text) return true;
    if (gt_value_parse(arena, (gt_str){text, strlen(text)})->type == GT_VALUE_MISSING) {
        gt_usage_error(call->program, "argument --%s: '%s' is not valid JSON", option, text);
        return false;
    }
    *id = gt_interner_add_cstr(strings, text);
    return true;
}

static bool read_event(const gt_call *call, gt_interner *strings, gt_model_event *event)
{
    const gt_arguments *arguments = &call->arguments;
    const char *shapes_text = gt_arguments_string(arguments, "shapes"),
               *annotation = gt_arguments_string(arguments, "annotation");
    gt_buffer json = {0};
    gt_arena arena = {0};
    bool valid = true;
    event->name = gt_interner_add_cstr(strings, arguments->files[0]);
    event->sequence = GT_EVENT_NONE;
    if (annotation) event->annotation = gt_interner_add_cstr(strings, annotation);
    if (shapes_text) {
        valid = shapes_to_json(shapes_text, &json);
        const gt_value *shapes = gt_value_parse(&arena, gt_buffer_str(&json));
        valid = valid && gt_value_is_list(shapes);
        if (valid) {
            event->dims = intern(strings, &json);
            dtypes_to_json(gt_arguments_string(arguments, "dtype"), shapes, &json);
            event->types = intern(strings, &json);
            strides_to_json(shapes, &json);
            event->strides = intern(strings, &json);
        } else {
            gt_usage_error(call->program, "argument --shapes: '%s' does not have the form 4096x1024,1024x512",
                           shapes_text);
        }
    }
    valid = valid && read_json_option(call, strings, &arena, "strides", &event->strides) &&
            read_json_option(call, strings, &arena, "concrete", &event->concrete) &&
            read_json_option(call, strings, &arena, "extra", &event->extra);
    gt_arena_free(&arena);
    gt_buffer_free(&json);
    return valid;
}

/* ---- output ---- */

static void print_line(gt_buffer *out, const char *name, const char *value)
{
    char *line = gt_format("%-20s %s\n", name, value);
    gt_buffer_add_cstr(out, line);
    gt_free(line);
}

/* Integers of any size without a fraction; other numbers as Python prints them. */
static void print_number(gt_buffer *out, const char *name, double value)
{
    char text[400];
    if (value == floor(value) && fabs(value) < 1e300)
        snprintf(text, sizeof text, "%.0f", value);
    else
        text[gt_print_double(text, value)] = 0;
    print_line(out, name, isnan(value) ? "unknown" : text);
}

static void print_min_time(gt_buffer *out, const gt_model_result *result, const gt_gpu_arch *arch)
{
    gt_min_time min = gt_min_time_of(result, arch);
    bool knows_compute = !isnan(min.compute_us), knows_memory = !isnan(min.memory_us);
    char text[200];
    if (knows_compute && knows_memory)
        snprintf(text, sizeof text, "at least %.4g us (compute %.4g us, memory %.4g us)",
                 fmax(min.compute_us, min.memory_us), min.compute_us, min.memory_us);
    else if (knows_memory || knows_compute)
        snprintf(text, sizeof text, "at least %.4g us (only %s is known)",
                 knows_memory ? min.memory_us : min.compute_us, knows_memory ? "memory" : "compute");
    else
        snprintf(text, sizeof text, "unknown");
    print_line(out, arch->name, text);
}

static void print_result(gt_buffer *out, const gt_model *model, const gt_model_result *result)
{
    gt_metrics metrics = gt_metrics_of(result, 0, NULL);
    print_line(out, "op", model->name);
    print_line(out, "category", model->category);
    for (size_t i = 0; i < result->parameter_count; i++) {
        gt_buffer value = {0};
        gt_python_add_value(&value, &result->parameters[i].value);
        print_line(out, result->parameters[i].name, gt_buffer_str(&value).bytes);
        gt_buffer_free(&value);
    }
    print_number(out, "flops", result->flops);
    print_number(out, "bytes", result->bytes);
    print_number(out, "flops/byte", metrics.flops_per_byte);
    print_line(out, "compute spec", result->compute_spec[0] ? result->compute_spec : "unknown");
}

static void list_ops(gt_buffer *out)
{
    size_t count;
    const gt_model *const *ops = gt_op_list(&count);
    for (gt_op_family family = GT_FAMILY_NONE + 1; family < GT_FAMILY_COUNT; family++)
        for (size_t i = 0; i < count; i++)
            if (ops[i]->evaluate && ops[i]->family == family)
                print_line(out, gt_op_family_name(family), ops[i]->name);
    print_line(out, "", "triton_poi_..., triton_red_..., triton_per_...");
}

/* ---- the command ---- */

static gt_exit no_model(const gt_call *call, const char *op)
{
    size_t count, known = 0;
    const gt_model *const *ops = gt_op_list(&count);
    const char **names = gt_alloc(count * sizeof *names);
    for (size_t i = 0; i < count; i++)
        if (ops[i]->evaluate) names[known++] = ops[i]->name;
    const char *nearest = gt_nearest(op, names, known);
    gt_free(names);
    if (nearest) return gt_usage_error(call->program, "no model for '%s' (did you mean %s?)", op, nearest);
    return gt_usage_error(call->program, "no model for '%s'; '%s list' lists all ops with a model", op,
                          call->program);
}

enum { GPUS_MAX = 64 };

/* The GPUs given on the command line, with the rates of a set; none is allowed. `all` skips those that have
 * no such rates. */
typedef struct gpu_list {
    gt_gpu_arch items[GPUS_MAX];
    size_t count;
} gpu_list;

static bool choose_gpus(const gt_call *call, gt_peak_set set, gt_arena *arena, gpu_list *gpus)
{
    const char *name = gt_arguments_string(&call->arguments, "gpu");
    const char *path = gt_arguments_string(&call->arguments, "gpu_arch_json_path");
    const gt_gpu_arch *chosen;
    gt_error error;
    if (name && strcasecmp(name, "all") == 0) {
        size_t count;
        const gt_gpu_arch *all = gt_gpu_archs(&count);
        for (size_t i = 0; i < count && gpus->count < GPUS_MAX; i++)
            gpus->count += gt_gpu_arch_use(&all[i], set, arena, &gpus->items[gpus->count], &error);
        return true;
    }
    if (gt_gpu_arch_choose(name, path, set, arena, &gpus->items[0], &chosen, &error)) {
        gpus->count = chosen != NULL;
        return true;
    }
    fprintf(stderr, "%s: error: %s\n", call->program, error.text);
    return false;
}

/* Which rates the times were computed with. */
static void print_rates(gt_buffer *out, const gpu_list *gpus, gt_peak_set set)
{
    gt_buffer text = {0};
    if (gpus->count == 1)
        gt_gpu_arch_describe(&gpus->items[0], &text);
    else
        gt_buffer_add_cstr(&text, gt_peak_set_name(set));
    if (gpus->count) print_line(out, "rates", gt_buffer_str(&text).bytes);
    gt_buffer_free(&text);
}

static gt_exit show(const gt_call *call, gt_models *models, const gt_model_event *event, const gpu_list *gpus,
                    gt_peak_set set, gt_buffer *out)
{
    const gt_model *model = gt_model_find(models, event);
    if (!model) return no_model(call, call->arguments.files[0]);
    const gt_model_result *result =
        gt_model_evaluate(models, model, event, gt_arguments_flag(&call->arguments, "backward"));
    if (result->misfits) {
        fprintf(stderr, "%s: error: the shapes of %s do not fit together\n", call->program, model->name);
        return GT_EXIT_FAILED;
    }
    if (result->outcome != GT_MODEL_VALUE) {
        fprintf(stderr,
                "%s: error: the model of %s does not support these arguments; docs/models.md lists those "
                "that it "
                "reads\n",
                call->program, model->name);
        return GT_EXIT_FAILED;
    }
    print_result(out, model, result);
    for (size_t i = 0; i < gpus->count; i++) print_min_time(out, result, &gpus->items[i]);
    print_rates(out, gpus, set);
    return GT_EXIT_DONE;
}

static gt_exit write_text(const gt_call *call, gt_buffer *text)
{
    const char *path = gt_arguments_string(&call->arguments, "output");
    bool quiet = gt_arguments_flag(&call->arguments, "quiet");
    if (!path) {
        if (!quiet) fputs(gt_buffer_str(text).bytes, stdout);
        return GT_EXIT_DONE;
    }
    gt_error error;
    gt_output *output = gt_output_new();
    bool written =
        gt_output_write_file(output, path, gt_buffer_str(text), &error) && gt_output_commit(output, &error);
    gt_output_free(output);
    if (written && !quiet) printf("wrote %s\n", path);
    if (!written) fprintf(stderr, "gputally: %s\n", error.text);
    return written ? GT_EXIT_DONE : GT_EXIT_FAILED;
}

static gt_exit model_op(const gt_call *call, gt_buffer *out)
{
    if (gt_arguments_string(&call->arguments, "gpu") &&
        gt_arguments_string(&call->arguments, "gpu_arch_json_path"))
        return gt_usage_error(call->program,
                              "argument --gpu_arch_json_path: not allowed with argument --gpu");
    if (gt_arguments_value(&call->arguments, "gpu")->given && !gt_arguments_string(&call->arguments, "gpu"))
        return gt_usage_error(call->program, "argument --gpu: the name is empty");
    const char *gpu = gt_arguments_string(&call->arguments, "gpu");
    gt_error error;
    if (gpu && strcasecmp(gpu, "all") != 0 && !gt_gpu_arch_find(gpu, &error))
        return gt_usage_error(call->program, "argument --gpu: %s", error.text);
    if (!gt_arguments_string(&call->arguments, "dtype"))
        return gt_usage_error(call->program, "argument --dtype: needs at least one type");
    gt_peak_set set;
    const char *set_name = gt_arguments_value(&call->arguments, "gpu_peaks")->text;
    if (!gt_peak_set_parse(set_name, &set)) gt_raise_internal("--gpu_peaks %s", set_name);
    gt_interner *strings = gt_interner_new();
    gt_arena arena = {0};
    gpu_list *gpus = gt_alloc_zero(1, sizeof *gpus);
    gt_model_event event = {0};
    gt_exit status = GT_EXIT_USAGE;
    if (read_event(call, strings, &event)) {
        const char *kernel = gt_arguments_string(&call->arguments, "kernel");
        uint32_t kernel_id = kernel ? gt_interner_add_cstr(strings, kernel) : (uint32_t)GT_STR_NONE;
        event.kernels = &kernel_id;
        event.kernel_count = kernel != NULL;
        gt_models *models = gt_models_new(strings);
        gt_models_be_exact(models);
        status = GT_EXIT_FAILED;
        if (choose_gpus(call, set, &arena, gpus)) status = show(call, models, &event, gpus, set, out);
        gt_models_free(models);
    }
    gt_free(gpus);
    gt_arena_free(&arena);
    gt_interner_free(strings);
    return status;
}

gt_exit gt_cmd_model(const gt_call *call)
{
    gt_buffer text = {0};
    gt_exit status = GT_EXIT_DONE;
    if (strcmp(call->arguments.files[0], "list") == 0)
        list_ops(&text);
    else
        status = model_op(call, &text);
    if (status == GT_EXIT_DONE) status = write_text(call, &text);
    gt_buffer_free(&text);
    return status;
}
