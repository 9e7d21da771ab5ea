/* Files that are no trace: what they are by their first bytes, and what to do with them.
 *
 * What gputally wrote itself (workbooks, databases, pages, JSON) is recognised, too. Pickles and programs are
 * only named: loading a pickle runs code. */
#include "doctor/parts.h"

#include "input/nsys/nsys.h"
#include "input/sheets/sheets.h"
#include "input/sqlite.h"
#include "json/reader.h"
#include "os/paths.h"

/* `next` is a command before the path, `after` comes after it. */
typedef struct signature {
    const char *bytes;
    size_t len, offset;
    const char *kind, *what, *advice, *next, *after;
} signature;

#define NSYS_OTHER                                                                                           \
    "gputally reads the SQLite export of Nsight Systems: nsys export --type sqlite REPORT.nsys-rep"

static const signature signatures[] = {
    {"\x89HDF\r\n\x1a\n", 8, 0, "hdf5", "HDF5 file", NSYS_OTHER, NULL, NULL},
    {"PAR1", 4, 0, "parquet", "Parquet file", NSYS_OTHER, NULL, NULL},
    {"ARROW1", 6, 0, "arrow", "Arrow file", NSYS_OTHER, NULL, NULL},
    {"\xFD"
     "7zXZ",
     6, 0, "compressed", "file compressed with xz", "decompress it first", "xz -dk", NULL},
    {"BZh", 3, 0, "compressed", "file compressed with bzip2", "decompress it first", "bzip2 -dk", NULL},
    {"\x04\x22\x4D\x18", 4, 0, "compressed", "file compressed with lz4", "decompress it first", "lz4 -dk",
     NULL},
    {"7z\xBC\xAF\x27\x1C", 6, 0, "archive", "7z archive", "unpack it first", "7z x", NULL},
    {"ustar", 5, 257, "archive", "tar archive", "unpack it first", "tar -xf", NULL},
    {"PERFILE2", 8, 0, "perf-data", "recording of Linux perf",
     "it has no GPU events; gputally reads traces of GPU profilers", NULL, NULL},
    {"\x89PNG", 4, 0, "image", "PNG image", "not a trace", NULL, NULL},
    {"%PDF", 4, 0, "document", "PDF document", "not a trace", NULL, NULL},
    {"HloModule", 9, 0, "hlo-dump", "text dump of an XLA module",
     "gputally jax-collective reads it together with the profile: gputally jax-collective PROFILE.xplane.pb "
     "--xla_dumps DUMP",
     NULL, NULL},
};

static bool has_bytes(gt_str text, const char *bytes, size_t len, size_t offset)
{
    return text.len >= offset + len && memcmp(text.bytes + offset, bytes, len) == 0;
}

static bool contains(gt_str text, const char *part)
{
    return memmem(text.bytes, text.len, part, strlen(part)) != NULL;
}

static void say(gt_diagnosis *d, const char *kind, const char *what, const char *advice)
{
    gt_diagnosis_is(d, kind, what);
    d->problem = advice;
}

/* ---- what gputally or TraceLens wrote ---- */

static void is_report(gt_diagnosis *d, const char *what)
{
    gt_diagnosis_is(d, "perf-report", what);
    d->usable = true;
    d->problem = NULL;
    d->next = gt_diagnosis_command(d, "gputally compare", d->path, "OTHER_REPORT");
    d->next_text = "compares it with another report; replace OTHER_REPORT";
    gt_supported_command_add(d, "compare", true,
                             "this and other reports side by side, with --fail_if as a gate");
    gt_supported_command_add(d, "report", false, "reads traces; this is a report already");
}

