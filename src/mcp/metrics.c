// Counters, gauges and histograms, written in the Prometheus text format.
#include <math.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"

static const double bounds[] = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30,    60};
enum { BOUND_COUNT = COUNT_OF(bounds), METRICS_MAX = 512, COLLECTORS_MAX = 16 };

struct mcp_metric {
    STAILQ_ENTRY(mcp_metric) link;
    enum mcp_metric_kind kind;
    char *name;
    char *label;
    char *help;
    double amount;  // of a histogram: the sum
    uint64_t count;
    uint64_t buckets[BOUND_COUNT];
};

struct collector {
    mcp_collect_fn *collect;
    void *data;
};

struct metrics {
    STAILQ_HEAD(mcp_metric_head, mcp_metric) list;
    size_t count;
    struct collector collectors[COLLECTORS_MAX];
    size_t collector_count;
};

struct metrics *metrics_new(void)
{
    struct metrics *metrics = memory_alloc_zero(sizeof(*metrics));
    STAILQ_INIT(&metrics->list);
    return metrics;
}

void metrics_free(struct metrics *metrics)
{
    struct mcp_metric *metric;
    while ((metric = STAILQ_FIRST(&metrics->list))) {
        STAILQ_REMOVE_HEAD(&metrics->list, link);
        memory_free(metric->name);
        memory_free(metric->label);
        memory_free(metric->help);
        memory_free(metric);
    }
    memory_free(metrics);
}

struct mcp_metric *mcp_server_add_metric(struct mcp_server *server, enum mcp_metric_kind kind,
                                         const char *name, const char *label, const char *help)
{
    struct metrics *metrics = server->metrics;
    struct mcp_metric *metric, *family = NULL;
    STAILQ_FOREACH (metric, &metrics->list, link) {
        if (strcmp(metric->name, name) != 0)
            continue;
        if (strcmp(metric->label, label ? label : "") == 0)
            return metric;
        family = metric;
    }
    CHECK(metrics->count < METRICS_MAX);
    metrics->count++;
    metric = memory_alloc_zero(sizeof(*metric));
    metric->kind = kind;
    metric->name = memory_copy_string(name);
    metric->label = memory_copy_text(label ? label : "", label ? strlen(label) : 0);
    metric->help = memory_copy_string(help);
    if (family)  // a family must be contiguous
        STAILQ_INSERT_AFTER(&metrics->list, family, metric, link);
    else
        STAILQ_INSERT_TAIL(&metrics->list, metric, link);
    return metric;
}

void mcp_server_add_collector(struct mcp_server *server, mcp_collect_fn *collect, void *data)
{
    struct metrics *metrics = server->metrics;
    CHECK(metrics->collector_count < COLLECTORS_MAX);
    metrics->collectors[metrics->collector_count++] = (struct collector){collect, data};
}

void mcp_metric_add(struct mcp_metric *metric, double amount)
{
    metric->amount += amount;
}

void mcp_metric_set(struct mcp_metric *metric, double amount)
{
    metric->amount = amount;
}

void mcp_metric_observe(struct mcp_metric *metric, double seconds)
{
    metric->amount += seconds;
    metric->count++;
    for (size_t i = 0; i < BOUND_COUNT; i++)
        if (seconds <= bounds[i])
            metric->buckets[i]++;
}

// --- writing -------------------------------------------------------------------------------------

static void write_sample(struct buffer *out, const struct mcp_metric *metric, const char *suffix,
                         const char *more, double amount)
{
    buffer_append_format(out, "%s%s", metric->name, suffix);
    if (metric->label[0] || more[0])
        buffer_append_format(out, "{%s%s%s}", metric->label, metric->label[0] && more[0] ? "," : "",
                             more);
    buffer_append_format(
        out, amount == floor(amount) && fabs(amount) < 1e15 ? " %.0f\n" : " %.9g\n", amount);
}

static void write_histogram(struct buffer *out, const struct mcp_metric *metric)
{
    char bound[32];
    for (size_t i = 0; i < BOUND_COUNT; i++) {
        snprintf(bound, sizeof(bound), "le=\"%g\"", bounds[i]);
        write_sample(out, metric, "_bucket", bound, (double)metric->buckets[i]);
    }
    write_sample(out, metric, "_bucket", "le=\"+Inf\"", (double)metric->count);
    write_sample(out, metric, "_sum", "", metric->amount);
    write_sample(out, metric, "_count", "", (double)metric->count);
}

void metrics_write(struct metrics *metrics, struct buffer *out)
{
    static const char *const kinds[] = {"counter", "gauge", "histogram"};
    for (size_t i = 0; i < metrics->collector_count; i++)
        metrics->collectors[i].collect(metrics->collectors[i].data);
    const char *family = "";
    const struct mcp_metric *metric;
    STAILQ_FOREACH (metric, &metrics->list, link) {
        if (strcmp(family, metric->name) != 0)
            buffer_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help,
                                 metric->name, kinds[metric->kind]);
        family = metric->name;
        if (metric->kind == MCP_HISTOGRAM)
            write_histogram(out, metric);
        else
            write_sample(out, metric, "", "", metric->amount);
    }
}

void metrics_count_call(struct mcp_server *server, const struct mcp_call *call, bool failed)
{
    char label[160];
    snprintf(label, sizeof(label), "method=\"%s\",outcome=\"%s\"",
             call->method ? call->method->name : "unknown", failed ? "error" : "result");
    mcp_metric_add(mcp_server_add_metric(server, MCP_COUNTER, "mcp_requests_total", label,
                                         "MCP requests answered, by method and outcome"),
                   1);
    if (call->method && call->state != CALL_LISTENING)
        mcp_metric_observe(mcp_server_add_metric(server, MCP_HISTOGRAM, "mcp_request_seconds", NULL,
                                                 "Time from reading a request to its answer"),
                           (double)(clock_now_ns() - call->started_ns) / 1e9);
}
