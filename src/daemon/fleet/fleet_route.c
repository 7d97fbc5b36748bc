// Requests of this node's clients for workspaces of the cluster: to the owner, which is this node,
// another one, or has to be found first. A request that was accepted is not sent again: what has become
// of it is not known when its owner is lost, and the client is told that.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/fleet/fleet_internal.h"
#include "daemon/http/tokens.h"
#include "value/text/json.h"

enum { ANSWER_MAX = 64 << 20 };

struct fleet_route {
    TAILQ_ENTRY(fleet_route) link;
    struct fleet *fleet;
    struct http_reply *reply;
    char workspace[CLUSTER_NAME_MAX + 1];
    struct buffer request;
    enum {
        ROUTE_SEARCHING,
        ROUTE_LOCAL,
        ROUTE_SENT,      // to another node
        ROUTE_ACCEPTED,  // by it
    } state;
    struct fleet_call *call;           // LOCAL
    struct jetstream_request *asking;  // SEARCHING: another node to open it
    int64_t began_ms, sent_ms, not_before_ms;
    bool has_begun;                // an answer in events
    char id[PARCEL_CALL_MAX + 1];  // SENT, ACCEPTED
    char *subject, *inbox;
    struct parcel_writer writer;
    struct parcel_reader reader;
    uint64_t epoch;
};

static void search(struct fleet_route *route);

// --- the end of a route --------------------------------------------------------------------------

static void forget_call(struct fleet_route *route)
{
    memory_free(route->subject);
    memory_free(route->inbox);
    route->subject = route->inbox = NULL;
    parcel_reader_release(&route->reader);
    parcel_reader_init(&route->reader, ANSWER_MAX);
}

static void route_free(struct fleet_route *route)
{
    TAILQ_REMOVE(&route->fleet->routes, route, link);
    jetstream_drop(route->asking);
    forget_call(route);
    buffer_release(&route->request);
    memory_free(route);
}

static void refuse(struct fleet_route *route, int status, const char *message)
{
    struct http_reply *reply = route->reply;
    route_free(route);
    carried_refuse(reply, status, message);
}

static void on_gone(void *data)
{
    struct fleet_route *route = data;
    struct http_reply *reply = route->reply;
    if (route->state == ROUTE_LOCAL)
        fleet_call_lose(route->call);
    else if (route->state != ROUTE_SEARCHING)
        parcel_send(&route->writer, SPAN("{\"op\":\"gone\"}"), SPAN(""));
    route_free(route);
    carried_end(reply);
}

void fleet_route_answer(struct fleet_route *route, const struct fleet_piece *piece)
{
    struct http_reply *reply = route->reply;
    bool has_begun = route->has_begun;
    if (piece->kind == PIECE_BEGIN)
        route->has_begun = true;
    else if (piece->kind != PIECE_EVENT)
        route_free(route);
    switch (piece->kind) {
    case PIECE_SEND:
        carried_send(reply, piece->status, piece->headers, piece->type, piece->body);
        break;
    case PIECE_BEGIN: carried_begin(reply, piece->headers); break;
    case PIECE_EVENT: carried_event(reply, piece->body); break;
    case PIECE_END:
        if (has_begun)
            carried_end(reply);
        else
            carried_refuse(reply, 503, "The answer is not complete");
        break;
    case PIECE_FAILED: {
        CLEANUP_FREE char *why = memory_copy_text(piece->body.data, piece->body.length);
        carried_refuse(reply, 503, why);
    }
    }
}

void fleet_route_again(struct fleet_route *route)
{
    forget_call(route);
    route->call = NULL;
    route->state = ROUTE_SEARCHING;
    route->not_before_ms = clock_now_ms() + FLEET_RETRY_MS;
}

// --- another node --------------------------------------------------------------------------------

static void send_request(struct fleet_route *route)
{
    struct fleet *fleet = route->fleet;
    snprintf(route->id, sizeof(route->id), "%.64s-%" PRIu64, fleet->options->node,
             ++fleet->last_call);
    route->subject = memory_format("cadre.call.%s", route->workspace);
    route->inbox = memory_format("%s.%" PRIu64, fleet->inbox, fleet->last_call);
    route->writer = (struct parcel_writer){
        .bus = fleet->bus, .subject = route->subject, .reply = route->inbox, .call = route->id};
    if (parcel_send(&route->writer, SPAN("{\"op\":\"request\"}"), buffer_span(&route->request)) <
        0) {
        fleet_route_again(route);
        return;
    }
    fleet->counters.forwarded++;
    route->sent_ms = clock_now_ms();
    route->state = ROUTE_SENT;
}

static bool read_kind(struct span op, struct fleet_piece *piece)
{
    static const char *const names[] = {"send", "begin", "event", "end", "failed"};
    for (int i = 0; i < 5; i++) {
        if (!span_equal_text(op, names[i]))
            continue;
        piece->kind = i;
        return true;
    }
    return false;
}

