#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

Test(error, cuts_a_long_message_between_characters)
{
    struct error error;
    char text[2 * ERROR_MESSAGE_SIZE];
    for (size_t start = 0; start < 3; start++) {
        memset(text, 'x', start);
        for (size_t i = start; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "€", 4);
        cr_assert_not(error_set_at(&error, ERROR_LIMIT, 3, 4, "%s", text));
        cr_assert_eq(error.code, ERROR_LIMIT);
        cr_assert_eq(error.line, 3);
        cr_assert_eq(error.column, 4);
        size_t length = strlen(error.message);
        cr_assert_gt(length, ERROR_MESSAGE_SIZE - 5);
        cr_assert(utf8_is_valid(error.message, length));
    }
}

Test(error, may_be_left_out)
{
    cr_assert_not(error_set(NULL, ERROR_SYNTAX, "not stored"));
}
