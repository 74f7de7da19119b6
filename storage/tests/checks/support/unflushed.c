/* Keeps, beside a data folder, what a power failure would leave of it: contents as of each file's last flush, names as of
 * their folder's. Preloaded into the server; support/power.py puts the folder together again.
 *
 *   UNFLUSHED_DATA   the folder          UNFLUSHED_KEPT   where it is kept:
 *   kept/<file id>   a content           kept/names+<path, '/' as '+'>   lines: kind, file id, name
 *
 * A file id is its inode with the time of its birth: inodes are used again. What stood there at the start is taken for flushed.
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

static void keep_content(const char *source, const char *id, off_t size) {
    char staged[PATH_MAX], path[PATH_MAX], bytes[1 << 16];
    snprintf(staged, sizeof staged, "%s/staged", kept);
    snprintf(path, sizeof path, "%s/%s", kept, id);
    int from = open(source, O_RDONLY), to = open(staged, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (from < 0 || to < 0) fail("unflushed: open");
    for (off_t at = 0; (at = lseek(from, at, SEEK_DATA)) >= 0 && at < size;) {
        off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end && at < size) {
            ssize_t read = pread(from, bytes, end - at < (off_t)sizeof bytes ? end - at : (off_t)sizeof bytes, at);
            if (read <= 0) break;
            if (pwrite(to, bytes, read, at) != read) fail("unflushed: write");
            at += read;
        }
        if (at < end) break;
    }
    if (ftruncate(to, size) != 0) fail("unflushed: truncate");
    close(from);
    close(to);
    if (rename(staged, path) != 0) fail("unflushed: rename");
}

static void keep_names(const char *folder, int contents) {
    char staged[PATH_MAX], path[PATH_MAX], id[80];
    snprintf(staged, sizeof staged, "%s/staged", kept);
    int start = snprintf(path, sizeof path, "%s/names", kept);
    snprintf(path + start, sizeof path - start, "%s", folder + strlen(data));
    for (char *letter = path + start; *letter; letter++) if (*letter == '/') *letter = '+';
    FILE *names = fopen(staged, "w");
    DIR *entries = opendir(folder);
    if (!names || !entries) fail("unflushed: open folder");
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        struct statx status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        if (identify(dirfd(entries), entry->d_name, AT_SYMLINK_NOFOLLOW, &status, id) != 0) continue;
        fprintf(names, "%c %s %s\n", S_ISDIR(status.stx_mode) ? 'd' : 'f', id, entry->d_name);
    }
    fclose(names);
    if (rename(staged, path) != 0) fail("unflushed: rename");
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
    if (data && access(data, F_OK) == 0) keep_names(data, 1);
}

static int flush(const char *name, int descriptor) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int done = real(descriptor), error = errno;
    char link[64], path[PATH_MAX], id[80];
    struct statx status;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = data && done == 0 ? readlink(link, path, sizeof path - 1) : -1;
    if (length > 0) {
        path[length] = 0;
        size_t folder = strlen(data);
        if (!strncmp(path, data, folder) && (path[folder] == '/' || !path[folder])
            && identify(descriptor, "", AT_EMPTY_PATH, &status, id) == 0) {
            pthread_mutex_lock(&one_at_a_time);
            if (S_ISDIR(status.stx_mode)) keep_names(path, 0);
            else if (S_ISREG(status.stx_mode)) keep_content(link, id, status.stx_size);
            pthread_mutex_unlock(&one_at_a_time);
        }
    }
    errno = error;
    return done;
}

int fsync(int descriptor) { return flush("fsync", descriptor); }
int fdatasync(int descriptor) { return flush("fdatasync", descriptor); }
