#include "value/text/print.h"

#include <math.h>

#include "value/collection/entries.h"
#include "value/collection/sorted_entries.h"
#include "value/number/float_text.h"
#include "value/number/number.h"
#include "value/worklist.h"

enum { FIRST_FRAMES = 8 };

static const char *escape_of(char c)
{
    switch (c) {
    case '\\': return "\\\\";
    case '"': return "\\\"";
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return NULL;
    }
}

static void print_escaped(struct sink *sink, struct span text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char *escape = escape_of(text.data[i]);
        if (!escape)
            continue;
        sink_span(sink, (struct span){text.data + start, i - start});
        sink_text(sink, escape);
        start = i + 1;
    }
    sink_span(sink, (struct span){text.data + start, text.length - start});
}

void print_string(struct sink *sink, struct span text)
{
    sink_byte(sink, '"');
    for (size_t done = 0, chunk; done < text.length; done += chunk) {
        chunk = chunk_next(text.length - done);
        print_escaped(sink, (struct span){text.data + done, chunk});
    }
    sink_byte(sink, '"');
}

static void print_float(struct sink *sink, double number)
{
    if (isnan(number)) {
        sink_text(sink, "##NaN");
    } else if (isinf(number)) {
        sink_text(sink, number > 0 ? "##Inf" : "##-Inf");
    } else {
        char text[FLOAT_TEXT_SIZE];
        size_t length =
            sink->as_clojure ? float_write_java(number, text) : float_write(number, text);
        sink_span(sink, (struct span){text, length});
    }
}

void print_number(struct sink *sink, value v)
{
    if (v.tag == VALUE_FLOAT) {
        print_float(sink, v.number);
        return;
    }
    if (v.tag == VALUE_INTEGER) {
        char text[INTEGER_TEXT_SIZE];
        sink_span(sink, (struct span){text, integer_write(v, text)});
        return;
    }
    char *room = sink_room(sink, integer_text_size(v));
    if (room)
        sink_wrote(sink, integer_write(v, room));
}

static void print_foreign(struct sink *sink, value v)
{
    if (v.flags & VALUE_BORROWED)
        sink_text(sink, "#<builtin>");
    else
        foreign_of(v)->type->print(sink, v.object);
}

static void print_scalar(struct sink *sink, value v)
{
    switch ((enum value_tag)v.tag) {
    case VALUE_NIL: sink_text(sink, "nil"); break;
    case VALUE_BOOLEAN: sink_text(sink, v.boolean ? "true" : "false"); break;
    case VALUE_INTEGER:
    case VALUE_FLOAT:
    case VALUE_BIGNUM: print_number(sink, v); break;
    case VALUE_STRING:
        if (sink->without_quotes)
            sink_span(sink, value_text(v));
        else
            print_string(sink, value_text(v));
        break;
    case VALUE_KEYWORD:
        sink_byte(sink, ':');
        sink_span(sink, value_text(v));
        break;
    case VALUE_SYMBOL:
        if (!sink->as_clojure)
            sink_byte(sink, '\'');
        sink_span(sink, value_text(v));
        break;
    case VALUE_VAR:
        sink_text(sink, "#'");
        sink_span(sink, value_text(v));
        break;
    case VALUE_REGEX:
        sink_text(sink, "#\"");
        sink_span(sink, value_text(v));
        sink_byte(sink, '"');
        break;
    default: print_foreign(sink, v); break;
    }
}

struct frame {
    struct sorted_entries entries;
    bool item;  // the key of the entry is written, the item comes next
};

static void open_collection(struct worklist *work, struct sink *sink, value v)
{
    struct frame *frame = worklist_push(work);
    frame->item = false;
    sorted_entries_start(&frame->entries, work, v);
    sink_text(sink, v.tag == VALUE_VECTOR ? "[" : v.tag == VALUE_MAP ? "{" : "#{");
}

static void close_collection(struct worklist *work, struct sink *sink)
{
    struct frame *frame = worklist_top(work);
    sink_byte(sink, frame->entries.v.tag == VALUE_VECTOR ? ']' : '}');
    sorted_entries_end(&frame->entries, work);
    worklist_pop(work);
}

// The next value to write inside the collection on top; false: it is complete.
static bool next_inside(struct frame *frame, struct sink *sink, value *ret_value)
{
    struct sorted_entries *entries = &frame->entries;
    if (frame->item) {
        frame->item = false;
        sink_byte(sink, ' ');
        *ret_value = entries->item;
        return true;
    }
    bool first = entries->index == 0;
    if (!sorted_entries_next(entries))
        return false;
    bool has_comma = sink->as_clojure && entries->v.tag == VALUE_MAP;
    if (!first)
        sink_text(sink, has_comma ? ", " : " ");
    frame->item = entries->v.tag == VALUE_MAP;
    *ret_value = entries->key;
    return true;
}

void value_print_to(struct sink *sink, value v)
{
    if (!value_is_collection(v)) {
        print_scalar(sink, v);
        return;
    }
    struct frame first[FIRST_FRAMES];
    struct worklist work;
    worklist_init(&work, first, sizeof(first), sizeof(struct frame));
    open_collection(&work, sink, v);
    while (work.count) {
        fuel_spend(1);
        if (!next_inside(worklist_top(&work), sink, &v))
            close_collection(&work, sink);
        else if (value_is_collection(v))
            open_collection(&work, sink, v);
        else
            print_scalar(sink, v);
    }
    worklist_release(&work);
}

void value_print(struct buffer *buffer, value v)
{
    struct sink sink;
    sink_to_buffer(&sink, buffer);
    value_print_to(&sink, v);
    sink_end(&sink);
}

value value_printed(struct region *region, value v)
{
    struct sink sink;
    sink_to_region(&sink, region);
    value_print_to(&sink, v);
    return sink_string(&sink);
}

void value_print_unquoted(struct sink *sink, value v)
{
    switch ((enum value_tag)v.tag) {
    case VALUE_NIL: break;
    case VALUE_STRING:
    case VALUE_REGEX:
    case VALUE_SYMBOL: sink_span(sink, value_text(v)); break;
    case VALUE_FLOAT:
        if (isnan(v.number))
            sink_text(sink, "NaN");
        else if (isinf(v.number))
            sink_text(sink, v.number > 0 ? "Infinity" : "-Infinity");
        else
            print_float(sink, v.number);
        break;
    default: value_print_to(sink, v); break;
    }
}
