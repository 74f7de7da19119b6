/* Keeps, beside a data folder, what a power failure would leave of it: contents as of each file's last flush, names as of
 * their folder's. Preloaded into the server; support/power.py puts the folder together again.
 *
 *   UNFLUSHED_DATA   the folder          UNFLUSHED_KEPT   where it is kept:
 *   kept/<file id>   a content           kept/names+<path, '/' as '+'>   lines: kind, file id, name
 *
 *   kept/<file id>.lost   what it held when a flush of it failed: pages that have not changed since never reach the disk,
 *                         though a later flush says so, as Linux takes them for clean
 *
 * A file id is its inode with the time of its birth: inodes are used again. What stood there at the start is taken for flushed; a
 * process that becomes another one goes on.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *data, *kept;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static int identify(int folder, const char *name, int flags, struct statx *status, char *id) {
    if (statx(folder, name, flags, STATX_INO | STATX_BTIME | STATX_TYPE | STATX_SIZE, status) != 0) return -1;
    sprintf(id, "%llu.%lld.%u", (unsigned long long)status->stx_ino, (long long)status->stx_btime.tv_sec, status->stx_btime.tv_nsec);
    return 0;
}

static void fail(const char *what) {
    perror(what);
    abort();
}

/* Beside the program's own calls, which others may have made fail. */
static int open_file(const char *path, int how) {
    return syscall(SYS_openat, AT_FDCWD, path, how | O_CLOEXEC, 0600);
}

static ssize_t write_at(int file, const void *bytes, size_t count, off_t at) {
    return syscall(SYS_pwrite64, file, bytes, count, at);
}

static ssize_t read_at(int file, void *bytes, size_t count, off_t at) {
    return syscall(SYS_pread64, file, bytes, count, at);
}

/* Takes back, of a content that was just flushed, the pages that a failed flush has lost. */
static void take_back(int to, const char *path, off_t size) {
    char lost_path[PATH_MAX + 8], now[4096], lost[4096], before[4096];
    snprintf(lost_path, sizeof lost_path, "%s.lost", path);
    int losses = open_file(lost_path, O_RDONLY), former = open_file(path, O_RDONLY);
    for (off_t at = 0; losses >= 0 && (at = lseek(losses, at, SEEK_DATA)) >= 0 && at < size; at += sizeof now) {
        at -= at % sizeof now;
        ssize_t length = read_at(to, now, sizeof now, at);
        if (length <= 0 || read_at(losses, lost, sizeof lost, at) < length || memcmp(now, lost, length)) continue;
        memset(before, 0, sizeof before);
        if (former >= 0 && read_at(former, before, sizeof before, at) < 0) fail("unflushed: read");
        if (write_at(to, before, length, at) != length) fail("unflushed: write");
    }
    if (losses >= 0) close(losses);
    if (former >= 0) close(former);
}

static void keep_content(const char *source, const char *id, off_t size) {
    char staged[PATH_MAX], path[PATH_MAX], bytes[1 << 16];
    snprintf(staged, sizeof staged, "%s/staged", kept);
    snprintf(path, sizeof path, "%s/%s", kept, id);
    int from = open_file(source, O_RDONLY), to = open_file(staged, O_RDWR | O_CREAT | O_TRUNC);
    if (from < 0 || to < 0) fail("unflushed: open");
    for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0 && at < size;) {
        off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end && at < size) {
            ssize_t read = read_at(from, bytes, end - at < (off_t)sizeof bytes ? end - at : (off_t)sizeof bytes, at);
            if (read <= 0) break;
            if (write_at(to, bytes, read, at) != read) fail("unflushed: write");
            at += read;
        }
        if (at < end) break;
    }
    if (syscall(SYS_ftruncate, to, size) != 0) fail("unflushed: truncate");
    take_back(to, path, size);
    close(from);
    close(to);
    if (syscall(SYS_rename, staged, path) != 0) fail("unflushed: rename");
}

static void keep_names(const char *folder, int contents) {
    char staged[PATH_MAX], path[PATH_MAX], id[80];
    snprintf(staged, sizeof staged, "%s/staged", kept);
    int start = snprintf(path, sizeof path, "%s/names", kept);
    snprintf(path + start, sizeof path - start, "%s", folder + strlen(data));
    for (char *letter = path + start; *letter; letter++) if (*letter == '/') *letter = '+';
    FILE *names = fdopen(open_file(staged, O_WRONLY | O_CREAT | O_TRUNC), "w");
    DIR *entries = fdopendir(open_file(folder, O_RDONLY | O_DIRECTORY));
    if (!names || !entries) fail("unflushed: open folder");
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        struct statx status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (identify(dirfd(entries), entry->d_name, AT_SYMLINK_NOFOLLOW, &status, id) != 0) continue;
        fprintf(names, "%c %s %s\n", S_ISDIR(status.stx_mode) ? 'd' : 'f', id, entry->d_name);
    }
    fclose(names);
    if (syscall(SYS_rename, staged, path) != 0) fail("unflushed: rename");
    if (contents) {
        rewinddir(entries);
        while ((entry = readdir(entries))) {
            struct statx status;
            char below[PATH_MAX];
            if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
            snprintf(below, sizeof below, "%s/%s", folder, entry->d_name);
            if (identify(AT_FDCWD, below, AT_SYMLINK_NOFOLLOW, &status, id) != 0) continue;
            if (S_ISDIR(status.stx_mode)) keep_names(below, 1);
            else keep_content(below, id, status.stx_size);
        }
    }
    closedir(entries);
}

__attribute__((constructor)) static void begin(void) {
    data = getenv("UNFLUSHED_DATA");
    kept = getenv("UNFLUSHED_KEPT");
    char names[PATH_MAX];
    snprintf(names, sizeof names, "%s/names", kept ? kept : "");
    if (data && access(data, F_OK) == 0 && access(names, F_OK) != 0) keep_names(data, 1);
}

static void flushed(int descriptor, const char *suffix) {
    char link[64], path[PATH_MAX], id[96];
    struct statx status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = data ? readlink(link, path, sizeof path - 1) : -1;
    if (length <= 0) return;
    path[length] = 0;
    size_t folder = strlen(data);
    if (strncmp(path, data, folder) || (path[folder] && path[folder] != '/')) return;
    if (identify(descriptor, "", AT_EMPTY_PATH, &status, id) != 0) return;
    strcat(id, suffix);
    pthread_mutex_lock(&one_at_a_time);
    if (S_ISDIR(status.stx_mode) && !*suffix) keep_names(path, 0);
    else if (S_ISREG(status.stx_mode)) keep_content(link, id, status.stx_size);
    pthread_mutex_unlock(&one_at_a_time);
}

/* Whoever makes a flush fail says so. */
void unflushed_lost(int descriptor) { flushed(descriptor, ".lost"); }

static int flush(const char *name, int descriptor) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int done = real(descriptor), error = errno;
    if (done == 0) flushed(descriptor, "");
    errno = error;
    return done;
}

int fsync(int descriptor) { return flush("fsync", descriptor); }
int fdatasync(int descriptor) { return flush("fdatasync", descriptor); }
