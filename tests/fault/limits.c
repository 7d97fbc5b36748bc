#include "cases.h"
void run_limits(void) { }
