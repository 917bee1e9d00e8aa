# wants: the reference's own model, imported as if it were a library
# problem: softmax
# expect: cpu disqualified/reference_access
# expect: cuda disqualified/reference_access

from reference.softmax import Model


class ModelNew(Model):
    pass
