/* A disk that fails as a schedule says: preloaded into the server, before unflushed.c. support/faults.py writes the schedule.
 *
 *   FAULTS_ROOT     the folder whose files are meant: data/, backups/, keys/, heads in it
 *   FAULTS_CONTROL  the schedule, shared with whoever wrote it: rules, what each has seen, how often it struck
 *   FAULTS_STRUCK   what was struck, a line each
 *
 * A rule counts the calls that it is meant for, over all threads, and strikes some of them. What the system is asked for beside
 * the C library (fallocate, statvfs of the server's own) is out of its reach.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* The same as in faults.py. */
enum kind { WAL = 1, SST = 2, MANIFEST = 4, KEYRING = 8, WITNESS = 16, OTHER = 32, BACKUP = 64, KEYS = 128, HEADS = 256 };
enum call { OPEN = 1, WRITE = 2, SYNC = 4, RENAME = 8, TRUNCATE = 16, ALLOCATE = 32, READ = 64, REMOVE = 128, LINK = 256, CREATE = 512 };
static const char *const call_names[] = {"open", "write", "sync", "rename", "truncate", "allocate", "read", "remove", "link", "create"};

struct rule {
    uint32_t kinds, calls;
    /* The first that is struck, counted from 1, and how many. */
    uint32_t first, many;
    /* What a struck call answers, if not 0; whether a write takes a part before; how long it takes. */
    uint32_t error, part, slow_ms;
    _Atomic uint32_t seen, struck;
};

#define RULES 8
struct control {
    _Atomic uint32_t armed;
    struct rule rules[RULES];
};

struct strike {
    int error, part;
};

static const char *root;
static struct control *control;
static int told = -1;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CONTROL"), *struck = getenv("FAULTS_STRUCK");
    root = getenv("FAULTS_ROOT");
    if (!root || !path || !struck) return;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    told = syscall(SYS_openat, AT_FDCWD, struck, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || shared == MAP_FAILED || told < 0) {
        perror("faults");
        abort();
    }
    close(file);
    control = shared;
}

static int ends(const char *text, const char *with) {
    size_t length = strlen(text), end = strlen(with);
    return length >= end && !strcmp(text + length - end, with);
}

static int starts(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

/* What kind of file a path is of, 0 of none. */
static int kind_of(const char *path) {
    size_t length = strlen(root);
    if (strncmp(path, root, length) || path[length] != '/') return 0;
    const char *below = path + length + 1;
    if (starts(below, "backups")) return BACKUP;
    if (starts(below, "keys")) return KEYS;
    if (starts(below, "heads")) return HEADS;
    if (!starts(below, "data")) return 0;
    if (starts(below, "data/keyring")) return KEYRING;
    if (starts(below, "data/witness")) return WITNESS;
    if (!starts(below, "data/rocks")) return OTHER;
    if (ends(below, ".log")) return WAL;
    if (ends(below, ".sst")) return SST;
    // RocksDB's own log of events tells nothing that anybody needs.
    return ends(below, "/LOG") || strstr(below, "/LOG.") ? 0 : MANIFEST;
}

static int is_wanted(int call) {
    if (!control || !atomic_load(&control->armed)) return 0;
    for (int rule = 0; rule < RULES; rule++) if (control->rules[rule].calls & call) return 1;
    return 0;
}

/* What becomes of a call on this path. */
static struct strike strike(int call, const char *path) {
    struct strike struck = {0, 0};
    int kind = kind_of(path), slow_ms = 0;
    for (int number = 0; kind && number < RULES; number++) {
        struct rule *rule = &control->rules[number];
        if (!(rule->calls & call) || !(rule->kinds & kind)) continue;
        uint32_t seen = atomic_fetch_add(&rule->seen, 1) + 1;
        if (seen < rule->first || seen - rule->first >= rule->many) continue;
        uint32_t times = atomic_fetch_add(&rule->struck, 1);
        if (rule->slow_ms) slow_ms += rule->slow_ms;
        // A part is written first; what follows is refused.
        if (rule->part && (call & WRITE) && (times == 0 || !rule->error)) struck.part = 1;
        else if (rule->error) struck.error = rule->error;
        if (times < 20) {
            char line[PATH_MAX];
            int length = snprintf(line, sizeof line, "rule %d, call %u: %s %s%s%s\n", number, seen, call_names[__builtin_ctz(call)],
                                  path + strlen(root) + 1, struck.part ? " in part" : "", struck.error ? " refused" : "");
            syscall(SYS_write, told, line, length);
        }
    }
    if (slow_ms) {
        struct timespec pause = {slow_ms / 1000, slow_ms % 1000 * 1000000L};
        nanosleep(&pause, NULL);
    }
    return struck;
}

static struct strike strike_at(int call, int folder, const char *path) {
    struct strike none = {0, 0};
    char whole[2 * PATH_MAX], link[64];
    if (!is_wanted(call) || !path) return none;
    if (*path == '/') return strike(call, path);
    if (folder == AT_FDCWD) {
        if (!getcwd(whole, PATH_MAX)) return none;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        ssize_t length = readlink(link, whole, PATH_MAX - 1);
        if (length < 0) return none;
        whole[length] = 0;
    }
    snprintf(whole + strlen(whole), PATH_MAX, "/%s", path);
    return strike(call, whole);
}

static struct strike strike_file(int call, int file) {
    struct strike none = {0, 0};
    char link[64], path[PATH_MAX];
    if (!is_wanted(call)) return none;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || *path != '/') return none;
    path[length] = 0;
    return strike(call, path);
}

