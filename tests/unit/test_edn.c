// EDN: literals of the language as data.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/text/edn.h"
#include "value/text/print.h"
#include "value_random_tree.h"

#include "text_support.h"  // last: its region would shadow parameters of the others

TestSuite(edn, .init = set_up, .fini = tear_down);

Test(edn, literals_are_read)
{
    static const struct {
        const char *text;
        const char *printed;
    } cases[] = {
        {"nil", "nil"},
        {" true,", "true"},
        {"false ; comment", "false"},
        {"; first\n 1", "1"},
        {"007", "7"},
        {"-12", "-12"},
        {"1.50", "1.5"},
        {"1e3", "1000.0"},
        {"-2.5E-3", "-0.0025"},
        {"12345678901234567890", "12345678901234567890"},
        {"##Inf", "##Inf"},
        {"##-Inf", "##-Inf"},
        {"##NaN", "##NaN"},
        {"\"a\\n\\t\\r\\\"\\\\\\u00e9\\101\"", "\"a\\n\\t\\r\\\"\\\\éA\""},
        {":a/b", ":a/b"},
        {"\"two\nlines é\"", "\"two\\nlines é\""},
        {"\\a", "\"a\""},
        {"\\newline", "\"\\n\""},
        {"\\space", "\" \""},
        {"\\tab", "\"\\t\""},
        {"\\return", "\"\\r\""},
        {"\\é", "\"é\""},
        {"\\\\", "\"\\\\\""},
        {"[\\a\\b]", "[\"a\" \"b\"]"},
        {"[\\[ \\]]", "[\"[\" \"]\"]"},
        {":a", ":a"},
        {":a-b_c?!", ":a-b_c?!"},
        {":1", ":1"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"#{}", "#{}"},
        {"[1,2 [3]]", "[1 2 [3]]"},
        {"{:b 1, :a {\"x\" nil}}", "{:a {\"x\" nil} :b 1}"},
        {"#{3 1 2}", "#{1 2 3}"},
        {"[1.5[2]]", "[1.5 [2]]"},
        {"[:a\"b\":c]", "[:a \"b\" :c]"},
        {"{[1] #{2}}", "{[1] #{2}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        value v;
        struct error error = {0};
        cr_assert(edn_read(region, span_from(cases[i].text), NULL, &v, &error), "%s: %s",
                  cases[i].text, error.message);
        cr_assert_str_eq(printed(v), cases[i].printed);
    }
}

Test(edn, errors_have_a_position)
{
    static const struct {
        const char *text;
        enum error_code code;
        unsigned line;
        unsigned column;
    } cases[] = {
        {"", ERROR_SYNTAX, 1, 1},         {"; only", ERROR_SYNTAX, 1, 7},
        {"1 2", ERROR_SYNTAX, 1, 3},      {"[1", ERROR_SYNTAX, 1, 3},
        {"[1}", ERROR_SYNTAX, 1, 3},      {"]", ERROR_SYNTAX, 1, 1},
        {"{:a}", ERROR_SYNTAX, 1, 4},     {"(+ 1 2)", ERROR_SYNTAX, 1, 1},
        {"foo", ERROR_SYNTAX, 1, 1},      {"[1\n foo]", ERROR_SYNTAX, 2, 2},
        {"\"abc", ERROR_SYNTAX, 1, 1},    {"1/2", ERROR_SYNTAX, 1, 2},
        {"0xfg", ERROR_SYNTAX, 1, 4},     {"1.0N", ERROR_SYNTAX, 1, 4},
        {"\"a\\q\"", ERROR_SYNTAX, 1, 3}, {":", ERROR_SYNTAX, 1, 1},
        {"::a", ERROR_SYNTAX, 1, 1},      {"\\", ERROR_SYNTAX, 1, 1},
        {"\\ab", ERROR_SYNTAX, 1, 3},     {"1e400", ERROR_SYNTAX, 1, 1},
        {"'x", ERROR_SYNTAX, 1, 1},       {"#\"re\"", ERROR_SYNTAX, 1, 1},
        {"#_1 2", ERROR_SYNTAX, 1, 1},    {"@x", ERROR_SYNTAX, 1, 1},
        {"##Foo", ERROR_SYNTAX, 1, 1},    {"nilx", ERROR_SYNTAX, 1, 1},
        {"-", ERROR_SYNTAX, 1, 1},        {"1.", ERROR_SYNTAX, 1, 2},
        {"1e", ERROR_SYNTAX, 1, 2},       {"{:a 1 :a 2}", ERROR_INVALID, 1, 7},
        {"#{1 1}", ERROR_INVALID, 1, 5},  {"\"\xFF\"", ERROR_ENCODING, 1, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        value v;
        struct error error = {0};
        cr_assert_not(edn_read(region, span_from(cases[i].text), NULL, &v, &error), "%s",
                      cases[i].text);
        cr_assert_eq(error.code, cases[i].code, "%s: %s", cases[i].text, error.message);
        cr_assert_eq(error.line, cases[i].line, "%s: line %u", cases[i].text, error.line);
        cr_assert_eq(error.column, cases[i].column, "%s: column %u", cases[i].text, error.column);
    }
    char digits[102];
    memset(digits, '1', 101);
    digits[101] = '\0';
    value v;
    struct error error;
    cr_assert_not(edn_read(region, span_from(digits), NULL, &v, &error));
    cr_assert(edn_read(region, span_from(digits + 1), NULL, &v, &error));
}

Test(edn, an_error_releases_what_was_read)
{
    static const struct span text = SPAN("[\"a long string\" {:k [\"another long one\" #{1 2}] :l");
    value v;
    struct error error;
    edn_read(region, text, NULL, &v, &error);  // makes the tables and shapes
    size_t before = region->live;
    cr_assert_not(edn_read(region, text, NULL, &v, &error));
    cr_assert_eq(region->live, before);
}

Test(edn, depth_is_limited_and_needs_no_stack)
{
    enum { DEPTH = 200000 };
    char *text = malloc(DEPTH * 2 + 1);
    memset(text, '[', DEPTH);
    memset(text + DEPTH, ']', DEPTH);
    text[2 * DEPTH] = '\0';
    value v;
    struct error error;
    cr_assert_not(edn_read(region, span_from(text), NULL, &v, &error));
    cr_assert_eq(error.code, ERROR_LIMIT);
    cr_assert(
        edn_read(region, span_from(text), &(struct edn_options){.max_depth = DEPTH}, &v, &error));
    cr_assert_str_eq(printed(v), text);
    value_release(region, v);
    cr_assert_eq(region->live, 0);
    free(text);
}

Test(edn, canonical_text_reads_back)
{
    for (int i = 0; i < 5000; i++) {
        value v = random_tree(region, 4), again;
        char *text = strdup(printed(v));
        struct error error = {0};
        cr_assert(edn_read(region, span_from(text), NULL, &again, &error), "%s: %s", text,
                  error.message);
        cr_assert(value_identical(v, again), "%s", text);
        cr_assert_str_eq(printed(again), text);
        value_release(region, v);
        value_release(region, again);
        free(text);
    }
}

Test(edn, a_full_region_is_an_error_at_any_allocation)
{
    static const struct span text = SPAN(
        "{:a [\"some long string\" 12345678901234567890123] \"b\" #{1 2 [3]} [1 2] {:a {:a 1}}}");
    size_t n = 1;
    for (;; n++) {
        region_clear(region);
        region_fail_nth(region, n);
        value v;
        struct error error = {0};
        if (edn_read(region, text, NULL, &v, &error))
            break;
        cr_assert_eq(error.code, ERROR_MEMORY);
    }
    cr_assert_gt(n, 10);
}
