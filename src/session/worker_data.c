#include "session/worker_data.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/utf8.h"

// --- the form of a RESULT ------------------------------------------------------------------------

enum kind { ANY, TEXT, INTEGER, BOOLEAN, OBJECT, TEXTS, OBJECTS };

enum { NESTING_MAX = 8 };

// By name: a name means the same in all operations. A few mean another thing in the result itself
// than in the objects inside it.
struct rule {
    const char *name;
    enum kind outside;
    enum kind inside;
};

static const struct rule rules[] = {
    // sorted
    {"aborted", BOOLEAN, BOOLEAN},
    {"adoptable", BOOLEAN, BOOLEAN},
    {"allocation", TEXT, TEXT},
    {"arglist", TEXT, TEXT},
    {"arguments", TEXTS, TEXTS},
    {"author", TEXT, TEXT},
    {"bytes", INTEGER, INTEGER},
    {"call", TEXT, TEXT},
    {"callers", OBJECTS, OBJECTS},
    {"callers_total", INTEGER, INTEGER},
    {"calls", OBJECTS, OBJECTS},
    {"category", TEXT, TEXT},
    {"cause", TEXT, TEXT},
    {"changed", BOOLEAN, BOOLEAN},
    {"changed_files", TEXTS, TEXTS},
    {"class", OBJECT, OBJECT},
    {"classes", TEXTS, TEXTS},
    {"code", TEXT, TEXT},
    {"collections", INTEGER, INTEGER},
    {"column", INTEGER, INTEGER},
    {"completions", TEXTS, TEXTS},
    {"components", TEXTS, TEXTS},
    {"count", INTEGER, INTEGER},
    {"data", TEXT, TEXT},
    {"definitions", OBJECTS, OBJECTS},
    {"depends_on", TEXTS, TEXTS},
    {"depth", INTEGER, INTEGER},
    {"description", TEXT, TEXT},
    {"direct_slots", OBJECTS, OBJECTS},
    {"direct_subclasses", TEXTS, TEXTS},
    {"direct_superclasses", TEXTS, TEXTS},
    {"directories", TEXTS, TEXTS},
    {"documentation", TEXT, TEXT},
    {"error", OBJECT, OBJECT},
    {"errors", OBJECTS, OBJECTS},
    {"expanded", BOOLEAN, BOOLEAN},
    {"expansion", TEXT, TEXT},
    {"file", TEXT, TEXT},
    {"files_compiled", INTEGER, INTEGER},
    {"finalized", BOOLEAN, BOOLEAN},
    {"form", TEXT, INTEGER},
    {"forms", INTEGER, INTEGER},
    {"found", BOOLEAN, BOOLEAN},
    {"frame", INTEGER, INTEGER},
    {"frame_count", INTEGER, INTEGER},
    {"frames", OBJECTS, OBJECTS},
    {"from", INTEGER, INTEGER},
    {"function", TEXT, TEXT},
    {"functions", OBJECTS, OBJECTS},
    {"gc_count", INTEGER, INTEGER},
    {"gc_us", INTEGER, INTEGER},
    {"generations", OBJECTS, OBJECTS},
    {"generic_function", TEXT, TEXT},
    {"heap_bytes", INTEGER, INTEGER},
    {"hint", TEXT, TEXT},
    {"inherited_slots", TEXTS, TEXTS},
    {"initargs", TEXTS, TEXTS},
    {"initform", TEXT, TEXT},
    {"invoked", BOOLEAN, BOOLEAN},
    {"kind", TEXT, TEXT},
    {"kinds", TEXTS, TEXTS},
    {"lambda_list", TEXT, TEXT},
    {"library_summary", TEXT, TEXT},
    {"license", TEXT, TEXT},
    {"line", INTEGER, INTEGER},
    {"lisp_type", TEXT, TEXT},
    {"listed", OBJECTS, OBJECTS},
    {"live_bytes", INTEGER, INTEGER},
    {"load", BOOLEAN, BOOLEAN},
    {"loaded", BOOLEAN, BOOLEAN},
    {"locals", OBJECTS, OBJECTS},
    {"machinery", BOOLEAN, BOOLEAN},
    {"macros", OBJECTS, OBJECTS},
    {"matches", OBJECTS, OBJECTS},
    {"message", TEXT, TEXT},
    {"metaclass", TEXT, TEXT},
    {"methods", OBJECTS, OBJECTS},
    {"methods_total", INTEGER, INTEGER},
    {"more", INTEGER, INTEGER},
    {"name", TEXT, TEXT},
    {"no_values", BOOLEAN, BOOLEAN},
    {"notes", OBJECTS, OBJECTS},
    {"notices", TEXTS, TEXTS},
    {"number", INTEGER, INTEGER},
    {"nursery_bytes", INTEGER, INTEGER},
    {"object", OBJECT, OBJECT},
    {"ok", BOOLEAN, BOOLEAN},
    {"op", TEXT, TEXT},
    {"origin", TEXT, TEXT},
    {"origins", OBJECTS, OBJECTS},
    {"package", TEXT, TEXT},
    {"package_label", TEXT, TEXT},
    {"packages", TEXTS, TEXTS},
    {"page_faults", INTEGER, INTEGER},
    {"parameters", OBJECTS, OBJECTS},
    {"parts", OBJECTS, OBJECTS},
    {"path", TEXT, TEXT},
    {"phase", TEXT, TEXT},
    {"postmortem", INTEGER, INTEGER},
    {"precedence", TEXTS, TEXTS},
    {"qualifiers", TEXTS, TEXTS},
    {"readers", TEXTS, TEXTS},
    {"real_us", INTEGER, INTEGER},
    {"reason", TEXT, TEXT},
    {"references", OBJECTS, OBJECTS},
    {"references_total", INTEGER, INTEGER},
    {"restart", TEXT, TEXT},
    {"restartable", BOOLEAN, BOOLEAN},
    {"restarts", OBJECTS, OBJECTS},
    {"result_lisp_type", TEXT, TEXT},
    {"result_type", TEXT, TEXT},
    {"returned", BOOLEAN, BOOLEAN},
    {"rollback", OBJECT, OBJECT},
    {"run", INTEGER, INTEGER},
    {"run_us", INTEGER, INTEGER},
    {"samples", INTEGER, INTEGER},
    {"shown", OBJECTS, OBJECTS},
    {"slots", TEXTS, OBJECTS},
    {"source", TEXT, TEXT},
    {"source_file", TEXT, TEXT},
    {"specializers", TEXTS, TEXTS},
    {"state", OBJECT, OBJECT},
    {"superclasses", TEXTS, TEXTS},
    {"symbol", TEXT, TEXT},
    {"system", TEXT, TEXT},
    {"systems", TEXTS, TEXTS},
    {"table", TEXT, TEXT},
    {"tested", BOOLEAN, BOOLEAN},
    {"text", TEXT, TEXT},
    {"thread", TEXT, TEXT},
    {"thread_errors", OBJECTS, OBJECTS},
    {"threads", TEXTS, TEXTS},
    {"timing", OBJECT, OBJECT},
    {"total", INTEGER, INTEGER},
    {"type", TEXT, TEXT},
    {"type_qualified", TEXT, TEXT},
    {"unavailable", TEXTS, TEXTS},
    {"up_to_date", BOOLEAN, BOOLEAN},
    {"value", ANY, TEXT},
    {"values", TEXTS, TEXTS},
    {"values_cut", TEXT, TEXT},
    {"values_omitted", INTEGER, INTEGER},
    {"values_stopped", BOOLEAN, BOOLEAN},
    {"variables", OBJECTS, OBJECTS},
    {"version", TEXT, TEXT},
    {"warnings", OBJECTS, OBJECTS},
    {"warnings_omitted", INTEGER, INTEGER},
    {"writers", TEXTS, TEXTS},
};

