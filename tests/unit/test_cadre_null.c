// NULL in each place of each function of libcadre: answered, and harmless.
#include <cadre.h>
#include <criterion/criterion.h>
#include <string.h>

static bool answer_badly(void *user, cadre_call *call)
{
    (void)user;
    cr_expect_not_null(cadre_call_arguments_json(call, NULL));
    cr_expect_not(cadre_call_return_json(call, NULL, 3));
    cr_expect_not(cadre_call_return_string(call, NULL, 3));
    cr_expect_not(cadre_call_fail(call, NULL));
    return cadre_call_return_nil(call);
}

static void check_length(const char *text, size_t *length)
{
    cr_expect_null(text);
    cr_expect_eq(*length, 0);
    *length = 7;
}

Test(cadre_null, host)
{
    cadre_host_free(NULL);
    cr_expect_not(cadre_host_add_tool(NULL, "t", answer_badly, NULL, NULL, NULL, 0));
    cr_expect_str_empty(cadre_host_error(NULL));
    cadre_host *host = cadre_host_new();
    cr_expect_not(cadre_host_add_tool(host, NULL, answer_badly, NULL, NULL, NULL, 0));
    cr_expect_not(cadre_host_add_tool(host, "t", NULL, NULL, NULL, NULL, 0));
    cr_expect_not(cadre_host_add_tool(NULL, NULL, NULL, NULL, NULL, NULL, 0));
    cr_assert(cadre_host_add_tool(host, "t", answer_badly, NULL, NULL, NULL, 0));
    cadre_step *step = cadre_eval(host, "(tool/t)", 8, NULL);
    cr_expect(cadre_step_ok(step), "%s", cadre_step_message(step));
    cadre_step_free(step);
    cr_expect_not(cadre_host_add_tool(host, "late", answer_badly, NULL, NULL, NULL, 0));
    cr_expect_not_null(strstr(cadre_host_error(host), "before the first program"));
    cadre_host_free(host);
}

Test(cadre_null, call)
{
    size_t length = 7;
    cr_expect_eq(cadre_value_type(cadre_call_arguments(NULL)), CADRE_NIL);
    check_length(cadre_call_arguments_json(NULL, &length), &length);
    cr_expect_null(cadre_call_arguments_json(NULL, NULL));
    cr_expect_eq(cadre_call_milliseconds_left(NULL), 0);
    cr_expect_not(cadre_call_return_json(NULL, "1", 1));
    cr_expect_not(cadre_call_return_string(NULL, "1", 1));
    cr_expect_not(cadre_call_return_integer(NULL, 1));
    cr_expect_not(cadre_call_return_number(NULL, 1));
    cr_expect_not(cadre_call_return_boolean(NULL, true));
    cr_expect_not(cadre_call_return_nil(NULL));
    cr_expect_not(cadre_call_fail(NULL, "text"));
    cr_expect_not(cadre_call_fail(NULL, NULL));
    cr_expect_not(cadre_call_pause(NULL));
}

static void check_inputs(cadre_inputs *inputs)
{
    cr_expect_not(cadre_inputs_set_context(inputs, NULL, 2));
    cr_expect_not(cadre_inputs_set_memory(inputs, NULL, 2));
    cr_expect_not(cadre_inputs_set_memory_from(inputs, NULL));
    cr_expect_not(cadre_inputs_set_saved_memory(inputs, NULL, 2));
    cr_expect_not(cadre_inputs_set_option(inputs, NULL, 2));
    cr_expect_not(cadre_inputs_set_signature(inputs, NULL));
    cr_expect_not(cadre_inputs_set_validation(inputs, NULL));
    cr_expect_not_null(cadre_inputs_error(inputs));
}

Test(cadre_null, inputs)
{
    cadre_step *step = cadre_eval(NULL, "1", 1, NULL);
    cadre_inputs *inputs = cadre_inputs_new();
    check_inputs(inputs);
    check_inputs(NULL);
    cr_expect_not(cadre_inputs_set_context(NULL, "{}", 2));
    cr_expect_not(cadre_inputs_set_memory(NULL, "{}", 2));
    cr_expect_not(cadre_inputs_set_memory_from(NULL, step));
    cr_expect_not(cadre_inputs_set_saved_memory(NULL, cadre_step_saved_memory(step, NULL), 2));
    cr_expect_not(cadre_inputs_set_option(NULL, "timeout", 2));
    cr_expect_not(cadre_inputs_set_signature(NULL, "-> :any"));
    cr_expect_not(cadre_inputs_set_validation(NULL, "strict"));
    cadre_inputs_set_explicit_memory(NULL, true);
    cadre_inputs_free(NULL);
    cadre_inputs_free(inputs);
    cadre_step_free(step);
}

Test(cadre_null, programs)
{
    cr_expect_null(cadre_compile(NULL, NULL, 1, NULL));
    cr_expect_null(cadre_eval(NULL, NULL, 1, NULL));
    cr_expect_null(cadre_run(NULL, NULL));
    cr_expect_null(cadre_resume(NULL, NULL, "{}", 2, NULL));
    cr_expect_null(cadre_run_paused(NULL, NULL));
    cadre_inputs_set_pausing(NULL, true);
    cr_expect_null(cadre_program_failure(NULL));
    cadre_program_free(NULL);
    cadre_program *empty = cadre_compile(NULL, NULL, 0, NULL);
    cadre_step *step = cadre_run(empty, NULL);
    cr_expect(cadre_step_ok(step));
    cr_expect_not_null(cadre_step_json(step, NULL));
    cadre_step_free(step);
    cadre_program_free(empty);
}

Test(cadre_null, step)
{
    size_t length = 7;
    cr_expect_not(cadre_step_ok(NULL));
    cr_expect_eq(cadre_value_type(cadre_step_return(NULL)), CADRE_NIL);
    cr_expect_eq(cadre_value_type(cadre_step_memory(NULL)), CADRE_NIL);
    check_length(cadre_step_json(NULL, &length), &length);
    check_length(cadre_step_memory_json(NULL, &length), &length);
    check_length(cadre_step_saved_memory(NULL, &length), &length);
    check_length(cadre_step_printed(NULL, &length), &length);
    cr_expect_null(cadre_step_json(NULL, NULL));
    cr_expect_null(cadre_step_reason(NULL));
    cr_expect_null(cadre_step_kind(NULL));
    cr_expect_null(cadre_step_message(NULL));
    cr_expect_eq(cadre_step_line(NULL), 0);
    cr_expect_eq(cadre_step_column(NULL), 0);
    cr_expect_eq(cadre_step_steps(NULL), 0);
    cr_expect_eq(cadre_step_memory_bytes(NULL), 0);
    cadre_step_free(NULL);
}

Test(cadre_null, values)
{
    cadre_step *step = cadre_eval(NULL, "{:a 1 :b 1.5 :c \"s\"}", 20, NULL);
    cadre_value map = cadre_step_return(step), item;
    cr_assert(cadre_value_get(map, "a", &item));
    cr_expect(cadre_value_get(map, "a", NULL));
    cr_expect_not(cadre_value_get(map, NULL, &item));
    cr_expect_not(cadre_value_get(map, NULL, NULL));
    cr_expect(cadre_value_integer(item, NULL));
    cr_expect(cadre_value_number(item, NULL));
    cr_assert(cadre_value_get(map, "b", &item));
    cr_expect(cadre_value_number(item, NULL));
    cr_assert(cadre_value_get(map, "c", &item));
    cr_expect_not_null(cadre_value_text(item, NULL));
    cadre_value_each(map, NULL, NULL);
    cadre_step_free(step);
}
