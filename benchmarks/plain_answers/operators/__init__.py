"""PyTorch's operators as plain formulas, with another order of arithmetic. Every global name begins with `plain` in upper or lower case.

The text of these modules is put into each answer, so they import only PyTorch, the standard library and each other.
"""
