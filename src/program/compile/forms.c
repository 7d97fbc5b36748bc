#include "program/compile/forms.h"

#include <stdarg.h>
#include <string.h>

#include "value/text/literal.h"

struct form *form_make(struct analysis *analysis, enum form_kind kind, const struct form *around)
{
    struct form *form = analysis_alloc(analysis, sizeof(*form));
    form->kind = kind;
    form->offset = around->offset;
    return form;
}

struct form *form_of_symbol(struct analysis *analysis, struct symbol *symbol,
                            const struct form *around)
{
    struct form *form = form_make(analysis, FORM_SYMBOL, around);
    form->symbol = symbol;
    return form;
}

struct form *form_name(struct analysis *analysis, const char *name, const struct form *around)
{
    struct symbol *symbol = symbol_intern(analysis->compilation, span_from(name), around->offset);
    if (symbol->special != SPECIAL_NONE) {
        // The special form, whatever the program binds the name to.
        struct symbol *hidden = symbol_hidden(analysis->compilation, name);
        hidden->special = symbol->special;
        symbol = hidden;
    }
    return form_of_symbol(analysis, symbol, around);
}

struct form *form_text(struct analysis *analysis, enum form_kind kind, struct span text,
                       const struct form *around)
{
    struct form *form = form_make(analysis, kind, around);
    form->text = text;
    return form;
}

struct form *form_items(struct analysis *analysis, enum form_kind kind, const struct form *around,
                        size_t count, ...)
{
    struct form *form = form_make(analysis, kind, around);
    form->items = analysis_alloc(analysis, (count + 1) * sizeof(void *));
    form->count = count;
    va_list arguments;
    va_start(arguments, count);
    for (size_t i = 0; i < count; i++)
        form->items[i] = va_arg(arguments, struct form *);
    va_end(arguments);
    return form;
}

struct form *form_with_tail(struct analysis *analysis, struct form *start, struct form **tail,
                            size_t tail_count)
{
    struct form **items =
        analysis_alloc(analysis, (start->count + tail_count + 1) * sizeof(void *));
    memcpy(items, start->items, start->count * sizeof(void *));
    if (tail_count > 0)
        memcpy(items + start->count, tail, tail_count * sizeof(void *));
    start->items = items;
    start->count += tail_count;
    return start;
}

struct span form_source(const struct analysis *analysis, const struct form *form)
{
    struct span source = analysis->compilation->source;
    size_t depth = 0, i = form->offset;
    for (; i < source.length; i++) {
        char c = source.data[i];
        if (c == '"') {
            for (i++; i < source.length && source.data[i] != '"'; i++)
                i += source.data[i] == '\\';
        } else if (c == '[' || c == '{' || c == '(') {
            depth++;
        } else if (c == ']' || c == '}' || c == ')') {
            if (depth == 0)
                break;
            depth--;
        }
        if (depth == 0 && i + 1 < source.length &&
            (c == ')' || c == ']' || c == '}' || c == '"' ||
             strchr(" \t\n\r,()[]{}\";", source.data[i + 1]))) {
            i++;
            break;
        }
    }
    return (struct span){source.data + form->offset, i - form->offset};
}

static bool has_items(const struct form *form)
{
    return form->kind >= FORM_LIST;
}

bool form_mentions(const struct form *form, const struct symbol *symbol)
{
    if (form->kind == FORM_SYMBOL)
        return form->symbol == symbol;
    for (size_t i = 0; has_items(form) && i < form->count; i++) {
        if (form_mentions(form->items[i], symbol))
            return true;
    }
    return false;
}

struct form *form_replace(struct analysis *analysis, struct form *form, const struct symbol *symbol,
                          struct symbol *by)
{
    if (form->kind == FORM_SYMBOL)
        return form->symbol == symbol ? form_of_symbol(analysis, by, form) : form;
    if (!has_items(form) || !form_mentions(form, symbol))
        return form;
    struct form *copy = form_make(analysis, form->kind, form);
    copy->count = form->count;
    copy->items = analysis_alloc(analysis, form->count * sizeof(void *));
    for (size_t i = 0; i < form->count; i++)
        copy->items[i] = form_replace(analysis, form->items[i], symbol, by);
    return copy;
}
