#include <cstdint>

void relu(const float* in, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = std::max(in[i], zero);
}
