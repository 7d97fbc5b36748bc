// The limit max-output of one answer, shared by what it shows: standard output, error output and
// values. Small parts are whole; the large ones share the rest equally. A part that is cut shows its
// beginning and its end.
#include "base/utf8.h"
#include "session/session_internal.h"

enum part { PART_OUTPUT, PART_ERRORS, PART_VALUES, PART_COUNT };

static void share(size_t limit, const size_t wanted[PART_COUNT], size_t ret_shares[PART_COUNT])
{
    bool has_share[PART_COUNT] = {false};
    for (size_t rest = PART_COUNT; rest > 0; rest--) {
        size_t next = PART_COUNT;
        for (size_t i = 0; i < PART_COUNT; i++)
            if (!has_share[i] && (next == PART_COUNT || wanted[i] < wanted[next]))
                next = i;
        size_t fair = limit / rest > 0 ? limit / rest : limit;
        ret_shares[next] = wanted[next] < fair ? wanted[next] : fair;
        has_share[next] = true;
        limit -= ret_shares[next];
    }
}

static size_t values_characters(value values)
{
    size_t characters = 0;
    for (size_t i = 0; value_is_vector(values) && i < vector_count(values); i++) {
        struct span text = value_text(vector_at(values, i));
        characters += utf8_count(text.data, text.length);
    }
    return characters;
}

struct cut {
    struct session *session;
    struct region *region;
    size_t room;        // characters
    int64_t inside;     // characters left out between the parts of a text
    int64_t after;      // characters left out after the last text
    bool end_is_known;  // the agent gave the last text whole
};

// A text that is too long for the room: its beginning, and its end where that is known.
static value cut_text(struct cut *cut, struct span text, size_t characters, bool end_is_known)
{
    size_t tail = end_is_known ? cut->room / 4 : 0, head = cut->room - tail;
    size_t head_bytes = utf8_offset(text.data, text.length, head);
    size_t tail_start = utf8_offset(text.data, text.length, characters - tail);
    size_t omitted = characters - cut->room;
    cut->room = 0;
    if (!end_is_known) {
        cut->after += (int64_t)omitted;
        return value_string(cut->region, (struct span){text.data, head_bytes});
    }
    cut->inside += (int64_t)omitted;
    CLEANUP_BUFFER struct buffer shown;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    buffer_append(&shown, text.data, head_bytes);
    buffer_append_format(&shown, "\n[truncated: %zu character%s omitted; max-output %lld]", omitted,
                         omitted == 1 ? "" : "s", (long long)cut->session->limits.max_output);
    if (tail > 0)
        buffer_append_byte(&shown, '\n');
    buffer_append(&shown, text.data + tail_start, text.length - tail_start);
    return value_string(cut->region, buffer_span(&shown));
}

// The first values whole, one cut, and none of the rest.
static value cut_values(struct cut *cut, value values)
{
    value shown = vector_new(cut->region, 0);
    for (size_t i = 0; i < vector_count(values); i++) {
        struct span text = value_text(vector_at(values, i));
        size_t characters = utf8_count(text.data, text.length);
        bool end_is_known = cut->end_is_known || i + 1 < vector_count(values);
        if (characters <= cut->room) {
            cut->room -= characters;
            shown = vector_push(cut->region, shown, value_retain(vector_at(values, i)));
        } else if (cut->room > 0 || i == 0) {
            shown = vector_push(cut->region, shown, cut_text(cut, text, characters, end_is_known));
        } else {
            cut->after += (int64_t)characters;
        }
    }
    return shown;
}

value reply_limit(struct session *session, struct job *job)
{
    value values = value_is_map(job->result) ? map_get(job->result, "values") : value_nil();
    size_t shares[PART_COUNT];
    size_t wanted[PART_COUNT] = {capture_characters(&session->output),
                                 capture_characters(&session->errors), values_characters(values)};
    share((size_t)session->limits.max_output, wanted, shares);
    capture_shrink(&session->output, shares[PART_OUTPUT]);
    capture_shrink(&session->errors, shares[PART_ERRORS]);
    if (wanted[PART_VALUES] <= shares[PART_VALUES])
        return value_nil();
    int64_t omitted = map_get_integer(job->result, "values_omitted", 0);
    struct cut cut = {.session = session,
                      .region = job->region,
                      .room = shares[PART_VALUES],
                      .after = omitted,
                      .end_is_known = omitted == 0};
    value whole = value_retain(values), shown = cut_values(&cut, values);
    job->result = map_put_text(job->region, job->result, "values", shown);
    job->result = map_put_text(job->region, job->result, "values_omitted",
                               value_integer(cut.inside + cut.after));
    job->result =
        map_put_text(job->region, job->result, "values_omitted_after", value_integer(cut.after));
    return whole;
}
