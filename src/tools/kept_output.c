#include "tools/kept_output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum {
    SESSION_BYTES_MAX = 64 << 20,
    SESSION_OUTPUTS_MAX = 256,
    MEMORY_BYTES = 64 << 10,  // more than that goes to a file
    INDEX_LINES = 1024,       // lines between two entries of the index
    READ_BYTES = 64 << 10,
    PAGE_LINES = 200,
    PAGE_LINES_MAX = 10000,
    PAGE_CHARACTERS = 20000,
    RESOURCE_BYTES = MCP_OUTPUT_LIMIT / 4,  // escaping makes more of them
    SEARCHED_BYTES = 16 << 20,              // by one call: the loop serves others, too
};

struct output_store {
    TAILQ_HEAD(kept_output_list, kept_output) outputs;  // oldest first
};

struct kept_output {
    TAILQ_ENTRY(kept_output) link;
    char *session;
    int64_t evaluation;
    struct buffer memory;  // what is not in the file yet
    int fd;                // -1: all of it is in memory
    size_t written;        // bytes in the file
    size_t characters;
    size_t lines;  // complete ones
    bool in_line;  // after the last of them
    bool failed;
    size_t *index;  // where the lines 0, INDEX_LINES, 2 * INDEX_LINES … begin
    size_t index_count;
    size_t index_capacity;
};

// --- while it comes ------------------------------------------------------------------------------

struct kept_output *kept_output_new(void)
{
    struct kept_output *output = memory_alloc_zero(sizeof(*output));
    output->fd = -1;
    buffer_init(&output->memory, SESSION_BYTES_MAX);
    return output;
}

void kept_output_free(struct kept_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    buffer_release(&output->memory);
    memory_free(output->index);
    memory_free(output->session);
    memory_free(output);
}

size_t kept_output_characters(const struct kept_output *output)
{
    return output->characters;
}

static size_t total_bytes(const struct kept_output *output)
{
    return output->written + output->memory.length;
}

static void index_add(struct kept_output *output, size_t offset)
{
    if (output->index_count == output->index_capacity) {
        output->index_capacity = output->index_capacity ? 2 * output->index_capacity : 64;
        output->index =
            memory_resize(output->index, output->index_capacity * sizeof(*output->index));
    }
    output->index[output->index_count++] = offset;
}

static void count_lines(struct kept_output *output, struct span text)
{
    size_t start = total_bytes(output);
    for (size_t i = 0; i < text.length; i++) {
        if (!output->in_line && output->lines % INDEX_LINES == 0)
            index_add(output, start + i);
        output->in_line = text.data[i] != '\n';
        output->lines += text.data[i] == '\n';
    }
}

static bool open_file(struct kept_output *output)
{
    const char *directory = getenv("TMPDIR");
    output->fd =
        open(directory && *directory ? directory : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return output->fd >= 0;
}

static void flush_memory(struct kept_output *output)
{
    if (output->fd < 0 && !open_file(output)) {
        log_error("output cannot be kept: %s", strerror(errno));
        output->failed = true;
        return;
    }
    for (size_t done = 0; done < output->memory.length;) {
        ssize_t length = pwrite(output->fd, output->memory.data + done,
                                output->memory.length - done, (off_t)(output->written + done));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0) {
            log_error("output cannot be kept: %s", strerror(errno));
            output->failed = true;
            return;
        }
        done += (size_t)length;
    }
    output->written += output->memory.length;
    buffer_clear(&output->memory);
}

void kept_output_add(struct kept_output *output, struct span text)
{
    size_t room = SESSION_BYTES_MAX - total_bytes(output);
    output->characters += utf8_count(text.data, text.length);
    if (text.length > room)
        text.length = utf8_cut(text.data, room);
    if (text.length == 0 || output->failed)
        return;
    count_lines(output, text);
    buffer_append_span(&output->memory, text);
    if (output->memory.length > MEMORY_BYTES)
        flush_memory(output);
}

// --- kept ----------------------------------------------------------------------------------------

static void drop(struct output_store *store, struct kept_output *output)
{
    TAILQ_REMOVE(&store->outputs, output, link);
    kept_output_free(output);
}

struct output_store *output_store_new(void)
{
    struct output_store *store = memory_alloc_zero(sizeof(*store));
    TAILQ_INIT(&store->outputs);
    return store;
}

