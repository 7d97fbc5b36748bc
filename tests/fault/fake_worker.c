// A worker that speaks the session protocol without Lisp and misbehaves on request. It is started
// in the place of SBCL; "--core FILE" names a file whose first word says how it starts.
//
// Its state is one number. The code of an "evaluate" request is a list of words:
//   add N        adds to the state             get        answers with it (also the default)
//   late N       answers after N ms            silent     does not answer; SIGINT ends the wait
//   deaf         … and SIGINT is ignored       numb       … and SIGUSR1, too
//   twice        answers twice                 pieces     in frames of 7 bytes
//   cut N        dies after N bytes of the answer, which is sent in frames of 7 bytes
//   exit N       exit notice, then exits       die N      by signal N
//   garbage N    sends garbage of kind N       print N    prints N characters first
//   error        fails, with a post-mortem     rollback   asks for a rollback
//   snap WORD    how the next SNAP is answered: fail silent die dieafter twice foreign garbage mute
//   wake WORD    how the next wake is answered: fail failN (N times) silent die twice, inside (as a
//                fork, without a kernel session of its own)
//   shut N       shuts its channel down       thief      a child reads its channel from now on
// Start words: good, silent, exit, garbage, slow.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CHANNEL = 240, FRAME_MAX = 65536, FIRST = 1, LAST = 2 };
enum { REQUEST = 1, SNAP = 2, ADOPT = 3, OFFSETS = 4, QUIT = 5, OFFER = 7, WAKE = 8 };
enum {
    HELLO = 16,
    RESULT = 17,
    SNAPPED = 18,
    SNAP_FAILED = 19,
    WOKE = 20,
    EXITING = 21,
    FRAMES = 22,
    ADOPTED = 23,
    WAKE_FAILED = 24,
    PARKED = 26,
    WANTED = 27
};

static long state;
static int received[3];  // descriptors of the last frame
static size_t received_count;
static char next_snap[16];
static char next_wake[16];
static volatile sig_atomic_t interrupted;
static bool deaf, numb;
static long cut_after = -1;
static size_t piece = 65520;

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void send_frame(uint32_t type, uint32_t flags, uint32_t number, const char *data,
                       size_t size)
{
    static char frame[FRAME_MAX];
    uint32_t header[4] = {type, flags, number, (uint32_t)size};
    memcpy(frame, header, sizeof(header));
    memcpy(frame + sizeof(header), data, size);
    send(CHANNEL, frame, sizeof(header) + size, MSG_NOSIGNAL);
}

static void send_message(uint32_t type, uint32_t number, const char *text)
{
    size_t length = strlen(text), offset = 0;
    do {
        if (cut_after >= 0 && (long)offset >= cut_after)
            _exit(1);
        size_t size = length - offset < piece ? length - offset : piece;
        uint32_t flags = (offset == 0 ? FIRST : 0) | (offset + size == length ? LAST : 0);
        send_frame(type, flags, number, text + offset, size);
        offset += size;
    } while (offset < length);
}

static void send_garbage(long kind, uint32_t number)
{
    uint32_t huge[4] = {RESULT, FIRST | LAST, number, 1000000};
    switch (kind) {
    case 0: send(CHANNEL, "abc", 3, 0); break;
    case 1: send(CHANNEL, huge, sizeof(huge), 0); break;
    case 2: send_frame(99, FIRST | LAST, number, "{}", 2); break;
    case 3: send_frame(RESULT, FIRST | LAST, number, "not json", 8); break;
    case 4: send_frame(RESULT, 0, number, "middle", 6); break;
    case 5: send_frame(RESULT, FIRST | LAST, number, "[1,2]", 5); break;
    case 6: send_frame(RESULT, FIRST | LAST, number, "{\"ok\":true,\"postmortem\":1}", 26); break;
    case 7: send_frame(SNAPPED, FIRST | LAST, number, "{\"number\":-5,\"pid\":1}", 21); break;
    case 8: send_frame(WOKE, FIRST | LAST, 0, "{\"pid\":1,\"from\":2}", 18); break;
    default: send_frame(RESULT, 0xFFFF, number, "{}", 2); break;
    }
}