static void read_piece(struct fleet_route *route, value header)
{
    struct span op = map_get_string(header, "op");
    struct fleet_piece piece = {.body = buffer_span(&route->reader.body)};
    if (span_equal_text(op, "accepted")) {
        route->state = ROUTE_ACCEPTED;
        route->epoch = (uint64_t)map_get_integer(header, "epoch", 0);
    } else if (span_equal_text(op, "moved")) {
        fleet_route_again(route);
    } else if (!read_kind(op, &piece)) {
        refuse(route, 503, "The owner of the workspace gave no answer that is known here");
    } else {
        struct span type = map_get_string(header, "type");
        CLEANUP_FREE char *text = memory_copy_text(type.data, type.length);
        CLEANUP_BUFFER struct buffer body;
        buffer_init(&body, ANSWER_MAX);
        buffer_append_span(&body, piece.body);  // the reader may go with the route
        piece.type = text;
        piece.status = (int)map_get_integer(header, "status", 0);
        piece.headers = map_get_string(header, "headers");
        piece.body = buffer_span(&body);
        bool goes_on = piece.kind == PIECE_BEGIN || piece.kind == PIECE_EVENT;
        if (goes_on)
            parcel_next(&route->reader);
        fleet_route_answer(route, &piece);
        return;
    }
}

static void on_parcel(struct fleet_route *route)
{
    struct error error;
    value header;
    struct region *region = region_new(1 << 20);
    if (json_read(region, buffer_span(&route->reader.header), NULL, &header, &error) &&
        value_is_map(header)) {
        struct span op = map_get_string(header, "op");
        bool is_accepted = span_equal_text(op, "accepted");
        read_piece(route, header);
        if (is_accepted)
            parcel_next(&route->reader);
    } else {
        refuse(route, 503, "The owner of the workspace gave no answer that can be read");
    }
    region_free(region);
}

static struct fleet_route *find_route(const struct fleet *fleet, const char *inbox)
{
    struct fleet_route *route;
    TAILQ_FOREACH (route, &fleet->routes, link)
        if (route->inbox && strcmp(route->inbox, inbox) == 0)
            return route;
    return NULL;
}

static void on_answer(void *data, const struct bus_delivery *delivery)
{
    struct fleet_route *route = find_route(data, delivery->subject);
    if (!route)
        return;
    if (delivery->no_responders) {
        if (route->state == ROUTE_SENT)
            fleet_route_again(route);
        return;
    }
    switch (parcel_read(&route->reader, delivery->body)) {
    case PARCEL_PART: break;
    case PARCEL_WHOLE: on_parcel(route); break;
    case PARCEL_BROKEN:
        refuse(route, 503,
               "A part of the answer was lost on its way from the owner of the workspace: what was "
               "asked has been done or will be");
        break;
    }
}

// --- who has it ----------------------------------------------------------------------------------

static void on_asked(void *data, const struct jetstream_answer *answer)
{
    struct fleet_route *route = data;
    route->asking = NULL;
    // What the other node has read of the owner says more than what has gone by here.
    struct owner_record record;
    if (answer->status == JETSTREAM_DONE && owner_record_read(answer->body, &record))
        owners_note(route->fleet->owners, route->workspace, &record);
    else
        route->not_before_ms = clock_now_ms() + FLEET_RETRY_MS;
    search(route);
}

static void ask_to_open(struct fleet_route *route, const char *node)
{
    struct fleet *fleet = route->fleet;
    if (strcmp(node, fleet->options->node) == 0) {
        fleet_workspace_open(fleet, route->workspace);
        route->not_before_ms = clock_now_ms() + FLEET_RETRY_MS;
        return;
    }
    CLEANUP_FREE char *subject = memory_format("cadre.node.%s", node);
    CLEANUP_FREE char *order =
        memory_format("{\"op\":\"open\",\"workspace\":\"%s\"}", route->workspace);
    route->asking =
        jetstream_ask(fleet->jetstream, subject, span_from(order), FLEET_OPEN_MS, on_asked, route);
}

static void use_here(struct fleet_route *route, struct fleet_workspace *workspace)
{
    if (workspace->state != WORKSPACE_OPEN || !fleet_workspace_may_answer(workspace))
        return;
    route->state = ROUTE_LOCAL;
    route->call = fleet_call_new(workspace, route);
    fleet_call_start(route->call, buffer_span(&route->request));
}

static void search(struct fleet_route *route)
{
    struct fleet *fleet = route->fleet;
    int64_t now = clock_now_ms();
    if (!fleet_is_ready(fleet) || route->asking || now < route->not_before_ms)
        return;
    struct fleet_workspace *workspace = fleet_workspace_find(fleet, route->workspace);
    if (workspace) {
        use_here(route, workspace);
        return;
    }
    const struct owner *owner = owners_find(fleet->owners, route->workspace);
    if (owner && !owner_is_free(owner) && strcmp(owner->record.node, fleet->options->node) != 0) {
        send_request(route);
        return;
    }
    const char *node = fleet_nodes_choose(fleet);
    if (node)
        ask_to_open(route, node);
}

// --- the way in ----------------------------------------------------------------------------------

