// Colours for texts on a terminal: values, errors, warnings, headings, prompts. Nothing is coloured
// when the output is no terminal, TERM is "dumb" or NO_COLOR is set (https://no-color.org).
#pragma once

#include <stdbool.h>

#include "base/buffer.h"

enum style { STYLE_PLAIN, STYLE_VALUE, STYLE_ERROR, STYLE_WARNING, STYLE_HEADING, STYLE_FAINT };

// May texts on this descriptor be coloured?
bool style_wanted(int descriptor);
// The sequence that begins a style; STYLE_PLAIN ends any.
const char *style_sequence(enum style style);
// Appends the text of an answer (tools/result/result_text.h), coloured by its sections.
void style_answer(struct buffer *out, struct span text);
