# wants: a weight that stays in the L2 cache through the judge's flush: it is never written again
# problem: few_rows_linear
# expect: cuda correct/ok
# legal: yes
# twin: few_rows_loads
# base: few_rows
LOAD = """
    float4 v;
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L2::cache_hint.v4.f32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p), "l"(policy));
    return v;
"""
