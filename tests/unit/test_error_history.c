// The error history of a session.
#include <criterion/criterion.h>

#include "session/error_history.h"
#include "value/text/json.h"

static value read_json(struct region *region, const char *text)
{
    value result;
    struct error error;
    cr_assert(json_read(region, span_from(text), &(struct json_options){0}, &result, &error), "%s",
              error.message);
    return result;
}

Test(error_history, only_known_members_of_the_right_type)
{
    struct region *region = region_new(64 << 20);
    value error = error_history_import(
        region,
        read_json(region, "{\"code\":5,\"message\":\"m\",\"evil\":1,\"frames\":[1,{\"call\":"
                          "\"(F)\",\"x\":2,\"number\":\"0\"}],\"line\":3,\"slots\":{}}"));
    struct buffer text;
    buffer_init(&text, 4096);
    json_write(&text, error, JSON_SORTED, NULL);
    cr_assert_str_eq(buffer_text(&text), "{\"code\":\"protocol\",\"frames\":[{\"call\":\"(F)\"}],"
                                         "\"line\":3,\"message\":\"m\"}");
    cr_assert(value_is_map(error_history_import(region, value_nil())));
    buffer_release(&text);
    region_free(region);
}

Test(error_history, history_keeps_the_last_twenty)
{
    struct region *region = region_new(64 << 20);
    struct error_history history = {0};
    for (int i = 1; i <= 30; i++) {
        value error = map_put_text(region, map_new(region), "n", value_integer(i));
        cr_assert_eq(error_history_next_id(&history), i);
        cr_assert_eq(error_history_add(&history, error), i);
    }
    cr_assert_eq(history.count, 20);
    cr_assert_null(error_history_find(&history, 10));
    cr_assert_eq(map_get(error_history_find(&history, 11)->error, "n").integer, 11);
    error_history_clear(&history);
    cr_assert_eq(error_history_next_id(&history), 1);
    region_free(region);
}