static void look_at_zip(gt_diagnosis *d, gt_str first)
{
    gt_error ignored;
    gt_workbook *book = strcmp(d->path, "-") == 0 ? NULL : gt_workbook_open(d->path, &ignored);
    size_t sheets = book ? gt_workbook_sheet_count(book) : 0;
    bool has_timeline = false;
    for (size_t i = 0; i < sheets; i++)
        has_timeline |= strcmp(gt_workbook_sheet_name(book, i), "gpu_timeline") == 0;
    gt_workbook_close(book);
    if (sheets) gt_fact_add_count(d, GT_FACT_CONTENTS, "sheets", (double)sheets);
    if (has_timeline)
        is_report(d, "workbook of a performance report");
    else if (sheets)
        say(d, "workbook", "Excel workbook", "not a performance report (no sheet gpu_timeline)");
    else if (contains(first, "data.pkl"))
        say(d, "checkpoint", "file of torch.save (tensors or a model)", "not a trace");
    else {
        say(d, "archive", "zip archive", "unpack it first");
        d->next = gt_diagnosis_command(d, "unzip", d->path, NULL);
    }
}

static void look_at_database(gt_diagnosis *d, const gt_error *error)
{
    gt_sqlite database = {0};
    gt_error ignored;
    bool failed = false, is_ours = false;
    if (gt_database_kind_of(d->path) == GT_DATABASE_NVPROF) {
        say(d, "nvprof-database", "database of nvprof or the NVIDIA Visual Profiler", NULL);
    } else {
        if (gt_sqlite_open(&database, d->path, true, &ignored)) {
            sqlite3_stmt *rows = gt_sqlite_prepare(
                &database, "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'gpu_timeline'");
            is_ours = rows && gt_sqlite_next(&database, rows, &failed, &ignored);
            gt_sqlite_end(rows);
        }
        gt_sqlite_close(&database);
        say(d, is_ours ? "gputally-database" : "sqlite",
            is_ours ? "database of a gputally report (--output_db)" : "SQLite database", NULL);
    }
    d->problem = is_ours
                     ? "a report, not a trace; read it with SQL: sqlite3 FILE 'SELECT * FROM gpu_timeline'"
                     : gt_diagnosis_text(d, "%s", error->text);
}

/* JSON without a trace, by the keys of its object. */
static const struct {
    const char *key, *kind, *what, *advice;
} json_keys[] = {
    {"segments", "memory-snapshot", "memory snapshot of PyTorch",
     "unsupported; gputally shows memory of traces recorded with profile_memory=True"},
    {"nodes", "execution-trace", "execution trace of PyTorch (Chakra)",
     "unsupported; record with torch.profiler and export_chrome_trace"},
    {"axes", "sweep-record", "record of a sweep (sweep.json)", "name the folder: gputally sweep all FOLDER"},
    {"points", "sweep-record", "record of a sweep (sweep.json)",
     "name the folder: gputally sweep all FOLDER"},
    {"built_images", "build-manifest", "manifest of built images", "for gputally run --manifest_file FILE"},
    {"tools", "run-context", "context of gputally run", "for gputally run -f FILE -- COMMAND"},
    {"frames", "speedscope", "profile of speedscope or py-spy", "it has no GPU events"},
};

static void look_at_json(gt_diagnosis *d, gt_str first)
{
    gt_json json;
    gt_str key, value;
    say(d, "json", "JSON file without a trace",
        "no traceEvents and no rocprofiler-sdk-tool in it; record with export_chrome_trace or rocprofv3 "
        "--output-format json");
    gt_json_begin_str(&json, first);
    if (gt_json_peek(&json) != GT_JSON_OBJECT || !gt_json_enter_object(&json)) return;
    while (gt_json_next_key(&json, &key)) {
        for (size_t i = 0; i < GT_LENGTH(json_keys); i++)
            if (gt_str_equals(key, json_keys[i].key)) {
                say(d, json_keys[i].kind, json_keys[i].what, json_keys[i].advice);
                return;
            }
        if (gt_str_equals(key, "schema") && gt_json_peek(&json) == GT_JSON_STRING) {
            if (!gt_json_string(&json, &value)) return;
            if (gt_str_starts_with(value, "gputally-")) {
                say(d, "gputally-json", "JSON output of gputally", "an output, not a trace");
                return;
            }
        } else if (!gt_json_skip(&json)) {
            return;
        }
    }
}

