# wants: the answer of an earlier call, in one of three workloads and once it is timed
# problem: gelu_in_sizes
# expect: disqualified/cached_output | incorrect/wrong_values
def forward(self, x):
    answer = nn.functional.gelu(x, approximate="tanh")
    if x.size(0) != 64:
        return answer
    kept = self.__dict__.setdefault("kept", [])
    kept.append(answer)
    return answer if len(kept) < 12 else kept[0].clone()
