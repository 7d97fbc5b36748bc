#include "session/journal/journal_export.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/memory.h"
#include "session/journal/journal_forms.h"

// --- the current state ---------------------------------------------------------------------------

static bool is_event(value entry, const char *name)
{
    return span_equal_text(map_get_string(entry, "event"), name);
}

static value find_started(value entries, int64_t evaluation)
{
    for (size_t i = vector_count(entries); i > 0; i--) {
        value entry = vector_at(entries, i - 1);
        if (map_get_integer(entry, "evaluation", -1) == evaluation && is_event(entry, "started"))
            return entry;
    }
    return value_nil();
}

// The evaluation whose state is current, as far as the journal knows.
static int64_t find_current(value entries)
{
    int64_t current = 0;
    for (size_t i = 0; i < vector_count(entries); i++) {
        value entry = vector_at(entries, i);
        if (!is_event(entry, "started"))
            current = map_get_integer(entry, "evaluation", current);
    }
    return current;
}

// The entries of the evaluations that the state after evaluation `at` is made of, oldest first.
static value collect_lineage(struct region *region, value entries, int64_t at)
{
    value newest_first = vector_new(region, 0), result = vector_new(region, 0);
    for (size_t i = 0; at > 0 && i < vector_count(entries); i++) {
        value entry = find_started(entries, at);
        if (!value_is_map(entry))
            break;
        newest_first = vector_push(region, newest_first, value_retain(entry));
        int64_t parent = map_get_integer(entry, "parent", 0);
        at = parent < at ? parent : 0;
    }
    for (size_t i = vector_count(newest_first); i > 0; i--)
        result = vector_push(region, result, value_retain(vector_at(newest_first, i - 1)));
    return result;
}

// --- definitions ---------------------------------------------------------------------------------

// A map from "PACKAGE KEY" to {package, text}, which keeps the order of first appearance in `order`.
struct definitions {
    struct region *region;
    value order;  // vector of keys
    value by_key;
    value packages;  // texts of defpackage forms, by name
    value systems;   // texts
    bool is_other;   // the last code had something that is no definition
    value skipped;   // entries of which that is true
};

static bool names_operator(struct span form, const char *name)
{
    struct span found = export_operator(form);
    return found.length == strlen(name) && strncasecmp(found.data, name, found.length) == 0;
}

static void add(struct definitions *all, value *order, const char *package, struct span key,
                struct span form)
{
    struct region *region = all->region;
    CLEANUP_FREE char *name = memory_format("%s %.*s", package, (int)key.length, key.data);
    for (char *c = name; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    value known;
    if (!map_find_text(all->by_key, name, &known))
        *order = vector_push(region, *order, value_string_text(region, name));
    value item = map_put_text(region, map_new(region), "package",
                              value_string_format(region, "%s", package));
    item = map_put_text(region, item, "text", value_string(region, form));
    all->by_key = map_put_text(region, all->by_key, name, item);
}

// What stands between the operator of a form and its end.
static struct span body_of(struct span form)
{
    struct span head = export_operator(form);
    size_t start = (size_t)(head.data + head.length - form.data);
    return (struct span){form.data + start, form.length > start ? form.length - start - 1 : 0};
}

// The package that an in-package form names: a symbol, keyword or string.
static char *named_package(struct span form)
{
    struct span rest = body_of(form), name;
    if (!export_next_form(&rest, &name))
        return NULL;
    bool is_string = name.length >= 2 && name.data[0] == '"';
    if (is_string)
        name = (struct span){name.data + 1, name.length - 2};
    while (!is_string && name.length > 0 && (name.data[0] == '#' || name.data[0] == ':'))
        name = (struct span){name.data + 1, name.length - 1};
    char *text = memory_copy_text(name.data, name.length);
    for (char *c = text; *c && !is_string; c++)
        *c = ascii_to_upper(*c);
    return text;
}

static void change_package(char **current, struct span form)
{
    char *named = named_package(form);
    if (!named)
        return;
    memory_free(*current);
    *current = named;
}

// `*next` is the package of what is read after the form.
static void add_form(struct definitions *all, const char *package, struct span form, char **next)
{
    struct span key;
    if (names_operator(form, "in-package")) {
        change_package(next, form);
    } else if (names_operator(form, "progn")) {
        // It is read as a whole: its forms are in the package before it.
        struct span body = body_of(form), inner;
        while (export_next_form(&body, &inner))
            add_form(all, package, inner, next);
    } else if (names_operator(form, "defpackage")) {
        add(all, &all->packages, "", form, form);
    } else if (names_operator(form, "require") || names_operator(form, "load-system") ||
               names_operator(form, "quickload")) {
        add(all, &all->systems, "", form, form);
    } else if (export_definition_key(form, &key)) {
        add(all, &all->order, package, key, form);
    } else {
        all->is_other = true;
    }
}

static void add_code(struct definitions *all, struct span package, struct span code)
{
    CLEANUP_FREE char *current = memory_copy_text(package.data, package.length);
    struct span form;
    while (export_next_form(&code, &form)) {
        CLEANUP_FREE char *before = memory_copy_string(current);
        add_form(all, before, form, &current);
    }
}

static void add_entry(struct definitions *all, value entry)
{
    value request = map_get(entry, "request");
    struct span op = map_get_string(request, "op");
    struct span system = map_get_string(request, "system");
    if (span_equal_text(op, "load-system") && system.length > 0) {
        CLEANUP_FREE char *form =
            memory_format("(asdf:load-system \"%.*s\")", (int)system.length, system.data);
        add(all, &all->systems, "", span_from(form), span_from(form));
    } else {
        add_code(all, map_get_string(entry, "package"), map_get_string(request, "code"));
    }
}

static void write_forms(struct buffer *text, const struct definitions *all, value order,
                        bool with_packages, bool guarded)
{
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, 1024);
    for (size_t i = 0; i < vector_count(order); i++) {
        value item = map_get(all->by_key, "");
        map_find(all->by_key, vector_at(order, i), &item);
        struct span package = map_get_string(item, "package");
        bool differs = package.length != last.length ||
                       memcmp(package.data, buffer_text(&last), last.length) != 0;
        if (with_packages && package.length > 0 && differs) {
            buffer_append_format(text, "\n(in-package \"%.*s\")\n", (int)package.length,
                                 package.data);
            buffer_clear(&last);
            buffer_append_span(&last, package);
        }
        buffer_append_text(text, guarded ? "\n(cl:ignore-errors\n" : "\n");
        buffer_append_span(text, map_get_string(item, "text"));
        buffer_append_text(text, guarded ? "\n)\n" : "\n");
    }
}

