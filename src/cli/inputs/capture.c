/* The capture of a simulation: finds files by their suffixes, and reads a few values of the manifest and one
 * of the log. */
#include "cli/inputs/inputs.h"

#include "compat/python_literal.h"
#include "input/json/record.h"
#include "os/own.h"
#include "os/paths.h"

/* The first file by name that ends like this, or NULL. */
static char *find_in(const char *folder, const char *ending)
{
    DIR *dir = gt_opendir(folder);
    char *best = NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        if (gt_has_ending(entry->d_name, ending) &&
            (!best || strcmp(entry->d_name, gt_path_name(best)) < 0)) {
            char *path = gt_format("%s/%s", folder, entry->d_name);
            if (gt_path_may_open(path)) {
                gt_free(best);
                best = path;
            } else {
                gt_free(path);
            }
        }
    if (dir) closedir(dir);
    return best;
}

static char *find_first(const char *const *folders, const char *ending)
{
    char *found = find_in(folders[0], ending);
    return found ? found : find_in(folders[1], ending);
}

/* PREFIX_kernel_trace.csv as PREFIX_hip_api_trace.csv; NULL if there is no such file. */
static char *sibling_file(const char *kernels_csv, const char *ending)
{
    size_t prefix = strlen(kernels_csv) - strlen("_kernel_trace.csv");
    char *path = gt_format("%.*s%s", (int)prefix, kernels_csv, ending);
    if (gt_path_is_regular(path)) return path;
    gt_free(path);
    return NULL;
}

/* ---- manifest ---- */

/* A JSON value as Python's str() prints it. */
static char *python_text(gt_str json)
{
    if (!json.len) return gt_strdup("None");
    gt_buffer text = {0};
    gt_python_add_json(&text, json, GT_PYTHON_LISTS);
    return gt_buffer_take(&text);
}

static bool read_manifest(gt_capture *c, const char *path, gt_error *error)
{
    enum { TIMESTAMP, ENVIRONMENTS, STEPS, PRECISION, FIELDS };
    static const gt_field fields[FIELDS] = {{"timestamp", GT_FIELD_JSON, false},
                                            {"n_envs", GT_FIELD_JSON, false},
                                            {"num_steps", GT_FIELD_JSON, false},
                                            {"precision", GT_FIELD_JSON, false}};
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return false;
    gt_interner *strings = gt_interner_new();
    gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
    gt_json json;
    gt_record record;
    gt_json_begin(&json, stream, 0);
    bool read =
        gt_json_peek(&json) != GT_JSON_NONE && gt_record_read(reader, &json, &record) && !record.not_object;
    char **const texts[FIELDS] = {&c->title, &c->environments, &c->steps, &c->precision};
    for (size_t f = 0; read && f < FIELDS; f++) {
        bool has = record.present >> f & 1;
        if (f == TIMESTAMP && !has) continue; /* the name of the folder is used instead */
        gt_free(*texts[f]);
        *texts[f] = python_text(gt_interner_get(strings, has ? (uint32_t)record.cells[f].text : GT_STR_NONE));
    }
    c->has_manifest = read;
    if (!read) gt_fail(error, "%s: manifest is not a JSON object", path);
    gt_record_reader_free(reader);
    gt_interner_free(strings);
    gt_stream_close(stream);
    return read;
}

/* ---- log ---- */

/* The first "wall_time=3.98s". */
static double read_wall_time(const char *path)
{
    FILE *log = gt_path_may_open(path) ? gt_fopen(path, "r") : NULL;
    char *line = NULL;
    size_t size = 0;
    double seconds = -1;
    while (log && seconds < 0 && getline(&line, &size, log) > 0)
        for (const char *at = line; seconds < 0 && (at = strstr(at, "wall_time="));) {
            at += strlen("wall_time=");
            size_t len = strspn(at, "0123456789.");
            char *end;
            double value = strtod(at, &end);
            if (len && at[len] == 's' && end == at + len) seconds = value;
        }
    gt_free(line);
    if (log) fclose(log);
    return seconds;
}

/* ---- capture ---- */

static char *base_name(const char *folder)
{
    char *path = realpath(folder, NULL);
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *name = gt_strdup(slash ? slash + 1 : folder);
    gt_free(path);
    return name;
}

bool gt_capture_find(gt_capture *c, const char *folder, gt_error *error)
{
    static const char *const manifests[] = {"capture_manifest.json", "combined_manifest.json"};
    *c = (gt_capture){.folder = gt_strdup(folder), .title = base_name(folder)};
    if (!gt_path_is_folder(folder)) return gt_fail(error, "%s: not a folder", folder);
    char *inner = gt_format("%s/kernel_trace", folder);
    const char *const folders[] = {gt_path_is_folder(inner) ? inner : folder, folder};
    char *usual = gt_format("%s/kernel_kernel_trace.csv", folders[0]);
    c->kernels_csv = gt_path_is_regular(usual) ? gt_strdup(usual) : find_first(folders, "_kernel_trace.csv");
    c->json = find_first(folders, "_results.json");
    c->pftrace = find_first(folders, "_results.pftrace");
    if (c->kernels_csv) c->hip_csv = sibling_file(c->kernels_csv, "_hip_api_trace.csv");
    if (c->kernels_csv) c->hsa_csv = sibling_file(c->kernels_csv, "_hsa_api_trace.csv");
    gt_free_all(usual, inner);
    bool read = true;
    for (size_t i = 0; read && !c->has_manifest && i < GT_LENGTH(manifests); i++) {
        char *path = gt_format("%s/%s", folder, manifests[i]);
        if (gt_path_is_regular(path)) read = read_manifest(c, path, error);
        gt_free(path);
    }
    char *log = gt_format("%s/run.log", folder);
    c->wall_time_s = read_wall_time(log);
    gt_free(log);
    return read;
}

void gt_capture_free(gt_capture *c)
{
    char *const texts[] = {c->folder,  c->kernels_csv, c->json,  c->pftrace,      c->hip_csv,
                           c->hsa_csv, c->title,       c->steps, c->environments, c->precision};
    for (size_t i = 0; i < GT_LENGTH(texts); i++) gt_free(texts[i]);
    *c = (gt_capture){0};
}
