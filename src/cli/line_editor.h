// Reads lines from the user: editing, history and completion by libedit when standard input is a
// terminal, plain lines otherwise. The history is kept in a file.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

struct line_editor;

// Completes the word before the cursor: appends the text to insert to `insertion`; when several
// completions remain, appends their names, separated by spaces, to `choices`.
typedef void line_complete_fn(void *data, struct span word, struct buffer *insertion,
                              struct buffer *choices);

struct line_editor *line_editor_new(const char *history_file, line_complete_fn *complete,
                                    void *data);
void line_editor_free(struct line_editor *editor);
bool line_editor_is_terminal(const struct line_editor *editor);

enum line_result { LINE_READ, LINE_CANCELLED, LINE_END };

// Appends one line with its newline. LINE_CANCELLED: Ctrl-C. LINE_END: end of input.
enum line_result line_editor_read(struct line_editor *editor, const char *prompt,
                                  struct buffer *ret_line);
// Adds an input of one or more lines to the history.
void line_editor_remember(struct line_editor *editor, struct span input);
