#include "session/state/state.h"

#include "base/assert.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

static const char *const state_names[STATE_COUNT] = {
    [STATE_DOWN] = "down",
    [STATE_RESTORING] = "restoring",
    [STATE_STARTING] = "starting",
    [STATE_IDLE] = "idle",
    [STATE_RUNNING] = "running",
    [STATE_INTERRUPTING] = "interrupting",
    [STATE_STOPPING] = "stopping",
    [STATE_CLEARING] = "clearing",
    [STATE_SNAPSHOTTING] = "snapshotting",
    [STATE_WAKING] = "waking",
    [STATE_COPY] = "copy",
    [STATE_RESTING] = "resting",
    [STATE_CLOSING] = "closing",
};

static const char *const event_names[EVENT_COUNT] = {
    [EVENT_REQUEST] = "request",     [EVENT_MESSAGE] = "message", [EVENT_SNAPPED] = "snapped",
    [EVENT_HEAD_EXIT] = "head exit", [EVENT_TIMER] = "timer",     [EVENT_CANCEL] = "cancel",
    [EVENT_COPY_EXIT] = "copy exit", [EVENT_REST] = "rest",       [EVENT_SNAPSHOT] = "snapshot",
};

// <state>_on_<event> is in <state>.c, all other actions are in shared.c.
// clang-format off
static session_action_fn *const table[STATE_COUNT][EVENT_COUNT] = {
    [STATE_DOWN] = {
        [EVENT_REQUEST]   = down_on_request,
        [EVENT_MESSAGE]   = ignore_event,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = ignore_event,
        [EVENT_TIMER]     = ignore_event,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_RESTORING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = ignore_event,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = restoring_on_head_exit,
        [EVENT_TIMER]     = restoring_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_STARTING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = starting_on_message,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = starting_on_head_exit,
        [EVENT_TIMER]     = starting_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_IDLE] = {
        [EVENT_REQUEST]   = idle_on_request,
        [EVENT_MESSAGE]   = idle_on_message,
        [EVENT_SNAPPED]   = keep_late_snapshot,
        [EVENT_HEAD_EXIT] = idle_on_head_exit,
        [EVENT_TIMER]     = idle_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = idle_on_rest,
        [EVENT_SNAPSHOT]  = idle_on_snapshot,
    },
    [STATE_RUNNING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = running_on_message,
        [EVENT_SNAPPED]   = keep_late_snapshot,
        [EVENT_HEAD_EXIT] = running_on_head_exit,
        [EVENT_TIMER]     = running_on_timer,
        [EVENT_CANCEL]    = running_on_cancel,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_INTERRUPTING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = running_on_message,
        [EVENT_SNAPPED]   = keep_late_snapshot,
        [EVENT_HEAD_EXIT] = interrupting_on_head_exit,
        [EVENT_TIMER]     = interrupting_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_STOPPING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = stopping_on_message,
        [EVENT_SNAPPED]   = keep_late_snapshot,
        [EVENT_HEAD_EXIT] = stopping_on_head_exit,
        [EVENT_TIMER]     = stopping_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_CLEARING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = ignore_event,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = clearing_on_head_exit,
        [EVENT_TIMER]     = clearing_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_SNAPSHOTTING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = snapshotting_on_message,
        [EVENT_SNAPPED]   = snapshotting_on_snapped,
        [EVENT_HEAD_EXIT] = snapshotting_on_head_exit,
        [EVENT_TIMER]     = snapshotting_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_WAKING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = waking_on_message,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = waking_on_head_exit,
        [EVENT_TIMER]     = waking_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_COPY] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = copy_on_message,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = copy_on_head_exit,
        [EVENT_TIMER]     = copy_on_timer,
        [EVENT_CANCEL]    = copy_on_cancel,
        [EVENT_COPY_EXIT] = copy_on_copy_exit,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_RESTING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = ignore_event,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = ignore_event,
        [EVENT_TIMER]     = resting_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
    [STATE_CLOSING] = {
        [EVENT_REQUEST]   = ignore_event,
        [EVENT_MESSAGE]   = ignore_event,
        [EVENT_SNAPPED]   = drop_snapshot,
        [EVENT_HEAD_EXIT] = ignore_event,
        [EVENT_TIMER]     = closing_on_timer,
        [EVENT_CANCEL]    = ignore_event,
        [EVENT_COPY_EXIT] = ignore_event,
        [EVENT_REST]      = ignore_event,
        [EVENT_SNAPSHOT]  = ignore_event,
    },
};
// clang-format on

const char *session_state_name(enum session_state state)
{
    CHECK(state < STATE_COUNT);
    return state_names[state];
}

const char *session_event_name(enum session_event_kind kind)
{
    CHECK(kind < EVENT_COUNT);
    return event_names[kind];
}

static bool accepts_request(const struct session *session)
{
    return session->queue.first && !session->close_requested &&
           (session->state == STATE_DOWN ||
            (session->state == STATE_IDLE && !session->finalizer.running));
}

static void session_apply(struct session *session, const struct session_event *event)
{
    session_action_fn *action = table[session->state][event->kind];
    CHECK(action);
    session->state = action(session, event);
}

void session_handle(struct session *session, const struct session_event *event)
{
    // Callbacks run inside actions and may submit, cancel or close; that is done when the action
    // has ended. No other event can arrive in between: there is one loop, one thread.
    CHECK(!session->handling);
    session->handling = true;
    session_apply(session, event);
    while (accepts_request(session))
        session_apply(session, &(struct session_event){.kind = EVENT_REQUEST});
    session->handling = false;
    observer_state(session);
    if (session->close_requested)
        closing_begin(session);
}
