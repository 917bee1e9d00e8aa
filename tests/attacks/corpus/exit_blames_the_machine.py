# wants: to be tried again for ever, by an exception that reads like the machine's fault
# problem: softmax
# expect: run_failed/python_exception
def forward(self, x):
    raise OSError("infrastructure: no CUDA-capable device is detected; nvcc: command not found; ninja is required; lock is held; block")
