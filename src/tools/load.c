// load-file, load-system, list-systems, profile-code, memory-report.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "session/workspace/reach.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

static void fill_evaluation(struct mcp_call *call, const struct session_reply *reply,
                            struct tool_result *result)
{
    result->structured = structured_evaluation(mcp_call_region(call), reply);
}

// --- load-file -----------------------------------------------------------------------------------

static void render_loaded(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    fill_evaluation(run->call, reply, result);
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    if (reply->ok) {
        buffer_append_format(&last, "Loaded %s: ", tool_text(run->call, "path"));
        render_counted(&last, map_get_integer(reply->result, "forms", 0), "form");
        buffer_append_byte(&last, '.');
    }
    render_evaluation(
        &result->text, reply,
        &(struct render_evaluation){.last_lines = last.length ? buffer_text(&last) : NULL});
}

// Where the compiled form of a file goes: named by its path, so that equal names do not clash.
// NULL: there is no place for caches.
static char *fasl_path(struct session_manager *sessions, const char *session, const char *source,
                       struct error *error)
{
    CLEANUP_FREE char *directory = NULL;
    if (!session_fasl_directory(sessions, session, &directory, error))
        return NULL;
    return memory_format("%s/%016" PRIx64 ".fasl", directory,
                         hash_bytes(source, strlen(source), 0));
}

static void handle_load_file(struct mcp_call *call, void *data)
{
    struct region *region = mcp_call_region(call);
    static const char *const names[] = {"package", "compile", NULL};
    struct session_manager *sessions = ((struct tools *)data)->sessions;
    struct error error;
    CLEANUP_FREE char *absolute = session_call_path(data, call);
    if (!absolute)
        return;
    value params = session_call_parameters(call, names);
    params = map_put_text(region, params, "path", value_string_format(region, "%s", absolute));
    if (tool_flag(call, "compile")) {
        CLEANUP_FREE char *fasl = fasl_path(sessions, tool_session_name(call), absolute, &error);
        if (!fasl) {
            tool_refuse(call, "cache-unavailable", "%s", error.message);
            return;
        }
        params = map_put_text(region, params, "fasl", value_string_format(region, "%s", fasl));
    }
    struct session_request request = {.kind = SESSION_EVALUATE,
                                      .create = true,
                                      .op = "load-file",
                                      .params = params,
                                      .label = tool_text(call, "path")};
    session_call_submit(data, call, &request, render_loaded);
}

// --- systems -------------------------------------------------------------------------------------

// `Loaded: NAME (version V), 3 files compiled; of libraries: 12 compiler notes`
static void render_system_line(struct buffer *text, value result)
{
    struct span system = map_get_string(result, "system"),
                version = map_get_string(result, "version");
    bool nothing_done = map_get_boolean(result, "up_to_date");
    buffer_append_text(text, nothing_done ? "Up to date: " : "Loaded: ");
    buffer_append_span(text, system);
    if (version.length)
        buffer_append_format(text, " (version %.*s)", (int)version.length, version.data);
    int64_t compiled = map_get_integer(result, "files_compiled", 0);
    struct span libraries = map_get_string(result, "library_summary");
    if (nothing_done)
        buffer_append_text(text, "; nothing to do");
    if (compiled > 0) {
        buffer_append_text(text, ", ");
        render_counted(text, compiled, "file");
        buffer_append_text(text, " compiled");
    }
    if (map_get_boolean(result, "tested"))
        buffer_append_text(text, ", tests run");
    if (libraries.length > 0)
        buffer_append_format(text, "; of libraries: %.*s", (int)libraries.length, libraries.data);
}

// `, from the workspace` of one system alone; of several a line
// `From the workspace: app; from quicklisp (quicklisp 2024-10-12): alexandria, babel`
static void render_origins(struct buffer *text, value result)
{
    size_t count = map_get_count(result, "origins");
    bool alone = count == 1 && map_get_count(map_get_item(result, "origins", 0), "systems") == 1;
    if (map_get_boolean(result, "up_to_date"))
        return;
    for (size_t i = 0; i < count; i++) {
        value origin = map_get_item(result, "origins", i);
        buffer_append_text(text, alone ? ", from " : i ? "; from " : "\nFrom ");
        buffer_append_span(text, map_get_string(origin, "origin"));
        if (alone)
            return;
        buffer_append_text(text, ": ");
        render_names(text, map_get(origin, "systems"));
    }
}

