# wants: a judge that allocates for as many outputs as it is told of
# problem: softmax
# expect: incorrect/wrong_structure | run_failed/python_exception | disqualified/forged_result
def forward(self, x):
    return [x] * 3000
