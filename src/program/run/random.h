// The random numbers of a run. Equal seeds give equal numbers.
#pragma once

#include "program/run/run.h"

// A number that every reader of JSON can hold.
#define RUN_SEED_MAX ((int64_t)1 << 53)

struct run_random {
    uint64_t seed;   // of the run
    uint64_t state;  // of the generator; each branch of pmap has its own
    bool is_used;    // the seed belongs into the Step
};

// Seeds the generator of a run: by `seed` when it is given (≥ 0), else by the system.
void run_random_start(struct run_random *random, int64_t seed);
uint64_t run_random(struct run *run);
// A generator for branch number `index` of pmap; when it has ended, its draws are noted in the outer one.
struct run_random run_random_branch(struct run_random outer, size_t index);
void run_random_join(struct run_random *outer, const struct run_random *branch);