void output_store_free(struct output_store *store)
{
    while (!TAILQ_EMPTY(&store->outputs))
        drop(store, TAILQ_FIRST(&store->outputs));
    memory_free(store);
}

void output_store_forget(struct output_store *store, const char *session)
{
    struct kept_output *output, *next;
    for (output = TAILQ_FIRST(&store->outputs); output; output = next) {
        next = TAILQ_NEXT(output, link);
        if (strcmp(output->session, session) == 0)
            drop(store, output);
    }
}

static void make_room(struct output_store *store, const char *session, size_t needed)
{
    size_t used = needed, count = 1;
    struct kept_output *output, *next;
    for (output = TAILQ_LAST(&store->outputs, kept_output_list); output; output = next) {
        next = TAILQ_PREV(output, kept_output_list, link);
        if (strcmp(output->session, session) != 0)
            continue;
        used += total_bytes(output);
        if (used > SESSION_BYTES_MAX || ++count > SESSION_OUTPUTS_MAX)
            drop(store, output);
    }
}

static size_t line_count(const struct kept_output *output)
{
    return output->lines + output->in_line;
}

static size_t newlines(const char *from, const char *to)
{
    size_t count = 0;
    for (; from < to; from++)
        count += *from == '\n';
    return count;
}

// `, lines 1–200 and 29801–30000 shown`, where the answer has whole lines of one stream.
static void append_shown(struct buffer *text, const struct kept_output *output, struct span shown,
                         size_t *ret_next)
{
    const char *cut = memmem(shown.data, shown.length, "\n[truncated: ", 13);
    const char *end = shown.data + shown.length;
    *ret_next = 1;
    if (shown.length == 0 || !cut)
        return;
    const char *after = memchr(cut + 1, '\n', (size_t)(end - cut - 1));
    size_t first = newlines(shown.data, cut);
    size_t last = after ? newlines(after + 1, end) + (end[-1] != '\n') : 0;
    size_t lines = line_count(output);
    if (first == 0 || first + last >= lines)
        return;
    *ret_next = first + 1;
    buffer_append_text(text, ", lines 1–");
    render_grouped(text, (int64_t)first);
    if (last > 0) {
        buffer_append_text(text, " and ");
        render_grouped(text, (int64_t)(lines - last + 1));
        buffer_append_text(text, "–");
        render_grouped(text, (int64_t)lines);
    }
    buffer_append_text(text, " shown");
}

static const char *noun_of(const struct kept_output *output)
{
    return *output->session ? "output" : "program";
}

static void append_call(struct buffer *text, const struct kept_output *output, size_t from)
{
    buffer_append_text(text, "read-output {");
    if (*output->session && strcmp(output->session, "main") != 0)
        buffer_append_format(text, "\"session\": \"%s\", ", output->session);
    buffer_append_format(text, "\"%s\": %" PRId64 ", \"from\": %zu}]", noun_of(output),
                         output->evaluation, from);
}

// Sessions belong to all clients of the workspace, programs to the one that runs them.
static struct output_store *store_of(const struct tools *tools, const char *session)
{
    return *session ? tools->outputs : tools->own_outputs;
}

void kept_output_store(struct tools *tools, struct kept_output *output, const char *session,
                       int64_t evaluation, struct span shown, struct buffer *text)
{
    size_t next;
    struct output_store *store = store_of(tools, session);
    make_room(store, session, total_bytes(output));
    output->session = memory_copy_string(session);
    output->evaluation = evaluation;
    TAILQ_INSERT_TAIL(&store->outputs, output, link);
    if (!text)
        return;
    render_gap(text);
    buffer_append_format(text, "[%s %" PRId64 ": ", noun_of(output), evaluation);
    render_grouped(text, (int64_t)output->characters);
    buffer_append_text(text, " characters");
    append_shown(text, output, shown, &next);
    buffer_append_text(text, "; ");
    append_call(text, output, next);
}

// --- read-output ---------------------------------------------------------------------------------

