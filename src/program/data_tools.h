// Tools described as data (docs/reference/language.md 17): constants, echo, errors, small programs,
// and tools of a remote host. For batch records, tests, examples and tools files.
#pragma once

#include "program/run/tool.h"

// Answers for tools described as {"remote": true}. May be called from several threads at once.
struct remote_host {
    bool (*call)(void *data, struct span name, struct tool_call *call);
    void *data;
};

// Fills a table from an object name → description. The tools are owned by *tools and freed with
// data_tools_free(), after the table. The host may be NULL.
struct data_tool;
bool data_tools_add(struct tool_table *table, struct data_tool **tools, value descriptions,
                    const struct remote_host *host, struct diagnostic *ret_diagnostic);
void data_tools_free(struct data_tool *tools);
