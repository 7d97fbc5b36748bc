// Requests for a workspace that this node owns: of its own clients, and of those of other nodes. An
// answer goes out when all is stored that was kept before it was made, and only while the lease is held.
#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "daemon/fleet/fleet_internal.h"
#include "value/text/json.h"

enum { REQUEST_MAX = MCP_MESSAGE_LIMIT + (64 << 10), HELD_MAX = 64 << 20 };

// A piece of an answer that waits for the journal.
struct held {
    TAILQ_ENTRY(held) link;
    uint64_t place;  // in the journal
    struct fleet_piece piece;
    char *type, *headers, *body;
};

struct fleet_call {
    struct mcp_http_carrier carrier;  // first
    TAILQ_ENTRY(fleet_call) link;
    struct fleet_workspace *workspace;
    struct fleet_route *route;  // of a client of this node; NULL: of another one
    char *id, *inbox;
    struct parcel_reader reader;
    struct parcel_writer writer;
    bool has_begun;
    TAILQ_HEAD(, held) held;
    size_t held_bytes;
};

static void held_free(struct held *held)
{
    memory_free(held->type);
    memory_free(held->headers);
    memory_free(held->body);
    memory_free(held);
}

static void call_free(struct fleet_call *call)
{
    struct held *held;
    while ((held = TAILQ_FIRST(&call->held))) {
        TAILQ_REMOVE(&call->held, held, link);
        held_free(held);
    }
    TAILQ_REMOVE(&call->workspace->calls, call, link);
    parcel_reader_release(&call->reader);
    memory_free(call->id);
    memory_free(call->inbox);
    memory_free(call);
}

void fleet_call_lose(struct fleet_call *call)
{
    mcp_http_carrier_lost(&call->carrier);
    call_free(call);
}

// --- the way back --------------------------------------------------------------------------------

static const char *const kinds[] = {"send", "begin", "event", "end", "failed"};

static void write_header(struct buffer *header, const struct fleet_piece *piece)
{
    buffer_append_format(header, "{\"op\":\"%s\",\"status\":%d,\"type\":", kinds[piece->kind],
                         piece->status);
    json_write_string(header, span_from(piece->type ? piece->type : ""));
    buffer_append_text(header, ",\"headers\":");
    json_write_string(header, piece->headers);
    buffer_append_byte(header, '}');
}

// False: the other node cannot be told, and learns of it by the gap.
static bool send_piece(struct fleet_call *call, const struct fleet_piece *piece)
{
    CLEANUP_BUFFER struct buffer header;
    buffer_init(&header, 64 << 10);
    write_header(&header, piece);
    return !header.failed && parcel_send(&call->writer, buffer_span(&header), piece->body) == 0;
}

// False: the call is gone.
static bool emit(struct fleet_call *call, const struct fleet_piece *piece)
{
    bool is_last = piece->kind != PIECE_BEGIN && piece->kind != PIECE_EVENT;
    struct fleet_route *route = call->route;
    bool is_sent = route || send_piece(call, piece);
    if (is_last)
        call_free(call);
    else if (!is_sent)
        fleet_call_lose(call);
    if (route)
        fleet_route_answer(route, piece);
    return is_sent && !is_last;
}

static void hold(struct fleet_call *call, const struct fleet_piece *piece, uint64_t place)
{
    struct held *held = memory_alloc_zero(sizeof(*held));
    *held = (struct held){
        .place = place,
        .piece = *piece,
        .type = memory_copy_string(piece->type),
        .headers =
            memory_copy_text(piece->headers.data ? piece->headers.data : "", piece->headers.length),
        .body = memory_copy_text(piece->body.data ? piece->body.data : "", piece->body.length)};
    held->piece.type = held->type;
    held->piece.headers.data = held->headers;
    held->piece.body.data = held->body;
    TAILQ_INSERT_TAIL(&call->held, held, link);
    call->held_bytes += piece->body.length;
    if (call->held_bytes > HELD_MAX)
        fleet_workspace_give_up(call->workspace, "too much waits for its journal");
}

// The rule of the whole: nothing leaves before what it follows from is stored.
static void put(struct fleet_call *call, const struct fleet_piece *piece)
{
    const struct record_log *log = call->workspace->log;
    uint64_t place = record_log_appended(log);
    bool may_go = TAILQ_EMPTY(&call->held) && record_log_stored(log) >= place;
    if (may_go && fleet_workspace_may_answer(call->workspace))
        emit(call, piece);
    else
        hold(call, piece, place);
}

static void release_call(struct fleet_call *call, uint64_t stored)
{
    struct held *held;
    bool is_there = true;
    while (is_there && (held = TAILQ_FIRST(&call->held)) && held->place <= stored) {
        TAILQ_REMOVE(&call->held, held, link);
        call->held_bytes -= held->piece.body.length;
        is_there = emit(call, &held->piece);
        held_free(held);
    }
}

void fleet_calls_release(struct fleet_workspace *workspace)
{
    struct fleet_call *call, *next;
    uint64_t stored = record_log_stored(workspace->log);
    for (call = TAILQ_FIRST(&workspace->calls); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (TAILQ_EMPTY(&call->held) || !fleet_workspace_may_answer(workspace))
            continue;
        release_call(call, stored);
    }
}

size_t fleet_calls_count(const struct fleet_workspace *workspace)
{
    size_t count = 0;
    const struct fleet_call *call;
    TAILQ_FOREACH (call, &workspace->calls, link)
        count++;
    return count;
}

