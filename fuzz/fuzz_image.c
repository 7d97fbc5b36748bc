// The image of a session, as it lies on disk: its description, and what the worker makes of the
// rest. Damage is said, never a crash, and no core comes of it. Input: the file.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/private.h"
#include "fuzz.h"
#include "session/image/image_file.h"

static char directory[] = "/tmp/cadre-fuzz-image-XXXXXX";

static char *file_path(const char *name)
{
    return memory_format("%s/%s", directory, name);
}

static void remove_directory(void)
{
    static const char *const names[] = {"image.zst",   "core", "runtime", "cadre/bases/ba5e.core",
                                        "cadre/bases", "cadre"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP_FREE char *path = file_path(names[i]);
        remove(path);
    }
    rmdir(directory);
}

static void write_file(const char *name, const void *data, size_t size)
{
    CLEANUP_FREE char *path = file_path(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void make_directory(void)
{
    CHECK(mkdtemp(directory));
    setenv("XDG_STATE_HOME", directory, 1);
    struct error error;
    CLEANUP_FREE char *base = image_base_path(SPAN("ba5e"));
    CHECK(base && private_make_parent(base, &error));
    write_file("cadre/bases/ba5e.core", "a core", 6);
    write_file("runtime", "a runtime", 9);
    atexit(remove_directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool is_made;
    if (!is_made)
        make_directory();
    is_made = true;
    write_file("image.zst", data, size);
    CLEANUP_FREE char *image = file_path("image.zst");
    CLEANUP_FREE char *runtime = file_path("runtime");
    CLEANUP_FREE char *core = file_path("core");
    struct region *region = region_new(SIZE_MAX);
    value description;
    bool is_described = image_describe(region, image, &description);
    const char *const argv[] = {"image-worker", "unpack", image, runtime, core, NULL};
    int status = image_worker_main(5, (char **)(uintptr_t)argv);
    bool is_made_now = access(core, F_OK) == 0;
    CHECK(is_made_now == (status == IMAGE_DONE || status == IMAGE_OTHER_RUNTIME));
    CHECK(is_described || !is_made_now);
    if (is_described) {
        CLEANUP_FREE char *path = image_core_path(map_get_string(description, "id"));
        CLEANUP_FREE char *kept = image_runtime_path(map_get_string(description, "runtime"));
        CHECK(!path || !strstr(path, "/../"));
        CHECK(!kept || !strstr(kept, "/../"));
    }
    unlink(core);
    region_free(region);
    return 0;
}
