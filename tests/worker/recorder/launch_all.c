/* Launches in every way that there is. */
#include <dlfcn.h>
#include <stddef.h>
typedef struct { unsigned x, y, z; } extent_t;
int cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int __cudaLaunchKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaLaunchCooperativeKernel(const void *, extent_t, extent_t, void **, size_t, void *);
int cudaLaunchKernelExC(const void *, const void *, void **);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchKernelEx(const void *, void *, void **, void **);
static const extent_t one = {1, 1, 1};
static int config[32];
int launch_all(void) {
    volatile int codes = 0;  /* used after each call, so that none becomes a jump */
    codes += cudaLaunchKernel("k", one, one, NULL, 0, NULL);
    codes += __cudaLaunchKernel("k", one, one, NULL, 0, NULL);
    codes += cudaLaunchCooperativeKernel("k", one, one, NULL, 0, NULL);
    codes += cudaLaunchKernelExC(config, "k", NULL);
    codes += cuLaunchKernel("k", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += cuLaunchKernelEx(config, "k", NULL, NULL);
    return codes;
}
int launch_found(const char *path) {  /* as Triton's launchers find the driver's */
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    volatile int codes = 0;
    codes += ((int (*)(const char *, int, int, int, int, int, int, int, void *, void *, void *))dlsym(library, "cuLaunchKernel"))
        ("k", 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    codes += ((int (*)(const void *, const char *, void *, void *))dlsym(library, "cuLaunchKernelEx"))(config, "k", NULL, NULL);
    return codes + (dlsym(library, "cuLaunchNothing") != NULL) + (dlsym(RTLD_NEXT, "getpid") == NULL);
}