#define REFUSE(struck) do { if ((struck).error) { errno = (struck).error; return -1; } } while (0)

int openat(int folder, const char *path, int how, ...) {
    va_list more;
    va_start(more, how);
    mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    REFUSE(strike_at(how & O_CREAT ? CREATE : OPEN, folder, path));
    return syscall(SYS_openat, folder, path, how, mode);
}

int openat64(int folder, const char *path, int how, ...) {
    va_list more;
    va_start(more, how);
    mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openat(folder, path, how, mode);
}

int open(const char *path, int how, ...) {
    va_list more;
    va_start(more, how);
    mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openat(AT_FDCWD, path, how, mode);
}

int open64(const char *path, int how, ...) {
    va_list more;
    va_start(more, how);
    mode_t mode = how & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openat(AT_FDCWD, path, how, mode);
}

/* How much of a write is taken. */
static size_t taken(struct strike struck, size_t count) { return struck.part && count > 1 ? count / 2 : count; }

ssize_t write(int file, const void *bytes, size_t count) {
    struct strike struck = strike_file(WRITE, file);
    REFUSE(struck);
    return syscall(SYS_write, file, bytes, taken(struck, count));
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at) {
    struct strike struck = strike_file(WRITE, file);
    REFUSE(struck);
    return syscall(SYS_pwrite64, file, bytes, taken(struck, count), at);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) { return pwrite64(file, bytes, count, at); }

ssize_t writev(int file, const struct iovec *parts, int count) {
    REFUSE(strike_file(WRITE, file));
    return syscall(SYS_writev, file, parts, count);
}

ssize_t copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t count, unsigned how) {
    REFUSE(strike_file(WRITE, to));
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, count, how);
}

ssize_t sendfile64(int to, int from, off_t *at, size_t count) {
    REFUSE(strike_file(WRITE, to));
    return syscall(SYS_sendfile, to, from, at, count);
}

ssize_t read(int file, void *bytes, size_t count) {
    REFUSE(strike_file(READ, file));
    return syscall(SYS_read, file, bytes, count);
}

ssize_t pread64(int file, void *bytes, size_t count, off_t at) {
    REFUSE(strike_file(READ, file));
    return syscall(SYS_pread64, file, bytes, count, at);
}

ssize_t pread(int file, void *bytes, size_t count, off_t at) { return pread64(file, bytes, count, at); }

/* A flush that fails has lost what it was for. */
static int flush(const char *name, int file) {
    struct strike struck = strike_file(SYNC, file);
    if (struck.error) {
        void (*lost)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "unflushed_lost");
        if (lost) lost(file);
        errno = struck.error;
        return -1;
    }
    int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return next(file);
}

int fsync(int file) { return flush("fsync", file); }
int fdatasync(int file) { return flush("fdatasync", file); }

int sync_file_range(int file, off_t from, off_t count, unsigned how) {
    REFUSE(strike_file(SYNC, file));
    return syscall(SYS_sync_file_range, file, from, count, how);
}

int ftruncate64(int file, off_t length) {
    REFUSE(strike_file(TRUNCATE, file));
    return syscall(SYS_ftruncate, file, length);
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int fallocate64(int file, int how, off_t from, off_t length) {
    REFUSE(strike_file(ALLOCATE, file));
    return syscall(SYS_fallocate, file, how, from, length);
}

int fallocate(int file, int how, off_t from, off_t length) { return fallocate64(file, how, from, length); }

int rename(const char *from, const char *to) {
    REFUSE(strike_at(RENAME, AT_FDCWD, to));
    return syscall(SYS_rename, from, to);
}

int unlink(const char *path) {
    REFUSE(strike_at(REMOVE, AT_FDCWD, path));
    return syscall(SYS_unlink, path);
}

int link(const char *from, const char *to) {
    REFUSE(strike_at(LINK, AT_FDCWD, to));
    return syscall(SYS_link, from, to);
}

int linkat(int folder, const char *from, int other, const char *to, int how) {
    REFUSE(strike_at(LINK, other, to));
    return syscall(SYS_linkat, folder, from, other, to, how);
}

/* While there is no room for writes, there is none. */
int statvfs64(const char *path, struct statvfs64 *status) {
    int (*next)(const char *, struct statvfs64 *) = (int (*)(const char *, struct statvfs64 *))dlsym(RTLD_NEXT, "statvfs64");
    int done = next(path, status);
    for (int number = 0; done == 0 && control && atomic_load(&control->armed) && number < RULES; number++) {
        struct rule *rule = &control->rules[number];
        uint32_t seen = atomic_load(&rule->seen) + 1;
        if (rule->error == ENOSPC && rule->many > 1 && seen > rule->first && seen - rule->first < rule->many) status->f_bavail = status->f_bfree = 0;
    }
    return done;
}

int statvfs(const char *path, struct statvfs *status) { return statvfs64(path, (struct statvfs64 *)status); }
