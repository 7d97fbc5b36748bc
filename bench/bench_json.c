// Speed of reading JSON: a file of 10,000 records, read again and again into a warm region.
//     bench_json [FILE]      prints the size, the median time and GB/s, with borrowed and copied strings
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "value/text/json.h"

enum { RECORDS = 10000, ROUNDS = 41 };

// Records as they come out of shops and logs: short and long strings, integers, prices, a small array,
// a nested object.
static void make_records(struct buffer *text)
{
    static const char *const cities[] = {"Stockholm", "Göteborg", "Berlin", "Paris", "Lisboa"};
    static const char *const states[] = {"active", "pending", "closed"};
    uint32_t state = 12345;
    buffer_append_byte(text, '[');
    for (int i = 0; i < RECORDS; i++) {
        state = state * 1664525 + 1013904223;
        buffer_append_format(
            text,
            "%s{\"id\":%d,\"name\":\"Customer number %d\",\"email\":\"customer%d@example.com\","
            "\"city\":\"%s\",\"status\":\"%s\",\"total\":%u.%02u,\"items\":[%u,%u,%u],"
            "\"address\":{\"street\":\"%u Long Street\",\"zip\":\"%05u\",\"country\":\"SE\"},"
            "\"note\":\"the quick brown fox jumps over the lazy dog\",\"vip\":%s}",
            i ? ",\n" : "", i, i, i, cities[state % 5], states[state / 7 % 3], state % 10000,
            state % 100, state % 10, state % 100, state % 1000, state % 500, state % 100000,
            state & 64 ? "true" : "false");
    }
    buffer_append_byte(text, ']');
}

static bool load(const char *path, struct buffer *text)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    char block[65536];
    size_t length;
    while ((length = fread(block, 1, sizeof(block), file)) > 0)
        buffer_append(text, block, length);
    fclose(file);
    return !text->failed;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void measure(const char *label, struct span text, const struct json_options *options)
{
    struct region *region = region_new(SIZE_MAX);
    int64_t times[ROUNDS];
    size_t live = 0;
    for (int round = 0; round < ROUNDS; round++) {
        region_clear(region);
        int64_t start = clock_now_ns();
        value v;
        struct error error;
        if (!json_read(region, text, options, &v, &error)) {
            fprintf(stderr, "bench_json: %u:%u: %s\n", error.line, error.column, error.message);
            exit(EXIT_FAILURE);
        }
        times[round] = clock_now_ns() - start;
        live = region->live;
    }
    qsort(times, ROUNDS, sizeof(*times), compare_times);
    int64_t median = times[ROUNDS / 2];
    printf("%-9s %8zu bytes  median %7.3f ms  best %7.3f ms  %.2f GB/s  (%zu bytes of values)\n",
           label, text.length, (double)median / 1e6, (double)times[0] / 1e6,
           (double)text.length / (double)median, live);
    region_free(region);
}

int main(int argc, char **argv)
{
    CLEANUP_BUFFER struct buffer text = {.limit = BUFFER_DEFAULT_LIMIT};
    if (argc > 1 && !load(argv[1], &text)) {
        fprintf(stderr, "bench_json: cannot read %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    if (argc <= 1)
        make_records(&text);
    measure("borrowed", buffer_span(&text), &(struct json_options){.borrow = true});
    measure("immortal", buffer_span(&text),
            &(struct json_options){.borrow = true, .immortal = true});
    measure("copied", buffer_span(&text), &(struct json_options){0});
    return EXIT_SUCCESS;
}
