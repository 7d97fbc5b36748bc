// Tools that ask the client: elicitation, sampling and roots, in both protocols.
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/memory.h"
#include "fixtures.h"
#include "value/text/json.h"

static value parse(struct mcp_call *call, const char *text)
{
    value parsed;
    struct error error;
    CHECK(json_read(mcp_call_region(call), span_from(text), &(struct json_options){0}, &parsed,
                    &error));
    return parsed;
}

static bool need_sampling(struct mcp_call *call, const char *key, struct span prompt,
                          int max_tokens, value *ret_answer)
{
    struct region *region = mcp_call_region(call);
    value content = parse(call, "{\"type\":\"text\"}");
    content = map_put_text(region, content, "text", value_string(region, prompt));
    value message = map_put_text(region, parse(call, "{\"role\":\"user\"}"), "content", content);
    value messages = vector_push(region, vector_new(region, 1), message);
    value params = map_put_text(region, map_new(region), "messages", messages);
    params = map_put_text(region, params, "maxTokens", value_integer(max_tokens));
    return mcp_call_need(call, key, "sampling/createMessage", params, ret_answer);
}

static bool need_roots(struct mcp_call *call, const char *key, value *ret_answer)
{
    return mcp_call_need(call, key, "roots/list", map_new(mcp_call_region(call)), ret_answer);
}

static struct span action_of(value answer)
{
    return map_get_string(answer, "action");
}

// --- the 2024 protocol ---------------------------------------------------------------------------

