#include <vector>

float slope(float x) { return x > 0.0f ? 1.0f : 0.01f; }

__global__ void f(const float* in, float* out) {
    std::vector<float> copy(4);
    out[threadIdx.x] = slope(in[threadIdx.x]);
}
