// `cadre trust`: lets the files of a workspace count, as they are now.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/table/option_reader.h"
#include "session/workspace/trust.h"

static int fail(const struct error *error)
{
    fprintf(stderr, "cadre trust: %s\n", error->message);
    return EXIT_FAILURE;
}

// Whoever wrote the repository chose its names: one must not hide another on a terminal.
static char *visible(struct span name)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    utf8_append_visible(&text, name);
    return memory_copy_string(buffer_text(&text));
}

static int print_trusted_files(const char *workspace)
{
    struct region *region = region_new(SIZE_MAX);
    value names;
    struct error error;
    bool ok = trust_files(region, workspace, &names, &error);
    for (size_t i = 0; ok && i < vector_count(names); i++) {
        CLEANUP_FREE char *name = visible(value_text(vector_at(names, i)));
        printf("  %s\n", name);
    }
    region_free(region);
    return ok ? EXIT_SUCCESS : fail(&error);
}

static int add(const char *directory)
{
    char workspace[PATH_MAX];
    struct stat status;
    struct error error;
    size_t count;
    errno = 0;
    if (!realpath(directory, workspace) || stat(workspace, &status) < 0 ||
        !S_ISDIR(status.st_mode)) {
        fprintf(stderr, "cadre trust: %s: %s\n", directory, strerror(errno ? errno : ENOTDIR));
        return EXIT_FAILURE;
    }
    if (!trust_add(workspace, &count, &error))
        return fail(&error);
    if (count == 0) {
        printf("%s has no files that need trust\n", workspace);
        return EXIT_SUCCESS;
    }
    printf("trusted %s\n", workspace);
    return print_trusted_files(workspace);
}

// A directory that is gone is known by the path that was trusted.
static int remove_one(const char *directory)
{
    char real[PATH_MAX];
    bool found;
    struct error error;
    const char *workspace = realpath(directory, real) ? real : directory;
    if (!trust_remove(workspace, &found, &error))
        return fail(&error);
    if (!found) {
        fprintf(stderr, "cadre trust: %s is not trusted\n", workspace);
        return EXIT_FAILURE;
    }
    printf("%s is trusted no longer\n", workspace);
    return EXIT_SUCCESS;
}

static void print_file(const char *workspace, struct span name)
{
    CLEANUP_FREE char *path = memory_copy_text(name.data, name.length);
    CLEANUP_BUFFER struct buffer content;
    enum trust trust;
    struct error error;
    bool ok = trust_read(workspace, path, &content, &trust, &error);
    CLEANUP_FREE char *shown = visible(name);
    printf("  %-24s %s\n", shown, ok ? trust_name(trust) : error.message);
}

static int list(void)
{
    struct region *region = region_new(SIZE_MAX);
    value workspaces, path, files, file, hash;
    struct error error;
    if (!trust_list(region, &workspaces, &error)) {
        region_free(region);
        return fail(&error);
    }
    struct map_cursor cursor = map_iterate(workspaces);
    while (map_next(&cursor, &path, &files)) {
        struct span name = value_text(path);
        CLEANUP_FREE char *workspace = memory_copy_text(name.data, name.length);
        puts(workspace);
        struct map_cursor inner = map_iterate(value_is_map(files) ? files : map_new(region));
        while (map_next(&inner, &file, &hash))
            print_file(workspace, value_text(file));
    }
    region_free(region);
    return EXIT_SUCCESS;
}

static int usage(const char *message)
{
    fprintf(stderr, "cadre trust: %s; see cadre trust --help\n", message);
    return EXIT_USAGE;
}

int command_trust(int argc, char **argv)
{
    bool is_list = false, is_remove = false;
    struct option_reader reader;
    option_reader_init(&reader, COMMAND_TRUST, argc, argv);
    int option, status = EXIT_SUCCESS;
    while ((option = option_reader_next(&reader)) > 0) {
        is_list = is_list || option == OPTION_LIST;
        is_remove = is_remove || option == OPTION_REMOVE;
    }
    if (option != OPTIONS_END)
        return option_reader_status(option);
    if (is_list)
        return is_remove || reader.word_count ? usage("--list takes nothing else") : list();
    if (reader.word_count == 0)
        return usage("DIR is missing");
    for (int i = 0; i < reader.word_count; i++) {
        int failed = is_remove ? remove_one(reader.words[i]) : add(reader.words[i]);
        status = failed ? failed : status;
    }
    return status;
}
