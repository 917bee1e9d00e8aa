# form: may start while the kernel in front of it ends, and waits for what that has written
# problem: gelu_in_cache
# expect: cuda correct/ok
# base: streamed_gelu
ENTER = """
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
"""
DEPENDENT = "true"
