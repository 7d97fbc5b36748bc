// `cadre config`: shows every setting and where its value comes from.
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/config/configuration.h"
#include "cli/config/configuration_schema.h"
#include "cli/table/option_reader.h"
#include "program/compile/suggest.h"
#include "value/text/json.h"

struct config_options {
    const char *workspace;
    const char *name;  // of the one setting to show, or NULL
    bool json;
    bool schema;
};

static const char *place_of(const struct setting *setting)
{
    return setting->origin == SETTING_DEFAULT ? "default" : setting->place;
}

// The value as the command line takes it; several are separated by commas.
static void append_value(struct buffer *text, const struct option_row *row,
                         const struct setting *setting)
{
    if (setting->origin == SETTING_DEFAULT) {
        buffer_append_text(text, row->fallback ? row->fallback : row->argument ? "" : "false");
        return;
    }
    for (size_t i = 0; i < vector_count(setting->values); i++) {
        buffer_append_text(text, i ? "," : "");
        buffer_append_span(text, value_text(vector_at(setting->values, i)));
    }
}

static void print_file(const char *whose, const char *path, const char *state)
{
    if (path)
        printf("%-10s %s (%s)\n", whose, path, state);
}

static void print_all(const struct configuration *configuration)
{
    print_file("user", configuration->user_path, configuration->has_user_file ? "used" : "absent");
    print_file("workspace", configuration->workspace_path,
               configuration->workspace_trust == TRUST_GIVEN
                   ? "used"
                   : trust_name(configuration->workspace_trust));
    putchar('\n');
    for (const struct option_row *row = configuration_next_row(NULL); row;
         row = configuration_next_row(row)) {
        const struct setting *setting = &configuration->settings[row->id];
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        append_value(&text, row, setting);
        printf("%-20s %-24s %s\n", row->name, text.length ? buffer_text(&text) : "-",
               place_of(setting));
    }
    for (size_t i = 0; i < vector_count(configuration->notes); i++) {
        struct span note = value_text(vector_at(configuration->notes, i));
        printf("%s%.*s\n", i ? "" : "\n", (int)note.length, note.data);
    }
}

static value setting_value(struct region *region, const struct option_row *row,
                           const struct setting *setting)
{
    if (row->repeatable)
        return setting->origin == SETTING_DEFAULT ? vector_new(region, 0)
                                                  : value_retain(setting->values);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    append_value(&text, row, setting);
    if (!row->argument)
        return value_boolean(span_equal_text(buffer_span(&text), "true"));
    if (text.length == 0)
        return value_nil();
    return row->type == OPTION_NUMBER ? value_integer(strtoll(buffer_text(&text), NULL, 10))
                                      : value_string(region, buffer_span(&text));
}

static void print_json(struct configuration *configuration)
{
    struct region *region = configuration->region;
    value settings = map_new(region);
    for (const struct option_row *row = configuration_next_row(NULL); row;
         row = configuration_next_row(row)) {
        const struct setting *setting = &configuration->settings[row->id];
        value entry =
            map_put_text(region, map_new(region), "value", setting_value(region, row, setting));
        entry = map_put_text(region, entry, "from",
                             value_string_format(region, "%s", place_of(setting)));
        settings = map_put_text(region, settings, row->name, entry);
    }
    value result = map_put_text(region, map_new(region), "settings", settings);
    result = map_put_text(region, result, "notes", value_retain(configuration->notes));
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, result, JSON_PRETTY, NULL);
    puts(buffer_text(&text));
}

static int print_one(const struct configuration *configuration, const char *name)
{
    const struct option_row *row = configuration_row(span_from(name));
    if (!row) {
        struct suggestion best = {0};
        for (const struct option_row *each = configuration_next_row(NULL); each;
             each = configuration_next_row(each))
            suggest_closer(&best, span_from(name), span_from(each->name));
        fprintf(stderr, "cadre config: there is no setting '%s'", name);
        if (best.name.length)
            fprintf(stderr, "; did you mean %.*s?", (int)best.name.length, best.name.data);
        fputc('\n', stderr);
        return EXIT_FAILURE;
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    append_value(&text, row, &configuration->settings[row->id]);
    puts(buffer_text(&text));
    return EXIT_SUCCESS;
}

static int print_settings(const struct config_options *options)
{
    struct configuration configuration;
    struct error error;
    int status = EXIT_SUCCESS;
    if (!configuration_load(&configuration, options->workspace, &error)) {
        fprintf(stderr, "cadre config: %s\n", error.message);
        status = EXIT_USAGE;
    } else if (options->name) {
        status = print_one(&configuration, options->name);
    } else if (options->json) {
        print_json(&configuration);
    } else {
        print_all(&configuration);
    }
    configuration_release(&configuration);
    return status;
}

static int print_schema(void)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    configuration_write_schema(&text);
    fputs(buffer_text(&text), stdout);
    return EXIT_SUCCESS;
}

int command_config(int argc, char **argv)
{
    struct config_options options = {0};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_CONFIG, argc, argv);
    int option;
    while ((option = option_reader_next(&reader)) > 0)
        if (option == OPTION_WORKSPACE)
            options.workspace = reader.argument;
        else if (option == OPTION_JSON)
            options.json = true;
        else
            options.schema = true;
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count > 1) {
        fprintf(stderr, "cadre config: unexpected argument '%s'\n", reader.words[1]);
        return EXIT_USAGE;
    }
    options.name = reader.word_count ? reader.words[0] : NULL;
    return options.schema ? print_schema() : print_settings(&options);
}
