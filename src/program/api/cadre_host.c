// The public API: hosts, tools and their calls. See include/cadre.h.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "program/api/cadre_internal.h"
#include "program/api/guide.h"
#include "value/text/json.h"

struct host_tool {
    struct host_tool *next;
    cadre_tool_fn *function;
    void *user;
};

struct cadre_call {
    struct tool_call *call;
    struct buffer json;
};

cadre_host *cadre_host_new(void)
{
    cadre_host *host = cadre_new_zero(sizeof(*host));
    if (host) {
        host->references = 1;
        tool_table_init(&host->tools);
        buffer_init(&host->description, CADRE_INPUT_BYTES);
    }
    return host;
}

cadre_host *cadre_host_retain(cadre_host *host)
{
    if (host)
        __atomic_fetch_add(&host->references, 1, __ATOMIC_RELAXED);
    return host;
}

void cadre_host_free(cadre_host *host)
{
    if (!host || __atomic_sub_fetch(&host->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    tool_table_release(&host->tools);
    buffer_release(&host->description);
    while (host->functions) {
        struct host_tool *next = host->functions->next;
        memory_free(host->functions);
        host->functions = next;
    }
    memory_free(host);
}

static bool call_public(void *data, struct tool_call *call)
{
    struct host_tool *tool = data;
    cadre_call public = {.call = call};
    buffer_init(&public.json, CADRE_INPUT_BYTES);
    // A region that is full must not jump over the callback's frames: the functions below catch it.
    region_on_exhausted(call->region, NULL, NULL);
    bool ok = tool->function(tool->user, &public);
    buffer_release(&public.json);
    if (!ok && call->error.length == 0)
        cadre_call_fail(&public, "");
    return call->error.length == 0;
}

struct kept_call {
    struct call_record *record;
    bool ok;
};

static bool keep_call(void *data, struct tool_call *call)
{
    const struct kept_call *kept = data;
    return call_record_keep(kept->record, call, kept->ok);
}

static bool call_recorded(void *data, struct tool_call *call)
{
    const struct run_user *run = call->user;
    bool ok;
    if (!run->record)
        return call_public(data, call);
    if (call_record_answer(run->record, call, &ok))
        return ok;
    ok = call_public(data, call);
    struct kept_call kept = {run->record, ok};
    return call->is_pending ? false : tool_call_run(keep_call, &kept, call);
}

static bool host_fail(cadre_host *host, const char *message)
{
    snprintf(host->error, sizeof(host->error), "%s", message);
    return false;
}

bool cadre_host_add_tool(cadre_host *host, const char *name, cadre_tool_fn *function, void *user,
                         const char *signature, const char *description, unsigned flags)
{
    if (!host)
        return false;
    if (__atomic_load_n(&host->is_compiled_for, __ATOMIC_ACQUIRE))
        return host_fail(host, "tools are added before the first program is compiled");
    if (!function || !name)
        return host_fail(host, "a tool needs a name and a function");
    if (signature && !signature[0])
        return host_fail(host, "the signature is empty");
    struct host_tool *tool = cadre_new_zero(sizeof(*tool));
    if (!tool)
        return host_fail(host, "no memory");
    *tool = (struct host_tool){.next = host->functions, .function = function, .user = user};
    host->functions = tool;
    struct tool_definition definition = {
        .name = span_from(name),
        .function = call_recorded,
        .data = tool,
        .signature = signature ? span_from(signature) : (struct span){0},
        .description = description ? span_from(description) : (struct span){0},
        .flags = (flags & CADRE_TOOL_SKIP ? TOOL_SKIP : 0u) |
                 (flags & CADRE_TOOL_CACHE ? TOOL_CACHE : 0u),
    };
    struct diagnostic diagnostic;
    return tool_table_add(&host->tools, &definition, &diagnostic) ||
           host_fail(host, diagnostic.message);
}

const char *cadre_host_error(const cadre_host *host)
{
    return host ? host->error : "";
}

const char *cadre_host_describe(cadre_host *host)
{
    if (!host)
        return NULL;
    buffer_clear(&host->description);
    for (size_t i = 0; i < host->tools.count; i++) {
        const struct tool *tool = &host->tools.tools[i];
        buffer_append_format(&host->description, "%stool/%s", i ? "\n" : "", tool->name);
        if (tool->signature_text)
            buffer_append_format(&host->description, " %s", tool->signature_text);
        if (tool->description)
            buffer_append_format(&host->description, "\n    %s", tool->description);
    }
    return host->description.failed ? NULL : buffer_text(&host->description);
}

const char *cadre_guide(void)
{
    return program_guide;
}

void *cadre_call_user(cadre_call *call)
{
    return call ? ((const struct run_user *)call->call->user)->user : NULL;
}

struct tool_call *cadre_call_inside(cadre_call *call)
{
    return call->call;
}

cadre_value cadre_call_arguments(cadre_call *call)
{
    return cadre_value_of(call ? call->call->arguments : value_nil());
}

const char *cadre_call_arguments_json(cadre_call *call, size_t *ret_length)
{
    if (ret_length)
        *ret_length = 0;
    if (!call)
        return NULL;
    buffer_clear(&call->json);
    json_write(&call->json, call->call->arguments, 0, NULL);
    if (ret_length)
        *ret_length = call->json.length;
    return call->json.failed ? NULL : buffer_text(&call->json);
}

int64_t cadre_call_milliseconds_left(cadre_call *call)
{
    if (!call || tool_call_is_cancelled(call->call))
        return 0;
    int64_t left = (call->call->deadline_ns - clock_now_ns()) / 1000000;
    return left > 0 ? left : 0;
}

bool cadre_call_fail(cadre_call *call, const char *text)
{
    const char *reason = text && text[0] ? text : "no reason given";
    if (call)
        call->call->is_pending = false;
    return call && tool_call_fail(call->call, span_from(reason));
}

// A result replaces an earlier failure.
static bool call_return(cadre_call *call, value result)
{
    if (!call)
        return false;
    buffer_clear(&call->call->error);
    call->call->is_pending = false;
    call->call->result = result;
    return true;
}

bool cadre_call_return_json(cadre_call *call, const char *json, size_t length)
{
    struct error error = {0};
    struct json_options options = {.max_depth = TOOL_RESULT_DEPTH};
    value result;
    if (!call)
        return false;
    if (!json ||
        !json_read(call->call->region, (struct span){json, length}, &options, &result, &error)) {
        char text[CADRE_MESSAGE_SIZE];
        snprintf(text, sizeof(text), "the result is not JSON: %s", json ? error.message : "NULL");
        return cadre_call_fail(call, text);
    }
    return call_return(call, result);
}

struct string_result {
    cadre_call *call;
    struct span text;
};

static bool make_string(void *data, struct tool_call *call)
{
    struct string_result *result = data;
    return call_return(result->call, value_string(call->region, result->text));
}

bool cadre_call_return_string(cadre_call *call, const char *text, size_t length)
{
    if (!call || !text || !utf8_is_valid(text, length))
        return cadre_call_fail(call, "the result is not UTF-8");
    struct string_result result = {call, {text, length}};
    bool ok = tool_call_run(make_string, &result, call->call);
    region_on_exhausted(call->call->region, NULL, NULL);
    return ok;
}

bool cadre_call_return_integer(cadre_call *call, int64_t number)
{
    return call_return(call, value_integer(number));
}

bool cadre_call_return_number(cadre_call *call, double number)
{
    return call_return(call, value_float(number));
}

bool cadre_call_return_boolean(cadre_call *call, bool truth)
{
    return call_return(call, value_boolean(truth));
}

bool cadre_call_return_nil(cadre_call *call)
{
    return call_return(call, value_nil());
}

struct value_result {
    cadre_call *call;
    value result;
};

static bool copy_value(void *data, struct tool_call *call)
{
    struct value_result *given = data;
    return call_return(given->call, value_copy(call->region, given->result));
}

bool cadre_call_return_value(cadre_call *call, cadre_value public)
{
    if (!call)
        return false;
    struct value_result given = {call, cadre_value_inside(public)};
    bool ok = tool_call_run(copy_value, &given, call->call);
    region_on_exhausted(call->call->region, NULL, NULL);
    return ok;
}