static size_t read_at(const struct kept_output *output, size_t offset, char *bytes, size_t size)
{
    if (offset >= output->written) {
        size_t start = offset - output->written;
        size_t length = output->memory.length - start < size ? output->memory.length - start : size;
        memcpy(bytes, output->memory.data + start, length);
        return length;
    }
    size_t left = output->written - offset;
    ssize_t length = pread(output->fd, bytes, left < size ? left : size, (off_t)offset);
    return length > 0 ? (size_t)length : 0;
}

// One reading of it.
struct reading {
    const struct kept_output *output;
    struct output_page *page;
    struct buffer line;
    size_t number;  // of the line that is read
};

// False: the page is full, and the line belongs to the next one.
static bool page_add_line(struct output_page *page, size_t number, struct span line)
{
    if (page->match && !memmem(line.data, line.length, page->match, strlen(page->match)))
        return true;
    bool is_full = page->shown > 0 && page->text->length + line.length > page->room;
    if (page->shown == page->lines || is_full)
        return false;
    if (page->shown > 0)
        buffer_append_byte(page->text, '\n');
    if (page->match)
        buffer_append_format(page->text, "%zu: ", number);
    size_t length = line.length > page->room ? utf8_cut(line.data, page->room) : line.length;
    buffer_append(page->text, line.data, length);
    if (length < line.length)
        buffer_append_format(page->text, "[truncated: a line of %zu bytes]", line.length);
    page->shown++;
    return true;
}

// The line that was read. False: it belongs to the next page.
static bool reading_end_line(struct reading *reading)
{
    struct output_page *page = reading->page;
    if (reading->number >= page->from &&
        !page_add_line(page, reading->number, buffer_span(&reading->line))) {
        page->next = reading->number;
        return false;
    }
    buffer_clear(&reading->line);
    reading->number++;
    return true;
}

// Adds bytes to the line that is read. False: enough is read.
static bool reading_take(struct reading *reading, struct span bytes)
{
    while (bytes.length > 0) {
        const char *newline = memchr(bytes.data, '\n', bytes.length);
        size_t length = newline ? (size_t)(newline - bytes.data) : bytes.length;
        if (reading->number >= reading->page->from)
            buffer_append(&reading->line, bytes.data, length);
        if (!newline)
            return true;
        if (!reading_end_line(reading))
            return false;
        bytes = (struct span){newline + 1, bytes.length - length - 1};
    }
    return true;
}

static void reading_run(struct reading *reading)
{
    const struct kept_output *output = reading->output;
    size_t entry = (reading->page->from - 1) / INDEX_LINES;
    if (entry >= output->index_count)
        return;
    reading->number = entry * INDEX_LINES + 1;
    size_t offset = output->index[entry], end = total_bytes(output), start = offset;
    char bytes[READ_BYTES];
    while (offset < end && offset - start < SEARCHED_BYTES) {
        size_t length = read_at(output, offset, bytes, sizeof(bytes));
        if (length == 0 || !reading_take(reading, (struct span){bytes, length}))
            return;
        offset += length;
    }
    if (offset < end)
        reading->page->next = reading->number;
    else if (reading->line.length > 0)
        reading_end_line(reading);
}

static void read_page(const struct kept_output *output, struct output_page *page)
{
    struct reading reading = {.output = output, .page = page};
    page->evaluation = output->evaluation;
    page->total = line_count(output);
    buffer_init(&reading.line, SESSION_BYTES_MAX);
    reading_run(&reading);
    buffer_release(&reading.line);
}

static struct kept_output *find_output(struct output_store *store, const char *session,
                                       int64_t evaluation)
{
    struct kept_output *output;
    TAILQ_FOREACH_REVERSE(output, &store->outputs, kept_output_list, link)
    if (strcmp(output->session, session) == 0 &&
        (evaluation == 0 || output->evaluation == evaluation))
        return output;
    return NULL;
}

bool output_store_read(struct output_store *store, const char *session, int64_t evaluation,
                       struct output_page *page)
{
    const struct kept_output *output = find_output(store, session, evaluation);
    if (output)
        read_page(output, page);
    return output;
}

