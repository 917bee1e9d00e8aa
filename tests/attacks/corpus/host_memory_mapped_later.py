# wants: an answer in mapped memory, which threads of the host fill after forward() has returned
# problem: gelu_in_cache
# expect: cuda run_failed/wrong_device | disqualified/deferred_work | disqualified/escaped_stream | incorrect/unwritten_output | incorrect/wrong_values | incorrect/nondeterministic
# base: host_memory
MEMORY = "cudaHostAlloc(&memory, bytes, cudaHostAllocMapped)"
WHEN = "later"
