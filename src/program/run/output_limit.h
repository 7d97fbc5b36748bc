// How long a value is as text. Values share their parts, text does not: 40 vectors that each hold the
// one before twice are 3 KB, and a terabyte when written.
#pragma once

#include "program/run/run.h"

// About the bytes of JSON or canonical text; stops with a larger number once it is over `most`.
// Spends fuel (value/fuel.h).
size_t output_limit_size(value v, size_t most);
// memory_exceeded when the text of a value that leaves the run is longer than max_memory and the
// inputs: it is written after the run, without limits. Writing a number of very many digits takes
// longer than its length suggests, so such numbers are written once inside the run. Returns the size.
size_t output_limit_check(struct run *run, value v, const char *what);
// Reserves bytes in the text of the ledger, which has the same limit; false when they do not fit.
bool output_limit_reserve(struct run *run, size_t size);
