#include "tools/shown.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "tools/picture/picture_check.h"
#include "tools/result/result_shown.h"
#include "tools/result/result_text.h"

enum { KEPT_BYTES_MAX = 16 << 20, ADDRESS_SIZE = 64 };

static const char svg_type[] = "image/svg+xml";

struct shown_document {
    TAILQ_ENTRY(shown_document) link;
    int64_t number;
    struct buffer text;
};

struct shown_answer {
    TAILQ_ENTRY(shown_answer) link;  // while its images are looked at
    struct session_call *run;
    session_call_fn *done;
    struct picture_check *check;
    struct buffer images;  // base64, a line for each
    size_t count;
    struct shown items[SHOWN_ITEMS_MAX];
};

static void document_free(struct tools *tools, struct shown_document *document)
{
    TAILQ_REMOVE(&tools->shown, document, link);
    tools->shown_bytes -= document->text.length;
    buffer_release(&document->text);
    memory_free(document);
}

void shown_free_all(struct tools *tools)
{
    while (!TAILQ_EMPTY(&tools->shown))
        document_free(tools, TAILQ_FIRST(&tools->shown));
    while (!TAILQ_EMPTY(&tools->shown_answers))
        session_call_free(TAILQ_FIRST(&tools->shown_answers)->run);
}

// The newest documents are kept; returns the number of this one.
static int64_t keep_document(struct tools *tools, struct span text)
{
    struct shown_document *document = memory_alloc_zero(sizeof(*document));
    document->number = ++tools->shown_count;
    buffer_init(&document->text, SHOWN_BYTES_MAX);
    buffer_append_span(&document->text, text);
    TAILQ_INSERT_TAIL(&tools->shown, document, link);
    tools->shown_bytes += document->text.length;
    while (tools->shown_bytes > KEPT_BYTES_MAX)
        document_free(tools, TAILQ_FIRST(&tools->shown));
    return document->number;
}

static value item_of(struct region *region, const char *kind)
{
    return map_put_text(region, map_new(region), "kind", value_string_text(region, kind));
}

static value add_image(struct session_call *run, const struct shown *shown)
{
    struct region *region = mcp_call_region(run->call);
    mcp_call_add_image(run->call, shown->image.mime_type, shown->text);
    value item = item_of(region, "image");
    item =
        map_put_text(region, item, "mime_type", value_string_text(region, shown->image.mime_type));
    item = map_put_text(region, item, "width", value_integer(shown->image.width));
    item = map_put_text(region, item, "height", value_integer(shown->image.height));
    return map_put_text(region, item, "bytes", value_integer((int64_t)shown->bytes));
}

static value add_svg(struct session_call *run, const struct shown *shown)
{
    struct region *region = mcp_call_region(run->call);
    char address[ADDRESS_SIZE], name[ADDRESS_SIZE];
    int64_t number = keep_document(run->tools, shown->text);
    snprintf(address, sizeof(address), "cadre://shown/%" PRId64, number);
    snprintf(name, sizeof(name), "shown-%" PRId64 ".svg", number);
    mcp_call_add_link(run->call, address, name, svg_type);
    value item = item_of(region, "svg");
    return map_put_text(region, item, "uri", value_string_text(region, address));
}

// One item: its block, and what the structured result says of it.
static value add_item(struct session_call *run, const struct shown *shown)
{
    struct region *region = mcp_call_region(run->call);
    switch (shown->kind) {
    case SHOWN_IMAGE: return add_image(run, shown);
    case SHOWN_SVG: return add_svg(run, shown);
    case SHOWN_MARKDOWN: mcp_call_add_text(run->call, shown->text); break;
    case SHOWN_REFUSED: {
        struct buffer *text = &run->result.text;
        render_gap(text);
        buffer_append_format(text, "[not shown] %s.", shown->error.message);
        return map_put_text(region, item_of(region, "refused"), "message",
                            value_string_text(region, shown->error.message));
    }
    }
    return item_of(region, "markdown");
}

static void add_all(struct session_call *run)
{
    struct region *region = mcp_call_region(run->call);
    const struct shown_answer *answer = run->shown;
    value items = vector_new(region, answer->count);
    for (size_t i = 0; i < answer->count; i++)
        items = vector_push(region, items, add_item(run, &answer->items[i]));
    run->result.structured = map_put_text(region, run->result.structured, "shown", items);
}

// --- an answer -----------------------------------------------------------------------------------

