#include "cases.h"
void run_kills(long count) { (void)count; }
