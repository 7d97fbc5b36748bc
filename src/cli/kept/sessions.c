// `cadre sessions`: the kept sessions of all workspaces. What is on disk is read here; what lives is
// asked of the daemon.
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/kept/fork_kept.h"
#include "cli/kept/journal_watch.h"
#include "cli/kept/prune.h"
#include "cli/kept/session_output.h"
#include "cli/kept/warm.h"
#include "cli/sandbox_options.h"
#include "cli/table/option_reader.h"
#include "daemon/daemon_request.h"
#include "session/image/image_file.h"
#include "session/journal/journal.h"
#include "session/journal/journal_export.h"
#include "session/workspace/home.h"
#include "session/workspace/workspace.h"
#include "value/text/json.h"

enum { SAVE_WAIT_MS = 120000, SAVE_STEP_MS = 50 };

struct sessions_options {
    const char *workspace;  // NULL: found from the working directory
    const char *format;     // of export
    bool json;
    int64_t quota_mb;  // of prune
    bool keeps_gone;   // the same
    struct session_output_query output;
    struct session_sandbox sandbox;
    struct sandbox_options sandbox_options;
};

static int fail(const char *message)
{
    fprintf(stderr, "cadre sessions: %s\n", message);
    return EXIT_FAILURE;
}

// --- places --------------------------------------------------------------------------------------

// The home of the workspace that is meant.
static char *find_home(const struct sessions_options *options)
{
    struct workspace workspace;
    struct error error;
    if (!workspace_resolve(options->sandbox.workspace, NULL, &workspace, &error)) {
        fail(error.message);
        return NULL;
    }
    char *home = workspace_home_path(workspace.path);
    workspace_release(&workspace);
    if (!home)
        fail("no state directory: set HOME or XDG_STATE_HOME");
    return home;
}

// The directory of a session that is kept; NULL after a message.
static char *find_session(const struct sessions_options *options, const char *name)
{
    CLEANUP_FREE char *home = find_home(options);
    if (!home)
        return NULL;
    if (!session_name_valid(span_from(name))) {
        fail(SESSION_NAME_RULE);
        return NULL;
    }
    char *place = memory_format("%s/sessions/%s", home, name);
    if (access(place, F_OK) == 0)
        return place;
    fprintf(stderr, "cadre sessions: no session \"%s\" is kept for this workspace\n", name);
    memory_free(place);
    return NULL;
}

// --- list ----------------------------------------------------------------------------------------

// "idle", "running", … of a session that lives, or NULL.
static struct span live_state(value status, struct span workspace, const char *name)
{
    value workspaces = map_get(status, "workspaces");
    for (size_t i = 0; value_is_vector(workspaces) && i < vector_count(workspaces); i++) {
        value each = vector_at(workspaces, i);
        value sessions = map_get(each, "sessions");
        if (!span_equal(map_get_string(each, "path"), workspace))
            continue;
        for (size_t k = 0; value_is_vector(sessions) && k < vector_count(sessions); k++)
            if (span_equal_text(map_get_string(vector_at(sessions, k), "name"), name))
                return map_get_string(vector_at(sessions, k), "state");
    }
    return (struct span){"", 0};
}

static value describe(struct region *region, const char *place, const char *name, value status,
                      struct span workspace)
{
    CLEANUP_FREE char *image = memory_format("%s/" IMAGE_FILE, place);
    struct stat file;
    value description;
    struct span state = live_state(status, workspace, name);
    bool is_down = state.length == 0 || span_equal_text(state, "down");
    value map = map_put_text(region, map_new(region), "name", value_string_text(region, name));
    map = map_put_text(region, map, "state",
                       is_down ? value_string_text(region, "hibernated")
                               : value_string(region, state));
    map = map_put_text(region, map, "evaluations", value_integer(journal_last_evaluation(place)));
    if (stat(image, &file) < 0 || !image_describe(region, image, &description))
        return map;
    map = map_put_text(region, map, "saved_evaluation",
                       value_integer(map_get_integer(description, "evaluation", 0)));
    map =
        map_put_text(region, map, "saved", value_integer(map_get_integer(description, "saved", 0)));
    return map_put_text(region, map, "bytes", value_integer(file.st_size));
}

struct listing {
    struct region *region;
    value status;         // of the daemon
    struct span path;     // of the workspace
    value sessions, all;  // what was found so far
};

static void list_session(void *data, const char *place, const char *name)
{
    struct listing *listing = data;
    struct region *region = listing->region;
    value session = describe(region, place, name, listing->status, listing->path);
    listing->sessions = vector_push(region, listing->sessions, session);
}

static void list_home(void *data, const char *home)
{
    struct listing *listing = data;
    struct region *region = listing->region;
    CLEANUP_FREE char *owner = workspace_home_owner(home);
    listing->path = span_from(owner ? owner : "");
    listing->sessions = vector_new(region, 0);
    workspace_home_each_session(home, list_session, listing);
    value map =
        map_put_text(region, map_new(region), "workspace", value_string(region, listing->path));
    map = map_put_text(region, map, "home", value_string_format(region, "%s", home));
    map = map_put_text(region, map, "sessions", listing->sessions);
    listing->all = vector_push(region, listing->all, map);
}

