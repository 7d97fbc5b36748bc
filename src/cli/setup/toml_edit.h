// Edits a table of a TOML file as text: what is not changed stays byte for byte.
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

// Sets the table [outer.name] to the members of the map: strings, vectors of strings, booleans,
// integers, maps of strings. Its sub-tables stay. False with a message: the file has the table in
// another form than under a header.
bool toml_set(struct span text, const char *outer, const char *name, value members,
              struct buffer *ret_text, struct error *error);
// Removes [outer.name] and its sub-tables.
bool toml_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text,
                 struct error *error);
