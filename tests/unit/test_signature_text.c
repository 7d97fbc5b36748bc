// Signatures as text: what is accepted, where errors are, and that rendering is stable.
#include "base/array.h"
#include "signature_support.h"

struct accepted {
    const char *text;
    const char *canonical;
};

Test(signature_text, accepts_and_renders)
{
    static const struct accepted table[] = {
        {":string", ":string"},
        {":boolean", ":bool"},
        {"  :any?\n", ":any?"},
        {"[:int]", "[:int]"},
        {"[ :int? ]?", "[:int?]?"},
        {"{}", "{}"},
        {"{ }?", "{}?"},
        {"{id :int, name :string}", "{id :int, name :string}"},
        {"{:id :int :name :string}", "{id :int, name :string}"},
        {"{:id :int, :name :string}", "{id :int, name :string}"},
        {"{id:int name:string?}", "{id :int, name :string?}"},
        {"() -> :int", "() -> :int"},
        {"(a :int)->:int", "(a :int) -> :int"},
        {"(a :int b :int) -> :int", "(a :int, b :int) -> :int"},
        {"(user {:id :int} limit :int) -> [:map]", "(user {id :int}, limit :int) -> [:map]"},
        {"(\n\tid :int\r\n) -> :string", "(id :int) -> :string"},
        {"{a {b {c [[:keyword]]}}}", "{a {b {c [[:keyword]]}}}"},
        {"{_x :float, a-b :any, A1_2 :map?}", "{_x :float, a-b :any, A1_2 :map?}"},
        {":datetime?", ":datetime?"},
        {"[:enum \"a\"  -1 2.50 false]?", "[:enum \"a\" -1 2.5 false]?"},
        {"[ :enum \"\\u00e9\\n\\\"\"]", "[:enum \"é\\u000A\\\"\"]"},
        {"[:or :int [:string] ]", "[:or :int [:string]]"},
        {"[[:or :int {a [:int 0 9]?}]]", "[[:or :int {a [:int 0 9]?}]]"},
        {"[:int 1 100]", "[:int 1 100]"},
        {"[ :int -5\t_ ]?", "[:int -5 _]?"},
        {"[:float >0 <1.5]", "[:float >0 <1.5]"},
        {"[:string 1 80]", "[:string 1 80]"},
        {"[:string #\"^a\\\"\\\\\"]", "[:string #\"^a\\\"\\\\\"]"},
        {"[:string 0 _ #\"x\"]", "[:string 0 _ #\"x\"]"},
    };
    struct signature_test test = signature_test_start();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const char *once = render(parse(&test, table[i].text));
        cr_expect_str_eq(once, table[i].canonical);
        cr_expect_str_eq(render(parse(&test, once)), table[i].canonical);
    }
    signature_test_end(&test);
}

struct refused {
    const char *text;
    unsigned line;
    unsigned column;
    const char *message;  // begins with
};