// The name of the workspace that the request is for: as it says, or as its session does.
static const char *default_workspace(const struct fleet_route *route)
{
    const struct token *token = tokens_find(route->fleet->tokens, carried_holder(route->reply));
    if (!token || !*token->name)
        return route->fleet->options->workspace;
    return token->workspace_count > 0 ? token->workspaces[0] : token->name;
}

// The user may use all; who has another token, those that go with it, or the one of its name.
static bool may_use(const struct fleet_route *route)
{
    const struct token *token = tokens_find(route->fleet->tokens, carried_holder(route->reply));
    if (!token)
        return false;
    bool is_own = !*token->name ||
                  (token->workspace_count == 0 && strcmp(token->name, route->workspace) == 0);
    for (size_t i = 0; i < token->workspace_count && !is_own; i++)
        is_own = strcmp(token->workspaces[i], route->workspace) == 0;
    return is_own;
}

static bool choose_workspace(struct fleet_route *route, const char **ret_why)
{
    struct fleet *fleet = route->fleet;
    const char *given = carried_field(route->reply, "Cadre-Workspace");
    const char *session = carried_field(route->reply, "Mcp-Session-Id");
    const char *name = given ? given : default_workspace(route);
    char label[SESSION_LABEL_MAX + 1];
    if (!given && session && fleet_is_ready(fleet) &&
        mcp_session_id_label(fleet_key(fleet), session, label))
        name = label;
    *ret_why = name ? "The name of a workspace is " CLUSTER_NAME_RULE
                    : "The request names no workspace: send the header Cadre-Workspace";
    if (!name || !cluster_name_valid(span_from(name)))
        return false;
    snprintf(route->workspace, sizeof(route->workspace), "%s", name);
    return true;
}

void fleet_route(void *data, struct http_reply *reply)
{
    struct fleet *fleet = data;
    const char *why;
    struct fleet_route *route = memory_alloc_zero(sizeof(*route));
    *route = (struct fleet_route){.fleet = fleet, .reply = reply, .began_ms = clock_now_ms()};
    buffer_init(&route->request, BUFFER_DEFAULT_LIMIT);
    parcel_reader_init(&route->reader, ANSWER_MAX);
    TAILQ_INSERT_TAIL(&fleet->routes, route, link);
    if (!choose_workspace(route, &why)) {
        refuse(route, 400, why);
        return;
    }
    if (!may_use(route)) {
        refuse(route, 403, "Forbidden: this workspace is not one that you may use");
        return;
    }
    carried_write_request(reply, &route->request);
    carried_watch(reply, on_gone, route);
    search(route);
}

// --- now and then --------------------------------------------------------------------------------

static bool has_lost_owner(const struct fleet_route *route)
{
    const struct owner *owner = owners_find(route->fleet->owners, route->workspace);
    return !owner || owner_is_free(owner) || owner->record.epoch != route->epoch;
}

static void check_time(struct fleet_route *route, int64_t now)
{
    struct fleet *fleet = route->fleet;
    int64_t age = now - route->began_ms;
    char why[512];
    if (route->state == ROUTE_SEARCHING && !fleet_is_ready(fleet) && age > FLEET_UNREACHABLE_MS) {
        snprintf(why, sizeof(why), "The cluster cannot be reached: %.400s",
                 bus_is_connected(fleet->bus) ? fleet->failure : bus_failure(fleet->bus));
        refuse(route, 503, why);
    } else if (route->state == ROUTE_SEARCHING && age > FLEET_OPEN_MS) {
        refuse(route, 503, "The workspace could not be opened on any node in time");
    } else if (route->state == ROUTE_SEARCHING) {
        search(route);
    } else if (route->state == ROUTE_SENT && now - route->sent_ms > FLEET_ACCEPT_MS) {
        refuse(route, 503,
               "The owner of the workspace does not answer: whether the request was taken is not "
               "known");
    } else if (route->state == ROUTE_ACCEPTED && has_lost_owner(route)) {
        refuse(route, 503,
               "The owner of the workspace was lost while it worked: what has become of the "
               "request is not known");
    }
}

void fleet_routes_tick(struct fleet *fleet)
{
    struct fleet_route *route, *next;
    int64_t now = clock_now_ms();
    for (route = TAILQ_FIRST(&fleet->routes); route; route = next) {
        next = TAILQ_NEXT(route, link);
        check_time(route, now);
    }
}

void fleet_routes_on_disconnected(struct fleet *fleet)
{
    struct fleet_route *route, *next;
    for (route = TAILQ_FIRST(&fleet->routes); route; route = next) {
        next = TAILQ_NEXT(route, link);
        if (route->state == ROUTE_SENT || route->state == ROUTE_ACCEPTED)
            refuse(route, 503,
                   "This node has lost its connection to the cluster: what has become of the "
                   "request is not known");
    }
}

void fleet_routes_subscribe(struct fleet *fleet)
{
    CLEANUP_FREE char *subject = memory_format("%s.*", fleet->inbox);
    fleet->answers = bus_subscribe(fleet->bus, subject, NULL, on_answer, fleet);
}

void fleet_routes_free(struct fleet *fleet)
{
    while (!TAILQ_EMPTY(&fleet->routes))
        refuse(TAILQ_FIRST(&fleet->routes), 503, "The node is stopping");
}
