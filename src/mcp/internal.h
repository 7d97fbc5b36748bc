// Private to src/mcp: the structures behind mcp.h and what its files offer each other.
//
//   server   owns everything
//   peer     what is remembered about one legacy client: a stdio channel or an HTTP session
//   exchange one incoming message or batch, and the way back for its answers; of the transport
//   call     one request: owns its region, belongs to one exchange until answered or cancelled
//   task     what a call becomes when it is answered before its work is done
#pragma once

#include <event2/event.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "mcp/jsonrpc.h"
#include "mcp/mcp.h"

enum {
    MCP_PAGE_SIZE = 200,
    MCP_IN_FLIGHT_MAX = 256,      // requests per peer
    MCP_SUBSCRIPTIONS_MAX = 256,  // URIs per peer or listen request
    MCP_TASKS_MAX = 256,
    MCP_BATCH_MAX = 100,
    MCP_REGION_LIMIT = 512 << 20,  // values of one incoming message
    MCP_SPARE_REGIONS = 16,        // kept warm for messages to come
    MCP_SPARE_BYTES = 1 << 20,     // of a region that is worth keeping
    MCP_FLUSH_MS = 200,            // for the last answers of a server that ends
};

// Codes that handlers do not use; the common ones are in mcp.h.
enum {
    MCP_LEGACY_NOT_FOUND = -32002,
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
    MCP_RESULT_TOO_LARGE = 1001,  // our own, outside the range of the protocol
    MCP_SERVER_STOPPING = 1002,
};

enum version {
    VERSION_2024_11_05,
    VERSION_2025_03_26,
    VERSION_2025_06_18,
    VERSION_2025_11_25,
    VERSION_LATEST_LEGACY = VERSION_2025_11_25,
    VERSION_2026_07_28,
    VERSION_COUNT,
};
extern const char *const version_names[VERSION_COUNT];
bool version_find_legacy(struct span name, enum version *ret_version);

enum client_capability {
    CLIENT_ELICITATION = 1,
    CLIENT_SAMPLING = 2,
    CLIENT_ROOTS = 4,
    CLIENT_TASKS = 8,
};
unsigned client_capabilities_read(value capabilities, enum version version);

// --- registry ------------------------------------------------------------------------------------

enum { TOOL_HEADER_DEPTH = 8 };

struct tool_header {  // a property with "x-mcp-header"
    SLIST_ENTRY(tool_header) link;
    const char *name;  // "Mcp-Param-" + its value
    const char *path[TOOL_HEADER_DEPTH];
    size_t depth;
};

struct tool_entry {
    STAILQ_ENTRY(tool_entry) link;
    struct mcp_tool tool;
    const struct schema *input_schema;
    const struct schema *output_schema;  // NULL when there is none
    SLIST_HEAD(tool_header_head, tool_header) headers;
};

struct resource_entry {
    STAILQ_ENTRY(resource_entry) link;
    struct mcp_resource resource;
};
STAILQ_HEAD(resource_entries, resource_entry);

struct prompt_entry {
    STAILQ_ENTRY(prompt_entry) link;
    struct mcp_prompt prompt;
};

struct completer_entry {
    STAILQ_ENTRY(completer_entry) link;
    struct mcp_completer completer;
};

struct transport {
    TAILQ_ENTRY(transport) link;
    void (*shutdown)(struct transport *transport, unsigned grace_ms);
};

TAILQ_HEAD(call_list, mcp_call);
TAILQ_HEAD(peer_list, peer);
TAILQ_HEAD(task_list, task);

