# fault: a helper is declared, called, and defined nowhere
# problem: leaky_relu
# expect: cpu build_failed/link_error
# says: undefined symbol
# base: run_in_cpp
CPP = """
torch::Tensor with_slope(torch::Tensor x, double slope);  // HERE

torch::Tensor run(torch::Tensor x) { return with_slope(x, 0.01); }
"""