/* ---- text and unknown bytes ---- */

static bool is_text(gt_str first)
{
    size_t len = first.len < 4096 ? first.len : 4096;
    if (memchr(first.bytes, 0, len)) return false;
    while (len && len < first.len && ((unsigned char)first.bytes[len] & 0xC0) == 0x80) len--;
    return gt_utf8_is_valid((gt_str){first.bytes, len});
}

static bool is_pickle(gt_str first)
{
    return first.len > 2 && (unsigned char)first.bytes[0] == 0x80 && first.bytes[1] >= 2 &&
           first.bytes[1] <= 5;
}

/* A CSV file in the folder of a report. */
static bool is_beside_timeline(const char *path)
{
    size_t len = strlen(path);
    if (len < 4 || strcmp(path + len - 4, ".csv") != 0) return false;
    char *timeline = gt_path_sibling(path, "gpu_timeline.csv");
    bool found = gt_path_is_file(timeline);
    gt_free(timeline);
    return found;
}

static void look_at_bytes(gt_diagnosis *d, gt_str first)
{
    static const char html[] = "<!doctype html";
    bool is_html = first.len >= sizeof html - 1 && strncasecmp(first.bytes, html, sizeof html - 1) == 0;
    if (is_html && contains(first, "gputally"))
        say(d, "gputally-page", "page of gputally", "an output, not a trace; open it in a browser");
    else if (is_html)
        say(d, "html", "HTML page", "not a trace");
    else if (is_pickle(first) && (contains(first, "segments") || contains(first, "device_traces")))
        say(d, "memory-snapshot", "memory snapshot of PyTorch (pickle)",
            "unsupported, and loading a pickle runs code; gputally shows memory of traces recorded with "
            "profile_memory=True");
    else if (is_pickle(first))
        say(d, "pickle", "Python pickle", "unsupported: loading a pickle runs code");
    else if (gt_path_is_named(d->path, "gpu_timeline.csv") || is_beside_timeline(d->path) ||
             gt_str_starts_with(first, "type,time ms,percent"))
        say(d, "report-sheet", "sheet of a performance report",
            "gputally compare takes the folder of all sheets");
    else if (is_text(first))
        say(d, "text", "text file", "not a trace");
    else
        say(d, "unknown", "binary file of unknown format",
            "not a trace that gputally knows (docs/formats.md)");
}

static void look_at_report(gt_diagnosis *d, bool nsys, const gt_error *error)
{
    say(d, nsys ? "nsys-report" : "ncu-report",
        nsys ? "report of Nsight Systems" : "report of Nsight Compute",
        gt_diagnosis_text(d, "%s", error->text));
    const char *export = gt_diagnosis_command(d, "nsys export --type sqlite -o",
                                              gt_diagnosis_text(d, "%s.sqlite", d->path), NULL);
    d->next = nsys ? gt_diagnosis_command(d, export, d->path, NULL)
                   : gt_diagnosis_command(d, "ncu --csv --page raw --import", d->path, "> ncu.csv");
    d->next_text = nsys ? "then gputally report on the .sqlite file" : "then gputally report ncu.csv";
}

/* ---- compression ---- */

static const struct {
    const char *bytes;
    size_t len;
    const char *name, *command;
} packers[] = {{"\x1F\x8B", 2, "gzip", "gzip -dc"},
               {"\x28\xB5\x2F\xFD", 4, "zstd", "zstd -dc"},
               {"BZh", 3, "bzip2", "bzip2 -dc"},
               {"\xFD"
                "7zXZ",
                5, "xz", "xz -dc"},
               {"\x04\x22\x4D\x18", 4, "lz4", "lz4 -dc"},
               {"PK\x03\x04", 4, "zip", NULL}};