void shown_take(struct session_call *run, const struct session_reply *reply)
{
    struct region *region = mcp_call_region(run->call);
    struct shown_cursor cursor = {.reply = reply};
    struct shown shown;
    while (shown_next(&cursor, &shown)) {
        if (!run->shown) {
            run->shown = memory_alloc_zero(sizeof(*run->shown));
            buffer_init(&run->shown->images, BUFFER_DEFAULT_LIMIT);
        }
        struct shown_answer *answer = run->shown;
        if (shown.kind == SHOWN_IMAGE) {
            buffer_append_span(&answer->images, shown.text);
            buffer_append_byte(&answer->images, '\n');
        }
        shown.text = value_text(value_string(region, shown.text));
        answer->items[answer->count++] = shown;
    }
}

static void refuse(struct shown *shown, const char *before, struct span problem)
{
    shown->kind = SHOWN_REFUSED;
    error_set(&shown->error, ERROR_INVALID, "%s%.*s", before, (int)problem.length, problem.data);
}

// A line for each image.
static void refuse_broken(struct shown_answer *answer, struct span problems, const char *reason)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct shown *shown = &answer->items[i];
        if (shown->kind != SHOWN_IMAGE)
            continue;
        const char *end = problems.data ? memchr(problems.data, '\n', problems.length) : NULL;
        if (!end) {
            refuse(shown,
                   "The image could not be looked at: ", span_from(reason ? reason : "no answer"));
            continue;
        }
        struct span problem = {problems.data, (size_t)(end - problems.data)};
        if (problem.length > 0)
            refuse(shown, "", problem);
        problems.data += problem.length + 1;
        problems.length -= problem.length + 1;
    }
}

static void on_checked(void *data, struct span problems, const char *reason)
{
    struct session_call *run = data;
    struct shown_answer *answer = run->shown;
    mcp_call_on_cancel(run->call, NULL, NULL);
    TAILQ_REMOVE(&run->tools->shown_answers, answer, link);
    answer->check = NULL;
    refuse_broken(answer, problems, reason);
    add_all(run);
    answer->done(run);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    session_call_free(data);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

// False: nothing has to be waited for.
static bool begin_check(struct session_call *run)
{
    struct shown_answer *answer = run->shown;
    int failed = picture_check_start(program_pool_reaper(run->tools->programs),
                                     buffer_span(&answer->images), on_checked, run, &answer->check);
    if (failed < 0) {
        refuse_broken(answer, (struct span){0}, strerror(-failed));
        return false;
    }
    TAILQ_INSERT_TAIL(&run->tools->shown_answers, answer, link);
    mcp_call_on_cancel(run->call, on_cancel, run);
    return true;
}

void shown_add(struct session_call *run, session_call_fn *done)
{
    struct shown_answer *answer = run->shown;
    if (answer) {
        answer->run = run;
        answer->done = done;
        if (answer->images.length > 0 && begin_check(run))
            return;
        add_all(run);
    }
    done(run);
}

void shown_release(struct session_call *run)
{
    struct shown_answer *answer = run->shown;
    if (!answer)
        return;
    if (answer->check) {
        TAILQ_REMOVE(&run->tools->shown_answers, answer, link);
        picture_check_cancel(answer->check);
    }
    buffer_release(&answer->images);
    memory_free(answer);
    run->shown = NULL;
}

// --- resource ------------------------------------------------------------------------------------

static const struct shown_document *find_document(const struct tools *tools, const char *number)
{
    char *end;
    long long wanted = strtoll(number, &end, 10);
    const struct shown_document *document;
    TAILQ_FOREACH (document, &tools->shown, link)
        if (*end == '\0' && document->number == wanted)
            return document;
    return NULL;
}

static void handle_document(struct mcp_call *call, void *data)
{
    const char *number = tool_text(call, "number");
    const struct shown_document *document = find_document(data, number ? number : "");
    if (document)
        mcp_call_reply_text(call, svg_type, buffer_span(&document->text));
    else
        mcp_call_reply_not_found(call);
}

void tools_register_shown(struct tools *tools)
{
    TAILQ_INIT(&tools->shown);
    TAILQ_INIT(&tools->shown_answers);
    mcp_server_add_template(tools->server, &(struct mcp_resource){
                                               .uri = "cadre://shown/{number}",
                                               .name = "shown",
                                               .title = "Shown SVG",
                                               .description = "An SVG image that code has shown",
                                               .mime_type = svg_type,
                                               .size = -1,
                                               .handler = handle_document,
                                               .data = tools,
                                           });
}
