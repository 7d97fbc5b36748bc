// What the tests of the context domain share: a store, and operations with JSON arguments.
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "context/operation.h"
#include "context/store.h"
#include "value/text/json.h"

struct context_test {
    struct context_store *store;
    struct region *region;
    char directory[256];  // "" for a store in memory
    char path[320];
};

static inline struct context_test context_test_start(void)
{
    return (struct context_test){
        .store = context_store_new(":memory:"),
        .region = region_new((size_t)2 << 30),
        .path = ":memory:",
    };
}

static inline struct context_test context_test_start_in_file(void)
{
    struct context_test test = {.region = region_new((size_t)2 << 30)};
    const char *parent = getenv("TMPDIR");
    snprintf(test.directory, sizeof(test.directory), "%s/cadre-context-XXXXXX",
             parent ? parent : "/tmp");
    cr_assert_not_null(mkdtemp(test.directory));
    snprintf(test.path, sizeof(test.path), "%s/context.db", test.directory);
    test.store = context_store_new(test.path);
    return test;
}

static inline void context_test_reopen(struct context_test *test)
{
    context_store_free(test->store);
    test->store = context_store_new(test->path);
}

static inline void context_test_end(struct context_test *test)
{
    context_store_free(test->store);
    region_free(test->region);
    if (!test->directory[0])
        return;
    CLEANUP_FREE char *command =
        memory_format("chmod -R u+w '%s'; rm -rf '%s'", test->directory, test->directory);
    cr_assert_eq(system(command), 0);
}

static inline value parse_json(struct context_test *test, const char *json)
{
    value v;
    struct error error = {0};
    bool read = json_read(test->region, span_from(json), NULL, &v, &error);
    cr_assert(read, "%s: %s", json, error.message);
    return v;
}

static inline struct context_result call(struct context_test *test,
                                         enum context_operation operation, const char *arguments)
{
    return context_operate(test->store, test->region, operation, parse_json(test, arguments));
}

#define add(test, arguments) call(test, CONTEXT_OPERATION_ADD, arguments)
#define list(test, arguments) call(test, CONTEXT_OPERATION_LIST, arguments)
#define render(test, arguments) call(test, CONTEXT_OPERATION_RENDER, arguments)

static inline const char *text_of(struct context_test *test, value v)
{
    struct span text = value_text(v);
    char *copy = region_alloc(test->region, text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

static inline const char *json_of(struct context_test *test, value v)
{
    CLEANUP_BUFFER struct buffer json;
    buffer_init(&json, BUFFER_DEFAULT_LIMIT);
    json_write(&json, v, 0, NULL);
    return text_of(test, value_string(test->region, buffer_span(&json)));
}

static inline void must_add(struct context_test *test, const char *arguments)
{
    struct context_result result = add(test, arguments);
    cr_assert(result.ok, "%s: %s", arguments, result.error.message);
}

// The ids in the store, joined by spaces.
static inline const char *ids_of(struct context_test *test)
{
    struct context_result result = list(test, "{}");
    cr_assert(result.ok);
    CLEANUP_BUFFER struct buffer ids;
    buffer_init(&ids, BUFFER_DEFAULT_LIMIT);
    value summaries = map_get(result.structured, "summaries");
    for (size_t i = 0; i < vector_count(summaries); i++) {
        if (i > 0)
            buffer_append_byte(&ids, ' ');
        buffer_append_span(&ids, value_text(map_get(vector_at(summaries, i), "id")));
    }
    return text_of(test, value_string(test->region, buffer_span(&ids)));
}

static inline void expect_error(struct context_test *test, enum context_operation operation,
                                const char *arguments, const char *code, const char *message)
{
    struct context_result result = call(test, operation, arguments);
    cr_assert_not(result.ok, "%s was accepted", arguments);
    cr_expect_str_eq(context_code_name(result.error.code), code);
    if (message)
        cr_expect_str_eq(result.error.message, message);
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&expected, "[ERROR] %s\n%s", code, result.error.message);
    cr_expect_str_eq(text_of(test, result.text), buffer_text(&expected));
}
