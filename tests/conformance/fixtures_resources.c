// Resources, prompts and completion.
#include <sodium.h>

#include "base/array.h"
#include "base/memory.h"
#include "fixtures.h"

static void static_text(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/plain",
                        SPAN("This is the content of the static text resource."));
}

static void static_binary(struct mcp_call *call, void *data)
{
    (void)data;
    unsigned char bytes[128];
    size_t length = 0;
    sodium_base642bin(bytes, sizeof(bytes), PNG, sizeof(PNG) - 1, NULL, &length, NULL,
                      sodium_base64_VARIANT_ORIGINAL);
    mcp_call_reply_blob(call, "image/png", (struct span){(const char *)bytes, length});
}

static void watched(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/plain", SPAN("Watched resource content"));
}

static void from_template(struct mcp_call *call, void *data)
{
    (void)data;
    struct span id = argument_text(call, "id");
    const char *quoted = json_text(call, mcp_call_argument(call, "id"));
    CLEANUP_FREE char *text =
        memory_format("{\"id\":%s,\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}", quoted,
                      (int)id.length, id.data);
    mcp_call_reply_text(call, "application/json", span_from(text));
}

static void simple_prompt(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_text(call, SPAN("This is a simple prompt for testing."));
    mcp_call_reply_prompt(call);
}

static void prompt_with_arguments(struct mcp_call *call, void *data)
{
    (void)data;
    struct span first = argument_text(call, "arg1"), second = argument_text(call, "arg2");
    CLEANUP_FREE char *text =
        memory_format("Prompt with arguments: arg1='%.*s', arg2='%.*s'", (int)first.length,
                      first.data, (int)second.length, second.data);
    mcp_call_add_text(call, span_from(text));
    mcp_call_reply_prompt(call);
}

static void prompt_with_resource(struct mcp_call *call, void *data)
{
    (void)data;
    struct span uri = argument_text(call, "resourceUri");
    CLEANUP_FREE char *text = memory_copy_text(uri.data, uri.length);
    mcp_call_add_resource(call, text, "text/plain", SPAN("Embedded resource content for testing."));
    mcp_call_add_text(call, SPAN("Please process the embedded resource above."));
    mcp_call_reply_prompt(call);
}

static void prompt_with_image(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_image(call, "image/png", SPAN(PNG));
    mcp_call_add_text(call, SPAN("Please analyze the image above."));
    mcp_call_reply_prompt(call);
}

static void complete_argument(struct mcp_call *call, void *data)
{
    (void)data;
    static const char *const words[] = {"paris", "park", "party", "test1", "test2"};
    struct span typed = argument_text(call, "value");
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (span_starts_with(span_from(words[i]), typed))
            mcp_call_add_completion(call, span_from(words[i]));
    mcp_call_reply_completion(call);
}

static void add_prompts(struct mcp_server *server)
{
    mcp_server_add_prompt(server, &(struct mcp_prompt){
                                      .name = "test_simple_prompt",
                                      .description = "A prompt without arguments",
                                      .handler = simple_prompt,
                                  });
    mcp_server_add_prompt(
        server, &(struct mcp_prompt){
                    .name = "test_prompt_with_arguments",
                    .description = "A prompt with arguments",
                    .arguments = {{"arg1", "The first", true}, {"arg2", "The second", true}},
                    .handler = prompt_with_arguments,
                });
    mcp_server_add_prompt(server, &(struct mcp_prompt){
                                      .name = "test_prompt_with_embedded_resource",
                                      .description = "A prompt with a resource in it",
                                      .arguments = {{"resourceUri", "URI of the resource", true}},
                                      .handler = prompt_with_resource,
                                  });
    mcp_server_add_prompt(server, &(struct mcp_prompt){
                                      .name = "test_prompt_with_image",
                                      .description = "A prompt with an image in it",
                                      .handler = prompt_with_image,
                                  });
    mcp_server_add_completer(server, &(struct mcp_completer){
                                         .reference = "test_prompt_with_arguments",
                                         .argument = "arg1",
                                         .handler = complete_argument,
                                     });
}

void fixtures_add_resources(struct mcp_server *server)
{
    const struct mcp_resource resources[] = {
        {.uri = "test://static-text",
         .name = "static-text",
         .description = "A text",
         .mime_type = "text/plain",
         .size = -1,
         .handler = static_text},
        {.uri = "test://static-binary",
         .name = "static-binary",
         .description = "An image",
         .mime_type = "image/png",
         .size = -1,
         .handler = static_binary},
        {.uri = "test://watched-resource",
         .name = "watched-resource",
         .description = "It changes",
         .mime_type = "text/plain",
         .size = -1,
         .handler = watched},
    };
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        mcp_server_add_resource(server, &resources[i]);
    mcp_server_add_template(server, &(struct mcp_resource){.uri = "test://template/{id}/data",
                                                           .name = "template",
                                                           .description = "Data by id",
                                                           .mime_type = "application/json",
                                                           .size = -1,
                                                           .handler = from_template});
    add_prompts(server);
}