// --- clones --------------------------------------------------------------------------------------

static pid_t make_clone(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

static bool is(const char *word, const char *expected)
{
    return strcmp(word, expected) == 0;
}

// Returns the size of the next frame, or -1.
static ssize_t receive(char *frame, int flags)
{
    struct iovec bytes = {frame, FRAME_MAX};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(received))];
    } control;
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t size = recvmsg(CHANNEL, &message, flags);
    received_count = 0;
    struct cmsghdr *rights = size > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (rights && rights->cmsg_type == SCM_RIGHTS) {
        received_count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(received, CMSG_DATA(rights), received_count * sizeof(int));
    }
    return size;
}

static void close_received(void)
{
    for (size_t i = 0; i < received_count; i++)
        close(received[i]);
    received_count = 0;
}

static void place(int fd, int target)
{
    dup2(fd, target);
    close(fd);
}

static void wake_failed(pid_t self)
{
    char text[64];
    snprintf(text, sizeof(text), "{\"pid\":%d,\"reason\":\"no\"}", (int)self);
    send_message(WAKE_FAILED, 0, text);
}

static void say_woke(pid_t from, const char *kind, long number)
{
    char text[256];
    place(received[0], CHANNEL);
    place(received[1], 1);
    place(received[2], 2);
    received_count = 0;
    snprintf(text, sizeof(text),
             "{\"pid\":%d,\"from\":%d,\"kind\":\"%s\",\"number\":%ld,\"lost_threads\":[],"
             "\"state\":{\"package\":\"FAKE\"}}",
             (int)getpid(), (int)from, kind, number);
    send_message(WOKE, 0, text);
    if (is(next_wake, "twice"))
        send_message(WOKE, 0, text);
    next_wake[0] = 0;
}

// Parks; returns in a clone of the parked process that has work to do.
static void park(const char *kind, long number, const char *how)
{
    static char frame[FRAME_MAX];
    int null = open("/dev/null", O_RDWR);
    place(received[0], CHANNEL);
    received_count = 0;
    dup2(null, 1);
    place(null, 2);
    if (!is(how, "mute"))
        send_message(PARKED, 0, "{}");
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 2);
    cut_after = -1;
    piece = 65520;
    for (;;) {
        siginfo_t info;
        if (sigwaitinfo(&set, &info) < 0)
            continue;
        uint32_t type = 0;
        if (receive(frame, MSG_DONTWAIT) < 16)
            continue;
        memcpy(&type, frame, sizeof(type));
        if (type != WAKE || received_count != 3)
            continue;
        pid_t self = getpid();
        if (strncmp(next_wake, "fail", 4) == 0) {
            int more = atoi(next_wake + 4) - 1;
            next_wake[0] = '\0';
            if (more > 0)
                snprintf(next_wake, sizeof(next_wake), "fail%d", more);
            close_received();
            wake_failed(self);
            continue;
        }
        if (is(next_wake, "die"))
            _exit(3);
        if (make_clone() != 0) {
            if (!is(next_wake, "silent"))
                next_wake[0] = 0;
            close_received();
            continue;
        }
        if (strstr(frame + 16, "\"fork\":") && !is(next_wake, "inside"))
            setsid();
        if (is(next_wake, "silent"))
            for (;;)
                pause();
        say_woke(self, kind, number);
        return;
    }
}

