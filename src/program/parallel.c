#include "program/parallel.h"

#include "program/builtins.h"

bool parallel_call(struct run *run, const struct tool *tool, struct tool_call *call)
{
    (void)run;
    return tool_call_run(tool->function, tool->data, call);
}

value builtin_pmap(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return run_call(run, function_from_builtin(builtin_find(SPAN("map"))), arguments, count);
}

value builtin_pcalls(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    value v = vector_new(run->region, count);
    for (size_t i = 0; i < count; i++)
        v = vector_push(run->region, v, run_call(run, arguments[i], NULL, 0));
    return v;
}