static value ask_status(struct region *region)
{
    struct error error;
    value answer;
    value request =
        map_put_text(region, map_new(region), "op", value_string_text(region, "status"));
    return daemon_request(region, request, &answer, &error) == DAEMON_ANSWERED ? answer
                                                                               : map_new(region);
}

static value list_all(struct region *region)
{
    struct listing listing = {
        .region = region, .status = ask_status(region), .all = vector_new(region, 0)};
    workspace_home_each(list_home, &listing);
    return listing.all;
}

static void print_session(value session)
{
    struct span name = map_get_string(session, "name"), state = map_get_string(session, "state");
    int64_t evaluations = map_get_integer(session, "evaluations", 0);
    printf("  %-20.*s %-12.*s %6lld evaluation%s", (int)name.length, name.data, (int)state.length,
           state.data, (long long)evaluations, evaluations == 1 ? "" : "s");
    int64_t saved = map_get_integer(session, "saved", 0);
    if (saved > 0) {
        char time[CLOCK_ISO_SIZE];
        clock_format_iso(saved, time);
        printf(", saved %s after %lld, %.1f MB", time,
               (long long)map_get_integer(session, "saved_evaluation", 0),
               (double)map_get_integer(session, "bytes", 0) / 1e6);
    }
    putchar('\n');
}

static int list(const struct sessions_options *options)
{
    struct region *region = region_new(SIZE_MAX);
    value all = list_all(region);
    if (options->json) {
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        json_write(&text, all, JSON_PRETTY, NULL);
        puts(buffer_text(&text));
    }
    for (size_t i = 0; !options->json && i < vector_count(all); i++) {
        value sessions = map_get(vector_at(all, i), "sessions");
        struct span path = map_get_string(vector_at(all, i), "workspace");
        printf("%.*s\n", (int)path.length, path.data);
        for (size_t k = 0; k < vector_count(sessions); k++)
            print_session(vector_at(sessions, k));
    }
    region_free(region);
    return EXIT_SUCCESS;
}

// --- export, show, watch -------------------------------------------------------------------------

static int export(const struct sessions_options *options, const char *name, const char *format)
{
    CLEANUP_FREE char *place = find_session(options, name);
    if (!place)
        return EXIT_FAILURE;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, SIZE_MAX / 2);
    struct region *region = region_new(SIZE_MAX);
    value entries = journal_read(region, place, SIZE_MAX / 4);
    if (strcmp(format, "lisp") == 0)
        export_lisp(&text, name, entries);
    else
        export_transcript(&text, name, entries);
    region_free(region);
    fwrite(buffer_text(&text), 1, text.length, stdout);
    return EXIT_SUCCESS;
}

static int watch(const struct sessions_options *options, const char *name)
{
    CLEANUP_FREE char *place = find_session(options, name);
    return place ? sessions_watch(place) : EXIT_FAILURE;
}

// --- requests to the daemon ----------------------------------------------------------------------

// A request about one session of the workspace; false after a message, or when no daemon runs.
static enum daemon_answer ask(const struct sessions_options *options, const char *op,
                              const char *name, struct region *region, value *ret_answer)
{
    struct workspace workspace;
    struct error error;
    if (!workspace_resolve(options->sandbox.workspace, NULL, &workspace, &error)) {
        fail(error.message);
        return DAEMON_FAILED;
    }
    value request = map_put_text(region, map_new(region), "op", value_string_text(region, op));
    request = map_put_text(region, request, "workspace",
                           value_string_format(region, "%s", workspace.path));
    request = map_put_text(region, request, "session", value_string_format(region, "%s", name));
    workspace_release(&workspace);
    enum daemon_answer answer = daemon_request(region, request, ret_answer, &error);
    if (answer == DAEMON_FAILED)
        fail(error.message);
    return answer;
}

// What the daemon says of a save: done, not yet, or why it failed.
static bool is_settled(enum daemon_answer got, value answer, int *status)
{
    bool is_saved = got == DAEMON_ANSWERED && map_get_boolean(answer, "saved");
    struct span reason =
        got == DAEMON_ANSWERED ? map_get_string(answer, "failed") : (struct span){0};
    if (got == DAEMON_ABSENT)
        fail("no daemon runs: nothing has changed since the last save");
    if (reason.length > 0)
        fprintf(stderr, "cadre sessions: it could not be saved: %.*s\n", (int)reason.length,
                reason.data);
    *status = is_saved ? EXIT_SUCCESS : EXIT_FAILURE;
    return is_saved || reason.length > 0 || got != DAEMON_ANSWERED;
}

