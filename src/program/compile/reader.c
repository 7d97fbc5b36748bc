// The reader: text to forms (docs/reference/language.md 2). Recursion follows the nesting of the
// source, which max_nesting bounds.
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "program/compile/clojure_hints.h"
#include "program/compile/reader.h"
#include "value/number/float_text.h"
#include "value/text/literal.h"

enum { MAX_INTEGER_DIGITS = 100 };

static struct form *read_form(struct reader *reader);

static bool is_symbol_start(char c)
{
    return ascii_is_letter(c) || (unsigned char)c >= 0x80 || (c && strchr("+*/<>=?!_%.&$-", c));
}

static void skip_form(struct reader *reader, size_t prefix);

// Also comments, and the forms behind #_ and ^.
static void skip_blank(struct reader *reader)
{
    while (reader->next < reader->end) {
        char c = *reader->next;
        if (c == '#' && (reader_peek(reader, 1) == '_' || reader_peek(reader, 1) == '^')) {
            skip_form(reader, 2);
        } else if (c == '^') {
            skip_form(reader, 1);
        } else if (c == ';') {
            const char *line_end = memchr(reader->next, '\n', (size_t)(reader->end - reader->next));
            reader->next = line_end ? line_end : reader->end;
        } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',') {
            reader->next++;
        } else {
            return;
        }
    }
}

struct form *reader_form(struct reader *reader, enum form_kind kind, const char *position)
{
    struct form *form = compilation_alloc(reader->compilation, sizeof(*form));
    form->kind = kind;
    form->offset = offset_of(reader, position);
    return form;
}

void reader_check_separated(struct reader *reader, const char *start, const char *what,
                            const char *advice)
{
    char c = reader_peek(reader, 0);
    if (reader->next < reader->end && literal_is_symbol_character(c)) {
        const char *end = reader->next;
        while (end < reader->end && literal_is_symbol_character(*end))
            end++;
        int shown = end - start > SHOWN_CHARACTERS ? SHOWN_CHARACTERS : (int)(end - start);
        reader_fail(reader, start, "invalid %s: %.*s; %s", what, shown, start, advice);
    }
}

// --- atoms ---------------------------------------------------------------------------------------

static struct form *read_float(struct reader *reader, struct span text)
{
    double number = float_read(text);
    if (isinf(number))
        reader_fail(reader, text.data, "float literal out of range");
    struct form *form = reader_form(reader, FORM_FLOAT, text.data);
    form->number = number;
    return form;
}

static struct form *read_integer(struct reader *reader, struct span digits)
{
    const char *start = digits.data;
    size_t sign = *start == '-';
    if (digits.length - sign > MAX_INTEGER_DIGITS)
        reader_fail(reader, start, "integer literal of more than %d digits", MAX_INTEGER_DIGITS);
    int64_t number = 0;
    bool fits = true;
    for (size_t i = sign; i < digits.length && fits; i++) {
        int digit = digits.data[i] - '0';
        fits = !__builtin_mul_overflow(number, 10, &number) &&
               !(sign ? __builtin_sub_overflow(number, digit, &number)
                      : __builtin_add_overflow(number, digit, &number));
    }
    struct form *form = reader_form(reader, fits ? FORM_INTEGER : FORM_BIG_INTEGER, start);
    if (fits)
        form->integer = number;
    else
        form->text = digits;
    return form;
}

// 6/3 is 2, 1/2 is 0.5: what (/ a b) gives.
static struct form *read_ratio(struct reader *reader, struct span digits)
{
    const char *start = digits.data;
    struct form *above = read_integer(reader, digits);
    const char *second = ++reader->next;
    while (ascii_is_digit(reader_peek(reader, 0)))
        reader->next++;
    reader_check_separated(reader, start, "number", "a ratio is two integers, like 1/2");
    struct form *below =
        read_integer(reader, (struct span){second, (size_t)(reader->next - second)});
    if (above->kind != FORM_INTEGER || below->kind != FORM_INTEGER)
        reader_fail(reader, start, "a ratio takes integers of 64 bits; use (/ a b)");
    if (below->integer == 0)
        reader_fail(reader, start, "division by zero");
    // cppcheck-suppress zerodivcond  // that failed
    bool divides = above->integer % below->integer == 0;
    struct form *form = reader_form(reader, divides ? FORM_INTEGER : FORM_FLOAT, start);
    if (divides)
        form->integer = above->integer / below->integer;
    else
        form->number = (double)above->integer / (double)below->integer;
    return form;
}

