// What passes between a request and its caller while it runs: output as it comes, and input when
// the code asks for it. The runtime of SBCL writes to the same descriptors as the code it runs; what
// is the runtime's own is kept out of the output, as reply.c does for the reply.
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "session/sbcl_output.h"
#include "session/session_internal.h"
#include "value/text/json.h"

enum { HELD_LIMIT = 16 << 20 };

void job_streams_init(struct job *job, const struct session_request *request)
{
    job->output = request->output;
    job->earlier_apart = request->earlier_apart;
    job->input = request->input;
    for (size_t i = 0; i < COUNT_OF(job->filters); i++)
        buffer_init(&job->filters[i].held, HELD_LIMIT);
}

void job_streams_release(struct job *job)
{
    for (size_t i = 0; i < COUNT_OF(job->filters); i++)
        buffer_release(&job->filters[i].held);
}

// --- output --------------------------------------------------------------------------------------

static void hand_on(struct job *job, enum session_stream stream, struct span text)
{
    if (text.length == 0 || job->cancelled)
        return;
    job->filters[stream].in_line = text.data[text.length - 1] != '\n';
    observer_output(job, stream, text);
    job->output(job->data, stream, text);
}

static struct span take_line(struct span *rest)
{
    const char *newline = memchr(rest->data, '\n', rest->length);
    struct span line = {rest->data, newline ? (size_t)(newline - rest->data) + 1 : rest->length};
    *rest = (struct span){rest->data + line.length, rest->length - line.length};
    return line;
}

// Lines of the code that follow each other are handed on as one text.
static void filter_text(struct job *job, enum session_stream stream, struct span text)
{
    struct output_filter *filter = &job->filters[stream];
    struct span passed = {text.data, 0};
    while (text.length > 0 && !filter->holds) {
        bool begins = !filter->skips && (passed.length > 0 || !filter->in_line);
        struct span before = text, line = take_line(&text);
        enum sbcl_output_line kind = begins ? sbcl_output_classify(line) : SBCL_OUTPUT_CODE;
        if (filter->skips)
            kind = SBCL_OUTPUT_RUNTIME;
        if (kind == SBCL_OUTPUT_CODE) {
            passed.length += line.length;
            continue;
        }
        hand_on(job, stream, passed);
        passed = (struct span){text.data, 0};
        filter->skips = kind == SBCL_OUTPUT_RUNTIME && line.data[line.length - 1] != '\n';
        filter->holds = kind == SBCL_OUTPUT_UNCLEAR;
        if (filter->holds)
            text = before;
    }
    if (!filter->holds)
        hand_on(job, stream, passed);
    else
        buffer_append_span(&filter->held, text);
}

static void on_text(void *data, const struct capture *capture, struct span text)
{
    struct session *session = data;
    if (session->job && session->job->output)
        filter_text(session->job,
                    capture == &session->output ? SESSION_STANDARD_OUTPUT : SESSION_STANDARD_ERROR,
                    text);
}

// What is there before the request runs is not its output.
static void set_earlier_output_aside(struct session *session)
{
    CLEANUP_BUFFER struct buffer errors, log;
    buffer_init(&errors, BUFFER_DEFAULT_LIMIT);
    buffer_init(&log, BUFFER_DEFAULT_LIMIT);
    session_drain_output(session);
    struct buffer *earlier = &session->pending.earlier_output;
    capture_move_text(&session->output, earlier);
    capture_move_text(&session->errors, &errors);
    sbcl_output_split(buffer_span(&errors), false, earlier, &log);
}

void job_streams_begin(struct session *session, struct job *job)
{
    if ((!job->output || job->earlier_apart) && !job->internal)
        set_earlier_output_aside(session);
    capture_listen(&session->output, job->output ? on_text : NULL, session);
    capture_listen(&session->errors, job->output ? on_text : NULL, session);
}

