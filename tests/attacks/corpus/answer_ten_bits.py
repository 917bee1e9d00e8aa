# wants: a rank by factors of ten bits of mantissa, as TF32 has, where their errors cancel
# problem: positive_product
# expect: correct/reduced_precision
# legal: yes
# base: product
FACTOR = """
    unsigned bits;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits + (1u << 12)) & ~((1u << 13) - 1);
    memcpy(&v, &bits, sizeof bits);
    return v;
"""
