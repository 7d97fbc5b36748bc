#include "cli/kept/fork_kept.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/tool_request.h"

static void print_texts(value result, FILE *file)
{
    value content = map_get(result, "content");
    for (size_t i = 0; value_is_vector(content) && i < vector_count(content); i++) {
        struct span text = map_get_string(vector_at(content, i), "text");
        fprintf(file, "%.*s\n", (int)text.length, text.data);
    }
}

int fork_kept(const struct session_sandbox *sandbox, const char *tool, const char *from,
              const char *as)
{
    struct settings settings = {.selection = "full"};
    settings.sessions =
        (struct session_config){.limits = session_limits_default(), .sandbox = *sandbox};
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value result;
    value arguments =
        map_put_text(region, map_new(region), "from", value_string_text(region, from));
    arguments = map_put_text(region, arguments, "as", value_string_text(region, as));
    bool ok = tool_request(region, "sessions", &settings, tool, arguments, &result, &error);
    bool failed = !ok || map_get_boolean(result, "isError");
    if (ok)
        print_texts(result, failed ? stderr : stdout);
    else
        fprintf(stderr, "cadre sessions: %s\n", error.message);
    region_free(region);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
