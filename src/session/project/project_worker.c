// `cadre project-worker`: finds out which project core can be used, and puts a new one in its place.
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/private.h"
#include "session/image/image_codec.h"
#include "session/project/project_core.h"
#include "session/workspace/trust.h"
#include "value/text/json.h"

enum { MANIFEST_MAX = 16 << 20, SYSTEMS_MAX = 64, LENGTH_BYTES = 8 };

static const char config_file[] = ".cadre/config.json", init_file[] = ".cadre/init.lisp";

static int fail(const char *what, const char *path)
{
    fprintf(stderr, "%s %s: %s\n", what, path, strerror(errno));
    return 1;
}

static char *copy_span(struct span text)
{
    return memory_copy_text(text.data, text.length);
}

static bool read_object(struct region *region, struct span text, value *ret_object)
{
    struct error error;
    return json_read(region, text, NULL, ret_object, &error) && value_is_map(*ret_object);
}

static value put_string(struct region *region, value map, const char *name, const char *text)
{
    return map_put_text(region, map, name, value_string_format(region, "%s", text));
}

// --- what the workspace wants --------------------------------------------------------------------

static void note(struct region *region, value *answer, const char *name, const char *why)
{
    value notes = value_copy(region, map_get(*answer, "notes"));
    if (!value_is_vector(notes))
        notes = vector_new(region, 2);
    notes =
        vector_push(region, notes, value_string_format(region, "%s is not used: %s", name, why));
    *answer = map_put_text(region, *answer, "notes", notes);
}

// Whether the file is there and trusted; if it is there and is not, the answer says so.
static bool read_trusted(struct region *region, const char *workspace, const char *name,
                         value *answer, struct buffer *ret_content)
{
    struct error error;
    enum trust trust;
    if (!trust_read(workspace, name, ret_content, &trust, &error)) {
        note(region, answer, name, error.message);
        return false;
    }
    if (trust == TRUST_NEVER || trust == TRUST_CHANGED) {
        CLEANUP_FREE char *why = memory_format("%s; cadre trust %s", trust_name(trust), workspace);
        note(region, answer, name, why);
    }
    return trust == TRUST_GIVEN;
}

static value wanted_systems(struct region *region, struct span text)
{
    value object, systems = vector_new(region, 0);
    if (!read_object(region, text, &object))
        return systems;
    value given = map_get(object, "systems");
    for (size_t i = 0; value_is_vector(given) && i < vector_count(given) && i < SYSTEMS_MAX; i++)
        if (value_is_string(vector_at(given, i)))
            systems = vector_push(region, systems, value_copy(region, vector_at(given, i)));
    return systems;
}

// {systems, init, notes}
static value read_wishes(struct region *region, const char *workspace)
{
    CLEANUP_BUFFER struct buffer config, init;
    value answer = map_new(region), systems = vector_new(region, 0);
    if (read_trusted(region, workspace, config_file, &answer, &config))
        systems = wanted_systems(region, buffer_span(&config));
    answer = map_put_text(region, answer, "systems", systems);
    if (read_trusted(region, workspace, init_file, &answer, &init)) {
        CLEANUP_FREE char *path = memory_format("%s/%s", workspace, init_file);
        answer = put_string(region, answer, "init", path);
    }
    return answer;
}

// --- is a core as it should be? ------------------------------------------------------------------

static bool is_unchanged(value input)
{
    CLEANUP_FREE char *path = copy_span(map_get_string(input, "path"));
    CLEANUP_FREE char *kind = copy_span(map_get_string(input, "kind"));
    CLEANUP_BUFFER struct buffer stamp, hash;
    buffer_init(&stamp, 256);
    buffer_init(&hash, 256);
    project_stamp(path, kind, &stamp);
    if (span_equal(buffer_span(&stamp), map_get_string(input, "stamp")))
        return true;
    if (map_get_string(input, "hash").length == 0)
        return false;
    project_hash(path, kind, &hash);
    return span_equal(buffer_span(&hash), map_get_string(input, "hash"));
}

