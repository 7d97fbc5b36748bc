// Asking the person whether the files of a workspace count, where a client can show a question. What
// is trusted is what the question was about: a digest of the files goes with it, and an answer counts
// only as long as they are the same.
#pragma once

#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"

enum { TRUST_DIGEST_SIZE = 2 * 32 + 1 };  // hexadecimal

struct trust_question {
    struct buffer text;  // for the person; empty: there is nothing to ask about
    char digest[TRUST_DIGEST_SIZE];
};

// About the files of .cadre that are, as they are now, neither trusted nor declined, and .mcp.json if
// `with_servers`. The text is initialised and the caller's. False with a message.
bool trust_question_read(const char *workspace, bool with_servers,
                         struct trust_question *ret_question, struct error *error);

// The answer to the question with this digest: all files it was about are trusted, or, until they
// change, not asked about again. False with a message: the files have changed since, or the answer
// cannot be recorded.
bool trust_question_answer(const char *workspace, bool with_servers, const char *digest,
                           bool is_trusted, struct error *error);
