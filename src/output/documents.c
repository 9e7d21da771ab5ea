/* Documents of one report, written at the same time; see writers.h for the steps. */
#include "output/writers.h"

#include "base/team.h"

enum { DOCUMENTS_MAX = 8 };

static void run_writer(void *context, size_t index)
{
    gt_document_writer *writer = (gt_document_writer *)context + index;
    writer->run(writer->state);
}

bool gt_output_documents(gt_output *output, gt_document *documents, size_t document_count,
                         gt_table *const *tables, size_t count, gt_error *error)
{
    static gt_document_writer (*const begin[])(gt_output * output, const gt_document *document,
                                               gt_table *const *tables, size_t count) = {
        [GT_DOCUMENT_CSVS] = gt_csv_writer_begin,
        [GT_DOCUMENT_XLSX] = gt_xlsx_writer_begin,
        [GT_DOCUMENT_SQLITE] = gt_sqlite_writer_begin,
    };
    gt_document_writer writers[DOCUMENTS_MAX];
    size_t begun = 0;
    bool ok = true;
    while (begun < document_count && begun < DOCUMENTS_MAX && ok) {
        const gt_document *document = &documents[begun];
        const gt_table_list *own = document->tables;
        writers[begun] =
            begin[document->kind](output, document, own ? own->items : tables, own ? own->count : count);
        ok = !writers[begun++].failed;
    }
    gt_parallel_each(begun, run_writer, writers);
    ok = true;
    for (size_t i = 0; i < begun; i++) {
        bool ended = writers[i].end(writers[i].state, ok ? error : NULL);
        documents[i].is_written = ok = ok && ended;
    }
    return ok;
}

static bool write_one(gt_output *output, gt_document_kind kind, const char *path, gt_table *const *tables,
                      size_t count, gt_error *error)
{
    return gt_output_documents(output, &(gt_document){.kind = kind, .path = path}, 1, tables, count, error);
}

bool gt_output_csvs(gt_output *output, const char *dir, gt_table *const *tables, size_t count,
                    gt_error *error)
{
    return write_one(output, GT_DOCUMENT_CSVS, dir, tables, count, error);
}

bool gt_output_xlsx(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                    gt_error *error)
{
    return write_one(output, GT_DOCUMENT_XLSX, path, tables, count, error);
}

bool gt_output_styled_xlsx(gt_output *output, const char *path, gt_table *const *tables,
                           const gt_sheet_style *styles, size_t count, gt_error *error)
{
    gt_document document = {.kind = GT_DOCUMENT_XLSX, .path = path, .styles = styles};
    return gt_output_documents(output, &document, 1, tables, count, error);
}

bool gt_output_workbook(const gt_table_list *list, const char *path, gt_error *error)
{
    gt_output *output = gt_output_new();
    bool written =
        gt_output_xlsx(output, path, list->items, list->count, error) && gt_output_commit(output, error);
    gt_output_free(output);
    return written;
}

bool gt_output_sqlite(gt_output *output, const char *path, gt_table *const *tables, size_t count,
                      gt_error *error)
{
    return write_one(output, GT_DOCUMENT_SQLITE, path, tables, count, error);
}
