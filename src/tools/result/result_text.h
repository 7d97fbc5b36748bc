// The text form of what sessions answer: sections, values, errors, frames, rollbacks, timing. Used
// by the MCP tools and the command line alike. Every function appends to a buffer; texts never
// depend on anything but the reply.
#pragma once

#include "base/buffer.h"
#include "session/session.h"

// A blank line between sections; nothing before the first one.
void render_gap(struct buffer *text);

// 1048576 as "1,048,576"
void render_grouped(struct buffer *text, int64_t number);
// "1 frame", "2 frames"
void render_counted(struct buffer *text, int64_t count, const char *noun);

// "main, work"
void render_names(struct buffer *text, value names);

#define RENDER_EARLIER_OUTPUT "output since the last call"  // heading of a section

// The body of a section: without leading newlines and trailing white space. Empty: no section.
void render_section(struct buffer *text, const char *heading, struct span body);

// The section [Notice]; nothing when there is none.
void render_notices(struct buffer *text, value notices);
// The section [warnings] of a result; nothing when it has none.
void render_warnings(struct buffer *text, value result);

// `[ERROR] TYPE`, message, place and hint, with the gap before it.
void render_error_heading(struct buffer *text, value error);
// A line `N: call  file:line`
void render_frame_line(struct buffer *text, value frame, const char *indent);
// Such lines from `offset` on, at most `count`; returns how many were written.
size_t render_frames(struct buffer *text, value frames, int64_t offset, int64_t count,
                     const char *indent);

// --- result_backtrace.c: the section [Backtrace] -------------------------------------------------

// The frames of the reply's error, recursion and machinery folded.
void render_backtrace(struct buffer *text, const struct session_reply *reply);

// --- result_repair.c: the section [Repair] -------------------------------------------------------

// Code that is not balanced, but would be as it is indented: the lines that would change.
void render_repair(struct buffer *text, struct span code);

// --- result_text.c: evaluations ------------------------------------------------------------------

struct render_evaluation {
    bool timing;             // add the `; Timing:` line
    bool outcome_first;      // before output and warnings, as build tools do
    const char *last_lines;  // a further section, e.g. of invoke-restart; may be NULL
};
// evaluate-lisp: all sections in their order, no newline at the end.
void render_evaluation(struct buffer *text, const struct session_reply *reply,
                       const struct render_evaluation *style);
// The lines `=> VALUE`, or what stands in their place.
void render_values(struct buffer *text, const struct session_reply *reply);
// A line `Lost threads: …`, when there are any.
void render_lost_threads(struct buffer *text, value names);
// time-execution: the table, the values, the output.
void render_time_execution(struct buffer *text, const struct session_reply *reply);
// compile-form: the verdict and the lists of diagnostics.
void render_compilation(struct buffer *text, const struct session_reply *reply);
// Its warnings alone, and its notes.
void render_compile_warnings(struct buffer *text, value result);
void render_compile_notes(struct buffer *text, value result);
// configure-limits: the five lines.
void render_limits(struct buffer *text, const struct session_limits *limits);
// describe-last-error; a nil error gives the "No error" text.
void render_error_description(struct buffer *text, value error);

// --- result_text_session.c: sessions, errors, frames ---------------------------------------------

// session-info, from the map of session_info().
void render_session(struct buffer *text, value info);
// "\nLABEL" and the names, or "none".
void render_list(struct buffer *text, const char *label, value names);
// list-errors, newest first.
void render_error_list(struct buffer *text, value errors, int64_t limit);
// inspect-frame: call, source, locals of the agent's answer.
void render_frame(struct buffer *text, value result);
// "\n  NAME = VALUE" for each binding in the member `name`.
void render_bindings(struct buffer *text, value result, const char *name);
