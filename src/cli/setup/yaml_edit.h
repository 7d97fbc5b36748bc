// Edits one entry of a block mapping in a YAML file as text: what is not changed stays byte for byte.
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

// Sets outer.name to the members of the map: strings, vectors of strings, booleans, integers, maps of
// strings. False with a message: the file is written in a way that cannot be edited safely.
bool yaml_set(struct span text, const char *outer, const char *name, value members,
              struct buffer *ret_text, struct error *error);
// Removes outer.name.
bool yaml_remove(struct span text, const char *outer, const char *name, struct buffer *ret_text,
                 struct error *error);
