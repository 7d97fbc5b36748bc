#include "cli/kept/eval_kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "daemon/tool_request.h"

static value arguments_of(struct region *region, const struct eval_kept *eval)
{
    value map = map_put_text(region, map_new(region), "code", value_string(region, eval->code));
    map = map_put_text(region, map, "session", value_string_format(region, "%s", eval->session));
    if (eval->package)
        map =
            map_put_text(region, map, "package", value_string_format(region, "%s", eval->package));
    if (eval->timeout >= 0)
        map = map_put_text(region, map, "timeout", value_integer(eval->timeout));
    return map;
}

static void print_stream(value structured, const char *name, FILE *file)
{
    struct span text = map_get_string(structured, name);
    fwrite(text.data, 1, text.length, file);
    if (text.length > 0 && text.data[text.length - 1] != '\n')
        putc('\n', file);
}

static void print_list(value list, const char *before, FILE *file)
{
    for (size_t i = 0; value_is_vector(list) && i < vector_count(list); i++) {
        struct span text = value_text(vector_at(list, i));
        fprintf(file, "%s%.*s\n", before, (int)text.length, text.data);
    }
}

// As `cadre eval` does: output and values on standard output, the rest on standard error.
static void print_success(value structured)
{
    print_list(map_get(structured, "notices"), "[Notice] ", stderr);
    print_stream(structured, "stderr", stderr);
    print_stream(structured, "stdout", stdout);
    print_list(map_get(structured, "values"), "=> ", stdout);
}

static void print_failure(value result)
{
    value content = map_get(result, "content");
    for (size_t i = 0; value_is_vector(content) && i < vector_count(content); i++) {
        struct span text = map_get_string(vector_at(content, i), "text");
        fprintf(stderr, "%.*s\n", (int)text.length, text.data);
    }
}

int eval_kept(const struct eval_kept *eval)
{
    struct settings settings = {.selection = "full", .structured_results = true};
    settings.sessions = (struct session_config){
        .sbcl = eval->sbcl, .limits = session_limits_default(), .sandbox = *eval->sandbox};
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value result;
    bool ok = tool_request(region, "eval", &settings, "evaluate-lisp", arguments_of(region, eval),
                           &result, &error);
    int status = EXIT_FAILURE;
    if (!ok) {
        fprintf(stderr, "cadre eval: %s\n", error.message);
    } else if (map_get_boolean(result, "isError")) {
        print_failure(result);
    } else {
        print_success(map_get(result, "structuredContent"));
        status = EXIT_SUCCESS;
    }
    region_free(region);
    return status;
}
