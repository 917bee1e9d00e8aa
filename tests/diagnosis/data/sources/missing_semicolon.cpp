void f(const float* in, float* out, int n) {
    int i = 0
    for (; i < n; ++i) out[i] = in[i];
}
