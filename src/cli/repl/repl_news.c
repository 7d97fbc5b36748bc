// What others do in a session that `cadre repl` shares with them, as lines of comments.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/repl/repl_internal.h"
#include "cli/session_shared.h"
#include "daemon/session_link.h"
#include "daemon/session_wire.h"
#include "tools/result/result_text.h"

enum { NEWS_LINES_MAX = 40 };

// Each line behind a semicolon; of many the first ones.
static void append_comment(struct buffer *out, struct span text)
{
    size_t start = 0, lines = 0;
    while (text.length > 0 && strchr("\r\n", text.data[text.length - 1]))
        text.length--;
    while (start < text.length && lines++ < NEWS_LINES_MAX) {
        const char *newline = memchr(text.data + start, '\n', text.length - start);
        size_t end = newline ? (size_t)(newline - text.data) : text.length;
        buffer_append_text(out, out->length ? "\n;   " : ";   ");
        buffer_append(out, text.data + start, end - start);
        start = end + 1;
    }
    if (start < text.length)
        buffer_append_text(out, "\n;   ...");
}

static void append_who(struct buffer *out, value news)
{
    struct span client = map_get_string(news, "client");
    int64_t number = map_get_integer(news, "evaluation", 0);
    if (client.length == 0)
        client = SPAN("another client");
    buffer_append_format(out, "; [%.*s", (int)client.length, client.data);
    if (number > 0)
        buffer_append_format(out, ", evaluation %" PRId64, number);
    buffer_append_byte(out, ']');
}

static void append_outcome(struct buffer *out, const struct session_reply *reply)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    append_comment(out, reply->standard_output.text);
    append_comment(out, reply->standard_error.text);
    if (reply->ok)
        render_values(&text, reply);
    else
        render_error_heading(&text, reply->error);
    struct span shown = buffer_span(&text);
    while (shown.length > 0 && *shown.data == '\n') {
        shown.data++;
        shown.length--;
    }
    append_comment(out, shown);
}

static void append_end(struct buffer *out, struct repl *repl, struct region *region, value news)
{
    value map = map_get(news, "reply");
    append_who(out, news);
    if (!value_is_map(map)) {
        buffer_append_text(out, " cancelled");
        return;
    }
    struct session_reply reply = session_wire_read_reply(region, map, repl->loop.session);
    struct span op = map_get_string(news, "op");
    if (map_get_integer(news, "evaluation", 0) == 0)
        buffer_append_format(out, " %.*s: at evaluation %" PRId64, (int)op.length, op.data,
                             reply.snapshot >= 0 ? reply.snapshot : reply.evaluation);
    else
        append_outcome(out, &reply);
    if (reply.ok)
        repl_update_prompt(repl, &reply);
}

static void print_news(void *data, value news)
{
    struct repl *repl = data;
    struct span kind = map_get_string(news, "kind");
    struct region *region = region_new(SIZE_MAX);
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, BUFFER_DEFAULT_LIMIT);
    if (span_equal_text(kind, "started")) {
        append_who(&out, news);
        append_comment(&out, map_get_string(news, "code"));
    } else if (span_equal_text(kind, "ended")) {
        append_end(&out, repl, region, news);
    } else {
        buffer_append_text(&out, "; The session was removed.");
    }
    repl_print(repl, &out);
    region_free(region);
}

static int news_descriptor(void *data)
{
    const struct repl *repl = data;
    return session_link_descriptor(repl->loop.link);
}

static void hear(void *data)
{
    struct repl *repl = data;
    session_shared_hear(&repl->loop);
}

void repl_listen(struct repl *repl, struct line_editor_help *help)
{
    repl->loop.on_news = print_news;
    repl->loop.news_data = repl;
    help->descriptor = news_descriptor;
    help->hear = hear;
}
