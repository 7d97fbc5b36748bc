// Programs that are kept under names in a workspace, .cadre/programs/NAME.clj, and called like tools:
// (saved/NAME {…}). The arguments are the program's context. What stands in comments before the program
// describes it; a line ";; signature: …" has its types:
//
//     ;; The open issues of a week.
//     ;; signature: (week :int) -> {:open :int}
//     (tracker/list-issues {:week ctx/week})
//
// Only files that are trusted count (session/workspace/trust.h); one that save-program writes is. Files
// are read and written in the background.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

enum { SAVED_PROGRAMS_MAX = 200, SAVED_NAME_MAX = 64, SAVED_SOURCE_MAX = 256 << 10 };

struct background;
struct saved_programs;

// Does a program call saved ones?
bool saved_programs_are_named(struct span source);
// "saved", or the name of a saved program as programs write it; whether there is one is another question.
bool saved_programs_has_name(struct span name);

// The programs of a workspace (NULL: none). For any thread.
struct saved_programs *saved_programs_read(const char *workspace);
void saved_programs_free(struct saved_programs *programs);

// The same in the background: `done` is called from the loop, and owns them. False: too much waits there.
typedef void saved_programs_fn(void *data, struct saved_programs *programs);
bool saved_programs_load(struct background *background, const char *workspace,
                         saved_programs_fn *done, void *data);

// Appends the sources of the programs that the source calls, and that those call; of all with `all`.
void saved_programs_append_sources(struct saved_programs *programs, struct span source, bool all,
                                   struct buffer *text);
// The tools of a run with these programs, by the names that a program writes; those that cannot be called
// fail, and say why. Without `allowed`, a vector of names, all of them. For people with `problem`.
value saved_programs_add(const struct saved_programs *programs, struct region *region, value tools,
                         struct span source, value allowed);

// A program to be kept.
struct saved_text {
    struct span name, description, source, signature;
};
// Checks name, sizes and signature.
bool saved_program_check(const struct saved_text *text, struct error *error);
// Writes the file and trusts it. `done` is called from the loop, with the failure or NULL.
typedef void saved_program_fn(void *data, const struct error *failure);
bool saved_program_save(struct background *background, const char *workspace,
                        const struct saved_text *text, saved_program_fn *done, void *data,
                        struct error *error);
