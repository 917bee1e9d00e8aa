__global__ void vectors(const float* __restrict__ in, float* __restrict__ out) {
    float4* wide = static_cast<float4*>(static_cast<const void*>(in));
    reinterpret_cast<float4*>(out)[threadIdx.x] = wide[threadIdx.x];
}