enum { RULE_COUNT = COUNT_OF(rules) };

static int compare_name(const void *key, const void *element)
{
    const struct span *name = key;
    const struct rule *rule = element;
    size_t length = strlen(rule->name);
    int order = memcmp(name->data, rule->name, name->length < length ? name->length : length);
    return order ? order : (name->length > length) - (name->length < length);
}

static const struct rule *rule_find(value key)
{
    if (!value_is_string(key))
        return NULL;
    struct span name = value_text(key);
    return bsearch(&name, rules, RULE_COUNT, sizeof(*rules), compare_name);
}

static bool object_fits(value object, unsigned depth);

static bool all_fit(value items, enum kind kind, unsigned depth)
{
    if (!value_is_vector(items))
        return false;
    for (size_t i = 0; i < vector_count(items); i++) {
        value item = vector_at(items, i);
        if (kind == TEXT ? !value_is_string(item) : !object_fits(item, depth + 1))
            return false;
    }
    return true;
}

static bool item_fits(value item, enum kind kind, unsigned depth)
{
    if (value_is_nil(item))
        return true;  // as if it were absent
    switch (kind) {
    case ANY: return true;
    case TEXT: return value_is_string(item);
    case INTEGER: return item.tag == VALUE_INTEGER;
    case BOOLEAN: return item.tag == VALUE_BOOLEAN;
    case OBJECT: return object_fits(item, depth + 1);
    case TEXTS: return all_fit(item, TEXT, depth);
    case OBJECTS: return all_fit(item, OBJECT, depth);
    }
    UNREACHABLE();
}

