#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

void assert_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "cadre: internal error: %s (%s:%d)\n", condition, file, line);
    abort();
}
