#include "cli/config/configuration.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/config/configuration_value.h"
#include "program/compile/suggest.h"
#include "session/workspace/workspace.h"
#include "value/text/json.h"

enum { USER_FILE_LIMIT = 1 << 20 };

static const char workspace_file[] = ".cadre/config.json";

// --- rows that may be configured -----------------------------------------------------------------

const struct option_row *configuration_row(struct span name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct option_row *row = command_option(&command_table[i], name);
        if (row && row->source != FROM_COMMAND_LINE)
            return row;
    }
    return NULL;
}

const struct option_row *configuration_next_row(const struct option_row *last)
{
    bool passed = !last;
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        for (const struct option_row *row = command_table[i].options; row->name; row++) {
            if (passed && configuration_row(span_from(row->name)) == row)
                return row;
            passed = passed || row == last;
        }
    return NULL;
}

bool configuration_variable(const struct option_row *row,
                            char ret_name[CONFIGURATION_VARIABLE_SIZE])
{
    if (row->source == FROM_USER_FILE)
        return false;
    int length = snprintf(ret_name, CONFIGURATION_VARIABLE_SIZE, "CADRE_%s", row->name);
    for (int i = 0; i < length && i < CONFIGURATION_VARIABLE_SIZE - 1; i++)
        if (ret_name[i] == '-')
            ret_name[i] = '_';
        else if (ret_name[i] >= 'a' && ret_name[i] <= 'z')
            ret_name[i] = (char)(ret_name[i] - 'a' + 'A');
    return true;
}

static bool is_option(struct span name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (command_option(&command_table[i], name))
            return true;
    return false;
}

static bool refuse_name(const char *path, struct span name, struct error *error)
{
    int length = (int)(name.length < 80 ? name.length : 80);
    if (is_option(name))
        return error_set(error, ERROR_INVALID, "%s: '%.*s' is given on the command line only", path,
                         length, name.data);
    struct suggestion best = {0};
    for (const struct option_row *row = configuration_next_row(NULL); row;
         row = configuration_next_row(row))
        suggest_closer(&best, name, span_from(row->name));
    if (best.name.length)
        return error_set(error, ERROR_INVALID, "%s: unknown name '%.*s'; did you mean '%.*s'?",
                         path, length, name.data, (int)best.name.length, best.name.data);
    return error_set(error, ERROR_INVALID, "%s: unknown name '%.*s'; cadre config lists them", path,
                     length, name.data);
}

const char *configuration_text(struct configuration *configuration, struct span text)
{
    return value_text(
               value_string_format(configuration->region, "%.*s%c", (int)text.length, text.data, 0))
        .data;
}

// --- files ---------------------------------------------------------------------------------------

static void add_note(struct configuration *configuration, value note)
{
    configuration->notes = vector_push(configuration->region, configuration->notes, note);
}

// Whether a workspace may decide this, after what the user decided.
static bool may_decide(const struct configuration *configuration, const struct option_row *row,
                       value values)
{
    if (row->source == FROM_ANYONE)
        return true;
    if (row->source != FROM_ANYONE_NARROWER || vector_count(values) != 1)
        return false;
    const struct setting *user = &configuration->settings[row->id];
    struct span present = user->origin == SETTING_DEFAULT
                              ? span_from(row->fallback ? row->fallback : "false")
                              : value_text(vector_at(user->values, 0));
    return setting_is_narrower(row, present, value_text(vector_at(values, 0)));
}

static bool take_member(struct configuration *configuration, enum setting_origin origin,
                        const char *path, const char *base, struct span name, value item,
                        struct error *error)
{
    const struct option_row *row = configuration_row(name);
    value values;
    if (!row)
        return refuse_name(path, name, error);
    if (!setting_from_json(configuration->region, row, base, item, &values, error)) {
        struct error cause = *error;
        return error_set(error, ERROR_INVALID, "%.200s: %s", path, cause.message);
    }
    if (origin == SETTING_WORKSPACE && !may_decide(configuration, row, values)) {
        add_note(
            configuration,
            value_string_format(
                configuration->region, "%s: %s is not used: a workspace may not decide it%s", path,
                row->name,
                row->source == FROM_ANYONE_NARROWER ? ", except to allow less than you do" : ""));
        return true;
    }
    configuration->settings[row->id] =
        (struct setting){.origin = origin, .values = values, .place = path};
    return true;
}

// `base` is the directory that relative paths are seen from.
static bool take_file(struct configuration *configuration, enum setting_origin origin,
                      const char *path, const char *base, struct span text, struct error *error)
{
    value object, name, item;
    struct error cause;
    struct json_options options = {.reject_duplicate_names = true};
    if (!json_read(configuration->region, text, &options, &object, &cause))
        return error_set(error, ERROR_SYNTAX, "%.200s:%u:%u: %.200s", path, cause.line,
                         cause.column, cause.message);
    if (!value_is_map(object))
        return error_set(error, ERROR_INVALID, "%s: must contain an object", path);
    struct map_cursor cursor = map_iterate(object);
    while (map_next(&cursor, &name, &item)) {
        if (span_equal_text(value_text(name), "$schema"))
            continue;  // for editors
        if (origin == SETTING_WORKSPACE && span_equal_text(value_text(name), "systems"))
            continue;  // of the project (session/project/project.h)
        if (!take_member(configuration, origin, path, base, value_text(name), item, error))
            return false;
    }
    return true;
}

