// Reads lines from the user: editing, history, completion and help by libedit when standard input
// is a terminal, plain lines otherwise. The history is kept in a file.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "cli/line_input.h"

struct line_editor;

struct line_editor_help {
    // Completes the word before the cursor, the first one of the input or not: appends the text to
    // insert to `insertion`; when several completions remain, appends their names, separated by
    // blanks, to `choices`.
    void (*complete)(void *data, struct span word, bool first, struct buffer *insertion,
                     struct buffer *choices);
    // Appends what helps to go on after this text, if anything does: one line.
    void (*hint)(void *data, struct span text, struct buffer *hint);
    // The offset of the parenthesis that the last character of the text closes; false: none.
    bool (*match)(void *data, struct span text, size_t *ret_offset);
    // What may have something to say while a line is typed, -1: nothing; and says it, in whole lines.
    // NULL: there is none.
    int (*descriptor)(void *data);
    void (*hear)(void *data);
    void *data;
};

// `coloured`: prompts are.
struct line_editor *line_editor_new(const char *history_file, struct line_input *input,
                                    const struct line_editor_help *help, bool coloured);
void line_editor_free(struct line_editor *editor);
bool line_editor_is_terminal(const struct line_editor *editor);

enum line_result { LINE_READ, LINE_CANCELLED, LINE_END };

// Appends one line with its newline to the lines before it, after `indentation` blanks that the user
// finds there. LINE_CANCELLED: Ctrl-C. LINE_END: end of input.
enum line_result line_editor_read(struct line_editor *editor, const char *prompt,
                                  size_t indentation, struct buffer *lines);
// Adds an input of one or more lines to the history.
void line_editor_remember(struct line_editor *editor, struct span input);
