// Lines from a person: editing, history and completion by libedit when standard input is a terminal,
// plain lines otherwise. History is kept in a file between uses.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

struct line_editor;

// Completes the word before the cursor: appends what is to be inserted to `insertion`; when several
// completions remain, their names, separated by spaces, to `choices`.
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
// Adds an input, of several lines perhaps, to the history.
void line_editor_remember(struct line_editor *editor, struct span input);
