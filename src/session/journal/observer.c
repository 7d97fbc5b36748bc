#include "session/journal/observer.h"

#include "session/session_internal.h"

void session_observe(struct session_manager *manager, struct session_observer *observer)
{
    LIST_INSERT_HEAD(&manager->observers, observer, link);
    observer->is_listed = true;
}

void session_unobserve(struct session_observer *observer)
{
    if (observer->is_listed)
        LIST_REMOVE(observer, link);
    observer->is_listed = false;
}

void observer_leave_all(struct session_manager *manager)
{
    while (!LIST_EMPTY(&manager->observers))
        session_unobserve(LIST_FIRST(&manager->observers));
}

static bool is_observed(const struct session *session)
{
    return !LIST_EMPTY(&session->manager->observers);
}

static void tell(const struct session *session, struct session_news *news)
{
    if (session->is_hidden)
        return;
    news->session = session->name;
    news->current = session->lineage.current;
    const struct session_observer *observer;
    LIST_FOREACH (observer, &session->manager->observers, link)
        observer->notice(observer->data, news);
}

void observer_started(const struct session *session, const struct job *job)
{
    if (!is_observed(session) || job->number == 0)
        return;
    tell(session, &(struct session_news){
                      .kind = SESSION_NEWS_STARTED,
                      .evaluation = job->number,
                      .parent = session->lineage.current,
                      .client = job->client,
                      .label = job->label,
                      .request = buffer_span(&job->request),
                  });
}

void observer_output(const struct job *job, enum session_stream stream, struct span text)
{
    const struct session *session = job->session;
    if (!session || !is_observed(session) || job->number == 0)
        return;
    tell(session, &(struct session_news){
                      .kind = SESSION_NEWS_OUTPUT,
                      .evaluation = job->number,
                      .stream = stream,
                      .text = text,
                  });
}

void observer_ended(const struct session *session, const struct job *job,
                    const struct session_reply *reply)
{
    if (!is_observed(session) || job->internal)
        return;
    if (job->number == 0 && job->kind != SESSION_ROLLBACK && job->kind != SESSION_RESET)
        return;
    tell(session, &(struct session_news){
                      .kind = SESSION_NEWS_ENDED,
                      .evaluation = job->number,
                      .parent = lineage_parent(session, job->number),
                      .client = job->client,
                      .label = job->label,
                      .request = buffer_span(&job->request),
                      .op = job->kind == SESSION_ROLLBACK ? "rollback"
                            : job->kind == SESSION_RESET  ? "reset"
                                                          : job->op,
                      .reply = reply,
                  });
}

void observer_state(struct session *session)
{
    bool is_new = session->told_state != session->state && session->state != STATE_CLOSING;
    if (!is_observed(session) || !is_new)
        return;
    session->told_state = session->state;
    tell(session, &(struct session_news){
                      .kind = SESSION_NEWS_STATE,
                      .state = session_state_name(session->state),
                  });
}

void observer_closed(const struct session *session)
{
    if (is_observed(session))
        tell(session, &(struct session_news){.kind = SESSION_NEWS_CLOSED});
}
