#include "cli/kept/session_output.h"

#include <stdio.h>
#include <stdlib.h>

#include "daemon/daemon_request.h"

enum { PAGE_LINES = 10000 };  // of one request to the daemon

static int fail(const char *message)
{
    fprintf(stderr, "cadre sessions output: %s\n", message);
    return EXIT_FAILURE;
}

static value request_of(struct region *region, const struct session_output_query *query)
{
    int64_t lines = query->lines > 0 && query->lines < PAGE_LINES ? query->lines : PAGE_LINES;
    value map = map_put_text(region, map_new(region), "op", value_string_text(region, "output"));
    map =
        map_put_text(region, map, "workspace", value_string_format(region, "%s", query->workspace));
    map = map_put_text(region, map, "session", value_string_format(region, "%s", query->session));
    map = map_put_text(region, map, "output", value_integer(query->number));
    map = map_put_text(region, map, "from", value_integer(query->from));
    map = map_put_text(region, map, "lines", value_integer(lines));
    if (query->match)
        map = map_put_text(region, map, "match", value_string_format(region, "%s", query->match));
    return map;
}

// One page. Moves the query to the next one, or ends it: `from` is 0 then. False after a message.
static bool print_page(struct session_output_query *query)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value answer;
    enum daemon_answer got = daemon_request(region, request_of(region, query), &answer, &error);
    if (got == DAEMON_ANSWERED) {
        struct span text = map_get_string(answer, "text");
        int64_t shown = map_get_integer(answer, "shown", 0);
        fwrite(text.data, 1, text.length, stdout);
        if (shown > 0)
            putchar('\n');
        query->number = map_get_integer(answer, "output", 0);
        query->from = map_get_integer(answer, "next", 0);
        if (query->lines > 0 && (query->lines -= shown) <= 0)
            query->from = 0;
    } else {
        fail(got == DAEMON_ABSENT ? "no daemon runs: it keeps the output of its sessions"
                                  : error.message);
    }
    region_free(region);
    return got == DAEMON_ANSWERED;
}

int session_output_print(const struct session_output_query *query)
{
    struct session_output_query rest = *query;
    while (rest.from > 0 && !ferror(stdout))
        if (!print_page(&rest))
            return EXIT_FAILURE;
    return ferror(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}
