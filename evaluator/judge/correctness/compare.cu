// The figures of compare.Comparison.measure for one piece: candidate, reference and oracle are each read once in place, in their own types,
// and the oracle once more before that, for its scale. All arithmetic is in double, and equals the PyTorch form's for each element.
//
// VALUE (of candidate and reference) and ORACLE are compiler options: half_bits, bfloat_bits, float or double. Nothing is included, so the
// run-time compiler needs no headers. The order of every sum is fixed: figures are the same when measured twice.

typedef unsigned long long Count;

constexpr unsigned THREADS = 256;  // per block; the host relies on it
constexpr unsigned VECTOR = 4;     // elements that a thread reads at a time: 16 bytes of float
constexpr unsigned TILE = 4096;    // consecutive elements that a block reads at a time; the host relies on it

struct half_bits { unsigned short bits; };
struct bfloat_bits { unsigned short bits; };

// The parameters of a kernel; the host builds the same structure.
struct Plan {
    const void* candidate;
    const void* reference;
    const void* oracle;
    double* energies;  // rows x segments: sums of squares
    double* scales;    // rows
    void* blocks;      // one Figures per block
    double* result;    // the fields of Figures in order
    Count elements;    // rows x row_elements
    Count rows;
    Count row_elements;
    Count segments;  // per row
    Count segment_elements;
    Count block_count;  // of `blocks`
    Count lanes;        // lanes that share a segment: a power of two, at most 32
};

struct Figures {
    double largest_error, largest_reference_error;  // the reference's largest finite error
    double squared_error, squared_oracle;
    Count nonfinite_mismatches, infinite_reference_errors;
};

__device__ __forceinline__ double widen(double value) { return value; }
__device__ __forceinline__ double widen(float value) { return value; }
__device__ __forceinline__ double widen(bfloat_bits value) { return __uint_as_float((unsigned)value.bits << 16); }

__device__ __forceinline__ double widen(half_bits value)
{
    const unsigned magnitude = value.bits & 0x7fffu;
    // Shifted into a float's place, the exponent is 112 too small, for denormals too. An exponent of all ones must stay all ones.
    const float shifted = __uint_as_float(magnitude << 13) * __uint_as_float((112u + 127u) << 23);
    const float absolute = magnitude >= 0x7c00u ? __uint_as_float((magnitude << 13) | 0x7f800000u) : shifted;
    return value.bits & 0x8000u ? -absolute : absolute;
}

__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ bool is_finite(double value) { return fabs(value) < infinity(); }
__device__ __forceinline__ double larger(double one, double other) { return one > other ? one : other; }
__device__ __forceinline__ Count smaller(Count one, Count other) { return one < other ? one : other; }
__device__ __forceinline__ double square_if_finite(double value) { return is_finite(value) ? value * value : 0.0; }

__device__ __forceinline__ double error_of(double value, double oracle, double scale)
{
    if (value == oracle || (value != value && oracle != oracle)) return 0.0;
    const double error = fabs(value - oracle) / (fabs(oracle) + scale);
    return error != error ? infinity() : error;
}

__device__ __forceinline__ void add(Figures& figures, double candidate, double reference, double oracle, double scale)
{
    const double error = error_of(candidate, oracle, scale), reference_error = error_of(reference, oracle, scale);
    figures.largest_error = larger(figures.largest_error, error);
    if (is_finite(reference_error)) figures.largest_reference_error = larger(figures.largest_reference_error, reference_error);
    else ++figures.infinite_reference_errors;
    // The error of finite values is infinite if the oracle is all zeros: that is wrong, but no mismatch.
    if (!is_finite(error) && !(is_finite(candidate) && is_finite(oracle))) ++figures.nonfinite_mismatches;
    figures.squared_error += square_if_finite(candidate - oracle);
    figures.squared_oracle += square_if_finite(oracle);
}

__device__ __forceinline__ void merge(Figures& figures, const Figures& other)
{
    figures.largest_error = larger(figures.largest_error, other.largest_error);
    figures.largest_reference_error = larger(figures.largest_reference_error, other.largest_reference_error);
    figures.squared_error += other.squared_error;
    figures.squared_oracle += other.squared_oracle;
    figures.nonfinite_mismatches += other.nonfinite_mismatches;
    figures.infinite_reference_errors += other.infinite_reference_errors;
}

// The sum over neighbouring lanes, returned to each of them. The whole warp must call it.
__device__ __forceinline__ double sum_of_lanes(double value, unsigned lanes)
{
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

// The figures of all threads of a block, in `shared[0]` for the first thread.
__device__ __forceinline__ void merge_block(Figures* shared, const Figures& own)
{
    shared[threadIdx.x] = own;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) merge(shared[threadIdx.x], shared[threadIdx.x + half]);
    }
}

