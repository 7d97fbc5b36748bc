// Completions of shells, made from the table of commands at build time.
#pragma once

#include <stdio.h>

void completion_print_bash(FILE *out);
void completion_print_zsh(FILE *out);
void completion_print_fish(FILE *out);
