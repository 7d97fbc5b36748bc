// Items: invariants, metadata, ids, previews. The cases E1 to E11 and M1 to M4.
#include "base/array.h"
#include "context/markdown.h"
#include "context_support.h"

#define ADD CONTEXT_OPERATION_ADD

Test(context_item, E1_E2_type)
{
    struct context_test test = context_test_start();
    expect_error(
        &test, ADD, "{\"content\":\"x\",\"type\":\"foo\"}", "invalid-type",
        "INV-001: type must be one of code, text, file, repl-history, error, custom; got \"foo\"");
    expect_error(&test, ADD, "{\"content\":\"x\",\"type\":\"repl_history\"}", "invalid-type",
                 "INV-001: type must be one of code, text, file, repl-history, error, custom; got "
                 "\"repl_history\"; did you mean \"repl-history\"?");
    expect_error(
        &test, ADD, "{\"content\":\"x\",\"type\":\"CODE\"}", "invalid-type",
        "INV-001: type must be one of code, text, file, repl-history, error, custom; got \"CODE\"; "
        "did you mean \"code\"?");
    expect_error(
        &test, ADD, "{\"content\":\"x\",\"type\":7}", "invalid-type",
        "INV-001: type must be one of code, text, file, repl-history, error, custom; got a number");
    cr_expect_str_eq(ids_of(&test), "");
    context_test_end(&test);
}

Test(context_item, E3_content)
{
    struct context_test test = context_test_start();
    expect_error(&test, ADD, "{\"content\":42}", "invalid-content",
                 "INV-002: content must be a string; got a number");
    expect_error(&test, ADD, "{}", "invalid-content",
                 "INV-002: content must be a string; got nothing");
    expect_error(&test, ADD, "{\"content\":null}", "invalid-content",
                 "INV-002: content must be a string; got null");
    expect_error(&test, ADD, "{\"content\":true}", "invalid-content",
                 "INV-002: content must be a string; got a boolean");
    expect_error(&test, ADD, "{\"content\":[]}", "invalid-content",
                 "INV-002: content must be a string; got an array");
    expect_error(&test, ADD, "{\"content\":{}}", "invalid-content",
                 "INV-002: content must be a string; got an object");
    context_test_end(&test);
}

Test(context_item, E4_E5_metadata)
{
    struct context_test test = context_test_start();
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":[]}", "invalid-metadata",
                 "INV-005: metadata must be an object or null; got an array");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"start_line\":\"5\"}}",
                 "invalid-metadata", "metadata.start_line must be an integer >= 1; got \"5\"");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"start_line\":0}}",
                 "invalid-metadata", "metadata.start_line must be an integer >= 1; got 0");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"end_line\":1.5}}",
                 "invalid-metadata", "metadata.end_line must be an integer >= 1; got 1.5");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"start_line\":5,\"end_line\":3}}",
                 "invalid-metadata", "metadata.end_line 3 is before start_line 5");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"filename\":null}}",
                 "invalid-metadata", "metadata.filename must be a string; got null");
    expect_error(&test, ADD, "{\"content\":\"x\",\"metadata\":{\"package\":{}}}",
                 "invalid-metadata", "metadata.package must be a string; got an object");
    context_test_end(&test);
}

Test(context_item, E6_custom)
{
    static const char *const metadata[] = {"null", "{}", "{\"custom_type\":\"\"}",
                                           "{\"custom_type\":1}"};
    struct context_test test = context_test_start();
    for (size_t i = 0; i < 4; i++) {
        char arguments[128];
        snprintf(arguments, sizeof(arguments),
                 "{\"content\":\"x\",\"type\":\"custom\",\"metadata\":%s}", metadata[i]);
        expect_error(&test, ADD, arguments, "custom-type-required",
                     "type custom needs metadata.custom_type, a non-empty string");
    }
    context_test_end(&test);
}

