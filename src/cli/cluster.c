// `cadre cluster`: what the daemon of this machine knows of its cluster, and the order to a node to give
// up its workspaces.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/table/option_reader.h"
#include "daemon/daemon_request.h"

enum { DRAIN_WAIT_MS = 600000, DRAIN_STEP_US = 200000, NODE_WAIT_MS = 5000 };

// The answer in `region`. False after a message.
static bool ask(struct region *region, const char *op, const char *node, value *ret_answer)
{
    struct error error;
    value request = map_put_text(region, map_new(region), "op", value_string_text(region, op));
    if (node)
        request = map_put_text(region, request, "node", value_string_format(region, "%s", node));
    enum daemon_answer got = daemon_request(region, request, ret_answer, &error);
    if (got == DAEMON_ABSENT)
        fputs("cadre cluster: no daemon runs here; ask on a machine with one\n", stderr);
    else if (got == DAEMON_FAILED)
        fprintf(stderr, "cadre cluster: %s\n", error.message);
    return got != DAEMON_ABSENT && got != DAEMON_FAILED;
}

static const char *text_of(value map, const char *name, char *text, size_t size)
{
    struct span found = map_get_string(map, name);
    snprintf(text, size, "%.*s", (int)found.length, found.data);
    return text;
}

static void print_nodes(value nodes)
{
    char name[80], state[16];
    printf("%-20s %-8s %10s %6s %14s\n", "NODE", "STATE", "WORKSPACES", "CALLS", "JOURNAL");
    for (size_t i = 0; i < vector_count(nodes); i++) {
        value node = vector_at(nodes, i);
        printf("%-20s %-8s %10lld %6lld %11.2f ms\n", text_of(node, "node", name, sizeof(name)),
               text_of(node, "state", state, sizeof(state)),
               (long long)map_get_integer(node, "workspaces", 0),
               (long long)map_get_integer(node, "calls", 0),
               (double)map_get_integer(node, "journal_us", 0) / 1000);
    }
}

static void print_workspaces(value workspaces)
{
    char name[80], node[80];
    if (vector_count(workspaces) == 0)
        return;
    printf("\n%-24s %-20s %8s %10s %10s\n", "WORKSPACE", "OWNER", "EPOCH", "JOURNAL", "LAG");
    for (size_t i = 0; i < vector_count(workspaces); i++) {
        value workspace = vector_at(workspaces, i);
        text_of(workspace, "node", node, sizeof(node));
        printf("%-24s %-20s %8lld %10lld %7.1f s\n",
               text_of(workspace, "workspace", name, sizeof(name)), *node ? node : "-",
               (long long)map_get_integer(workspace, "epoch", 0),
               (long long)map_get_integer(workspace, "journal", 0),
               (double)map_get_integer(workspace, "lag_ms", 0) / 1000);
    }
}

static int print_status(void)
{
    value answer;
    int status = EXIT_FAILURE;
    struct region *region = region_new(SIZE_MAX);
    if (ask(region, "cluster-status", NULL, &answer)) {
        struct span failure = map_get_string(answer, "failure");
        bool is_ready = map_get_boolean(answer, "ready");
        if (!is_ready)
            fprintf(stderr, "cadre cluster: this node cannot reach its cluster: %.*s\n",
                    (int)failure.length, failure.data);
        value nodes = map_get(answer, "nodes"), workspaces = map_get(answer, "workspaces");
        if (value_is_vector(nodes) && value_is_vector(workspaces)) {
            print_nodes(nodes);
            print_workspaces(workspaces);
        }
        status = is_ready ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    region_free(region);
    return status;
}

// How many workspaces the node has left; negative: it cannot be asked, after a message.
static int64_t count_left(const char *name, bool *ret_drains)
{
    value answer;
    char text[80];
    int64_t left = -1;
    struct region *region = region_new(SIZE_MAX);
    if (ask(region, "cluster-status", NULL, &answer)) {
        value nodes = map_get(answer, "nodes");
        for (size_t i = 0; value_is_vector(nodes) && i < vector_count(nodes); i++) {
            value node = vector_at(nodes, i);
            if (strcmp(text_of(node, "node", text, sizeof(text)), name) != 0)
                continue;
            left = map_get_integer(node, "workspaces", 0);
            *ret_drains = strcmp(text_of(node, "state", text, sizeof(text)), "up") != 0;
        }
    }
    region_free(region);
    return left;
}

static int wait_until_drained(const char *name)
{
    int64_t until = clock_now_ms() + DRAIN_WAIT_MS;
    bool drains = false;
    while (clock_now_ms() < until) {
        int64_t left = count_left(name, &drains);
        if (left < 0)
            return EXIT_FAILURE;
        if (left == 0 && drains)
            return EXIT_SUCCESS;
        usleep(DRAIN_STEP_US);
    }
    fprintf(stderr, "cadre cluster: %s still has workspaces\n", name);
    return EXIT_FAILURE;
}

static int drain(const char *name)
{
    value answer;
    struct region *region = region_new(SIZE_MAX);
    bool ok = ask(region, "cluster-drain", name, &answer);
    region_free(region);
    return ok ? wait_until_drained(name) : EXIT_FAILURE;
}

int command_cluster(int argc, char **argv)
{
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_CLUSTER, argc, argv);
    int option = option_reader_next(&reader);
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count == 1 && strcmp(reader.words[0], "status") == 0)
        return print_status();
    if (reader.word_count == 2 && strcmp(reader.words[0], "drain") == 0)
        return drain(reader.words[1]);
    fputs("cadre cluster: status, or drain NODE\n", stderr);
    return EXIT_USAGE;
}
