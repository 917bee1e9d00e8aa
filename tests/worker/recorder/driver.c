/* A driver with kernels of libraries, which are no functions. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* A kernel of a library begins with L; whoever takes it for a function goes down, and the other way round. */
static char kernel[16] = "Lone", function[16] = "Fone";
int cuLaunchKernel(const char *k, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned s, void *t,
                   void **a, void **e) { return 0; }
int cuLibraryGetKernel(char **found, void *library, const char *name) { *found = kernel; return *name == 'o' ? 0 : 500; }
int cuLibraryGetKernelCount(unsigned *count, void *library) { *count = 1; return 0; }
int cuLibraryEnumerateKernels(char **found, unsigned count, void *library) { *found = kernel; return 0; }
int cuLibraryUnload(void *library) { memcpy(kernel, "Ftwo", 4); return 0; }
int cuKernelGetFunction(char **found, const char *k) { if (*k != 'L') abort(); *found = function; return 0; }
int cuKernelGetName(const char **name, const char *k) { if (*k != 'L') abort(); *name = "of_a_library"; return 0; }
int cuFuncGetName(const char **name, const char *f) { if (*f != 'F') abort(); *name = f; return 0; }
int cuFuncGetAttribute(int *value, int attribute, const char *f) { if (*f != 'F') abort(); *value = 10 * attribute + 1; return 0; }
