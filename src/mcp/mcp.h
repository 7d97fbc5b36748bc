// The Model Context Protocol as a library: a registry of tools, resources, prompts and completers,
// one dispatcher for both protocol generations, and two transports (stdio and Streamable HTTP). It
// knows nothing of what the tools do.
//
// Life of a request: a transport reads a message, the dispatcher chooses the protocol and the
// method, checks the parameters and passes a `struct mcp_call` to the registered handler. The
// handler runs on the loop thread and must not block. It replies at once or later, with exactly one
// mcp_call_reply*() (or mcp_call_ask()) per run of the handler. The call and all values of its
// region stay valid until then, also when the client has cancelled or disconnected: the library
// then discards the reply.
//
// Protocol generations: *2024* = versions 2024-11-05 to 2025-11-25, opened by initialize; *2026* =
// version 2026-07-28, stateless. Handlers are the same for both: the library adds resultType,
// _meta, caching hints and HTTP statuses, and replaces content blocks that the client's version
// does not know.
//
// Ownership: the server copies everything registered (strings included). `data` pointers
// belong to the caller and must outlive the server. Values given to a reply live in the call's
// region and are consumed. Texts are borrowed for the duration of the function.
//
// Limits: message in 8 MiB, nesting 128; message out 4 MiB (larger tool results become an error
// result that says so); 256 requests in flight per stdio channel or HTTP session; those of HTTP are
// in struct mcp_http_options and docs/limits.md.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

struct event_base;
struct mcp_server;
struct mcp_call;

enum {
    MCP_MESSAGE_LIMIT = 8 << 20,  // bytes of one incoming message
    MCP_OUTPUT_LIMIT = 4 << 20,   // bytes of one outgoing message, without its images
    MCP_MEDIA_LIMIT = 4 << 20,    // of its images and audio, in base64
    MCP_DEPTH_LIMIT = 128,
};

// --- server.c: the server ------------------------------------------------------------------------

struct mcp_server_info {
    const char *name;   // "cadre"
    const char *title;  // "Cadre"
    const char *version;
    const char *instructions;  // for the model, at most 1500 characters; NULL = none
    bool tools_change;         // the list can change after start-up: advertises listChanged
    bool resources_change;
    bool prompts_change;
    bool subscribe;     // resources can be subscribed to
    bool logging;       // some handler calls mcp_call_log()
    bool tasks;         // some handler calls mcp_call_become_task()
    bool text_results;  // tools answer with text alone, unless the client asks for more
};

// Capabilities (tools, resources, prompts, completions) are advertised when one is registered.
struct mcp_server *mcp_server_new(struct event_base *base, const struct mcp_server_info *info);
// All transports must have ended. Calls still open are dropped: their handlers must not reply
// later.
void mcp_server_free(struct mcp_server *server);

// Stops accepting work: transports end open subscriptions, refuse new requests, let running ones
// finish for at most grace_ms and then call their on_end function. May be called twice.
void mcp_server_shutdown(struct mcp_server *server, unsigned grace_ms);

// No call is open, also none that was answered early or became a task.
bool mcp_server_is_idle(const struct mcp_server *server);

// --- registry.c: tools ---------------------------------------------------------------------------

typedef void mcp_handler_fn(struct mcp_call *call, void *data);

enum mcp_tool_flags {
    MCP_TOOL_READ_ONLY = 1,    // readOnlyHint
    MCP_TOOL_DESTRUCTIVE = 2,  // destructiveHint
    MCP_TOOL_IDEMPOTENT = 4,   // idempotentHint
    MCP_TOOL_OPEN_WORLD = 8,   // openWorldHint
    // The library checks only that all argument names are known; the handler checks the rest.
    MCP_TOOL_NAMES_ONLY = 16,
    // Progress is sent as the handler emits it, not first after 1 s and at most twice a second.
    MCP_TOOL_PROGRESS_AT_ONCE = 32,
    // Only for clients that write "cadre/tools": "full" into _meta of initialize.
    MCP_TOOL_UNLISTED = 64,
};

