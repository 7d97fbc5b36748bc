// What the supervisor knows of a session, as values.
#include "base/array.h"
#include "base/clock.h"
#include "process/mark.h"
#include "process/proc.h"
#include "session/session_internal.h"

static value put(struct region *region, value map, const char *name, value item)
{
    return map_put_text(region, map, name, item);
}

static value put_integer(struct region *region, value map, const char *name, int64_t number)
{
    return map_put_text(region, map, name, value_integer(number));
}

static value put_copy(struct region *region, value map, const char *name, value from,
                      const char *member)
{
    value item = map_get(from, member);
    return value_is_nil(item) ? map : put(region, map, name, value_copy(region, item));
}

static value put_memory(struct region *region, value map, pid_t pid)
{
    struct proc_memory memory;
    if (proc_memory_read(pid, &memory) < 0)
        return map;
    map = put_integer(region, map, "resident_kb", (int64_t)memory.resident_kb);
    map = put_integer(region, map, "private_kb", (int64_t)memory.private_kb);
    return put_integer(region, map, "pss_kb", (int64_t)memory.pss_kb);
}

static value limits_map(struct region *region, const struct session_limits *limits)
{
    value map = map_new(region);
    map = put_integer(region, map, "timeout", limits->timeout);
    map = put_integer(region, map, "max-output", limits->max_output);
    map = put_integer(region, map, "max-memory", limits->max_memory);
    map = put_integer(region, map, "max-frames", limits->max_frames);
    return put_integer(region, map, "snapshots", limits->snapshots);
}

static value snapshot_map(const struct session *session, struct worker *worker, bool measure,
                          struct region *region)
{
    char time[CLOCK_ISO_SIZE];
    clock_format_iso(worker->time, time);
    struct proc_memory memory;
    if (worker->measured_ms == 0 && proc_memory_read(worker->process.pid, &memory) == 0)
        worker->pss_kb = memory.pss_kb;
    value map = map_new(region);
    map = put_integer(region, map, "number", worker->number);
    map = put_integer(region, map, "evaluation", worker->number);
    map = put(region, map, "time", value_string_text(region, time));
    int64_t tenths = (int64_t)worker->pss_kb * 10 / 1024;
    map = put(region, map, "mb", value_float((double)tenths / 10));
    map = put(region, map, "code", value_string_text(region, worker->code ? worker->code : ""));
    int64_t parent = lineage_parent(session, worker->number);
    if (parent >= 0)
        map = put_integer(region, map, "parent", parent);
    map = put(region, map, "current", value_boolean(worker->number == session->lineage.current));
    return measure ? put_memory(region, map, worker->process.pid) : map;
}

static value parked_vectors(struct session *session, bool measure, struct region *region, value map)
{
    value snapshots = vector_new(region, 0);
    value frozen = vector_new(region, 0);
    value frozen_memory = vector_new(region, 0);
    for (struct worker *worker = worker_next_snapshot(session, -1); worker;
         worker = worker_next_snapshot(session, worker->number))
        snapshots = vector_push(region, snapshots, snapshot_map(session, worker, measure, region));
    for (size_t i = 0; i < session->history.count; i++) {
        int64_t id = session->history.records[i].id;
        struct worker *worker = worker_find_postmortem(session, id);
        if (!worker)
            continue;
        frozen = vector_push(region, frozen, value_integer(id));
        value memory = put_integer(region, map_new(region), "error", id);
        if (measure)
            frozen_memory =
                vector_push(region, frozen_memory, put_memory(region, memory, worker->process.pid));
    }
    for (size_t i = 0; i < session->history.test_count; i++)
        if (worker_find_postmortem(session, session->history.tests[i].id))
            frozen = vector_push(region, frozen, value_integer(session->history.tests[i].id));
    map = put(region, map, "snapshots", snapshots);
    map = put(region, map, "frozen", frozen);
    return measure ? put(region, map, "frozen_memory", frozen_memory) : map;
}

value session_info(struct session_manager *manager, const char *name, bool measure,
                   struct region *region)
{
    struct session *session = manager_find(manager, name);
    if (!session)
        return value_nil();
    pid_t pid = session->head ? session->head->process.pid : 0;
    value map = map_new(region);
    map = put(region, map, "name", value_string_text(region, session->name));
    map = put(region, map, "state", value_string_text(region, session_state_name(session->state)));
    map = put_integer(region, map, "pid", pid);
    map = put_copy(region, map, "package", session->agent.state, "package");
    map = put_copy(region, map, "package_label", session->agent.state, "package_label");
    map = put_integer(region, map, "evaluations", session->lineage.evaluations);
    map = put_integer(region, map, "evaluation", session->lineage.current);
    map = put_integer(region, map, "errors", session->history.last_id);
    map = put_integer(region, map, "queued", (int64_t)session->queue.length);
    map = put_copy(region, map, "live_bytes", session->agent.state, "live_bytes");
    map = put_integer(region, map, "heap_mb", manager->config.heap_mb);
    map = put_copy(region, map, "threads", session->agent.state, "threads");
    map = put_copy(region, map, "systems", session->agent.state, "systems");
    map = put_copy(region, map, "sbcl", session->agent.hello, "sbcl");
    map = put_copy(region, map, "probes", session->agent.hello, "probes");
    map = put(region, map, "limits", limits_map(region, &session->limits));
    map = put(region, map, "sandbox", reach_info(manager, region));
    value project = project_info(session, region);
    if (value_is_map(project))
        map = put(region, map, "project", project);
    if (measure && pid)
        map = put(region, map, "head", put_memory(region, map_new(region), pid));
    return parked_vectors(session, measure, region, map);
}

// --- errors --------------------------------------------------------------------------------------

static value error_map(struct session *session, const struct error_record *record,
                       struct region *region)
{
    bool frozen = worker_find_postmortem(session, record->id) != NULL;
    return put(region, value_copy(region, record->error), "frozen", value_boolean(frozen));
}

value session_errors(struct session_manager *manager, const char *name, struct region *region)
{
    struct session *session = manager_find(manager, name);
    value errors = vector_new(region, 0);
    for (size_t i = session ? session->history.count : 0; i > 0; i--)
        errors = vector_push(region, errors,
                             error_map(session, &session->history.records[i - 1], region));
    return errors;
}

value session_error(struct session_manager *manager, const char *name, int64_t id,
                    struct region *region)
{
    struct session *session = manager_find(manager, name);
    if (!session)
        return value_nil();
    const struct error_record *record =
        error_history_find(&session->history, id ? id : session->history.last_error);
    return record ? error_map(session, record, region) : value_nil();
}

unsigned session_heap_mb(struct session_manager *manager)
{
    return manager->config.heap_mb;
}

// --- all sessions --------------------------------------------------------------------------------

size_t session_process_count(const struct session_manager *manager)
{
    size_t count = 0;
    const struct session *const lists[] = {manager->sessions, manager->closing};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const struct session *session = lists[i]; session; session = session->next)
            for (const struct worker *worker = session->workers; worker; worker = worker->next)
                count++;
    return count;
}

bool session_is_busy(const struct session_manager *manager)
{
    for (const struct session *session = manager->sessions; session; session = session->next)
        if (session->job || session->queue.first)
            return true;
    return manager->refused != NULL;
}

bool session_is_own_process(struct session_manager *manager, pid_t pid)
{
    return mark_is_of_family(mark_read(pid), manager->mark_family) ||
           manager_knows_pid(manager, pid);
}
