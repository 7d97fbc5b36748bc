// The usage guide, guide.md, as a resource and as a prompt.
#include <string.h>

#include "program/api/guide.h"
#include "tools/offered_text.h"
#include "tools/tools.h"

static void append_guide(struct buffer *text, const struct tools *tools)
{
    buffer_init(text, BUFFER_DEFAULT_LIMIT);
    offered_text_append(text, tools_guide, tools->selection);
}

static void read_guide(struct mcp_call *call, void *data)
{
    CLEANUP_BUFFER struct buffer text;
    append_guide(&text, data);
    mcp_call_reply_text(call, "text/markdown", buffer_span(&text));
}

static void get_guide(struct mcp_call *call, void *data)
{
    CLEANUP_BUFFER struct buffer text;
    append_guide(&text, data);
    mcp_call_add_text(call, buffer_span(&text));
    mcp_call_reply_prompt(call);
}

static void read_language(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/markdown", span_from(program_guide));
}

static void get_language(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_text(call, span_from(program_guide));
    mcp_call_reply_prompt(call);
}

static void register_language(struct tools *tools)
{
    mcp_server_add_resource(tools->server, &(struct mcp_resource){
                                               .uri = "cadre://guide/programs",
                                               .name = "program-guide",
                                               .title = "The language of programs",
                                               .description = "What run-program runs, in one page",
                                               .mime_type = "text/markdown",
                                               .size = (int64_t)strlen(program_guide),
                                               .handler = read_language,
                                           });
    mcp_server_add_prompt(tools->server, &(struct mcp_prompt){
                                             .name = "program-guide",
                                             .title = "The language of programs",
                                             .description = "The language guide as a message",
                                             .handler = get_language,
                                         });
}

void tools_register_guide(struct tools *tools)
{
    CLEANUP_BUFFER struct buffer text;
    append_guide(&text, tools);
    if (tools_offer(tools->selection, SPAN("run-program")))
        register_language(tools);
    mcp_server_add_resource(tools->server,
                            &(struct mcp_resource){
                                .uri = "cadre://guide",
                                .name = "guide",
                                .title = "Using Cadre",
                                .description = "How to use the tools well, for models and people",
                                .mime_type = "text/markdown",
                                .size = (int64_t)text.length,
                                .handler = read_guide,
                                .data = tools,
                            });
    mcp_server_add_prompt(tools->server, &(struct mcp_prompt){
                                             .name = "cadre-guide",
                                             .title = "Using Cadre",
                                             .description = "The usage guide as a message",
                                             .handler = get_guide,
                                             .data = tools,
                                         });
}
