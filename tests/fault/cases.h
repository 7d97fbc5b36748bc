// The families of cases of session_driver.
#pragma once

#include "driver.h"

void run_matrix(const char *only);  // NULL: every row, else those whose name contains it
void run_kills(long count);
void run_soak(long operations, unsigned long seed);
void run_threads(long transactions);
void run_limits(void);
void run_locks(long rounds, const char *only);  // NULL: all kinds
void run_offspring(void);
void run_hostile(const char *only);  // as run_matrix()
void run_speed(void);
void run_agent(void);
