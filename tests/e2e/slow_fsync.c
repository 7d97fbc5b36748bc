// A disk that takes its time, for LD_PRELOAD: fsync() of any thread but the first waits while there is
// a pipe named by SLOW_FSYNC, until somebody has written to it; "fail" makes it an input/output error.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int descriptor)
{
    char word[8] = "";
    const char *pipe = getenv("SLOW_FSYNC");
    int waiting = pipe && syscall(SYS_gettid) != getpid() ? open(pipe, O_RDONLY | O_CLOEXEC) : -1;
    if (waiting >= 0) {
        ssize_t length = read(waiting, word, sizeof(word) - 1);
        close(waiting);
        if (length < 0 || strcmp(word, "fail") == 0) {
            errno = EIO;
            return -1;
        }
    }
    return (int)syscall(SYS_fsync, descriptor);
}
