#include "session/sbcl_output.h"

#include <string.h>

#include "base/array.h"
#include "base/ascii.h"

// When a line is the runtime's and not the code's own: always; as part of a report on the heap; or
// only if the runtime has ended the process.
enum line_kind { LINE_ALWAYS, LINE_REPORT, LINE_DYING };

// Beginnings of the lines that the runtime writes, without the spaces before them. Those marked
// fatal tell why the process ended.
static const struct runtime_line {
    const char *beginning;
    enum line_kind kind;
    bool fatal;
} runtime_lines[] = {
    {"INFO: Control stack guard page ", LINE_ALWAYS, false},
    {"INFO: Binding stack guard page ", LINE_ALWAYS, false},
    {"INFO: Alien stack guard page ", LINE_ALWAYS, false},
    {"Control stack guard page ", LINE_ALWAYS, false},
    {"Binding stack guard page ", LINE_ALWAYS, false},
    {"Alien stack guard page ", LINE_ALWAYS, false},
    {"CORRUPTION WARNING in SBCL pid ", LINE_ALWAYS, false},
    {"Memory fault at 0x", LINE_ALWAYS, false},
    {"The integrity of this image is possibly compromised.", LINE_ALWAYS, false},
    {"Continuing with fingers crossed.", LINE_ALWAYS, false},
    {"Heap exhausted during ", LINE_ALWAYS, true},
    {"Immobile Object Counts", LINE_REPORT, false},
    {"| Immobile Objects |", LINE_REPORT, false},
    {"Gen layout fdefn ", LINE_REPORT, false},
    {"Gen layout symbol ", LINE_REPORT, false},
    {"Gen  Boxed", LINE_REPORT, false},
    {"Tot  ", LINE_REPORT, false},
    {"Total bytes allocated ", LINE_REPORT, false},
    {"Dynamic-space-size bytes ", LINE_REPORT, false},
    {"GC control variables:", LINE_REPORT, false},
    {"*GC-INHIBIT* = ", LINE_REPORT, false},
    {"*GC-PENDING* = ", LINE_REPORT, false},
    {"*STOP-FOR-GC-PENDING* = ", LINE_REPORT, false},
    {"Collection trigger variables:", LINE_REPORT, false},
    {"dynamic_space_size = ", LINE_REPORT, false},
    {"bytes_allocated = ", LINE_REPORT, false},
    {"auto_gc_trigger = ", LINE_REPORT, false},
    {"bytes_consed_between_gcs = ", LINE_REPORT, false},
    {"Exiting.", LINE_DYING, false},
    {"Heap exhausted, game over", LINE_DYING, true},
    {"Thread local storage exhausted", LINE_DYING, true},
    {"Control stack exhausted, fault: ", LINE_DYING, true},
    {"Binding stack exhausted, fault: ", LINE_DYING, true},
    {"Alien stack exhausted", LINE_DYING, true},
    {"fatal error encountered in SBCL pid ", LINE_DYING, false},
    {"Unhandled SIGILL", LINE_DYING, true},
    {"GC invariant lost", LINE_DYING, true},
    {"fatal error: ", LINE_DYING, true},
    {"can't find any room", LINE_DYING, true},
    {"cannot suspend thread", LINE_DYING, true},
    {"Error: can't ", LINE_DYING, true},
};

static const struct runtime_line *runtime_line_find(struct span line)
{
    struct span bare = line;
    while (bare.length > 0 && bare.data[0] == ' ')
        bare = (struct span){bare.data + 1, bare.length - 1};
    for (size_t i = 0; i < COUNT_OF(runtime_lines); i++) {
        if (span_starts_with(bare, span_from(runtime_lines[i].beginning)))
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
        bool digit = ascii_is_digit(c) || (in_number && c == '.') || c == '-';
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

void sbcl_output_split(struct span errors, bool died, struct buffer *text, struct buffer *log)
{
    bool continuation = false;
    bool in_report = false;
    while (errors.length > 0) {
        struct span line = line_next(&errors);
        struct span content = line_without_end(line);
        const struct runtime_line *known = runtime_line_find(content);
        if (known && (died || span_starts_with(content, SPAN("Heap exhausted during "))))
            in_report = true;
        // "fatal error encountered … :" is followed by its reason, then an empty line.
        bool belongs =
            (known &&
             (died || known->kind == LINE_ALWAYS || (known->kind == LINE_REPORT && in_report))) ||
            (continuation && content.length > 0) || (in_report && is_statistics_row(content));
        in_report = in_report && belongs;
        continuation =
            belongs && known && content.length > 0 && content.data[content.length - 1] == ':';
        buffer_append_span(belongs ? log : text, line);
    }
}

struct span sbcl_output_reason(struct span errors)
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

// --- the runtime's own backtrace -----------------------------------------------------------------

enum { FRAMES_MAX = 1000 };

// The name in "   3: fp=0x7fe42bab7920 pc=0x535458f7 PROJ::OUTER"; false for any other line.
static bool frame_line_parse(struct span line, struct span *ret_name)
{
    size_t i = 0, digits = 0;
    while (i < line.length && line.data[i] == ' ')
        i++;
    for (; i < line.length && ascii_is_digit(line.data[i]); i++)
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
    for (size_t i = 0; i < COUNT_OF(beginnings); i++)
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
    if (span_starts_with(name, SPAN("CL-USER::")))
        name = (struct span){name.data + 9, name.length - 9};
    CLEANUP_BUFFER struct buffer call;
    buffer_init(&call, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&call, "(%.*s ...)", (int)name.length, name.data);
    value frame = map_put_text(region, map_new(region), "number",
                               value_integer((int64_t)vector_count(frames)));
    frame = map_put_text(region, frame, "call", value_string(region, buffer_span(&call)));
    frame = map_put_text(region, frame, "function", value_string(region, name));
    return vector_push(region, frames, frame);
}

enum sbcl_output_line sbcl_output_classify(struct span line)
{
    struct span content = line_without_end(line), name;
    const struct runtime_line *known = runtime_line_find(content);
    if (frame_line_parse(content, &name))
        return SBCL_OUTPUT_UNCLEAR;
    if (!known)
        return SBCL_OUTPUT_CODE;
    return known->kind == LINE_ALWAYS && !known->fatal ? SBCL_OUTPUT_RUNTIME : SBCL_OUTPUT_UNCLEAR;
}

// Where the frame lines begin with which the output ends; its length when there are none.
static size_t frames_start(struct span output)
{
    size_t start = output.length;
    bool in_frames = false;
    for (struct span rest = output, line, name; rest.length > 0;) {
        line = line_next(&rest);
        bool is_frame = frame_line_parse(line_without_end(line), &name);
        if (is_frame && !in_frames)
            start = (size_t)(line.data - output.data);
        in_frames = is_frame;
    }
    return in_frames ? start : output.length;
}

value sbcl_output_move_frames(struct region *region, struct buffer *output)
{
    struct span all = buffer_span(output);
    size_t start = frames_start(all);
    value frames = vector_new(region, 0);
    bool of_the_user = true;
    for (struct span rest = {all.data + start, all.length - start}, name; rest.length > 0;) {
        if (!frame_line_parse(line_without_end(line_next(&rest)), &name))
            break;
        of_the_user = of_the_user && !is_agent(name);
        if (of_the_user && !is_machinery(name) && vector_count(frames) < FRAMES_MAX)
            frames = frame_push(region, frames, name);
    }
    buffer_truncate(output, start);
    return frames;
}
