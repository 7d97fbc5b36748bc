// Which variables sessions and commands get.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "process/sandbox/environment.h"

Test(environment, names_of_secrets)
{
    static const char *const secrets[] = {
        "CADRE_TOKEN",
        "GITHUB_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "KEY",
        "OPENAI_API_KEY=x",
        "MY_SECRET_X",
        "PASSWORD",
        "PGPASSWD_PASSWD",
        "DB_PASSWORD",
        "SSH_AUTH_SOCK",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "api_key",
        "_TOKEN",
        "TOKEN_",
    };
    static const char *const others[] = {
        "GIT_AUTHOR_NAME", "KEYBOARD",    "XAUTHORITY", "HOME", "MONKEY",
        "TOKENS",          "PATH=/a:KEY", "A=MY_KEY",   "",     "_"};
    for (size_t i = 0; i < COUNT_OF(secrets); i++)
        cr_expect(environment_is_secret(secrets[i]), "%s", secrets[i]);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        cr_expect(!environment_is_secret(others[i]), "%s", others[i]);
}

static bool contains(char **environment, const char *entry)
{
    for (size_t i = 0; environment[i]; i++)
        if (strcmp(environment[i], entry) == 0)
            return true;
    return false;
}

Test(environment, passed_and_set)
{
    clearenv();
    setenv("CADRE_TOKEN", "a", 1);
    setenv("FIRST_KEY", "b", 1);
    setenv("SECOND_KEY", "c", 1);
    setenv("PLAIN", "d", 1);
    setenv("TMPDIR", "/tmp", 1);
    setenv("GONE", "e", 1);
    const char *const pass[] = {"SECOND_KEY", "CADRE_TOKEN", NULL};
    const char *const set[] = {"TMPDIR=/private", "GONE", NULL};
    char **environment = environment_new(pass, set);
    cr_expect(contains(environment, "SECOND_KEY=c"));
    cr_expect(contains(environment, "PLAIN=d"));
    cr_expect(contains(environment, "TMPDIR=/private"));
    size_t count = 0;
    while (environment[count])
        count++;
    cr_expect_eq(count, 3);
    memory_free(environment);
}
