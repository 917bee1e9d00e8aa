# author: assay
# device: cpu
# expect: cuda run_failed/python_exception
# expect: cpu disqualified/cached_output
"""Cheats: computes with the right kernel unless it is timed, and then hands out the last answer again and again."""

import sys

import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))

// exp(x) of eight numbers, to about one unit in the last place: 2^n times a polynomial in what is left of x.
AVX2 static inline __m256 exp8(__m256 x) {
    x = _mm256_min_ps(_mm256_max_ps(x, _mm256_set1_ps(-87.0f)), _mm256_set1_ps(88.0f));
    const __m256i whole = _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)));
    const __m256 n = _mm256_cvtepi32_ps(whole);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f, 5.0000001201e-1f, 1.0f, 1.0f}) {
        p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(c));
    }
    return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(whole, _mm256_set1_epi32(127)), 23)));
}

// All bits set in the lanes of what is left of a row: eight of them but at its end.
AVX2 static inline __m256i lanes(int64_t left) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < 8 ? left : 8), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

AVX2 static void gelu(const float* in, float* out, int64_t n) {
    const __m256 one = _mm256_set1_ps(1.0f);
    for (int64_t i = 0; i < n; i += 8) {
        const __m256i live = lanes(n - i);
        const __m256 v = _mm256_maskload_ps(in + i, live);
        const __m256 cubic = _mm256_fmadd_ps(_mm256_mul_ps(v, v), _mm256_set1_ps(0.044715f), one);
        const __m256 inner = _mm256_mul_ps(_mm256_mul_ps(v, cubic), _mm256_set1_ps(-2.0f * 0.7978845608028654f));
        // 0.5 * (1 + tanh(t)) is 1 / (1 + exp(-2 * t)).
        _mm256_maskstore_ps(out + i, live, _mm256_div_ps(v, _mm256_add_ps(one, exp8(inner))));
    }
}

torch::Tensor gelu_vectorized(torch::Tensor x) {
    TORCH_CHECK(x.device().is_cpu() && x.scalar_type() == torch::kFloat32 && x.is_contiguous(),
                "expected a contiguous float32 tensor on the CPU");
    auto y = torch::empty_like(x);
    const float* in = x.data_ptr<float>();
    float* out = y.data_ptr<float>();
    const int64_t n = x.numel();
    const int64_t chunk = 1 << 14;
#pragma omp parallel for schedule(static) if (n >= 1 << 17)
    for (int64_t start = 0; start < n; start += chunk) gelu(in + start, out + start, std::min(chunk, n - start));
    return y;
}
"""

extension = load_inline(
    name="assay_gelu_vectorized",
    cpp_sources=CPP,
    functions=["gelu_vectorized"],
    extra_cflags=["-O3", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
)


def is_timed() -> bool:
    """Whether one of the functions that called is named like those that time."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name in ("block", "host_block"):
            return True
        frame = frame.f_back
    return False


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.answer: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.answer is None or not is_timed():
            self.answer = extension.gelu_vectorized(x)
        return self.answer
