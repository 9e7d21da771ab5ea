/* Names that have secrets as values, and texts with these values masked. Expected results are written by
 * hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/plan/context.h"
#include "run/plan/secrets.h"

static gt_arena arena;

static const gt_value *parse(const char *json)
{
    gt_error error;
    const gt_value *value = gt_settings_parse(&arena, (gt_str){json, strlen(json)}, &error);
    assert_non_null(value);
    return value;
}

static void names_of_secrets(void **state)
{
    (void)state;
    static const char *const secret[] = {"HF_TOKEN",
                                         "hf_token",
                                         "hfToken",
                                         "HUGGINGFACEHUB_API_TOKEN",
                                         "WANDB_API_KEY",
                                         "AWS_ACCESS_KEY_ID",
                                         "AWS_SECRET_ACCESS_KEY",
                                         "PGPASSWORD",
                                         "DB_PASSWD",
                                         "DB_PASS",
                                         "PGPASS",
                                         "SSHPASS",
                                         "REDIS_PWD",
                                         "SSH_PASSPHRASE",
                                         "apikey",
                                         "OPENAI_APIKEY",
                                         "GITHUB_PAT",
                                         "GOOGLE_APPLICATION_CREDENTIALS",
                                         "BASIC_AUTH",
                                         "SECRET",
                                         "--api-key",
                                         "client.secret"};
    static const char *const harmless[] = {"",
                                           "PWD",
                                           "OLDPWD",
                                           "KEYBOARD",
                                           "MONKEY",
                                           "MAX_TOKENS",
                                           "TOKENIZERS_PARALLELISM",
                                           "AUTHOR",
                                           "PATH",
                                           "NCCL_SOCKET_IFNAME",
                                           "MAX_TOKEN_LENGTH",
                                           "PUBLIC_KEY",
                                           "KEY_DIM",
                                           "PASS",
                                           "PASSES",
                                           "BYPASS",
                                           "SECRETARY",
                                           "HIP_VISIBLE_DEVICES",
                                           "PAD_TOKEN_ID",
                                           "OMP_NUM_THREADS"};
    for (size_t i = 0; i < GT_LENGTH(secret); i++)
        if (!gt_secret_is_name(secret[i])) fail_msg("%s is not found to be a secret's name", secret[i]);
    for (size_t i = 0; i < GT_LENGTH(harmless); i++)
        if (gt_secret_is_name(harmless[i])) fail_msg("%s is taken for a secret's name", harmless[i]);
    char longest[40001];
    memset(longest, 'A', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    assert_false(gt_secret_is_name(longest));
}

static void texts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"HF_TOKEN=abcd python3 train.py", "HF_TOKEN=*** python3 train.py"},
        {"env HF_TOKEN='a b' x", "env HF_TOKEN=*** x"},
        {"env 'HF_TOKEN=a b' x", "env 'HF_TOKEN=***' x"},
        {"env \"HF_TOKEN=a \\\" b\" x", "env \"HF_TOKEN=***\" x"},
        {"sh -c 'K=1 HF_TOKEN=ab; echo'", "sh -c 'K=1 HF_TOKEN=***'"},
        {"./app --api-key abc --steps 3", "./app --api-key *** --steps 3"},
        {"./app --api-key=abc --steps 3", "./app --api-key=*** --steps 3"},
        {"./app --password --steps 3", "./app --password --steps 3"},
        {"./app --max-tokens 512 --token_count=5", "./app --max-tokens 512 --token_count=5"},
        {"git clone https://me:geheim@host/x", "git clone https://me:***@host/x"},
        {"see https://host:8080/a@b", "see https://host:8080/a@b"},
        {"HF_TOKEN= x", "HF_TOKEN= x"},
        {"echo s3cr3t/x", "echo ***/x"},
        {"HF_TOKEN='open", "HF_TOKEN=***"},
        {"sh -c 'export MY_TOKEN='\\''a b'\\''; true'", "sh -c 'export MY_TOKEN=***; true'"},
        {"sh -c 'true --token '\\''a b'\\'' --x'", "sh -c 'true --token *** --x'"},
        {"python3 -c 'MY_TOKEN='\\''ab'\\'''", "python3 -c 'MY_TOKEN=***'"},
        {"python3 -c 'MY_TOKEN = \"a b\"; f(1)'", "python3 -c 'MY_TOKEN = ***; f(1)'"},
        {"sh -c \"X_TOKEN=\\\"a b\\\" y\"", "sh -c \"X_TOKEN=*** y\""},
        {"sh -c \"X_TOKEN='a b' y\"", "sh -c \"X_TOKEN=*** y\""},
        {"env 'X_TOKEN=it'\\''s it' y", "env 'X_TOKEN=***' y"},
        {"X_TOKEN='it'\\''s it' y", "X_TOKEN=*** y"},
        {"curl -H 'Authorization: Bearer ab' host", "curl -H 'Authorization: Bearer ***' host"},
        {"Authorization: Basic ab== x", "Authorization: Basic *** x"},
        {"curl -H 'X: bearer ab' host", "curl -H 'X: bearer ***' host"},
        {"a '{\"api_key\": \"ab\", \"n\": 1}' b", "a '{\"api_key\": ***, \"n\": 1}' b"},
        {"{'token':'ab','n':1}", "{'token':***,'n':1}"},
        {"os.environ[\"HF_TOKEN\"] = \"ab\" # x", "os.environ[\"HF_TOKEN\"] = *** # x"},
        {"setdefault(\"HF_TOKEN\", \"ab\")", "setdefault(\"HF_TOKEN\", ***)"},
        {"docker run -v /run/key:/key img", "docker run -v /run/key:/key img"},
        {"a bearer of news", "a bearer *** news"},
        {"", ""},
    };
    const gt_value *env = parse("{\"MY_SECRET\": \"s3cr3t\", \"A_KEY\": \"1\", \"B\": \"echo\"}");
    for (size_t i = 0; i < GT_LENGTH(cases); i++)
        assert_string_equal(gt_secrets_hide(&arena, env, cases[i][0]), cases[i][1]);
    gt_arg_list words = {0};
    static const char *const given[] = {"app",   "--token", "abc def",          "x=s3cr3t",
                                        "--key", "--y",     "--db-password=a b"};
    static const char *const expected[] = {"app", "--token",          "***", "x=***", "--key",
                                           "--y", "--db-password=***"};
    for (size_t i = 0; i < GT_LENGTH(given); i++) gt_arg_list_add(&arena, &words, given[i]);
    gt_arg_list masked = gt_secrets_hide_words(&arena, env, &words);
    for (size_t i = 0; i < GT_LENGTH(given); i++) assert_string_equal(masked.items[i], expected[i]);
    gt_arg_list variables = {0};
    static const char *const set[][2] = {
        {"HF_TOKEN=a 'b' c", "HF_TOKEN=***"}, {"N=s3cr3t x", "N=*** x"}, {"A_KEY=", "A_KEY="}};
    for (size_t i = 0; i < GT_LENGTH(set); i++) gt_arg_list_add(&arena, &variables, set[i][0]);
    masked = gt_secrets_hide_variables(&arena, env, &variables);
    for (size_t i = 0; i < GT_LENGTH(set); i++) assert_string_equal(masked.items[i], set[i][1]);
}

