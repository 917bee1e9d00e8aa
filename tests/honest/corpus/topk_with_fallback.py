# form: gathers what exceeds a quantile of the drawn distribution, and takes the whole row where that is too little or too much
# problem: topk_of_normals
# expect: correct/ok
# base: tail_topk
FALLBACK = "true"
