#include "session/runtime_text.h"

#include <string.h>

// Beginnings of lines that only the runtime writes. Those marked fatal tell why the process ended.
static const struct runtime_line {
    const char *beginning;
    bool fatal;
} runtime_lines[] = {
    {"INFO: Control stack guard page ", false},
    {"INFO: Binding stack guard page ", false},
    {"INFO: Alien stack guard page ", false},
    {"Control stack guard page ", false},
    {"Binding stack guard page ", false},
    {"Alien stack guard page ", false},
    {"Immobile Object Counts", false},
    {"Gen layout fdefn ", false},
    {"Tot  ", false},
    {"CORRUPTION WARNING in SBCL pid ", false},
    {"Memory fault at ", false},
    {"The integrity of this image is possibly compromised.", false},
    {"Continuing with fingers crossed.", false},
    {"Exiting.", false},
    {"Heap exhausted during ", true},
    {"Heap exhausted, game over", true},
    {"Thread local storage exhausted", true},
    {"Control stack exhausted, fault: ", true},
    {"Binding stack exhausted, fault: ", true},
    {"Alien stack exhausted", true},
    {"fatal error encountered in SBCL pid ", false},
    {"Unhandled SIGILL", true},
    {"GC invariant lost", true},
    {"        Gen  Boxed", false},
    {"  Gen  Boxed", false},
    {" Gen  Boxed", false},
    {"Gen  Boxed", false},
    {"           Total bytes allocated ", false},
    {"Total bytes allocated ", false},
    {"        Dynamic-space-size bytes ", false},
    {"Dynamic-space-size bytes ", false},
    {"GC control variables:", false},
    {"   *GC-INHIBIT* = ", false},
    {"   *GC-PENDING* = ", false},
    {"   *STOP-FOR-GC-PENDING* = ", false},
    {"fatal error: ", true},
    {"can't find any room", true},
    {"cannot suspend thread", true},
    {"Error: can't ", true},
};

static const struct runtime_line *runtime_line_find(struct span line)
{
    struct span bare = line;
    while (bare.length > 0 && bare.data[0] == ' ')
        bare = (struct span){bare.data + 1, bare.length - 1};
    for (size_t i = 0; i < sizeof(runtime_lines) / sizeof(runtime_lines[0]); i++) {
        const char *beginning = runtime_lines[i].beginning;
        while (*beginning == ' ')
            beginning++;
        if (span_starts_with(bare, span_from(beginning)))
            return &runtime_lines[i];
    }
    return NULL;
}

// Rows of the table of generations: numbers, white space, and a dash for a number there is not.
static bool is_statistics_row(struct span line)
{
    size_t digits = 0, columns = 0;
    bool in_number = false;
    for (size_t i = 0; i < line.length; i++) {
        char c = line.data[i];
        bool digit = (c >= '0' && c <= '9') || (in_number && c == '.') || c == '-';
        if (!digit && c != ' ')
            return false;
        if (digit && !in_number)
            columns++;
        in_number = digit;
        digits += digit;
    }
    return columns >= 8 && digits > 0;
}

static struct span line_next(struct span *rest)
{
    const char *newline = memchr(rest->data, '\n', rest->length);
    size_t length = newline ? (size_t)(newline - rest->data) + 1 : rest->length;
    struct span line = {rest->data, length};
    *rest = (struct span){rest->data + length, rest->length - length};
    return line;
}

static struct span line_without_end(struct span line)
{
    while (line.length > 0 &&
           (line.data[line.length - 1] == '\n' || line.data[line.length - 1] == '\r'))
        line.length--;
    return line;
}

void runtime_text_divide(struct span errors, struct buffer *text, struct buffer *log)
{
    bool continuation = false;
    bool statistics = false;
    while (errors.length > 0) {
        struct span line = line_next(&errors);
        struct span content = line_without_end(line);
        const struct runtime_line *known = runtime_line_find(content);
        if (known && strstr(known->beginning, "Gen "))
            statistics = true;
        // "fatal error encountered … :" is followed by its reason, then an empty line.
        bool belongs = known || (continuation && content.length > 0) ||
                       (statistics && is_statistics_row(content));
        continuation = known && content.length > 0 && content.data[content.length - 1] == ':';
        buffer_append_span(belongs ? log : text, line);
    }
}

