#include "cluster/owners.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cluster/boot_clock.h"
#include "value/text/json.h"

enum { BUCKETS = 4096, RECORD_MAX = 4096 };

struct owners {
    struct bus_subscription *records;
    struct owner *buckets[BUCKETS];
    size_t count;
};

bool cluster_name_valid(struct span name)
{
    if (name.length == 0 || name.length > CLUSTER_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        if (!ascii_is_lower(c) && !ascii_is_digit(c) && !(c >= 'A' && c <= 'Z') && c != '-' &&
            c != '_')
            return false;
    }
    return true;
}

// --- records -------------------------------------------------------------------------------------

bool owner_record_read(struct span text, struct owner_record *ret_record)
{
    struct error error;
    value map;
    struct region *region = region_new(1 << 20);
    bool ok = text.length <= RECORD_MAX && json_read(region, text, NULL, &map, &error) &&
              value_is_map(map);
    struct span node = ok ? map_get_string(map, "node") : SPAN("");
    ok = ok && (node.length == 0 || cluster_name_valid(node));
    if (ok) {
        *ret_record = (struct owner_record){
            .instance = (uint64_t)map_get_integer(map, "instance", 0),
            .epoch = (uint64_t)map_get_integer(map, "epoch", 0),
            .count = (uint64_t)map_get_integer(map, "count", 0),
            .journal = (uint64_t)map_get_integer(map, "journal", 0),
            .images = (uint64_t)map_get_integer(map, "image", 0),
        };
        memcpy(ret_record->node, node.data, node.length);
    }
    region_free(region);
    return ok;
}

char *owner_record_write(const struct owner_record *record)
{
    return memory_format("{\"node\":\"%s\",\"instance\":%" PRIu64 ",\"epoch\":%" PRIu64
                         ",\"count\":%" PRIu64 ",\"journal\":%" PRIu64 ",\"image\":%" PRIu64 "}",
                         record->node, record->instance, record->epoch, record->count,
                         record->journal, record->images);
}

// --- the table -----------------------------------------------------------------------------------

static size_t bucket_of(const char *workspace)
{
    return hash_bytes(workspace, strlen(workspace), 0) % BUCKETS;
}

static struct owner *find(const struct owners *owners, const char *workspace)
{
    struct owner *owner = owners->buckets[bucket_of(workspace)];
    while (owner && strcmp(owner->workspace, workspace) != 0)
        owner = owner->next;
    return owner;
}

const struct owner *owners_find(const struct owners *owners, const char *workspace)
{
    return find(owners, workspace);
}

static struct owner *add(struct owners *owners, const char *workspace)
{
    if (owners->count == OWNERS_MAX)
        return NULL;
    struct owner **bucket = &owners->buckets[bucket_of(workspace)];
    struct owner *owner = memory_alloc_zero(sizeof(*owner));
    owner->workspace = memory_copy_string(workspace);
    owner->next = *bucket;
    *bucket = owner;
    owners->count++;
    return owner;
}

// A record that was seen before says nothing new, and not that the owner lives.
void owners_note(struct owners *owners, const char *workspace, const struct owner_record *record)
{
    struct owner *owner = find(owners, workspace);
    bool is_new =
        !owner || record->epoch > owner->record.epoch ||
        (record->epoch == owner->record.epoch &&
         (record->count > owner->record.count || strcmp(record->node, owner->record.node) != 0));
    if (!owner)
        owner = add(owners, workspace);
    if (!owner || !is_new)
        return;
    owner->record = *record;
    owner->seen_ms = clock_boot_ms();
}

bool owner_is_free(const struct owner *owner)
{
    return !*owner->record.node || clock_boot_ms() - owner->seen_ms > OWNER_FREE_MS;
}

void owners_visit(const struct owners *owners, owners_visit_fn *visit, void *data)
{
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct owner *owner = owners->buckets[i]; owner; owner = owner->next)
            visit(data, owner);
}

static void on_record(void *data, const struct bus_delivery *delivery)
{
    const char *workspace = delivery->subject + sizeof(OWNERS_SUBJECT) - 1;
    struct owner_record record;
    if (cluster_name_valid(span_from(workspace)) && owner_record_read(delivery->body, &record))
        owners_note(data, workspace, &record);
}

struct owners *owners_new(struct bus *bus)
{
    struct owners *owners = memory_alloc_zero(sizeof(*owners));
    owners->records = bus_subscribe(bus, OWNERS_SUBJECT "*", NULL, on_record, owners);
    return owners;
}

void owners_free(struct owners *owners)
{
    if (!owners)
        return;
    bus_unsubscribe(owners->records);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct owner *owner = owners->buckets[i], *next; owner; owner = next) {
            next = owner->next;
            memory_free(owner->workspace);
            memory_free(owner);
        }
    }
    memory_free(owners);
}
