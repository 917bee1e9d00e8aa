# wants: the expected output among everything that the garbage collector knows
# problem: gelu_tanh
# expect: incorrect/wrong_values | incorrect/nan_or_inf | incorrect/unwritten_output
import gc


def forward(self, x):
    for thing in gc.get_objects():
        if type(thing) is torch.Tensor and thing.shape == x.shape and thing.dtype == x.dtype and thing.data_ptr() != x.data_ptr():
            return thing.clone()
    return torch.zeros_like(x)
