/* Decides by its name whose a kernel is. If the driver launches it for a DSL such as Triton, the caller shows little.
 *
 * Part of launch_recorder.c. A kernel is the submission's own if its name is in the submission's text, or if a DSL names it after one of
 * the submission's functions. Kernels that PyTorch's compiler generates, or that come with PyTorch or a DSL, are not. A kernel of CUB,
 * Thrust or CUTLASS is a vendor's work, in any object: it is recorded as own, and not left out. evaluator/worker/origin.py has the same
 * rules.
 */

static char *source; /* the submission's text, and library_kernels and kernel_names of evaluator/dsl/plugin.py, once they are known */
static char *kernel_names;

void assay_recorder_source(const char *text, const char *names) {
    source = strdup(text);
    kernel_names = strdup(names);
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the text contains these letters as a word. */
static int has_word(const char *text, const char *word, size_t length) {
    const char *end = text ? text + strlen(text) : NULL;
    for (const char *at = text; at && length; ++at) {
        at = memmem(at, (size_t)(end - at), word, length);
        if (!at) return 0;
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[length])) return 1;
    }
    return 0;
}

/* Length of a kernel's name with return type and namespaces, without parameters and compilers' additions. */
static size_t qualified_length(const char *kernel) {
    static const char ANONYMOUS[] = "(anonymous namespace)::";
    size_t end = strcspn(kernel, "(<[$");
    while (starts_with(kernel + end, ANONYMOUS)) end += sizeof ANONYMOUS - 1, end += strcspn(kernel + end, "(<[$");
    return end;
}

/* The last name in a kernel's, without return type and namespaces. */
static const char *base_name(const char *kernel, size_t *length) {
    size_t end = qualified_length(kernel), begin = end;
    while (begin && kernel[begin - 1] != ':' && kernel[begin - 1] != ' ') --begin;
    *length = end - begin;
    return kernel + begin;
}

/* Name of the shared object at this address, without its folder; NULL if there is none. */
static const char *file_at(const void *caller) {
    Dl_info who = {0};
    if (!dladdr(caller, &who) || !who.dli_fname) return NULL;
    const char *slash = strrchr(who.dli_fname, '/');
    return slash ? slash + 1 : who.dli_fname;
}

/* Whether it is CuTe DSL's runtime, which launches the submission's kernels through its own copy of CUDA's runtime. */
static int is_cute_runtime(const char *file) {
    return starts_with(file, "libcute_dsl_runtime");
}

/* Whether it is a library that launches its own kernels through the driver; a submission's text can contain their names. */
static int is_library(const void *caller) {
    static const char *const libraries[] = {"libtorch_cuda", "libcu", "libnccl"};
    const char *file = file_at(caller);
    for (size_t i = 0; file && !is_cute_runtime(file) && i < sizeof libraries / sizeof *libraries; ++i)
        if (starts_with(file, libraries[i])) return 1;
    return 0;
}

/* The first word of a text, and its length; NULL where there is none. */
static const char *first_word(const char *text, size_t *length) {
    if (!text) return NULL;
    text += strspn(text, " ");
    *length = strcspn(text, " ");
    return *length ? text : NULL;
}

/* Whether a kernel comes with a DSL: it matches a name, which may end in a `*`. */
static int is_of_library(const char *kernel) {
    size_t length;
    for (const char *name = first_word(kernel_names, &length); name; name = first_word(name + length, &length)) {
        int any_end = name[length - 1] == '*';
        if (strncmp(kernel, name, length - any_end) == 0 && (any_end || kernel[length] == 0)) return 1;
    }
    return 0;
}

/* Whether the submission has a Python function of this name. */
static int defines(const char *function, size_t length) {
    char text[4 + 256] = "def ";
    if (!length || length > sizeof text - 4) return 0;
    memcpy(text + 4, function, length);
    return has_word(source, text, 4 + length);
}

/* Whether a DSL gives this name to the kernel of a function that the submission defines. */
static int names_function(const char *kernel, size_t length) {
    static const char FUNCTION[] = "{name}";
    size_t size;
    for (const char *form = first_word(kernel_names, &size); form; form = first_word(form + size, &size)) {
        const char *hole = memmem(form, size, FUNCTION, sizeof FUNCTION - 1);
        if (!hole) continue;
        const char *tail = hole + sizeof FUNCTION - 1;
        size_t before = (size_t)(hole - form), after = size - before - (sizeof FUNCTION - 1);
        int any_end = after && tail[after - 1] == '*';
        after -= any_end;
        if (length < before || strncmp(kernel, form, before) != 0) continue;
        for (size_t at = before; at + after <= length; ++at)
            if (strncmp(kernel + at, tail, after) == 0 && (any_end || at + after == length) && defines(kernel + before, at - before)) return 1;
    }
    return 0;
}

static int is_named(const char *kernel) {
    size_t length;
    const char *name = base_name(kernel, &length);
    return has_word(source, name, length) || names_function(name, length);
}

/* triton_poi_fused_add_0 and the like. */
static int is_fused(const char *kernel) {
    if (!starts_with(kernel, "triton_")) return 0;
    const char *kind = kernel + strlen("triton_");
    size_t length = strcspn(kind, "_");
    return length == 3 && starts_with(kind + length, "_fused_");
}

/* Where one of the names begins, at the start of a word, in `length` letters of a text; NULL if none does. */
static const char *find_name(const char *text, size_t length, const char *const *names, size_t count) {
    for (const char *at = text; at < text + length; ++at)
        for (size_t i = 0; (at == text || !is_letter(at[-1])) && i < count; ++i)
            if (strlen(names[i]) <= (size_t)(text + length - at) && starts_with(at, names[i])) return at;
    return NULL;
}

/* For a CUTLASS wrapper kernel, the template argument that it constructs and calls; other kernels unchanged. */
static const char *called_by_wrapper(const char *kernel) {
    static const char *const wrappers[] = {"cutlass::Kernel<", "cutlass::Kernel2<", "cutlass::device_kernel<"};
    size_t length = qualified_length(kernel);
    if (kernel[length] != '<') return kernel;
    const char *found = find_name(kernel, length + 1, wrappers, sizeof wrappers / sizeof *wrappers);
    return found ? kernel + length + 1 : kernel;
}

/* Whether a kernel's function is in a namespace of CUB, Thrust or CUTLASS, which can be wrapped in another. Arguments don't count. */
static int is_vendors(const char *kernel) {
    static const char *const vendors[] = {"cub::", "thrust::", "cutlass::"};
    const char *name = called_by_wrapper(kernel);
    return find_name(name, qualified_length(name), vendors, sizeof vendors / sizeof *vendors) != NULL;
}

static int is_others(const char *kernel) {
    if (is_fused(kernel) || strcmp(kernel, "triton_") == 0 || is_of_library(kernel)) return 1;
    return source && starts_with(kernel, "triton_") && !is_named(kernel);
}
