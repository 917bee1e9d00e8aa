// A GPU of one block at a time, on threads of the host: enough to run the comparison's kernels (KERNELS) where there is no GPU.
// Each thread of a block is a thread; barriers and shuffles are what CUDA says they are, for code in which whole warps take part.

#include <barrier>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

using std::fabs;
using std::sqrt;

struct Position { unsigned x; };
static thread_local Position threadIdx, blockIdx;
static Position gridDim;

static constexpr unsigned BLOCK = 256, WARP = 32;
static std::barrier<> block_barrier(BLOCK);
static std::deque<std::barrier<>> warp_barriers;
static double exchanged[BLOCK];

static void __syncthreads() { block_barrier.arrive_and_wait(); }

static double __shfl_xor_sync(unsigned, double value, unsigned distance)
{
    std::barrier<>& barrier = warp_barriers[threadIdx.x / WARP];
    exchanged[threadIdx.x] = value;
    barrier.arrive_and_wait();
    const double other = exchanged[threadIdx.x ^ distance];
    barrier.arrive_and_wait();
    return other;
}

template <typename To, typename From>
static To same_bits(From value)
{
    static_assert(sizeof(To) == sizeof(From));
    To result;
    std::memcpy(&result, &value, sizeof result);
    return result;
}

static float __uint_as_float(unsigned bits) { return same_bits<float>(bits); }
static double __longlong_as_double(long long bits) { return same_bits<double>(bits); }

#include KERNELS

static_assert(THREADS == BLOCK);
extern "C" const unsigned long long LAYOUT[] = {THREADS, TILE, sizeof(Plan), sizeof(Figures)};

extern "C" int launch(const char* name, unsigned blocks, const Plan* plan)
{
    const std::string wanted = name;
    void (*kernel)(Plan) = wanted == "measure_segments" ? measure_segments
        : wanted == "measure_scales"                    ? measure_scales
        : wanted == "measure_errors"                    ? measure_errors
        : wanted == "sum_blocks"                        ? sum_blocks
                                                        : nullptr;
    if (kernel == nullptr) return 1;
    while (warp_barriers.size() < BLOCK / WARP) warp_barriers.emplace_back(WARP);
    gridDim.x = blocks;
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < BLOCK; ++thread) {
        threads.emplace_back([=] {
            threadIdx.x = thread;
            for (unsigned block = 0; block < blocks; ++block) {
                blockIdx.x = block;
                kernel(*plan);
                __syncthreads();  // before the next block writes over what is shared
            }
        });
    }
    return 0;
}