// The sum of squares of each segment of each row of the oracle. If a row is one segment, its scale.
extern "C" __global__ void __launch_bounds__(THREADS) measure_segments(const Plan plan)
{
    const unsigned lanes = (unsigned)plan.lanes, lane = threadIdx.x % lanes;
    const Count own = ((Count)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const Count together = (Count)gridDim.x * THREADS / lanes, units = plan.rows * plan.segments;
    for (Count base = 0; base < units; base += together) {  // the same for all lanes of a warp, which must all call the sum
        const Count unit = base + own;
        double energy = 0.0;
        if (unit < units) {
            const Count row = plan.segments == 1 ? unit : unit / plan.segments;
            const Count first = (unit - row * plan.segments) * plan.segment_elements;
            const Count end = smaller(first + plan.segment_elements, plan.row_elements);
            const ORACLE* oracle = (const ORACLE*)plan.oracle + row * plan.row_elements;
#pragma unroll 8
            for (Count column = first + lane; column < end; column += lanes) energy += square_if_finite(widen(oracle[column]));
        }
        energy = sum_of_lanes(energy, lanes);
        if (lane == 0 && unit < units) {
            if (plan.segments == 1) plan.scales[unit] = sqrt(energy / (double)plan.row_elements);
            else plan.energies[unit] = energy;
        }
    }
}

// The scale of each row from the sums of its segments: one warp per row.
extern "C" __global__ void __launch_bounds__(THREADS) measure_scales(const Plan plan)
{
    const unsigned lane = threadIdx.x % 32;
    const Count together = (Count)gridDim.x * (THREADS / 32);
    for (Count row = (Count)blockIdx.x * (THREADS / 32) + threadIdx.x / 32; row < plan.rows; row += together) {
        double energy = 0.0;
#pragma unroll 8
        for (Count segment = lane; segment < plan.segments; segment += 32) energy += plan.energies[row * plan.segments + segment];
        energy = sum_of_lanes(energy, 32);
        if (lane == 0) plan.scales[row] = sqrt(energy / (double)plan.row_elements);
    }
}

template <typename T>
struct alignas(sizeof(T) * VECTOR > 16 ? 16 : sizeof(T) * VECTOR) Vector { T items[VECTOR]; };

// `count` elements from `index` on, which is a multiple of VECTOR: in one load if the vector is full and the tensor aligned.
template <typename T>
__device__ __forceinline__ Vector<T> load(const void* tensor, Count index, unsigned count)
{
    const T* first = (const T*)tensor + index;
    if (count == VECTOR && (Count)tensor % alignof(Vector<T>) == 0) return *(const Vector<T>*)first;
    Vector<T> loaded = {};
#pragma unroll
    for (unsigned item = 0; item < VECTOR; ++item) {
        if (item < count) loaded.items[item] = first[item];
    }
    return loaded;
}

// The figures of a vector that begins in this row, at this column.
__device__ __forceinline__ void add_vector(Figures& figures, const Plan& plan, Count index, unsigned count, Count row, Count column)
{
    const Vector<VALUE> candidate = load<VALUE>(plan.candidate, index, count);
    const Vector<VALUE> reference = load<VALUE>(plan.reference, index, count);
    const Vector<ORACLE> oracle = load<ORACLE>(plan.oracle, index, count);
    double scale = plan.scales[row];
#pragma unroll
    for (unsigned item = 0; item < VECTOR; ++item) {
        if (item >= count) continue;
        if (column == plan.row_elements) {
            column = 0;
            scale = plan.scales[++row];
        }
        add(figures, widen(candidate.items[item]), widen(reference.items[item]), widen(oracle.items[item]), scale);
        ++column;
    }
}

// The figures of each block's tiles. Rows are contiguous, so tiles are aligned wherever rows begin.
extern "C" __global__ void __launch_bounds__(THREADS, 4) measure_errors(const Plan plan)
{
    Figures figures = {};
    for (Count start = (Count)blockIdx.x * TILE; start < plan.elements; start += (Count)gridDim.x * TILE) {
        const Count first_row = start / plan.row_elements, first_column = start - first_row * plan.row_elements;
        for (unsigned offset = threadIdx.x * VECTOR; offset < TILE; offset += THREADS * VECTOR) {
            const Count index = start + offset, column = first_column + offset;
            if (index >= plan.elements) break;
            Count further = 0;  // rows; a tile ends in the next row unless rows are shorter, and then 32 bits suffice
            if (column >= plan.row_elements) further = plan.row_elements >= TILE ? 1 : (unsigned)column / (unsigned)plan.row_elements;
            const unsigned count = (unsigned)smaller(plan.elements - index, VECTOR);
            add_vector(figures, plan, index, count, first_row + further, column - further * plan.row_elements);
        }
    }
    __shared__ Figures shared[THREADS];
    merge_block(shared, figures);
    if (threadIdx.x == 0) ((Figures*)plan.blocks)[blockIdx.x] = shared[0];
}

// The figures of all blocks: one block.
extern "C" __global__ void __launch_bounds__(THREADS) sum_blocks(const Plan plan)
{
    Figures figures = {};
    for (Count block = threadIdx.x; block < plan.block_count; block += THREADS) merge(figures, ((const Figures*)plan.blocks)[block]);
    __shared__ Figures shared[THREADS];
    merge_block(shared, figures);
    if (threadIdx.x != 0) return;
    plan.result[0] = shared[0].largest_error;
    plan.result[1] = shared[0].largest_reference_error;
    plan.result[2] = shared[0].squared_error;
    plan.result[3] = shared[0].squared_oracle;
    plan.result[4] = (double)shared[0].nonfinite_mismatches;  // exact up to 2^53
    plan.result[5] = (double)shared[0].infinite_reference_errors;
}
