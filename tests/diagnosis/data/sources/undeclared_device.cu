__global__ void softmax(const float* in, float* out, int n) {
    float largest = warp_reduce_max(in[threadIdx.x]);
    out[threadIdx.x] = expf(in[threadIdx.x] - largest) / total;
}