Test(context_item, E7_to_E11_arguments)
{
    struct context_test test = context_test_start();
    must_add(&test, "{\"content\":\"x\"}");
    expect_error(&test, ADD, "{\"content\":\"x\",\"id\":\"ctx-1\"}", "immutable-field",
                 "INV-004: id and timestamp are assigned by the store; got \"id\"");
    expect_error(&test, ADD, "{\"id\":\"ctx-1\"}", "immutable-field", NULL);
    expect_error(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"ctx-99\"}", "not-found",
                 "no context item ctx-99");
    expect_error(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"7\"}", "invalid-id",
                 "id must look like ctx-12; got \"7\"");
    expect_error(&test, CONTEXT_OPERATION_REMOVE, "{}", "invalid-id",
                 "id must look like ctx-12; got nothing");
    expect_error(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"ctx-01\"}", "invalid-id", NULL);
    expect_error(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"ctx-99999999999999999999\"}",
                 "invalid-id", NULL);
    expect_error(&test, CONTEXT_OPERATION_LIST, "{\"limit\":-1}", "invalid-limit",
                 "limit must be an integer >= 0; got -1");
    expect_error(&test, CONTEXT_OPERATION_LIST, "{\"limit\":\"5\"}", "invalid-limit",
                 "limit must be an integer >= 0; got \"5\"");
    expect_error(&test, CONTEXT_OPERATION_LIST, "{\"types\":[\"cod\"]}", "invalid-type", NULL);
    expect_error(&test, CONTEXT_OPERATION_LIST, "{\"ids\":[\"ctx-1\",\"ctx-2\"]}", "not-found",
                 "no context item ctx-2");
    expect_error(&test, CONTEXT_OPERATION_RENDER, "{\"max_chars\":199}", "max-chars-too-small",
                 "max_chars must be an integer >= 200; got 199");
    expect_error(&test, CONTEXT_OPERATION_RENDER, "{\"style\":\"wild\"}", "invalid-argument",
                 "style must be block or inline; got \"wild\"");
    expect_error(&test, ADD, "{\"id\":\"ctx-1\",\"pinned\":\"yes\"}", "invalid-argument",
                 "pinned must be a boolean; got \"yes\"");
    context_test_end(&test);
}

static void expect_warning(const char *metadata, const char *key, const char *expected)
{
    struct context_test test = context_test_start();
    char arguments[256];
    snprintf(arguments, sizeof(arguments), "{\"content\":\"x\",\"metadata\":%s}", metadata);
    struct context_result result = add(&test, arguments);
    cr_assert(result.ok, "%s", result.error.message);
    char warning[512] = "[]";
    if (key)
        snprintf(warning, sizeof(warning),
                 "[{\"code\":\"metadata-near-miss\",\"key\":\"%s\",\"expected\":\"%s\",\"message\":"
                 "\"metadata key \\\"%s\\\" looks like \\\"%s\\\"; kept as given\"}]",
                 key, expected, key, expected);
    cr_expect_str_eq(json_of(&test, map_get(result.structured, "warnings")), warning);
    value stored = map_get(map_get(result.structured, "item"), "metadata");
    cr_expect_str_eq(json_of(&test, stored), metadata);
    context_test_end(&test);
}

Test(context_item, M1_to_M4_near_misses)
{
    expect_warning("{\"start-line\":5}", "start-line", "start_line");
    expect_warning("{\"start-line\":5,\"start_line\":5}", NULL, NULL);
    expect_warning("{\"filname\":\"a\"}", "filname", "filename");
    expect_warning("{\"file\":\"a\"}", "file", "filename");
    expect_warning("{\"startLine\":1}", "startLine", "start_line");
    expect_warning("{\"pkg\":\"P\"}", "pkg", "package");
    expect_warning("{\"start_time\":1,\"name\":\"n\"}", NULL, NULL);
    expect_warning("{\":filename\":\"a\"}", ":filename", "filename");
    expect_warning("{\"pakcage\":\"p\"}", "pakcage", "package");
    expect_warning("{\"packages\":\"p\"}", "packages", "package");
    expect_warning("{\"end line\":1}", "end line", "end_line");
    expect_warning("{\"line\":1}", "line", "start_line");
    expect_warning("{\"lastline\":1}", "lastline", "end_line");
    expect_warning("{\"custom_type\":\"a\",\"format\":\"b\",\"symbol\":\"c\",\"session\":\"d\","
                   "\"condition\":\"e\","
                   "\"form\":\"f\",\"duration_ms\":1}",
                   NULL, NULL);
    expect_warning("{\"\":1,\"-\":2,\"_._\":3}", NULL, NULL);
}

Test(context_item, incomplete_range)
{
    struct context_test test = context_test_start();
    struct context_result result =
        add(&test, "{\"content\":\"x\",\"metadata\":{\"filename\":\"f\",\"end_line\":3}}");
    cr_assert(result.ok);
    cr_expect_str_eq(
        json_of(&test, map_get(vector_at(map_get(result.structured, "warnings"), 0), "code")),
        "\"incomplete-range\"");
    context_test_end(&test);
}