static void make_snapshot(uint32_t number, long snapshot)
{
    char text[128];
    char how[16];
    memcpy(how, next_snap, sizeof(how));
    next_snap[0] = 0;
    if (is(how, "silent"))
        return;
    if (is(how, "die"))
        _exit(4);
    if (is(how, "garbage")) {
        send_frame(SNAPPED, FIRST | LAST, number, "]", 1);
        return;
    }
    if (is(how, "fail")) {
        snprintf(text, sizeof(text), "{\"number\":%ld,\"reason\":\"threads are running\"}",
                 snapshot);
        send_message(SNAP_FAILED, number, text);
        return;
    }
    pid_t pid = make_clone();
    if (pid == 0) {
        park("snapshot", snapshot, how);
        return;
    }
    close_received();
    if (is(how, "dieafter"))
        _exit(5);
    snprintf(text, sizeof(text), "{\"number\":%ld,\"pid\":%d,\"state\":{\"package\":\"FAKE\"}}",
             snapshot, is(how, "foreign") ? 1 : (int)pid);
    send_message(SNAPPED, number, text);
    if (is(how, "twice"))
        send_message(SNAPPED, number, text);
}

// --- requests ------------------------------------------------------------------------------------

static void on_interrupt(int signal)
{
    (void)signal;
    if (!deaf)
        interrupted = 1;
}

static void on_hard_stop(int signal)
{
    (void)signal;
    if (numb)
        return;
    static const char text[] = "{\"error\":{\"code\":\"timeout\",\"type\":\"EVALUATION-TIMEOUT\","
                               "\"message\":\"x\",\"frames\":[{\"number\":0,\"call\":\"(DEAF)\","
                               "\"function\":\"DEAF\"}]}}";
    send_frame(FRAMES, FIRST | LAST, 0, text, sizeof(text) - 1);
    _exit(98);
}

static void answer(uint32_t number, bool ok, const char *more)
{
    char text[512];
    snprintf(
        text, sizeof(text),
        "{\"op\":\"evaluate\",\"ok\":%s,\"forms\":1,\"values\":[\"%ld\"],\"state\":{\"package\":"
        "\"FAKE\",\"package_label\":\"FAKE\"}%s}",
        ok ? "true" : "false", state, more);
    send_message(RESULT, number, text);
}

static void wait_for_stop(uint32_t number)
{
    while (!interrupted)
        sleep_ms(1);
    answer(number, false,
           ",\"error\":{\"code\":\"timeout\",\"type\":\"EVALUATION-TIMEOUT\",\"message\":\"soft\","
           "\"frames\":[]}");
}

static void fail_with_postmortem(uint32_t number)
{
    char more[256];
    static char frame[FRAME_MAX];
    send_message(WANTED, 1, "{}");
    if (receive(frame, 0) < 16 || received_count != 1)
        _exit(99);
    pid_t pid = make_clone();
    if (pid == 0) {
        park("postmortem", 0, "");
        return;
    }
    close_received();
    snprintf(more, sizeof(more),
             ",\"postmortem\":%d,\"error\":{\"code\":\"condition\",\"type\":\"SIMPLE-ERROR\","
             "\"message\":\"oops\",\"frames\":[],\"restarts\":[]}",
             (int)pid);
    answer(number, false, more);
}

static void announce_exit(long code)
{
    char text[64];
    snprintf(text, sizeof(text), "{\"exit_code\":%ld,\"reason\":\"exit\"}", code);
    send_message(EXITING, 0, text);
    _exit((int)code);
}

static void print_characters(long count)
{
    for (long i = 0; i < count; i++)
        if (write(1, i % 50 == 49 ? "\n" : "x", 1) < 0)
            _exit(9);
}

static void start_thief(void)
{
    char byte;
    if (fork() == 0)
        for (;;)
            recv(CHANNEL, &byte, 1, 0);
}

