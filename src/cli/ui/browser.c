#include "cli/ui/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"

static void append_escaped(struct buffer *text, const char *address)
{
    for (; *address; address++)
        if (*address == '&')
            buffer_append_text(text, "&amp;");
        else
            buffer_append_byte(text, *address);
}

static char *write_file(const char *address)
{
    struct private_file file;
    struct error error;
    bool made;
    char *path = path_in_state("inspector.html");
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, "<!doctype html><meta charset=\"utf-8\"><title>Cadre</title>"
                              "<meta http-equiv=\"refresh\" content=\"0; url=");
    append_escaped(&text, address);
    buffer_append_text(&text, "\"><a href=\"");
    append_escaped(&text, address);
    buffer_append_text(&text, "\">The inspector</a>\n");
    if (!path || !private_make_parent(path, &error) || !private_create(path, &file, &error)) {
        memory_free(path);
        return NULL;
    }
    if (!descriptor_write(file.descriptor, text.data, text.length))
        private_create_abandon(&file);
    else if (private_create_commit(&file, true, &made, &error))
        return path;
    memory_free(path);
    return NULL;
}

bool browser_open(const char *address)
{
    const char *browser = getenv("BROWSER");
    bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || browser;
    CLEANUP_FREE char *path = has_screen ? write_file(address) : NULL;
    if (!path)
        return false;
    const char *program = browser && *browser ? browser : "xdg-open";
    CLEANUP_FREE char *url = memory_format("file://%s", path);
    char *arguments[] = {(char *)program, url, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int failed = posix_spawnp(&pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed == 0;
}
