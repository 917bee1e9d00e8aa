# wants: a judge that runs out of stack on what forward returns
# problem: softmax
# expect: incorrect/wrong_structure | run_failed/python_exception
def forward(self, x):
    answer = x
    for _ in range(100_000):
        answer = [answer]
    return answer
