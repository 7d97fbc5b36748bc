// Names and limits of sessions.
#include <criterion/criterion.h>

#include "session/session.h"

Test(session_names, valid)
{
    cr_assert(session_name_valid(SPAN("main")));
    cr_assert(session_name_valid(SPAN("0a.b_c-d")));
    cr_assert(session_name_valid(SPAN("12345678901234567890123456789012")));
    cr_assert_not(session_name_valid(SPAN("123456789012345678901234567890123")));
    cr_assert_not(session_name_valid(SPAN("")));
    cr_assert_not(session_name_valid(SPAN("-a")));
    cr_assert_not(session_name_valid(SPAN("Main")));
    cr_assert_not(session_name_valid(SPAN("a b")));
}

Test(session_limits, texts)
{
    struct error error;
    struct session_limits limits = session_limits_default();
    cr_assert(session_limits_check(&limits, 2560, &error));
    limits.timeout = -5;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    cr_assert_str_eq(error.message, "Value must be non-negative: timeout = -5");
    limits.timeout = 86401;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    limits = session_limits_default();
    limits.max_memory = 3;
    cr_assert_not(session_limits_check(&limits, 2560, &error));
    cr_assert_str_eq(error.message, "Value must be between 64 and 1152: max-memory = 3");
}
