#include "tools/program/catalogue.h"

#include <string.h>

#include "base/memory.h"
#include "signature/signature.h"
#include "tools/program/toolbox_upstream.h"

enum {
    SIGNATURE_CHARACTERS = 160,
    OVERHEAD = 200,
    GROUP_OVERHEAD = UPSTREAM_NAME_MAX + 8,  // the name before its tools
    ROOM_LEAST = 2 * UPSTREAM_NAME_MAX,      // for tools, however many groups there are
};

// A server, or the local tools; what is shown of it is a beginning of its list.
struct group {
    const struct upstream_server *server;  // NULL: the local tools
    size_t count;
    size_t shown;
};

struct catalogue {
    const struct toolbox *toolbox;
    struct group *groups;
    size_t count;
    size_t shown, total;
};

// Only the inputs; long ones are left to list-program-tools. Names of fields are plain, texts in
// signatures are quoted, so that nothing here ends a line.
static struct span short_signature(const char *signature)
{
    if (!signature)
        return SPAN("");
    struct span inputs = signature_inputs_text(span_from(signature));
    if (span_equal_text(inputs, "()"))
        return SPAN("");
    return inputs.length > SIGNATURE_CHARACTERS ? SPAN(" (…)") : inputs;
}

static void append_tool(struct buffer *out, const char *name, const char *signature)
{
    struct span inputs = short_signature(signature);
    buffer_append_text(out, name);
    if (inputs.length && inputs.data[0] == '(')
        buffer_append_byte(out, ' ');
    buffer_append_span(out, inputs);
}

static void append_local(struct buffer *out, const struct toolbox_tool *tool)
{
    value signature = map_get(tool->record, "signature");
    const char *text = tool->cache ? tool->cache->signature : NULL;
    CLEANUP_FREE char *own =
        value_is_string(signature)
            ? memory_copy_text(value_text(signature).data, value_text(signature).length)
            : NULL;
    append_tool(out, tool->name, own ? own : text);
}

static void append_entry(struct buffer *out, const struct catalogue *catalogue,
                         const struct group *group, size_t index)
{
    if (!group->server) {
        append_local(out, toolbox_at(catalogue->toolbox, index));
        return;
    }
    const struct upstream_tool *tool = &upstream_catalog(group->server)->tools[index];
    append_tool(out, tool->program_name, tool->signature);
}

// Each group in turn shows one more, until the next would not fit.
static void choose(struct catalogue *catalogue)
{
    size_t room = CATALOGUE_CHARACTERS - OVERHEAD;
    for (size_t i = 0; i < catalogue->count; i++)
        room -= room > ROOM_LEAST ? GROUP_OVERHEAD : 0;
    CLEANUP_BUFFER struct buffer entry;
    buffer_init(&entry, BUFFER_DEFAULT_LIMIT);
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (size_t i = 0; i < catalogue->count; i++) {
            struct group *group = &catalogue->groups[i];
            if (group->shown == group->count)
                continue;
            buffer_clear(&entry);
            append_entry(&entry, catalogue, group, group->shown);
            if (entry.length + 2 > room)
                return;
            room -= entry.length + 2;
            group->shown++;
            catalogue->shown++;
            goes_on = true;
        }
    }
}

static void append_group(struct buffer *out, const struct catalogue *catalogue,
                         const struct group *group)
{
    char name[TOOLBOX_NAMESPACE_SIZE] = "tool";
    if (group->server)
        toolbox_upstream_namespace(group->server, name);
    buffer_append_format(out, "\n%s/: ", name);
    for (size_t i = 0; i < group->shown; i++) {
        buffer_append_text(out, i ? ", " : "");
        append_entry(out, catalogue, group, i);
    }
    if (group->shown < group->count)
        buffer_append_format(out, "%s… %zu more", group->shown ? ", " : "",
                             group->count - group->shown);
    if (group->server && !upstream_is_ready(group->server))
        buffer_append_text(out, upstream_failure(group->server) ? "(failed)" : "(starting)");
}

void catalogue_append(struct buffer *out, const struct toolbox *toolbox)
{
    struct upstreams *upstreams = toolbox_upstreams(toolbox);
    size_t servers = upstreams_count(upstreams);
    struct catalogue catalogue = {.toolbox = toolbox};
    CLEANUP_FREE struct group *groups = memory_alloc_zero((servers + 1) * sizeof(*groups));
    catalogue.groups = groups;
    if (toolbox_count(toolbox) > 0)
        groups[catalogue.count++] = (struct group){.count = toolbox_count(toolbox)};
    for (size_t i = 0; i < servers; i++) {
        const struct upstream_server *server = upstreams_at(upstreams, i);
        groups[catalogue.count++] =
            (struct group){.server = server, .count = upstream_catalog(server)->count};
    }
    for (size_t i = 0; i < catalogue.count; i++)
        catalogue.total += groups[i].count;
    if (catalogue.count == 0)
        return;
    choose(&catalogue);
    buffer_append_text(out, "\nTools");
    if (catalogue.shown < catalogue.total)
        buffer_append_format(
            out, " (%zu of %zu; (tool/search \"words\") or list-program-tools finds the others)",
            catalogue.shown, catalogue.total);
    buffer_append_byte(out, ':');
    for (size_t i = 0; i < catalogue.count; i++)
        append_group(out, &catalogue, &groups[i]);
}
