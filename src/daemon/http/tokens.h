// The tokens of `cadre serve --http`: one of the user, made at the first start and kept in the state
// directory, and those of other clients (`--token NAME=FILE`).
#pragma once

#include <stdbool.h>

#include "base/error.h"

#include "process/sandbox/confinement.h"

enum { TOKENS_MAX = 16, TOKEN_WORKSPACES_MAX = 32 };

struct token {
    char *name;  // "" = the user's
    char *text;  // NULL: none is asked for
    char *path;  // where it is kept; NULL: given otherwise
    bool is_new;
    // The most it may ask for. The user's has no limits.
    char
        *workspaces[TOKEN_WORKSPACES_MAX];  // real paths; none: only a scratch directory of its own
    size_t workspace_count;
    enum sandbox_mode sandbox;  // the widest; SANDBOX_OFF: the server's
};

struct token_options {
    const char *file;               // --token-file
    const char *named[TOKENS_MAX];  // --token NAME=FILE
    size_t named_count;
    const char *workspaces[TOKENS_MAX * TOKEN_WORKSPACES_MAX];  // --token-workspace NAME=DIR
    size_t workspace_count;
    const char *sandboxes[TOKENS_MAX];  // --token-sandbox NAME=MODE
    size_t sandbox_count;
    bool are_names;  // workspaces are names, of a cluster, not directories
    bool none;       // --no-token: the user's own is not asked for
};

struct tokens {
    struct token list[TOKENS_MAX + 1];  // the user's first
    size_t count;
};

// Reads the tokens, and makes the user's where there is none. `needs_none`: the user is known
// otherwise, by a Unix socket; then one is used only when it is given. False with a message; to be
// released either way.
bool tokens_read(const struct token_options *options, bool needs_none, struct tokens *ret_tokens,
                 struct error *error);
// NULL: there is none of this name.
struct token *tokens_find(struct tokens *tokens, const char *name);
// Whether its holder may work there; `path` is a real path.
bool token_allows(const struct token *token, const char *path);
void tokens_release(struct tokens *tokens);
