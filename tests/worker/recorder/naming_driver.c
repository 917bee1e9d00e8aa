/* In the place of the driver: a kernel is its name. */
#include <string.h>
static int launched;
int launches(void) { return launched; }
int cuFuncGetName(const char **name, const char *kernel) { *name = kernel; return 0; }
int cuLaunchKernel(void *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *t, void **a,
                   void **e) { ++launched; return 0; }
int cuLaunchCooperativeKernel(void *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *t,
                              void **a) { ++launched; return 0; }
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, int *status) {
    *found = strcmp(name, "cuLaunchKernel") == 0 ? (void *)cuLaunchKernel : NULL;
    if (strcmp(name, "cuGetProcAddress") == 0 && version >= 12000) *found = (void *)cuGetProcAddress_v2;
    return *found ? 0 : 500;
}
