// The commands of `cadre`. Each parses its own arguments (argv[0] is the command's name) and
// returns the process's exit status: 0 success, 1 failure, 2 wrong usage.
#pragma once

enum { EXIT_USAGE = 2 };

int command_serve(int argc, char **argv);
int command_eval(int argc, char **argv);
int command_run(int argc, char **argv);
int command_repl(int argc, char **argv);
int command_context(int argc, char **argv);
int command_doctor(int argc, char **argv);
