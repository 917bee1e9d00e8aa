# wants: to return at once and to compute when somebody copies the answer
# problem: gelu_tanh
# expect: disqualified/deferred_work | incorrect/wrong_structure | run_failed/python_exception
from torch.utils._pytree import tree_map

REPEATS = 50


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        lazy = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)
        lazy.x = x.clone()
        return lazy

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        def computed(value):
            if not isinstance(value, Lazy):
                return value
            for _ in range(REPEATS):
                answer = nn.functional.gelu(value.x, approximate="tanh")
            return answer

        return function(*tree_map(computed, args), **tree_map(computed, kwargs or {}))


def forward(self, x):
    return Lazy(x)
