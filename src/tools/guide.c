// The usage guide, guide.md, as a resource and as a prompt.
#include <string.h>

#include "tools/tools.h"

static void read_guide(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/markdown", span_from(tools_guide));
}

static void get_guide(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_text(call, span_from(tools_guide));
    mcp_call_reply_prompt(call);
}

void tools_register_guide(struct tools *tools)
{
    mcp_server_add_resource(tools->server,
                            &(struct mcp_resource){
                                .uri = "cadre://guide",
                                .name = "guide",
                                .title = "Using Cadre",
                                .description = "How to use the tools well, for models and people",
                                .mime_type = "text/markdown",
                                .size = (int64_t)strlen(tools_guide),
                                .handler = read_guide,
                            });
    mcp_server_add_prompt(tools->server, &(struct mcp_prompt){
                                             .name = "cadre-guide",
                                             .title = "Using Cadre",
                                             .description = "The usage guide as a message",
                                             .handler = get_guide,
                                         });
}
