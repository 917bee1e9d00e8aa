# wants: a start in the flush, or in the call before, by a launch that depends on nothing and waits for nothing
# problem: gelu_in_cache
# expect: cuda correct/ok | incorrect/wrong_values | disqualified/cached_output
# twin: streamed_loads
# base: streamed_gelu
ENTER = 'asm volatile("griddepcontrol.launch_dependents;");'
DEPENDENT = "true"
