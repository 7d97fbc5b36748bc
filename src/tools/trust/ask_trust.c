#include "tools/trust/ask_trust.h"

#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "process/background.h"
#include "session/project/project.h"
#include "tools/tool_call.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\",\"title\":\"Trust "
    "them?\","
    "\"enum\":[\"trust\",\"later\",\"never\"],\"enumNames\":[\"Trust these files\",\"Not now\","
    "\"Never ask again\"]}},\"required\":[\"answer\"]}";
static const char answer_key[] = "trust";
// Members of the call's state: the question that it asks, or that there is nothing to ask.
static const char digest_member[] = "trust_digest", text_member[] = "trust_question",
                  settled_member[] = "trust_settled";

// Files are read and written in the background.
struct inquiry {
    struct tools *tools;
    struct mcp_call *call;  // NULL: it was cancelled
    char *workspace;
    struct trust_question question;
    bool with_servers, is_answer, is_trusted, ok;
    struct error error;
};

static void inquiry_free(struct inquiry *inquiry)
{
    buffer_release(&inquiry->question.text);
    memory_free(inquiry->workspace);
    memory_free(inquiry);
}

static void run_inquiry(void *data)
{
    struct inquiry *inquiry = data;
    if (inquiry->is_answer)
        inquiry->ok =
            trust_question_answer(inquiry->workspace, inquiry->with_servers,
                                  inquiry->question.digest, inquiry->is_trusted, &inquiry->error);
    else
        inquiry->ok = trust_question_read(inquiry->workspace, inquiry->with_servers,
                                          &inquiry->question, &inquiry->error);
}

static void settle(struct mcp_call *call)
{
    struct region *region = mcp_call_region(call);
    mcp_call_set_state(call,
                       map_put_text(region, map_new(region), settled_member, value_boolean(true)));
}

// The handler runs again, and this time asks, or goes on.
static void read_done(struct inquiry *inquiry)
{
    struct asked_trust *asked = &inquiry->tools->trust;
    struct trust_question *question = &inquiry->question;
    struct region *region = mcp_call_region(inquiry->call);
    if (!inquiry->ok)  // the session's first answer says which file is not used, and why
        log_info("the user is not asked about %s: %s", inquiry->workspace, inquiry->error.message);
    if (!inquiry->ok || question->text.length == 0 ||
        strcmp(asked->digest, question->digest) == 0) {
        settle(inquiry->call);
        return;
    }
    memcpy(asked->digest, question->digest, sizeof(asked->digest));
    value state = map_put_text(region, map_new(region), digest_member,
                               value_string_text(region, question->digest));
    state = map_put_text(region, state, text_member,
                         value_string(region, buffer_span(&question->text)));
    mcp_call_set_state(inquiry->call, state);
}

static void on_done(void *data)
{
    struct inquiry *inquiry = data;
    struct mcp_call *call = inquiry->call;
    if (!call) {
        inquiry_free(inquiry);
        return;
    }
    mcp_call_on_cancel(call, NULL, NULL);
    if (!inquiry->is_answer)
        read_done(inquiry);
    else if (inquiry->ok)
        settle(call);
    else
        tool_refuse(call, "not-trusted", "%s; nothing was done, call again",
                    inquiry->error.message);
    bool goes_on = !inquiry->is_answer || inquiry->ok;
    inquiry_free(inquiry);
    if (goes_on)
        mcp_call_run_again(call);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    ((struct inquiry *)data)->call = NULL;
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

// Consumes the inquiry.
static bool begin(struct inquiry *inquiry)
{
    struct mcp_call *call = inquiry->call;
    mcp_call_on_cancel(call, on_cancel, inquiry);
    if (background_submit(inquiry->tools->background, run_inquiry, on_done, inquiry) == 0)
        return true;
    mcp_call_on_cancel(call, NULL, NULL);
    inquiry_free(inquiry);
    tool_refuse(call, "busy", "too much work waits for the disk");
    return true;
}

static struct inquiry *inquiry_new(struct tools *tools, struct mcp_call *call,
                                   const char *workspace)
{
    struct inquiry *inquiry = memory_alloc_zero(sizeof(*inquiry));
    inquiry->tools = tools;
    inquiry->call = call;
    inquiry->workspace = memory_copy_string(workspace);
    inquiry->with_servers = tools->trust.with_servers;
    return inquiry;
}

// The run of the handler after the files were read, or after the person has answered.
static bool take_answer(struct tools *tools, struct mcp_call *call, const char *workspace,
                        value state)
{
    value answer;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&text, map_get_string(state, text_member));
    if (!mcp_call_need_form(call, answer_key, buffer_text(&text), schema, &answer)) {
        mcp_call_ask(call);
        return true;
    }
    struct span chosen = map_get_string(map_get(answer, "content"), "answer");
    bool is_trusted = span_equal_text(chosen, "trust");
    if (!span_equal_text(map_get_string(answer, "action"), "accept") ||
        (!is_trusted && !span_equal_text(chosen, "never"))) {
        settle(call);
        return false;
    }
    struct inquiry *inquiry = inquiry_new(tools, call, workspace);
    struct span digest = map_get_string(state, digest_member);
    size_t length = digest.length < TRUST_DIGEST_SIZE ? digest.length : TRUST_DIGEST_SIZE - 1;
    memcpy(inquiry->question.digest, digest.data, length);
    inquiry->is_answer = true;
    inquiry->is_trusted = is_trusted;
    return begin(inquiry);
}

bool ask_trust(struct tools *tools, struct mcp_call *call, const struct session_request *request)
{
    if (!tools->trust.is_users || !mcp_call_client_can(call, "elicitation"))
        return false;
    const char *name = request->session ? request->session : tool_session_name(call);
    const char *workspace =
        session_project_workspace(tools->sessions, name, request->kind == SESSION_RESET);
    value state = mcp_call_state(call);
    if (!workspace || (value_is_map(state) && map_get_boolean(state, settled_member)))
        return false;
    if (value_is_map(state) && map_get_string(state, digest_member).length > 0)
        return take_answer(tools, call, workspace, state);
    return begin(inquiry_new(tools, call, workspace));
}
