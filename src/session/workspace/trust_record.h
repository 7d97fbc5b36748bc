// What the user has said of the files of workspaces: trust.json of the state directory. It is believed
// only as long as nobody else can write it.
#pragma once

#include "base/error.h"
#include "value/value.h"

// Maps from the path of a workspace to a map from file to hash.
struct trust_record {
    value trusted;
    value declined;  // not trusted, and not to be asked about again
};

// False with a message. Empty where there is no file.
bool trust_record_read(struct region *region, struct trust_record *ret_record, struct error *error);
bool trust_record_write(struct region *region, const struct trust_record *record,
                        struct error *error);
// For reading and writing in one go: until the descriptor is closed no other process does. Negative with
// a message.
int trust_record_lock(struct error *error);
