// `cadre fix`: repairs the parentheses of Lisp files.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/commands.h"
#include "cli/file_change.h"
#include "cli/fix/earlier_version.h"
#include "cli/table/option_reader.h"
#include "lisp_syntax/repair.h"

struct fix {
    bool check;        // change nothing
    const char *base;  // a file; NULL: ask git
};

static bool read_input(const char *path, struct buffer *text, struct error *error)
{
    bool exists = true;
    if (strcmp(path, "-") != 0)
        return file_change_read(path, text, &exists, error) &&
               (exists || error_set(error, ERROR_NOT_FOUND, "no such file: %s", path));
    buffer_init(text, REPAIR_TEXT_MAXIMUM);
    int failed = buffer_append_descriptor(text, STDIN_FILENO);
    return (failed == 0 && !text->failed) ||
           error_set(error, ERROR_SYSTEM, "cannot read standard input: %s",
                     failed < 0 ? strerror(-failed) : "too large");
}

static bool read_base(const struct fix *fix, const char *path, struct buffer *base,
                      struct error *error)
{
    if (fix->base)
        return read_input(fix->base, base, error);
    if (strcmp(path, "-") != 0)
        earlier_version_read(path, base);
    else
        buffer_init(base, 0);
    return true;
}

static void print_notes(const char *path, const struct repair *repair)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    for (size_t i = 0; i < repair->note_count; i++)
        fprintf(stderr, "%s:%u: %s\n", name, repair->notes[i].line, repair->notes[i].text);
    if (repair->note_count == REPAIR_NOTES_MAXIMUM)
        fprintf(stderr, "%s: there may be more\n", name);
    if (repair->outcome == REPAIR_REFUSED)
        fprintf(stderr, "%s: not changed\n", name);
}

// Standard input goes to standard output as it should be; a file is shown as a diff and replaced.
static bool deliver(const struct fix *fix, const char *path, struct span text,
                    const struct repair *repair, struct error *error)
{
    struct span repaired = buffer_span(&repair->text);
    if (strcmp(path, "-") == 0) {
        fwrite(repaired.data, 1, repaired.length, stdout);
        return true;
    }
    if (repair->outcome != REPAIR_REPAIRED)
        return true;
    CLEANUP_BUFFER struct buffer diff;
    buffer_init(&diff, BUFFER_DEFAULT_LIMIT);
    repair_diff(&diff, path, text, repaired);
    fwrite(buffer_text(&diff), 1, diff.length, stdout);
    return fix->check || file_change_write(path, repaired, 0, NULL, error);
}

static int fix_one(const struct fix *fix, const char *path)
{
    CLEANUP_BUFFER struct buffer text = {0}, base = {0};
    struct error error;
    if (!read_input(path, &text, &error) || !read_base(fix, path, &base, &error)) {
        fprintf(stderr, "cadre fix: %s\n", error.message);
        return EXIT_FAILURE;
    }
    struct repair repair;
    repair_init(&repair, buffer_span(&text), buffer_span(&base));
    print_notes(path, &repair);
    bool ok = deliver(fix, path, buffer_span(&text), &repair, &error);
    if (!ok)
        fprintf(stderr, "cadre fix: %s\n", error.message);
    bool is_fine =
        repair.outcome != REPAIR_REFUSED && !(repair.outcome == REPAIR_REPAIRED && fix->check);
    repair_release(&repair);
    return ok && is_fine ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_fix(int argc, char **argv)
{
    struct fix fix = {0};
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_FIX, argc, argv);
    int option, status = EXIT_SUCCESS;
    while ((option = option_reader_next(&reader)) > 0) {
        fix.check = fix.check || option == OPTION_CHECK;
        if (option == OPTION_BASE)
            fix.base = reader.argument;
    }
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count == 0) {
        fputs("cadre fix: name files, or - for standard input; see cadre fix --help\n", stderr);
        return EXIT_USAGE;
    }
    if (fix.base && reader.word_count > 1) {
        fputs("cadre fix: --base is the earlier version of one file\n", stderr);
        return EXIT_USAGE;
    }
    for (int i = 0; i < reader.word_count; i++)
        if (fix_one(&fix, reader.words[i]) != EXIT_SUCCESS)
            status = EXIT_FAILURE;
    return status;
}