static void sampling(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!need_sampling(call, "sample", argument_text(call, "prompt"), 100, &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span text = map_get_string(map_get(answer, "content"), "text");
    reply_text(call, "LLM response: %.*s", (int)text.length, text.data);
}

static void report_form(struct mcp_call *call, const char *prefix, const char *message,
                        const char *schema)
{
    value answer;
    if (!mcp_call_need_form(call, "form", message, schema, &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span action = action_of(answer);
    reply_text(call, "%s: action=%.*s, content=%s", prefix, (int)action.length, action.data,
               json_text(call, map_get(answer, "content")));
}

static void elicitation(struct mcp_call *call, void *data)
{
    (void)data;
    struct span message = argument_text(call, "message");
    CLEANUP_FREE char *text = memory_copy_text(message.data, message.length);
    report_form(
        call, "User response", text,
        "{\"type\":\"object\",\"properties\":{\"username\":{\"type\":\"string\",\"description\":"
        "\"User's response\"},\"email\":{\"type\":\"string\",\"description\":\"User's email "
        "address\"}},\"required\":[\"username\",\"email\"]}");
}

static void elicitation_defaults(struct mcp_call *call, void *data)
{
    (void)data;
    report_form(call, "Elicitation completed", "Please review and update the form",
                "{\"type\":\"object\",\"properties\":{"
                "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
                "\"age\":{\"type\":\"integer\",\"default\":30},"
                "\"score\":{\"type\":\"number\",\"default\":95.5},"
                "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
                "\"default\":\"active\"},"
                "\"verified\":{\"type\":\"boolean\",\"default\":true}},\"required\":[]}");
}

static void elicitation_enums(struct mcp_call *call, void *data)
{
    (void)data;
    report_form(
        call, "Elicitation completed", "Please select options",
        "{\"type\":\"object\",\"properties\":{"
        "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
        "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
        "{\"const\":\"value1\",\"title\":\"First Option\"},"
        "{\"const\":\"value2\",\"title\":\"Second Option\"},"
        "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
        "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
        "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
        "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
        "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
        "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
        "{\"const\":\"value1\",\"title\":\"First Choice\"},"
        "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
        "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}},\"required\":[]}");
}

// --- the 2026 protocol ---------------------------------------------------------------------------

static void missing_capability(struct mcp_call *call, void *data)
{
    (void)data;
    if (mcp_call_client_can(call, "sampling"))
        reply_text(call, "sampling is declared");
    else
        mcp_call_reply_missing_capability(call, "sampling");
}

static void streaming_elicitation(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_need_form(call, "confirm", "Please confirm", FORM("ok", "boolean"), &answer))
        mcp_call_ask(call);
    else
        reply_text(call, "confirmed");
}

static void ask_elicitation(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_need_form(call, "user_name", "What is your name?", FORM("name", "string"),
                            &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span name = map_get_string(map_get(answer, "content"), "name");
    reply_text(call, "Hello, %.*s!", (int)name.length, name.data);
}

static void ask_sampling(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!need_sampling(call, "capital_question", SPAN("What is the capital of France?"), 100,
                       &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span text = map_get_string(map_get(answer, "content"), "text");
    reply_text(call, "%.*s", (int)text.length, text.data);
}

static void ask_roots(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!need_roots(call, "client_roots", &answer))
        mcp_call_ask(call);
    else
        reply_text(call, "Roots: %s", json_text(call, map_get(answer, "roots")));
}

static void ask_state(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    struct region *region = mcp_call_region(call);
    if (!mcp_call_need_form(call, "confirm", "Please confirm", FORM("ok", "boolean"), &answer)) {
        mcp_call_set_state(call, value_string_text(region, "asked"));
        mcp_call_ask(call);
        return;
    }
    value state = mcp_call_state(call);
    bool ok = value_is_string(state) && span_equal_text(value_text(state), "asked");
    reply_text(call, ok ? "state-ok" : "state-missing");
}

static void ask_multiple(struct mcp_call *call, void *data)
{
    (void)data;
    value name, greeting, roots;
    bool all =
        mcp_call_need_form(call, "user_name", "What is your name?", FORM("name", "string"), &name);
    all &= need_sampling(call, "greeting", SPAN("Generate a greeting"), 50, &greeting);
    all &= need_roots(call, "client_roots", &roots);
    if (!all) {
        mcp_call_ask(call);
        return;
    }
    struct span text = map_get_string(map_get(greeting, "content"), "text"),
                who = map_get_string(map_get(name, "content"), "name");
    reply_text(call, "%.*s %.*s", (int)text.length, text.data, (int)who.length, who.data);
}

static void ask_rounds(struct mcp_call *call, void *data)
{
    (void)data;
    value name, color;
    if (!mcp_call_need_form(call, "step1", "Step 1: What is your name?", FORM("name", "string"),
                            &name) ||
        !mcp_call_need_form(call, "step2", "Step 2: What is your favorite color?",
                            FORM("color", "string"), &color)) {
        mcp_call_ask(call);
        return;
    }
    struct span who = map_get_string(map_get(name, "content"), "name"),
                what = map_get_string(map_get(color, "content"), "color");
    reply_text(call, "%.*s likes %.*s", (int)who.length, who.data, (int)what.length, what.data);
}

static void ask_declared(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    bool all = true;
    if (mcp_call_client_can(call, "sampling"))
        all &= need_sampling(call, "greeting", SPAN("Generate a greeting"), 50, &answer);
    if (mcp_call_client_can(call, "elicitation"))
        all &= mcp_call_need_form(call, "user_name", "What is your name?", FORM("name", "string"),
                                  &answer);
    if (!all)
        mcp_call_ask(call);
    else
        reply_text(call, "nothing left to ask");
}

static void prompt_with_input(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_need_form(call, "user_context", "What context should the prompt use?",
                            FORM("context", "string"), &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span text = map_get_string(map_get(answer, "content"), "context");
    CLEANUP_FREE char *line = memory_format("Use this context: %.*s", (int)text.length, text.data);
    mcp_call_add_text(call, span_from(line));
    mcp_call_reply_prompt(call);
}

void fixtures_add_questions(struct mcp_server *server)
{
    static const struct {
        const char *name;
        mcp_handler_fn *handler;
    } plain[] = {
        {"test_elicitation_sep1034_defaults", elicitation_defaults},
        {"test_elicitation_sep1330_enums", elicitation_enums},
        {"test_missing_capability", missing_capability},
        {"test_streaming_elicitation", streaming_elicitation},
        {"test_input_required_result_elicitation", ask_elicitation},
        {"test_input_required_result_sampling", ask_sampling},
        {"test_input_required_result_list_roots", ask_roots},
        {"test_input_required_result_request_state", ask_state},
        {"test_input_required_result_tampered_state", ask_state},
        {"test_input_required_result_multiple_inputs", ask_multiple},
        {"test_input_required_result_multi_round", ask_rounds},
        {"test_input_required_result_capabilities", ask_declared},
    };
    const unsigned flags = MCP_TOOL_READ_ONLY;
    fixtures_add_tool(server, "test_sampling", "Asks the client's model",
                      "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":\"string\"}},"
                      "\"required\":[\"prompt\"],\"additionalProperties\":false}",
                      flags, sampling);
    fixtures_add_tool(server, "test_elicitation", "Asks the user",
                      "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"
                      "\"required\":[\"message\"],\"additionalProperties\":false}",
                      flags, elicitation);
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        fixtures_add_tool(server, plain[i].name, "Asks the client", NO_ARGUMENTS, flags,
                          plain[i].handler);
    mcp_server_add_prompt(server, &(struct mcp_prompt){
                                      .name = "test_input_required_result_prompt",
                                      .description = "A prompt that asks for its context",
                                      .handler = prompt_with_input,
                                  });
}