// The daemon takes one that is not there for saved.
static int save(const struct sessions_options *options, const char *name)
{
    struct region *region = region_new(SIZE_MAX);
    value answer;
    int64_t until = clock_now_ms() + SAVE_WAIT_MS;
    int status = EXIT_FAILURE;
    enum daemon_answer got = ask(options, "save", name, region, &answer);
    while (!is_settled(got, answer, &status)) {
        if (clock_now_ms() >= until) {
            fail("it is not saved yet");
            break;
        }
        poll(NULL, 0, SAVE_STEP_MS);
        got = ask(options, "saved", name, region, &answer);
    }
    region_free(region);
    CLEANUP_FREE char *place = status == EXIT_SUCCESS ? find_session(options, name) : NULL;
    return place ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void remove_files(const char *place)
{
    DIR *entries = opendir(place);
    struct dirent *entry;
    while (entries && (entry = readdir(entries))) {
        CLEANUP_FREE char *file = memory_format("%s/%s", place, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(file);
    }
    if (entries)
        closedir(entries);
    rmdir(place);
}

static int remove_session(const struct sessions_options *options, const char *name)
{
    struct region *region = region_new(SIZE_MAX);
    value answer;
    CLEANUP_FREE char *place = find_session(options, name);
    enum daemon_answer got = place ? ask(options, "remove", name, region, &answer) : DAEMON_FAILED;
    region_free(region);
    if (got == DAEMON_FAILED)
        return EXIT_FAILURE;
    remove_files(place);
    return EXIT_SUCCESS;
}

// --- output --------------------------------------------------------------------------------------

static int print_output(const struct sessions_options *options, const char *name,
                        const char *number)
{
    struct session_output_query query = options->output;
    struct workspace workspace;
    struct error error;
    char *end = NULL;
    if (!session_name_valid(span_from(name)))
        return fail(SESSION_NAME_RULE);
    errno = 0;
    query.number = number ? strtoll(number, &end, 10) : 0;
    if (number && (query.number <= 0 || *end != '\0' || errno)) {
        fprintf(stderr, "cadre sessions: NUMBER is that of an evaluation, not '%s'\n", number);
        return EXIT_USAGE;
    }
    if (!workspace_resolve(options->sandbox.workspace, NULL, &workspace, &error))
        return fail(error.message);
    query.workspace = workspace.path;
    query.session = name;
    int status = session_output_print(&query);
    workspace_release(&workspace);
    return status;
}

// --- fork, adopt ---------------------------------------------------------------------------------

static int give_state(const struct sessions_options *options, const char *tool, const char *from,
                      const char *as)
{
    if (as)
        return fork_kept(&options->sandbox, tool, from, as);
    fprintf(stderr, "cadre sessions: two names are wanted: FROM and AS\n");
    return EXIT_USAGE;
}

// --- the command ---------------------------------------------------------------------------------

static int dispatch(const struct sessions_options *options, const char *verb, const char *name,
                    const char *number)
{
    if (strcmp(verb, "list") == 0)
        return list(options);
    if (strcmp(verb, "show") == 0)
        return export(options, name, "transcript");
    if (strcmp(verb, "export") == 0)
        return export(options, name, options->format);
    if (strcmp(verb, "watch") == 0)
        return watch(options, name);
    if (strcmp(verb, "output") == 0)
        return print_output(options, name, number);
    if (strcmp(verb, "fork") == 0)
        return give_state(options, "fork-session", name, number);
    if (strcmp(verb, "adopt") == 0)
        return give_state(options, "adopt-session", name, number);
    if (strcmp(verb, "save") == 0)
        return save(options, name);
    if (strcmp(verb, "prune") == 0)
        return sessions_prune(options->quota_mb, options->keeps_gone);
    if (strcmp(verb, "warm") == 0)
        return sessions_warm(&options->sandbox);
    if (strcmp(verb, "rm") == 0)
        return remove_session(options, name);
    fprintf(stderr, "cadre sessions: unknown subcommand '%s'; see cadre sessions --help\n", verb);
    return EXIT_USAGE;
}

int command_sessions(int argc, char **argv)
{
    struct sessions_options options = {.format = "lisp", .quota_mb = 5000, .output = {.from = 1}};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_SESSIONS, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        switch (option) {
        case OPTION_FORMAT: options.format = reader.argument; break;
        case OPTION_JSON: options.json = true; break;
        case OPTION_FROM: options.output.from = reader.number; break;
        case OPTION_LINES: options.output.lines = reader.number; break;
        case OPTION_MATCH: options.output.match = reader.argument; break;
        case OPTION_QUOTA: options.quota_mb = reader.number; break;
        case OPTION_KEEP_GONE: options.keeps_gone = true; break;
        default:
            if (sandbox_option_take(&options.sandbox_options, &options.sandbox, &reader) !=
                SANDBOX_OPTION_TAKEN)
                return EXIT_USAGE;
        }
    if (option != OPTIONS_END)
        return option_reader_status(option);
    const char *verb = reader.word_count > 0 ? reader.words[0] : "list";
    bool takes_two =
        strcmp(verb, "output") == 0 || strcmp(verb, "fork") == 0 || strcmp(verb, "adopt") == 0;
    if (reader.word_count > (takes_two ? 3 : 2)) {
        fputs("cadre sessions: too many words; see cadre sessions --help\n", stderr);
        return EXIT_USAGE;
    }
    return dispatch(&options, verb, reader.word_count > 1 ? reader.words[1] : "main",
                    reader.word_count > 2 ? reader.words[2] : NULL);
}
