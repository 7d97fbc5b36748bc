// What the tests of the C API share.
#pragma once

#include <cadre.h>
#include <criterion/criterion.h>
#include <string.h>

static inline cadre_step *eval(cadre_host *host, const char *source, const cadre_inputs *inputs)
{
    cadre_step *step = cadre_eval(host, source, strlen(source), inputs);
    cr_assert_not_null(step);
    return step;
}

static inline void check_printed(cadre_host *host, const char *source, const cadre_inputs *inputs,
                                 const char *printed)
{
    cadre_step *step = eval(host, source, inputs);
    cr_assert(cadre_step_ok(step), "%s: %s", source, cadre_step_message(step));
    cr_expect_str_eq(cadre_step_printed(step, NULL), printed);
    cadre_step_free(step);
}

static inline void check_kind(cadre_host *host, const char *source, const cadre_inputs *inputs,
                              const char *kind)
{
    cadre_step *step = eval(host, source, inputs);
    cr_assert_not(cadre_step_ok(step), "%s should fail", source);
    cr_expect_str_eq(cadre_step_kind(step), kind, "%s: %s", source, cadre_step_message(step));
    cadre_step_free(step);
}
