// A listener on HTTP and all that its clients are served by: for each token a tenant. Of the daemon, or
// of `cadre serve --private`.
#pragma once

#include "daemon/http/listening.h"
#include "daemon/http/tenants.h"

struct http_service;

// `listening` outlives the service. `setup` lacks the toolbox. 0, or the exit status with a message.
int http_service_open(const struct tenant_setup *setup, struct listening *listening,
                      mcp_end_fn *on_end, void *data, struct http_service **ret_service,
                      struct error *error);
// Whether it is on TCP and its user's token is this one.
bool http_service_has_token(const struct http_service *service, const char *token);
// The same, and it may show the workspace (NULL: one that nobody has opened).
bool http_service_shows(const struct http_service *service, const char *token,
                        const struct daemon_workspace *workspace);
// Whether somebody has the inspector's page open.
bool http_service_is_read(const struct http_service *service);
const char *http_service_url(const struct http_service *service);
// Nobody can connect any more; on_end is called when what runs was answered, or the time is over.
void http_service_shutdown(struct http_service *service, unsigned grace_ms);
// The listener and its connections end now.
void http_service_hang_up(struct http_service *service);
// Whether nothing runs that would answer to it. If something does, the sessions end before it is freed.
bool http_service_is_idle(const struct http_service *service);
const struct tenants *http_service_tenants(const struct http_service *service);
void http_service_free(struct http_service *service);
