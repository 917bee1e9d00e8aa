template <int N>
struct Tile {
    static_assert(N % 32 == 0, "a tile has whole warps");
    float data[N];
};

template <int N>
__global__ void f(float* out) {
    __shared__ Tile<N> tile;
    tile.data[threadIdx.x] = 1.0f;
    out[threadIdx.x] = tile.data[threadIdx.x];
}

void run(float* out) { f<40><<<1, 32>>>(out); }
