// Put before the C library in a confined process: a temporary folder is made in the folder that TMPDIR names, whatever folder it is
// asked for. Halide asks for one in /tmp whatever the environment says, and takes the name that it gets. In /tmp a process may make none;
// where it may, as in kernels without Landlock, one that is stopped half way would leave it there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *mkdtemp(char *pattern) {
    static _Thread_local char own[4096];
    char *(*next)(char *);
    *(void **)&next = dlsym(RTLD_NEXT, "mkdtemp");
    const char *folder = getenv("TMPDIR"), *name = strrchr(pattern, '/');
    if (!folder || !name || (strlen(folder) == (size_t)(name - pattern) && strncmp(folder, pattern, strlen(folder)) == 0)) {
        return next(pattern);  // which gets the name that was made: not everybody takes the one that is returned
    }
    const int length = snprintf(own, sizeof(own), "%s%s", folder, name);
    char *made = length > 0 && length < (int)sizeof(own) ? next(own) : NULL;
    return made ? made : next(pattern);
}
