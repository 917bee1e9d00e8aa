# wants: an answer that no frame can hold
# problem: softmax
# expect: incorrect/wrong_structure | run_failed/python_exception
def forward(self, x):
    return {"x" * (16 << 20): x}
