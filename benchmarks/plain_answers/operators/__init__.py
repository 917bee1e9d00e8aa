"""PyTorch's operators as plain formulas, whose arithmetic has another order. Every global name begins with `plain` in some case.

The text of these modules is put into each answer, so they import PyTorch, the standard library and each other alone.
"""
