// The process that runs programs for the server: locks itself, then answers one record after the
// other over the descriptor it was given (messages: program_host/program_pool.h). Tools described
// as remote are called over the same descriptor, from several threads at once when the program runs
// them so.
#pragma once

// Returns the exit status; ends when the server is gone.
int program_worker_main(int descriptor);