// 0xff, 017, 2r101; NULL: the number is none of them.
static struct form *read_radix(struct reader *reader)
{
    const char *start = reader->next;
    struct literal literal;
    value number;
    if (!literal_radix((struct span){start, (size_t)(reader->end - start)}, &number, &literal))
        return NULL;
    if (literal.problem)
        reader_fail(reader, start, "%s; 0xff, 017 and 2r101 are numbers in a radix",
                    literal.problem);
    reader->next += literal.length;
    struct form *form = reader_form(reader, FORM_INTEGER, start);
    form->integer = number.integer;
    return form;
}

static struct form *read_number(struct reader *reader)
{
    const char *start = reader->next;
    struct form *radix = read_radix(reader);
    if (radix)
        return radix;
    bool is_float = false;
    if (*reader->next == '-')
        reader->next++;
    while (ascii_is_digit(reader_peek(reader, 0)))
        reader->next++;
    if (reader_peek(reader, 0) == '.' && ascii_is_digit(reader_peek(reader, 1))) {
        is_float = true;
        reader->next++;
        while (ascii_is_digit(reader_peek(reader, 0)))
            reader->next++;
    }
    if (reader_peek(reader, 0) == 'e' || reader_peek(reader, 0) == 'E') {
        size_t sign = reader_peek(reader, 1) == '+' || reader_peek(reader, 1) == '-';
        if (ascii_is_digit(reader_peek(reader, 1 + sign))) {
            is_float = true;
            reader->next += 1 + sign;
            while (ascii_is_digit(reader_peek(reader, 0)))
                reader->next++;
        }
    }
    struct span text = {start, (size_t)(reader->next - start)};
    if (!is_float && reader_peek(reader, 0) == '/' && ascii_is_digit(reader_peek(reader, 1)))
        return read_ratio(reader, text);
    // 1N is an integer as any other, 1.5M a float: there are no decimals.
    char suffix = reader_peek(reader, 0);
    reader->next += suffix == 'M' || (suffix == 'N' && !is_float);
    reader_check_separated(reader, start, "number",
                           "write 42, -1.5, 1e3 or 0xff; for a ratio use (/ a b)");
    return is_float || suffix == 'M' ? read_float(reader, text) : read_integer(reader, text);
}

static struct form *read_keyword(struct reader *reader)
{
    const char *start = reader->next++;
    if (reader_peek(reader, 0) == ':')
        reader->next++;  // ::a is :a, because there is one namespace
    const char *name = reader->next;
    while (literal_is_keyword_character(reader_peek(reader, 0)))
        reader->next++;
    if (reader->next == name)
        reader_fail(reader, start, "a keyword is one : and a name");
    reader_check_separated(reader, start, "keyword", "a string can be a key as well");
    struct form *form = reader_form(reader, FORM_KEYWORD, start);
    form->text = (struct span){name, (size_t)(reader->next - name)};
    symbol_count_keyword(reader->compilation, form->text, form->offset);
    return form;
}

static struct form *read_symbol(struct reader *reader)
{
    const char *start = reader->next;
    while (literal_is_symbol_character(reader_peek(reader, 0)))
        reader->next++;
    struct span name = {start, (size_t)(reader->next - start)};
    if (span_equal_text(name, "nil"))
        return reader_form(reader, FORM_NIL, start);
    bool is_true = span_equal_text(name, "true");
    if (is_true || span_equal_text(name, "false")) {
        struct form *form = reader_form(reader, FORM_BOOLEAN, start);
        form->boolean = is_true;
        return form;
    }
    struct form *form = reader_form(reader, FORM_SYMBOL, start);
    form->symbol = symbol_intern(reader->compilation, name, form->offset);
    enum special special = form->symbol->special;
    if (special == SPECIAL_DEF || special == SPECIAL_DEFN || special == SPECIAL_DEFONCE ||
        special == SPECIAL_DEFN_PRIVATE || special == SPECIAL_DEFMULTI ||
        special == SPECIAL_DEFRECORD || clojure_macro_is_refused(name))
        reader->compilation->has_defs = true;
    return form;
}

// --- collections ---------------------------------------------------------------------------------

static void enter(struct reader *reader, const char *position)
{
    size_t limit = reader->compilation->limits->max_nesting;
    if (++reader->depth > limit)
        compilation_fail_limit(reader->compilation, NESTING_LIMIT, offset_of(reader, position),
                               "max_nesting", limit, "forms are nested deeper than");
}

