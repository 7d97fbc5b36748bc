#include "program/run/random.h"

#include <sys/random.h>

#include "base/clock.h"
#include "program/run/run_state.h"

static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

void run_random_start(struct run_random *random, int64_t seed)
{
    uint64_t chosen = (uint64_t)seed;
    if (seed < 0) {
        // Without the system's numbers the clock has to do: it is no secret.
        if (getrandom(&chosen, sizeof(chosen), GRND_NONBLOCK) != (ssize_t)sizeof(chosen))
            chosen = (uint64_t)clock_now_ns();
        chosen %= (uint64_t)RUN_SEED_MAX;
    }
    *random = (struct run_random){.seed = chosen, .state = chosen};
}

uint64_t run_random(struct run *run)
{
    struct run_random *random = &run->state->branch.random;
    random->is_used = true;
    return split_mix(&random->state);
}

struct run_random run_random_branch(struct run_random outer, size_t index)
{
    uint64_t state = outer.state ^ (index + 1) * 0xD1342543DE82EF95;
    return (struct run_random){.seed = outer.seed, .state = split_mix(&state)};
}

void run_random_join(struct run_random *outer, const struct run_random *branch)
{
    if (!branch->is_used)
        return;
    outer->is_used = true;
    split_mix(&outer->state);
}
