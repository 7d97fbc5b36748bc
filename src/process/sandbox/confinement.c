#include "process/sandbox/confinement.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "process/sandbox/capabilities.h"
#include "process/sandbox/landlock.h"
#include "process/sandbox/mounts.h"
#include "process/sandbox/signal_guard.h"

// What programs need to run. Of /etc single files: some others hold secrets, and root may read them.
static const char *const system_paths[] = {"/usr",
                                           "/lib",
                                           "/lib32",
                                           "/lib64",
                                           "/libx32",
                                           "/bin",
                                           "/sbin",
                                           "/opt",
                                           "/nix/store",
                                           "/gnu/store",
                                           "/snap",
                                           "/proc",
                                           "/sys",
                                           "/run/systemd/resolve",
                                           "/run/resolvconf",
                                           "/run/current-system",
                                           "/var/cache/fontconfig",
                                           "/var/lib/common-lisp",
                                           "/etc/ld.so.cache",
                                           "/etc/ld.so.conf",
                                           "/etc/ld.so.conf.d",
                                           "/etc/ld.so.preload",
                                           "/etc/alternatives",
                                           "/etc/nsswitch.conf",
                                           "/etc/passwd",
                                           "/etc/group",
                                           "/etc/hosts",
                                           "/etc/hostname",
                                           "/etc/host.conf",
                                           "/etc/gai.conf",
                                           "/etc/resolv.conf",
                                           "/etc/services",
                                           "/etc/protocols",
                                           "/etc/networks",
                                           "/etc/localtime",
                                           "/etc/timezone",
                                           "/etc/locale.alias",
                                           "/etc/locale.conf",
                                           "/etc/locale.gen",
                                           "/etc/default/locale",
                                           "/etc/ssl/certs",
                                           "/etc/ssl/cert.pem",
                                           "/etc/ssl/openssl.cnf",
                                           "/etc/pki/tls/certs",
                                           "/etc/pki/ca-trust/extracted",
                                           "/etc/ca-certificates",
                                           "/etc/ca-certificates.conf",
                                           "/etc/common-lisp",
                                           "/etc/sbclrc",
                                           "/etc/sbcl.rc",
                                           "/etc/os-release",
                                           "/etc/lsb-release",
                                           "/etc/debian_version",
                                           "/etc/mime.types",
                                           "/etc/magic",
                                           "/etc/fonts",
                                           "/etc/terminfo",
                                           "/etc/inputrc",
                                           "/etc/profile",
                                           "/etc/profile.d",
                                           "/etc/bash.bashrc",
                                           "/etc/gitconfig",
                                           "/etc/machine-id",
                                           "/etc/mtab",
                                           "/etc/shells",
                                           "/etc/odbcinst.ini",
                                           "/etc/python3",
                                           "/etc/perl",
                                           "/etc/java",
                                           "/etc/vulkan",
                                           "/etc/OpenCL",
                                           "/etc/static"};

static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom", "/dev/tty",  NULL};

static const char *const mode_names[] = {
    [SANDBOX_WORKSPACE] = "workspace", [SANDBOX_STRICT] = "strict", [SANDBOX_OFF] = "off"};

const char *sandbox_mode_name(enum sandbox_mode mode)
{
    return mode_names[mode];
}

enum sandbox_mode sandbox_mode_narrower(enum sandbox_mode a, enum sandbox_mode b)
{
    if (a == SANDBOX_STRICT || b == SANDBOX_STRICT)
        return SANDBOX_STRICT;
    return a == SANDBOX_OFF ? b : a;
}

bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret_mode)
{
    for (size_t i = 0; i < COUNT_OF(mode_names); i++)
        if (strcmp(name, mode_names[i]) == 0) {
            *ret_mode = (enum sandbox_mode)i;
            return true;
        }
    return false;
}

const char *confinement_gap_text(enum confinement_gap gap)
{
    switch (gap) {
    case CONFINEMENT_GAP_FILES:
        return "this kernel has no Landlock: sessions may read and write all files of their user "
               "and look into other processes";
    case CONFINEMENT_GAP_SIGNALS:
        return "Landlock of this kernel is older than ABI 6 (Linux 6.12), and seccomp cannot "
               "notify: "
               "survival does not hold, because a session may end processes of its user outside "
               "the session, "
               "those of other sessions among them";
    case CONFINEMENT_GAP_MOVES:
        return "Landlock of this kernel is older than ABI 2 (Linux 5.19): sessions cannot move "
               "files from one directory to another";
    case CONFINEMENT_GAP_MOUNTS:
        return "no mount namespace can be made here (user namespaces are off): .git, .cadre, "
               ".mcp.json, .claude, .vscode, .idea and .envrc of the workspace are not protected "
               "here, modes and times of all files of the user can be changed, and there are no "
               "terminals";
    case CONFINEMENT_GAP_WATCH:
        return "the workspace cannot be watched here: a .git, .claude or other "
               "protected name that a session makes is not moved aside";
    case CONFINEMENT_GAP_CALLS:
        return "this kernel has no seccomp: system calls and sockets are not filtered";
    }
    return "";
}

