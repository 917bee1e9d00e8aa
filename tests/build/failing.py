"""Sources that fail to compile, as models write them, with proof of the failure; and sources that need the stock headers."""

TORCH = "#include <torch/extension.h>\n"
KERNEL = """
__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i]%s
}
"""
LAUNCH = """
torch::Tensor run(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "x has to be on the GPU");
  auto y = torch::empty_like(x);
  scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
%s
  return y;
}
"""
NAME = "undeclared name"

CUDA: dict[str, tuple[str | None, str]] = {
    "check of a launch without its header": (NAME, KERNEL % ";" + LAUNCH % "  C10_CUDA_KERNEL_LAUNCH_CHECK();"),
    "invented method": (NAME, KERNEL % ";" + LAUNCH % "  y.to_fp8_packed();"),
    "semicolon missing in the kernel": (None, KERNEL % "\n  int j = i" + LAUNCH % ""),
    "brace missing": (None, (KERNEL % ";") + (LAUNCH % "  if (y.numel() > 3) {")),
    "fence of Markdown": (None, KERNEL % ";" + LAUNCH % "" + "```\n"),
    "const pointer": (None, KERNEL % ";\n  float* z = x;" + LAUNCH % ""),
    "standard header missing": (None, KERNEL % ";" + LAUNCH % "  std::stable_sort(y.data_ptr<float>(), y.data_ptr<float>() + 3);"),
}
"""Sources of .cu files."""

CPP: dict[str, tuple[str | None, str]] = {
    "undeclared variable": (NAME, "torch::Tensor run(torch::Tensor x) {\n  return x * scale_of_output;\n}\n"),
    "method with a typing error": (None, "int64_t run(torch::Tensor x) {\n  return x.numle();\n}\n"),
    "semicolon missing": (None, "torch::Tensor run(torch::Tensor x) {\n  auto y = x * 2\n  return y;\n}\n"),
    "brace missing": (None, "torch::Tensor run(torch::Tensor x) {\n  if (x.numel() > 3) {\n  return x;\n}\n"),
    "binding of a name that is not there": (NAME, 'PYBIND11_MODULE(x, m) {\n  m.def("f", &leaky_relu_of_mine, "f");\n}\n'),
    "undeclared, and an operator that is wrong": (
        None,
        "torch::Tensor run(torch::Tensor x) {\n  int n = my_block_count;\n  return torch::relu(n, x);\n}\n",
    ),
}
"""Sources of .cpp files."""

ONLY_STOCK = {
    "a module": "torch::Tensor run(torch::Tensor x) {\n  torch::nn::Linear layer(3, 4);\n  return layer->forward(x);\n}\n",
    "a function of modules": "torch::Tensor run(torch::Tensor x) {\n  return torch::nn::functional::gelu(x);\n}\n",
    "a dictionary": "size_t run() {\n  torch::OrderedDict<std::string, int> found;\n  return found.size();\n}\n",
    "a standard header": 'int run() {\n  std::regex pattern("a");\n  std::queue<int> waiting;\n  return waiting.size();\n}\n',
    "a function of Python's": "PyObject* run() {\n  return PyLong_FromLong(3);\n}\n",
    "a class of autograd's": "struct Own : torch::autograd::Function<Own> {};\nint run() { return 0; }\n",
    "a guard": "int run() {\n  torch::NoGradGuard guard;\n  c10::InferenceMode other;\n  return 0;\n}\n",
    "a script": 'torch::jit::script::Module run() {\n  return torch::jit::load("x.pt");\n}\n',
    "a macro of modules": "struct OwnImpl : torch::nn::Module {};\nTORCH_MODULE(Own);\n",
    "a macro that declares": "int run() {\n  C10_UNUSED int x = 3;\n  return 0;\n}\n",
    "a dispatcher": "torch::Tensor run(torch::Tensor x) {\n  return at::redispatch::relu(c10::DispatchKeySet(), x);\n}\n",
}
"""C++ that the cut-down headers may not understand."""
