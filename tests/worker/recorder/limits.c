/* Functions of the runtime that the recorder asks about kernels; it knows those whose name begins with k. */
typedef struct { unsigned long shared, constant, local; int threads, registers, ptx, binary, cache, dynamic, rest[64]; } attributes_t;
static int error;
int cudaPeekAtLastError(void) { return error; }
int cudaGetLastError(void) { int was = error; error = 0; return was; }
int cudaFuncGetAttributes(attributes_t *found, const char *kernel) {
    if (*kernel != 'k') return error = 98;
    *found = (attributes_t){1024, 0, 48, 640, 90, 0, 0, 0, 49152, {0}};
    return 0;
}
