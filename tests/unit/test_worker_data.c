// Which results of a worker are refused.
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "session/worker_data.h"
#include "value/text/json.h"

static bool well_formed(const char *format, const char *name)
{
    struct region *region = region_new(SIZE_MAX);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    for (const char *c = format; *c; c++)
        if (*c == '@')
            buffer_append_text(&text, name);
        else
            buffer_append_byte(&text, *c);
    struct error error;
    value result;
    cr_assert(json_read(region, buffer_span(&text), NULL, &result, &error), "%s", error.message);
    bool ok = result_is_well_formed(result);
    region_free(region);
    return ok;
}

// No member that is known may be a fraction, wherever it stands.
Test(worker_data, members_of_another_type_are_refused)
{
    char names[] =
        "aborted adoptable allocation arglist arguments author bytes call callers category "
        "cause class classes code collections column completions components depends_on depth "
        "description direct_slots direct_subclasses direct_superclasses documentation error "
        "errors expanded expansion finalized form forms found frame frame_count frames function "
        "functions gc_count gc_us generations generic_function heap_bytes hint initargs "
        "initform invoked kind lambda_list license line lisp_type live_bytes load loaded locals "
        "macros matches message metaclass methods more name no_values notes notices number "
        "nursery_bytes object op package package_label packages page_faults parameters parts "
        "path phase postmortem precedence qualifiers readers real_us reason references restart "
        "restarts result_lisp_type result_type rollback run run_us samples slots source "
        "source_file specializers state superclasses symbol system systems table text thread "
        "thread_errors threads timing total type type_qualified unavailable values "
        "values_omitted values_stopped variables version warnings warnings_omitted writers";
    for (char *rest = NULL, *name = strtok_r(names, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        cr_assert_not(well_formed("{\"ok\":true,\"@\":0.5}", name), "%s", name);
        cr_assert_not(well_formed("{\"ok\":false,\"error\":{\"@\":0.5}}", name), "%s", name);
        cr_assert_not(well_formed("{\"ok\":true,\"warnings\":[{},{\"@\":0.5}]}", name), "%s", name);
        cr_assert(well_formed("{\"ok\":true,\"@\":null}", name), "%s", name);
    }
}

Test(worker_data, what_is_inside)
{
    static const char *const good[] = {
        "{\"ok\":true}",
        "{\"ok\":false,\"error\":{}}",
        "{\"values\":[\"1\",\"2\"],\"forms\":1,\"ok\":true,\"timing\":{\"real_us\":5},\"new\":0.5}",
        "{\"ok\":true,\"value\":[0.5,{\"ok\":7}],\"form\":\"(a)\",\"slots\":[\"x\"]}",
        ("{\"ok\":false,\"error\":{\"form\":1,\"slots\":[{\"name\":\"a\",\"value\":\"b\"}],"
         "\"frames\":[{"
         "\"arguments\":[]}]}}"),
        "{\"ok\":true,\"ok\\u0000x\":1,\"o\":1,\"okay\":1,\"\":1}",
    };
    static const char *const bad[] = {
        "[]",
        "7",
        "{}",
        "{\"ok\":1}",
        "{\"ok\":false}",
        "{\"ok\":false,\"error\":null}",
        "{\"ok\":true,\"values\":[\"1\",2]}",
        "{\"ok\":true,\"values\":{\"a\":1}}",
        "{\"ok\":true,\"form\":1}",
        "{\"ok\":true,\"slots\":[{}]}",
        "{\"ok\":true,\"error\":{\"form\":\"(a)\"}}",
        "{\"ok\":true,\"error\":{\"value\":[]}}",
        "{\"ok\":true,\"error\":{\"frames\":[[]]}}",
        "{\"ok\":true,\"live_bytes\":123456789012345678901234567890}",
        ("{\"ok\":true,\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":{\"error\":"
         "{\"error\":{"
         "\"error\":{}}}}}}}}}}"),
    };
    for (size_t i = 0; i < COUNT_OF(good); i++)
        cr_assert(well_formed(good[i], ""), "%s", good[i]);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        cr_assert_not(well_formed(bad[i], ""), "%s", bad[i]);
}
