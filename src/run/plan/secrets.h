/* Secrets among the variables of a run: which names have values that must not be shown, and texts and
 * settings with these values masked.
 *
 * Everything that a run prints or leaves behind (plan, record, log, script) is masked. What needs the value
 * itself at run time gets it through the environment of the child, or through a file with mode 0600; never as
 * an argument, because every user of the machine sees the arguments of every process. */
#pragma once

#include "json/values.h"
#include "os/shell_words.h"

#define GT_SECRET_MASK "***"

/* Whether a variable, key or option with this name usually has a secret as its value: HF_TOKEN,
 * AWS_SECRET_ACCESS_KEY, db-password, apiKey; not MAX_TOKENS, TOKENIZERS_PARALLELISM, KEYBOARD. Upper and
 * lower case are the same. */
bool gt_secret_is_name(const char *name);

/* The secrets that a run knows, as a dict of strings with secrets' names: those of its context, at any depth,
 * and of its variables, and those of the environment ("NAME=value", ends with NULL) that have at least eight
 * characters and are not the place of a file. In the arena. */
const gt_value *gt_secrets_known(gt_arena *arena, const gt_value *context, const gt_value *variables,
                                 const char *const *environment);

/* The value with every string or number of a key with a secret's name replaced by the mask, at any depth, and
 * with its other strings masked like texts. The original where nothing changes. */
const gt_value *gt_secrets_masked(gt_arena *arena, const gt_value *known, const gt_value *value);

/* A shell line or message with secrets masked: the values of `known` (a dict of strings, of which those with
 * a secret's name count; MISSING: none) wherever they occur, also as a part of something; the values of
 * assignments, options, JSON keys and headers with a secret's name (HF_TOKEN=..., --api-key ...), and
 * passwords in URLs. In the arena; the text itself where nothing changes. */
const char *gt_secrets_hide(gt_arena *arena, const gt_value *known, const char *text);

/* The words, each masked like that; an option with a secret's name also masks the word after it. */
gt_arg_list gt_secrets_hide_words(gt_arena *arena, const gt_value *known, const gt_arg_list *words);
/* The variables, each "NAME=value". */
gt_arg_list gt_secrets_hide_variables(gt_arena *arena, const gt_value *known, const gt_arg_list *variables);