struct mcp_server {
    struct event_base *base;
    struct mcp_server_info info;
    struct arena arena;      // everything registered
    struct region *schemas;  // parsed and compiled
    STAILQ_HEAD(tool_entry_head, tool_entry) tools;
    struct resource_entries resources;
    struct resource_entries templates;
    STAILQ_HEAD(prompt_entry_head, prompt_entry) prompts;
    STAILQ_HEAD(completer_entry_head, completer_entry) completers;
    unsigned generation[MCP_LIST_COUNT + 1];  // the last one is that of the templates
    struct call_list calls;
    size_t call_count;  // without listeners
    struct call_list listeners;
    struct peer_list peers;
    struct task_list tasks;
    size_t task_count;
    struct event *task_sweep;
    TAILQ_HEAD(transport_head, transport) transports;
    struct metrics *metrics;
    struct state_keeper *states;
    mcp_prewake_fn *prewake;  // may be NULL
    void *prewake_data;
    struct region *shapes;  // of the messages (shapes_share)
    struct region *spare[MCP_SPARE_REGIONS];
    size_t spare_count;
    bool stopping;
};

// The last one cancels what still runs.
void server_remove_transport(struct mcp_server *server, struct transport *transport);
// Tells the clients of all running calls that the server ends.
void server_stop_calls(struct mcp_server *server);
struct region *server_region_take(struct mcp_server *server);
void server_region_give(struct mcp_server *server, struct region *region);

const struct tool_entry *registry_find_tool(const struct mcp_server *server, struct span name);
const struct prompt_entry *registry_find_prompt(const struct mcp_server *server, struct span name);
const struct resource_entry *registry_find_resource(const struct mcp_server *server,
                                                    struct span uri);
const struct resource_entry *registry_find_template(const struct mcp_server *server,
                                                    struct span uri_template);
// The template that matches the URI; its variables go into *ret_variables, a map in the region.
const struct resource_entry *registry_match_template(const struct mcp_server *server,
                                                     struct region *region, struct span uri,
                                                     value *ret_variables);
// Is it a resource, or one that a template makes?
bool registry_knows_uri(const struct mcp_server *server, struct region *region, struct span uri);
const struct completer_entry *registry_find_completer(const struct mcp_server *server,
                                                      struct span reference, struct span argument);
const char *registry_text(struct mcp_server *server, const char *text);  // copy, NULL stays NULL
void *registry_alloc(struct mcp_server *server, size_t size);

// --- exchange: one incoming message and the way back ---------------------------------------------

struct exchange;

struct exchange_ops {
    // Writes a notification or request to the client that precedes the response.
    void (*notify)(struct exchange *exchange, struct span message);
    // Writes the `count` responses, perhaps none, and frees the exchange.
    void (*write)(struct exchange *exchange, const struct span *messages, size_t count, int status);
    // Value of an HTTP header and how often it is there; NULL on stdio.
    const char *(*header)(struct exchange *exchange, const char *name, size_t *ret_count);
    // Optional: ends the connection, the client comes back for the answer.
    void (*close_early)(struct exchange *exchange, unsigned retry_ms);
};

struct exchange {
    const struct exchange_ops *ops;
    size_t open;  // calls that will still end
    bool is_batch;
    int status;               // HTTP status of the answer
    struct buffer responses;  // of a batch, one after the other
    size_t ends[MCP_BATCH_MAX];
    size_t response_count;
};

void exchange_init(struct exchange *exchange, const struct exchange_ops *ops);
void exchange_release(struct exchange *exchange);
void exchange_notify(struct exchange *exchange, struct span message);
// Finishes one call of the exchange with its response (empty: none). When it was the last one, the
// transport writes the responses and the exchange is gone.
void exchange_finish(struct exchange *exchange, struct span message, int status);

// --- peer ----------------------------------------------------------------------------------------

struct client_request {  // a request of ours that the client has not answered
    TAILQ_ENTRY(client_request) link;
    struct mcp_call *call;
    char id[40];
    const char *key;
};

struct peer {
    TAILQ_ENTRY(peer) link;
    struct mcp_server *server;
    // Sends a message that belongs to no request.
    void (*send)(struct peer *peer, struct span message);
    bool initialized;
    enum version version;
    unsigned client_can;
    enum mcp_log_level log_level;
    char *subscriptions[MCP_SUBSCRIPTIONS_MAX];
    size_t subscription_count;
    struct call_list calls;
    size_t call_count;
    TAILQ_HEAD(client_request_head, client_request) requests;
};

