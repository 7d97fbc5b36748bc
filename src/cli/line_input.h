// Lines of standard input, for the REPL and for the code that is evaluated: they take them in turn.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

struct line_input {
    int fd;
    struct buffer text;  // read and not taken
    bool ended;          // at the last read; a terminal may go on after it
};

void line_input_init(struct line_input *input, int fd);
void line_input_release(struct line_input *input);

// Reads once; may wait. A failure counts as the end.
void line_input_fill(struct line_input *input);
// Appends the next line with its newline, or what is left before the end, as valid UTF-8. False:
// there is none yet, or no more when `ended`.
bool line_input_take(struct line_input *input, struct buffer *line);
