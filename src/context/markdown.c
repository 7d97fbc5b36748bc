#include "context/markdown.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "base/utf8.h"
#include "value/text/json.h"

#define HEADING "## Context\n\n"

enum { LINES_LIMIT = 2 * CONTEXT_METADATA_LIMIT };  // bytes of level-4 lines, made of metadata

// All that is known about an item before it is written. Lengths are in code points.
struct block {
    const struct context_item *item;
    struct span heading;  // "### Code\n"
    struct span lines;    // level-4 lines, or the place in the heading of the inline style
    struct span language;
    size_t characters;  // of the content
    size_t fence;       // for the whole content
    bool shown;
};

bool context_style_from_name(struct span name, enum context_style *ret_style)
{
    bool block = span_equal(name, SPAN("block"));
    if (!block && !span_equal(name, SPAN("inline")))
        return false;
    *ret_style = block ? CONTEXT_BLOCK : CONTEXT_INLINE;
    return true;
}

// --- lines ---------------------------------------------------------------------------------------

static bool is_control(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

static void append_without_controls(struct buffer *buffer, struct span text)
{
    for (size_t i = 0; i < text.length;) {
        uint32_t code_point = 0;
        size_t taken = utf8_decode(text.data + i, text.length - i, &code_point);
        if (is_control(code_point))
            buffer_append_byte(buffer, ' ');
        else
            buffer_append(buffer, text.data + i, taken);
        i += taken;
    }
}

static struct span string_member(value metadata, const char *name)
{
    value item = map_get(metadata, name);
    return value_is_string(item) ? value_text(item) : (struct span){0};
}

static int64_t line_member(value metadata, const char *name)
{
    value item = map_get(metadata, name);
    return item.tag == VALUE_INTEGER ? item.integer : 0;
}

void context_append_location(struct buffer *buffer, value metadata)
{
    struct span filename = string_member(metadata, "filename");
    if (!filename.data)
        return;
    append_without_controls(buffer, filename);
    int64_t start = line_member(metadata, "start_line");
    int64_t end = line_member(metadata, "end_line");
    if (start > 0)
        buffer_append_format(buffer, ":%" PRId64, start);
    if (start > 0 && end > 0)
        buffer_append_format(buffer, "-%" PRId64, end);
}

void context_append_preview(struct buffer *buffer, struct span content)
{
    const char *newline = memchr(content.data, '\n', content.length);
    size_t end = newline ? (size_t)(newline - content.data) : content.length;
    size_t characters = 0;
    size_t i = 0;
    while (i < end && ascii_is_space(content.data[i]))
        i++;
    while (i < end && characters < CONTEXT_PREVIEW_CHARACTERS) {
        uint32_t code_point = 0;
        size_t taken = utf8_decode(content.data + i, end - i, &code_point);
        if (ascii_is_space(content.data[i])) {
            while (i < end && ascii_is_space(content.data[i]))
                i++;
            if (i == end)
                break;
            buffer_append_byte(buffer, ' ');
        } else {
            if (is_control(code_point))
                buffer_append_text(buffer, "\xEF\xBF\xBD");
            else
                buffer_append(buffer, content.data + i, taken);
            i += taken;
        }
        characters++;
    }
    // Nothing is left out when only the final end of line is not shown.
    if (i < end || (newline && end + 1 < content.length))
        buffer_append_text(buffer, "…");
}

// --- fence languages -----------------------------------------------------------------------------

static const struct {
    const char *extension;
    const char *language;
} extensions[] = {
    {"lisp", "lisp"},
    {"cl", "lisp"},
    {"lsp", "lisp"},
    {"asd", "lisp"},
    {"el", "elisp"},
    {"scm", "scheme"},
    {"ss", "scheme"},
    {"clj", "clojure"},
    {"cljs", "clojure"},
    {"cljc", "clojure"},
    {"edn", "clojure"},
    {"c", "c"},
    {"h", "c"},
    {"cc", "cpp"},
    {"cpp", "cpp"},
    {"cxx", "cpp"},
    {"hh", "cpp"},
    {"hpp", "cpp"},
    {"py", "python"},
    {"js", "javascript"},
    {"mjs", "javascript"},
    {"cjs", "javascript"},
    {"ts", "typescript"},
    {"jsx", "jsx"},
    {"tsx", "tsx"},
    {"json", "json"},
    {"sql", "sql"},
    {"css", "css"},
    {"xml", "xml"},
    {"toml", "toml"},
    {"go", "go"},
    {"java", "java"},
    {"md", "markdown"},
    {"sh", "bash"},
    {"bash", "bash"},
    {"html", "html"},
    {"htm", "html"},
    {"yml", "yaml"},
    {"yaml", "yaml"},
    {"rs", "rust"},
    {"rb", "ruby"},
    {"ex", "elixir"},
    {"exs", "elixir"},
    {"diff", "diff"},
    {"patch", "diff"},
    {"txt", "text"},
    {"log", "text"},
};

static struct span base_name(struct span path)
{
    for (size_t i = path.length; i > 0; i--) {
        if (path.data[i - 1] == '/')
            return (struct span){path.data + i, path.length - i};
    }
    return path;
}

static bool equal_in_any_case(struct span text, const char *lower)
{
    if (text.length != strlen(lower))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (ascii_to_lower(text.data[i]) != lower[i])
            return false;
    }
    return true;
}

