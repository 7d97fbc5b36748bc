#include "cases.h"
void run_soak(long o, unsigned long s) { (void)o; (void)s; }