// The first thing that is not as it was; NULL: nothing.
static char *find_change(value manifest, value wishes, bool is_project, const char *base)
{
    CLEANUP_BUFFER struct buffer stamp;
    buffer_init(&stamp, 256);
    project_stamp(base, "file", &stamp);
    if (!span_equal_text(map_get_string(manifest, "base"), base) ||
        !span_equal(map_get_string(manifest, "base_stamp"), buffer_span(&stamp)))
        return memory_copy_string("Cadre or SBCL is another one");
    if (!value_equal(map_get(manifest, "systems"), map_get(wishes, "systems")))
        return memory_copy_string("other systems are wanted");
    if (is_project && !value_equal(map_get(manifest, "init"), map_get(wishes, "init")))
        return memory_copy_string("there is, or was, an .cadre/init.lisp");
    value inputs = map_get(manifest, "inputs");
    for (size_t i = 0; value_is_vector(inputs) && i < vector_count(inputs); i++) {
        struct span path = map_get_string(vector_at(inputs, i), "path");
        if (!is_unchanged(vector_at(inputs, i)))
            return memory_format("%.*s has changed", (int)path.length, path.data);
    }
    return NULL;
}

static bool read_manifest(struct region *region, const char *directory, const char *layer,
                          value *ret_manifest)
{
    CLEANUP_FREE char *path = memory_format("%s/%s.json", directory, layer);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, MANIFEST_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    int failed = buffer_append_descriptor(&text, fd);
    close(fd);
    return failed == 0 && read_object(region, buffer_span(&text), ret_manifest) &&
           map_get_integer(*ret_manifest, "format", 0) == PROJECT_FORMAT;
}

// The path of the core of a layer, if it may be used. Else NULL, and *ret_change says why, when there
// was one.
static char *usable_core(value manifest, const char *directory, value wishes, bool is_project,
                         const char *base, char **ret_change)
{
    *ret_change = find_change(manifest, wishes, is_project, base);
    struct span name = map_get_string(manifest, "core");
    if (*ret_change || name.length == 0 || memchr(name.data, '/', name.length))
        return NULL;
    char *path = memory_format("%s/%.*s", directory, (int)name.length, name.data);
    struct error ignored;
    if (private_check_file(path, &ignored)) {
        (void)!utimensat(AT_FDCWD, path, NULL, 0);  // what is used is not pruned
        return path;
    }
    memory_free(path);
    return NULL;
}

static value decide(struct region *region, value answer, const char *directory, const char *base)
{
    static const char *const layers[] = {"project", "dependencies"};
    value wishes = value_copy(region, answer);
    for (size_t i = 0; i < 2; i++) {
        value manifest;
        char *change = NULL;
        if (!read_manifest(region, directory, layers[i], &manifest))
            continue;
        CLEANUP_FREE char *core = usable_core(manifest, directory, wishes, i == 0, base, &change);
        if (change && i == 0)
            answer = put_string(region, answer, "stale", change);
        else if (i == 0 && !core && map_get_string(manifest, "unsavable").length > 0)
            answer = map_put_text(region, answer, "unsavable",
                                  value_copy(region, map_get(manifest, "unsavable")));
        memory_free(change);
        if (!core)
            continue;
        answer = put_string(region, answer, "core", core);
        return put_string(region, answer, "layer", layers[i]);
    }
    return put_string(region, answer, "layer", "none");
}

static int check(const char *workspace, const char *directory, const char *base)
{
    struct region *region = region_new(SIZE_MAX);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROJECT_ANSWER_MAX);
    value answer = read_wishes(region, workspace);
    if (vector_count(map_get(answer, "systems")) > 0 || value_is_string(map_get(answer, "init")))
        answer = decide(region, answer, directory, base);
    json_write(&text, answer, 0, NULL);
    bool ok = !text.failed && descriptor_write(PROJECT_FD, text.data, text.length);
    region_free(region);
    return ok ? 0 : fail("cannot write", "the answer");
}

// --- putting a core in its place -----------------------------------------------------------------

// The inputs with their hashes; false when one is not as it was when it was read.
static bool complete_inputs(struct region *region, value given, value *ret_inputs)
{
    value inputs = vector_new(region, vector_count(given));
    for (size_t i = 0; i < vector_count(given); i++) {
        value input = value_retain(vector_at(given, i));
        CLEANUP_FREE char *path = copy_span(map_get_string(input, "path"));
        CLEANUP_FREE char *kind = copy_span(map_get_string(input, "kind"));
        CLEANUP_BUFFER struct buffer stamp, hash;
        buffer_init(&stamp, 256);
        buffer_init(&hash, 256);
        project_hash(path, kind, &hash);
        project_stamp(path, kind, &stamp);
        if (!span_equal(buffer_span(&stamp), map_get_string(input, "stamp"))) {
            fprintf(stderr, "%s has changed meanwhile\n", path);
            return false;
        }
        input = map_put_text(region, input, "hash", value_string(region, buffer_span(&hash)));
        inputs = vector_push(region, inputs, input);
    }
    *ret_inputs = inputs;
    return true;
}

