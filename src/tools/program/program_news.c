// What the observer of programs is told of a run (tools/tools.h).
#include "tools/program_task.h"

static void tell(struct program_task *task, struct program_news *news)
{
    const struct tools_observer *observer = task->tools->observer;
    if (!observer || task->is_told)
        return;
    task->is_told = news->kind == PROGRAM_NEWS_ENDED;
    news->run = task;
    news->number = task->number;
    observer->on_program(observer->data, news);
}

void program_news_started(struct program_task *task)
{
    tell(task, &(struct program_news){.kind = PROGRAM_NEWS_STARTED,
                                      .client = tool_client_name(task->tools, task->call),
                                      .source = map_get_string(task->record, "program")});
}

void program_news_call(struct program_task *task, uint64_t key, struct span name,
                       struct span arguments)
{
    tell(task, &(struct program_news){
                   .kind = PROGRAM_NEWS_CALL, .call = key, .name = name, .text = arguments});
}

void program_news_answered(struct program_task *task, uint64_t key, bool ok, struct span text)
{
    tell(task, &(struct program_news){
                   .kind = PROGRAM_NEWS_ANSWERED, .call = key, .ok = ok, .text = text});
}

void program_news_ended(struct program_task *task, value step)
{
    tell(task, &(struct program_news){.kind = PROGRAM_NEWS_ENDED, .step = step});
}