struct mcp_tool {
    const char *name;  // [A-Za-z0-9_-]{1,64}
    const char *title;
    const char *description;
    const char *input_schema;  // JSON text, root "type":"object"; emitted as it is
    // The same for what is accepted, where that is more than what is offered; or NULL.
    const char *accepted_schema;
    const char *meta;  // JSON text of an object for `_meta`, or NULL
    // JSON text, root "type":"object", or NULL. It must accept {"ok":false,"error":{"code":…,
    // "message":…}}, which is what the library sends for bad arguments.
    const char *output_schema;
    unsigned flags;  // all four hints are sent, true where the flag is set
    mcp_handler_fn *handler;
    void *data;
};

// Order of registration is order of the list. A name twice or a broken schema is a programming
// error.
void mcp_server_add_tool(struct mcp_server *server, const struct mcp_tool *tool);
// Appends to the description of a tool whenever it is listed: what may change after start-up. Without
// effect when there is no such tool.
typedef void mcp_describe_fn(struct buffer *out, void *data);
void mcp_server_extend_description(struct mcp_server *server, const char *name,
                                   mcp_describe_fn *describe, void *data);
// For `--tools a,b`: true if registered.
// What the refusal of a call to a tool that is not there says besides: a sentence without full stop.
void mcp_server_add_tool_hint(struct mcp_server *server, const char *name, const char *hint);
bool mcp_server_has_tool(const struct mcp_server *server, const char *name);

// --- registry.c: resources -----------------------------------------------------------------------

struct mcp_resource {
    const char *uri;  // of a template: RFC 6570 level 1, e.g. "context://items/{id}"
    const char *name;
    const char *title;        // may be NULL
    const char *description;  // may be NULL
    const char *mime_type;    // may be NULL
    int64_t size;             // bytes, -1 = unknown
    mcp_handler_fn *handler;  // reads it; ends with mcp_call_reply_text/blob/not_found
    void *data;
};

void mcp_server_add_resource(struct mcp_server *server, const struct mcp_resource *resource);
void mcp_server_add_template(struct mcp_server *server,
                             const struct mcp_resource *resource_template);

// --- registry.c: prompts and completion ----------------------------------------------------------

struct mcp_prompt_argument {
    const char *name;
    const char *description;
    bool required;
};

enum { MCP_PROMPT_ARGUMENTS_MAX = 8 };

struct mcp_prompt {
    const char *name;
    const char *title;
    const char *description;
    struct mcp_prompt_argument arguments[MCP_PROMPT_ARGUMENTS_MAX];  // ends at the first NULL name
    mcp_handler_fn *handler;  // adds blocks, ends with mcp_call_reply_prompt()
    void *data;
};

void mcp_server_add_prompt(struct mcp_server *server, const struct mcp_prompt *prompt);

// Completes one argument of a prompt (reference = its name) or one variable of a template
// (reference = its URI template). Asks mcp_call_argument(call, "value") for the text typed so far,
// adds values with mcp_call_add_completion() and ends with mcp_call_reply_completion().
struct mcp_completer {
    const char *reference;
    const char *argument;
    mcp_handler_fn *handler;
    void *data;
};

void mcp_server_add_completer(struct mcp_server *server, const struct mcp_completer *completer);

// --- subscription.c: change notifications to clients that asked for them -------------------------

enum mcp_list { MCP_LIST_TOOLS, MCP_LIST_RESOURCES, MCP_LIST_PROMPTS, MCP_LIST_COUNT };
void mcp_notify_list_changed(struct mcp_server *server, enum mcp_list list);
void mcp_notify_resource_updated(struct mcp_server *server, const char *uri);
// Visits every URI that a client is subscribed to, once per subscription, so that a source without
// events is polled only for these.
typedef void mcp_subscription_fn(struct span uri, void *data);
void mcp_server_visit_subscriptions(const struct mcp_server *server, mcp_subscription_fn *visit,
                                    void *data);

