// A mark on a process and on everything it starts, whatever they do to their environment, kernel
// session or parents: a value of RLIMIT_LOCKS. The kernel hands it on to children and programs and
// makes no other use of it. Only a process that looks for it can shake it off.
//
// Marks come in families: the numbers of one server differ in their low MARK_NUMBER_BITS.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { MARK_NUMBER_BITS = 20 };

// A family that no other process uses; 0, no mark, where the limit of this process leaves no room.
uint64_t mark_new_family(void);
// The member `number` of the family, from 1; smaller than that of the number before.
uint64_t mark_of_number(uint64_t family, uint64_t number);
// In a child before it starts anything. Async-signal-safe.
void mark_set(uint64_t mark);
// To another process, which has a larger one. False: it may not be given.
bool mark_give(pid_t pid, uint64_t mark);
// Of any process; 0 when it has none or may not be asked.
uint64_t mark_read(pid_t pid);
bool mark_is_of_family(uint64_t mark, uint64_t family);