static void finish_output(struct job *job, bool died)
{
    struct buffer *held = &job->filters[SESSION_STANDARD_OUTPUT].held;
    if (died)
        sbcl_output_move_frames(job->region, held);
    hand_on(job, SESSION_STANDARD_OUTPUT, buffer_span(held));
}

static void finish_errors(struct session *session, struct job *job, bool died)
{
    CLEANUP_BUFFER struct buffer text, log;
    buffer_init(&text, HELD_LIMIT);
    buffer_init(&log, HELD_LIMIT);
    hand_on(job, SESSION_STANDARD_ERROR, buffer_span(&session->pending.late_errors));
    sbcl_output_split(buffer_span(&job->filters[SESSION_STANDARD_ERROR].held), died, &text, &log);
    if (died)
        sbcl_output_move_frames(job->region, &text);
    hand_on(job, SESSION_STANDARD_ERROR, buffer_span(&text));
}

void job_streams_finish(struct session *session, struct job *job, bool died)
{
    if (!job->output)
        return;
    capture_listen(&session->output, NULL, NULL);
    capture_listen(&session->errors, NULL, NULL);
    finish_output(job, died);
    finish_errors(session, job, died);
}

// --- input ---------------------------------------------------------------------------------------

static void send_input(struct session *session, const struct job *job, struct span text, bool end)
{
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, SESSION_REQUEST_MAX);
    buffer_append_format(&message, "{\"request\":%u,\"text\":", job->message_number);
    json_write_string(&message, text);
    buffer_append_text(&message, end ? ",\"end\":true}" : "}");
    struct worker *worker = session->state == STATE_COPY ? session->copy : session->head;
    session_send(session, &worker->link->channel, CHANNEL_INPUT, buffer_span(&message));
}

// Whoever asks without a caller that has input gets its end, and its time goes on.
void job_want_input(struct session *session, struct job *job)
{
    if (job->waits_for_input || job->stop != STOP_NONE || job->cancelled)
        return;
    if (!job->input) {
        send_input(session, job, (struct span){"", 0}, true);
        return;
    }
    session_drain_output(session);  // the question may be there
    job->waits_for_input = true;
    if (job->deadline_ns > 0) {
        job->input_left_ns = job->deadline_ns - clock_now_ns();
        session_set_timer(session, -1);
    }
    job->input(job->data, job->ticket);
}

static void give_input(struct session_manager *manager, uint64_t ticket, struct span text, bool end)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        struct job *job = session->job;
        if (!job || job->ticket != ticket || !job->waits_for_input || job->stop != STOP_NONE)
            continue;
        job->waits_for_input = false;
        if (job->deadline_ns > 0) {
            job->deadline_ns = clock_now_ns() + job->input_left_ns;
            session_set_timer(session, job->input_left_ns > 0 ? job->input_left_ns / 1000000 : 0);
        }
        send_input(session, job, text, end);
    }
}

void session_give_input(struct session_manager *manager, uint64_t ticket, struct span text)
{
    give_input(manager, ticket, text, false);
}

void session_end_input(struct session_manager *manager, uint64_t ticket)
{
    give_input(manager, ticket, (struct span){"", 0}, true);
}

// --- output so far -------------------------------------------------------------------------------

void session_move_output(struct session_manager *manager, uint64_t ticket,
                         struct buffer texts[SESSION_STREAM_COUNT])
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (!session->job || session->job->ticket != ticket)
            continue;
        CLEANUP_BUFFER struct buffer errors, log;
        buffer_init(&errors, BUFFER_DEFAULT_LIMIT);
        buffer_init(&log, BUFFER_DEFAULT_LIMIT);
        session_drain_output(session);
        reply_limit(session, session->job);
        capture_move(&session->output, &texts[SESSION_STANDARD_OUTPUT]);
        capture_move(&session->errors, &errors);
        sbcl_output_split(buffer_span(&errors), false, &texts[SESSION_STANDARD_ERROR], &log);
    }
}