Test(signature_text, refuses_at_the_position)
{
    static const struct refused table[] = {
        {"", 1, 1, "expected a type, found the end"},
        {"   ", 1, 4, "expected a type, found the end"},
        {"invalid", 1, 1, "expected a type, found 'i'"},
        {"...", 1, 1, "expected a type, found '.'"},
        {"-> :int", 1, 1, "expected a type, found '-'"},
        {":integer", 1, 1, "unknown type :integer"},
        {":stringx", 1, 1, "unknown type :stringx"},
        {":", 1, 1, "unknown type :"},
        {"[]", 1, 2, "expected a type, found ']'"},
        {"[:enum]", 1, 7, "expected a string, a number, true or false, found ']'"},
        {"[:enum \"a\" :b]", 1, 12, "expected a string, a number, true or false, found ':'"},
        {"[:enum \"a]", 1, 9, "the string does not end"},
        {"[:enum \"\\q\"]", 1, 10, "expected an escape"},
        {"[:or]", 1, 5, "expected a type, found ']'"},
        {"[:int 1]", 1, 8, "expected a number, found ']'"},
        {"[:int 1 2.5]", 1, 9, "the bound is not of the type"},
        {"[:string -1 2]", 1, 10, "the bound is not of the type"},
        {"[:bool 1 2]", 1, 8, "expected ']', found '1'"},
        {"[:int? 1 2]", 1, 8, "expected ']', found '1'"},
        {"[:int 99999999999999999999 1]", 1, 7, "expected an integer of 64 bits"},
        {"[:string #\"(\"]", 1, 10, "invalid pattern: "},
        {"[:int #\"a\"]", 1, 7, "expected ']', found '#'"},
        {"[:int :string]", 1, 7, "expected ']', found ':'"},
        {"[:int", 1, 6, "expected ']', found the end"},
        {"(id :int -> :string", 1, 10, "expected a field name or ')', found '-'"},
        {"(id :)", 1, 5, "unknown type :"},
        {"(a :int) :int", 1, 10, "expected '->', found ':'"},
        {"(a :int) -", 1, 10, "expected '->', found '-'"},
        {"(a :int,) -> :int", 1, 9, "expected a field name, found ')'"},
        {"(,a :int) -> :int", 1, 2, "expected a field name or ')', found ','"},
        {"(a :int,, b :int) -> :int", 1, 9, "expected a field name, found ','"},
        {"(id :int) -> :string extra", 1, 22, "expected the end, found 'e'"},
        {"{1a :int}", 1, 2, "expected a field name or '}', found '1'"},
        {"{a}", 1, 3, "expected a type, found '}'"},
        {"{a :int, a :string}", 1, 10, "field a is declared twice"},
        {"{\n a-b :int\n  a_b :string}", 3, 3, "field a_b is declared twice"},
        {":string ?", 1, 9, "expected the end, found '?'"},
        {":int??", 1, 6, "expected the end, found '?'"},
        {"{é :int}", 1, 2, "expected a field name or '}', found 'é'"},
        {"{a :int, \"é\" :int}", 1, 10, "expected a field name, found '\"'"},
        {"{a :int}\x01", 1, 9, "expected the end, found U+0001"},
    };
    struct signature_test test = signature_test_start();
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct signature *signature = NULL;
        struct error error = {0};
        cr_expect_not(signature_parse(&test.arena, span_from(table[i].text), &signature, &error));
        cr_expect_null(signature);
        cr_expect_eq(error.code, ERROR_SYNTAX);
        cr_expect_eq(error.line, table[i].line, "%s: line %u", table[i].text, error.line);
        cr_expect_eq(error.column, table[i].column, "%s: column %u", table[i].text, error.column);
        cr_expect(strncmp(error.message, table[i].message, strlen(table[i].message)) == 0, "%s: %s",
                  table[i].text, error.message);
    }
    signature_test_end(&test);
}

Test(signature_text, bounds_nesting)
{
    struct signature_test test = signature_test_start();
    char text[2 * SIGNATURE_MAX_DEPTH + 8];
    for (int depth = SIGNATURE_MAX_DEPTH - 1; depth <= SIGNATURE_MAX_DEPTH; depth++) {
        size_t length = 0;
        for (int i = 0; i < depth; i++)
            text[length++] = '[';
        length += (size_t)sprintf(text + length, ":any");
        for (int i = 0; i < depth; i++)
            text[length++] = ']';
        const struct signature *signature = NULL;
        struct error error = {0};
        bool parsed = signature_parse(&test.arena, (struct span){text, length}, &signature, &error);
        cr_expect_eq(parsed, depth < SIGNATURE_MAX_DEPTH);
        if (!parsed) {
            cr_expect_eq(error.code, ERROR_LIMIT);
            cr_expect_eq(error.column, SIGNATURE_MAX_DEPTH + 1);
        }
    }
    signature_test_end(&test);
}

Test(signature_text, bounds_size_and_memory)
{
    struct signature_test test = signature_test_start();
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_byte(&text, '{');
    for (int i = 0; text.length < SIGNATURE_MAX_BYTES - 32; i++)
        buffer_append_format(&text, "f%d :int ", i);
    buffer_append_byte(&text, '}');
    const struct signature *signature = NULL;
    struct error error = {0};
    cr_assert(signature_parse(&test.arena, buffer_span(&text), &signature, &error));
    cr_assert_gt(signature->output.fields.count, 5000);

    struct arena small;
    arena_init(&small, 20000);
    cr_assert_not(signature_parse(&small, buffer_span(&text), &signature, &error));
    cr_assert_eq(error.code, ERROR_MEMORY);
    arena_release(&small);

    while (text.length <= SIGNATURE_MAX_BYTES)
        buffer_append_byte(&text, ' ');
    cr_assert_not(signature_parse(&test.arena, buffer_span(&text), &signature, &error));
    cr_assert_eq(error.code, ERROR_LIMIT);
    signature_test_end(&test);
}
