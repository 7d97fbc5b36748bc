#include "cli/table/help.h"

#include <string.h>

enum {
    WIDTH = 84,       // of a line
    COLUMN_MAX = 26,  // of what stands before a summary
    NAME_SIZE = 64,
};

static void print_indent(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

// Words of one paragraph from the present column on; further lines start at `indent`.
static void print_words(FILE *out, struct span text, size_t column, size_t indent)
{
    bool first = true;
    for (size_t at = 0; at < text.length;) {
        size_t length = 0;
        while (at + length < text.length && text.data[at + length] != ' ')
            length++;
        if (!first && column + 1 + length > WIDTH) {
            fputc('\n', out);
            print_indent(out, indent);
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", (int)length, text.data + at);
        column += length + !first;
        first = false;
        at += length + 1;
    }
    fputc('\n', out);
}

static void print_paragraphs(FILE *out, const char *text)
{
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        fputc('\n', out);
        print_words(out, (struct span){text, length}, 0, 0);
        text += length + strspn(text + length, "\n");
    }
}

static void print_row(FILE *out, size_t indent, size_t column, const char *name,
                      const char *summary)
{
    print_indent(out, indent);
    fputs(name, out);
    size_t used = indent + strlen(name);
    if (used + 2 > column) {
        fputc('\n', out);
        used = 0;
    }
    print_indent(out, column - used);
    print_words(out, span_from(summary), column, column);
}

static void option_label(const struct option_row *row, char label[NAME_SIZE])
{
    snprintf(label, NAME_SIZE, "%s%s%s%s", option_is_short(row) ? "-" : "--", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
}

static void subcommand_label(const struct subcommand_row *row, char label[NAME_SIZE])
{
    snprintf(label, NAME_SIZE, "%s%s%s", row->name, *row->arguments ? " " : "", row->arguments);
}

// Where summaries start: behind the longest label that is not too long.
static size_t summary_column(const struct command_row *command)
{
    size_t widest = 0;
    char label[NAME_SIZE];
    for (const struct option_row *row = command->options; row->name; row++) {
        option_label(row, label);
        size_t length = strlen(label) + (command->subcommands ? 4 : 0);
        widest = length > widest && length <= COLUMN_MAX ? length : widest;
    }
    return widest + 4;
}

static bool is_option_of(const struct option_row *row, const char *subcommand)
{
    return row->subcommands && option_list_contains(row->subcommands, span_from(subcommand));
}

static void print_subcommands(FILE *out, const struct command_row *command, size_t column)
{
    char label[NAME_SIZE];
    for (const struct subcommand_row *each = command->subcommands; each->name; each++) {
        subcommand_label(each, label);
        print_row(out, 2, column, label, each->summary);
        for (const struct option_row *row = command->options; row->name; row++) {
            if (!is_option_of(row, each->name))
                continue;
            option_label(row, label);
            print_row(out, 6, column, label, row->summary);
        }
    }
    fputc('\n', out);
}

static void print_usage(FILE *out, const struct command_row *command)
{
    const char *prefix = "usage:";
    for (const char *line = command->usage; line; prefix = "      ") {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%s cadre %s %.*s\n", prefix, command->name, (int)length, line);
        line = line[length] ? line + length + 1 : NULL;
    }
}

void help_print_command(FILE *out, const struct command_row *command)
{
    char label[NAME_SIZE];
    size_t column = summary_column(command);
    print_usage(out, command);
    print_paragraphs(out, command->description);
    fputc('\n', out);
    if (command->subcommands)
        print_subcommands(out, command, column);
    for (const struct option_row *row = command->options; row->name; row++) {
        if (row->subcommands)
            continue;
        option_label(row, label);
        print_row(out, 2, column, label, row->summary);
    }
    print_paragraphs(out, command->notes);
}

void help_print(FILE *out)
{
    fputs("cadre: the Lisp machine for AI agents\n\nusage: cadre COMMAND [ARGUMENT...]\n\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-8s  %s\n", command_table[i].name, command_table[i].summary);
    fputs("\n`cadre COMMAND --help` explains a command; `cadre --version` prints the version.\n",
          out);
}
