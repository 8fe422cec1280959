// Put before the C library in a confined process: where no temporary folder can be made in /tmp, it is made in the folder
// that TMPDIR names. Halide asks for one in /tmp whatever the environment says, and takes the name that it gets.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*Function)(char *);

char *mkdtemp(char *pattern) {
    static _Thread_local char elsewhere[4096];
    Function next;
    *(void **)&next = dlsym(RTLD_NEXT, "mkdtemp");
    char *made = next(pattern);
    const char *folder = getenv("TMPDIR"), *name = strrchr(pattern, '/');
    if (made || errno != EACCES || !folder || !name) {
        return made;
    }
    const int length = snprintf(elsewhere, sizeof(elsewhere), "%s%s", folder, name);
    // After a failure the letters to be replaced need not be as they were.
    if (length < 6 || length >= (int)sizeof(elsewhere)) {
        errno = EACCES;
        return NULL;
    }
    memcpy(elsewhere + length - 6, "XXXXXX", 6);
    return next(elsewhere);
}
