/* Names are split into words (HF_TOKEN, hf-token, hfToken: HF and TOKEN) and the words compared with a list,
 * so that TOKEN is found but TOKENIZERS is not. Texts are scanned once for NAME=value and --name value, with
 * the quotes of a shell, and then once per known secret. */
#include "run/plan/secrets.h"
#include "base/buffer.h"
#include "run/plan/context.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    WORDS_MAX = 16,  /* of one name; a secret's name is short */
    WORD_BYTES = 32, /* longer words are cut, which no word of the lists is */
    SHORTEST = 4,    /* a secret of fewer characters is not searched in texts: "1" is everywhere */
};

/* ---- names ---- */

typedef struct name_words {
    char items[WORDS_MAX][WORD_BYTES]; /* upper case */
    size_t count;
} name_words;

static name_words split_name(const char *name)
{
    name_words words = {0};
    char before = 0;
    size_t len = 0;
    for (; *name && words.count < WORDS_MAX; before = *name++) {
        bool is_part = isalnum((unsigned char)*name);
        bool begins = is_part && isupper((unsigned char)*name) && islower((unsigned char)before);
        if ((!is_part || begins) && len) {
            words.count++;
            len = 0;
        }
        if (is_part && words.count < WORDS_MAX && len + 1 < WORD_BYTES)
            words.items[words.count][len++] = (char)toupper((unsigned char)*name);
    }
    if (len) words.count++;
    return words;
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, list[i]) == 0) return true;
    return false;
}

static bool is_secret_word(const char *word)
{
    static const char *const whole[] = {"KEY",     "KEYS",  "AUTH",      "AUTHORIZATION", "BEARER",
                                        "COOKIE",  "PAT",   "PWD",       "CRED",          "CREDS",
                                        "SECRETS", "NETRC", "PASSWORDS", "CREDENTIALS"};
    /* also at the end of a longer word: PGPASSWORD, GITHUBTOKEN */
    static const char *const ends[] = {"TOKEN",      "SECRET", "PASSWORD",  "PASSWD",    "PASSPHRASE",
                                       "CREDENTIAL", "APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY"};
    if (is_one_of(word, whole, GT_LENGTH(whole))) return true;
    size_t len = strlen(word);
    for (size_t i = 0; i < GT_LENGTH(ends); i++) {
        size_t end = strlen(ends[i]);
        if (len >= end && strcmp(word + len - end, ends[i]) == 0) return true;
    }
    return false;
}

/* MAX_TOKEN_LENGTH is a number, PUBLIC_KEY is for everybody. */
static bool is_harmless(const name_words *words, size_t i)
{
    static const char *const before[] = {"PUBLIC", "MAX", "MIN", "NUM", "PER", "PAD", "EOS", "BOS", "SORT"};
    static const char *const after[] = {"LEN",   "LENGTH", "COUNT", "SIZE", "LIMIT", "DIM",
                                        "HEADS", "VALUE",  "ID",    "IDS",  "TYPE",  "BUDGET"};
    bool is_id = i && strcmp(words->items[i], "KEY") == 0; /* AWS_ACCESS_KEY_ID belongs to a secret */
    if (i && is_one_of(words->items[i - 1], before, GT_LENGTH(before))) return true;
    if (i + 1 == words->count || !is_one_of(words->items[i + 1], after, GT_LENGTH(after))) return false;
    return !(is_id && strcmp(words->items[i + 1], "ID") == 0);
}

bool gt_secret_is_name(const char *name)
{
    if (strcasecmp(name, "PWD") == 0 || strcasecmp(name, "OLDPWD") == 0) return false; /* folders */
    name_words words = split_name(name);
    for (size_t i = 0; i < words.count; i++)
        if (is_secret_word(words.items[i]) && !is_harmless(&words, i)) return true;
    return words.count > 1 && strcmp(words.items[words.count - 1], "PASS") == 0; /* DB_PASS */
}

/* ---- texts ---- */

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Whether "NAME=" or, with `option`, "--name" is a secret's. */
static bool is_secret_piece(const char *name, size_t len)
{
    char kept[WORDS_MAX * WORD_BYTES];
    if (!len || len >= sizeof kept) return false;
    memcpy(kept, name, len);
    kept[len] = 0;
    return gt_secret_is_name(kept);
}

/* The end of a value that begins at `at`, inside quotes of the kind `quote` or outside of them (0). */
static const char *end_of_value(const char *at, char quote)
{
    if (!quote && (*at == '\'' || *at == '"')) {
        const char *close = strchr(at + 1, *at);
        return close ? close + 1 : at + strlen(at);
    }
    for (; *at; at++) {
        if (*at == '\\' && quote != '\'' && at[1]) {
            at++;
            continue;
        }
        if (quote ? *at == quote : isspace((unsigned char)*at) || strchr("'\";&|<>", *at)) break;
    }
    return at;
}

/* "://user:password@host": where the password begins and ends; false if there is none. */
static bool find_url_password(const char *at, const char **from, const char **to)
{
    if (strncmp(at, "://", 3) != 0) return false;
    const char *colon = NULL;
    for (at += 3; *at && !isspace((unsigned char)*at) && !strchr("/?#'\"", *at); at++) {
        if (*at == ':' && !colon) colon = at;
        if (*at == '@' && colon && at > colon + 1) {
            *from = colon + 1;
            *to = at;
            return true;
        }
    }
    return false;
}

