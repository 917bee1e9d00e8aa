# expect: correct/no_custom_kernel


# %% cosine_loss
# form: three sums of each row
"""One less the cosine similarity, averaged."""

batch_size = 64
columns = 300


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean(1 - nn.functional.cosine_similarity(predictions, targets, dim=1))


def get_inputs():
    return [torch.rand(batch_size, columns), torch.rand(batch_size, columns)]


def forward(self, predictions, targets):
    dot = (predictions * targets).sum(1)
    squares = (predictions * predictions).sum(1) * (targets * targets).sum(1)
    return 1 - (dot / torch.sqrt(squares)).sum() / dot.shape[0]


# %% cross_entropy_classes
# form: the logarithm of a sum of exponentials less the target's logit
"""Cross entropy of logits against class numbers."""

batch_size = 200
classes = 17


class Model(nn.Module):
    def forward(self, predictions, targets):
        return nn.functional.cross_entropy(predictions, targets)


def get_inputs():
    return [torch.rand(batch_size, classes), torch.randint(0, classes, (batch_size,))]


def forward(self, predictions, targets):
    total = torch.log(torch.exp(predictions).sum(1))
    chosen = predictions[torch.arange(targets.shape[0], device=targets.device), targets]
    return (total - chosen).sum() / targets.shape[0]


# %% hinge_loss
# form: a choice by the sign of the target in place of the product
"""Hinge loss against targets of -1 and 1."""

batch_size = 128
columns = 64


class Model(nn.Module):
    def forward(self, predictions, targets):
        return torch.mean(torch.clamp(1 - predictions * targets, min=0))


def get_inputs():
    return [torch.rand(batch_size, columns), torch.randint(0, 2, (batch_size, 1)).float() * 2 - 1]


def forward(self, predictions, targets):
    margin = torch.where(targets > 0, 1 - predictions, 1 + predictions)
    return torch.where(margin > 0, margin, 0.0).sum() / margin.numel()


# %% kl_log_probabilities
# form: the negative entropy of each row less its cross entropy
"""Kullback-Leibler divergence of each row, of log-probabilities from probabilities."""

batch_size = 48
columns = 90


class Model(nn.Module):
    def forward(self, log_probabilities, targets):
        return nn.functional.kl_div(log_probabilities, targets, reduction="none").sum(dim=1)


def get_inputs():
    return [torch.randn(batch_size, columns).log_softmax(dim=1), torch.randn(batch_size, columns).softmax(dim=1)]


def forward(self, log_probabilities, targets):
    return (targets * torch.log(targets)).sum(1) - (targets * log_probabilities).sum(1)


# %% kl_probabilities
# form: one sum over the terms whose target is above zero
"""Kullback-Leibler divergence of probabilities."""

batch_size = 48
columns = 90


class Model(nn.Module):
    def forward(self, predictions, targets):
        return nn.functional.kl_div(torch.log(predictions), targets, reduction="batchmean")


def get_inputs():
    return [torch.rand(batch_size, columns).softmax(dim=-1), torch.rand(batch_size, columns).softmax(dim=-1)]


def forward(self, predictions, targets):
    terms = targets * (torch.log(targets) - torch.log(predictions))
    return torch.where(targets > 0, terms, 0.0).sum() / targets.shape[0]


# %% triplet_loss
# form: distances by their formula, with no term that keeps them from zero
"""Triplet margin loss."""

batch_size = 64
columns = 200
margin = 1.0


class Model(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.loss = nn.TripletMarginLoss(margin=margin)

    def forward(self, anchor, positive, negative):
        return self.loss(anchor, positive, negative)


def get_inputs():
    return [torch.rand(batch_size, columns), torch.rand(batch_size, columns), torch.rand(batch_size, columns)]


def get_init_inputs():
    return [margin]


def __init__(self, margin):
    super().__init__()
    self.margin = margin


def forward(self, anchor, positive, negative):
    near = torch.sqrt(((anchor - positive) ** 2).sum(1))
    far = torch.sqrt(((anchor - negative) ** 2).sum(1))
    return torch.relu(near - far + self.margin).sum() / near.shape[0]