static const char *language_of_file(struct span filename)
{
    struct span name = base_name(filename);
    if (span_equal(name, SPAN("Makefile")))
        return "make";
    if (span_equal(name, SPAN("Dockerfile")))
        return "dockerfile";
    size_t dot = name.length;
    while (dot > 0 && name.data[dot - 1] != '.')
        dot--;
    if (dot == 0)
        return NULL;
    struct span extension = {name.data + dot, name.length - dot};
    for (size_t i = 0; i < COUNT_OF(extensions); i++) {
        if (equal_in_any_case(extension, extensions[i].extension))
            return extensions[i].language;
    }
    return NULL;
}

static bool is_format(struct span format)
{
    enum { MAX_LENGTH = 32 };
    if (!format.data || format.length == 0 || format.length > MAX_LENGTH)
        return false;
    for (size_t i = 0; i < format.length; i++) {
        char byte = format.data[i];
        if (!ascii_is_letter(byte) && !ascii_is_digit(byte) &&
            !(byte != '\0' && strchr("_+#.-", byte)))
            return false;
    }
    return true;
}

// By file name where the type allows it, else by metadata.format (custom), else the type's default.
// `filename` and `format` have no data when they are not known. The result may lie in `format`.
static struct span language_of(enum context_type type, struct span filename, struct span format)
{
    bool by_name = type != CONTEXT_REPL_HISTORY && type != CONTEXT_ERROR;
    const char *language = by_name && filename.data ? language_of_file(filename) : NULL;
    if (language)
        return span_from(language);
    if (type == CONTEXT_CUSTOM && is_format(format))
        return format;
    return type == CONTEXT_CODE || type == CONTEXT_REPL_HISTORY ? SPAN("lisp") : SPAN("text");
}

// --- blocks --------------------------------------------------------------------------------------

