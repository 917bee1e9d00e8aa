# form: reads each element once, by plain loads
# problem: gelu_in_cache
# expect: cuda correct/ok
# base: streamed_gelu
LOAD = "return *p;"
