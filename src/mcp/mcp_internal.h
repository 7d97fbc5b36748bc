// Private to src/mcp: the structures behind mcp.h and the functions its files offer each other.
//
//   server   owns everything
//   peer     the state kept for one client of the 2024 protocol: a stdio channel or an HTTP session
//   exchange one incoming message or batch and the way back for its responses; made by a transport
//   call     one request: owns its region, belongs to one exchange until finished or cancelled
//   task     a call that goes on after its request was answered
//
// Two generations of the protocol: 2024 = versions 2024-11-05 to 2025-11-25, opened by initialize,
// with state per client (protocol_2024.c); 2026 = version 2026-07-28, stateless (protocol_2026.c).
#pragma once

#include <event2/event.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "mcp/jsonrpc.h"
#include "mcp/mcp.h"

enum {
    MCP_RESPONSE_LIMIT = MCP_OUTPUT_LIMIT + MCP_MEDIA_LIMIT,
    MCP_PAGE_SIZE = 200,
    MCP_IN_FLIGHT_MAX = 256,      // requests per peer
    MCP_SUBSCRIPTIONS_MAX = 256,  // URIs per peer or listen request
    MCP_TASKS_MAX = 256,
    MCP_BATCH_MAX = 100,
    MCP_REGION_LIMIT = 512 << 20,  // values of one incoming message
    MCP_SPARE_REGIONS = 16,        // kept for the next messages
    MCP_SPARE_BYTES = 1 << 20,     // a region that grew larger is not kept
    MCP_FLUSH_MS = 200,            // to write the last responses of a server that ends
};

#define META_PREFIX "io.modelcontextprotocol/"  // of the protocol's own names in _meta
#define MCP_RESULTS_META "cadre/results"        // in _meta of initialize, 2026: of any request

// Codes that handlers do not use; the common ones are in mcp.h.
enum {
    MCP_RESOURCE_NOT_FOUND = -32002,  // 2024 protocol
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
    VERSION_LAST_OF_2024 = VERSION_2025_11_25,
    VERSION_2026_07_28,
    VERSION_COUNT,
};

enum client_capability {
    CLIENT_ELICITATION = 1,
    CLIENT_SAMPLING = 2,
    CLIENT_ROOTS = 4,
    CLIENT_TASKS = 8,
};

// --- registry.c: registered tools, resources, prompts and completers -----------------------------

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
    const char *short_schema;  // of the input: what a model needs of it
    const struct schema *input_schema;
    const struct schema *output_schema;  // NULL when there is none
    SLIST_HEAD(tool_header_head, tool_header) headers;
    mcp_describe_fn *describe;  // or NULL
    void *describe_data;
};

struct tool_hint {  // for a tool that is not there
    SLIST_ENTRY(tool_hint) link;
    const char *name;
    const char *text;
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

const struct tool_entry *registry_find_tool(const struct mcp_server *server, struct span name);
const char *registry_find_hint(const struct mcp_server *server, struct span name);  // or NULL
const struct prompt_entry *registry_find_prompt(const struct mcp_server *server, struct span name);
const struct resource_entry *registry_find_resource(const struct mcp_server *server,
                                                    struct span uri);
const struct resource_entry *registry_find_template(const struct mcp_server *server,
                                                    struct span uri_template);
// The template that matches the URI; *ret_variables is a map of its variables, in the region.
const struct resource_entry *registry_match_template(const struct mcp_server *server,
                                                     struct region *region, struct span uri,
                                                     value *ret_variables);
// Is it a resource, or one that a template makes?
bool registry_knows_uri(const struct mcp_server *server, struct region *region, struct span uri);
const struct completer_entry *registry_find_completer(const struct mcp_server *server,
                                                      struct span reference, struct span argument);
const char *registry_text(struct mcp_server *server, const char *text);  // copy, NULL stays NULL
void *registry_alloc(struct mcp_server *server, size_t size);

// --- server.c: the server, its transports and the regions of its messages ------------------------

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
    SLIST_HEAD(tool_hint_head, tool_hint) tool_hints;
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
    struct request_states *states;
    struct region *shapes;  // of the messages (shapes_share)
    struct region *spare[MCP_SPARE_REGIONS];
    size_t spare_count;
    bool stopping;
    struct mcp_feed feed;  // open is NULL: there is none
};

// Removing the last one cancels all running calls.
void server_remove_transport(struct mcp_server *server, struct transport *transport);
// Ends all running calls with an error: the server is stopping.
void server_stop_calls(struct mcp_server *server);
// Regions are reused, so a small request allocates nothing from the system.
struct region *server_region_acquire(struct mcp_server *server);
void server_region_release(struct mcp_server *server, struct region *region);
// JSON objects: serverInfo and capabilities.
void server_write_info(const struct mcp_server *server, struct buffer *out);
void server_write_capabilities(const struct mcp_server *server, struct buffer *out, bool is_2026);

