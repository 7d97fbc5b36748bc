// Exceptions: making, throwing, taking apart (docs/reference/language.md 4.1).
#include "program/eval/exception.h"

#include <string.h>

#include "base/array.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"

value builtin_throw(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (!value_is_exception(arguments[0]))
        run_type_error(run, self, 1, "an exception", arguments[0],
                       "(throw (ex-info \"text\" {})), or (fail x) to end the program");
    exception_throw(run, arguments[0]);
}

static void argument_cause(struct run *run, const struct builtin *self, value *arguments,
                           unsigned place)
{
    if (!value_is_exception(arguments[place]) && !value_is_nil(arguments[place]))
        run_type_error(run, self, place + 1, "an exception", arguments[place], NULL);
}

value builtin_ex_info(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (!value_is_nil(arguments[0]))
        argument_string(run, self, arguments, 0);
    if (arguments[1].tag != VALUE_MAP && arguments[1].tag != VALUE_NIL)
        run_type_error(run, self, 2, "a map", arguments[1], NULL);
    if (count == 3)
        argument_cause(run, self, arguments, 2);
    return exception_new(run, "ExceptionInfo", arguments[0], arguments[1],
                         count == 3 ? arguments[2] : value_nil());
}

// (Exception. message? cause?): the class is the name without its dot.
value builtin_exception(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    static const char *const classes[] = {"Exception",
                                          "RuntimeException",
                                          "IllegalArgumentException",
                                          "IllegalStateException",
                                          "ArithmeticException",
                                          "UnsupportedOperationException",
                                          "IndexOutOfBoundsException",
                                          "NumberFormatException",
                                          "NullPointerException",
                                          "ClassCastException",
                                          "AssertionError",
                                          "Error",
                                          "Throwable"};
    const char *class = "Exception";
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (strncmp(self->name, classes[i], strlen(self->name) - 1) == 0 &&
            strlen(classes[i]) == strlen(self->name) - 1)
            class = classes[i];
    }
    value message = count > 0 ? arguments[0] : value_nil();
    value cause = count > 1 ? arguments[1] : value_nil();
    if (count == 1 && value_is_exception(message)) {
        cause = message;
        message = value_retain(exception_part(cause, EXCEPTION_MESSAGE));
    }
    if (message.tag != VALUE_STRING && message.tag != VALUE_NIL)
        run_type_error(run, self, 1, "a string", message, NULL);
    if (count > 1)
        argument_cause(run, self, arguments, 1);
    return exception_new(run, class, message, value_nil(), cause);
}

static value part_of(value v, enum exception_part part)
{
    return value_is_exception(v) ? value_retain(exception_part(v, part)) : value_nil();
}

value builtin_ex_message(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return part_of(arguments[0], EXCEPTION_MESSAGE);
}

value builtin_ex_data(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return part_of(arguments[0], EXCEPTION_DATA);
}

value builtin_ex_cause(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return part_of(arguments[0], EXCEPTION_CAUSE);
}

value builtin_is_exception(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(value_is_exception(arguments[0]));
}
