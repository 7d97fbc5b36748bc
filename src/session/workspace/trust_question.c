#include "session/workspace/trust_question.h"

#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "session/workspace/trust.h"
#include "session/workspace/trust_record.h"
#include "value/text/json.h"

_Static_assert(TRUST_DIGEST_SIZE == 2 * crypto_generichash_BYTES + 1, "a digest is a hash");

enum { SHOWN_FILES = 12, SHOWN_NAME = 100 };

// Files in the order of the question; all others are programs.
static const struct {
    const char *name, *meaning;
} meanings[] = {
    {".cadre/config.json", "systems to load when a session starts, and settings, which count when "
                           "Cadre starts next"},
    {".cadre/init.lisp", "code that runs when a session starts"},
    {".mcp.json", "MCP servers, which are started when Cadre starts next"},
};
static const char servers_file[] = ".mcp.json";

static const char *meaning_of(struct span name)
{
    for (size_t i = 0; i < COUNT_OF(meanings); i++)
        if (span_equal_text(name, meanings[i].name))
            return meanings[i].meaning;
    return "a program that can be called by name";
}

// The names were chosen by whoever wrote the repository: they must not look like more of the question.
static void append_name(struct buffer *text, struct span name)
{
    size_t shown = name.length > SHOWN_NAME ? utf8_cut(name.data, SHOWN_NAME) : name.length;
    utf8_append_visible(text, (struct span){name.data, shown});
    if (shown < name.length)
        buffer_append_text(text, "...");
}

static value without_servers(struct region *region, value names)
{
    value kept = vector_new(region, vector_count(names));
    for (size_t i = 0; i < vector_count(names); i++)
        if (!span_equal_text(value_text(vector_at(names, i)), servers_file))
            kept = vector_push(region, kept, value_retain(vector_at(names, i)));
    return kept;
}

struct inquiry {
    struct region *region;
    struct trust_record record;
    value names, hashes;
};

static bool inquire(struct inquiry *inquiry, const char *workspace, bool with_servers,
                    struct error *error)
{
    struct region *region = inquiry->region;
    if (!utf8_is_valid(workspace, strlen(workspace)))
        return error_set(error, ERROR_ENCODING, "the name of the directory is not UTF-8");
    if (!trust_files(region, workspace, &inquiry->names, error))
        return false;
    if (!with_servers)
        inquiry->names = without_servers(region, inquiry->names);
    return trust_hash_files(region, workspace, inquiry->names, &inquiry->hashes, error) &&
           trust_record_read(region, &inquiry->record, error);
}

static void make_digest(value hashes, char ret_digest[TRUST_DIGEST_SIZE])
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, hashes, JSON_SORTED, NULL);
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash(hash, sizeof(hash), (const unsigned char *)text.data, text.length, NULL, 0);
    sodium_bin2hex(ret_digest, TRUST_DIGEST_SIZE, hash, sizeof(hash));
}

static void append_file(struct buffer *text, struct span name, bool has_changed)
{
    buffer_append_text(text, "\n- ");
    append_name(text, name);
    buffer_append_format(text, "%s: %s", has_changed ? " (changed since it was trusted)" : "",
                         meaning_of(name));
}

static struct span hash_in(value hashes, value name)
{
    value hash = value_nil();
    return value_is_map(hashes) && map_find(hashes, name, &hash) && value_is_string(hash)
               ? value_text(hash)
               : (struct span){0};
}

// Appends the files that are to be asked about, and says how many they are.
static size_t append_files(const struct inquiry *inquiry, const char *workspace,
                           struct buffer *text)
{
    value trusted = map_get(inquiry->record.trusted, workspace);
    value declined = map_get(inquiry->record.declined, workspace);
    size_t count = 0;
    for (size_t i = 0; i < vector_count(inquiry->names); i++) {
        value name = vector_at(inquiry->names, i);
        struct span hash = hash_in(inquiry->hashes, name), before = hash_in(trusted, name);
        if (hash.length == 0 || span_equal(hash, before) ||
            span_equal(hash, hash_in(declined, name)))
            continue;
        if (count++ < SHOWN_FILES)
            append_file(text, value_text(name), before.length > 0);
    }
    if (count > SHOWN_FILES)
        buffer_append_format(text, "\n- and %zu more", count - SHOWN_FILES);
    return count;
}

static void write_question(const struct inquiry *inquiry, const char *workspace,
                           struct trust_question *question)
{
    struct buffer *text = &question->text;
    make_digest(inquiry->hashes, question->digest);
    buffer_append_text(text, "Trust the files of the workspace ");
    append_name(text, span_from(workspace));
    buffer_append_text(text, " as they are now? Read them first. They decide:");
    if (append_files(inquiry, workspace, text) == 0)
        buffer_clear(text);
}

bool trust_question_read(const char *workspace, bool with_servers,
                         struct trust_question *ret_question, struct error *error)
{
    *ret_question = (struct trust_question){0};
    buffer_init(&ret_question->text, BUFFER_DEFAULT_LIMIT);
    struct inquiry inquiry = {.region = region_new(SIZE_MAX)};
    bool ok = inquire(&inquiry, workspace, with_servers, error);
    if (ok)
        write_question(&inquiry, workspace, ret_question);
    region_free(inquiry.region);
    return ok;
}

// What was said of other files of the workspace (.mcp.json) stays.
static value put_hashes(struct region *region, value workspaces, const char *workspace,
                        value hashes)
{
    value present = map_get(workspaces, workspace), name, hash;
    value files = value_is_map(present) ? value_retain(present) : map_new(region);
    struct map_cursor cursor = map_iterate(hashes);
    while (map_next(&cursor, &name, &hash))
        files = map_put(region, files, value_retain(name), value_retain(hash));
    return map_put_text(region, workspaces, workspace, files);
}

static bool record_answer(struct inquiry *inquiry, const char *workspace, const char *digest,
                          bool is_trusted, struct error *error)
{
    char now[TRUST_DIGEST_SIZE];
    make_digest(inquiry->hashes, now);
    if (strcmp(now, digest) != 0)
        return error_set(error, ERROR_INVALID, "the files have changed since the question");
    struct trust_record *record = &inquiry->record;
    value *part = is_trusted ? &record->trusted : &record->declined;
    *part = put_hashes(inquiry->region, *part, workspace, inquiry->hashes);
    return trust_record_write(inquiry->region, record, error);
}

bool trust_question_answer(const char *workspace, bool with_servers, const char *digest,
                           bool is_trusted, struct error *error)
{
    int lock = trust_record_lock(error);
    if (lock < 0)
        return false;
    struct inquiry inquiry = {.region = region_new(SIZE_MAX)};
    bool ok = inquire(&inquiry, workspace, with_servers, error) &&
              record_answer(&inquiry, workspace, digest, is_trusted, error);
    region_free(inquiry.region);
    close(lock);
    return ok;
}
