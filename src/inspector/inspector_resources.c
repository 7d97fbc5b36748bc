// The records as resources, which the page reads as any client reads any resource.
//
//   cadre://inspector                                  workspace, version, sessions, runs of programs
//   cadre://sessions/{session}/timeline/{before}       rows of evaluations, newest first
//   cadre://sessions/{session}/evaluations/{number}    all of one, and which errors are frozen now
//   cadre://programs/{id}                              all of one run
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "config.h"
#include "inspector/inspector_internal.h"
#include "value/text/json.h"

enum { ROWS_AT_ONCE = 2000, TEXT_MAX = 3 << 20 };

static void reply_json(struct mcp_call *call, value content)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, TEXT_MAX);
    json_write(&text, content, 0, NULL);
    if (text.failed)
        mcp_call_reply_error(call, MCP_INTERNAL_ERROR, "The record is too large for one answer");
    else
        mcp_call_reply_text(call, "application/json", buffer_span(&text));
}

static bool read_number(struct mcp_call *call, const char *name, int64_t *ret_number)
{
    struct span text = map_get_string(mcp_call_arguments(call), name);
    char digits[20];
    if (text.length == 0 || text.length >= sizeof(digits))
        return false;
    memcpy(digits, text.data, text.length);
    digits[text.length] = '\0';
    *ret_number = strtoll(digits, NULL, 10);
    return digits[strspn(digits, "0123456789")] == '\0';
}

// The session that an address names; NULL: there is none.
static struct session_record *read_session(struct inspector *inspector, struct mcp_call *call)
{
    struct span name = map_get_string(mcp_call_arguments(call), "session");
    if (!session_name_valid(name))
        return NULL;
    char text[SESSION_NAME_MAX + 1];
    memcpy(text, name.data, name.length);
    text[name.length] = '\0';
    if (!session_exists(inspector->sessions, text))
        return NULL;
    struct session_record *record = inspector_session(inspector, text);
    if (!record->has_journal)
        session_record_read_journal(record, session_store_path(inspector->sessions, text));
    return record;
}

// --- the workspace -------------------------------------------------------------------------------

static value session_summary(struct inspector *inspector, struct region *region, const char *name)
{
    static const char *const members[] = {"name",        "state",      "pid",       "package_label",
                                          "evaluations", "evaluation", "errors",    "queued",
                                          "live_bytes",  "heap_mb",    "threads",   "systems",
                                          "sbcl",        "limits",     "snapshots", "frozen"};
    value info = session_info(inspector->sessions, name, false, region);
    value map = map_new(region);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = map_put_text(region, map, members[i], value_retain(map_get(info, members[i])));
    return map;
}

static void handle_workspace(struct mcp_call *call, void *data)
{
    struct inspector *inspector = data;
    struct region *region = mcp_call_region(call);
    value names = session_names(inspector->sessions, region);
    value sessions = vector_new(region, 0), programs = vector_new(region, 0);
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        char text[SESSION_NAME_MAX + 1];
        snprintf(text, sizeof(text), "%.*s", (int)name.length, name.data);
        sessions = vector_push(region, sessions, session_summary(inspector, region, text));
    }
    const struct program_record *record;
    TAILQ_FOREACH (record, &inspector->programs.list, link)
        programs = vector_push(region, programs, program_record_write(region, record, false));
    value map =
        map_put_text(region, map_new(region), "version", value_string_text(region, CADRE_VERSION));
    value sandbox = map_get(session_info(inspector->sessions, "main", false, region), "sandbox");
    map = map_put_text(region, map, "workspace", value_retain(map_get(sandbox, "workspace")));
    map = map_put_text(region, map, "sessions", sessions);
    reply_json(call, map_put_text(region, map, "programs", programs));
}

// --- evaluations ---------------------------------------------------------------------------------

static void handle_timeline(struct mcp_call *call, void *data)
{
    struct region *region = mcp_call_region(call);
    struct session_record *record = read_session(data, call);
    int64_t before;
    if (!record || !read_number(call, "before", &before)) {
        mcp_call_reply_not_found(call);
        return;
    }
    value map =
        map_put_text(region, map_new(region), "session", value_string_text(region, record->name));
    map = map_put_text(region, map, "total", value_integer((int64_t)record->count));
    reply_json(call, map_put_text(region, map, "rows",
                                  session_record_rows(region, record, before, ROWS_AT_ONCE)));
}

static void handle_evaluation(struct mcp_call *call, void *data)
{
    struct inspector *inspector = data;
    struct region *region = mcp_call_region(call);
    struct session_record *record = read_session(inspector, call);
    int64_t number;
    struct error error;
    value detail;
    const struct evaluation_row *row =
        record && read_number(call, "number", &number) ? session_record_find(record, number) : NULL;
    if (!row) {
        mcp_call_reply_not_found(call);
        return;
    }
    value map = map_put_text(region, map_new(region), "row", evaluation_row_write(region, row));
    if (row->detail && json_read(region, span_from(row->detail), NULL, &detail, &error))
        map = map_put_text(region, map, "detail", detail);
    value info = session_info(inspector->sessions, record->name, false, region);
    map = map_put_text(region, map, "frozen", value_retain(map_get(info, "frozen")));
    if (row->elapsed_us < 0)
        map = map_put_text(region, map, "output",
                           value_string_repair(region, buffer_span(&record->output)));
    reply_json(call, map);
}

static void handle_program(struct mcp_call *call, void *data)
{
    struct inspector *inspector = data;
    int64_t id;
    const struct program_record *record =
        read_number(call, "id", &id) ? program_records_find(&inspector->programs, id) : NULL;
    if (record)
        reply_json(call, program_record_write(mcp_call_region(call), record, true));
    else
        mcp_call_reply_not_found(call);
}

// --- registration --------------------------------------------------------------------------------

static const struct mcp_resource templates[] = {
    {.uri = "cadre://sessions/{session}/timeline/{before}",
     .name = "timeline",
     .title = "Evaluations of a session",
     .handler = handle_timeline},
    {.uri = "cadre://sessions/{session}/evaluations/{number}",
     .name = "evaluation",
     .title = "One evaluation",
     .handler = handle_evaluation},
    {.uri = "cadre://programs/{id}",
     .name = "program",
     .title = "One run of a program",
     .handler = handle_program},
};

void inspector_register(struct inspector *inspector, struct mcp_server *server)
{
    mcp_server_add_resource(server, &(struct mcp_resource){.uri = "cadre://inspector",
                                                           .name = "inspector",
                                                           .title = "Sessions and programs",
                                                           .mime_type = "application/json",
                                                           .size = -1,
                                                           .handler = handle_workspace,
                                                           .data = inspector});
    for (size_t i = 0; i < COUNT_OF(templates); i++) {
        struct mcp_resource resource = templates[i];
        resource.mime_type = "application/json";
        resource.size = -1;
        resource.data = inspector;
        mcp_server_add_template(server, &resource);
    }
    feed_serve(&inspector->feed, server);
}
