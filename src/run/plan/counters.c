/* Counter lists as rows, and what is known of counters that GPUs lack. */
#include "run/plan/counters.h"
#include "base/length.h"
#include "os/paths.h"

#include <ctype.h>
#include <string.h>

static const gt_counter_file files[] = {
    {"compute_bound.txt", "SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_ACTIVE_INST_VALU SQ_INSTS_VALU_ADD_F32 "
                          "SQ_INSTS_VALU_MUL_F32 SQ_INSTS_VALU_FMA_F32 SQ_INSTS_VALU_TRANS_F32 SQ_INSTS_SALU "
                          "SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY"},
    {"memory_bound.txt",
     "L2CacheHit L2CacheMiss L2CacheHitRate TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum "
     "TCP_TCC_ATOMIC_REQ_sum TCC_HIT_sum TCC_MISS_sum TCC_EA_RDREQ_32B_sum TCC_EA_WRREQ_64B_sum "
     "TCC_EA_RDREQ_LEVEL_sum TCC_EA_WRREQ_LEVEL_sum SQ_INSTS_SMEM SQ_LDS_BANK_CONFLICT"},
    {"communication_bound.txt",
     "TCC_EA_WRREQ_64B_sum TCC_EA_RDREQ_32B_sum TCC_ATOMIC_sum TCP_TCC_ATOMIC_REQ_sum "
     "SQ_WAIT_INST_ANY SQ_WAVES TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum"},
    {"full_profile.txt",
     "SQ_WAVES SQ_WAVE_CYCLES SQ_INSTS_VALU SQ_INSTS_SALU SQ_ACTIVE_INST_VALU L2CacheHit "
     "TCC_HIT_sum TCC_MISS_sum TCP_TCC_READ_REQ_sum TCP_TCC_WRITE_REQ_sum TCC_EA_RDREQ_32B_sum "
     "TCC_EA_WRREQ_64B_sum SQ_WAIT_INST_ANY SQ_WAIT_INST_VALU SQ_LDS_BANK_CONFLICT"},
    {"instruction_mix.txt", "SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR SQ_WAIT_INST_ANY"},
};

static const char *const nowhere_names[] = {"L2CacheMiss", "L2CacheHitRate", "TCP_TCC_ATOMIC_REQ_sum",
                                            "SQ_WAIT_INST_VALU"};
static const char *const old_names[] = {"L2CacheHit", "TCC_EA_RDREQ_32B_sum", "TCC_EA_WRREQ_64B_sum",
                                        "TCC_EA_RDREQ_LEVEL_sum", "TCC_EA_WRREQ_LEVEL_sum"};

const gt_counter_file *gt_counter_file_find(const char *path)
{
    const char *name = gt_path_name(path);
    for (size_t i = 0; i < GT_LENGTH(files); i++)
        if (strcmp(files[i].name, name) == 0) return &files[i];
    return NULL;
}

void gt_counter_file_add(const gt_counter_file *file, gt_buffer *text)
{
    for (const char *at = file->counters; *at;) {
        size_t len = strcspn(at, " ");
        gt_buffer_add_cstr(text, "pmc: ");
        gt_buffer_add(text, at, len);
        gt_buffer_add_cstr(text, "\n");
        at += len + strspn(at + len, " ");
    }
}

/* The next line, from *at on. */
static bool next_line(const char **at, const char *end, gt_str *line)
{
    if (*at == end) return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    *line = (gt_str){*at, (size_t)((stop ? stop : end) - *at)};
    *at = stop ? stop + 1 : end;
    return true;
}

size_t gt_counter_passes(gt_str text, size_t *in_comments)
{
    const char *at = text.bytes, *end = at + text.len;
    size_t passes = 0;
    gt_str line;
    *in_comments = 0;
    while (next_line(&at, end, &line)) {
        const char *mark = memmem(line.bytes, line.len, "pmc:", 4);
        if (!mark) continue;
        passes++;
        *in_comments += memchr(line.bytes, '#', (size_t)(mark - line.bytes)) != NULL;
    }
    return passes;
}

static void add_if_named(gt_str word, const char *const *names, size_t count, gt_buffer *list)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) != word.len || memcmp(names[i], word.bytes, word.len) != 0) continue;
        if (list->len) gt_buffer_add_cstr(list, ", ");
        gt_buffer_add(list, word.bytes, word.len);
    }
}

void gt_counters_unknown(gt_str text, gt_buffer *nowhere, gt_buffer *only_old)
{
    const char *end = text.bytes + text.len;
    for (const char *at = text.bytes; at < end;) {
        const char *begin = at;
        while (at < end && (isalnum((unsigned char)*at) || *at == '_')) at++;
        if (at == begin) {
            at++;
            continue;
        }
        gt_str word = {begin, (size_t)(at - begin)};
        add_if_named(word, nowhere_names, GT_LENGTH(nowhere_names), nowhere);
        add_if_named(word, old_names, GT_LENGTH(old_names), only_old);
    }
}
