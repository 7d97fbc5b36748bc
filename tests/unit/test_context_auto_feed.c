// Auto-feed: evaluations become items. The cases A1 and A2.
#include "base/utf8.h"
#include "context/auto_feed.h"
#include "context_support.h"

static struct context_evaluation failed_division(void)
{
    return (struct context_evaluation){
        .failed = true,
        .session = SPAN("main"),
        .package = SPAN("CL-USER"),
        .form = SPAN("(/ 1 0)"),
        .report = SPAN("[ERROR] DIVISION-BY-ZERO\narithmetic error"),
        .condition = SPAN("DIVISION-BY-ZERO"),
        .duration_ms = 3,
    };
}

static const char *feed(struct context_test *test, enum context_auto mode,
                        const struct context_evaluation *evaluation)
{
    value stored;
    struct context_error error;
    bool good = context_auto_feed(test->store, test->region, mode, evaluation, &stored, &error);
    return good ? json_of(test, stored) : context_code_name(error.code);
}

static const char *newest(struct context_test *test, const char *member)
{
    struct context_result result = list(test, "{\"limit\":1,\"content\":true}");
    value items = map_get(result.structured, "items");
    cr_assert_eq(vector_count(items), 1);
    return json_of(test, map_get(vector_at(items, 0), member));
}

Test(context_auto_feed, A1_errors)
{
    struct context_test test = context_test_start();
    struct context_evaluation evaluation = failed_division();
    cr_expect_str_eq(feed(&test, CONTEXT_AUTO_OFF, &evaluation), "null");
    cr_expect_str_eq(feed(&test, CONTEXT_AUTO_ERRORS, &evaluation),
                     "{\"added\":\"ctx-1\",\"evicted\":[]}");
    cr_expect_str_eq(newest(&test, "type"), "\"error\"");
    cr_expect_str_eq(newest(&test, "content"), "\"[ERROR] DIVISION-BY-ZERO\\narithmetic error\"");
    cr_expect_str_eq(
        newest(&test, "metadata"),
        "{\"session\":\"main\",\"package\":\"CL-USER\",\"condition\":\"DIVISION-BY-ZERO\","
        "\"form\":\"(/ 1 0)\"}");
    // The same again is not stored again.
    cr_expect_str_eq(feed(&test, CONTEXT_AUTO_ALL, &evaluation), "null");
    evaluation.filename = SPAN("a.lisp");
    evaluation.start_line = 3;
    evaluation.report = SPAN("other");
    feed(&test, CONTEXT_AUTO_ERRORS, &evaluation);
    cr_expect(strstr(newest(&test, "metadata"), "\"filename\":\"a.lisp\",\"start_line\":3"));
    evaluation.failed = false;
    cr_expect_str_eq(feed(&test, CONTEXT_AUTO_ERRORS, &evaluation), "null");
    context_test_end(&test);
}

Test(context_auto_feed, history)
{
    struct context_test test = context_test_start();
    struct context_evaluation evaluation = failed_division();
    feed(&test, CONTEXT_AUTO_HISTORY, &evaluation);
    cr_expect_str_eq(newest(&test, "type"), "\"repl-history\"");
    cr_expect_str_eq(newest(&test, "content"), "\"CL-USER> (/ 1 0)\\n[ERROR] DIVISION-BY-ZERO\"");
    evaluation.failed = false;
    evaluation.form = SPAN("(values 1 2)");
    evaluation.values = SPAN("=> 1\n=> 2");
    feed(&test, CONTEXT_AUTO_ALL, &evaluation);
    cr_expect_str_eq(newest(&test, "content"), "\"CL-USER> (values 1 2)\\n=> 1\\n=> 2\"");
    cr_expect_str_eq(newest(&test, "metadata"),
                     "{\"session\":\"main\",\"package\":\"CL-USER\",\"duration_ms\":3}");
    context_test_end(&test);
}

Test(context_auto_feed, A2_ten_and_no_more)
{
    struct context_test test = context_test_start();
    must_add(&test, "{\"content\":\"by hand\"}");
    struct context_evaluation evaluation = {.package = SPAN("CL-USER"), .values = SPAN("=> 1")};
    for (int i = 0; i < 30; i++) {
        char form[16];
        snprintf(form, sizeof(form), "(f %d)", i);
        evaluation.form = span_from(form);
        const char *fed = feed(&test, CONTEXT_AUTO_ALL, &evaluation);
        char expected[64];
        char evicted[16] = "";
        if (i >= 10)
            snprintf(evicted, sizeof(evicted), "\"ctx-%d\"", i - 8);
        snprintf(expected, sizeof(expected), "{\"added\":\"ctx-%d\",\"evicted\":[%s]}", i + 2,
                 evicted);
        cr_expect_str_eq(fed, expected);
    }
    cr_expect_str_eq(ids_of(&test),
                     "ctx-1 ctx-22 ctx-23 ctx-24 ctx-25 ctx-26 ctx-27 ctx-28 ctx-29 ctx-30 ctx-31");
    context_test_end(&test);
}

// With a full window the chatter makes way for itself.
Test(context_auto_feed, does_not_push_out_what_was_added_by_hand)
{
    struct context_test test = context_test_start();
    struct context_error error;
    cr_assert(context_store_set(test.store, SPAN("max-items"), SPAN("5"), &error));
    for (int i = 0; i < 4; i++)
        must_add(&test, "{\"content\":\"by hand\"}");
    struct context_evaluation evaluation = {.package = SPAN("P"), .values = SPAN("=> 1")};
    for (int i = 0; i < 5; i++) {
        char form[16];
        snprintf(form, sizeof(form), "(f %d)", i);
        evaluation.form = span_from(form);
        feed(&test, CONTEXT_AUTO_ALL, &evaluation);
    }
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3 ctx-4 ctx-9");
    context_test_end(&test);
}

Test(context_auto_feed, is_bounded)
{
    struct context_test test = context_test_start();
    static char report[9000];
    memset(report, 'r', sizeof(report));
    struct context_evaluation evaluation = failed_division();
    evaluation.report = (struct span){report, sizeof(report)};
    evaluation.form = (struct span){report, sizeof(report)};
    feed(&test, CONTEXT_AUTO_ERRORS, &evaluation);
    struct context_item item;
    struct context_error error;
    cr_assert(context_store_get(test.store, test.region, 1, &item, &error));
    struct span end = SPAN("\n... [truncated: 4000 of 9000 characters shown]");
    cr_assert_eq(item.content.length, 4000 + end.length);
    cr_expect(memcmp(item.content.data + 4000, end.data, end.length) == 0);
    value metadata = context_item_metadata(test.region, &item);
    cr_expect_eq(value_text(map_get(metadata, "form")).length, 500);
    context_test_end(&test);
}

Test(context_auto_feed, a_broken_store_is_reported)
{
    struct context_test test = context_test_start_in_file();
    context_store_free(test.store);
    test.store = context_store_new("/dev/null/context.db");
    struct context_evaluation evaluation = failed_division();
    cr_expect_str_eq(feed(&test, CONTEXT_AUTO_ERRORS, &evaluation), "store-unavailable");
    context_test_end(&test);
}
