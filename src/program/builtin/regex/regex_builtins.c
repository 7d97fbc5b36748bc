#include "program/builtin/regex/regex_builtins.h"

#include "base/array.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"
#include "value/text/print.h"

// --- scanning ------------------------------------------------------------------------------------

void regex_scan_start(struct run *run, const struct builtin *self, value pattern, value string,
                      struct regex_scan *ret_scan)
{
    struct regex_scan *scan = ret_scan;
    struct span text = value_text(string);
    scan->run = run;
    scan->self = self;
    scan->pattern = pattern;
    scan->regex = regex_compile(run, self, pattern);
    scan->string = string;
    bool ascii = string_is_simple(string) || utf8_is_ascii(text.data, text.length);
    regex_subject_init(run, scan->regex, &scan->subject, text, ascii);
    scan->position = 0;
    scan->group_count = regex_group_count(scan->regex) + 1;
    scan->groups = scan->own_groups;
    if (scan->group_count > COUNT_OF(scan->own_groups))
        scan->groups = region_alloc(run->region, scan->group_count * sizeof(struct regex_group));
}

void regex_scan_end(struct regex_scan *scan)
{
    if (scan->groups != scan->own_groups)
        region_return(scan->run->region, scan->groups,
                      scan->group_count * sizeof(struct regex_group));
}

bool regex_scan_next(struct regex_scan *scan)
{
    struct span text = scan->subject.text;
    if (scan->position > text.length ||
        !regex_search(scan->run, scan->self, scan->regex, &scan->subject, scan->position,
                      scan->groups)) {
        scan->position = text.length + 1;
        return false;
    }
    size_t end = (size_t)scan->groups[0].end;
    if (end == (size_t)scan->groups[0].start || end < scan->position) {
        uint32_t code_point;
        size_t step = 1;
        if (end < text.length)
            step = utf8_decode(text.data + end, text.length - end, &code_point);
        end += step;
    }
    scan->position = end;
    return true;
}

static value scan_part(struct regex_scan *scan, size_t start, size_t end)
{
    return string_cut(scan->run->region, value_retain(scan->string), start, end);
}

value regex_scan_group(struct regex_scan *scan, size_t group)
{
    struct regex_group found = scan->groups[group];
    if (found.start == REGEX_UNSET || found.end < found.start)
        return value_nil();
    return scan_part(scan, (size_t)found.start, (size_t)found.end);
}

value regex_scan_match(struct regex_scan *scan)
{
    if (scan->group_count == 1)
        return regex_scan_group(scan, 0);
    value match = vector_new(scan->run->region, scan->group_count);
    for (size_t i = 0; i < scan->group_count; i++)
        vector_add(scan->run, &match, regex_scan_group(scan, i));
    return match;
}

// --- splitting -----------------------------------------------------------------------------------

value regex_split(struct run *run, const struct builtin *self, value pattern, value string,
                  size_t limit)
{
    struct regex_scan scan;
    regex_scan_start(run, self, pattern, string, &scan);
    value fields = vector_new(run->region, 0);
    size_t start = 0, length = scan.subject.text.length;
    while ((limit == 0 || vector_count(fields) + 1 < limit) && regex_scan_next(&scan)) {
        size_t match_start = (size_t)scan.groups[0].start, match_end = (size_t)scan.groups[0].end;
        if (match_start < start || match_end < match_start)
            continue;
        // An empty match makes no empty field at either end.
        if (match_start == match_end && (match_start == 0 || match_start == length))
            continue;
        vector_add(run, &fields, scan_part(&scan, start, match_start));
        start = match_end;
    }
    vector_add(run, &fields, scan_part(&scan, start, length));
    regex_scan_end(&scan);
    return fields;
}

// --- replacing -----------------------------------------------------------------------------------

// Writes the replacement with its $n filled in.
static void expand(struct regex_scan *scan, struct span replacement, struct sink *sink)
{
    for (size_t i = 0; i < replacement.length; i++) {
        char c = replacement.data[i];
        char next = i + 1 < replacement.length ? replacement.data[i + 1] : '\0';
        if (c == '\\' && (next == '$' || next == '\\')) {
            sink_byte(sink, next);
            i++;
        } else if (c == '$' && ascii_is_digit(next)) {
            size_t group = (size_t)(next - '0');
            i++;
            if (group < scan->group_count && scan->groups[group].start != REGEX_UNSET) {
                struct regex_group found = scan->groups[group];
                sink_span(sink, (struct span){scan->subject.text.data + found.start,
                                              (size_t)(found.end - found.start)});
            }
        } else {
            sink_byte(sink, c);
        }
    }
}

