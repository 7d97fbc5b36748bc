#include "program/guide.h"

const char program_guide[] = "PTC-Lisp\n";
