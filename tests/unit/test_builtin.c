// The table of builtins: every row is found by its name, and nothing else is.
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "program/builtin/builtin.h"

Test(builtin, every_row_is_found_by_its_name)
{
    for (size_t i = 0; i < builtin_count; i++) {
        const struct builtin *found = builtin_find(span_from(builtin_table[i].name));
        cr_expect(found == &builtin_table[i], "%s", builtin_table[i].name);
    }
}

Test(builtin, other_names_are_not_found)
{
    static const char *const names[] = {"", "mapp", "ma", "zzz", " ", "Map", ".", "json/"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        cr_expect_null(builtin_find(span_from(names[i])), "%s", names[i]);
    cr_expect_null(builtin_find((struct span){"map\0x", 5}));
}

Test(builtin, rows_are_documented)
{
    for (size_t i = 0; i < builtin_count; i++) {
        const struct builtin *row = &builtin_table[i];
        cr_expect(strstr(row->signature, row->name), "%s", row->name);
        cr_expect(strchr(".?", row->doc[strlen(row->doc) - 1]), "%s", row->name);
        cr_expect(row->least <= row->highest, "%s", row->name);
    }
}
