#include "program/run/tool_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "program/compile/compilation.h"
#include "program/compile/suggest.h"

enum { TABLE_BYTES = 16 * 1024 * 1024 };

void tool_table_init(struct tool_table *table)
{
    *table = (struct tool_table){0};
    arena_init(&table->arena, TABLE_BYTES);
}

void tool_table_release(struct tool_table *table)
{
    arena_release(&table->arena);
    memory_free(table->tools);
    *table = (struct tool_table){0};
}

bool name_is_symbol(struct span name)
{
    static const char *const marks = "+*<>=?!_%.&-";
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool letter = ascii_is_letter(c) || (c && strchr(marks, c));
        bool digit = ascii_is_digit(c) || c == '\'';
        if (!letter && !(digit && i > 0))
            return false;
    }
    bool number = name.length > 1 && name.data[0] == '-' && ascii_is_digit(name.data[1]);
    return name.length > 0 && !number;
}

// A symbol, or two with a slash between them: a server's tool.
static bool name_is_callable(struct span name)
{
    const char *slash = memchr(name.data, '/', name.length);
    if (!slash)
        return name_is_symbol(name);
    size_t length = (size_t)(slash - name.data);
    return name_is_symbol((struct span){name.data, length}) &&
           name_is_symbol((struct span){slash + 1, name.length - length - 1});
}

bool tool_table_refuse(struct diagnostic *diagnostic, struct span name, const char *why)
{
    *diagnostic = (struct diagnostic){.kind = INVALID_TOOL};
    int length = name.length > 80 ? 80 : (int)name.length;
    snprintf(diagnostic->op, sizeof(diagnostic->op), "%.*s", length, name.data);
    snprintf(diagnostic->message, sizeof(diagnostic->message), "invalid tool '%.*s': %.300s",
             length, name.data, why);
    return false;
}

static bool grow(struct tool_table *table)
{
    if (table->count < table->capacity)
        return true;
    size_t capacity = table->capacity ? table->capacity * 2 : 8;
    struct tool *tools = memory_try_resize(table->tools, capacity * sizeof(*tools));
    if (!tools)
        return false;
    table->tools = tools;
    table->capacity = capacity;
    return true;
}

static bool copy_text(struct tool_table *table, struct span text, char **ret_copy)
{
    *ret_copy = text.length ? arena_copy_text(&table->arena, text) : NULL;
    return *ret_copy || !text.length;
}

bool tool_table_add(struct tool_table *table, const struct tool_definition *definition,
                    struct diagnostic *ret_diagnostic)
{
    struct span name = definition->name;
    if (!name_is_callable(name))
        return tool_table_refuse(ret_diagnostic, name, "the name is not a symbol");
    if (!definition->function)
        return tool_table_refuse(ret_diagnostic, name, "there is no function");
    if (tool_table_find(table, name) >= 0)
        return tool_table_refuse(ret_diagnostic, name, "the name is taken");
    struct tool tool = {
        .function = definition->function, .data = definition->data, .flags = definition->flags};
    if (definition->signature.length) {
        struct error error = {0};
        if (!signature_parse(&table->arena, definition->signature, &tool.signature, &error)) {
            char why[400];
            snprintf(why, sizeof(why), "unreadable signature: %.300s", error.message);
            return tool_table_refuse(ret_diagnostic, name, why);
        }
    }
    if (!copy_text(table, name, &tool.name) ||
        !copy_text(table, definition->signature, &tool.signature_text) ||
        !copy_text(table, definition->description, &tool.description) || !grow(table))
        return tool_table_refuse(ret_diagnostic, name, "no memory");
    table->tools[table->count++] = tool;
    return true;
}

int tool_table_find(const struct tool_table *table, struct span name)
{
    for (size_t i = 0; table && i < table->count; i++) {
        if (span_equal_text(name, table->tools[i].name))
            return (int)i;
    }
    return -1;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tool_table_names(const struct tool_table *table, struct name_list *list)
{
    enum { MOST_LISTED = 256 };
    const char *names[MOST_LISTED] = {0};
    size_t total = table ? table->count : 0, count = total < MOST_LISTED ? total : MOST_LISTED;
    for (size_t i = 0; i < count; i++)
        names[i] = table->tools[i].name;
    qsort(names, count, sizeof(names[0]), compare_names);
    for (size_t i = 0; i < count; i++)
        name_list_add(list, ", ", span_from(names[i]), NULL);
    list->count = total;
}

void tool_table_suggest(const struct tool_table *table, struct span name,
                        struct diagnostic *diagnostic)
{
    struct suggestion best = {0};
    for (size_t i = 0; table && i < table->count; i++)
        suggest_closer(&best, name, span_from(table->tools[i].name));
    suggest_add(diagnostic, best);
}