void peer_init(struct peer *peer, struct mcp_server *server,
               void (*send)(struct peer *peer, struct span message));
// Running calls go on without it.
void peer_release(struct peer *peer);
struct mcp_call *peer_find_call(struct peer *peer, struct span id_json);

// --- call ----------------------------------------------------------------------------------------

enum call_state {
    CALL_RUNNING,    // the handler owes a reply
    CALL_ASKING,     // waiting for the client's answers
    CALL_DELAYED,    // finished; the response is delayed a moment after the last progress
    CALL_LISTENING,  // an open subscriptions/listen
};

struct method;
struct task;

struct mcp_call {
    TAILQ_ENTRY(mcp_call) link;       // server->calls or server->listeners
    TAILQ_ENTRY(mcp_call) peer_link;  // peer->calls
    struct mcp_server *server;
    struct peer *peer;          // NULL: modern HTTP, or the session is gone
    struct exchange *exchange;  // NULL once answered or cancelled
    struct region *region;
    enum call_state state;
    enum version version;
    unsigned client_can;
    const struct method *method;
    const char *id;  // JSON text
    value params;
    value meta;
    int64_t started_ns;

    const char *target;
    value arguments;
    mcp_handler_fn *handler;
    void *handler_data;
    const struct tool_entry *tool;
    const struct resource_entry *resource;
    void *data;

    bool cancelled;
    mcp_handler_fn *on_cancel;
    void *on_cancel_data;

    const char *progress_token;  // JSON text, NULL = none
    double progress;
    int64_t progress_ms;  // when the last one was sent, 0 = none yet
    int log_level;        // lowest level to send, -1 = none

    value content;  // vector of blocks, or of completions

    unsigned round;   // how often the client was asked
    value answers;    // key -> result
    value pending;    // key -> {"method", "params"}
    unsigned needed;  // client_capability bits of what is pending
    value handler_state;
    size_t unanswered;
    struct event *timer;  // of CALL_ASKING and CALL_DELAYED

    struct buffer delayed;  // the response of CALL_DELAYED
    int delayed_status;

    struct task *task;

    unsigned listen_lists;  // 1 << enum mcp_list
    value listen_uris;      // vectors
    value listen_tasks;
};

static inline bool call_is_modern(const struct mcp_call *call)
{
    return call->version == VERSION_2026_07_28;
}

// Takes the region over. The id must be a valid one.
struct mcp_call *call_new(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                          struct region *region, const struct message *message);
void call_free(struct mcp_call *call);
void call_run_handler(struct mcp_call *call);  // the call may be gone afterwards
void call_set_timer(struct mcp_call *call, int64_t ms, event_callback_fn callback);
// Cancels: no message for this call leaves any more. The call may be gone afterwards.
void call_cancel(struct mcp_call *call);
void call_stop(struct mcp_call *call);  // the same, and the client is told that the server ends

// The way out: mcp_call_reply*() -> call_finish_*() -> exchange_finish() -> exchange_ops.write.
// Each of these sends the one response of a call, which is gone afterwards. `members` are the
// members of the result object without its braces, or NULL; those that did not fit become an error.
void call_finish_result(struct mcp_call *call, const struct buffer *members);
void call_finish_error(struct mcp_call *call, int code, const char *message, struct span data_json,
                       int status);