static size_t fence_length(struct span content)
{
    size_t longest = 2;
    size_t run = 0;
    for (size_t i = 0; i < content.length; i++) {
        run = content.data[i] == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    return longest + 1;
}

static size_t characters_of(struct span text)
{
    return utf8_count(text.data, text.length);
}

static void append_lines(struct buffer *buffer, enum context_type type, value metadata)
{
    if (type == CONTEXT_CUSTOM) {
        buffer_append_text(buffer, "#### ");
        append_without_controls(buffer, string_member(metadata, "custom_type"));
        buffer_append_byte(buffer, '\n');
    }
    if (string_member(metadata, "filename").data) {
        buffer_append_text(buffer, "#### ");
        context_append_location(buffer, metadata);
        buffer_append_byte(buffer, '\n');
    }
}

static void append_place(struct buffer *buffer, value metadata)
{
    if (!string_member(metadata, "filename").data)
        return;
    buffer_append_text(buffer, " (from ");
    context_append_location(buffer, metadata);
    buffer_append_byte(buffer, ')');
}

static struct span keep(struct region *region, struct buffer *buffer)
{
    struct span text = value_text(value_string(region, buffer_span(buffer)));
    buffer_clear(buffer);
    return text;
}

static struct block block_prepare(struct region *region, const struct context_item *item,
                                  enum context_style style)
{
    value metadata = context_item_metadata(region, item);
    struct block block = {
        .item = item,
        .characters = characters_of(item->content),
        .fence = fence_length(item->content),
        .language = language_of(item->type, string_member(metadata, "filename"),
                                string_member(metadata, "format")),
        .shown = true,
    };
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, LINES_LIMIT);
    buffer_append_format(&text, "### %s", context_type_heading(item->type));
    block.heading = keep(region, &text);
    if (style == CONTEXT_INLINE)
        append_place(&text, metadata);
    else
        append_lines(&text, item->type, metadata);
    block.lines = keep(region, &text);
    return block;
}

// The part of a block that does not depend on the content: heading, lines, language, line ends.
static size_t frame_characters(const struct block *block)
{
    // "### Code" LF lines … language LF … LF
    return characters_of(block->heading) + characters_of(block->lines) + block->language.length + 3;
}

static bool needs_newline(struct span content)
{
    return content.length > 0 && content.data[content.length - 1] != '\n';
}

static size_t block_characters(const struct block *block)
{
    return frame_characters(block) + 2 * block->fence + block->characters +
           (needs_newline(block->item->content) ? 1 : 0);
}

static void append_fence(struct buffer *buffer, size_t length)
{
    while (length-- > 0)
        buffer_append_byte(buffer, '`');
}

// U+0000 has no place in a prompt.
static void append_content(struct buffer *buffer, struct span content)
{
    while (content.length > 0) {
        const char *nul = memchr(content.data, '\0', content.length);
        size_t length = nul ? (size_t)(nul - content.data) : content.length;
        buffer_append(buffer, content.data, length);
        if (nul)
            buffer_append_text(buffer, "\xEF\xBF\xBD");
        size_t taken = nul ? length + 1 : length;
        content = (struct span){content.data + taken, content.length - taken};
    }
}

static void append_block(struct buffer *buffer, const struct block *block, enum context_style style,
                         struct span content, size_t fence, const char *mark)
{
    buffer_append_span(buffer, block->heading);
    if (style == CONTEXT_INLINE)
        buffer_append_span(buffer, block->lines);
    buffer_append_byte(buffer, '\n');
    if (style == CONTEXT_BLOCK)
        buffer_append_span(buffer, block->lines);
    append_fence(buffer, fence);
    buffer_append_span(buffer, block->language);
    buffer_append_byte(buffer, '\n');
    append_content(buffer, content);
    if (needs_newline(content))
        buffer_append_byte(buffer, '\n');
    buffer_append_text(buffer, mark);
    append_fence(buffer, fence);
    buffer_append_byte(buffer, '\n');
}

// --- the budget ----------------------------------------------------------------------------------

enum { NOTICE_SIZE = 96, MARK_SIZE = 96 };

static size_t write_notice(char notice[NOTICE_SIZE], size_t omitted, size_t max_chars)
{
    notice[0] = '\0';
    if (omitted == 0)
        return 0;
    return (size_t)snprintf(notice, NOTICE_SIZE, "[%zu %s omitted to fit %zu characters]\n\n",
                            omitted, omitted == 1 ? "item" : "items", max_chars);
}

// The next block to leave out: unpinned ones first, the oldest of them first.
static struct block *next_victim(struct block *blocks, size_t count)
{
    struct block *pinned = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!blocks[i].shown)
            continue;
        if (!blocks[i].item->pinned)
            return &blocks[i];
        if (!pinned)
            pinned = &blocks[i];
    }
    return pinned;
}