Test(context_item, sizes)
{
    struct context_test test = context_test_start();
    size_t size = CONTEXT_CONTENT_LIMIT + 1;
    char *content = region_alloc(test.region, size);
    memset(content, 'x', size);
    value big = value_string(test.region, (struct span){content, size});
    value arguments = map_put_text(test.region, map_new(test.region), "content", big);
    struct context_result result = context_operate(test.store, test.region, ADD, arguments);
    cr_assert_not(result.ok);
    cr_expect_str_eq(result.error.message,
                     "content has 1048577 bytes; the limit max-content-bytes is 1048576");
    cr_expect_str_eq(context_code_name(result.error.code), "too-large");

    value fits = value_string(test.region, (struct span){content, size - 1});
    arguments = map_put_text(test.region, map_new(test.region), "content", fits);
    result = context_operate(test.store, test.region, ADD, arguments);
    cr_assert(result.ok);
    result = list(&test, "{\"content\":true}");
    value item = vector_at(map_get(result.structured, "items"), 0);
    cr_assert_eq(value_text(map_get(item, "content")).length, size - 1);

    value metadata = map_put_text(test.region, map_new(test.region), "k", fits);
    arguments = map_put_text(test.region, map_new(test.region), "content",
                             value_string_text(test.region, "x"));
    arguments = map_put_text(test.region, arguments, "metadata", metadata);
    result = context_operate(test.store, test.region, ADD, arguments);
    cr_expect_str_eq(context_code_name(result.error.code), "too-large");
    context_test_end(&test);
}

// Order and number of metadata keys survive, whatever their number.
Test(context_item, thousand_keys)
{
    struct context_test test = context_test_start();
    CLEANUP_BUFFER struct buffer metadata;
    CLEANUP_BUFFER struct buffer arguments;
    buffer_init(&metadata, BUFFER_DEFAULT_LIMIT);
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    for (int i = 0; i < 1000; i++)
        buffer_append_format(&metadata, "%s\"k%d\":%d", i ? "," : "{", (i * 7919) % 1000, i);
    buffer_append_byte(&metadata, '}');
    buffer_append_format(&arguments, "{\"content\":\"x\",\"metadata\":%s}", buffer_text(&metadata));
    must_add(&test, buffer_text(&arguments));
    struct context_result result = list(&test, "{\"content\":true}");
    value item = vector_at(map_get(result.structured, "items"), 0);
    cr_expect_str_eq(json_of(&test, map_get(item, "metadata")), buffer_text(&metadata));
    context_test_end(&test);
}

Test(context_item, W8_universal_time)
{
    cr_assert_eq(context_universal_time(1767225600), 3976214400);
}

Test(context_item, ids)
{
    int64_t number = 0;
    char id[CONTEXT_ID_SIZE];
    cr_assert(context_id_parse(SPAN("ctx-1"), &number));
    cr_assert_eq(number, 1);
    cr_assert(context_id_parse(SPAN("ctx-999999999999999999"), &number));
    context_id_format(number, id);
    cr_assert_str_eq(id, "ctx-999999999999999999");
    static const char *const bad[] = {"",       "ctx-",  "ctx-0",  "ctx-1x",
                                      "ctx--1", "CTX-1", " ctx-1", "ctx-1 "};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        cr_expect_not(context_id_parse(span_from(bad[i]), &number), "%s", bad[i]);
}

static void expect_preview(struct span content, const char *preview)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    context_append_preview(&text, content);
    cr_expect_str_eq(buffer_text(&text), preview);
}

Test(context_item, previews)
{
    expect_preview(SPAN(""), "");
    expect_preview(SPAN("one"), "one");
    expect_preview(SPAN("one\n"), "one");
    expect_preview(SPAN("one\ntwo"), "one…");
    expect_preview(SPAN("\t a \t\r b  \n"), "a b");
    expect_preview(SPAN("a\0b\x1b[0m"), "a\xEF\xBF\xBD"
                                        "b\xEF\xBF\xBD[0m");
    expect_preview(
        SPAN("01234567890123456789012345678901234567890123456789012345678901234567890123456789"),
        "01234567890123456789012345678901234567890123456789012345678901234567890123456789");
    expect_preview(
        SPAN("0123456789012345678901234567890123456789012345678901234567890123456789012345678\xC3"
             "\xA9!"),
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678é…");
}
