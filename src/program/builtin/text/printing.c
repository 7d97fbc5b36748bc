// print, pr, prn, printf, newline and their texts (docs/reference/language.md 8.12). What is printed goes
// to the prints of the run, or into the text of with-out-str (../../run/output.c).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/run/output.h"

value builtin_print(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    output_write(run, text_of_all(run, arguments, count, false), false);
    return value_nil();
}

value builtin_println(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    output_write(run, text_of_all(run, arguments, count, false), true);
    return value_nil();
}

value builtin_pr(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    output_write(run, text_of_all(run, arguments, count, true), false);
    return value_nil();
}

value builtin_prn(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    output_write(run, text_of_all(run, arguments, count, true), true);
    return value_nil();
}

value builtin_printf(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    output_write(run, builtin_format(run, self, arguments, count), false);
    return value_nil();
}

value builtin_newline(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    output_write(run, value_string_text(run->region, ""), true);
    return value_nil();
}

// Nothing waits to be written.
value builtin_flush(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)arguments;
    (void)count;
    return value_nil();
}

// --- texts ---------------------------------------------------------------------------------------

static value with_newline(struct run *run, value text)
{
    return string_append(run->region, text, value_string_text(run->region, "\n"));
}

value builtin_print_str(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return text_of_all(run, arguments, count, false);
}

value builtin_println_str(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)self;
    return with_newline(run, text_of_all(run, arguments, count, false));
}

value builtin_prn_str(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return with_newline(run, text_of_all(run, arguments, count, true));
}

// The special form with-out-str is (with-out-str* (fn [] body...)).
value builtin_with_out_str(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    output_capture(run);
    value_release(run->region, run_call(run, arguments[0], NULL, 0));
    return output_captured(run);
}
