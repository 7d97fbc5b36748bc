#include "cli/table/manual.h"

#include <ctype.h>
#include <string.h>

#include "config.h"

// --- roff ----------------------------------------------------------------------------------------

// Text of one line: a hyphen stays a hyphen, nothing is taken for a request.
static void print_text(FILE *out, struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        bool first = i == 0 || text.data[i - 1] == '\n';
        if (first && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else if (c == '\'')
            fputs("\\(aq", out);
        else if (c == '`')
            fputs("\\(ga", out);
        else if (c == '^')
            fputs("\\(ha", out);
        else if (c == '~')
            fputs("\\(ti", out);
        else
            fputc(c, out);
    }
}

static void print_line(FILE *out, const char *text)
{
    print_text(out, span_from(text));
    fputc('\n', out);
}

static void print_heading(FILE *out, const char *name)
{
    fprintf(out, ".SH %s\n", name);
}

static void print_paragraphs(FILE *out, const char *text)
{
    for (bool first = true; text && *text; first = false) {
        size_t length = strcspn(text, "\n");
        if (!first)
            fputs(".PP\n", out);
        print_text(out, (struct span){text, length});
        fputc('\n', out);
        text += length + strspn(text + length, "\n");
    }
}

static void print_sentence(FILE *out, const char *text)
{
    print_text(out, span_from(text));
    fputs(".\n", out);
}

static void print_code(FILE *out, const char *lines)
{
    fputs(".nf\n", out);
    print_text(out, span_from(lines));
    fputs(".fi\n", out);
}

static void print_title(FILE *out, const char *command)
{
    fputs(".TH CADRE", out);
    if (*command)
        fputs("\\-", out);
    for (const char *c = command; *c; c++)
        fputc(toupper(*c), out);
    fprintf(out, " 1 \"\" \"Cadre %s\" \"User Commands\"\n", CADRE_VERSION);
}

// --- a command -----------------------------------------------------------------------------------

static void print_option(FILE *out, const struct option_row *row)
{
    fputs(".TP\n\\fB", out);
    print_text(out, span_from(option_is_short(row) ? "-" : "--"));
    print_text(out, span_from(row->name));
    fputs("\\fR", out);
    if (row->argument) {
        fputs(" \\fI", out);
        print_text(out, span_from(row->argument));
        fputs("\\fR", out);
    }
    fputc('\n', out);
    print_sentence(out, row->id == OPTION_HELP ? "Print the help text" : row->summary);
}

static void print_subcommands(FILE *out, const struct command_row *command)
{
    print_heading(out, "COMMANDS");
    for (const struct subcommand_row *each = command->subcommands; each->name; each++) {
        fputs(".TP\n\\fB", out);
        print_text(out, span_from(each->name));
        fputs("\\fR ", out);
        print_line(out, each->arguments);
        print_sentence(out, each->summary);
        fputs(".RS\n", out);
        for (const struct option_row *row = command->options; row->name; row++)
            if (row->subcommands && option_list_contains(row->subcommands, span_from(each->name)))
                print_option(out, row);
        fputs(".RE\n", out);
    }
}

static void print_usage(FILE *out, const struct command_row *command)
{
    const char *line = command->usage;
    for (bool first = true; line; first = false) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%s\\fBcadre %s\\fR ", first ? "" : ".br\n", command->name);
        print_text(out, (struct span){line, length});
        fputc('\n', out);
        line = line[length] ? line + length + 1 : NULL;
    }
}

static bool is_configurable(const struct command_row *command)
{
    for (const struct option_row *row = command->options; row->name; row++)
        if (row->source != FROM_COMMAND_LINE)
            return true;
    return false;
}

static void print_configurable(FILE *out, const struct command_row *command)
{
    if (!is_configurable(command))
        return;
    print_heading(out, "CONFIGURATION");
    fputs("These options may also be set in configuration files and in the environment; see\n"
          ".BR cadre\\-config (1):\n",
          out);
    bool first = true;
    for (const struct option_row *row = command->options; row->name; row++) {
        if (row->source == FROM_COMMAND_LINE)
            continue;
        fputs(first ? "" : ",\n", out);
        print_text(out, span_from(row->name));
        first = false;
    }
    fputs(".\n", out);
}

void manual_print_command(FILE *out, const struct command_row *command)
{
    print_title(out, command->name);
    print_heading(out, "NAME");
    fprintf(out, "cadre\\-%s \\- ", command->name);
    print_line(out, command->summary);
    print_heading(out, "SYNOPSIS");
    print_usage(out, command);
    print_heading(out, "DESCRIPTION");
    print_paragraphs(out, command->description);
    if (command->subcommands)
        print_subcommands(out, command);
    print_heading(out, "OPTIONS");
    for (const struct option_row *row = command->options; row->name; row++)
        if (!row->subcommands)
            print_option(out, row);
    print_configurable(out, command);
    if (command->notes) {
        print_heading(out, "NOTES");
        print_paragraphs(out, command->notes);
    }
    print_heading(out, "EXAMPLES");
    print_code(out, command->examples);
    print_heading(out, "SEE ALSO");
    fputs(".BR cadre (1)\n", out);
}

// --- all of them ---------------------------------------------------------------------------------

void manual_print(FILE *out)
{
    print_title(out, "");
    print_heading(out, "NAME");
    fputs("cadre \\- the Lisp machine for AI agents\n", out);
    print_heading(out, "SYNOPSIS");
    fputs("\\fBcadre\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n", out);
    print_heading(out, "DESCRIPTION");
    print_paragraphs(out, "Cadre gives agents and people live Common Lisp sessions in which no "
                          "evaluation can lose the state, small sandboxed programs that call "
                          "tools, and items of context for prompts. It serves them over MCP and "
                          "on the command line.");
    print_heading(out, "COMMANDS");
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, ".TP\n.BR cadre\\-%s (1)\n", command_table[i].name);
        print_sentence(out, command_table[i].summary);
    }
    print_heading(out, "OPTIONS");
    fputs(".TP\n\\fB\\-\\-help\\fR\nList the commands.\n"
          ".TP\n\\fB\\-\\-version\\fR\nPrint the version.\n",
          out);
    print_heading(out, "FILES");
    fputs(".TP\n.I $XDG_CONFIG_HOME/cadre/config.json\nConfiguration of the user.\n"
          ".TP\n.I .cadre/config.json\nConfiguration of a workspace, used once it is trusted.\n"
          ".TP\n.I $XDG_STATE_HOME/cadre/\nContext items, history, trusted workspaces.\n",
          out);
    print_heading(out, "EXIT STATUS");
    fputs("0 success, 1 failure, 2 wrong usage, 3 a run of\n.B cadre run\nwaits for an answer.\n",
          out);
}