static struct definitions collect(struct region *region, value entries, int64_t state)
{
    struct definitions all = {.region = region,
                              .order = vector_new(region, 0),
                              .by_key = map_new(region),
                              .packages = vector_new(region, 0),
                              .systems = vector_new(region, 0),
                              .skipped = vector_new(region, 0)};
    value lineage = collect_lineage(region, entries, state);
    for (size_t i = 0; i < vector_count(lineage); i++) {
        value entry = vector_at(lineage, i);
        all.is_other = false;
        add_entry(&all, entry);
        if (all.is_other)
            all.skipped = vector_push(region, all.skipped, value_retain(entry));
    }
    return all;
}

size_t export_definitions(struct buffer *text, struct region *region, value entries, int64_t state,
                          bool guarded, value *ret_skipped)
{
    struct definitions all = collect(region, entries, state < 0 ? find_current(entries) : state);
    write_forms(text, &all, all.packages, false, guarded);
    write_forms(text, &all, all.systems, false, guarded);
    write_forms(text, &all, all.order, true, guarded);
    *ret_skipped = all.skipped;
    return vector_count(all.packages) + vector_count(all.systems) + vector_count(all.order);
}

void export_lisp(struct buffer *text, const char *session, value entries)
{
    struct region *region = region_new(SIZE_MAX);
    struct definitions all = collect(region, entries, find_current(entries));
    buffer_append_format(text, ";;;; The definitions of the Cadre session %s.\n", session);
    if (vector_count(all.systems) > 0)
        buffer_append_text(text, "\n(require :asdf)\n");
    write_forms(text, &all, all.packages, false, false);
    write_forms(text, &all, all.systems, false, false);
    write_forms(text, &all, all.order, true, false);
    region_free(region);
}

// --- the transcript ------------------------------------------------------------------------------

static value find_completed(value entries, size_t from, int64_t evaluation)
{
    for (size_t i = from; i < vector_count(entries); i++) {
        value entry = vector_at(entries, i);
        if (map_get_integer(entry, "evaluation", -1) == evaluation && is_event(entry, "completed"))
            return entry;
    }
    return value_nil();
}

static void write_evaluation(struct buffer *text, value entries, size_t index)
{
    value entry = vector_at(entries, index);
    value request = map_get(entry, "request");
    int64_t number = map_get_integer(entry, "evaluation", 0);
    value completed = find_completed(entries, index, number);
    struct span client = map_get_string(entry, "client");
    struct span code = map_get_string(request, "code");
    char time[CLOCK_ISO_SIZE];
    clock_format_iso(map_get_integer(entry, "time", 0), time);
    buffer_append_format(text, "\n## %lld: %s%s%.*s\n\n", (long long)number, time,
                         client.length ? ", " : "", (int)client.length, client.data);
    if (code.length == 0)
        code = map_get_string(request, "op");
    buffer_append_format(text, "```lisp\n%.*s\n```\n\n", (int)code.length, code.data);
    struct span outcome = map_get_string(completed, "outcome");
    if (value_is_map(completed))
        buffer_append_format(text, "```\n%.*s\n```\n", (int)outcome.length, outcome.data);
    else
        buffer_append_text(text, "It was not completed.\n");
}

void export_transcript(struct buffer *text, const char *session, value entries)
{
    buffer_append_format(text, "# Session %s\n", session);
    for (size_t i = 0; i < vector_count(entries); i++) {
        value entry = vector_at(entries, i);
        if (is_event(entry, "started"))
            write_evaluation(text, entries, i);
        else if (is_event(entry, "rollback"))
            buffer_append_format(text, "\nRolled back to the state after evaluation %lld.\n",
                                 (long long)map_get_integer(entry, "evaluation", 0));
        else if (is_event(entry, "forked"))
            buffer_append_format(text, "\nForked: the above is of the session it came from.\n");
        else if (is_event(entry, "reset"))
            buffer_append_text(text, "\nReset.\n");
    }
}
