// What code has shown by (cadre:show x), lisp/evaluate/show.lisp: images, SVG, Markdown. It comes from a process
// that user code may have corrupted, so all of it is checked here.
#pragma once

#include "session/session.h"
#include "tools/result/image.h"

enum {
    SHOWN_BYTES_MAX = 1000000,           // of one image or SVG
    SHOWN_BYTES_TOGETHER_MAX = 3 << 20,  // of the images of one answer
    SHOWN_ITEMS_MAX = 32,
};

enum shown_kind { SHOWN_IMAGE, SHOWN_SVG, SHOWN_MARKDOWN, SHOWN_REFUSED };

struct shown {
    enum shown_kind kind;
    struct span text;  // base64 of an image
    size_t bytes;      // of the image
    struct image image;
    struct error error;  // of SHOWN_REFUSED
};

struct shown_cursor {
    const struct session_reply *reply;
    size_t next;
    size_t bytes;       // of images so far
    size_t characters;  // of Markdown so far
};

// One after the other; false at the end.
bool shown_next(struct shown_cursor *cursor, struct shown *ret_shown);

// For a terminal: Markdown as it is, a line for anything else. With the gap before it.
void render_shown(struct buffer *text, const struct session_reply *reply);
// `[image/png, 640 × 480 pixels, 12,345 bytes]`
void render_shown_image(struct buffer *text, const struct shown *shown);
