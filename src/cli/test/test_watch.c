#include "cli/test/test_watch.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "base/hash.h"
#include "base/memory.h"

enum { LOOK_EVERY_MS = 300 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

// One number for the sizes and times of all files.
static uint64_t fingerprint(value files)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < vector_count(files); i++) {
        struct span name = value_text(vector_at(files, i));
        CLEANUP_FREE char *path = memory_copy_text(name.data, name.length);
        struct stat file;
        if (stat(path, &file) < 0)
            continue;
        int64_t facts[] = {(int64_t)file.st_size, (int64_t)file.st_mtim.tv_sec,
                           (int64_t)file.st_mtim.tv_nsec, (int64_t)file.st_ino};
        sum += hash_bytes(facts, sizeof(facts), i);
    }
    return sum;
}

bool test_watch_wait(value files)
{
    struct sigaction action = {.sa_handler = on_interrupt}, before;
    uint64_t old = fingerprint(files);
    interrupted = 0;
    sigaction(SIGINT, &action, &before);
    while (!interrupted && fingerprint(files) == old) {
        struct timespec pause = {.tv_nsec = LOOK_EVERY_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
    sigaction(SIGINT, &before, NULL);
    return !interrupted;
}
