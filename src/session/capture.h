// What the processes of a session write to one of their output descriptors. The beginning and the
// end are kept, counted in characters: a flood costs time, not memory. The pipes themselves are in
// session/link.h.
//
// The text is made valid UTF-8 on the way in (undecodable bytes become U+FFFD, also across reads).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct capture;

enum { CAPTURE_LAST_BYTES = 4096 };

// Gets the text as it arrives, valid UTF-8, all of it.
typedef void capture_listener_fn(void *data, const struct capture *capture, struct span text);

struct capture {
    size_t max_characters;
    struct buffer head;  // the first max - max/4 characters
    size_t head_characters;
    struct buffer tail;  // the newest ones, at least the last max/4
    size_t tail_characters;
    uint64_t dropped;  // characters dropped between head and tail
    char partial[4];   // an incomplete character at the end of the last read
    size_t partial_length;
    char last[CAPTURE_LAST_BYTES];  // the last raw bytes, not limited by max_characters
    size_t last_length;
    capture_listener_fn *listener;  // or NULL
    void *listener_data;
};

void capture_init(struct capture *capture, size_t max_characters);
void capture_release(struct capture *capture);
// In force for what arrives from now on.
void capture_set_limit(struct capture *capture, size_t max_characters);

// From now on; what has been captured and not moved yet is handed over first.
void capture_listen(struct capture *capture, capture_listener_fn *listener, void *data);

void capture_add(struct capture *capture, const char *data, size_t length);
// Has it so many characters that it would drop some of the next?
bool capture_is_full(const struct capture *capture);
// How many characters capture_move() would append of the text.
size_t capture_characters(const struct capture *capture);
// Drops what is between the beginning and the end, until `keep` characters are left.
void capture_shrink(struct capture *capture, size_t keep);
// Appends the kept text (with the line about what is missing) to `text`, returns the number of
// missing characters, and starts anew.
uint64_t capture_move(struct capture *capture, struct buffer *text);
// The same, but the last bytes stay known: the reason of a process that has just died may be there.
void capture_move_text(struct capture *capture, struct buffer *text);
// Appends the last CAPTURE_LAST_BYTES bytes, made valid UTF-8.
void capture_last(const struct capture *capture, struct buffer *text);
// The newest line, complete or not, without its newline; at most `max_bytes`, cut at the front.
struct span capture_newest_line(const struct capture *capture, size_t max_bytes);
