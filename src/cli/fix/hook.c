// `cadre hook claude`: what an editor hook of Claude Code runs after a file was written. A file of Lisp that
// was written whole is repaired; one that was edited is only checked: the editor believes that it knows
// the text. The hook's input is JSON on standard input, its answer JSON on standard output.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "cli/file_change.h"
#include "cli/fix/earlier_version.h"
#include "cli/table/option_reader.h"
#include "lisp_syntax/repair.h"
#include "value/text/json.h"

enum { INPUT_LIMIT = 64 << 20 };

static bool is_lisp(const char *path)
{
    static const char *const endings[] = {".lisp", ".lsp", ".cl", ".asd"};
    const char *ending = strrchr(path, '.');
    for (size_t i = 0; ending && i < COUNT_OF(endings); i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return false;
}

// Tells the model. "block" does not undo what was written: it is how a hook's words reach the model.
static void tell(struct span text)
{
    CLEANUP_BUFFER struct buffer answer;
    buffer_init(&answer, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&answer, "{\"decision\":\"block\",\"reason\":");
    json_write_string(&answer, text);
    buffer_append_text(&answer, "}\n");
    fwrite(buffer_text(&answer), 1, answer.length, stdout);
}

static void append_notes(struct buffer *out, const char *path, const struct repair *repair)
{
    for (size_t i = 0; i < repair->note_count; i++)
        buffer_append_format(out, "%s:%u: %s\n", path, repair->notes[i].line,
                             repair->notes[i].text);
}

static bool write_repair(const char *path, struct span text, const struct repair *repair,
                         struct buffer *out, struct error *error)
{
    if (!file_change_write(path, buffer_span(&repair->text), 0, NULL, error))
        return false;
    buffer_append_format(out,
                         "cadre repaired the parentheses of %s. Look whether it is as you "
                         "meant it, and read the file before you edit it:\n",
                         path);
    repair_diff(out, path, text, buffer_span(&repair->text));
    return true;
}

// Whether the file was indented otherwise than its parentheses say before it was written.
static bool was_doubtful(struct span base)
{
    struct repair repair;
    repair_init(&repair, base, (struct span){"", 0});
    bool doubtful = repair.outcome == REPAIR_DOUBTFUL;
    repair_release(&repair);
    return doubtful;
}

// What the model should know of the file; empty when all is well.
static bool examine(const char *path, bool may_write, struct buffer *out, struct error *error)
{
    CLEANUP_BUFFER struct buffer text = {0}, base = {0};
    bool exists, ok = true;
    if (!file_change_read(path, &text, &exists, error))
        return false;
    earlier_version_read(path, &base);
    struct repair repair;
    repair_init(&repair, buffer_span(&text), buffer_span(&base));
    if (repair.outcome == REPAIR_REPAIRED && may_write) {
        ok = write_repair(path, buffer_span(&text), &repair, out, error);
    } else if (repair.outcome == REPAIR_REPAIRED) {
        buffer_append_format(out, "The parentheses of %s are not balanced. This would mend it:\n",
                             path);
        repair_diff(out, path, buffer_span(&text), buffer_span(&repair.text));
    } else if (repair.outcome == REPAIR_REFUSED ||
               (repair.outcome == REPAIR_DOUBTFUL && !was_doubtful(buffer_span(&base)))) {
        buffer_append_format(out, "Look at the parentheses of %s:\n", path);
        append_notes(out, path, &repair);
    }
    repair_release(&repair);
    return ok;
}

static bool handle(struct region *region, struct span input, struct error *error)
{
    value event, name, path;
    if (!json_read(region, input, NULL, &event, error))
        return false;
    name = map_get(event, "tool_name");
    path = map_get(map_get(event, "tool_input"), "file_path");
    if (!value_is_string(name) || !value_is_string(path))
        return true;
    struct span text = value_text(path), tool = value_text(name);
    CLEANUP_FREE char *file = memory_copy_text(text.data, text.length);
    if (!is_lisp(file))
        return true;
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, BUFFER_DEFAULT_LIMIT);
    if (!examine(file, span_equal_text(tool, "Write"), &out, error))
        return false;
    if (out.length > 0)
        tell(buffer_span(&out));
    return true;
}

static int run(void)
{
    CLEANUP_BUFFER struct buffer input;
    struct error error = {0};
    buffer_init(&input, INPUT_LIMIT);
    int failed = buffer_append_descriptor(&input, STDIN_FILENO);
    struct region *region = region_new(SIZE_MAX);
    bool ok = failed == 0 && !input.failed
                  ? handle(region, buffer_span(&input), &error)
                  : error_set(&error, ERROR_SYSTEM, "cannot read standard input");
    region_free(region);
    if (!ok)
        fprintf(stderr, "cadre hook: %s\n", error.message);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int command_hook(int argc, char **argv)
{
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_HOOK, argc, argv);
    int option = option_reader_next(&reader);
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (reader.word_count == 1 && strcmp(reader.words[0], "claude") == 0)
        return run();
    fputs("cadre hook: name the client: claude\n", stderr);
    return EXIT_USAGE;
}
