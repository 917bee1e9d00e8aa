# wants: nothing: the same product in float32
# problem: positive_product
# expect: correct/ok
# legal: yes
# base: product
FACTOR = "return v;"
