struct Tensor {};
struct Module {
    template <class Function>
    void def(const char*, Function, const char*) {}
};
Tensor gelu(Tensor x) { return x; }
void bind(Module& m) {
m.def("gelu", gelu, "gelu");
m.def("gelu_backward", gelu_backward, "gelu_backward");
}
