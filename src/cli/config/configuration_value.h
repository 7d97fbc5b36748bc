// One configured value: from JSON or an environment variable to the texts of an option.
#pragma once

#include "base/error.h"
#include "cli/table/command_table.h"
#include "value/value.h"

// Vectors of strings as the option takes them on the command line, checked; false with a message that
// begins with the option's name. Relative paths are seen from `base`, and ~/ is the home directory.
bool setting_from_json(struct region *region, const struct option_row *row, const char *base,
                       value item, value *ret_values, struct error *error);
// Several values are separated by commas.
bool setting_from_variable(struct region *region, const struct option_row *row, const char *text,
                           value *ret_values, struct error *error);

// Checks a number or a choice; false with a message that begins with the option's name.
bool setting_check(const struct option_row *row, struct span text, struct error *error);
// "true", "1", "yes", "on" and their opposites; false: neither.
bool setting_parse_flag(struct span text, bool *ret_flag);
// Whether `next` allows no more than `present`: an equal or later choice, a flag that is set.
bool setting_is_narrower(const struct option_row *row, struct span present, struct span next);