// Leaves blocks out until the document fits or one is left; returns its length.
static size_t leave_out(struct block *blocks, size_t count, size_t max_chars,
                        struct context_rendering *rendering)
{
    char notice[NOTICE_SIZE];
    size_t body = 0;
    for (size_t i = 0; i < count; i++)
        body += block_characters(&blocks[i]) + (i > 0 ? 1 : 0);
    rendering->shown = count;
    size_t total = strlen(HEADING) + body;
    while (max_chars > 0 && total > max_chars && rendering->shown > 1) {
        struct block *victim = next_victim(blocks, count);
        CHECK(victim);
        victim->shown = false;
        body -= block_characters(victim) + 1;
        rendering->shown--;
        rendering->omitted++;
        total = strlen(HEADING) + write_notice(notice, rendering->omitted, max_chars) + body;
    }
    return total;
}

struct cut {
    struct span content;
    size_t fence;
    char mark[MARK_SIZE];
};

// The block with its first `shown` characters; returns its length.
static size_t cut_block(const struct block *block, size_t shown, struct cut *ret_cut)
{
    struct span content = block->item->content;
    content.length = utf8_offset(content.data, content.length, shown);
    ret_cut->content = content;
    ret_cut->fence = fence_length(content);
    size_t mark = (size_t)snprintf(ret_cut->mark, sizeof(ret_cut->mark),
                                   "... [truncated: %zu of %zu characters shown]\n", shown,
                                   block->characters);
    return frame_characters(block) + 2 * ret_cut->fence + shown + (needs_newline(content) ? 1 : 0) +
           mark;
}

// As many characters as fit. The length never shrinks when more is shown, so halving finds them.
static void cut_to_fit(struct block *block, size_t room, struct cut *ret_cut)
{
    if (cut_block(block, 0, ret_cut) > room)
        block->lines = SPAN("");
    size_t low = 0;
    size_t high = block->characters < room ? block->characters : room;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (cut_block(block, middle, ret_cut) <= room)
            low = middle;
        else
            high = middle - 1;
    }
    size_t length = cut_block(block, low, ret_cut);
    CHECK(length <= room);
}

static void append_blocks(struct buffer *buffer, const struct block *blocks, size_t count,
                          enum context_style style)
{
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!blocks[i].shown)
            continue;
        if (!first)
            buffer_append_byte(buffer, '\n');
        first = false;
        append_block(buffer, &blocks[i], style, blocks[i].item->content, blocks[i].fence, "");
    }
}

struct context_rendering context_render(struct buffer *buffer, struct region *region,
                                        const struct context_item *items, size_t count,
                                        size_t max_chars, enum context_style style)
{
    struct context_rendering rendering = {0};
    if (count == 0)
        return rendering;
    struct block *blocks = region_alloc(region, count * sizeof(*blocks));
    for (size_t i = 0; i < count; i++)
        blocks[i] = block_prepare(region, &items[i], style);
    rendering.characters = leave_out(blocks, count, max_chars, &rendering);

    size_t start = buffer->length;
    char notice[NOTICE_SIZE];
    size_t head = strlen(HEADING) + write_notice(notice, rendering.omitted, max_chars);
    buffer_append_text(buffer, HEADING);
    buffer_append_text(buffer, notice);
    if (max_chars == 0 || rendering.characters <= max_chars) {
        append_blocks(buffer, blocks, count, style);
    } else {
        struct cut cut;
        struct block *last = next_victim(blocks, count);
        cut_to_fit(last, max_chars - head, &cut);
        append_block(buffer, last, style, cut.content, cut.fence, cut.mark);
        rendering.truncated = true;
        rendering.characters = utf8_count(buffer->data + start, buffer->length - start);
    }
    region_return(region, blocks, count * sizeof(*blocks));
    return rendering;
}
