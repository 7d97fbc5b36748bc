#include "daemon/http/listening.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "daemon/client_settings.h"

static value put(struct region *region, value map, const char *name, value item)
{
    return map_put_text(region, map, name, item);
}

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return text ? put(region, map, name, value_string_format(region, "%s", text)) : map;
}

// --- writing -------------------------------------------------------------------------------------

static value write_names(struct region *region, const char *const *names)
{
    value list = vector_new(region, 0);
    for (size_t i = 0; names[i]; i++)
        list = vector_push(region, list, value_string_format(region, "%s", names[i]));
    return list;
}

static value write_token(struct region *region, const struct token *token)
{
    value map = put_text(region, map_new(region), "name", token->name);
    value workspaces = vector_new(region, 0);
    for (size_t i = 0; i < token->workspace_count; i++)
        workspaces = vector_push(region, workspaces,
                                 value_string_format(region, "%s", token->workspaces[i]));
    map = put_text(region, map, "text", token->text);
    map = put_text(region, map, "sandbox", sandbox_mode_name(token->sandbox));
    return put(region, map, "workspaces", workspaces);
}

// The daemon works elsewhere.
static value put_socket(struct region *region, value map, const char *path)
{
    char directory[PATH_MAX];
    if (!path || *path == '/' || !getcwd(directory, sizeof(directory)))
        return put_text(region, map, "socket", path);
    return put(region, map, "socket", value_string_format(region, "%s/%s", directory, path));
}

value listening_write(struct region *region, const struct listening *listening)
{
    value map = put_text(region, map_new(region), "host", listening->host);
    map = put(region, map, "port", value_integer(listening->port));
    map = put_socket(region, map, listening->socket_path);
    map = put(region, map, "allow-host", write_names(region, listening->allow_hosts));
    map = put(region, map, "allow-origin", write_names(region, listening->allow_origins));
    value tokens = vector_new(region, 0);
    for (size_t i = 0; i < listening->tokens.count; i++)
        tokens = vector_push(region, tokens, write_token(region, &listening->tokens.list[i]));
    return put(region, map, "tokens", tokens);
}

// --- reading -------------------------------------------------------------------------------------

static void read_names(struct region *region, value list, const char **names)
{
    size_t count = value_is_vector(list) ? vector_count(list) : 0, kept = 0;
    for (size_t i = 0; i < count && kept < LISTENING_NAMES_MAX; i++) {
        names[kept] = settings_text(region, vector_at(list, i));
        kept += names[kept] != NULL;
    }
}

static char *read_text(value map, const char *name)
{
    value item = map_get(map, name);
    struct span text = map_get_string(map, name);
    return value_is_string(item) ? memory_copy_text(text.data, text.length) : NULL;
}

static bool read_token(value map, struct token *token)
{
    token->name = read_text(map, "name");
    token->text = read_text(map, "text");
    CLEANUP_FREE char *sandbox = read_text(map, "sandbox");
    size_t count = map_get_count(map, "workspaces");
    for (size_t i = 0; i < count && i < TOKEN_WORKSPACES_MAX; i++) {
        value item = map_get_item(map, "workspaces", i);
        if (!value_is_string(item))
            return false;
        token->workspaces[token->workspace_count++] =
            memory_copy_text(value_text(item).data, value_text(item).length);
    }
    return token->name && sandbox && sandbox_mode_parse(sandbox, &token->sandbox);
}

bool listening_read(struct region *region, value map, struct listening *ret_listening)
{
    *ret_listening =
        (struct listening){.socket_path = settings_text(region, map_get(map, "socket"))};
    struct listening *listening = ret_listening;
    struct span host = map_get_string(map, "host");
    int64_t port = map_get_integer(map, "port", -1);
    size_t count = map_get_count(map, "tokens");
    if (port < 0 || port > UINT16_MAX || host.length >= sizeof(listening->host) || count == 0 ||
        count > TOKENS_MAX + 1)
        return false;
    snprintf(listening->host, sizeof(listening->host), "%.*s", (int)host.length, host.data);
    listening->port = (uint16_t)port;
    read_names(region, map_get(map, "allow-host"), listening->allow_hosts);
    read_names(region, map_get(map, "allow-origin"), listening->allow_origins);
    for (size_t i = 0; i < count; i++)
        if (!read_token(map_get_item(map, "tokens", i),
                        &listening->tokens.list[listening->tokens.count++]))
            return false;
    return true;
}

void listening_release(struct listening *listening)
{
    tokens_release(&listening->tokens);
}
