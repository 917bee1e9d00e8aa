__global__ void huge(const float* in, float* out) {
    __shared__ float tile[300][256];
    for (int i = 0; i < 300; ++i) tile[i][threadIdx.x] = in[i * 256 + threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x][255 - threadIdx.x];
}
