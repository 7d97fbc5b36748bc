// What a workspace may decide: its files (configuration, start-up code, programs, servers) count
// only after its person said so. The hashes of what was trusted are in trust.json of the user's
// state directory; a file that changed since then is not trusted until the person says so again.
// Files of a workspace are hostile: they are read without following symbolic links, up to a limit,
// and what was read is what was hashed.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

enum trust {
    TRUST_ABSENT,   // there is no such file
    TRUST_NEVER,    // it was never trusted
    TRUST_CHANGED,  // it was, with another content
    TRUST_GIVEN,
};

enum {
    TRUST_FILE_LIMIT = 1 << 20,  // bytes of one file
    TRUST_FILES_MAX = 1000,      // of one workspace
};

// "absent", "not trusted", "changed since it was trusted", "trusted"
const char *trust_name(enum trust trust);

// Reads a file of the workspace and says whether that content is trusted. `workspace` is a real
// path, `name` relative to it. The buffer is initialised and the caller's. False with a message: the
// file or the list of trusted files cannot be read.
bool trust_read(const char *workspace, const char *name, struct buffer *ret_content,
                enum trust *ret_trust, struct error *error);

// Trusts the files that are there now, instead of those trusted before. *ret_count says how many.
bool trust_add(const char *workspace, size_t *ret_count, struct error *error);
// Trusts one file more, with this content.
bool trust_add_file(const char *workspace, const char *name, struct span content,
                    struct error *error);
// *ret_found: whether it was trusted.
bool trust_remove(const char *workspace, bool *ret_found, struct error *error);

// The trusted workspaces: a map from path to a map from file to hash.
bool trust_list(struct region *region, value *ret_workspaces, struct error *error);
// The files of a workspace that count when trusted, as a vector of names, in order.
bool trust_files(struct region *region, const char *workspace, value *ret_names,
                 struct error *error);
// Their hashes: a map from name to hash, without those that are gone meanwhile.
bool trust_hash_files(struct region *region, const char *workspace, value names, value *ret_hashes,
                      struct error *error);
