__global__ void __launch_bounds__(1024) spilling(const float* in, float* out, int n) {
    float values[96];
#pragma unroll
    for (int i = 0; i < 96; ++i) values[i] = in[threadIdx.x + i * n];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 96; ++i) out[threadIdx.x + i * n] = values[95 - i] * values[i];
}
__global__ void plain(float* out) { out[threadIdx.x] = 1.0f; }