// --- call.c: a call, as its handler sees it ------------------------------------------------------

// Lives as long as the call. It has no limit after the request was parsed: bound what you build.
struct region *mcp_call_region(struct mcp_call *call);
// Arguments of a tool or prompt, variables of a URI template: a map, never nil.
value mcp_call_arguments(const struct mcp_call *call);
value mcp_call_argument(const struct mcp_call *call, const char *name);  // nil when absent
// "elicitation", "sampling", "roots", or "tasks" for the tasks extension.
bool mcp_call_client_can(const struct mcp_call *call, const char *capability);

// As the client calls itself, of at most 63 bytes; NULL: it does not. Lives as long as the call.
const char *mcp_call_client_name(struct mcp_call *call);

// Tells apart the sessions and connections of clients that share a server, for fair turns.
uint64_t mcp_call_flow(const struct mcp_call *call);

// Called when the client cancelled, disconnected (2026 over HTTP) or cancelled the task: at most
// once, from the loop, never from within a library function the handler called. The handler still
// must reply once and may do so from here. NULL removes the callback.
void mcp_call_on_cancel(struct mcp_call *call, mcp_handler_fn *on_cancel, void *data);

#define MCP_NO_TOTAL (-1.0)
// Sent only if the client gave a token, if it is larger than the one before and not too soon after
// it: call as often as convenient. message may be NULL.
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message);

// --- elicitation.c: asking the client ------------------------------------------------------------
// A handler that needs answers asks for each with mcp_call_need*(). If one returns false it may ask
// for more, then calls mcp_call_ask() and returns. It runs again, from its beginning, with all
// answers given so far, so it must have no side effects before its last need. If the client did not
// declare the capability, mcp_call_ask() ends the call with the right error: check
// mcp_call_client_can() first where there is another way.

// *ret_answer is the client's result, e.g. {"action":"accept","content":{…}}. `params` is a map.
bool mcp_call_need(struct mcp_call *call, const char *key, const char *method, value params,
                   value *ret_answer);
// elicitation/create in form mode; schema is JSON text of a flat object schema.
bool mcp_call_need_form(struct mcp_call *call, const char *key, const char *message,
                        const char *schema, value *ret_answer);
void mcp_call_ask(struct mcp_call *call);
// Runs the handler from its beginning, with the answers and the state it has now: for one that has
// waited for something else before it can ask, or go on. Not from within the handler.
void mcp_call_run_again(struct mcp_call *call);
// A value for the next run of the same handler: sent to the client, signed and bound to this
// request (2026), or kept here (2024).
void mcp_call_set_state(struct mcp_call *call, value state);
value mcp_call_state(const struct mcp_call *call);  // nil in the first run

// --- task.c: tasks -------------------------------------------------------------------------------

// Answers the request with a task now, if the client declared the extension; the handler's reply
// then becomes the result of the task. False, and without effect, where that is not possible.
bool mcp_call_become_task(struct mcp_call *call);
bool mcp_call_is_task(const struct mcp_call *call);

// --- content.c: content blocks -------------------------------------------------------------------
// Collected by the call; a reply sends its own text first, then these in order.

void mcp_call_add_text(struct mcp_call *call, struct span text);
void mcp_call_add_image(struct mcp_call *call, const char *mime_type, struct span base64);
// A resource by its address alone; clients before 2025-06-18 get it as text.
void mcp_call_add_link(struct mcp_call *call, const char *uri, const char *name,
                       const char *mime_type);
void mcp_call_add_content(struct mcp_call *call, value content);  // blocks of another call
void mcp_call_add_completion(struct mcp_call *call, struct span text);

// --- content.c: replies, exactly one per run of the handler --------------------------------------