static void evaluate(uint32_t number, char *code)
{
    bool twice = false;
    char *rest = NULL;
    interrupted = 0;
    deaf = numb = false;
    for (char *word = strtok_r(code, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (is(word, "silent") || is(word, "deaf") || is(word, "numb")) {
            deaf = !is(word, "silent");
            numb = is(word, "numb");
            wait_for_stop(number);
            return;
        }
        if (is(word, "error")) {
            fail_with_postmortem(number);
            return;
        }
        if (is(word, "rollback")) {
            answer(number, false,
                   ",\"rollback\":{\"cause\":\"unusable\",\"reason\":\"unusable\"},\"error\":{"
                   "\"code\":"
                   "\"unusable\",\"type\":\"SESSION-UNUSABLE\",\"message\":\"bad\"}");
            return;
        }
        if (is(word, "twice"))
            twice = true;
        if (is(word, "thief"))
            start_thief();
        if (is(word, "pieces"))
            piece = 7;
        char *argument =
            is(word, "get") || is(word, "twice") || is(word, "pieces") || is(word, "thief")
                ? NULL
                : strtok_r(NULL, " ", &rest);
        long count = argument ? atol(argument) : 0;
        if (is(word, "add"))
            state += count;
        else if (is(word, "late"))
            sleep_ms(count);
        else if (is(word, "print"))
            print_characters(count);
        else if (is(word, "shut"))
            shutdown(CHANNEL, (int)count);
        else if (is(word, "exit"))
            announce_exit(count);
        else if (is(word, "die"))
            raise((int)count);
        else if (is(word, "garbage"))
            send_garbage(count, number);
        else if (is(word, "cut"))
            cut_after = count, piece = 7;
        else if (is(word, "snap") && argument)
            snprintf(next_snap, sizeof(next_snap), "%s", argument);
        else if (is(word, "wake") && argument)
            snprintf(next_wake, sizeof(next_wake), "%s", argument);
    }
    answer(number, true, "");
    if (twice)
        answer(number, true, "");
    piece = 65520;
}

// The text of a member in JSON that the supervisor wrote; the tests use no escapes.
static char *member(char *text, const char *name)
{
    char key[32];
    snprintf(key, sizeof(key), "\"%s\":\"", name);
    char *at = strstr(text, key);
    if (!at)
        return NULL;
    at += strlen(key);
    char *end = strchr(at, '"');
    if (end)
        *end = 0;
    return at;
}

static void perform(uint32_t type, uint32_t number, char *text)
{
    if (type == REQUEST) {
        char *code = member(text, "code");
        evaluate(number, code ? code : (char[]){"get"});
    } else if (type == SNAP) {
        char *at = strstr(text, "\"number\":");
        make_snapshot(number, at ? atol(at + 9) : 0);
    } else if (type == ADOPT) {
        char adopted[96];
        snprintf(adopted, sizeof(adopted), "{\"pid\":%d,\"state\":{\"package\":\"FAKE\"}}",
                 (int)getpid());
        send_message(ADOPTED, 0, adopted);
    } else if (type == QUIT) {
        _exit(0);
    }
}

static void loop(void)
{
    static char frame[FRAME_MAX + 1];
    static char text[1 << 20];
    size_t length = 0;
    for (;;) {
        ssize_t size = receive(frame, 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 16)
            _exit(99);
        uint32_t header[4];
        memcpy(header, frame, sizeof(header));
        if (header[1] & FIRST)
            length = 0;
        memcpy(text + length, frame + 16, (size_t)size - 16);
        length += (size_t)size - 16;
        text[length] = 0;
        if (header[1] & LAST)
            perform(header[0], header[2], text);
    }
}

static void read_start_word(const char *path, char word[16])
{
    int fd = open(path, O_RDONLY);
    ssize_t length = fd < 0 ? 0 : read(fd, word, 15);
    word[length > 0 ? length : 0] = 0;
    word[strcspn(word, "\n ")] = 0;
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    char word[16] = "";
    if (argc < 3)
        return 2;
    read_start_word(argv[2], word);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_hard_stop}, NULL);
    if (is(word, "exit"))
        return 97;
    if (is(word, "garbage"))
        send_garbage(3, 0);
    if (is(word, "slow"))
        sleep_ms(300);
    if (is(word, "silent"))
        for (;;)
            pause();
    char hello[128];
    snprintf(hello, sizeof(hello), "{\"protocol\":2,\"pid\":%d,\"sbcl\":\"fake\",\"state\":{}}",
             (int)getpid());
    send_message(HELLO, 0, hello);
    loop();
}
