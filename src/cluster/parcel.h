// Parcels: a header and a body of any length, in messages that NATS carries, over subjects on which
// messages may be lost. Each piece has the name of its call and a number; a gap breaks the call.
//
// A piece begins with a line "CALL NUMBER MORE HEADER-BYTES".
#pragma once

#include "base/buffer.h"
#include "cluster/bus.h"

enum { PARCEL_CALL_MAX = 96 };

struct parcel_writer {
    struct bus *bus;
    const char *subject;  // borrowed
    const char *reply;    // the same; NULL: none
    const char *call;     // the same
    uint64_t last;        // piece
};

// 0 or negative errno: the call is broken.
int parcel_send(struct parcel_writer *writer, struct span header, struct span body);

struct parcel_reader {
    uint64_t last;
    struct buffer header, body;
};

enum parcel_progress { PARCEL_PART, PARCEL_WHOLE, PARCEL_BROKEN };

void parcel_reader_init(struct parcel_reader *reader, size_t body_limit);
void parcel_reader_release(struct parcel_reader *reader);
// The call that a piece belongs to. False: it is none.
bool parcel_find_call(struct span piece, char call[PARCEL_CALL_MAX + 1], uint64_t *ret_number);
// WHOLE: header and body are there until parcel_next().
enum parcel_progress parcel_read(struct parcel_reader *reader, struct span piece);
void parcel_next(struct parcel_reader *reader);
