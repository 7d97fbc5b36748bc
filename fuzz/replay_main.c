// Runs a fuzz target over every file of the directories given, and over the empty input. Each input
// runs in a child process, so that one crash is one failure. Prints `N passed, N failed`.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "fuzz.h"

enum { INPUT_MAX = 64 << 20 };

struct tally {
    unsigned passed;
    unsigned failed;
};

static void input_run(const char *name, struct span input, struct tally *tally)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        LLVMFuzzerTestOneInput((const uint8_t *)input.data, input.length);
        exit(EXIT_SUCCESS);  // not _exit: the leak check runs at exit
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status == 0) {
        tally->passed++;
        return;
    }
    tally->failed++;
    printf("FAIL %s: wait status %#x\n", name, (unsigned)status);
}

static bool file_read(const char *path, struct buffer *buffer)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    char chunk[4096];
    for (size_t length; (length = fread(chunk, 1, sizeof(chunk), file)) > 0;)
        buffer_append(buffer, chunk, length);
    bool good = !ferror(file) && !buffer->failed;
    return fclose(file) == 0 && good;
}

static void directory_run(const char *directory, struct tally *tally)
{
    struct dirent **entries;
    int count = scandir(directory, &entries, NULL, alphasort);
    if (count <= 2) {
        printf("FAIL %s: %s\n", directory, count < 0 ? strerror(errno) : "no inputs");
        tally->failed++;
    }
    for (int i = 0; i < count; i++) {
        CLEANUP_BUFFER struct buffer input;
        buffer_init(&input, INPUT_MAX);
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        if (entries[i]->d_name[0] == '.') {
            free(entries[i]);
            continue;
        }
        if (file_read(path, &input)) {
            input_run(path, buffer_span(&input), tally);
        } else {
            printf("FAIL %s: cannot be read\n", path);
            tally->failed++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    struct tally tally = {0};
    input_run("the empty input", SPAN(""), &tally);
    for (int i = 1; i < argc; i++)
        directory_run(argv[i], &tally);
    printf("%u passed, %u failed\n", tally.passed, tally.failed);
    return tally.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
