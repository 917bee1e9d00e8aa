# fault: the constness of data is dropped in a return
# problem: leaky_relu
# expect: cpu build_failed/const_pointer
# says: invalid conversion
# base: extension
SOURCE = r"""
struct Rows {
    const float* data;
    long columns;
    float* operator[](long row) const {
        return data + row * columns;  // HERE
    }
};

float first(const Rows& rows) { return rows[0][0]; }
"""


module = load_inline(name="rows_of_it", cpp_sources=[SOURCE], no_implicit_headers=True)


def forward(self, x):
    return module.first(x)