// --- in the server -------------------------------------------------------------------------------

static unsigned gaps_of(enum sandbox_mode mode, int abi)
{
    unsigned gaps = 0;
    if (abi == 0)
        gaps |= CONFINEMENT_GAP_FILES;
    if (abi < LANDLOCK_ABI_SCOPE && !signal_guard_available())
        gaps |= CONFINEMENT_GAP_SIGNALS;
    if (abi > 0 && abi < LANDLOCK_ABI_REFER && mode != SANDBOX_OFF)
        gaps |= CONFINEMENT_GAP_MOVES;
    return gaps;
}

int confinement_init(struct confinement *confinement, const struct confinement_rules *rules)
{
    int abi = landlock_abi();
    bool confined = rules->mode != SANDBOX_OFF;
    *confinement = (struct confinement){.rules = *rules, .gaps = gaps_of(rules->mode, abi)};
    int failed = call_filter_init(
        &confinement->filter, &(struct call_filter_rules){
                                  .kernel_interfaces = confined,
                                  .network = rules->network,
                                  .unix_sockets = rules->unix_sockets,
                                  .truncation = confined && abi > 0 && abi < LANDLOCK_ABI_TRUNCATE,
                                  .signals = abi < LANDLOCK_ABI_SCOPE && signal_guard_available(),
                                  .first_channel = rules->first_channel,
                                  .last_channel = rules->last_channel,
                                  .last_pipe = rules->last_pipe,
                              });
    if (failed < 0)
        return failed;
    void *shared = mmap(NULL, sizeof(*confinement->child_gaps), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        failed = -errno;
        confinement_release(confinement);
        return failed;
    }
    confinement->child_gaps = shared;
    return 0;
}

void confinement_release(struct confinement *confinement)
{
    call_filter_release(&confinement->filter);
    if (confinement->child_gaps)
        munmap(confinement->child_gaps, sizeof(*confinement->child_gaps));
    *confinement = (struct confinement){0};
}

bool confinement_guards(const struct confinement *confinement)
{
    return confinement->filter.notifies;
}

unsigned confinement_gaps(const struct confinement *confinement)
{
    return confinement->gaps | (confinement->child_gaps ? *confinement->child_gaps : 0);
}

static size_t count_paths(const char *const *paths)
{
    size_t count = 0;
    while (paths && paths[count])
        count++;
    return count;
}

int confinement_open(const struct confinement *confinement, const struct confinement_paths *paths)
{
    size_t own = COUNT_OF(system_paths), given = count_paths(paths->read);
    CLEANUP_FREE const char **read = memory_alloc_zero((own + given + 1) * sizeof(*read));
    memcpy(read, system_paths, sizeof(system_paths));
    if (given > 0)
        memcpy(read + own, paths->read, given * sizeof(*read));
    return landlock_open(&(struct landlock_rules){
        .files = confinement->rules.mode != SANDBOX_OFF,
        .network = confinement->rules.network,
        .read = read,
        .read_real = paths->read_real,
        .write = paths->write,
        .devices = devices,
    });
}

// --- in the child --------------------------------------------------------------------------------

// A process of the sandbox may be halfway in its namespace: another one must start without.
static int enter_mounts(const struct confinement *confinement, int ruleset,
                        const struct confinement_paths *paths)
{
    if (confinement->rules.mode == SANDBOX_OFF ||
        (*confinement->child_gaps & CONFINEMENT_GAP_MOUNTS))
        return 0;
    if (mounts_enter(&(struct mounts){.write = paths->write, .protect = paths->protect}) < 0) {
        *confinement->child_gaps |= CONFINEMENT_GAP_MOUNTS;
        return -EAGAIN;
    }
    return ruleset >= 0 ? landlock_add_devices(ruleset, mounts_terminals) : 0;
}

int confinement_enter(const struct confinement *confinement, int ruleset,
                      const struct confinement_paths *paths)
{
    int failed = enter_mounts(confinement, ruleset, paths);
    if (failed == 0 && chdir(paths->directory) < 0)
        failed = -errno;
    if (failed == 0)
        failed = capabilities_drop();
    if (failed == 0 && ruleset >= 0)
        failed = landlock_enter(ruleset);
    if (failed < 0)
        return failed;
    int listener;
    failed = call_filter_enter(&confinement->filter, &listener);
    if (failed == -EINVAL || failed == -ENOSYS) {
        *confinement->child_gaps |= CONFINEMENT_GAP_CALLS;
        return 0;
    }
    return failed == 0 && listener >= 0 ? signal_guard_send(paths->sender, listener) : failed;
}