static void render_system_loaded(const struct session_call *run, const struct session_reply *reply,
                                 struct tool_result *result)
{
    fill_evaluation(run->call, reply, result);
    if (!reply->ok) {
        render_evaluation(&result->text, reply, &(struct render_evaluation){.outcome_first = true});
        return;
    }
    render_system_line(&result->text, reply->result);
    render_origins(&result->text, reply->result);
    render_section(&result->text, RENDER_EARLIER_OUTPUT, reply->earlier_output);
    render_section(&result->text, "stdout", reply->standard_output.text);
    render_section(&result->text, "stderr", reply->standard_error.text);
    render_warnings(&result->text, reply->result);
}

// `To load app, 2 releases have to be fetched, 120 KB:`, then what, from where and how.
static void render_plan(const struct session_call *run, const struct session_reply *reply,
                        struct tool_result *result)
{
    static const char *const members[] = {"releases", "nowhere"};
    struct buffer *text = &result->text;
    if (session_call_render_failure(run->call, reply, result))
        return;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        result->structured = structured_member(mcp_call_region(run->call), result->structured,
                                               reply->result, members[i]);
    size_t count = map_get_count(reply->result, "releases");
    int64_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += map_get_integer(map_get_item(reply->result, "releases", i), "size", 0);
    buffer_append_format(text, count ? "To load %s, " : "To load %s, nothing has to be fetched.",
                         tool_text(run->call, "system"));
    if (count) {
        render_counted(text, (int64_t)count, "release");
        buffer_append_format(text, " have to be fetched, %" PRId64 " KB:", (size + 1023) / 1024);
    }
    for (size_t i = 0; i < count; i++) {
        value release = map_get_item(reply->result, "releases", i);
        struct span url = map_get_string(release, "url");
        buffer_append_text(text, "\n  ");
        buffer_append_span(text, map_get_string(release, "name"));
        buffer_append_text(text, url.length ? "  " : "");
        buffer_append_span(text, url);
        buffer_append_text(text, "\n    into ");
        buffer_append_span(text, map_get_string(release, "home"));
        buffer_append_text(text, " by ");
        buffer_append_span(text, map_get_string(release, "command"));
    }
    if (map_get_count(reply->result, "nowhere")) {
        buffer_append_text(text, "\nNobody has: ");
        render_names(text, map_get(reply->result, "nowhere"));
    }
}

static void plan_load(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"system", NULL};
    struct session_request request = {.kind = SESSION_COPY,
                                      .create = true,
                                      .op = "plan-fetch",
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_plan);
}

static void handle_load_system(struct mcp_call *call, void *data)
{
    if (tool_flag(call, "dry-run")) {
        plan_load(call, data);
        return;
    }
    static const char *const names[] = {"system", "force", "test", NULL};
    struct session_request request = {.kind = SESSION_EVALUATE,
                                      .create = true,
                                      .op = "load-system",
                                      .params = session_call_parameters(call, names),
                                      .label = tool_text(call, "system")};
    session_call_submit(data, call, &request, render_system_loaded);
}

static void render_system(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    static const struct {
        const char *label, *member;
    } rows[] = {{"Version", "version"}, {"Description", "description"},
                {"Author", "author"},   {"Licence", "license"},
                {"From", "origin"},     {"Source", "source_file"}};
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return;
    value map = result->structured;
    struct buffer *text = &result->text;
    value system = reply->result;
    static const char *const members[] = {"found",        "message", "name",        "version",
                                          "description",  "author",  "license",     "depends_on",
                                          "components",   "loaded",  "source_file", "origin",
                                          "changed_files"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = structured_member(region, map, system, members[i]);
    result->structured = map;
    if (!map_get_boolean(system, "found")) {
        buffer_append_span(text, map_get_string(system, "message"));
        return;
    }
    buffer_append_text(text, "System: ");
    buffer_append_span(text, map_get_string(system, "name"));
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (map_get_string(system, rows[i].member).length) {
            buffer_append_format(text, "\n  %s: ", rows[i].label);
            buffer_append_span(text, map_get_string(system, rows[i].member));
        }
    buffer_append_format(
        text, "\n  Loaded: %s\n  Depends on: ", map_get_boolean(system, "loaded") ? "yes" : "no");
    if (map_get_count(system, "depends_on"))
        render_names(text, map_get(system, "depends_on"));
    else
        buffer_append_text(text, "nothing");
    if (map_get_count(system, "changed_files")) {
        buffer_append_text(text, "\n  Changed since they were loaded: ");
        render_names(text, map_get(system, "changed_files"));
    }
    if (map_get_count(system, "components")) {
        buffer_append_text(text, "\n  Components: ");
        render_names(text, map_get(system, "components"));
    }
}

// Those of the listed systems that are loaded, or those that are not; returns how many.
static size_t append_systems(struct buffer *text, value result, bool loaded)
{
    size_t shown = 0;
    for (size_t i = 0; i < map_get_count(result, "listed"); i++) {
        value system = map_get_item(result, "listed", i);
        struct span name = map_get_string(system, "name");
        struct span version = map_get_string(system, "version");
        struct span from = map_get_string(system, "origin");
        if (map_get_boolean(system, "loaded") != loaded)
            continue;
        if (shown++ == 0)
            buffer_append_text(text, loaded ? "Loaded systems:" : "\nNot loaded:");
        buffer_append_format(text, "\n  %.*s%s%.*s  from %.*s%s", (int)name.length, name.data,
                             version.length ? " " : "", (int)version.length, version.data,
                             (int)from.length, from.data,
                             map_get_boolean(system, "changed") ? ", changed since" : "");
    }
    if (loaded && shown == 0)
        buffer_append_text(text, "No systems are loaded.");
    return shown;
}

static void render_systems(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    if (session_call_render_failure(run->call, reply, result))
        return;
    struct region *region = mcp_call_region(run->call);
    value listed = map_get(reply->result, "listed");
    value map = structured_member(region, result->structured, reply->result, "total");
    result->structured = map_put_text(region, map, "systems", value_copy(region, listed));
    size_t shown = append_systems(&result->text, reply->result, true) +
                   append_systems(&result->text, reply->result, false);
    int64_t more = map_get_integer(reply->result, "total", 0) - (int64_t)shown;
    if (more > 0)
        buffer_append_format(&result->text, "\n... %" PRId64 " more", more);
}

static void handle_list_systems(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"system", NULL};
    struct session_request all = {.kind = SESSION_QUERY,
                                  .op = "list-systems",
                                  .beside = true,
                                  .params = session_call_parameters(call, names)};
    struct session_request one = {.kind = SESSION_COPY,
                                  .op = "describe-system",
                                  .params = session_call_parameters(call, names)};
    if (tool_text(call, "system"))
        session_call_submit(data, call, &one, render_system);
    else
        session_call_submit(data, call, &all, render_systems);
}

