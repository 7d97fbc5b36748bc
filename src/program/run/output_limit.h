// How long a value is as text. Values share their parts, text does not: 40 vectors that each hold the
// one before twice are 3 KB, and a terabyte when written.
#pragma once

#include "program/run/run.h"

// About the bytes of JSON or canonical text; stops with a larger number once it is over `most`.
// Spends fuel (value/fuel.h).
size_t output_limit_size(value v, size_t most);
// memory_exceeded when the text of a value that leaves the run is longer than max_memory and the
// inputs: writing it is not in the run any more, and has no limits of its own. Numbers of very many
// digits take longer than their length says, so they are written once for trial. Returns the size.
size_t output_limit_check(struct run *run, value v, const char *what);
// Whether so many bytes more fit into the text of the ledger, which may be as long; counts them.
bool output_limit_reserve(struct run *run, size_t size);
