/* Names are split into words (HF_TOKEN, hf-token, hfToken: HF and TOKEN) and the words compared with a list,
 * so that TOKEN is found but TOKENIZERS is not. Texts are scanned once for NAME=value, --name value and
 * "name": value, with the quotes of a shell, also inside of each other, after each known secret was replaced.
 * Where the end of a value is in doubt, too much is masked rather than too little. */
#include "run/plan/secrets.h"
#include "run/plan/context.h"

enum {
    WORDS_MAX = 16,         /* of one name; a secret's name is short */
    WORD_BYTES = 32,        /* longer words are cut, which no word of the lists is */
    SHORTEST = 4,           /* a secret of fewer characters is not searched in texts: "1" is everywhere */
    SHORTEST_INHERITED = 8, /* of a variable that was not set for this run */
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

static bool is_secret_word(const char *word)
{
    static const char *const whole[] = {
        "KEY",    "KEYS",    "AUTH",   "AUTHORIZATION", "BEARER",    "COOKIE",    "PAT",
        "PWD",    "CRED",    "CREDS",  "SECRETS",       "NETRC",     "PASSWORDS", "CREDENTIALS",
        "PGPASS", "SSHPASS", "DBPASS", "USERPASS",      "MYSQLPASS", "SMTPPASS",  "FTPPASS"};
    /* also at the end of a longer word: PGPASSWORD, GITHUBTOKEN */
    static const char *const ends[] = {"TOKEN",      "SECRET", "PASSWORD",  "PASSWD",    "PASSPHRASE",
                                       "CREDENTIAL", "APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY"};
    if (gt_is_one_of(word, whole, GT_LENGTH(whole))) return true;
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
    if (i && gt_is_one_of(words->items[i - 1], before, GT_LENGTH(before))) return true;
    if (i + 1 == words->count || !gt_is_one_of(words->items[i + 1], after, GT_LENGTH(after))) return false;
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

/* Quotes inside of quotes, as they look in a line for a shell, and plain ones; 0 bytes: none. The longest
 * counts: a quote inside of single quotes is written '\''. */
static size_t quote_at(const char *at, char outer)
{
    static const char *const nested[] = {"'\\''", "'\"'\"'", "\\\"", "\\'"};
    size_t count = GT_LENGTH(nested) - (outer == '\''); /* where a backslash escapes no single quote */
    for (size_t i = 0; i < count; i++)
        if (strncmp(at, nested[i], strlen(nested[i])) == 0) return strlen(nested[i]);
    return (*at == '\'' || *at == '"') && *at != outer ? 1 : 0;
}

/* The end of what the quote of `len` bytes at `at` encloses. */
static const char *end_of_quoted(const char *at, size_t len)
{
    const char *open = at;
    for (at += len; *at; at++) {
        if (strncmp(at, open, len) == 0) return at + len;
        if (*open == '"' && *at == '\\' && at[1]) at++;
    }
    return at;
}

/* Whether the value at `at` is in quotes of its own inside of the quotes `outer`: then it may end before they
 * do. Not with three and more levels, where one quote has many bytes. */
static bool is_quoted_inside(const char *at, char outer)
{
    size_t len = quote_at(at, outer);
    return len && !strchr("'\"\\", at[len]);
}

/* The end of a value that begins at `at`, inside quotes of the kind `outer` or outside of them (0). */
static const char *end_of_value(const char *at, char outer)
{
    bool is_word = !outer || is_quoted_inside(at, outer), is_quoted = false;
    size_t len = quote_at(at, outer);
    while (*at) {
        if (is_word && len) {
            at = end_of_quoted(at, len);
            is_quoted = true;
            if (outer && *at == '\\') is_word = is_quoted = false; /* a quote inside of it: in doubt */
        } else if (*at == outer && !len) {
            break;
        } else if (is_word && (isspace((unsigned char)*at) || strchr(";&|<>", *at))) {
            break;
        } else if (is_quoted && strchr(",)]}", *at)) {
            break;
        } else {
            at += len ? len : *at == '\\' && outer != '\'' && at[1] ? 2 : 1;
        }
        len = outer || *at != '\\' ? quote_at(at, outer) : 0;
        if (!outer && len > 1) len = 1; /* in a line for a shell: quotes side by side */
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

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static bool is_scheme(const char *name, size_t len)
{
    return len == 6 && strncasecmp(name, "Bearer", 6) == 0;
}

/* "Authorization: Bearer VALUE": the value is what follows. */
static const char *skip_scheme(const char *value)
{
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest "};
    for (size_t i = 0; i < GT_LENGTH(schemes); i++)
        if (strncasecmp(value, schemes[i], strlen(schemes[i])) == 0)
            return skip_blanks(value + strlen(schemes[i]));
    return value;
}

static bool closes(const char *at, char outer)
{
    return *at && *at == outer && !quote_at(at, outer);
}

/* The value after a name that ends at `end`: NAME=value, NAME = value, NAME: value, "NAME": value,
 * ["NAME"] = value and ("NAME", "value"); NULL if none follows. */
static const char *assigned_value(const char *end, char outer)
{
    if (closes(end, outer)) outer = 0;
    size_t quote = quote_at(end, outer) ? strspn(end, "'\"\\") : 0; /* of any number of levels */
    const char *at = end + quote;
    if (quote && *at == ']') at++;
    const char *sign = skip_blanks(at);
    if (*sign == '=') {
        const char *value = sign + 1 + (sign[1] == '=');
        return sign > at || quote ? skip_blanks(value) : value;
    }
    const char *value = skip_blanks(sign + (*sign != 0));
    if (*sign == ':' && (quote || value > sign + 1)) return skip_scheme(value);
    return *sign == ',' && quote && quote_at(value, outer) ? value : NULL;
}

/* Where a masked value begins, if one begins after the name [name, end); NULL otherwise. */
static const char *value_of_name(const char *name, const char *end, char outer)
{
    size_t len = (size_t)(end - name);
    bool has_blank = *end == ' ' || *end == '\t';
    const char *value = skip_blanks(end);
    if (has_blank && is_scheme(name, len)) return *value == outer ? NULL : value;
    if (!is_secret_piece(name, len)) return NULL;
    const char *assigned = assigned_value(end, outer);
    if (assigned) return *assigned ? assigned : NULL;
    bool is_option = len > 2 && name[0] == '-';
    return !is_option || !has_blank || *value == '-' || !*value ? NULL : value;
}

/* Copies the bytes up to the next name or URL with a password, and follows the quotes in them. */
static const char *copy_other(const char *at, char *outer, gt_buffer *to)
{
    size_t len = *at == '\\' && *outer != '\'' && at[1] ? 2 : 1;
    if (len == 1 && *at == *outer)
        *outer = 0;
    else if (len == 1 && !*outer && (*at == '\'' || *at == '"'))
        *outer = *at;
    gt_buffer_add(to, at, len);
    return at + len;
}

/* Copies the text and masks what follows a secret's name. */
static void mask_named(const char *text, gt_buffer *to)
{
    char outer = 0;
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
            at = copy_other(at, &outer, to);
            continue;
        }
        end = at;
        while (is_name_char(*end)) end++;
        const char *value = value_of_name(at, end, outer);
        const char *stop = value ? value : end;
        gt_buffer_add(to, at, (size_t)(stop - at));
        at = stop;
        if (!value) continue;
        if (closes(end, outer)) outer = 0;
        stop = end_of_value(value, outer);
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

/* Inside of another word that is quoted, a value has the same bytes without the outer quotes. */
static void replace_quoted(gt_buffer *text, gt_arena *arena, const char *value, int depth)
{
    gt_buffer quoted = {0};
    gt_shell_quote(&quoted, value);
    gt_str whole = gt_buffer_str(&quoted);
    if (strcmp(whole.bytes, value) != 0) {
        const char *inner = gt_arena_bytes(arena, whole.bytes + 1, whole.len - 2);
        if (depth && strcmp(inner, value) != 0) replace_quoted(text, arena, inner, depth - 1);
        replace_all(text, whole.bytes);
        replace_all(text, inner);
    }
    gt_buffer_free(&quoted);
}

static void replace_escaped(gt_buffer *text, const char *value)
{
    gt_buffer escaped = {0};
    for (; *value; value++) {
        if (*value == '"' || *value == '\\') gt_buffer_add_cstr(&escaped, "\\");
        gt_buffer_add(&escaped, value, 1);
    }
    replace_all(text, gt_buffer_str(&escaped).bytes);
    gt_buffer_free(&escaped);
}

static void mask_value(gt_buffer *text, gt_arena *arena, const char *value)
{
    if (strlen(value) < SHORTEST) return;
    replace_quoted(text, arena, value, 1);
    replace_all(text, value);
    replace_escaped(text, value);
}

const char *gt_secrets_hide(gt_arena *arena, const gt_value *known, const char *text)
{
    if (!text) return NULL;
    gt_buffer whole = {0}, masked = {0};
    gt_buffer_add_cstr(&whole, text); /* known values first: after a name, a value ends at the first blank */
    for (uint32_t i = 0; known->type == GT_VALUE_DICT && i < known->count; i += 2) {
        const gt_value *value = &known->items[i + 1];
        if (value->type == GT_VALUE_STRING && gt_secret_is_name(known->items[i].text.bytes))
            mask_value(&whole, arena, value->text.bytes);
    }
    mask_named(gt_buffer_str(&whole).bytes, &masked);
    gt_buffer_free(&whole);
    gt_str result = gt_buffer_str(&masked);
    if (strcmp(result.bytes, text) != 0) text = gt_arena_bytes(arena, result.bytes, result.len);
    gt_buffer_free(&masked);
    return text;
}

/* The whole value of a word "NAME=value" is masked, also if it has blanks; NULL: the name is no secret's. */
static const char *hide_assigned(gt_arena *arena, const char *word)
{
    size_t len = strcspn(word, "=");
    return word[len] && word[len + 1] && is_secret_piece(word, len)
               ? gt_arena_format(arena, "%.*s=" GT_SECRET_MASK, (int)len, word)
               : NULL;
}

gt_arg_list gt_secrets_hide_variables(gt_arena *arena, const gt_value *known, const gt_arg_list *variables)
{
    gt_arg_list masked = {0};
    for (size_t i = 0; i < variables->count; i++) {
        const char *hidden = hide_assigned(arena, variables->items[i]);
        gt_arg_list_add(arena, &masked, hidden ? hidden : gt_secrets_hide(arena, known, variables->items[i]));
    }
    return masked;
}

gt_arg_list gt_secrets_hide_words(gt_arena *arena, const gt_value *known, const gt_arg_list *words)
{
    gt_arg_list masked = {0};
    bool hide_next = false;
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->items[i];
        const char *hidden = word[0] == '-' ? hide_assigned(arena, word) : hide_next ? GT_SECRET_MASK : NULL;
        gt_arg_list_add(arena, &masked, hidden ? hidden : gt_secrets_hide(arena, known, word));
        hide_next = word[0] == '-' && word[1] && word[2] && !strchr(word, '=') && gt_secret_is_name(word);
    }
    return masked;
}

/* ---- settings ---- */

static bool is_scalar(const gt_value *value)
{
    return value->type == GT_VALUE_STRING || value->type == GT_VALUE_INT || value->type == GT_VALUE_BIG ||
           value->type == GT_VALUE_FLOAT;
}

static gt_value masked_item(gt_arena *arena, const gt_value *known, const gt_value *value, const char *key)
{
    if (is_scalar(value) && key && gt_secret_is_name(key) && !gt_value_is_empty(value))
        return gt_settings_copy_string(arena, GT_SECRET_MASK);
    if (value->type != GT_VALUE_STRING) return *gt_secrets_masked(arena, known, value);
    const char *text = gt_secrets_hide(arena, known, value->text.bytes);
    return text == value->text.bytes ? *value : gt_settings_copy_string(arena, text);
}

const gt_value *gt_secrets_masked(gt_arena *arena, const gt_value *known, const gt_value *value)
{
    bool is_dict = value->type == GT_VALUE_DICT;
    if (!is_dict && !gt_value_is_list(value)) return value;
    gt_value *items = gt_arena_alloc(arena, (value->count + 1) * sizeof *items), *copy;
    for (uint32_t i = 0; i < value->count; i++) {
        bool is_key = is_dict && i % 2 == 0;
        const char *key = is_dict && !is_key ? value->items[i - 1].text.bytes : NULL;
        items[i] = is_key ? value->items[i] : masked_item(arena, known, &value->items[i], key);
    }
    copy = gt_arena_alloc(arena, sizeof *copy);
    *copy = *value;
    copy->items = items;
    return copy;
}

/* ---- known values ---- */

/* Adds the secrets of a setting, at any depth. Each gets a name of its own, since the same one may occur in
 * several places with different values. */
static void find_known(gt_arena *arena, const gt_value **known, const gt_value *value, const char *key)
{
    if (is_scalar(value) && key && gt_secret_is_name(key) && !gt_value_is_empty(value)) {
        const char *name = gt_arena_format(arena, "%u_%s", (unsigned)(*known)->count, key);
        const char *text = gt_settings_print(arena, value);
        *known = gt_settings_with(arena, *known, name, gt_settings_copy_string(arena, text));
    }
    bool is_dict = value->type == GT_VALUE_DICT;
    if (!is_dict && !gt_value_is_list(value)) return;
    for (uint32_t i = is_dict; i < value->count; i += is_dict ? 2 : 1)
        find_known(arena, known, &value->items[i], is_dict ? value->items[i - 1].text.bytes : NULL);
}

/* Whether a variable with a secret's name has the place of one: SSH_AUTH_SOCK, NETRC_FILE. */
static bool is_place(const char *name)
{
    static const char *const places[] = {"SOCK", "SOCKET", "FILE", "DIR", "FOLDER", "PATH", "HOME"};
    name_words words = split_name(name);
    return words.count && gt_is_one_of(words.items[words.count - 1], places, GT_LENGTH(places));
}

const gt_value *gt_secrets_known(gt_arena *arena, const gt_value *context, const gt_value *variables,
                                 const char *const *environment)
{
    gt_value *none = gt_arena_alloc(arena, sizeof *none);
    *none = (gt_value){.type = GT_VALUE_DICT};
    const gt_value *known = none;
    find_known(arena, &known, context, NULL);
    find_known(arena, &known, variables, NULL);
    for (; environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        if (!equals || strlen(equals + 1) < SHORTEST_INHERITED) continue;
        const char *name = gt_arena_bytes(arena, *environment, (size_t)(equals - *environment));
        if (!gt_secret_is_name(name) || is_place(name)) continue;
        gt_value value = gt_settings_copy_string(arena, equals + 1);
        find_known(arena, &known, &value, name);
    }
    return known;
}
