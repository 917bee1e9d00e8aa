__global__ void tiled(const float* a, float* out) {
    __shared__ float tile[128][129];
    tile[threadIdx.y][threadIdx.x] = a[threadIdx.y * 128 + threadIdx.x];
    __syncthreads();
    out[threadIdx.x * 128 + threadIdx.y] = tile[threadIdx.y][threadIdx.x];
}
