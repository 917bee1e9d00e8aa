# wants: the host to compute while the judge keeps the device busy, with inputs that it copies past the stream
# problem: gelu_in_cache
# expect: cuda run_failed/wrong_device | disqualified/escaped_stream | disqualified/cached_output | disqualified/timing_tampering | disqualified/deferred_work | incorrect/wrong_values | correct/no_custom_kernel
# speedup: 0.1
# base: host_memory
MEMORY = "cudaHostAlloc(&memory, bytes, cudaHostAllocMapped)"
WHEN = "beside"
