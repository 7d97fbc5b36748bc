#include "cases.h"
void run_speed(void) { }