static void move_items(struct reader *reader, struct form *form, size_t first)
{
    form->count = reader->pending.count - first;
    if (form->count) {
        form->items = compilation_alloc(reader->compilation, form->count * sizeof(void *));
        memcpy(form->items, reader->pending.items + first, form->count * sizeof(void *));
    }
    reader->pending.count = first;
}

// Fails, or notes the problem and leaves the last item out.
static void odd_map(struct reader *reader, struct form *form)
{
    static const char message[] = "a map literal needs an even number of forms";
    if (!reader->compilation->problems)
        compilation_fail(reader->compilation, PARSE_ERROR, form->offset, NULL, message);
    problem_list_add(reader->compilation->problems, reader->compilation->source, PARSE_ERROR,
                     form->offset, message);
    form->count--;
}

static struct form *read_collection(struct reader *reader, enum form_kind kind, size_t opener,
                                    char closer)
{
    const char *start = reader->next;
    reader->next += opener;
    enter(reader, start);
    size_t first = reader->pending.count;
    for (;;) {
        skip_blank(reader);
        if (reader->next == reader->end)
            reader_fail(reader, start, "unclosed %.*s, expected %c", (int)opener, start, closer);
        char c = *reader->next;
        if (c == ')' || c == ']' || c == '}')
            break;
        pointer_list_push(reader->compilation, &reader->pending, read_form(reader));
    }
    if (*reader->next != closer)
        reader_fail(reader, reader->next, "unexpected %c, expected %c", *reader->next, closer);
    reader->next++;
    reader->depth--;
    struct form *form = reader_form(reader, kind, start);
    move_items(reader, form, first);
    if (kind == FORM_MAP && form->count % 2)
        odd_map(reader, form);
    return form;
}

// A form with another one inside: what is read next.
static struct form *read_prefixed(struct reader *reader, enum form_kind kind, size_t prefix)
{
    const char *start = reader->next;
    reader->next += prefix;
    enter(reader, start);
    skip_blank(reader);
    if (reader->next == reader->end || strchr(")]}", *reader->next))
        reader_fail(reader, start, "%.*s must be followed by a form", (int)prefix, start);
    struct form *inside = read_form(reader);
    reader->depth--;
    if (kind == FORM_VAR && inside->kind != FORM_SYMBOL)
        reader_fail(reader, start, "#' must be followed by a symbol");
    struct form *form = reader_form(reader, kind, start);
    form->items = compilation_alloc(reader->compilation, sizeof(void *));
    form->items[0] = inside;
    form->count = 1;
    return form;
}

static void skip_form(struct reader *reader, size_t prefix)
{
    (void)read_prefixed(reader, FORM_QUOTE, prefix);
}

// @x is (deref x).
static struct form *read_deref(struct reader *reader)
{
    struct form *form = read_prefixed(reader, FORM_LIST, 1);
    struct form *deref = reader_form(reader, FORM_SYMBOL, reader->start + form->offset);
    deref->symbol = symbol_intern(reader->compilation, SPAN("clojure.core/deref"), form->offset);
    struct form **items = compilation_alloc(reader->compilation, 2 * sizeof(void *));
    items[0] = deref;
    items[1] = form->items[0];
    form->items = items;
    form->count = 2;
    return form;
}

static struct form *read_special_float(struct reader *reader)
{
    static const struct {
        const char *text;
        double number;
    } names[] = {{"##Inf", INFINITY}, {"##-Inf", -INFINITY}, {"##NaN", NAN}};
    const char *start = reader->next;
    reader->next += 2;
    while (literal_is_symbol_character(reader_peek(reader, 0)))
        reader->next++;
    struct span text = {start, (size_t)(reader->next - start)};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!span_equal_text(text, names[i].text))
            continue;
        struct form *form = reader_form(reader, FORM_FLOAT, start);
        form->number = names[i].number;
        return form;
    }
    reader_fail(reader, start, "expected ##Inf, ##-Inf or ##NaN");
}

static struct form *read_dispatch(struct reader *reader)
{
    switch (reader_peek(reader, 1)) {
    case '{': return read_collection(reader, FORM_SET, 2, '}');
    case '(': return read_collection(reader, FORM_SHORT_FN, 2, ')');
    case '"': return read_regex(reader);
    case '\'': return read_prefixed(reader, FORM_VAR, 2);
    case '#': return read_special_float(reader);
    default:
        reader_fail(reader, reader->next,
                    "unexpected #; it begins #{set} #(fn) #\"regex\" #'x ##Inf; there are no tags, "
                    "dates are strings");
    }
}

