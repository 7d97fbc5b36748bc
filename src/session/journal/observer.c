#include "session/journal/observer.h"

#include "session/session_internal.h"

void session_observe(struct session_manager *manager, session_observer_fn *observer, void *data)
{
    manager->observer = observer;
    manager->observer_data = data;
}

static void tell(const struct session *session, struct session_news *news)
{
    const struct session_manager *manager = session->manager;
    if (session->is_hidden)
        return;
    news->session = session->name;
    news->current = session->lineage.current;
    manager->observer(manager->observer_data, news);
}

void observer_started(const struct session *session, const struct job *job)
{
    if (!session->manager->observer || job->number == 0)
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
    if (!session || !session->manager->observer || job->number == 0)
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
    if (!session->manager->observer || job->internal)
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
    if (!session->manager->observer || !is_new)
        return;
    session->told_state = session->state;
    tell(session, &(struct session_news){
                      .kind = SESSION_NEWS_STATE,
                      .state = session_state_name(session->state),
                  });
}

void observer_closed(const struct session *session)
{
    if (session->manager->observer)
        tell(session, &(struct session_news){.kind = SESSION_NEWS_CLOSED});
}
