// Whether the pixels of images that a session shows are all there: found out by a locked process
// (picture_worker.h), because decoding takes long, and decoders of hostile bytes may fail.
#pragma once

#include "base/buffer.h"
#include "base/span.h"

enum { PICTURE_MS = 30000 };  // for all images of an answer

struct picture_check;
struct reaper;

// `problems` has a line for each image, empty for one that is whole. {NULL, 0}: they could not be looked
// at, and `reason` says why.
typedef void picture_check_fn(void *data, struct span problems, const char *reason);

// `images`: base64, each followed by a newline. `done` is called once, from the loop, unless cancelled.
// 0 or negative errno.
int picture_check_start(struct reaper *reaper, struct span images, picture_check_fn *done,
                        void *data, struct picture_check **ret_check);
void picture_check_cancel(struct picture_check *check);
