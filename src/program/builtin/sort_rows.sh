#!/bin/sh
# Run by the build: the numbers of the rows of builtins.def, from 0, in the order of their names, as
# elements of a C array.
grep '^BUILTIN(' "$1" | cat -n | LC_ALL=C sort -t '"' -k 2,2 | cut -f 1 | sed 's/$/ - 1,/'
