// Writing JSON, without recursion, and json/generate-string of programs.
#include <math.h>

#include "base/utf8.h"
#include "value/collection/entries.h"
#include "value/collection/sorted_entries.h"
#include "value/fuel.h"
#include "value/number/number.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum { FIRST_FRAMES = 8, INDENT = 2 };

struct frame {
    struct sorted_entries entries;
    value renamed;  // maps whose keys are of several kinds: the map from names, owned; else nil
};

struct writer {
    struct sink sink;
    struct worklist work;
    unsigned flags;
    bool strict;
    struct error *error;
    bool refused;
    size_t dropped;
    struct region *region;  // of renamed maps
    bool own_region;
};

// --- strings -------------------------------------------------------------------------------------

static const char *escape_of(unsigned char byte, char buffer[8])
{
    switch (byte) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\b': return "\\b";
    case '\f': return "\\f";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
    }
    static const char hex[] = "0123456789abcdef";
    memcpy(buffer, "\\u00", 4);
    buffer[4] = hex[byte >> 4];
    buffer[5] = hex[byte & 15];
    buffer[6] = '\0';
    return buffer;
}

static void write_escaped(struct sink *sink, struct span text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f)
            continue;
        char buffer[8];
        sink_span(sink, (struct span){text.data + start, i - start});
        sink_text(sink, escape_of(byte, buffer));
        start = i + 1;
    }
    sink_span(sink, (struct span){text.data + start, text.length - start});
}

static void write_string(struct sink *sink, struct span text)
{
    sink_byte(sink, '"');
    for (size_t done = 0, chunk; done < text.length; done += chunk) {
        chunk = chunk_next(text.length - done);
        write_escaped(sink, (struct span){text.data + done, chunk});
    }
    sink_byte(sink, '"');
}

void json_write_string(struct buffer *buffer, struct span text)
{
    struct sink sink;
    sink_to_buffer(&sink, buffer);
    sink_byte(&sink, '"');
    while (text.length) {
        size_t valid = utf8_valid_prefix(text.data, text.length);
        write_escaped(&sink, (struct span){text.data, valid});
        text = (struct span){text.data + valid, text.length - valid};
        if (text.length) {
            uint32_t replacement;
            size_t broken = utf8_decode(text.data, text.length, &replacement);
            sink_text(&sink, "\xEF\xBF\xBD");
            text = (struct span){text.data + broken, text.length - broken};
        }
    }
    sink_byte(&sink, '"');
    sink_end(&sink);
}

// --- keys of several kinds -----------------------------------------------------------------------

static struct region *scratch_region(struct writer *writer)
{
    if (!writer->region) {
        writer->region = fuel.region;
        if (!writer->region) {
            writer->region = region_new(SIZE_MAX);
            writer->own_region = true;
        }
    }
    return writer->region;
}

static bool refuse(struct writer *writer, const char *what)
{
    if (!writer->refused)
        error_set(writer->error, ERROR_INVALID, "JSON has no form for %s", what);
    writer->refused = true;
    return false;
}

// Whether the names of all keys are different by themselves: all strings, or all keywords.
static bool keys_are_uniform(value map)
{
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    int tag = -1;
    while (map_next(&cursor, &key, &item)) {
        fuel_spend(1);
        if ((key.tag != VALUE_STRING && key.tag != VALUE_KEYWORD) || (tag >= 0 && key.tag != tag))
            return false;
        tag = key.tag;
    }
    return true;
}

static value name_of_key(struct writer *writer, struct region *region, value key)
{
    if (writer->strict && key.tag != VALUE_STRING && key.tag != VALUE_KEYWORD &&
        !value_is_integer(key))
        refuse(writer, "a key that is not a string, keyword or integer");
    if (key.tag == VALUE_STRING)
        return value_retain(key);
    if (key.tag == VALUE_KEYWORD)
        return value_string(region, value_text(key));
    return value_printed(region, key);
}

// The map with names for keys; of two keys with one name the first in key order stays.
static value rename_keys(struct writer *writer, value map)
{
    struct region *region = scratch_region(writer);
    struct sorted_entries entries;
    value renamed = map_new(region);
    sorted_entries_start(&entries, &writer->work, map);
    while (sorted_entries_next(&entries)) {
        value name = name_of_key(writer, region, entries.key), present;
        if (map_find(renamed, name, &present)) {
            value_release(region, name);
            writer->dropped++;
            if (writer->strict)
                refuse(writer, "two keys with one name");
        } else {
            renamed = map_put(region, renamed, name, value_retain(entries.item));
        }
        fuel_spend(1);
    }
    sorted_entries_end(&entries, &writer->work);
    return renamed;
}

// --- values --------------------------------------------------------------------------------------

