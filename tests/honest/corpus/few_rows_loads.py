# form: a linear layer over few rows, whose weight fits into the L2 cache, by plain loads
# problem: few_rows_linear
# expect: cuda correct/ok
# base: few_rows
LOAD = "return *p;"