// --- profile-code --------------------------------------------------------------------------------

static void render_profile(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    fill_evaluation(run->call, reply, result);
    struct buffer *text = &result->text;
    if (!reply->ok) {
        render_evaluation(
            text, reply,
            &(struct render_evaluation){
                .last_lines = reply->ran ? "(Profiling stopped due to error)" : NULL});
        return;
    }
    static const char *const labels[][2] = {{"cpu", "CPU"}, {"time", "TIME"}, {"alloc", "ALLOC"}};
    const char *mode = tool_text(run->call, "mode"), *label = "CPU";
    for (size_t i = 0; mode && i < COUNT_OF(labels); i++)
        if (strcmp(mode, labels[i][0]) == 0)
            label = labels[i][1];
    int64_t samples = map_get_integer(reply->result, "samples", 0);
    buffer_append_format(text, "Statistical Profile (%s mode)\nTotal samples: %" PRId64 "\n\n",
                         label, samples);
    if (samples == 0)
        buffer_append_text(text, "(the code ran too quickly to be sampled)");
    else
        buffer_append_span(text, map_get_string(reply->result, "table"));
    buffer_append_text(text, "\n\nResult:");
    for (size_t i = 0; i < map_get_count(reply->result, "values"); i++) {
        buffer_append_text(text, i ? "\n" : " ");
        buffer_append_span(text, value_text(map_get_item(reply->result, "values", i)));
    }
    render_section(text, RENDER_EARLIER_OUTPUT, reply->earlier_output);
    render_section(text, "stdout", reply->standard_output.text);
    render_section(text, "stderr", reply->standard_error.text);
    render_warnings(text, reply->result);
    result->structured = structured_member(region, result->structured, reply->result, "samples");
    result->structured = structured_member(region, result->structured, reply->result, "table");
}

static void handle_profile(struct mcp_call *call, void *data)
{
    struct region *region = mcp_call_region(call);
    static const char *const names[] = {"code", "package", "mode", NULL};
    int64_t samples;
    if (!tool_integer(call, "max-samples", 1000, 1, 1000000, &samples))
        return;
    value interval = mcp_call_argument(call, "sample-interval");
    double seconds = interval.tag == VALUE_FLOAT     ? interval.number
                     : interval.tag == VALUE_INTEGER ? (double)interval.integer
                                                     : 0.01;
    if (!(seconds >= 0.0001 && seconds <= 60)) {
        tool_refuse(call, "invalid-argument",
                    "Value must be between 0.0001 and 60: sample-interval");
        return;
    }
    const char *report = tool_text(call, "report-type");
    value params = session_call_parameters(call, names);
    params = map_put_text(region, params, "max_samples", value_integer(samples));
    params = map_put_text(region, params, "interval_us", value_integer((int64_t)(seconds * 1e6)));
    params =
        map_put_text(region, params, "report", value_string_text(region, report ? report : "flat"));
    struct session_request request = {.kind = SESSION_EVALUATE,
                                      .create = true,
                                      .op = "profile",
                                      .params = params,
                                      .label = tool_text(call, "code")};
    session_call_submit(data, call, &request, render_profile);
}