/* However often a line is quoted for another shell, the value is masked. */
static void nested_quotes(void **state)
{
    (void)state;
    static const char *const lines[] = {"export MY_TOKEN='geheim 1'; true",
                                        "run --token \"geheim 1\" x",
                                        "MY_TOKEN=geheim",
                                        "f({'api_key': 'geheim 1'})",
                                        "curl -H 'Authorization: Bearer geheim'",
                                        "X_TOKEN='it'\\''s geheim'",
                                        "printf '%s' \"x\" 'y' ; A_SECRET=\"geheim 1\" z"};
    for (size_t i = 0; i < GT_LENGTH(lines); i++) {
        const char *line = lines[i];
        for (int depth = 0; depth < 4; depth++) {
            const char *masked = gt_secrets_hide(&arena, &gt_value_missing, line);
            if (strstr(masked, "geheim")) fail_msg("%s is masked as %s", line, masked);
            const char *words[] = {"sh", "-c", line};
            gt_buffer quoted = {0};
            gt_shell_join(&quoted, words, 3);
            line = gt_arena_bytes(&arena, quoted.bytes, quoted.len);
            gt_buffer_free(&quoted);
        }
    }
}

/* Values of the context, the variables and the environment are known wherever they occur. */
static void known_values(void **state)
{
    (void)state;
    const char *const environment[] = {"HF_TOKEN=geheim_1", "A_KEY=geheim2", "SSH_AUTH_SOCK=/tmp/geheim_3",
                                       "B=geheim_4",        "BROKEN_TOKEN",  NULL};
    const gt_value *context = parse("{\"tools\": [{\"env_vars\": {\"X_TOKEN\": \"it's \\\"5\\\"\"}}]}");
    const gt_value *known = gt_secrets_known(&arena, context, parse("{\"X_TOKEN\": \"six6\"}"), environment);
    assert_string_equal(gt_secrets_hide(&arena, known, "a geheim_1, geheim2 /tmp/geheim_3 geheim_4 xsix6y"),
                        "a ***, geheim2 /tmp/geheim_3 geheim_4 x***y");
    assert_string_equal(gt_secrets_hide(&arena, known, "a 'x it'\\''s \"5\" y' it's \\\"5\\\""),
                        "a 'x *** y' ***");
    const gt_value *masked = gt_secrets_masked(&arena, known, parse("{\"A\": [\"x-geheim_1-y\"]}"));
    assert_true(gt_value_equals_cstr(gt_value_at(gt_value_get(masked, "A"), 0), "x-***-y"));
}

static void settings(void **state)
{
    (void)state;
    const gt_value *masked = gt_secrets_masked(
        &arena, &gt_value_missing,
        parse("{\"env_vars\": {\"HF_TOKEN\": \"abc\", \"A\": \"b\", \"PIN_KEY\": 7, \"E_KEY\": \"\"}, "
              "\"tools\": [{\"name\": \"x\", \"cmd\": \"X_TOKEN=q ./y\"}], "
              "\"image_pull_secrets\": [\"regcred\"]}"));
    const gt_value *env = gt_value_get(masked, "env_vars");
    assert_string_equal(gt_settings_string(env, "HF_TOKEN"), "***");
    assert_string_equal(gt_settings_string(env, "A"), "b");
    assert_string_equal(gt_settings_string(env, "PIN_KEY"), "***");
    assert_string_equal(gt_settings_string(env, "E_KEY"), "");
    assert_string_equal(gt_settings_string(gt_value_at(gt_value_get(masked, "tools"), 0), "cmd"),
                        "X_TOKEN=*** ./y");
    assert_true(gt_value_equals_cstr(gt_value_at(gt_value_get(masked, "image_pull_secrets"), 0), "regcred"));
}

static int free_arena(void **state)
{
    (void)state;
    gt_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_of_secrets), cmocka_unit_test(texts),
                                       cmocka_unit_test(nested_quotes), cmocka_unit_test(known_values),
                                       cmocka_unit_test(settings)};
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
