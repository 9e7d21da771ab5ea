/* The Dockerfiles of a model: DOCKERFILE.*, each of which says in one of its first five lines which contexts
 * it is for:
 *
 *     # CONTEXT {'gpu_vendor': 'AMD', 'guest_os': 'UBUNTU'}
 *
 * It fits if every key that the context also has is equal there. */
#include "run/models/models.h"
#include "compat/python_literal.h"
#include "compat/python_repr.h"
#include "os/paths.h"

enum { DOCKERFILE_MAX_BYTES = 4 << 20, CONTEXT_LINES = 5 };

static bool read_text(gt_arena *arena, const char *path, const char **text, gt_error *error)
{
    gt_buffer bytes = {0};
    bool ok = gt_read_small_file(path, DOCKERFILE_MAX_BYTES, &bytes, error);
    if (ok) *text = gt_arena_bytes(arena, bytes.bytes ? bytes.bytes : "", bytes.len);
    gt_buffer_free(&bytes);
    return ok;
}

/* The object after "# CONTEXT "; NULL if there is none. */
static const gt_value *context_of(gt_arena *arena, const char *text)
{
    static const char mark[] = "# CONTEXT ";
    for (int line = 0; line < CONTEXT_LINES && *text; line++) {
        size_t len = strcspn(text, "\n");
        const char *at = memmem(text, len, mark, strlen(mark));
        if (at) {
            at += strlen(mark);
            gt_buffer json = {0};
            gt_error ignored;
            const gt_value *value = NULL;
            if (gt_python_to_json((gt_str){at, (size_t)(text + len - at)}, &json, &ignored))
                value = gt_settings_parse(arena, gt_buffer_str(&json), &ignored);
            gt_buffer_free(&json);
            return value && value->type == GT_VALUE_DICT ? value : NULL;
        }
        text += len + (text[len] == '\n');
    }
    return NULL;
}

static bool is_equal(const gt_value *a, const gt_value *b)
{
    gt_buffer left = {0}, right = {0};
    gt_python_add_value_repr(&left, a);
    gt_python_add_value_repr(&right, b);
    bool equal = left.len == right.len && (!left.len || memcmp(left.bytes, right.bytes, left.len) == 0);
    gt_buffer_free(&left);
    gt_buffer_free(&right);
    return equal;
}

static bool fits(const gt_value *wanted, const gt_value *context)
{
    for (uint32_t i = 0; i < wanted->count; i += 2) {
        const gt_value *there = gt_value_get(context, wanted->items[i].text.bytes);
        if (there->type != GT_VALUE_MISSING && !is_equal(&wanted->items[i + 1], there)) return false;
    }
    return true;
}

bool gt_dockerfiles_find(gt_arena *arena, const gt_value *context, const gt_value *model, gt_arg_list *files,
                         gt_error *error)
{
    const char *base = gt_model_text(model, "dockerfile"), *name = gt_path_name(base);
    char *folder = gt_path_folder(base);
    gt_folder_list names = gt_list_folder(folder);
    size_t candidates = 0, len = strlen(name);
    bool ok = true;
    for (size_t i = 0; ok && *name && i < names.count; i++) {
        const char *text;
        if (strncmp(names.items[i], name, len) != 0 || names.items[i][len] != '.') continue;
        const char *path =
            gt_arena_format(arena, "%.*s%s", (int)gt_path_folder_len(base), base, names.items[i]);
        if (gt_path_is_folder(path)) continue;
        ok = read_text(arena, path, &text, error);
        const gt_value *wanted = ok ? context_of(arena, text) : NULL;
        candidates++;
        if (wanted && fits(wanted, context)) gt_arg_list_add(arena, files, path);
    }
    gt_folder_list_free(&names);
    gt_free(folder);
    if (!ok || files->count) return ok;
    const char *vendor = gt_settings_string(context, "gpu_vendor"),
               *os = gt_settings_string(context, "guest_os");
    if (!candidates)
        return gt_fail(error, "no Dockerfile %.300s.*", *base ? base : "(model without dockerfile)");
    return gt_fail(error,
                   "no Dockerfile %.300s.* has a line '# CONTEXT {...}' for gpu_vendor %s, guest_os %s", base,
                   vendor ? vendor : "?", os ? os : "?");
}

/* ---- contents ---- */

/* The value of the last or first "ARG NAME=value" (or ENV); NULL: none. Upper and lower case of the
 * instruction are the same. */
static const char *setting_of(gt_arena *arena, const char *text, const char *instruction, const char *name,
                              bool *declared)
{
    size_t word = strlen(instruction), len = strlen(name);
    for (const char *line = text; *line;) {
        size_t end = strcspn(line, "\n");
        const char *at = line + strspn(line, " \t");
        if (strncasecmp(at, instruction, word) == 0 && isblank((unsigned char)at[word])) {
            at += word;
            at += strspn(at, " \t");
            if (strncmp(at, name, len) == 0 &&
                (at[len] == '=' || isspace((unsigned char)at[len]) || !at[len])) {
                if (declared) *declared = true;
                const char *value = at + len + (at[len] == '=');
                size_t size = at[len] == '=' ? strcspn(value, " \t\r\n") : 0;
                while (size && strchr("\"'", *value)) value++, size--;
                while (size && strchr("\"'", value[size - 1])) size--;
                if (size) return gt_arena_bytes(arena, value, size);
            }
        }
        line += end + (line[end] == '\n');
    }
    return NULL;
}

/* AMD or NVIDIA by the name or the contents; "" if neither is to be seen. */
static const char *vendor_of(const char *path, const char *text)
{
    if (strcasestr(path, ".amd.")) return "AMD";
    if (strcasestr(path, ".nvidia.")) return "NVIDIA";
    if (!strstr(text, "FROM")) return "";
    if (strcasestr(text, "rocm") || strcasestr(text, "amd")) return "AMD";
    return strcasestr(text, "nvidia") || strcasestr(text, "cuda") ? "NVIDIA" : "";
}

bool gt_dockerfile_read(gt_arena *arena, const char *path, gt_dockerfile *file, gt_error *error)
{
    static const char arch[] = "MAD_SYSTEM_GPU_ARCHITECTURE";
    const char *text;
    if (!read_text(arena, path, &text, error)) return false;
    *file = (gt_dockerfile){.path = path, .vendor = vendor_of(path, text)};
    const char *base = setting_of(arena, text, "ARG", "BASE_DOCKER", NULL);
    bool declared = false;
    file->architecture = setting_of(arena, text, "ARG", arch, &declared);
    if (!file->architecture) file->architecture = setting_of(arena, text, "ENV", arch, NULL);
    file->needs_architecture = declared && !file->architecture;
    file->base = base ? base : "";
    /* "docker/dummy.ubuntu.amd.Dockerfile" gives dummy.ubuntu.amd */
    const char *name = gt_path_name(path), *end = strstr(name, ".Dockerfile");
    file->stem =
        end ? gt_arena_format(arena, "%.*s%s", (int)(end - name), name, end + strlen(".Dockerfile")) : name;
    return true;
}
