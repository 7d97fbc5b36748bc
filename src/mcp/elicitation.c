// Questions of a handler to the client: elicitation, sampling, roots. How a question is sent
// depends on the protocol (protocol_2024.c, protocol_2026.c, task.c); handlers do not see the
// difference.
#include "base/array.h"
#include "base/assert.h"
#include "mcp/mcp_internal.h"

static const struct question_kind {
    const char *method;
    const char *capability;
    unsigned bit;
} question_kinds[] = {
    {"elicitation/create", "elicitation", CLIENT_ELICITATION},
    {"sampling/createMessage", "sampling", CLIENT_SAMPLING},
    {"roots/list", "roots", CLIENT_ROOTS},
};

enum { QUESTION_KINDS = COUNT_OF(question_kinds) };

bool mcp_call_need(struct mcp_call *call, const char *key, const char *method, value params,
                   value *ret_answer)
{
    CHECK(call->state == CALL_RUNNING);
    if (map_find_text(call->answers, key, ret_answer))
        return true;
    size_t kind = 0;
    while (kind < QUESTION_KINDS && strcmp(question_kinds[kind].method, method) != 0)
        kind++;
    CHECK(kind < QUESTION_KINDS);
    call->needed |= question_kinds[kind].bit;
    struct region *region = call->region;
    value request =
        map_put_text(region, map_new(region), "method", value_string_text(region, method));
    if (value_is_nil(params))
        params = map_new(region);
    if (question_kinds[kind].bit == CLIENT_ELICITATION && call->version >= VERSION_2025_11_25)
        params = map_put_text(region, params, "mode", value_string_text(region, "form"));
    request = map_put_text(region, request, "params", params);
    call->pending = map_put_text(region, call->pending, key, request);
    return false;
}

bool mcp_call_need_form(struct mcp_call *call, const char *key, const char *message,
                        const char *schema, value *ret_answer)
{
    struct region *region = call->region;
    struct error error;
    value parsed;
    bool ok = jsonrpc_read(region, span_from(schema), &parsed, &error);
    CHECK(ok);
    value params = map_put_text(region, map_new(region), "message",
                                json_bytes_value(region, span_from(message)));
    params = map_put_text(region, params, "requestedSchema", parsed);
    return mcp_call_need(call, key, "elicitation/create", params, ret_answer);
}

void mcp_call_ask(struct mcp_call *call)
{
    CHECK(call->state == CALL_RUNNING && map_count(call->pending) > 0);
    if (call->cancelled) {
        call_finish_result(call, NULL);  // discarded
        return;
    }
    for (size_t i = 0; i < QUESTION_KINDS; i++) {
        if (call->needed & ~call->client_can & question_kinds[i].bit) {
            mcp_call_reply_missing_capability(call, question_kinds[i].capability);
            return;
        }
    }
    if (call->task)
        task_ask(call);
    else if (call_is_2026(call))
        protocol_2026_ask(call);
    else
        protocol_2024_ask(call);
}

void mcp_call_run_again(struct mcp_call *call)
{
    CHECK(call->state == CALL_RUNNING);
    call_run_handler(call);
}

void mcp_call_set_state(struct mcp_call *call, value state)
{
    call->handler_state = state;
}

value mcp_call_state(const struct mcp_call *call)
{
    return call->handler_state;
}