static void write_replacement(struct regex_scan *scan, value replacement, struct sink *sink)
{
    struct run *run = scan->run;
    size_t before = sink->length;
    if (replacement.tag == VALUE_STRING) {
        expand(scan, value_text(replacement), sink);
    } else {
        value text = run_call1(run, replacement, regex_scan_match(scan));
        // Another pattern may have been compiled by the function.
        scan->regex = regex_compile(run, scan->self, scan->pattern);
        value_print_unquoted(sink, text);
        value_release(run->region, text);
    }
    run_spend(run, 1 + (sink->length - before) / 256);
}

value regex_replace(struct run *run, const struct builtin *self, value pattern, value string,
                    value replacement, bool only_first)
{
    struct regex_scan scan;
    struct sink sink;
    regex_scan_start(run, self, pattern, string, &scan);
    sink_to_region(&sink, run->region);
    sink.as_clojure = true;
    size_t done = 0;
    struct span text = scan.subject.text;
    while (regex_scan_next(&scan)) {
        size_t start = (size_t)scan.groups[0].start, end = (size_t)scan.groups[0].end;
        if (start < done || end < start)
            continue;
        sink_span(&sink, (struct span){text.data + done, start - done});
        write_replacement(&scan, replacement, &sink);
        done = end;
        if (only_first)
            break;
    }
    sink_span(&sink, (struct span){text.data + done, text.length - done});
    regex_scan_end(&scan);
    return sink_string(&sink);
}

// --- builtins ------------------------------------------------------------------------------------

value builtin_re_pattern(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value source = arguments[0];
    if (source.tag == VALUE_REGEX)
        return source;
    argument_string(run, self, arguments, 0);
    regex_compile(run, self, source);
    value regex = regex_new(run, value_text(source));
    value_release(run->region, source);
    return regex;
}

static void argument_regex_and_string(struct run *run, const struct builtin *self,
                                      const value *arguments)
{
    if (arguments[0].tag != VALUE_REGEX)
        run_type_error(run, self, 1, "a regex", arguments[0],
                       arguments[1].tag == VALUE_REGEX ? "the regex comes first"
                                                       : "use re-pattern to make one");
    argument_string(run, self, arguments, 1);
}

value builtin_re_find(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count == 1)
        return matcher_find(run, self, arguments);
    argument_regex_and_string(run, self, arguments);
    struct regex_scan scan;
    regex_scan_start(run, self, arguments[0], arguments[1], &scan);
    value match = regex_scan_next(&scan) ? regex_scan_match(&scan) : value_nil();
    regex_scan_end(&scan);
    return match;
}

value builtin_re_matches(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_regex_and_string(run, self, arguments);
    struct regex_scan scan;
    regex_scan_start(run, self, arguments[0], arguments[1], &scan);
    bool found = regex_match_whole(run, self, scan.regex, &scan.subject, scan.groups);
    value match = found ? regex_scan_match(&scan) : value_nil();
    regex_scan_end(&scan);
    return match;
}

value builtin_re_seq(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_regex_and_string(run, self, arguments);
    struct regex_scan scan;
    regex_scan_start(run, self, arguments[0], arguments[1], &scan);
    value matches = vector_new(run->region, 0);
    while (regex_scan_next(&scan))
        vector_add(run, &matches, regex_scan_match(&scan));
    regex_scan_end(&scan);
    return vector_count(matches) == 0 ? value_nil() : vector_as_seq(matches);
}

value builtin_re_split(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_regex_and_string(run, self, arguments);
    return regex_split(run, self, arguments[0], arguments[1], 0);
}

static value extract_group(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    if (arguments[0].tag != VALUE_REGEX && arguments[0].tag != VALUE_STRING)
        run_type_error(run, self, 1, "a pattern (string or regex)", arguments[0], NULL);
    argument_string(run, self, arguments, 1);
    int64_t group = count >= 3 ? argument_integer(run, self, arguments, 2) : 1;
    struct regex_scan scan;
    regex_scan_start(run, self, arguments[0], arguments[1], &scan);
    value result = value_nil();
    if (group >= 0 && (uint64_t)group < scan.group_count && regex_scan_next(&scan))
        result = regex_scan_group(&scan, (size_t)group);
    regex_scan_end(&scan);
    return result;
}

value builtin_extract(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return extract_group(run, self, arguments, count);
}

value builtin_extract_int(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    value text = extract_group(run, self, arguments, count);
    int64_t number;
    bool found = text.tag == VALUE_STRING && text_read_integer(value_text(text), &number);
    value_release(run->region, text);
    if (found)
        return value_integer(number);
    return count == 4 ? value_retain(arguments[3]) : value_nil();
}