static int write_core(const char *path, const struct mapping *core)
{
    struct private_file file;
    struct error error;
    bool made;
    if (!private_create(path, &file, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    if (!descriptor_write(file.descriptor, core->data, core->size) || fsync(file.descriptor) < 0) {
        fail("cannot write", path);
        private_create_abandon(&file);
        return 1;
    }
    if (!private_create_commit(&file, true, &made, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return 0;
}

static int write_manifest(const char *directory, const char *layer, value manifest)
{
    CLEANUP_FREE char *path = memory_format("%s/%s.json", directory, layer);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, MANIFEST_MAX);
    json_write(&text, manifest, 0, NULL);
    struct mapping content = {text.data, text.length};
    if (text.failed) {
        fputs("too many files were read\n", stderr);
        return 1;
    }
    return write_core(path, &content);
}

static void remove_core(const char *directory, value manifest)
{
    struct span name = map_get_string(manifest, "core");
    CLEANUP_FREE char *path = memory_format("%s/%.*s", directory, (int)name.length, name.data);
    if (name.length > 0 && !memchr(name.data, '/', name.length))
        unlink(path);
}

static int put_in_place(struct region *region, const char *directory, const char *layer,
                        const char *name, value manifest, const struct mapping *core)
{
    value older;
    bool has_older = read_manifest(region, directory, layer, &older);
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    if (core->size > 0) {
        manifest = put_string(region, manifest, "core", name);
        if (write_core(path, core) != 0)
            return 1;
    }
    if (write_manifest(directory, layer, manifest) != 0) {
        unlink(path);
        return 1;
    }
    if (has_older)
        remove_core(directory, older);
    return 0;
}

static int commit_described(struct region *region, char **argv, value described,
                            const struct mapping *core)
{
    const char *directory = argv[0], *layer = argv[1], *base = argv[2], *name = argv[3];
    value inputs, manifest = value_retain(described);
    if (!value_is_vector(map_get(described, "inputs")) ||
        !complete_inputs(region, map_get(described, "inputs"), &inputs))
        return 1;
    CLEANUP_BUFFER struct buffer stamp;
    buffer_init(&stamp, 256);
    project_stamp(base, "file", &stamp);
    manifest = map_put_text(region, manifest, "inputs", inputs);
    manifest = map_put_text(region, manifest, "format", value_integer(PROJECT_FORMAT));
    manifest = put_string(region, manifest, "base", base);
    manifest = put_string(region, manifest, "base_stamp", buffer_text(&stamp));
    return put_in_place(region, directory, layer, name, manifest, core);
}

// Of `argv`: DIRECTORY LAYER BASE NAME.
static int commit(char **argv)
{
    struct stat status;
    uint64_t length = 0;
    if (fstat(PROJECT_FD, &status) < 0 || status.st_size < LENGTH_BYTES)
        return fail("cannot read", "the core");
    size_t size = (size_t)status.st_size;
    char *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, PROJECT_FD, 0);
    if (data == MAP_FAILED)
        return fail("cannot read", "the core");
    memcpy(&length, data + size - LENGTH_BYTES, LENGTH_BYTES);
    struct region *region = region_new(SIZE_MAX);
    value described;
    struct error error;
    CLEANUP_FREE char *file = memory_format("%s/%s.json", argv[0], argv[1]);
    int result = 1;
    if (length <= size - LENGTH_BYTES &&
        read_object(region, (struct span){data + size - LENGTH_BYTES - length, (size_t)length},
                    &described) &&
        private_make_parent(file, &error)) {
        struct mapping core = {data, size - LENGTH_BYTES - (size_t)length};
        result = commit_described(region, argv, described, &core);
    }
    region_free(region);
    munmap(data, size);
    return result;
}

int project_worker_main(int argc, char **argv)
{
    if (sodium_init() < 0)
        return 1;
    if (argc == 5 && strcmp(argv[1], "check") == 0)
        return check(argv[2], argv[3], argv[4]);
    if (argc == 6 && strcmp(argv[1], "commit") == 0)
        return commit(argv + 2);
    return 1;
}
