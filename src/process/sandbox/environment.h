// The environment of processes that run what others wrote: sessions and commands. What looks like
// a secret is left out: a variable of whose name a word, between underscores, is TOKEN, KEY,
// SECRET, PASSWORD, PASSWD, CREDENTIALS or AUTH, in any case.
#pragma once

#include <stdbool.h>

// `entry` is "NAME" or "NAME=value".
bool environment_is_secret(const char *entry);

// This process's environment without secrets, except those named in `pass` (CADRE_TOKEN is never
// passed), and with the entries of `set`, "NAME=value", in place of those of the same names; "NAME"
// there removes one. Both end in NULL, both may be NULL. The array is the caller's, its strings are
// shared.
char **environment_new(const char *const *pass, const char *const *set);
// The same of another environment than this process's; NULL: this process's.
char **environment_new_from(char *const *environment, const char *const *pass,
                            const char *const *set);