static _Noreturn void fail_unexpected(struct reader *reader)
{
    uint32_t code_point;
    size_t length = utf8_decode(reader->next, (size_t)(reader->end - reader->next), &code_point);
    if (code_point < 0x20)
        reader_fail(reader, reader->next, "unexpected control character U+%04X",
                    (unsigned)code_point);
    static const char *const advice[] = {
        ['`'] = "; there are no macros",
        ['~'] = "; there are no macros",
    };
    const char *hint = code_point < COUNT_OF(advice) ? advice[code_point] : NULL;
    reader_fail(reader, reader->next, "unexpected character %.*s%s", (int)length, reader->next,
                hint ? hint : "");
}

static struct form *read_any(struct reader *reader)
{
    char c = *reader->next;
    if (ascii_is_digit(c) || (c == '-' && ascii_is_digit(reader_peek(reader, 1))))
        return read_number(reader);
    if (is_symbol_start(c))
        return read_symbol(reader);
    switch (c) {
    case '(': return read_collection(reader, FORM_LIST, 1, ')');
    case '[': return read_collection(reader, FORM_VECTOR, 1, ']');
    case '{': return read_collection(reader, FORM_MAP, 1, '}');
    case '"': return read_string(reader);
    case ':': return read_keyword(reader);
    case '\\': return read_character(reader);
    case '#': return read_dispatch(reader);
    case '\'': return read_prefixed(reader, FORM_QUOTE, 1);
    case '@': return read_deref(reader);
    default: fail_unexpected(reader);
    }
}

// --- collecting problems -------------------------------------------------------------------------

struct reader_part {
    struct reader *reader;
    struct form *result;
};

static void read_part(void *data)
{
    struct reader_part *part = data;
    part->result = read_any(part->reader);
}

// Behind a word or a text that cannot be read.
static void skip_unreadable(struct reader *reader, const char *start)
{
    const char *quote = *start == '"' ? start : *start == '#' && start[1] == '"' ? start + 1 : NULL;
    reader->next = quote ? quote + 1 : start + 1;
    if (quote)
        reader->next = reader_find_quote(reader, start, "string") + 1;
    while (!quote && literal_is_symbol_character(reader_peek(reader, 0)))
        reader->next++;
}

// Only words and texts are left out: where a bracket is missing, what follows means nothing.
static bool has_inside(const struct reader *reader)
{
    bool is_dispatch = reader_peek(reader, 0) == '#';
    return strchr(is_dispatch ? "({'" : "([{'@", reader_peek(reader, is_dispatch));
}

static struct form *read_or_note(struct reader *reader)
{
    const char *start = reader->next;
    size_t depth = reader->depth, pending = reader->pending.count;
    struct reader_part part = {reader, NULL};
    if (has_inside(reader))
        return read_any(reader);
    if (compilation_try(reader->compilation, read_part, &part))
        return part.result;
    reader->depth = depth;
    reader->pending.count = pending;
    skip_unreadable(reader, start);
    bool is_prefix = *start == '#' || *start == '`' || *start == '~';
    skip_blank(reader);
    if (is_prefix && reader->next < reader->end && !strchr(")]}", *reader->next))
        return read_form(reader);
    return reader_form(reader, FORM_NIL, start);
}

static struct form *read_form(struct reader *reader)
{
    return reader->compilation->problems ? read_or_note(reader) : read_any(reader);
}

struct form **program_read(struct compilation *compilation, size_t *ret_count)
{
    struct span source = compilation->source;
    struct reader reader = {
        .compilation = compilation,
        .start = source.data,
        .next = source.data,
        .end = source.data + source.length,
    };
    size_t valid = utf8_valid_prefix(source.data, source.length);
    if (valid != source.length)
        reader_fail(&reader, source.data + valid, "the source is not valid UTF-8");
    for (;;) {
        skip_blank(&reader);
        if (reader.next == reader.end)
            break;
        if (strchr(")]}", *reader.next) && *reader.next)
            reader_fail(&reader, reader.next, "unexpected %c", *reader.next);
        pointer_list_push(compilation, &reader.pending, read_form(&reader));
    }
    *ret_count = reader.pending.count;
    return (struct form **)reader.pending.items;
}
