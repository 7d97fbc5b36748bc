// A program embedded in C: a tool, typed inputs, limits, memory carried from run to run.
//
//     cc embed.c $(pkg-config --cflags --libs cadre) -o embed && ./embed
#include <cadre.h>
#include <stdio.h>
#include <string.h>

static char currency[] = "EUR";

// (tool/price {:item "pen"}) → cents
static bool price(void *user, cadre_call *call)
{
    const char *unit = user;
    cadre_value item;
    if (!cadre_value_get(cadre_call_arguments(call), "item", &item))
        return cadre_call_fail(call, "item is missing");
    size_t length;
    const char *name = cadre_value_text(item, &length);
    char json[64];
    int size =
        snprintf(json, sizeof(json), "{\"cents\": %zu, \"currency\": \"%s\"}", length * 100, unit);
    return name && cadre_call_return_json(call, json, (size_t)size);
}

static void run(const cadre_program *program, cadre_inputs *inputs)
{
    cadre_step *step = cadre_run(program, inputs);
    if (!step)
        return;
    if (cadre_step_ok(step))
        printf("value:  %s\nmemory: %s\n", cadre_step_printed(step, NULL),
               cadre_step_memory_json(step, NULL));
    else
        printf("failed: %s (%s, line %u)\n", cadre_step_message(step), cadre_step_kind(step),
               cadre_step_line(step));
    cadre_inputs_set_memory_from(inputs, step);
    cadre_step_free(step);
}

int main(void)
{
    static const char source[] = "(def runs (inc (or runs 0)))\n"
                                 "(->> ctx/items\n"
                                 "     (map (fn [item] (:cents (tool/price {:item item}))))\n"
                                 "     (reduce + 0))\n";
    static const char context[] = "{\"items\": [\"pen\", \"ink\", \"paper\"]}";

    cadre_host *host = cadre_host_new();
    cadre_inputs *inputs = cadre_inputs_new();
    if (!host || !inputs ||
        !cadre_host_add_tool(host, "price", price, currency, "(item :string) -> {:cents :int}",
                             "The price of an item.", CADRE_TOOL_CACHE) ||
        !cadre_inputs_set_context(inputs, context, strlen(context)) ||
        !cadre_inputs_set_signature(inputs, "(items [:string]) -> :int") ||
        !cadre_inputs_set_option(inputs, "timeout", 100))
        return 1;

    cadre_program *program = cadre_compile(host, source, strlen(source), inputs);
    if (!program)
        return 1;
    run(program, inputs);
    run(program, inputs);
    cadre_program_free(program);

    static const char wrong[] = "(let [x 1]\n  (flter odd? [x]))";
    program = cadre_compile(host, wrong, strlen(wrong), inputs);
    if (program)
        run(program, inputs);
    cadre_program_free(program);
    cadre_inputs_free(inputs);
    cadre_host_free(host);
    return 0;
}