// The result of a tool. text {NULL, 0} = no text block. structured: a map valid under the tool's
// outputSchema, or nil for a tool without one; one that is not valid becomes a failure
// "malformed-result". Invalid UTF-8 in text is replaced by U+FFFD.
void mcp_call_reply(struct mcp_call *call, struct span text, value structured, bool is_error);
// The same with {"ok":false,"error":{"code":…,"message":…}} and the message as text.
// Replies now though the work goes on: the response is sent, the call stays, and what its handler
// replies in the end goes to on_result instead of the client. Not for a call that is a task.
// `content` has the blocks after the text.
typedef void mcp_result_fn(void *data, struct span text, value content, value structured,
                           bool is_error);
void mcp_call_reply_early(struct mcp_call *call, struct span text, value structured,
                          mcp_result_fn *on_result, void *data);
void mcp_call_reply_failure(struct mcp_call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// The content of a resource. mime_type NULL = that of the registration.
void mcp_call_reply_text(struct mcp_call *call, const char *mime_type, struct span text);
void mcp_call_reply_not_found(struct mcp_call *call);
void mcp_call_reply_prompt(struct mcp_call *call);  // the blocks, each as a message of the user
void mcp_call_reply_completion(struct mcp_call *call);
// A JSON-RPC error. For tools only where the protocol demands one; a tool that fails replies with a
// failure.
void mcp_call_reply_error(struct mcp_call *call, int code, const char *message);

enum {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
};

// --- metrics.c: metrics (Prometheus text on /metrics) --------------------------------------------

struct mcp_metric;
enum mcp_metric_kind { MCP_COUNTER, MCP_GAUGE, MCP_HISTOGRAM };

// Registers a metric, or finds the registered one with this name and label. label is the inside of
// the braces, e.g. "outcome=\"timeout\"", or NULL. Histograms are of seconds, 0.1 ms … 60 s.
struct mcp_metric *mcp_server_add_metric(struct mcp_server *server, enum mcp_metric_kind kind,
                                         const char *name, const char *label, const char *help);
void mcp_metric_add(struct mcp_metric *metric, double amount);  // counter
void mcp_metric_set(struct mcp_metric *metric, double amount);  // gauge
void mcp_metric_observe(struct mcp_metric *metric, double seconds);
// Called before each scrape, to set gauges.
typedef void mcp_collect_fn(void *data);
void mcp_server_add_collector(struct mcp_server *server, mcp_collect_fn *collect, void *data);

// --- stdio.c: the stdio transport ----------------------------------------------------------------

typedef void mcp_end_fn(void *data);

// Serves the one client on descriptors 0 and 1. The transport moves them away and puts /dev/null
// and standard error in their place, so that no library or child can disturb the protocol. on_end
// is called once, after end of input or mcp_server_shutdown(), when everything is written.
struct mcp_stdio;
int mcp_stdio_start(struct mcp_server *server, mcp_end_fn *on_end, void *data,
                    struct mcp_stdio **ret_stdio);
// The same on a socket, which the transport takes over. A client that goes away does not end its
// calls: they run to their end, and on_end is called after the last one.
int mcp_stdio_start_socket(struct mcp_server *server, int socket, mcp_end_fn *on_end, void *data,
                           struct mcp_stdio **ret_stdio);
// Whether the client has gone away, so that nobody reads what is written.
bool mcp_stdio_is_deserted(const struct mcp_stdio *stdio);
void mcp_stdio_free(struct mcp_stdio *stdio);

// --- http/http.c: the HTTP transport -------------------------------------------------------------

// Who may ask. Clients see nothing of each other: each has a server of its own, with its tools,
// protocol sessions, tasks and subscriptions.
struct mcp_http_client {
    const char *name;           // "" = the user who runs the server
    const char *token;          // bearer token of at least 16 characters; NULL: none is asked for
    struct mcp_server *server;  // NULL: the one that the transport is started with
    const char *workspace;      // real path, or NULL
};

// The client `name` asks for another workspace, a real path (header Cadre-Workspace): a server for it
// there, kept until the transport ends. False: it may not.
typedef bool mcp_http_workspace_fn(void *data, const char *name, const char *workspace,
                                   struct mcp_http_client *ret_client, struct error *error);

// A file for a browser, which anybody who passes the checks of Host and Origin may have.
struct mcp_http_page {
    const char *path;  // "/style.css"; NULL ends the table
    const char *content_type;
    const char *text;
};

struct mcp_http_options {
    const char *address;  // "127.0.0.1"; any other than 127.0.0.0/8 and ::1 needs a token
    uint16_t port;        // 0 = any free one
    // A Unix socket instead, for processes of the same user and root. NULL: TCP
    const char *socket_path;
    const struct mcp_http_client *clients;
    size_t client_count;                    // 0: one client without a token
    mcp_http_workspace_fn *open_workspace;  // NULL: there are no others
    void *open_data;
    const char *const *allow_hosts;     // NULL-terminated list, or NULL
    const char *const *allow_origins;   // NULL-terminated list, or NULL
    const struct mcp_http_page *pages;  // NULL: none
    // Who answers the requests that were let in (http/http_carry.h); outlives the transport. NULL: the
    // servers of the clients.
    const struct mcp_http_router *router;
    size_t max_connections;   // 0 = 256, or a quarter of the descriptors
    size_t max_sessions;      // 0 = 256
    unsigned session_idle_s;  // 0 = 1800
};

struct mcp_http;
struct mcp_http_router;
// False with a message for the user: bad address, port in use, token missing or too short.
bool mcp_http_start(struct mcp_server *server, const struct mcp_http_options *options,
                    mcp_end_fn *on_end, void *data, struct mcp_http **ret_http,
                    struct error *error);
void mcp_http_free(struct mcp_http *http);
// Whether somebody reads its events.
bool mcp_http_is_read(const struct mcp_http *http);
const char *mcp_http_url(const struct mcp_http *http);  // "http://127.0.0.1:7433/mcp", "unix:PATH"
// Reads a token file: regular, not readable by group or others, one line of 16 … 4096 characters.
bool mcp_token_read(const char *path, char **ret_token, struct error *error);

// --- http/http_feed.c: a stream of events beside the protocol ------------------------------------

// Each reader of GET /events with the token of this server. One that does not read what it is sent,
// 1 MiB of it, is closed.
struct mcp_feed_reader;
struct mcp_feed {
    void (*open)(void *data, struct mcp_feed_reader *reader, const char *last_event_id);
    void (*close)(void *data, struct mcp_feed_reader *reader);  // it is gone afterwards
    void *data;
};
void mcp_server_set_feed(struct mcp_server *server, const struct mcp_feed *feed);
void mcp_feed_send(struct mcp_feed_reader *reader, const char *id, struct span event);

// What follows is used by the fixtures of tests/conformance only; no tool of Cadre calls it.

// --- call.c: for the conformance fixtures only ---------------------------------------------------

struct mcp_server *mcp_call_server(struct mcp_call *call);

enum mcp_log_level {
    MCP_LOG_DEBUG,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
    MCP_LOG_LEVEL_COUNT,
};
// To the client, at or above the level it asked for. logger may be NULL.
void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, value data);
// Closes the SSE stream of a 2025-11-25 call early; the client reconnects for the response after
// retry_ms. No effect on other transports and versions.
void mcp_call_close_stream(struct mcp_call *call, unsigned retry_ms);

// --- content.c: for the conformance fixtures only ------------------------------------------------

void mcp_call_add_audio(struct mcp_call *call, const char *mime_type, struct span base64);
void mcp_call_add_resource(struct mcp_call *call, const char *uri, const char *mime_type,
                           struct span text);
void mcp_call_reply_blob(struct mcp_call *call, const char *mime_type, struct span bytes);
// Error -32021 in the 2026 protocol, an error result in the 2024 protocol.
void mcp_call_reply_missing_capability(struct mcp_call *call, const char *capability);
