// The limits of a session: defaults, bounds, and setting them.
#include <errno.h>

#include "session/session_internal.h"

struct session_limits session_limits_default(void)
{
    return (struct session_limits){
        .timeout = 30, .max_output = 20000, .max_memory = 1024, .max_frames = 20, .snapshots = 16};
}

// A copying collection needs as much room again as there is live data.
static int64_t memory_for(unsigned heap_mb)
{
    return (int64_t)heap_mb * 45 / 100;
}

void session_limits_fit(struct session_limits *limits, unsigned heap_mb)
{
    if (limits->max_memory > memory_for(heap_mb))
        limits->max_memory = memory_for(heap_mb);
}

static bool check(const char *name, int64_t number, int64_t low, int64_t high, struct error *error)
{
    if (number < 0)
        return error_set(error, ERROR_INVALID, "Value must be non-negative: %s = %lld", name,
                         (long long)number);
    if (number < low || number > high)
        return error_set(error, ERROR_INVALID, "Value must be between %lld and %lld: %s = %lld",
                         (long long)low, (long long)high, name, (long long)number);
    return true;
}

bool session_limits_check(const struct session_limits *limits, unsigned heap_mb,
                          struct error *error)
{
    return check("timeout", limits->timeout, 0, 86400, error) &&
           check("max-output", limits->max_output, 1, 4000000, error) &&
           check("max-memory", limits->max_memory, 64, memory_for(heap_mb), error) &&
           check("max-frames", limits->max_frames, 1, 1000, error) &&
           check("snapshots", limits->snapshots, 1, 256, error);
}

int session_limits_get(struct session_manager *manager, const char *name,
                       struct session_limits *ret_limits)
{
    struct session *session = manager_find(manager, name);
    if (!session)
        return -ENOENT;
    *ret_limits = session->limits;
    return 0;
}

int session_limits_set(struct session_manager *manager, const char *name,
                       const struct session_limits *limits)
{
    struct session *session = manager_find(manager, name);
    if (!session)
        return -ENOENT;
    session->limits = *limits;
    capture_set_limit(&session->output, (size_t)limits->max_output);
    capture_set_limit(&session->errors, (size_t)limits->max_output);
    snapshot_evict(session);
    return 0;
}
