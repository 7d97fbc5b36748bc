#include "program/builtin/builtins.h"
#include "program/builtin/regex/regex_text.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"

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
    (void)count;
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
    bool found = regex_match_whole(run, self, scan.regex, scan.subject, scan.groups);
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
    return matches;
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
