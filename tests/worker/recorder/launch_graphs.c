/* A graph with nodes in a child graph, added, of any kind, by the driver in two ways, and captured; launched twice, then changed. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
typedef struct { unsigned x, y, z; } extent_t;
typedef struct { const char *function; extent_t grid, block; unsigned shared; void *parameters, *extra; const char *library; } kernel_t;
typedef struct { int type, reserved[3]; kernel_t kernel; } any_t;
int cudaLaunchKernel(const char *, extent_t, extent_t, void **, unsigned long, void *);
int cudaGraphAddKernelNode(void **, void *, void *, size_t, const kernel_t *);
int cudaGraphAddChild(void **, void *, void *);
int cudaGraphAddNode(void **, void *, void *, ...);
int cuGraphAddKernelNode_v2(void **, void *, void *, size_t, const kernel_t *);
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphExecKernelNodeSetParams(void *, void *, const kernel_t *);
int cudaGraphLaunch(void *, void *);
void begin_capture(void *);
int kernels_run(void);
typedef int (*get_t)(const char *, void **, int, unsigned long, int *);
typedef int (*add_t)(void **, void *, void *, void *, size_t, const any_t *);
static kernel_t kernel(const char *name, unsigned blocks) { return (kernel_t){name, {blocks, 1, 1}, {64, 1, 1}, 512}; }
int launch_limited(void) {
    void *graph = calloc(1, 4096), *child = calloc(1, 4096), *node, *changed, *exec;
    kernel_t one = kernel("one", 1), driven = kernel("driven", 3), below = kernel("below", 4), late = kernel("late", 5);
    kernel_t never = kernel("never", 6), refused = kernel("refused", 0);
    any_t any = {0, {0}, kernel("any", 2)}, asked = {0, {0}, kernel("asked", 8)}, other = {5};
    add_t add = NULL;
    volatile int codes = 0;
    codes += cudaGraphAddKernelNode(&node, child, NULL, 0, &below);
    codes += cudaGraphAddChild(&node, graph, child);
    codes += cudaGraphAddKernelNode(&changed, graph, NULL, 0, &one);
#if RUNTIME >= 13000
    codes += cudaGraphAddNode(&node, graph, NULL, NULL, (size_t)0, &any) + cudaGraphAddNode(&node, graph, NULL, NULL, (size_t)0, &other);
#else
    codes += cudaGraphAddNode(&node, graph, NULL, (size_t)0, &any) + cudaGraphAddNode(&node, graph, NULL, (size_t)0, &other);
#endif
    codes += cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &driven);
    codes += ((get_t)dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"))("cuGraphAddNode", (void **)&add, 12030, 0, NULL);
    codes += add(&node, graph, NULL, NULL, 0, &asked);
    begin_capture(graph);
    codes += cudaLaunchKernel("captured", (extent_t){7, 1, 1}, (extent_t){32, 1, 1}, NULL, 0, NULL);
    begin_capture(NULL);
    codes += cudaGraphAddKernelNode(&node, calloc(1, 4096), NULL, 0, &never);
    codes += cudaGraphAddKernelNode(&node, child, NULL, 0, &refused);
    codes += cudaGraphInstantiate(&exec, graph, 0);
    codes += cudaGraphLaunch(exec, NULL) + cudaGraphLaunch(exec, (void *)9);
    codes += cudaGraphExecKernelNodeSetParams(exec, changed, &late);
    codes += cudaGraphLaunch(exec, NULL);
    return 100 * codes + kernels_run();
}