void fleet_calls_fail(struct fleet_workspace *workspace, const char *why)
{
    struct fleet_call *call;
    while ((call = TAILQ_FIRST(&workspace->calls))) {
        mcp_http_carrier_lost(&call->carrier);
        emit(call, &(struct fleet_piece){.kind = PIECE_FAILED, .body = span_from(why)});
    }
}

// Who has answered, for people and for who checks that there is one owner at a time.
static void put_head(struct fleet_call *call, struct fleet_piece *piece, struct span headers)
{
    const struct fleet_workspace *workspace = call->workspace;
    CLEANUP_BUFFER struct buffer all;
    buffer_init(&all, 64 << 10);
    buffer_append_span(&all, headers);
    buffer_append_format(&all, "Cadre-Owner: %s %" PRIu64 "\r\n", workspace->fleet->options->node,
                         lease_epoch(workspace->lease));
    piece->headers = buffer_span(&all);
    put(call, piece);
}

// --- the carrier ---------------------------------------------------------------------------------

static void on_send(struct mcp_http_carrier *carrier, int status, struct span headers,
                    const char *content_type, const struct span *parts, size_t count)
{
    CLEANUP_BUFFER struct buffer body;
    buffer_init(&body, BUFFER_DEFAULT_LIMIT);
    for (size_t i = 0; i < count; i++)
        buffer_append_span(&body, parts[i]);
    struct fleet_piece piece = {
        .kind = PIECE_SEND, .status = status, .type = content_type, .body = buffer_span(&body)};
    put_head((struct fleet_call *)carrier, &piece, headers);
}

static void on_begin(struct mcp_http_carrier *carrier, struct span headers)
{
    put_head((struct fleet_call *)carrier, &(struct fleet_piece){.kind = PIECE_BEGIN}, headers);
}

static void on_event(struct mcp_http_carrier *carrier, struct span event)
{
    put((struct fleet_call *)carrier, &(struct fleet_piece){.kind = PIECE_EVENT, .body = event});
}

static void on_end(struct mcp_http_carrier *carrier)
{
    put((struct fleet_call *)carrier, &(struct fleet_piece){.kind = PIECE_END});
}

static struct fleet_call *call_new(struct fleet_workspace *workspace)
{
    struct fleet_call *call = memory_alloc_zero(sizeof(*call));
    call->carrier = (struct mcp_http_carrier){
        .send = on_send, .begin = on_begin, .event = on_event, .end = on_end};
    call->workspace = workspace;
    TAILQ_INIT(&call->held);
    parcel_reader_init(&call->reader, REQUEST_MAX);
    TAILQ_INSERT_TAIL(&workspace->calls, call, link);
    return call;
}

struct fleet_call *fleet_call_new(struct fleet_workspace *workspace, struct fleet_route *route)
{
    struct fleet_call *call = call_new(workspace);
    call->route = route;
    return call;
}

void fleet_call_start(struct fleet_call *call, struct span request)
{
    if (!mcp_http_carry(call->workspace->http, request, &call->carrier))
        emit(call, &(struct fleet_piece){.kind = PIECE_FAILED, .body = SPAN("not a request")});
}

// --- requests of other nodes ---------------------------------------------------------------------

static struct fleet_call *find_call(struct fleet_workspace *workspace, const char *id)
{
    struct fleet_call *call;
    TAILQ_FOREACH (call, &workspace->calls, link)
        if (call->id && strcmp(call->id, id) == 0)
            return call;
    return NULL;
}

static struct fleet_call *accept_call(struct fleet_workspace *workspace, const char *id,
                                      const char *inbox)
{
    struct fleet_call *call = call_new(workspace);
    call->id = memory_copy_string(id);
    call->inbox = memory_copy_string(inbox);
    call->writer = (struct parcel_writer){
        .bus = workspace->fleet->bus, .subject = call->inbox, .call = call->id};
    return call;
}

static void say(struct fleet_call *call, const char *op)
{
    CLEANUP_FREE char *header = memory_format("{\"op\":\"%s\",\"epoch\":%" PRIu64 "}", op,
                                              lease_epoch(call->workspace->lease));
    parcel_send(&call->writer, span_from(header), SPAN(""));
}

static void on_whole(struct fleet_call *call)
{
    struct fleet_workspace *workspace = call->workspace;
    bool is_open = workspace->state == WORKSPACE_OPEN && fleet_workspace_may_answer(workspace);
    say(call, is_open ? "accepted" : "moved");
    if (!is_open) {
        call_free(call);
        return;
    }
    fleet_call_start(call, buffer_span(&call->reader.body));
}

static void on_request(void *data, const struct bus_delivery *delivery)
{
    struct fleet_workspace *workspace = data;
    char id[PARCEL_CALL_MAX + 1];
    uint64_t number;
    if (!parcel_find_call(delivery->body, id, &number))
        return;
    struct fleet_call *call = find_call(workspace, id);
    bool is_new = !call && number == 1 && *delivery->reply;
    if (is_new)
        call = accept_call(workspace, id, delivery->reply);
    if (!call)
        return;
    switch (parcel_read(&call->reader, delivery->body)) {
    case PARCEL_PART: break;
    case PARCEL_BROKEN: fleet_call_lose(call); break;
    case PARCEL_WHOLE:
        // The second parcel of a call says that its client has gone.
        if (call->has_begun) {
            fleet_call_lose(call);
        } else {
            call->has_begun = true;
            on_whole(call);
        }
    }
}

void fleet_calls_subscribe(struct fleet_workspace *workspace)
{
    CLEANUP_FREE char *subject = memory_format("cadre.call.%s", workspace->name);
    workspace->requests =
        bus_subscribe(workspace->fleet->bus, subject, NULL, on_request, workspace);
}