static bool object_fits(value object, unsigned depth)
{
    if (!value_is_map(object) || depth > NESTING_MAX)
        return false;
    struct map_cursor cursor = map_iterate(object);
    value key, item;
    while (map_next(&cursor, &key, &item)) {
        const struct rule *rule = rule_find(key);
        if (rule && !item_fits(item, depth ? rule->inside : rule->outside, depth))
            return false;
    }
    return true;
}

// One that does not say whether it succeeded, or why it failed, was not written by the agent.
bool result_is_well_formed(value result)
{
    if (!object_fits(result, 0))
        return false;
    value ok = map_get(result, "ok");
    return ok.tag == VALUE_BOOLEAN && (ok.boolean || value_is_map(map_get(result, "error")));
}

// --- importing -----------------------------------------------------------------------------------

static value import_text(struct region *region, value text, size_t max)
{
    struct span bytes = value_text(text);
    if (max == 0)
        max = IMPORT_TEXT_BYTES;
    if (bytes.length > max)
        bytes.length = utf8_cut(bytes.data, max);
    return value_string(region, bytes);
}

static bool member_accepts(const struct import_member *member, value item)
{
    switch (member->kind) {
    case IMPORT_TEXT: return value_is_string(item);
    case IMPORT_INTEGER: return item.tag == VALUE_INTEGER;
    case IMPORT_BOOLEAN: return item.tag == VALUE_BOOLEAN;
    case IMPORT_TEXTS:
    case IMPORT_OBJECTS: return value_is_vector(item);
    }
    UNREACHABLE();
}

value import_texts(struct region *region, value texts, size_t max)
{
    size_t count = value_is_vector(texts) ? vector_count(texts) : 0;
    if (count > max)
        count = max;
    value result = vector_new(region, count);
    for (size_t i = 0; i < count; i++) {
        value text = vector_at(texts, i);
        if (value_is_string(text))
            result = vector_push(region, result, import_text(region, text, 0));
    }
    return result;
}

static value import_objects(struct region *region, value objects,
                            const struct import_member *member)
{
    size_t count = vector_count(objects);
    if (count > member->max)
        count = member->max;
    value result = vector_new(region, count);
    for (size_t i = 0; i < count; i++) {
        value object = vector_at(objects, i);
        if (value_is_map(object))
            result = vector_push(region, result, import_object(region, object, member->items));
    }
    return result;
}

static value import_member(struct region *region, const struct import_member *member, value item)
{
    switch (member->kind) {
    case IMPORT_TEXT: return import_text(region, item, member->max);
    case IMPORT_INTEGER:
    case IMPORT_BOOLEAN: return item;
    case IMPORT_TEXTS: return import_texts(region, item, member->max);
    case IMPORT_OBJECTS: return import_objects(region, item, member);
    }
    UNREACHABLE();
}

value import_object(struct region *region, value object, const struct import_member *members)
{
    value result = map_new(region);
    if (!value_is_map(object))
        return result;
    for (const struct import_member *member = members; member->name; member++) {
        value item;
        if (map_find_text(object, member->name, &item) && member_accepts(member, item))
            result =
                map_put_text(region, result, member->name, import_member(region, member, item));
    }
    return result;
}
