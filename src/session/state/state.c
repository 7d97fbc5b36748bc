#include "session/state/state.h"

#include "base/assert.h"
#include "session/internal.h"

static const char *const state_names[STATE_COUNT] = {
    [STATE_DOWN] = "down",
    [STATE_STARTING] = "starting",
    [STATE_IDLE] = "idle",
    [STATE_RUNNING] = "running",
    [STATE_INTERRUPTING] = "interrupting",
    [STATE_STOPPING] = "stopping",
    [STATE_SNAPSHOTTING] = "snapshotting",
    [STATE_WAKING] = "waking",
    [STATE_COPY] = "copy",
    [STATE_CLOSING] = "closing",
};

static const char *const event_names[EVENT_COUNT] = {
    [EVENT_REQUEST] = "request",     [EVENT_MESSAGE] = "message", [EVENT_SNAPPED] = "snapped",
    [EVENT_HEAD_EXIT] = "head exit", [EVENT_TIMER] = "timer",     [EVENT_CANCEL] = "cancel",
    [EVENT_COPY_EXIT] = "copy exit",
};

// clang-format off
static session_action_fn *const table[STATE_COUNT][EVENT_COUNT] = {
    [STATE_DOWN] = {
        [EVENT_REQUEST]   = action_start,
        [EVENT_MESSAGE]   = action_ignore,
        [EVENT_SNAPPED]   = action_drop_snapshot,
        [EVENT_HEAD_EXIT] = action_ignore,
        [EVENT_TIMER]     = action_ignore,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_STARTING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_starting_message,
        [EVENT_SNAPPED]   = action_drop_snapshot,
        [EVENT_HEAD_EXIT] = action_starting_exit,
        [EVENT_TIMER]     = action_starting_timer,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_IDLE] = {
        [EVENT_REQUEST]   = action_take_request,
        [EVENT_MESSAGE]   = action_idle_message,
        [EVENT_SNAPPED]   = action_late_snapshot,
        [EVENT_HEAD_EXIT] = action_idle_exit,
        [EVENT_TIMER]     = action_idle_timer,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_RUNNING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_result,
        [EVENT_SNAPPED]   = action_late_snapshot,
        [EVENT_HEAD_EXIT] = action_running_exit,
        [EVENT_TIMER]     = action_soft_stop,
        [EVENT_CANCEL]    = action_soft_stop,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_INTERRUPTING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_result,
        [EVENT_SNAPPED]   = action_late_snapshot,
        [EVENT_HEAD_EXIT] = action_running_exit,
        [EVENT_TIMER]     = action_hard_stop,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_STOPPING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_frames,
        [EVENT_SNAPPED]   = action_late_snapshot,
        [EVENT_HEAD_EXIT] = action_running_exit,
        [EVENT_TIMER]     = action_kill,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_SNAPSHOTTING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_snap_message,
        [EVENT_SNAPPED]   = action_snapped,
        [EVENT_HEAD_EXIT] = action_snap_exit,
        [EVENT_TIMER]     = action_snap_timer,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_WAKING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_woke,
        [EVENT_SNAPPED]   = action_drop_snapshot,
        [EVENT_HEAD_EXIT] = action_wake_exit,
        [EVENT_TIMER]     = action_wake_timer,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
    },
    [STATE_COPY] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_copy_message,
        [EVENT_SNAPPED]   = action_drop_snapshot,
        [EVENT_HEAD_EXIT] = action_copy_head_exit,
        [EVENT_TIMER]     = action_copy_timer,
        [EVENT_CANCEL]    = action_copy_cancel,
        [EVENT_COPY_EXIT] = action_copy_exit,
    },
    [STATE_CLOSING] = {
        [EVENT_REQUEST]   = action_ignore,
        [EVENT_MESSAGE]   = action_ignore,
        [EVENT_SNAPPED]   = action_drop_snapshot,
        [EVENT_HEAD_EXIT] = action_ignore,
        [EVENT_TIMER]     = action_close_timer,
        [EVENT_CANCEL]    = action_ignore,
        [EVENT_COPY_EXIT] = action_ignore,
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

static bool takes_requests(const struct session *session)
{
    return session->queue && !session->close_requested &&
           (session->state == STATE_DOWN || (session->state == STATE_IDLE && !session->finalizing));
}

static void session_apply(struct session *session, const struct session_event *event)
{
    session_action_fn *action = table[session->state][event->kind];
    CHECK(action);
    session->state = action(session, event);
}

void session_handle(struct session *session, const struct session_event *event)
{
    // Callbacks run inside actions and may submit, cancel or close; what they ask for is done when
    // the action has ended. No other event can arrive meanwhile: there is one loop, one thread.
    CHECK(!session->handling);
    session->handling = true;
    session_apply(session, event);
    while (takes_requests(session))
        session_apply(session, &(struct session_event){.kind = EVENT_REQUEST});
    session->handling = false;
    if (session->close_requested)
        session_begin_close(session);
}