struct span runtime_text_reason(struct span errors)
{
    struct span known_reason = {"", 0};
    struct span other_reason = {"", 0};
    bool next_is_reason = false;
    while (errors.length > 0) {
        struct span line = line_without_end(line_next(&errors));
        const struct runtime_line *known = runtime_line_find(line);
        // What follows an exhausted heap are its consequences.
        if (known && known->fatal && !span_starts_with(known_reason, SPAN("Heap exhausted")))
            known_reason = line;
        else if (next_is_reason && line.length > 0)
            other_reason = line;
        next_is_reason = known && span_starts_with(line, SPAN("fatal error encountered")) &&
                         line.data[line.length - 1] == ':';
    }
    return known_reason.length > 0 ? known_reason : other_reason;
}

// --- the runtime's own backtrace -------------------------------------------------------------------

enum { FRAMES_MAX = 1000 };

// The name in "   3: fp=0x7fe42bab7920 pc=0x535458f7 PROJ::OUTER"; false for any other line.
static bool frame_line_parse(struct span line, struct span *ret_name)
{
    size_t i = 0, digits = 0;
    while (i < line.length && line.data[i] == ' ')
        i++;
    for (; i < line.length && line.data[i] >= '0' && line.data[i] <= '9'; i++)
        digits++;
    struct span rest = {line.data + i, line.length - i};
    if (digits == 0 || !span_starts_with(rest, SPAN(": fp=0x")))
        return false;
    const char *program_counter = memmem(rest.data, rest.length, " pc=0x", 6);
    size_t before = program_counter ? (size_t)(program_counter + 1 - rest.data) : 0;
    const char *space =
        program_counter ? memchr(rest.data + before, ' ', rest.length - before) : NULL;
    if (!space)
        return false;
    size_t skipped = (size_t)(space + 1 - rest.data);
    *ret_name = (struct span){rest.data + skipped, rest.length - skipped};
    return true;
}

static bool is_machinery(struct span name)
{
    static const char *const beginnings[] = {
        "Foreign function ", "SB-IMPL::", "SB-INT::", "SB-KERNEL::", "SB-VM::", "(FLET \"CLEANUP-"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
        if (span_starts_with(name, span_from(beginnings[i])))
            return true;
    return false;
}

static bool is_agent(struct span name)
{
    return memmem(name.data, name.length, "CADRE-AGENT::", 13) != NULL;
}

static value frame_push(struct region *region, value frames, struct span name)
{
    if (span_starts_with(name, SPAN("COMMON-LISP-USER::")))
        name = (struct span){name.data + 18, name.length - 18};
    CLEANUP_BUFFER struct buffer call;
    buffer_init(&call, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&call, "(%.*s ...)", (int)name.length, name.data);
    value frame = map_put_text(region, map_new(region), "number",
                               value_integer((int64_t)vector_count(frames)));
    frame = map_put_text(region, frame, "call", value_string(region, buffer_span(&call)));
    frame = map_put_text(region, frame, "function", value_string(region, name));
    return vector_push(region, frames, frame);
}

value runtime_text_take_frames(struct region *region, struct buffer *output)
{
    CLEANUP_BUFFER struct buffer others;
    buffer_init(&others, BUFFER_DEFAULT_LIMIT);
    value frames = vector_new(region, 0);
    bool of_the_user = true;
    for (struct span rest = buffer_span(output); rest.length > 0;) {
        struct span line = line_next(&rest), name;
        if (!frame_line_parse(line_without_end(line), &name)) {
            buffer_append_span(&others, line);
            continue;
        }
        of_the_user = of_the_user && !is_agent(name);
        if (of_the_user && !is_machinery(name) && vector_count(frames) < FRAMES_MAX)
            frames = frame_push(region, frames, name);
    }
    buffer_clear(output);
    buffer_append_span(output, buffer_span(&others));
    return frames;
}
