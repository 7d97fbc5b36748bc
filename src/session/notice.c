// Notices: what happened to a session between two replies, told with the next one.
#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "session/sbcl_output.h"
#include "session/session_internal.h"

enum { NOTICE_MAX = 1023, WAKE_NOTICE_MAX = 255 };  // bytes

void session_notice(struct session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(NOTICE_MAX, format, arguments);
    va_end(arguments);
    if (session->pending.notice_count == SESSION_NOTICES) {
        memory_free(session->pending.notices[0]);
        memmove(&session->pending.notices[0], &session->pending.notices[1],
                (SESSION_NOTICES - 1) * sizeof(session->pending.notices[0]));
        session->pending.notice_count--;
    }
    session->pending.notices[session->pending.notice_count++] = text;
}

// --- the end of a head ---------------------------------------------------------------------------

void session_wake_notice(struct session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    memory_free(session->wake.notice);
    session->wake.notice = memory_format_list(WAKE_NOTICE_MAX, format, arguments);
    va_end(arguments);
}

// SBCL's runtime has given up between two calls: what it wrote belongs to neither, and would be
// taken for the reason of the next failure. Output that was cut already stays as it is.
static void forget_runtime_text(struct session *session)
{
    if (session->output.dropped > 0 || session->errors.dropped > 0)
        return;
    CLEANUP_BUFFER struct buffer errors, output, kept, log;
    buffer_init(&errors, BUFFER_DEFAULT_LIMIT);
    buffer_init(&output, BUFFER_DEFAULT_LIMIT);
    buffer_init(&kept, BUFFER_DEFAULT_LIMIT);
    buffer_init(&log, BUFFER_DEFAULT_LIMIT);
    capture_move(&session->errors, &errors);
    sbcl_output_split(buffer_span(&errors), true, &kept, &log);
    sbcl_output_move_frames(session->scratch, &kept);
    capture_add(&session->errors, buffer_text(&kept), kept.length);
    capture_move(&session->output, &output);
    sbcl_output_move_frames(session->scratch, &output);
    capture_add(&session->output, buffer_text(&output), output.length);
}

void session_notice_death(struct session *session, const char *what,
                          const struct process_exit *exit)
{
    enum { REASON_MAX = 120 };
    if (!exit->known) {
        session_wake_notice(session, "the session's process %s", what);
        return;
    }
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    if (!exit->signaled && exit->code == RUNTIME_EXIT_CODE)
        capture_last(&session->errors, &last);
    struct span fatal = sbcl_output_reason(buffer_span(&last));
    if (fatal.length > REASON_MAX)
        fatal.length = utf8_cut(fatal.data, REASON_MAX);
    session_wake_notice(session, "the session's process %s (%s %d%s%.*s)", what,
                        exit->signaled ? "signal" : "exit code", exit->code,
                        fatal.length > 0 ? ": " : "", (int)fatal.length, fatal.data);
    if (fatal.length > 0)
        forget_runtime_text(session);
}
