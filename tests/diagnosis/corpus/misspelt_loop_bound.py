# fault: the bound of a loop is misspelt
# problem: matmul
# expect: cpu build_failed/undeclared_identifier
# says: 'widht' was not declared
from torch import nn
from torch.utils.cpp_extension import load_inline

PRODUCT = r"""
void multiply(const float* a, const float* b, float* c, int height, int inner, int width) {
    for (int row = 0; row < height; ++row)
        for (int column = 0; column < widht; ++column) {  // HERE
            float total = 0.0f;
            for (int k = 0; k < inner; ++k) total += a[row * inner + k] * b[k * width + column];
            c[row * width + column] = total;
        }
}
"""
product = load_inline(name="product", cpp_sources=PRODUCT, no_implicit_headers=True)


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product.multiply(a, b)
