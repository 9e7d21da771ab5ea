/* Fuzzes the reader of Nsight Systems exports, with the sheets and findings of what it reads. The first byte
 * sets options; the rest are the tables of a database as text (input_files.h), or with bit 7 the bytes of a
 * database. Strings get their key with bit 6, as nsys writes them. */
#include "analysis/rocprof/sheets.h"
#include "findings/findings.h"
#include "findings/formats/formats.h"
#include "input/nsys/nsys.h"
#include "input_files.h"
#include "quiet.h"
#include "report/rocprof.h"
#include "sound_table.h"

#include <unistd.h>

static char path[64];

static void remove_file(void)
{
    unlink(path);
}

static void add_key(void)
{
    sqlite3 *db;
    if (sqlite3_open(path, &db) == SQLITE_OK)
        sqlite3_exec(db,
                     "PRAGMA journal_mode=OFF; ALTER TABLE StringIds RENAME TO s; CREATE TABLE StringIds (id "
                     "INTEGER NOT NULL PRIMARY KEY, value TEXT); INSERT OR IGNORE INTO StringIds SELECT id, "
                     "value FROM s; DROP TABLE s",
                     NULL, NULL, NULL);
    sqlite3_close(db);
}

static void use(gt_rocprof *run)
{
    gt_error error = {{0}};
    gt_table_list tables = {0};
    gt_rocprof_options options = gt_rocprof_options_default();
    options.kernel_details = options.short_kernel_study = options.extra_sheets = true;
    if ((run->wanted & GT_WANT_FOR_FINDINGS) == GT_WANT_FOR_FINDINGS) {
        gt_findings *findings =
            gt_findings_of_schedule(gt_schedule_of_rocprof(run, true), &(gt_findings_options){.gpu = NULL});
        gt_findings_add_sheets(findings, &tables);
        gt_findings_free(findings);
    }
    if (!gt_rocprof_tables(run, &options, &tables, &error) && !error.text[0]) abort();
    for (size_t i = 0; i < tables.count; i++) check_table(tables.items[i]);
    gt_table_list_free(&tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) return 0;
    if (!path[0]) {
        const char *folder = getenv("TMPDIR");
        snprintf(path, sizeof path, "%.40s/fuzz-nsys-%d", folder ? folder : "/tmp", (int)getpid());
        atexit(remove_file);
    }
    gt_str text = {(const char *)data + 1, size - 1};
    unlink(path);
    if (data[0] & 128)
        write_bytes(path, text.bytes, text.len);
    else
        write_database(path, text);
    if ((data[0] & 192) == 64) add_key();
    gt_error error = {{0}};
    gt_read_options options = {.threads = 1,
                               .wanted = data[0] & 1   ? GT_WANT_ALL
                                         : data[0] & 2 ? GT_WANT_CALLS | GT_WANT_COPY_DETAILS
                                                       : 0,
                               .kernel_names = (gt_kernel_name_kind)(data[0] / 4 % GT_KERNEL_NAME_KINDS)};
    gt_rocprof *run = gt_nsys_read(NULL, path, &options, &error);
    if (run)
        use(run);
    else if (!error.text[0])
        abort(); /* a failure without a message */
    gt_rocprof_free(run);
    return 0;
}
