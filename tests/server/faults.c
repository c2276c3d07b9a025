/* Preloaded into `quorate serve`: from the FAIL_FDATASYNC_AT-th fdatasync on each fails with EIO; once FAIL_PWRITE_AFTER bytes
   are written the disk is full. Every failure adds a line to FAULTS_LOG. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long syncs, written;

static long setting(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? -1 : atol(text);
}

static void note(const char* what) {
  FILE* log = fopen(getenv("FAULTS_LOG"), "a");
  if (log == NULL) abort();
  fprintf(log, "%s\n", what);
  fclose(log);
}

int fdatasync(int file) {
  const long at = setting("FAIL_FDATASYNC_AT");
  if (at >= 0 && atomic_fetch_add(&syncs, 1) + 1 >= at) {
    note("fdatasync");
    errno = EIO;
    return -1;
  }
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  return real(file);
}

static ssize_t write_at(const char* name, int file, const void* bytes, size_t size, off_t offset) {
  ssize_t (*real)(int, const void*, size_t, off_t) = (ssize_t (*)(int, const void*, size_t, off_t))dlsym(RTLD_NEXT, name);
  const long most = setting("FAIL_PWRITE_AFTER");
  if (most >= 0) {
    const long before = atomic_fetch_add(&written, (long)size);
    if (before >= most) {
      note("pwrite");
      errno = ENOSPC;
      return -1;
    }
    if (before + (long)size > most) size = (size_t)(most - before); /* a full disk takes a part */
  }
  return real(file, bytes, size, offset);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t offset) { return write_at("pwrite", file, bytes, size, offset); }
ssize_t pwrite64(int file, const void* bytes, size_t size, off_t offset) {
  return write_at("pwrite64", file, bytes, size, offset);
}
