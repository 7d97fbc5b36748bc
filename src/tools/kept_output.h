// Output that was too long for its answer, whole, for the tool read-output: of each session the
// newest 64 MB, in unlinked files. All clients of a workspace share those of its sessions.
#pragma once

#include "base/span.h"
#include "tools/tools.h"

struct kept_output;

// The output of one evaluation while it comes. Small output stays in memory.
struct kept_output *kept_output_new(void);
void kept_output_free(struct kept_output *output);
// Keeps the beginning when there is more than 64 MB.
void kept_output_add(struct kept_output *output, struct span text);
size_t kept_output_characters(const struct kept_output *output);

// Keeps it as the output of an evaluation, or with "" for the session of a program; the oldest may
// have to go. Appends the line that says how to read it, unless `text` is NULL. `shown` is what the
// answer has of it, or empty.
void kept_output_store(struct tools *tools, struct kept_output *output, const char *session,
                       int64_t evaluation, struct span shown, struct buffer *text);

// --- the kept ones -------------------------------------------------------------------------------

struct output_store *output_store_new(void);
void output_store_free(struct output_store *store);
// A session is removed with all that is kept of it.
void output_store_forget(struct output_store *store, const char *session);

struct output_page {
    const char *match;    // only lines that contain it, with their numbers; NULL: all
    size_t from, lines;   // the first line, and how many
    size_t room;          // bytes of the page; a longer line is cut
    struct buffer *text;  // without the newline of the last line
    int64_t evaluation;
    size_t total;  // lines that there are
    size_t shown;  // lines in the text
    size_t next;   // the first line that is not shown; 0: there is none
};

// A page of the output of an evaluation, 0 = of the newest. False: none is kept.
bool output_store_read(struct output_store *store, const char *session, int64_t evaluation,
                       struct output_page *page);