// --- exchange.c: exchanges and peers -------------------------------------------------------------

struct exchange;

struct exchange_ops {
    // Writes a notification or request to the client that precedes the response.
    void (*notify)(struct exchange *exchange, struct span message);
    // Writes the `count` responses, perhaps none, and frees the exchange.
    void (*write)(struct exchange *exchange, const struct span *messages, size_t count, int status);
    // The value of an HTTP header and how many there are; NULL on stdio.
    const char *(*header)(struct exchange *exchange, const char *name, size_t *ret_count);
    // Optional: closes the connection; the client reconnects for the response.
    void (*close_early)(struct exchange *exchange, unsigned retry_ms);
};

struct exchange {
    const struct exchange_ops *ops;
    size_t open;  // calls not finished yet
    bool is_batch;
    uint64_t flow;            // mcp_call_flow()
    int status;               // HTTP status of the response
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
    bool structured;  // results carry structuredContent
    bool all_tools;   // also those that are not listed to others
    char name[64];    // as the client calls itself
    enum mcp_log_level log_level;
    char *subscriptions[MCP_SUBSCRIPTIONS_MAX];
    size_t subscription_count;
    struct call_list calls;
    size_t call_count;
    TAILQ_HEAD(client_request_head, client_request) requests;
};

void peer_init(struct peer *peer, struct mcp_server *server,
               void (*send)(struct peer *peer, struct span message));
// Its running calls continue without a peer.
void peer_release(struct peer *peer);
struct mcp_call *peer_find_call(struct peer *peer, struct span id_json);

// --- call.c: one request -------------------------------------------------------------------------

enum call_state {
    CALL_RUNNING,    // the handler has not replied yet
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
    struct peer *peer;          // NULL: 2026 over HTTP, or the session is gone
    struct exchange *exchange;  // NULL once finished or cancelled
    struct region *region;
    enum call_state state;
    enum version version;
    unsigned client_can;
    bool structured;  // the result carries structuredContent
    bool all_tools;   // as the peer's
    const struct method *method;
    uint64_t flow;
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

    bool cancelled;
    mcp_handler_fn *on_cancel;
    void *on_cancel_data;

    const char *progress_token;  // JSON text, NULL = none
    double progress;
    int64_t progress_ms;  // when the last one was sent, 0 = none yet
    int log_level;        // lowest level to send, -1 = none

    value content;       // vector of blocks, or of completions
    size_t media_bytes;  // base64 in the blocks

    unsigned turn;    // how often the client was asked
    value answers;    // key -> result
    value pending;    // key -> {"method", "params"}
    unsigned needed;  // client_capability bits of what is pending
    value handler_state;
    size_t unanswered;
    struct event *timer;  // of CALL_ASKING and CALL_DELAYED

    struct buffer delayed;  // the response of CALL_DELAYED
    int delayed_status;

    struct task *task;
    mcp_result_fn *on_result;  // of a call that has replied early
    void *on_result_data;

    unsigned listen_lists;  // 1 << enum mcp_list
    value listen_uris;      // vectors
    value listen_tasks;
};

static inline bool call_is_2026(const struct mcp_call *call)
{
    return call->version == VERSION_2026_07_28;
}

// The call owns the region from here on. The id of the message must be valid.
struct mcp_call *call_new(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                          struct region *region, const struct message *message);
// The form of results that the client asks for in _meta, if it does. False: refused.
bool call_read_results(struct mcp_call *call);
void call_free(struct mcp_call *call);
void call_run_handler(struct mcp_call *call);  // the call may be gone afterwards
void call_set_timer(struct mcp_call *call, int64_t ms, event_callback_fn callback);
// From here on the call belongs to no channel: its id is free, a disconnect has no effect.
void call_leave_channel(struct mcp_call *call);
// Cancels: no message for this call is sent any more. The call may be gone afterwards.
void call_cancel(struct mcp_call *call);
void call_stop(struct mcp_call *call);  // the same, with an error response: the server is stopping

// The way out: mcp_call_reply*() -> call_finish_*() -> exchange_finish() -> exchange_ops.write.
// Each of these sends the one response of a call, which is gone afterwards. `members` are the
// members of the result object without its braces, or NULL; those that did not fit become an error.
void call_finish_result(struct mcp_call *call, const struct buffer *members);
// Sends the response and keeps the call, which belongs to no channel from then on.
void call_respond_early(struct mcp_call *call, const struct buffer *members);
void call_finish_error(struct mcp_call *call, int code, const char *message, struct span data_json,
                       int status);
