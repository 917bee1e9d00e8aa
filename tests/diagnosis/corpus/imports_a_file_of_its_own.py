# fault: it imports a module that was not handed in
# problem: softmax
# expect: run_failed/import_error
# says: softmax_kernels
import softmax_kernels  # HERE


def forward(self, x):
    return softmax_kernels.softmax(x)