static bool load_user(struct configuration *configuration, struct error *error)
{
    CLEANUP_FREE char *base = path_in_configuration("");
    const char *path = configuration->user_path = path_in_configuration("config.json");
    if (!path)
        return true;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 && (errno == ENOENT || errno == ENOTDIR))
        return true;
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
    configuration->has_user_file = true;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, USER_FILE_LIMIT);
    int failed = buffer_append_descriptor(&text, descriptor);
    close(descriptor);
    if (failed < 0 || text.failed)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path,
                         failed < 0 ? strerror(-failed) : "larger than 1 MiB");
    return take_file(configuration, SETTING_USER, path, base, buffer_span(&text), error);
}

static bool load_workspace_file(struct configuration *configuration, struct error *error)
{
    CLEANUP_BUFFER struct buffer text;
    enum trust trust;
    if (!trust_read(configuration->workspace, workspace_file, &text, &trust, error)) {
        // A hostile workspace must not be able to stop Cadre.
        add_note(configuration, value_string_format(configuration->region, "%s", error->message));
        return true;
    }
    configuration->workspace_trust = trust;
    if (trust == TRUST_NEVER || trust == TRUST_CHANGED)
        add_note(configuration,
                 value_string_format(configuration->region, "%s is not used: %s; cadre trust %s",
                                     configuration->workspace_path, trust_name(trust),
                                     configuration->workspace));
    return trust != TRUST_GIVEN ||
           take_file(configuration, SETTING_WORKSPACE, configuration->workspace_path,
                     configuration->workspace, buffer_span(&text), error);
}

// `given`: on the command line; else it is looked for.
static bool load_workspace(struct configuration *configuration, const char *given,
                           struct error *error)
{
    struct workspace workspace;
    if (!workspace_resolve(given, NULL, &workspace, error))
        return !given;  // without a home there is no scratch directory, and no file
    if (workspace.origin != WORKSPACE_SCRATCH) {
        configuration->workspace = memory_copy_string(workspace.path);
        configuration->workspace_path = memory_format("%s/%s", workspace.path, workspace_file);
    }
    workspace_release(&workspace);
    return !configuration->workspace || load_workspace_file(configuration, error);
}

// --- the environment -----------------------------------------------------------------------------

static bool load_variable(struct configuration *configuration, const struct option_row *row,
                          struct error *error)
{
    char name[CONFIGURATION_VARIABLE_SIZE];
    const char *text = configuration_variable(row, name) ? getenv(name) : NULL;
    if (!text || !*text)
        return true;
    value values;
    if (!setting_from_variable(configuration->region, row, text, &values, error)) {
        struct error cause = *error;
        return error_set(error, ERROR_INVALID, "%s in the environment: %s", name, cause.message);
    }
    configuration->settings[row->id] =
        (struct setting){.origin = SETTING_ENVIRONMENT,
                         .values = values,
                         .place = configuration_text(configuration, span_from(name))};
    return true;
}

// Other programs may have variables of this prefix; only a likely mistake is worth a word.
static void note_mistyped_variables(struct configuration *configuration)
{
    for (char **each = environ; *each; each++) {
        struct span name = {*each, strcspn(*each, "=")};
        if (!span_starts_with(name, SPAN("CADRE_")))
            continue;
        struct suggestion best = {0};
        bool known = span_equal_text(name, "CADRE_TOKEN");
        static char variables[OPTION_COUNT][CONFIGURATION_VARIABLE_SIZE];
        for (const struct option_row *row = configuration_next_row(NULL); row;
             row = configuration_next_row(row)) {
            if (!configuration_variable(row, variables[row->id]))
                continue;
            known = known || span_equal_text(name, variables[row->id]);
            suggest_closer(&best, name, span_from(variables[row->id]));
        }
        if (!known && best.name.length && best.distance <= 2)
            add_note(configuration,
                     value_string_format(configuration->region,
                                         "%.*s in the environment is not used; did you mean %.*s?",
                                         (int)name.length, name.data, (int)best.name.length,
                                         best.name.data));
    }
}

static bool load_environment(struct configuration *configuration, struct error *error)
{
    for (const struct option_row *row = configuration_next_row(NULL); row;
         row = configuration_next_row(row))
        if (!load_variable(configuration, row, error))
            return false;
    note_mistyped_variables(configuration);
    return true;
}

// --- all of it -----------------------------------------------------------------------------------

bool configuration_load(struct configuration *ret_configuration, const char *workspace,
                        struct error *error)
{
    struct configuration *configuration = ret_configuration;
    *configuration = (struct configuration){.region = region_new(SIZE_MAX)};
    configuration->notes = vector_new(configuration->region, 0);
    return load_user(configuration, error) && load_workspace(configuration, workspace, error) &&
           load_environment(configuration, error);
}

void configuration_release(struct configuration *configuration)
{
    if (configuration->region)
        region_free(configuration->region);
    memory_free(configuration->user_path);
    memory_free(configuration->workspace);
    memory_free(configuration->workspace_path);
    *configuration = (struct configuration){0};
}