void call_finish_params_error(struct mcp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void call_notify(struct mcp_call *call, struct buffer *message);

bool log_level_find(struct span name, enum mcp_log_level *ret_level);
struct span call_param_text(const struct mcp_call *call, const char *name);  // {NULL, 0}: no string

// --- methods -------------------------------------------------------------------------------------

struct method {
    const char *name;
    unsigned versions;                                   // METHOD_LEGACY | METHOD_MODERN
    bool (*available)(const struct mcp_server *server);  // NULL = always
    void (*run)(struct mcp_call *call);
    const char *header_name;  // parameter that Mcp-Name repeats
    int ttl_ms;               // caching hints of the result, -1 = none
    bool cache_public;
    bool may_ask;
};
enum { METHOD_LEGACY = 1, METHOD_MODERN = 2 };

const struct method *method_find(const struct mcp_server *server, struct span name, unsigned era);

void method_tools_list(struct mcp_call *call);
void method_tools_call(struct mcp_call *call);
void method_resources_list(struct mcp_call *call);
void method_templates_list(struct mcp_call *call);
void method_resources_read(struct mcp_call *call);
void method_prompts_list(struct mcp_call *call);
void method_prompts_get(struct mcp_call *call);
void method_completion(struct mcp_call *call);
void method_discover(struct mcp_call *call);
void method_listen(struct mcp_call *call);
void method_initialize(struct mcp_call *call);
void method_ping(struct mcp_call *call);
void method_set_level(struct mcp_call *call);
void method_subscribe(struct mcp_call *call);
void method_unsubscribe(struct mcp_call *call);
void method_task_get(struct mcp_call *call);
void method_task_update(struct mcp_call *call);
void method_task_cancel(struct mcp_call *call);

// --- dispatch ------------------------------------------------------------------------------------

enum era_choice { ERA_LEGACY, ERA_MODERN, ERA_HEADER_CONFLICT };
// version_header may be NULL.
enum era_choice era_choose(const struct message *message, const char *version_header);

// One single message of a known era. Consumes the region. Errors and answers leave through the
// exchange, which must be open for one call.
void dispatch_modern(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                     struct region *region, const struct message *message);
void dispatch_legacy(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                     struct region *region, const struct message *message);
// An array under a legacy peer. Consumes the region.
void dispatch_batch(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                    struct region *region, value batch);
// Reads the text of one message or batch. Returns the region of its values, or NULL: then the
// exchange was answered, with the id in this form.
struct region *dispatch_read(struct mcp_server *server, struct exchange *exchange,
                             enum message_id_form refusal_id, struct span text, value *ret_whole);
// The text of one message or batch on a channel without headers.
void dispatch_text(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct span text);
// Answers the exchange with an error that belongs to no call.
void dispatch_refuse(struct exchange *exchange, int status, enum message_id_form form, value id,
                     int code, const char *text);

bool modern_check(struct mcp_call *call, struct span method);  // false: answered
void modern_write_capabilities(const struct mcp_server *server, struct buffer *out, bool modern);
bool modern_read_input(struct mcp_call *call);  // false: answered
void modern_ask(struct mcp_call *call);

void legacy_ask(struct mcp_call *call);
void legacy_forget(struct mcp_call *call);  // the call no longer waits for the client
void legacy_take_response(struct peer *peer, const struct message *message);

void server_write_info(const struct mcp_server *server, struct buffer *out);

// --- subscriptions, tasks, states, metrics -------------------------------------------------------

void listener_end(struct mcp_call *call);  // the response of a server that stops

void task_finish(struct mcp_call *call, struct span result);       // whole result object
void task_finish_error(struct mcp_call *call, struct span error);  // {"code":…,"message":…}
void task_ask(struct mcp_call *call);
void task_drop_all(struct mcp_server *server);
void listener_notify_task(struct mcp_server *server, const char *task_id,
                          const struct buffer *members);

struct state_keeper *state_keeper_new(void);
void state_keeper_free(struct state_keeper *keeper);
void state_keeper_set_token(struct state_keeper *keeper, const char *token);
// Appends the signed text of this call's state.
void state_sign(struct mcp_call *call, struct buffer *out);
// Checks a text the client sent back and fills round, answers and handler_state. Each text is good
// once.
bool state_verify(struct mcp_call *call, struct span text);

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
void metrics_write(struct metrics *metrics, struct buffer *out);
void metrics_count_call(struct mcp_server *server, const struct mcp_call *call, bool failed);
