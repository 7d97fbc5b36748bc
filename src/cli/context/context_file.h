// `--file F[:A[-B]]`: a whole file, or some of its lines.
#pragma once

#include "base/buffer.h"
#include "context/item.h"

struct context_file {
    char *name;  // as typed, without the range
    struct buffer data;
    struct span content;  // inside data
    int64_t start_line;   // 0 = the whole file
    int64_t end_line;
    bool clamped;                        // the range asked for lines beyond the end
    char message[CONTEXT_MESSAGE_SIZE];  // says so
};

// A file with the literal name wins over a range. invalid-argument when it cannot be read, or when
// the range begins beyond its end.
bool context_file_read(const char *argument, size_t limit, struct context_file *ret_file,
                       struct context_error *error);
// Does the name of a file say that it is prose (.md, .txt and the like) and not code?
bool context_name_is_prose(struct span name);
// Whether a text has another one in it; the case of ASCII letters does not matter.
bool context_text_has(struct span text, struct span wanted);
void context_file_release(struct context_file *file);
#define CLEANUP_CONTEXT_FILE __attribute__((cleanup(context_file_release)))
