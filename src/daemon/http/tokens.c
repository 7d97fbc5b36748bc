#include "daemon/http/tokens.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "cluster/owners.h"
#include "mcp/mcp.h"
#include "session/session.h"
#include "session/workspace/workspace.h"

enum { TOKEN_BYTES = 32, TOKEN_BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

// --- the user's own ------------------------------------------------------------------------------

static bool write_token(const char *path, bool *ret_made, struct error *error)
{
    unsigned char random[TOKEN_BYTES];
    char text[sodium_base64_ENCODED_LEN(TOKEN_BYTES, TOKEN_BASE64) + 1];
    CHECK(sodium_init() >= 0);
    randombytes_buf(random, sizeof(random));
    sodium_bin2base64(text, sizeof(text), random, sizeof(random), TOKEN_BASE64);
    size_t length = strlen(text);
    text[length++] = '\n';
    struct private_file file;
    if (!private_make_parent(path, error) || !private_create(path, &file, error))
        return false;
    bool ok = write(file.descriptor, text, length) == (ssize_t)length;
    sodium_memzero(text, sizeof(text));
    if (ok)
        return private_create_commit(&file, false, ret_made, error);
    private_create_abandon(&file);
    return error_set(error, ERROR_SYSTEM, "cannot write %s", path);
}

static bool keep_token(struct token *token, struct error *error)
{
    token->path = path_in_state("token");
    if (!token->path)
        return error_set(error, ERROR_INVALID,
                         "no place for the token: set HOME or XDG_STATE_HOME, or use --token-file");
    if (access(token->path, F_OK) < 0 && !write_token(token->path, &token->is_new, error))
        return false;
    return private_make_parent(token->path, error) &&
           mcp_token_read(token->path, &token->text, error);
}

static bool read_own(struct token *token, const struct token_options *options, bool needs_none,
                     struct error *error)
{
    const char *given = getenv("CADRE_TOKEN");
    token->name = memory_copy_string("");
    token->sandbox = SANDBOX_OFF;
    if (options->none)
        return true;
    if (options->file)
        return mcp_token_read(options->file, &token->text, error);
    if (given && *given) {
        token->text = memory_copy_string(given);
        return true;
    }
    return needs_none || keep_token(token, error);
}

// --- those of others -----------------------------------------------------------------------------

static bool read_named(struct tokens *tokens, const char *argument, struct error *error)
{
    const char *sign = strchr(argument, '=');
    size_t length = sign ? (size_t)(sign - argument) : 0;
    if (!sign || !session_name_valid((struct span){argument, length}) || !sign[1])
        return error_set(error, ERROR_INVALID,
                         "--token takes NAME=FILE, NAME as of a session: a-z, 0-9, '.', '_', '-'; "
                         "got '%s'",
                         argument);
    for (size_t i = 0; i < tokens->count; i++)
        if (strlen(tokens->list[i].name) == length &&
            memcmp(tokens->list[i].name, argument, length) == 0)
            return error_set(error, ERROR_INVALID, "--token: there are two of the name %s",
                             tokens->list[i].name);
    struct token *token = &tokens->list[tokens->count++];
    token->name = memory_copy_text(argument, length);
    token->path = memory_copy_string(sign + 1);
    token->sandbox = SANDBOX_OFF;
    return mcp_token_read(token->path, &token->text, error);
}

struct token *tokens_find(struct tokens *tokens, const char *name)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (strcmp(tokens->list[i].name, name) == 0)
            return &tokens->list[i];
    return NULL;
}

bool token_allows(const struct token *token, const char *path)
{
    if (!*token->name)
        return true;
    for (size_t i = 0; i < token->workspace_count; i++)
        if (path_is_within(path, token->workspaces[i]))
            return true;
    return false;
}

// --- limits: NAME=WHAT ---------------------------------------------------------------------------

static struct token *split_limit(struct tokens *tokens, const char *option, const char *argument,
                                 const char **ret_what, struct error *error)
{
    const char *sign = strchr(argument, '=');
    CLEANUP_FREE char *name = memory_copy_text(argument, sign ? (size_t)(sign - argument) : 0);
    struct token *token = sign && *name ? tokens_find(tokens, name) : NULL;
    if (!token)
        error_set(error, ERROR_INVALID, "%s takes NAME=%s, NAME of a --token; got '%s'", option,
                  strcmp(option, "--token-sandbox") == 0 ? "MODE" : "DIR", argument);
    *ret_what = sign ? sign + 1 : "";
    return token;
}

static bool limit_to_name(struct token *token, const char *name, struct error *error)
{
    if (!cluster_name_valid(span_from(name)))
        return error_set(
            error, ERROR_INVALID,
            "--token-workspace: the name of a workspace of a cluster is " CLUSTER_NAME_RULE
            "; got '%s'",
            name);
    token->workspaces[token->workspace_count++] = memory_copy_string(name);
    return true;
}

static bool limit_workspace(struct tokens *tokens, bool are_names, const char *argument,
                            struct error *error)
{
    const char *directory;
    struct token *token = split_limit(tokens, "--token-workspace", argument, &directory, error);
    struct workspace workspace;
    if (!token)
        return false;
    if (token->workspace_count == TOKEN_WORKSPACES_MAX)
        return error_set(error, ERROR_INVALID, "--token-workspace: at most %d of one token",
                         TOKEN_WORKSPACES_MAX);
    if (are_names)
        return limit_to_name(token, directory, error);
    if (!workspace_resolve(directory, NULL, &workspace, error))
        return false;
    token->workspaces[token->workspace_count++] = memory_copy_string(workspace.path);
    workspace_release(&workspace);
    return true;
}

static bool limit_sandbox(struct tokens *tokens, const char *argument, struct error *error)
{
    const char *mode;
    struct token *token = split_limit(tokens, "--token-sandbox", argument, &mode, error);
    if (token && !sandbox_mode_parse(mode, &token->sandbox))
        return error_set(error, ERROR_INVALID,
                         "--token-sandbox: the mode is workspace, strict or off; got '%s'", mode);
    return token != NULL;
}

bool tokens_read(const struct token_options *options, bool needs_none, struct tokens *ret_tokens,
                 struct error *error)
{
    *ret_tokens = (struct tokens){.count = 1};
    bool ok = read_own(&ret_tokens->list[0], options, needs_none, error);
    unsetenv("CADRE_TOKEN");  // nothing that this process starts needs it
    for (size_t i = 0; ok && i < options->named_count; i++)
        ok = read_named(ret_tokens, options->named[i], error);
    for (size_t i = 0; ok && i < options->workspace_count; i++)
        ok = limit_workspace(ret_tokens, options->are_names, options->workspaces[i], error);
    for (size_t i = 0; ok && i < options->sandbox_count; i++)
        ok = limit_sandbox(ret_tokens, options->sandboxes[i], error);
    return ok;
}

void tokens_release(struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++) {
        struct token *token = &tokens->list[i];
        if (token->text)
            sodium_memzero(token->text, strlen(token->text));
        memory_free(token->name);
        memory_free(token->text);
        memory_free(token->path);
        for (size_t k = 0; k < token->workspace_count; k++)
            memory_free(token->workspaces[k]);
    }
}
