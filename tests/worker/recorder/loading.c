/* Launches while it is asked for a kernel's name. */
#include <dlfcn.h>
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) { return 0; }
int cudaFuncGetName(const char **name, const char *kernel) {  /* loads the kernel's module, and launches what initialises it */
    static int loaded;
    int (*launch)(const char *, extent_t, extent_t, void **, size_t, void *) = dlsym(RTLD_DEFAULT, "cudaLaunchKernel");
    *name = kernel;
    return loaded++ ? 0 : launch("initialises", (extent_t){1, 1, 1}, (extent_t){1, 1, 1}, NULL, 0, NULL);
}
