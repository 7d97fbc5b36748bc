// The commands of `cadre`. Each parses its own arguments (argv[0] is the command's name) and
// returns the exit status of the process: 0 success, 1 failure, 2 wrong usage.
#pragma once

enum { EXIT_USAGE = 2, EXIT_PAUSED = 3 };

// --- serve.c: the MCP server ---------------------------------------------------------------------
int command_serve(int argc, char **argv);

// --- cluster.c: the cluster of the daemon -------------------------------------------------------
int command_cluster(int argc, char **argv);

// --- daemon.c: the process that owns the sessions ------------------------------------------------
int command_daemon(int argc, char **argv);

// --- eval.c: evaluates Common Lisp ---------------------------------------------------------------
int command_eval(int argc, char **argv);

// --- repl/repl.c: interactive Common Lisp --------------------------------------------------------
int command_repl(int argc, char **argv);

// --- run.c: runs PTC-Lisp programs ---------------------------------------------------------------
int command_run(int argc, char **argv);

// --- context/context.c: the context store --------------------------------------------------------
int command_context(int argc, char **argv);

// --- kept/sessions.c: kept sessions --------------------------------------------------------------
int command_sessions(int argc, char **argv);

// --- setup.c: configures MCP clients -------------------------------------------------------------
int command_setup(int argc, char **argv);

// --- config.c: shows the settings ----------------------------------------------------------------
int command_config(int argc, char **argv);

// --- fix/fix.c: parentheses ----------------------------------------------------------------------
int command_fix(int argc, char **argv);

// --- fix/hook.c: files that an editor has written ------------------------------------------------
int command_hook(int argc, char **argv);

// --- test/test.c: runs the tests of a system ------------------------------------------------------
int command_test(int argc, char **argv);

// --- trust.c: what workspaces may decide ---------------------------------------------------------
int command_trust(int argc, char **argv);

// --- ui/ui.c: opens the page of the inspector ----------------------------------------------------
int command_ui(int argc, char **argv);

// --- upstream_tools.c: the tools of the user's MCP servers ---------------------------------------
int command_tools(int argc, char **argv);

// --- doctor.c: checks this machine ---------------------------------------------------------------
int command_doctor(int argc, char **argv);
