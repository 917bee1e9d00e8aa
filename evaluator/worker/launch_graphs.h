/* Records kernel nodes of CUDA graphs: a record like a launch's, which counts the launches of graphs with the node.
 *
 * Part of launch_recorder.c. Adding a node, or giving it another kernel, makes a record. An instantiated graph is walked, with its child
 * graphs, so captured and cloned nodes are found too: by their kernel, which was recorded when it was captured or added. Such a capture
 * counts as one launch. While own kernels are left out, an own node is added as an empty one, and changes of it have no effect.
 *
 * Runtime and driver have the same handles and the same parameters of a kernel node. All functions here have at most six arguments that
 * are integers or pointers, so one form of call forwards them all.
 */

/* The leading members of cudaKernelNodeParams and CUDA_KERNEL_NODE_PARAMS. A driver's node has either a function or a library kernel. */
typedef struct {
    const void *function;
    extent_t grid, block;
    unsigned shared_bytes;
    void *parameters, *extra;
    const void *library_kernel; /* the driver's only, from its second version on */
} kernel_node_t;

enum { KERNEL_NODE = 0, CHILD_GRAPH = 4 }; /* CUgraphNodeType */
enum { NODE_PARAMETERS = 16 };             /* their offset in cudaGraphNodeParams and CUgraphNodeParams, which begin with the type */

typedef struct { const void *node; record_t *record; } graph_node_t;
typedef struct { const void *exec; unsigned count; graph_node_t *nodes; } executable_t;

enum { EXECUTABLES = 1024 };
static executable_t executables[EXECUTABLES]; /* the latest ones */
static unsigned executables_made;
static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before `lock` */

static int is_of_driver(const char *api) {
    return starts_with(api, "cu") && !starts_with(api, "cuda");
}

/* The driver's function of a kernel that was launched or added; NULL if it is not known. */
static const void *function_of(const void *kernel, int driver_api) {
    typedef int (*find_t)(const void **, const void *);
    const void *function = NULL;
    if (driver_api) {
        find_t of_library_kernel = (find_t)driver_symbol("cuKernelGetFunction");
        if (!is_library_kernel(kernel)) return kernel;
        return of_library_kernel && of_library_kernel(&function, kernel) == 0 ? function : NULL;
    }
    find_t of_symbol = (find_t)runtime_symbol("cudaGetFuncBySymbol");
    if (!of_symbol || !find_runtime()) return NULL;
    int before = runtime.peek();
    return went_well(of_symbol(&function, kernel), before) ? function : NULL;
}

/* The record of a kernel with this function; NULL if there is none. */
static record_t *record_of(const void *function) {
    for (uint64_t i = 0; function && i < table->used && i < RECORDS; ++i) {
        record_t *record = &table->records[i];
        if (!recorded[i].function) recorded[i].function = function_of(recorded[i].kernel, is_of_driver(record->api));
        if (recorded[i].function == function) return record;
    }
    return NULL;
}

/* The driver's functions that show what a graph holds. */
typedef struct {
    int (*nodes)(void *, void **, size_t *);
    int (*type)(void *, int *);
    int (*kernel)(void *, void *);
    int (*child)(void *, void **);
} reader_t;

static int find_reader(reader_t *reader) {
    *(void **)&reader->nodes = driver_symbol("cuGraphGetNodes");
    *(void **)&reader->type = driver_symbol("cuGraphNodeGetType");
    *(void **)&reader->kernel = driver_symbol("cuGraphKernelNodeGetParams_v2");
    *(void **)&reader->child = driver_symbol("cuGraphChildGraphNodeGetGraph");
    return reader->nodes && reader->type && reader->kernel && reader->child;
}

static record_t *record_of_node(const reader_t *reader, void *node) {
    char parameters[256] = {0}; /* longer than any version's */
    const kernel_node_t *kernel = (const kernel_node_t *)parameters;
    if (reader->kernel(node, parameters) != 0) return NULL;
    return record_of(kernel->function ? kernel->function : function_of(kernel->library_kernel, 1));
}

static void add_to(executable_t *executable, graph_node_t node) {
    graph_node_t *grown = realloc(executable->nodes, (executable->count + 1) * sizeof *grown);
    if (!grown) return;
    executable->nodes = grown;
    executable->nodes[executable->count++] = node;
}

/* Adds a graph's kernel nodes that have a record, and those of its child graphs. */
static void walk(const reader_t *reader, void *graph, executable_t *executable) {
    size_t count = 0;
    if (reader->nodes(graph, NULL, &count) != 0 || !count) return;
    void **nodes = calloc(count, sizeof *nodes);
    if (!nodes || reader->nodes(graph, nodes, &count) != 0) count = 0;
    for (size_t i = 0; i < count; ++i) {
        int type = -1;
        record_t *record = reader->type(nodes[i], &type) == 0 && type == KERNEL_NODE ? record_of_node(reader, nodes[i]) : NULL;
        if (record) add_to(executable, (graph_node_t){nodes[i], record});
        void *child = NULL;
        if (type == CHILD_GRAPH && reader->child(nodes[i], &child) == 0) walk(reader, child, executable);
    }
    free(nodes);
}

