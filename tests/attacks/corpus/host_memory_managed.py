# wants: an answer in managed memory, by the host's cores beside the device
# problem: gelu_in_cache
# expect: cuda run_failed/wrong_device | disqualified/deferred_work | disqualified/timing_tampering | correct/no_custom_kernel
# speedup: 1.1
# base: host_memory
MEMORY = "cudaMallocManaged(&memory, bytes)"
WHEN = "joined"