void call_finish_params_error(struct mcp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void call_notify(struct mcp_call *call, struct buffer *message);

bool log_level_find(struct span name, enum mcp_log_level *ret_level);
const char *call_copy_text(struct mcp_call *call, struct span text);         // in the call's region
struct span call_param_text(const struct mcp_call *call, const char *name);  // {NULL, 0}: no string

// --- dispatch.c: from a message to its method ----------------------------------------------------

extern const char *const version_names[VERSION_COUNT];
bool version_find_2024(struct span name, enum version *ret_version);

enum { METHOD_2024 = 1, METHOD_2026 = 2 };

struct method {
    const char *name;
    unsigned protocols;                                  // METHOD_2024 | METHOD_2026
    bool (*available)(const struct mcp_server *server);  // NULL = always
    void (*run)(struct mcp_call *call);
    const char *header_name;  // parameter that Mcp-Name repeats
    int ttl_ms;               // caching hints of the result, -1 = none
    bool cache_public;
    bool may_ask;
};

const struct method *method_find(const struct mcp_server *server, struct span name,
                                 unsigned protocol);

enum protocol_choice { PROTOCOL_2024, PROTOCOL_2026, PROTOCOL_HEADER_CONFLICT };
// version_header may be NULL.
enum protocol_choice protocol_choose(const struct message *message, const char *version_header);

// One message of a known protocol. Consumes the region. Responses and errors leave through the
// exchange, which must be open for one call.
void dispatch_2024(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct region *region, const struct message *message);
void dispatch_2026(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct region *region, const struct message *message);
// An array of messages, which only the 2024 protocol has. Consumes the region.
void dispatch_batch(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                    struct region *region, value batch);
// Parses the text of one message or batch. Returns the region of its values, or NULL: then the
// exchange is finished, with the id in this form.
struct region *dispatch_read(struct mcp_server *server, struct exchange *exchange,
                             enum message_id_form refusal_id, struct span text, value *ret_whole);
// The text of one message or batch on a channel without headers.
void dispatch_text(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct span text);
// Finishes the exchange with an error that belongs to no call.
void dispatch_refuse(struct exchange *exchange, int status, enum message_id_form form, value id,
                     int code, const char *text);

// --- methods_list.c: tools/list and the other lists ----------------------------------------------

void method_tools_list(struct mcp_call *call);
void method_resources_list(struct mcp_call *call);
void method_templates_list(struct mcp_call *call);
void method_prompts_list(struct mcp_call *call);

// --- methods_call.c: the methods that run handlers -----------------------------------------------

void method_tools_call(struct mcp_call *call);
void method_resources_read(struct mcp_call *call);
void method_prompts_get(struct mcp_call *call);
void method_completion(struct mcp_call *call);

// --- protocol_2024.c: initialize, subscriptions, requests to the client --------------------------

void method_initialize(struct mcp_call *call);
void method_ping(struct mcp_call *call);
void method_set_level(struct mcp_call *call);
void method_subscribe(struct mcp_call *call);
void method_unsubscribe(struct mcp_call *call);
// The client_capability bits of a capabilities object, of both protocols.
unsigned client_capabilities_read(value capabilities, enum version version);
// The name in a clientInfo, cut to `size`; "" when there is none.
void client_name_read(value info, char *text, size_t size);
void protocol_2024_ask(struct mcp_call *call);
void protocol_2024_cancel_questions(struct mcp_call *call);
void protocol_2024_handle_response(struct peer *peer, const struct message *message);

// --- protocol_2026.c: metadata of each request, server/discover, input_required ------------------

// Both return false when they have finished the call with an error.
bool protocol_2026_check(struct mcp_call *call, struct span method);
bool protocol_2026_read_input(struct mcp_call *call);
void protocol_2026_ask(struct mcp_call *call);
void method_discover(struct mcp_call *call);

// --- subscription.c: subscriptions/listen and change notifications -------------------------------

void method_listen(struct mcp_call *call);
void listener_end(struct mcp_call *call);  // the response of a server that stops
void listener_notify_task(struct mcp_server *server, const char *task_id,
                          const struct buffer *members);

// --- task.c: the tasks extension -----------------------------------------------------------------

void method_task_get(struct mcp_call *call);
void method_task_update(struct mcp_call *call);
void method_task_cancel(struct mcp_call *call);
void task_finish(struct mcp_call *call, struct span result);       // whole result object
void task_finish_error(struct mcp_call *call, struct span error);  // {"code":…,"message":…}
void task_ask(struct mcp_call *call);
void task_free_all(struct mcp_server *server);

// --- request_state.c: requestState, signed -------------------------------------------------------

struct request_states *request_states_new(void);
void request_states_free(struct request_states *states);
void request_states_set_token(struct request_states *states, const char *token);
// Appends the signed text of this call's state.
void request_state_sign(struct mcp_call *call, struct buffer *out);
// Checks a text that the client sent back and sets turn, answers and handler_state. Each text is
// accepted once.
bool request_state_verify(struct mcp_call *call, struct span text);

// --- metrics.c: counters for /metrics ------------------------------------------------------------

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);
void metrics_write(struct metrics *metrics, struct buffer *out);
void metrics_count_call(struct mcp_server *server, const struct mcp_call *call, bool failed);