static void new_line(struct writer *writer)
{
    if (!(writer->flags & JSON_PRETTY))
        return;
    sink_byte(&writer->sink, '\n');
    size_t spaces = writer->work.count * INDENT;
    char *room = sink_room(&writer->sink, spaces);
    if (room) {
        memset(room, ' ', spaces);
        sink_wrote(&writer->sink, spaces);
    }
}

static void open_collection(struct writer *writer, value v)
{
    if (v.tag == VALUE_SET && writer->strict) {
        refuse(writer, "a set");
        return;
    }
    sink_byte(&writer->sink, v.tag == VALUE_MAP ? '{' : '[');
    value renamed = value_nil();
    if (v.tag == VALUE_MAP && !keys_are_uniform(v))
        renamed = v = rename_keys(writer, v);
    struct frame *frame = worklist_push(&writer->work);
    frame->renamed = renamed;
    if (v.tag == VALUE_SET || (writer->flags & JSON_SORTED))
        sorted_entries_start(&frame->entries, &writer->work, v);
    else
        sorted_entries_start_inserted(&frame->entries, &writer->work, v);
}

static void close_collection(struct writer *writer)
{
    struct frame frame = *(struct frame *)worklist_top(&writer->work);
    sorted_entries_end(&frame.entries, &writer->work);
    worklist_pop(&writer->work);
    if (frame.entries.v.aux)
        new_line(writer);
    sink_byte(&writer->sink, frame.entries.v.tag == VALUE_MAP ? '}' : ']');
    if (frame.renamed.tag == VALUE_MAP)
        value_release(writer->region, frame.renamed);
}

static void write_printed(struct writer *writer, value v)
{
    if (writer->strict) {
        refuse(writer,
               v.tag == VALUE_FLOAT ? "a float that is not finite" : "a function or symbol");
        return;
    }
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    value_print(&text, v);
    write_string(&writer->sink, buffer_span(&text));
}

static void write_scalar(struct writer *writer, value v)
{
    struct sink *sink = &writer->sink;
    switch ((enum value_tag)v.tag) {
    case VALUE_NIL: sink_text(sink, "null"); break;
    case VALUE_BOOLEAN: sink_text(sink, v.boolean ? "true" : "false"); break;
    case VALUE_FLOAT:
        if (isfinite(v.number))
            print_number(sink, v);
        else
            write_printed(writer, v);
        break;
    case VALUE_INTEGER:
    case VALUE_BIGNUM: print_number(sink, v); break;
    case VALUE_KEYWORD:
        if (writer->strict)
            refuse(writer, "a keyword");
        else
            write_string(sink, value_text(v));
        break;
    case VALUE_STRING: write_string(sink, value_text(v)); break;
    default: write_printed(writer, v); break;
    }
}

// The next value inside the collection on top; false: it is complete.
static bool next_inside(struct writer *writer, value *ret_value)
{
    struct frame *frame = worklist_top(&writer->work);
    struct sorted_entries *entries = &frame->entries;
    bool first = entries->index == 0;
    if (!sorted_entries_next(entries))
        return false;
    if (!first)
        sink_byte(&writer->sink, ',');
    new_line(writer);
    if (entries->v.tag != VALUE_MAP) {
        *ret_value = entries->key;
        return true;
    }
    write_string(&writer->sink, value_text(entries->key));
    sink_text(&writer->sink, writer->flags & JSON_PRETTY ? ": " : ":");
    *ret_value = entries->item;
    return true;
}

static bool is_too_deep(const struct writer *writer)
{
    return writer->flags & JSON_SHALLOW && writer->work.count >= JSON_SHALLOW_DEPTH;
}

static void write_value(struct writer *writer, value v)
{
    struct frame first[FIRST_FRAMES];
    worklist_init(&writer->work, first, sizeof(first), sizeof(struct frame));
    for (;;) {
        if (value_is_collection(v) && !is_too_deep(writer))
            open_collection(writer, v);
        else
            write_scalar(writer, v);
        while (writer->work.count && !next_inside(writer, &v))
            close_collection(writer);
        if (!writer->work.count || writer->refused)
            break;
        fuel_spend(1);
    }
    while (writer->work.count)
        close_collection(writer);
    worklist_release(&writer->work);
    if (writer->own_region)
        region_free(writer->region);
}

void json_write(struct buffer *buffer, value v, unsigned flags, size_t *ret_dropped)
{
    struct writer writer = {.flags = flags};
    sink_to_buffer(&writer.sink, buffer);
    write_value(&writer, v);
    sink_end(&writer.sink);
    if (ret_dropped)
        *ret_dropped = writer.dropped;
}

bool json_generate(struct region *region, value v, value *ret_text, struct error *error)
{
    struct writer writer = {.flags = JSON_SORTED, .strict = true, .error = error};
    sink_to_region(&writer.sink, region);
    write_value(&writer, v);
    value text = sink_string(&writer.sink);
    if (writer.refused) {
        value_release(region, text);
        return false;
    }
    *ret_text = text;
    return true;
}
