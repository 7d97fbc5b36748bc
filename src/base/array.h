// Arrays whose length the compiler knows.
#pragma once

// The number of elements; gcc warns (-Wsizeof-pointer-div) when it is given a pointer.
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
