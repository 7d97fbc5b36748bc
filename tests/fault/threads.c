#include "cases.h"
void run_threads(long c) { (void)c; }