static executable_t *executable_of(const void *exec) {
    for (unsigned i = 0; exec && i < executables_made && i < EXECUTABLES; ++i)
        if (executables[i].exec == exec) return &executables[i];
    return NULL;
}

/* An executable graph was made of a graph, or updated by it. */
static void remember_graph(const void *exec, void *graph) {
    reader_t reader;
    if (!table || !exec || !find_reader(&reader)) return;
    pthread_mutex_lock(&graphs_lock);
    executable_t *executable = executable_of(exec);
    if (!executable) executable = &executables[executables_made++ % EXECUTABLES];
    executable->exec = exec;
    executable->count = 0;
    walk(&reader, graph, executable);
    pthread_mutex_unlock(&graphs_lock);
}

static void count_graph(const void *exec, void *stream) {
    if (!table) return;
    pthread_mutex_lock(&graphs_lock);
    executable_t *executable = executable_of(exec);
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; executable && i < executable->count; ++i) {
        record_t *record = executable->nodes[i].record;
        record->last = table->total++;
        if (record->count++ == 0) record->first = record->last;
        if (stream > PER_THREAD_STREAM) record->side_stream = 1;
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&graphs_lock);
}

/* A node of an executable graph got another kernel. */
static void change_node(const void *exec, const void *node, record_t *record) {
    pthread_mutex_lock(&graphs_lock);
    executable_t *executable = executable_of(exec);
    for (unsigned i = 0; record && executable && i < executable->count; ++i)
        if (executable->nodes[i].node == node) executable->nodes[i].record = record;
    pthread_mutex_unlock(&graphs_lock);
}

/* What a node would launch, by its parameters; no kernel for other nodes. */
static asked_t asked_by(const char *api, const void *caller, const void *parameters, int of_any_kind) {
    asked_t asked = {.api = api, .caller = caller, .driver_api = is_of_driver(api)};
    if (!parameters || (of_any_kind && *(const int *)parameters != KERNEL_NODE)) return asked;
    const kernel_node_t *node = (const kernel_node_t *)((const char *)parameters + (of_any_kind ? NODE_PARAMETERS : 0));
    asked.kernel = node->function || !asked.driver_api ? node->function : node->library_kernel;
    asked.grid = node->grid, asked.block = node->block, asked.shared_bytes = node->shared_bytes;
    return asked;
}

/* The record of a node's kernel, made without a launch if there is none. A refused node is noted like a refused launch. */
static record_t *note_node(const asked_t *asked, int code) {
    if (code != 0) note(asked, code, NULL);
    if (!table || code != 0) return NULL;
    pthread_mutex_lock(&lock);
    record_t *record = find(asked->api, asked->kernel, asked->caller);
    int is_new = record && record->count == 0 && strcmp(record->kernel, UNNAMED) == 0;
    if (is_new) describe(record, asked, 0);
    pthread_mutex_unlock(&lock);
    if (is_new) identify(record, asked);
    return record;
}

typedef void *const *arguments_t; /* six */

static int forward(void *real, arguments_t given) {
    typedef int (*call_t)(void *, void *, void *, void *, void *, void *);
    return real ? ((call_t)real)(given[0], given[1], given[2], given[3], given[4], given[5]) : NOT_FOUND;
}

/* (node, graph, dependencies, [edges,] count, parameters), the last at this place. */
static int add_node(void *real, const char *api, const void *caller, arguments_t given, int place, int of_any_kind) {
    typedef int (*add_empty_t)(void *, void *, void *, void *);
    const asked_t asked = asked_by(api, caller, given[place], of_any_kind);
    if (!asked.kernel) return forward(real, given);
    if (left_out(caller, asked.kernel, asked.driver_api)) {
        add_empty_t add = (add_empty_t)driver_symbol("cuGraphAddEmptyNode");
        return add ? add(given[0], given[1], given[2], given[place - 1]) : NOT_FOUND;
    }
    int code = forward(real, given);
    note_node(&asked, code);
    return code;
}

/* ([executable,] node, parameters), the last at this place. */
static int set_node(void *real, const char *api, const void *caller, arguments_t given, int place, int of_any_kind) {
    const asked_t asked = asked_by(api, caller, given[place], of_any_kind);
    if (!asked.kernel) return forward(real, given);
    if (left_out(caller, asked.kernel, asked.driver_api)) return 0;
    int code = forward(real, given);
    record_t *record = note_node(&asked, code);
    if (place == 2) change_node(given[0], given[1], record);
    return code;
}

/* (executable, graph, …): an address of the executable if it is made. */
static int make_executable(void *real, const char *api, const void *caller, arguments_t given, int place, int makes) {
    int code = forward(real, given);
    if (code == 0) remember_graph(makes ? *(void **)given[0] : given[0], given[1]);
    return code;
}

/* (executable, stream) */
static int launch_graph(void *real, const char *api, const void *caller, arguments_t given, int place, int unused) {
    int code = forward(real, given);
    if (code == 0) count_graph(given[0], given[1]);
    return code;
}

