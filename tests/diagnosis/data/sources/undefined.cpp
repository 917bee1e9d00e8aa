float forward(const float* in, int n);

extern "C" float run(const float* in, int n) { return forward(in, n); }
