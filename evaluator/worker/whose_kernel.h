/* Whose a kernel is that the driver launches: of those that Triton, CuPy, Numba and the like launch, the caller says little.
 *
 * Part of launch_recorder.c. A kernel whose name stands in the submission's text is its own, whoever launches it for it. What PyTorch's
 * compiler generates is nobody's own, and nor are kernels that come with PyTorch or CuPy. evaluator/worker/origin.py has the same rules.
 */

static char *source; /* the submission's text, and the names of kernels that come with PyTorch, once they are known */
static char *installed_kernels;

void assay_recorder_source(const char *text, const char *names) {
    source = strdup(text);
    installed_kernels = strdup(names);
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Whether the text has these letters as a word. */
static int has_word(const char *text, const char *word, size_t length) {
    const char *end = text ? text + strlen(text) : NULL;
    for (const char *at = text; at && length; ++at) {
        at = memmem(at, (size_t)(end - at), word, length);
        if (!at) return 0;
        if ((at == text || !is_letter(at[-1])) && !is_letter(at[length])) return 1;
    }
    return 0;
}

/* The last name in a kernel's: without return type, namespaces, parameters and what compilers add to it. */
static const char *base_name(const char *kernel, size_t *length) {
    static const char ANONYMOUS[] = "(anonymous namespace)::";
    size_t end = strcspn(kernel, "(<[$");
    while (starts_with(kernel + end, ANONYMOUS)) end += sizeof ANONYMOUS - 1, end += strcspn(kernel + end, "(<[$");
    size_t begin = end;
    while (begin && kernel[begin - 1] != ':' && kernel[begin - 1] != ' ') --begin;
    *length = end - begin;
    return kernel + begin;
}

/* Whether it is one of the libraries that launch their own kernels by the driver; a submission can have their names in its text. */
static int is_library(const void *caller) {
    static const char *const libraries[] = {"libtorch_cuda", "libcu", "libnccl"};
    Dl_info who = {0};
    if (!dladdr(caller, &who) || !who.dli_fname) return 0;
    const char *slash = strrchr(who.dli_fname, '/');
    const char *file = slash ? slash + 1 : who.dli_fname;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; ++i)
        if (starts_with(file, libraries[i])) return 1;
    return 0;
}

static int is_named(const char *kernel) {
    size_t length;
    const char *name = base_name(kernel, &length);
    return has_word(source, name, length);
}

/* triton_poi_fused_add_0 and the like. */
static int is_fused(const char *kernel) {
    if (!starts_with(kernel, "triton_")) return 0;
    const char *kind = kernel + strlen("triton_");
    size_t length = strcspn(kind, "_");
    return length == 3 && starts_with(kind + length, "_fused_");
}

static int is_others(const char *kernel) {
    if (is_fused(kernel) || strcmp(kernel, "triton_") == 0 || starts_with(kernel, "cupy_")) return 1;
    if (has_word(installed_kernels, kernel, strlen(kernel))) return 1;
    return source && starts_with(kernel, "triton_") && !is_named(kernel);
}
