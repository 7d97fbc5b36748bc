// edn/read-string, read-string: the value of a text in the syntax of data (docs/reference/language.md 8.11).
#include "value/text/edn.h"

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"

// (edn/read-string s), (edn/read-string options s): :eof is what an empty text gives.
value builtin_edn_read(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    unsigned place = (unsigned)count - 1;
    value eof = value_nil(), result;
    if (count == 2 && arguments[0].tag == VALUE_MAP)
        map_find(arguments[0], value_keyword(run->region, SPAN("eof")), &eof);
    if (value_is_nil(arguments[place]))
        return value_retain(eof);
    argument_string(run, self, arguments, place);
    struct span text = value_text(arguments[place]);
    struct edn_options options = {.max_depth = SIZE_MAX, .any_integer = true, .is_data = true};
    struct error error;
    run_spend(run, 1 + text.length / 64);
    if (edn_read(run->region, text, &options, &result, &error))
        return result;
    if (error.code == ERROR_MEMORY)
        region_alloc(run->region, SIZE_MAX / 2);  // leaves through the run's handler
    builtin_fail(run, self, RUNTIME_ERROR, "%s at line %u, column %u", error.message, error.line,
                 error.column);
}
