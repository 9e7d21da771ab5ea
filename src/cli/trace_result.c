/* The result of one trace as an image (base/image.h), and back; see trace_result.h. */
#include "cli/trace_result.h"

#include "output/terminal.h"

static const char owner[] = "result";

enum { MADE, HAS_JSON, IS_MISSING, KINDS, RANK, HAS_COLLECTIVES, NUMBERS };

void gt_trace_result_save(const gt_trace_result *r, int64_t rank, const char *label, gt_image *image)
{
    const int64_t numbers[NUMBERS] = {[MADE] = r->made,
                                      [HAS_JSON] = r->has_json,
                                      [IS_MISSING] = r->is_missing,
                                      [KINDS] = r->kinds,
                                      [RANK] = rank,
                                      [HAS_COLLECTIVES] = r->collectives != NULL};
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    gt_image_add_text(image, owner, "label", label);
    gt_image_add_text(image, owner, "error", r->error);
    gt_image_add_text(image, owner, "distrust", r->distrust);
    char terminal[GT_TERMINAL_TEXT_MAX];
    const gt_terminal own = gt_terminal_for(stdout);
    gt_terminal_describe(&own, terminal);
    gt_image_add_text(image, owner, "terminal", terminal);
    gt_print_save(&r->printed, image);
    gt_written_save(&r->written, image);
    if (r->collectives) gt_rank_collectives_save(r->collectives, rank, image);
}

static bool has_label(const gt_image *image, const char *label)
{
    char *own = NULL;
    bool same =
        gt_image_get_text(image, owner, "label", &own) && !own == !label && (!own || strcmp(own, label) == 0);
    gt_free(own);
    return same;
}

bool gt_trace_result_load(gt_trace_result *r, int64_t rank, const char *label, const gt_image *image)
{
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    if (!numbers || numbers[RANK] != rank || numbers[KINDS] < 0 || numbers[KINDS] > UINT8_MAX ||
        !has_label(image, label))
        return false;
    gt_trace_result loaded = {.made = numbers[MADE] != 0,
                              .has_json = numbers[HAS_JSON] != 0,
                              .is_missing = numbers[IS_MISSING] != 0,
                              .kinds = (unsigned)numbers[KINDS]};
    bool sound = gt_image_get_text(image, owner, "error", &loaded.error) && (loaded.made || loaded.error) &&
                 gt_image_get_text(image, owner, "distrust", &loaded.distrust) &&
                 gt_print_load(&loaded.printed, stdout, image);
    if (sound && numbers[HAS_COLLECTIVES])
        sound = rank >= 0 && (loaded.collectives = gt_rank_collectives_load(image, rank)) != NULL;
    if (!sound) {
        gt_trace_result_free(&loaded);
        return false;
    }
    gt_trace_result_free(r);
    *r = loaded;
    return true;
}

bool gt_trace_result_is_usable(const gt_image *image)
{
    char *terminal = NULL, now[GT_TERMINAL_TEXT_MAX];
    const gt_terminal own = gt_terminal_for(stdout);
    const int64_t *numbers = gt_image_get_all(image, owner, "numbers", sizeof *numbers, NUMBERS);
    gt_terminal_describe(&own, now);
    bool usable = numbers && numbers[MADE] && gt_image_get_text(image, owner, "terminal", &terminal) &&
                  terminal && strcmp(terminal, now) == 0 && gt_written_are_there(image);
    gt_free(terminal);
    return usable;
}

void gt_trace_result_free(gt_trace_result *r)
{
    gt_free_all(r->error, r->distrust);
    gt_print_drop(&r->printed);
    gt_written_free(&r->written);
    gt_rank_collectives_free(r->collectives);
    *r = (gt_trace_result){0};
}
