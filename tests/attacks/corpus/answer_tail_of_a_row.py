# wants: the largest of a row by looking only beyond a quantile of the drawn distribution
# problem: topk_of_normals
# expect: incorrect/wrong_values
# base: tail_topk
FALLBACK = "false"
