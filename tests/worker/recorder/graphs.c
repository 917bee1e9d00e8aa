/* CUDA with graphs of kernels, which only counts what would run. A symbol's function is one byte further. */
#include <stdlib.h>
#include <string.h>
typedef struct { unsigned x, y, z; } extent_t;
typedef struct { const char *function; extent_t grid, block; unsigned shared; void *parameters, *extra; const char *library; } kernel_t;
typedef struct { int type; kernel_t kernel; struct graph *child; } node_t;
typedef struct graph { size_t count; node_t nodes[16]; } graph_t;
static graph_t *captured;
static int ran;
int kernels_run(void) { return ran; }
int cudaPeekAtLastError(void) { return 0; }
int cudaGetLastError(void) { return 0; }
int cudaEventCreate(void *e) { return 1; }
int cudaEventRecord(void *e, void *s) { return 1; }
int cudaEventElapsedTime(void *m, void *s, void *e) { return 1; }
int cudaStreamIsCapturing(void *s, void *c) { return 1; }
int cudaRuntimeGetVersion(int *version) { *version = RUNTIME; return 0; }
int cudaGetFuncBySymbol(const char **function, const char *symbol) { *function = symbol + 1; return 0; }
int cudaFuncGetName(const char **name, const char *symbol) { *name = symbol; return 0; }
int cuFuncGetName(const char **name, const char *function) { *name = function; return 0; }

static int added(node_t **node, graph_t *graph, node_t like) {
    *node = &graph->nodes[graph->count++];
    **node = like;
    return 0;
}
static kernel_t by_function(const kernel_t *given) {
    kernel_t kernel = *given;
    kernel.function += 1;
    return kernel;
}
void begin_capture(graph_t *graph) { captured = graph; }
int cudaLaunchKernel(const char *k, extent_t g, extent_t b, void **a, unsigned long s, void *t) {
    node_t *node;
    if (!captured) return ++ran, 0;
    return added(&node, captured, (node_t){0, {k + 1, g, b, s}});
}
int cuGraphAddEmptyNode(node_t **node, graph_t *graph, const void *before, size_t count) { return added(node, graph, (node_t){5}); }
int cudaGraphAddKernelNode(node_t **node, graph_t *graph, const void *before, size_t count, const kernel_t *kernel) {
    return kernel->grid.x ? added(node, graph, (node_t){0, by_function(kernel)}) : 1;
}
int cudaGraphAddChild(node_t **node, graph_t *graph, graph_t *child) { return added(node, graph, (node_t){4, {0}, child}); }
static int add_any(node_t **node, graph_t *graph, const char *any) {
    return added(node, graph, *(int *)any ? (node_t){5} : (node_t){0, by_function((const kernel_t *)(any + 16))});
}
#if RUNTIME >= 13000
int cudaGraphAddNode(node_t **n, graph_t *g, const void *b, const void *edges, size_t c, const char *any) { return add_any(n, g, any); }
#else
int cudaGraphAddNode(node_t **n, graph_t *g, const void *b, size_t c, const char *any) { return add_any(n, g, any); }
#endif
int cuGraphAddKernelNode_v2(node_t **node, graph_t *graph, const void *before, size_t count, const kernel_t *kernel) {
    return added(node, graph, (node_t){0, *kernel});
}
static int add_by_driver(node_t **node, graph_t *graph, const void *before, const void *edges, size_t count, const char *any) {
    return added(node, graph, (node_t){0, *(const kernel_t *)(any + 16)});
}
int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, int *status) {
    *found = strcmp(name, "cuGraphAddNode") == 0 && version >= 12030 ? (void *)add_by_driver : NULL;
    return *found ? 0 : 500;
}
int cudaGraphInstantiate(graph_t **exec, graph_t *graph, unsigned long long flags) { *exec = graph; return 0; }
int cudaGraphExecKernelNodeSetParams(graph_t *exec, node_t *node, const kernel_t *kernel) {
    if (node->type) return 1;
    node->kernel = by_function(kernel);
    return 0;
}
int cudaGraphLaunch(graph_t *exec, void *stream) {
    for (size_t i = 0; i < exec->count; ++i) {
        if (exec->nodes[i].type == 4) cudaGraphLaunch(exec->nodes[i].child, stream);
        ran += exec->nodes[i].type == 0;
    }
    return 0;
}
int cuGraphGetNodes(graph_t *graph, node_t **nodes, size_t *count) {
    for (size_t i = 0; nodes && i < graph->count; ++i) nodes[i] = &graph->nodes[i];
    *count = graph->count;
    return 0;
}
int cuGraphNodeGetType(node_t *node, int *type) { *type = node->type; return 0; }
int cuGraphKernelNodeGetParams_v2(node_t *node, kernel_t *kernel) { *kernel = node->kernel; return 0; }
int cuGraphChildGraphNodeGetGraph(node_t *node, graph_t **child) { *child = node->child; return 0; }
