#include "cli/table/completion.h"

#include <string.h>

#include "cli/table/command_table.h"

static const char *dashes(const struct option_row *row)
{
    return option_is_short(row) ? "-" : "--";
}

static bool belongs_to(const struct option_row *row, const struct subcommand_row *subcommand)
{
    return !row->subcommands || !subcommand ||
           option_list_contains(row->subcommands, span_from(subcommand->name));
}

// Prints the text; a backslash goes before each of the special characters.
static void print_escaped(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

// Inside single quotes of a shell that has no escapes there.
static void print_quoted(FILE *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\'", out);
        else if (strchr(special, *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

// --- bash ----------------------------------------------------------------------------------------

static const char bash_start[] =
    "# Completion of cadre for bash.\n"
    "_cadre()\n"
    "{\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]} subcommand=${COMP_WORDS[2]} choices='' files=''\n"
    "    COMPREPLY=()\n"
    "    if [[ $current == = ]]; then\n"
    "        current=''\n"
    "    elif [[ $previous == = ]]; then\n"
    "        previous=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    ((COMP_CWORD == 1)) && command='' previous=''\n"
    "    ((COMP_CWORD == 2)) && subcommand=''\n"
    "    case \"$command $previous\" in\n";

static const char bash_end[] =
    "    esac\n"
    "    [[ -n $choices ]] && mapfile -t COMPREPLY < <(compgen -W \"$choices\" -- \"$current\")\n"
    "    if [[ -n $files && $current != -* ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \"$files\" -- \"$current\")\n"
    "    fi\n"
    "}\n"
    "complete -F _cadre cadre\n";

static void print_bash_value(FILE *out, enum option_type type, const char *choices)
{
    if (choices)
        fprintf(out, "choices='%s'", choices);
    else
        fprintf(out, "files=%s",
                type == OPTION_PATH        ? "-f"
                : type == OPTION_DIRECTORY ? "-d"
                                           : "''");
}

static void print_bash_option_values(FILE *out, const struct command_row *command)
{
    for (const struct option_row *row = command->options; row->name; row++) {
        if (!row->argument)
            continue;
        fprintf(out, "    '%s %s%s') ", command->name, dashes(row), row->name);
        print_bash_value(out, row->type, row->choices);
        fputs(" ;;\n", out);
    }
}

static void print_bash_options(FILE *out, const struct command_row *command,
                               const struct subcommand_row *subcommand)
{
    for (const struct option_row *row = command->options; row->name; row++)
        if (belongs_to(row, subcommand))
            fprintf(out, " %s%s", dashes(row), row->name);
}

// Options of all subcommands may stand before them.
static void print_bash_shared_options(FILE *out, const struct command_row *command)
{
    for (const struct option_row *row = command->options; row->name; row++)
        if (!row->subcommands)
            fprintf(out, " %s%s", dashes(row), row->name);
}

static void print_bash_subcommands(FILE *out, const struct command_row *command)
{
    fprintf(out, "    '%s '*)\n        case $subcommand in\n        '') choices='", command->name);
    for (const struct subcommand_row *each = command->subcommands; each->name; each++)
        fprintf(out, "%s ", each->name);
    print_bash_shared_options(out, command);
    fputs("' ;;\n", out);
    for (const struct subcommand_row *each = command->subcommands; each->name; each++) {
        fprintf(out, "        %s) choices='", each->name);
        print_bash_options(out, command, each);
        fputs("' ;;\n", out);
    }
    fputs("        esac ;;\n", out);
}

static void print_bash_words(FILE *out, const struct command_row *command)
{
    fprintf(out, "    '%s '*) choices='", command->name);
    print_bash_options(out, command, NULL);
    if (command->operand.choices)
        fprintf(out, " %s", command->operand.choices);
    fputc('\'', out);
    if (command->operand.taken && !command->operand.choices) {
        fputs(" ", out);
        print_bash_value(out, command->operand.type, NULL);
    }
    fputs(" ;;\n", out);
}

void completion_print_bash(FILE *out)
{
    fputs(bash_start, out);
    fputs("    ' ') choices='", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "%s ", command_table[i].name);
    fputs("help --help --version' ;;\n", out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        print_bash_option_values(out, &command_table[i]);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (command_table[i].subcommands)
            print_bash_subcommands(out, &command_table[i]);
        else
            print_bash_words(out, &command_table[i]);
    fputs(bash_end, out);
}

// --- zsh -----------------------------------------------------------------------------------------

static void print_zsh_value(FILE *out, enum option_type type, const char *choices)
{
    if (choices)
        fprintf(out, "(%s)", choices);
    else if (type == OPTION_PATH)
        fputs("_files", out);
    else if (type == OPTION_DIRECTORY)
        fputs("_files -/", out);
}

static void print_zsh_option(FILE *out, const struct option_row *row)
{
    fprintf(out, " \\\n            '%s%s%s%s[", row->repeatable ? "*" : "", dashes(row), row->name,
            row->argument && !option_is_short(row) ? "=" : "");
    print_quoted(out, row->summary, "[]:\\");
    fputc(']', out);
    if (row->argument) {
        fputc(':', out);
        print_quoted(out, row->argument, "[]:\\");
        fputc(':', out);
        print_zsh_value(out, row->type, row->choices);
    }
    fputc('\'', out);
}

static void print_zsh_subcommands(FILE *out, const struct command_row *command)
{
    fputs("        if (( CURRENT == 2 )); then\n"
          "            local -a subcommands=(",
          out);
    for (const struct subcommand_row *each = command->subcommands; each->name; each++) {
        fprintf(out, "\n                '%s:", each->name);
        print_quoted(out, each->summary, ":\\");
        fputc('\'', out);
    }
    fputs(")\n"
          "            _describe -t commands command subcommands\n"
          "            return\n"
          "        fi\n",
          out);
}

static void print_zsh_command(FILE *out, const struct command_row *command)
{
    fprintf(out, "    %s)\n", command->name);
    if (command->subcommands)
        print_zsh_subcommands(out, command);
    fputs("        _arguments -s", out);
    for (const struct option_row *row = command->options; row->name; row++)
        print_zsh_option(out, row);
    if (command->operand.taken) {
        fputs(" \\\n            '*:argument:", out);
        print_zsh_value(out, command->operand.type, command->operand.choices);
        fputc('\'', out);
    }
    fputs(" ;;\n", out);
}

void completion_print_zsh(FILE *out)
{
    fputs("#compdef cadre\n"
          "# Completion of cadre for zsh.\n"
          "_cadre()\n"
          "{\n"
          "    local curcontext=$curcontext state line\n"
          "    local -a commands=(",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        fprintf(out, "\n        '%s:", command_table[i].name);
        print_quoted(out, command_table[i].summary, ":\\");
        fputc('\'', out);
    }
    fputs(")\n"
          "    _arguments -C '(- *)--help[list the commands]' '(- *)--version[print the version]' "
          "\\\n        '1:command:->command' '*::argument:->argument'\n"
          "    if [[ $state == command ]]; then\n"
          "        _describe -t commands command commands\n"
          "        return\n"
          "    fi\n"
          "    [[ $state == argument ]] || return\n"
          "    case $words[1] in\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        print_zsh_command(out, &command_table[i]);
    fputs("    esac\n"
          "}\n"
          "_cadre \"$@\"\n",
          out);
}

// --- fish ----------------------------------------------------------------------------------------

static void print_fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    print_escaped(out, text, "'\\");
    fputc('\'', out);
}

static void print_fish_value(FILE *out, enum option_type type, const char *choices)
{
    if (choices)
        fprintf(out, " -x -a '%s'", choices);
    else if (type == OPTION_PATH)
        fputs(" -r -F", out);
    else if (type == OPTION_DIRECTORY)
        fputs(" -x -a '(__fish_complete_directories)'", out);
    else
        fputs(" -x", out);
}

static void print_fish_option(FILE *out, const struct command_row *command,
                              const struct option_row *row)
{
    fprintf(out, "complete -c cadre -n '__fish_seen_subcommand_from %s", command->name);
    if (row->subcommands)
        fprintf(out, "; and __fish_seen_subcommand_from %s", row->subcommands);
    fprintf(out, "' -%c %s", option_is_short(row) ? 's' : 'l', row->name);
    if (row->argument)
        print_fish_value(out, row->type, row->choices);
    fputs(" -d ", out);
    print_fish_text(out, row->summary);
    fputc('\n', out);
}

static void print_fish_subcommands(FILE *out, const struct command_row *command)
{
    for (const struct subcommand_row *each = command->subcommands; each->name; each++) {
        fprintf(out,
                "complete -c cadre -n '__fish_seen_subcommand_from %s; and test (count "
                "(commandline -opc)) -eq 2' -a %s -d ",
                command->name, each->name);
        print_fish_text(out, each->summary);
        fputc('\n', out);
    }
}

void completion_print_fish(FILE *out)
{
    fputs("# Completion of cadre for fish.\n"
          "complete -c cadre -f\n"
          "complete -c cadre -n __fish_use_subcommand -l help -d 'list the commands'\n"
          "complete -c cadre -n __fish_use_subcommand -l version -d 'print the version'\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        const struct command_row *command = &command_table[i];
        fprintf(out, "complete -c cadre -n __fish_use_subcommand -a %s -d ", command->name);
        print_fish_text(out, command->summary);
        fputc('\n', out);
        if (command->subcommands)
            print_fish_subcommands(out, command);
        for (const struct option_row *row = command->options; row->name; row++)
            print_fish_option(out, command, row);
        if (command->operand.taken) {
            fprintf(out, "complete -c cadre -n '__fish_seen_subcommand_from %s'", command->name);
            print_fish_value(out, command->operand.type, command->operand.choices);
            fputc('\n', out);
        }
    }
}