static void reply_page(struct mcp_call *call, const struct kept_output *output,
                       const struct output_page *page, struct tool_result *result)
{
    struct region *region = mcp_call_region(call);
    if (page->shown == 0)
        buffer_append_text(&result->text, page->match ? "(no such lines)" : "(no more lines)");
    buffer_append_format(&result->text, "\n\n[%s %" PRId64 ": ", noun_of(output),
                         output->evaluation);
    render_grouped(&result->text, (int64_t)line_count(output));
    buffer_append_text(&result->text, " lines");
    if (page->next) {
        buffer_append_text(&result->text, "; ");
        append_call(&result->text, output, page->next);
    } else {
        buffer_append_byte(&result->text, ']');
    }
    value map = structured_start(region, output->session);
    map = map_put_text(region, map, noun_of(output), value_integer(output->evaluation));
    map = map_put_text(region, map, "lines", value_integer((int64_t)line_count(output)));
    if (page->next)
        map = map_put_text(region, map, "next", value_integer((int64_t)page->next));
    map = map_put_text(region, map, "text", value_string(region, buffer_span(&result->text)));
    result->structured = map;
    tool_reply(call, result);
}

static void refuse_unknown(struct mcp_call *call, const char *session)
{
    if (*session)
        tool_refuse(call, "no-such-output",
                    "No output of session \"%s\" is kept under this number. Output is kept when it "
                    "was too long for its answer, of each session the newest 64 MB.",
                    session);
    else
        tool_refuse(call, "no-such-output",
                    "Nothing is kept of a program of this number. The last %d that called tools, "
                    "have a memory or an answer that was too long are kept.",
                    SESSION_OUTPUTS_MAX);
}

static void handle_read(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    int64_t evaluation, program, from, lines;
    if (!tool_integer(call, "output", 0, 1, INT64_MAX, &evaluation) ||
        !tool_integer(call, "program", 0, 1, INT64_MAX, &program) ||
        !tool_integer(call, "from", 1, 1, INT64_MAX, &from) ||
        !tool_integer(call, "lines", PAGE_LINES, 1, PAGE_LINES_MAX, &lines))
        return;
    const char *session = program ? "" : tool_session_name(call);
    const struct kept_output *output =
        find_output(store_of(tools, session), session, program ? program : evaluation);
    if (!output) {
        refuse_unknown(call, session);
        return;
    }
    struct tool_result result = {0};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    struct output_page page = {.match = tool_text(call, "match"),
                               .from = (size_t)from,
                               .lines = (size_t)lines,
                               .room = PAGE_CHARACTERS,
                               .text = &result.text};
    read_page(output, &page);
    reply_page(call, output, &page, &result);
}

// --- resource ------------------------------------------------------------------------------------

// As much of it as one answer holds; read-output has the rest.
static void handle_resource(struct mcp_call *call, void *data)
{
    const struct tools *tools = data;
    const char *session = tool_session_name(call), *number = tool_text(call, "number");
    char *end = NULL;
    long long evaluation = number ? strtoll(number, &end, 10) : 0;
    const struct kept_output *output =
        evaluation > 0 && *end == '\0' ? find_output(tools->outputs, session, evaluation) : NULL;
    if (!output) {
        mcp_call_reply_not_found(call);
        return;
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, RESOURCE_BYTES + READ_BYTES);
    char bytes[READ_BYTES];
    size_t length;
    while (text.length < RESOURCE_BYTES && text.length < total_bytes(output) &&
           (length = read_at(output, text.length, bytes, sizeof(bytes))) > 0)
        buffer_append(&text, bytes, length);
    if (text.length < total_bytes(output)) {
        buffer_truncate(&text, utf8_cut(text.data, text.length));
        size_t lines = newlines(text.data, text.data + text.length);
        buffer_append_text(&text, "\n[truncated; ");
        append_call(&text, output, lines + 1);
    }
    mcp_call_reply_text(call, NULL, buffer_span(&text));
}

static const struct mcp_resource output_template = {
    .uri = "cadre://output/{session}/{number}",
    .name = "output",
    .title = "Kept output",
    .description = "Output of an evaluation that was too long for its answer",
    .mime_type = "text/plain",
    .size = -1,
    .handler = handle_resource,
};

static const struct tool output_tools[] = {
    {"read-output", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_read},
};

void tools_register_output(struct tools *tools)
{
    tools->own_outputs = output_store_new();
    if (!tools->outputs)
        tools->outputs = tools->own_outputs;
    TOOLS_ADD_ALL(tools, output_tools);
    struct mcp_resource template = output_template;
    template.data = tools;
    mcp_server_add_template(tools->server, &template);
}
