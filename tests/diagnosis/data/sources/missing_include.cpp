#include <vector>
#include "fast_math_helpers.h"

int f() { return 1; }
