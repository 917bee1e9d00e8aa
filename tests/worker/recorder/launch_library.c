/* Launches a kernel of a library, found by GET, and then a function in its place. */
#include <dlfcn.h>
#include <stddef.h>
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLibraryGetKernel(void **, void *, const char *);
int cuLibraryEnumerateKernels(void **, unsigned, void *);
int cuLibraryUnload(void *);
int launch_limited(void) {
    void *found[4] = {NULL, "not a kernel", NULL, NULL};
    volatile int codes = GET;
    codes += cuLaunchKernel(found[0], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += cuLibraryUnload("library");
    codes += cuLaunchKernel(found[0], 2, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    return codes;
}
