/* The loops under the reader of large CSV files: where a field ends, and what a number field holds.
 *
 * `end` is where the text at hand ends; up to GT_SCAN_PAD bytes behind it may be read. A function that
 * returns NULL has met `end` before the field's end: the caller gets more text, or at the end of the file
 * takes the field as it is. */
#ifndef GT_INPUT_SHEETS_CSV_SCAN_H
#define GT_INPUT_SHEETS_CSV_SCAN_H

#include "base/interner.h"
#include "json/scan.h"

static inline bool gt_csv_ends_field(uint8_t byte)
{
    return byte == ',' || byte == '\n' || byte == '\r';
}

/* The first comma or line end at or after p. */
static inline const uint8_t *gt_csv_plain_end_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && !gt_csv_ends_field(*p)) p++;
    return p < end ? p : NULL;
}

static inline const uint8_t *gt_csv_plain_end(const uint8_t *p, const uint8_t *end)
{
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_v16 v = gt_v16_load(p);
        gt_mask hit =
            gt_v16_mask(gt_v16_or(gt_v16_is(v, ','), gt_v16_or(gt_v16_is(v, '\n'), gt_v16_is(v, '\r'))));
        if (!hit) continue;
        p += gt_mask_first(hit);
        return p < end ? p : NULL;
    }
    return NULL;
#else
    return gt_csv_plain_end_scalar(p, end);
#endif
}

/* The first '"' at or after p, or `end`. */
static inline const uint8_t *gt_csv_next_quote_scalar(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p != '"') p++;
    return p;
}

static inline const uint8_t *gt_csv_next_quote(const uint8_t *p, const uint8_t *end)
{
#if GT_SCAN_VECTOR
    for (; p < end; p += 16) {
        gt_mask hit = gt_v16_mask(gt_v16_is(gt_v16_load(p), '"'));
        if (!hit) continue;
        p += gt_mask_first(hit);
        break;
    }
    return p < end ? p : end;
#else
    return gt_csv_next_quote_scalar(p, end);
#endif
}

/* Behind an opening quote: the quote that closes the field, which is the first before a comma or a line end.
 * Where `doubled` quotes stand for one, those do not close. */
static inline const uint8_t *gt_csv_closing_quote(const uint8_t *p, const uint8_t *end, bool doubled)
{
    while ((p = gt_csv_next_quote(p, end)) < end) {
        const uint8_t *run = p;
        while (p < end && *p == '"') p++;
        if (p == end) return NULL;
        bool odd = (p - run) % 2 == 1;
        if (gt_csv_ends_field(*p) && (odd || !doubled)) return p - 1;
    }
    return NULL;
}

#endif
