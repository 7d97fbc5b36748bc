// Marks around the line being edited, drawn beside the line editor's back: the partner of a
// parenthesis, and a hint on the line below. The cursor is left where it was.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/span.h"

// Can this terminal do it?
bool line_display_works(void);

// How far the cursor is from a character of the text before it, on the screen.
struct line_place {
    size_t rows_up;
    size_t column;  // from 0
    bool visible;
};

// `text` is all lines up to the cursor, each shown after a prompt of this width.
struct line_place line_display_locate(struct span text, size_t offset, size_t prompt_width);
void line_display_character(const struct line_place *place, char character, bool marked);

// Shows the text, cut to one line, below the cursor; removes all that is below it.
void line_display_hint(struct span text);
void line_display_clear_below(void);