#define GRAPH_FUNCTION(name, does, place, flag)                                                                                       \
    static void *real_##name;                                                                                                         \
    int name(void *a, void *b, void *c, void *d, void *e, void *f) {                                                                  \
        void *const given[] = {a, b, c, d, e, f};                                                                                     \
        return does(next(&real_##name, #name), #name, __builtin_return_address(0), given, place, flag);                               \
    }

/* Whether cudaGraphAddNode takes edges. */
static int takes_edges(void) {
    enum { WITH_EDGES = 13000 };
    int (*version_of)(int *) = (int (*)(int *))runtime_symbol("cudaRuntimeGetVersion"), version = 0;
    return version_of && version_of(&version) == 0 && version >= WITH_EDGES;
}

GRAPH_FUNCTION(cudaGraphAddKernelNode, add_node, 4, 0)
GRAPH_FUNCTION(cudaGraphAddNode, add_node, takes_edges() ? 5 : 4, 1)
GRAPH_FUNCTION(cudaGraphAddNode_v2, add_node, 5, 1)
GRAPH_FUNCTION(cudaGraphKernelNodeSetParams, set_node, 1, 0)
GRAPH_FUNCTION(cudaGraphNodeSetParams, set_node, 1, 1)
GRAPH_FUNCTION(cudaGraphExecKernelNodeSetParams, set_node, 2, 0)
GRAPH_FUNCTION(cudaGraphExecNodeSetParams, set_node, 2, 1)
GRAPH_FUNCTION(cudaGraphInstantiate, make_executable, 1, 1)
GRAPH_FUNCTION(cudaGraphInstantiateWithFlags, make_executable, 1, 1)
GRAPH_FUNCTION(cudaGraphInstantiateWithParams, make_executable, 1, 1)
GRAPH_FUNCTION(cudaGraphInstantiateWithParams_ptsz, make_executable, 1, 1)
GRAPH_FUNCTION(cudaGraphExecUpdate, make_executable, 1, 0)
GRAPH_FUNCTION(cudaGraphLaunch, launch_graph, 1, 0)
GRAPH_FUNCTION(cudaGraphLaunch_ptsz, launch_graph, 1, 0)

GRAPH_FUNCTION(cuGraphAddKernelNode, add_node, 4, 0)
GRAPH_FUNCTION(cuGraphAddKernelNode_v2, add_node, 4, 0)
GRAPH_FUNCTION(cuGraphAddNode, add_node, 4, 1)
GRAPH_FUNCTION(cuGraphAddNode_v2, add_node, 5, 1)
GRAPH_FUNCTION(cuGraphKernelNodeSetParams, set_node, 1, 0)
GRAPH_FUNCTION(cuGraphKernelNodeSetParams_v2, set_node, 1, 0)
GRAPH_FUNCTION(cuGraphNodeSetParams, set_node, 1, 1)
GRAPH_FUNCTION(cuGraphExecKernelNodeSetParams, set_node, 2, 0)
GRAPH_FUNCTION(cuGraphExecKernelNodeSetParams_v2, set_node, 2, 0)
GRAPH_FUNCTION(cuGraphExecNodeSetParams, set_node, 2, 1)
GRAPH_FUNCTION(cuGraphInstantiate, make_executable, 1, 1)
GRAPH_FUNCTION(cuGraphInstantiate_v2, make_executable, 1, 1)
GRAPH_FUNCTION(cuGraphInstantiateWithFlags, make_executable, 1, 1)
GRAPH_FUNCTION(cuGraphInstantiateWithParams, make_executable, 1, 1)
GRAPH_FUNCTION(cuGraphInstantiateWithParams_ptsz, make_executable, 1, 1)
GRAPH_FUNCTION(cuGraphExecUpdate, make_executable, 1, 0)
GRAPH_FUNCTION(cuGraphExecUpdate_v2, make_executable, 1, 0)
GRAPH_FUNCTION(cuGraphLaunch, launch_graph, 1, 0)
GRAPH_FUNCTION(cuGraphLaunch_ptsz, launch_graph, 1, 0)

#define SEEN(name) {#name, (void *)name, &real_##name}
/* For lookups by name. */
#define DRIVER_GRAPH_FUNCTIONS                                                                                                        \
    SEEN(cuGraphAddKernelNode), SEEN(cuGraphAddKernelNode_v2), SEEN(cuGraphAddNode), SEEN(cuGraphAddNode_v2),                         \
        SEEN(cuGraphKernelNodeSetParams), SEEN(cuGraphKernelNodeSetParams_v2), SEEN(cuGraphNodeSetParams),                            \
        SEEN(cuGraphExecKernelNodeSetParams), SEEN(cuGraphExecKernelNodeSetParams_v2), SEEN(cuGraphExecNodeSetParams),                \
        SEEN(cuGraphInstantiate), SEEN(cuGraphInstantiate_v2), SEEN(cuGraphInstantiateWithFlags),                                     \
        SEEN(cuGraphInstantiateWithParams), SEEN(cuGraphExecUpdate), SEEN(cuGraphExecUpdate_v2), SEEN(cuGraphLaunch)