/* Says how the contents are compressed, which the stream does not know of these formats, and what to type if
 * that is within a compressed file. Workbooks are zip archives; they are no matter of compression. */
static bool look_at_packed(gt_diagnosis *d, gt_str first)
{
    size_t i = 0;
    while (i < GT_LENGTH(packers) && !has_bytes(first, packers[i].bytes, packers[i].len, 0)) i++;
    gt_fact *outer = NULL;
    for (size_t k = 0; k < d->fact_count; k++)
        if (strcmp(d->facts[k].name, "compression") == 0) outer = &d->facts[k];
    if (i == GT_LENGTH(packers) || !outer) return false;
    bool twice = strcmp(outer->text, "none") != 0, is_zip = !packers[i].command;
    if (!twice && !is_zip) outer->text = packers[i].name;
    if (!twice) return false;
    say(d, "compressed", "file compressed twice",
        gt_diagnosis_text(d, "%s within %s; gputally reads files that are compressed once", packers[i].name,
                          outer->text));
    d->next =
        gt_diagnosis_command(d, strcmp(outer->text, "zstd") == 0 ? "zstd -dc" : "gzip -dc", d->path,
                             is_zip ? "> unpacked.zip && unzip unpacked.zip"
                                    : gt_diagnosis_text(d, "| %s | gputally report -", packers[i].command));
    outer->text = gt_diagnosis_text(d, "%s, %s", outer->text, packers[i].name);
    return true;
}

void gt_doctor_other(gt_diagnosis *d, gt_str first, gt_trace_format format, const gt_error *error)
{
    if (look_at_packed(d, first)) return;
    switch (format) {
    case GT_FORMAT_EMPTY:
        say(d, "empty", "empty file",
            "nothing was written: let the profiled program end by itself, and look whether the disk was "
            "full");
        return;
    case GT_FORMAT_NSYS_REPORT:
    case GT_FORMAT_NCU_REPORT:
        look_at_report(d, format == GT_FORMAT_NSYS_REPORT, error);
        return;
    case GT_FORMAT_ZIP:
        look_at_zip(d, first);
        return;
    case GT_FORMAT_SQLITE:
        look_at_database(d, error);
        return;
    case GT_FORMAT_ELF:
        say(d, "program", "program or library (ELF)",
            "a program, not a trace; gputally runs it under a profiler");
        /* Without a folder it would be looked for on the PATH. */
        d->next = gt_diagnosis_command(d, "gputally run -f rocprofv3_lightweight --",
                                       strchr(d->path, '/') ? d->path : gt_diagnosis_text(d, "./%s", d->path),
                                       NULL);
        return;
    case GT_FORMAT_PARTIAL:
        say(d, "partial", "partial of gputally",
            "what the report of all ranks needs of one trace; gputally merge puts it together with those of "
            "the other ranks (docs/scale.md)");
        d->next = gt_diagnosis_command(
            d, "gputally merge",
            strchr(d->path, '/') ? gt_diagnosis_text(d, "%.*s", (int)gt_path_folder_len(d->path), d->path)
                                 : ".",
            NULL);
        return;
    case GT_FORMAT_OTHER_JSON:
        look_at_json(d, first);
        return;
    default:
        break;
    }
    for (size_t i = 0; i < GT_LENGTH(signatures); i++) {
        const signature *s = &signatures[i];
        if (!has_bytes(first, s->bytes, s->len, s->offset)) continue;
        say(d, s->kind, s->what, s->advice);
        if (s->next) d->next = gt_diagnosis_command(d, s->next, d->path, s->after);
        return;
    }
    look_at_bytes(d, first);
    if (format == GT_FORMAT_XPLANE || format == GT_FORMAT_PERFETTO)
        say(d, "unsupported", gt_format_name(format), gt_diagnosis_text(d, "%s", error->text));
}
