#include "cli/kept/warm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/session_loop.h"
#include "value/value.h"

static void print_notices(void *data, const struct session_reply *reply)
{
    bool *ok = data;
    *ok = reply->ok;
    for (size_t i = 0; i < vector_count(reply->notices); i++) {
        struct span notice = value_text(vector_at(reply->notices, i));
        fprintf(stderr, "%.*s\n", (int)notice.length, notice.data);
    }
    struct span message = map_get_string(reply->error, "message");
    if (!reply->ok)
        fprintf(stderr, "cadre sessions: %.*s\n", (int)message.length, message.data);
}

static value wait_for_core(struct session_loop *loop, struct region *region)
{
    value project = map_get(session_loop_info(loop, region), "project");
    while (map_get_boolean(project, "saving") && event_base_loop(loop->base, EVLOOP_ONCE) == 0) {
        region_clear(region);
        project = map_get(session_loop_info(loop, region), "project");
    }
    return project;
}

static int report(value before, value project)
{
    struct span unsavable = map_get_string(project, "unsavable");
    struct span failure = map_get_string(project, "failure");
    if (!value_is_map(project)) {
        puts("no project: neither .cadre/init.lisp nor systems in .cadre/config.json are there and "
             "trusted");
        return EXIT_FAILURE;
    }
    if (span_equal_text(map_get_string(before, "core"), "project"))
        puts("the core of the project is as it should be");
    else if (map_get_boolean(project, "failed"))
        return EXIT_FAILURE;
    else if (unsavable.length > 0 || failure.length > 0)
        printf("the project cannot be kept as a core: %.*s\n",
               (int)(unsavable.length ? unsavable.length : failure.length),
               unsavable.length ? unsavable.data : failure.data);
    else
        puts("the core of the project was made");
    return unsavable.length > 0 || failure.length > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int warm(struct session_loop *loop)
{
    struct region *region = region_new(SIZE_MAX), *later = region_new(SIZE_MAX);
    struct session_request request = {
        .session = "main",
        .kind = SESSION_QUERY,
        .create = true,
        .op = "list-systems",
        .params = map_new(region),
        .timeout = -1,
    };
    bool ok = false;
    session_loop_call(loop, &request, NULL, print_notices, &ok);
    value before = map_get(session_loop_info(loop, region), "project");
    int status = ok ? report(before, wait_for_core(loop, later)) : EXIT_FAILURE;
    region_free(region);
    region_free(later);
    return status;
}

int sessions_warm(const struct session_sandbox *sandbox)
{
    struct session_config config = {.limits = session_limits_default(), .sandbox = *sandbox};
    struct session_loop loop;
    int failed = session_loop_init(&loop, &config);
    int status = EXIT_FAILURE;
    if (failed < 0)
        fprintf(stderr, "cadre sessions: cannot start: %s\n", strerror(-failed));
    else
        status = warm(&loop);
    session_loop_release(&loop);
    return status;
}
