#!/bin/sh
# Run by the build for the tables of builtins and of special forms: the numbers of the rows, from 0, in the order of
# their names, as elements of a C array. A row is a line of the form MACRO("name", …).
grep -h '^[A-Z]*("' "$@" | cat -n | LC_ALL=C sort -t '"' -k 2,2 | cut -f 1 | sed 's/$/ - 1,/'