/* Where a masked value begins, if one begins after the name [name, end); NULL otherwise. */
static const char *value_of_name(const char *name, const char *end)
{
    if (*end == '=') return is_secret_piece(name, (size_t)(end - name)) ? end + 1 : NULL;
    bool is_option = end - name > 2 && name[0] == '-' && name[1] == '-';
    if (!is_option || (*end != ' ' && *end != '\t') || !is_secret_piece(name, (size_t)(end - name)))
        return NULL;
    const char *value = end + strspn(end, " \t");
    return *value == '-' || !*value ? NULL : value;
}

/* Copies the text and masks what follows a secret's name. */
static void mask_named(const char *text, gt_buffer *to)
{
    char quote = 0;
    const char *at = text, *from, *end;
    while (*at) {
        if (find_url_password(at, &from, &end)) {
            gt_buffer_add(to, at, (size_t)(from - at));
            gt_buffer_add_cstr(to, GT_SECRET_MASK);
            at = end;
            continue;
        }
        bool begins_name = is_name_char(*at) && (at == text || !is_name_char(at[-1]));
        if (!begins_name) {
            if (*at == quote)
                quote = 0;
            else if (!quote && (*at == '\'' || *at == '"'))
                quote = *at;
            gt_buffer_add(to, at++, 1);
            continue;
        }
        end = at;
        while (is_name_char(*end)) end++;
        const char *value = value_of_name(at, end);
        const char *stop = value ? value : end;
        gt_buffer_add(to, at, (size_t)(stop - at));
        at = stop;
        if (!value) continue;
        stop = end_of_value(value, quote);
        if (stop > value) gt_buffer_add_cstr(to, GT_SECRET_MASK);
        at = stop;
    }
}

static void replace_all(gt_buffer *text, const char *what)
{
    gt_buffer changed = {0};
    const char *at = gt_buffer_str(text).bytes, *hit;
    size_t len = strlen(what);
    if (!strstr(at, what)) return;
    while ((hit = strstr(at, what))) {
        gt_buffer_add(&changed, at, (size_t)(hit - at));
        gt_buffer_add_cstr(&changed, GT_SECRET_MASK);
        at = hit + len;
    }
    gt_buffer_add_cstr(&changed, at);
    gt_buffer_free(text);
    *text = changed;
}

static void mask_value(gt_buffer *text, const char *value)
{
    if (strlen(value) < SHORTEST) return;
    gt_buffer quoted = {0};
    gt_shell_quote(&quoted, value);
    replace_all(text, gt_buffer_str(&quoted).bytes);
    replace_all(text, value);
    gt_buffer_free(&quoted);
}

const char *gt_secrets_hide(gt_arena *arena, const gt_value *variables, const char *text)
{
    if (!text) return NULL;
    gt_buffer masked = {0};
    mask_named(text, &masked);
    for (uint32_t i = 0; variables->type == GT_VALUE_DICT && i < variables->count; i += 2) {
        const gt_value *value = &variables->items[i + 1];
        if (value->type == GT_VALUE_STRING && gt_secret_is_name(variables->items[i].text.bytes))
            mask_value(&masked, value->text.bytes);
    }
    gt_str result = gt_buffer_str(&masked);
    if (strcmp(result.bytes, text) != 0) text = gt_arena_bytes(arena, result.bytes, result.len);
    gt_buffer_free(&masked);
    return text;
}

gt_arg_list gt_secrets_hide_words(gt_arena *arena, const gt_value *variables, const gt_arg_list *words)
{
    gt_arg_list masked = {0};
    bool hide_next = false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        gt_arg_list_add(arena, &masked,
                        hide_next && word[0] != '-' ? GT_SECRET_MASK
                                                    : gt_secrets_hide(arena, variables, word));
        hide_next = strncmp(word, "--", 2) == 0 && word[2] && !strchr(word, '=') && gt_secret_is_name(word);
    }
    return masked;
}

/* ---- settings ---- */

static bool is_scalar(const gt_value *value)
{
    return value->type == GT_VALUE_STRING || value->type == GT_VALUE_INT || value->type == GT_VALUE_BIG ||
           value->type == GT_VALUE_FLOAT;
}

static gt_value masked_item(gt_arena *arena, const gt_value *value, const char *key)
{
    if (is_scalar(value) && key && gt_secret_is_name(key) && !gt_value_is_empty(value))
        return gt_settings_copy_string(arena, GT_SECRET_MASK);
    if (value->type != GT_VALUE_STRING) return *gt_secrets_masked(arena, value);
    const char *text = gt_secrets_hide(arena, &gt_value_missing, value->text.bytes);
    return text == value->text.bytes ? *value : gt_settings_copy_string(arena, text);
}

const gt_value *gt_secrets_masked(gt_arena *arena, const gt_value *value)
{
    bool is_dict = value->type == GT_VALUE_DICT;
    if (!is_dict && !gt_value_is_list(value)) return value;
    gt_value *items = gt_arena_alloc(arena, (value->count + 1) * sizeof *items), *copy;
    for (uint32_t i = 0; i < value->count; i++) {
        bool is_key = is_dict && i % 2 == 0;
        items[i] =
            is_key ? value->items[i]
                   : masked_item(arena, &value->items[i], is_dict ? value->items[i - 1].text.bytes : NULL);
    }
    copy = gt_arena_alloc(arena, sizeof *copy);
    *copy = *value;
    copy->items = items;
    return copy;
}