// --- memory-report -------------------------------------------------------------------------------

static void append_megabytes(struct buffer *text, const char *label, double bytes)
{
    buffer_append_format(text, "\n  %s: %.1f MB", label, bytes / (1 << 20));
}

static void append_process(struct buffer *text, const char *label, int64_t number, value process)
{
    if (number >= 0)
        buffer_append_format(text, "\n  %s %" PRId64, label, number);
    else
        buffer_append_format(text, "\n  %s", label);
    buffer_append_format(text, ": %.1f MB resident, %.1f MB private",
                         (double)map_get_integer(process, "resident_kb", 0) / 1024,
                         (double)map_get_integer(process, "private_kb", 0) / 1024);
}

static void append_processes(struct buffer *text, value info)
{
    int64_t total = map_get_integer(map_get(info, "head"), "private_kb", 0);
    buffer_append_text(text, "\n\nProcesses:");
    append_process(text, "head", -1, map_get(info, "head"));
    for (size_t i = 0; i < map_get_count(info, "snapshots"); i++) {
        value snapshot = map_get_item(info, "snapshots", i);
        append_process(text, "snapshot", map_get_integer(snapshot, "number", 0), snapshot);
        total += map_get_integer(snapshot, "private_kb", 0);
    }
    for (size_t i = 0; i < map_get_count(info, "frozen_memory"); i++) {
        value frozen = map_get_item(info, "frozen_memory", i);
        append_process(text, "frozen error", map_get_integer(frozen, "error", 0), frozen);
        total += map_get_integer(frozen, "private_kb", 0);
    }
    buffer_append_format(text, "\n  private in all: %.1f MB", (double)total / 1024);
}

static void render_memory(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    static const char *const members[] = {"live_bytes", "heap_bytes", "nursery_bytes",
                                          "gc_count",   "gc_us",      "generations"};
    struct region *region = mcp_call_region(run->call);
    struct buffer *text = &result->text;
    if (session_call_render_failure(run->call, reply, result))
        return;
    value map = result->structured;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = structured_member(region, map, reply->result, members[i]);
    const char *verbosity = tool_text(run->call, "verbosity");
    buffer_append_text(text, "Heap:");
    append_megabytes(text, "live", (double)map_get_integer(reply->result, "live_bytes", 0));
    append_megabytes(text, "size", (double)map_get_integer(reply->result, "heap_bytes", 0));
    buffer_append_format(text, "\n  max-memory: %" PRId64 " MB", reply->limits.max_memory);
    if (!verbosity || strcmp(verbosity, "minimal") != 0) {
        append_megabytes(text, "nursery",
                         (double)map_get_integer(reply->result, "nursery_bytes", 0));
        buffer_append_format(text, "\n  collections: %" PRId64 " (%.1f ms)",
                             map_get_integer(reply->result, "gc_count", 0),
                             (double)map_get_integer(reply->result, "gc_us", 0) / 1000);
        value info = session_info(run->tools->sessions, reply->session, true, region);
        append_processes(text, info);
        map = structured_member(region, map, info, "head");
        map = structured_member(region, map, info, "snapshots");
        map = structured_member(region, map, info, "frozen_memory");
    }
    if (verbosity && strcmp(verbosity, "detailed") == 0) {
        buffer_append_text(text, "\n\nGenerations:");
        for (size_t i = 0; i < map_get_count(reply->result, "generations"); i++) {
            value generation = map_get_item(reply->result, "generations", i);
            buffer_append_format(text, "\n  %" PRId64 ": %.1f MB, collections %" PRId64,
                                 map_get_integer(generation, "number", 0),
                                 (double)map_get_integer(generation, "bytes", 0) / (1 << 20),
                                 map_get_integer(generation, "collections", 0));
        }
    }
    result->structured = map;
}

static void handle_memory(struct mcp_call *call, void *data)
{
    struct region *region = mcp_call_region(call);
    value params =
        map_put_text(region, map_new(region), "gc", value_boolean(tool_flag(call, "gc-first")));
    struct session_request request = {.kind = SESSION_QUERY, .op = "memory", .params = params};
    session_call_submit(data, call, &request, render_memory);
}

static const struct tool load_tools[] = {
    {"load-file", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_load_file},
    {"load-system", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_load_system},
    {"list-systems", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_list_systems},
    {"profile-code", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_profile},
    {"memory-report", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_memory},
};

void tools_register_load(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, load_tools);
}
