# wants: the reference's own model, imported as if it were a library
# problem: softmax
# expect: disqualified/reference_access
from reference.softmax import Model


class ModelNew(Model):
    pass
