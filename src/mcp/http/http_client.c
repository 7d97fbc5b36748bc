// Clients: who holds which token, and the workspace that a request names (Cadre-Workspace). One holder
// has a client for each workspace it has used: nothing of one is seen in another.
#include <limits.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/memory.h"
#include "mcp/http/http.h"

struct http_client *http_client_add(struct mcp_http *http, const struct mcp_http_client *given,
                                    struct http_client *holder)
{
    struct http_client *client = &http->clients[http->client_count++];
    client->http = http;
    client->holder = holder ? holder : client;
    client->server = given->server ? given->server : http->server;
    client->name = memory_copy_string(given->name);
    client->workspace = memory_copy_string(given->workspace);
    client->transport.shutdown = http_shutdown;
    TAILQ_INSERT_TAIL(&client->server->transports, &client->transport, link);
    if (!given->token)
        return client;
    client->has_token = true;
    crypto_hash_sha256(client->token_hash, (const unsigned char *)given->token,
                       strlen(given->token));
    request_states_set_token(client->server->states, given->token);
    return client;
}

static bool refuse(struct refusal *refusal, int status, const char *message)
{
    *refusal = (struct refusal){.status = status, .message = message};
    return false;
}

static struct http_client *find_workspace(const struct mcp_http *http,
                                          const struct http_client *holder, const char *path)
{
    for (size_t i = 0; i < http->client_count; i++) {
        struct http_client *client = &http->clients[i];
        if (client->holder == holder && client->workspace && strcmp(client->workspace, path) == 0)
            return client;
    }
    return NULL;
}

// What does not exist and what may not be used get the same answer: a token tells nothing about
// other directories.
static bool open_workspace(struct http_client *holder, const char *path,
                           struct http_client **ret_client, struct refusal *refusal)
{
    struct mcp_http *http = holder->http;
    struct mcp_http_client opened;
    struct error error;
    if (http->client_count == http->client_limit)
        return refuse(refusal, 503, "Too many workspaces");
    if (!http->open_workspace ||
        !http->open_workspace(http->open_data, holder->name, path, &opened, &error))
        return refuse(refusal, 403, "Forbidden: this workspace is not one that you may use");
    *ret_client = http_client_add(http, &opened, holder);
    return true;
}

// A session that was opened with the header needs it only once.
static struct http_client *client_of_session(struct http_client *holder,
                                             const struct http_request *request)
{
    for (size_t i = 0; i < holder->http->client_count; i++) {
        struct http_client *client = &holder->http->clients[i];
        bool given;
        if (client->holder == holder && http_session_find(client, request, &given))
            return client;
    }
    return holder;
}

bool http_client_choose(struct http_client *holder, const struct http_request *request,
                        struct http_client **ret_client, struct refusal *refusal)
{
    size_t count;
    const char *given = http_request_field(request, "Cadre-Workspace", &count);
    if (count > 1)
        return refuse(refusal, 400, "Bad request: more than one Cadre-Workspace");
    if (!given || holder->http->router) {
        *ret_client = holder->http->router ? holder : client_of_session(holder, request);
        return true;
    }
    char path[PATH_MAX];
    if (*given != '/' || !realpath(given, path))
        return refuse(refusal, 403, "Forbidden: this workspace is not one that you may use");
    *ret_client = find_workspace(holder->http, holder, path);
    return *ret_client || open_workspace(holder, path, ret_client, refusal);
}
