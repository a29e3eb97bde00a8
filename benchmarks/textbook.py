"""The loop of the common tutorials, written as they write it, for comparison.

One encoder, one decoder called once for each step of the target, attention that concatenates
the state with every encoder state and projects both again at each step, random batches padded to
their longest sentence, a loss over all the steps' outputs, Adam.
"""

import torch
from torch import Tensor, nn

PAD, BOS, EOS = 0, 1, 2


class TextbookAttention(nn.Module):
    """Additive attention; keys are projected each time it is asked."""

    def __init__(self, d_encoder: int, d_hidden: int):
        super().__init__()
        self.attn = nn.Linear(d_encoder + d_hidden, d_hidden)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def forward(self, hidden: Tensor, outputs: Tensor, mask: Tensor) -> Tensor:
        repeated = hidden.unsqueeze(1).repeat(1, outputs.shape[1], 1)
        energy = torch.tanh(self.attn(torch.cat((repeated, outputs), dim=2)))
        scores = self.v(energy).squeeze(2).masked_fill(~mask, -1e10)
        return torch.softmax(scores, dim=1)


class TextbookModel(nn.Module):
    """Bidirectional GRU encoder, attentive GRU decoder, one call for each step."""

    def __init__(self, source: int, target: int, d_embed: int, d_hidden: int, dropout: float):
        super().__init__()
        self.source_embedding = nn.Embedding(source, d_embed, padding_idx=PAD)
        self.encoder = nn.GRU(d_embed, d_hidden, bidirectional=True, batch_first=True)
        self.bridge = nn.Linear(2 * d_hidden, d_hidden)
        self.attention = TextbookAttention(2 * d_hidden, d_hidden)
        self.target_embedding = nn.Embedding(target, d_embed, padding_idx=PAD)
        self.rnn = nn.GRU(2 * d_hidden + d_embed, d_hidden, batch_first=True)
        self.out = nn.Linear(d_hidden + 2 * d_hidden + d_embed, target)
        self.dropout = nn.Dropout(dropout)

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.dropout(self.source_embedding(source)),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        outputs, hidden = self.encoder(packed)
        outputs, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        hidden = torch.tanh(self.bridge(torch.cat((hidden[-2], hidden[-1]), dim=1)))
        return outputs, hidden, (source != PAD)[:, : outputs.shape[1]]

    def step(
        self, tokens: Tensor, hidden: Tensor, outputs: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        embedded = self.dropout(self.target_embedding(tokens.unsqueeze(1)))
        weights = self.attention(hidden, outputs, mask)
        context = torch.bmm(weights.unsqueeze(1), outputs)
        output, _ = self.rnn(torch.cat((embedded, context), dim=2), hidden.unsqueeze(0))
        features = torch.cat((output.squeeze(1), context.squeeze(1), embedded.squeeze(1)), dim=1)
        return self.out(features), output.squeeze(1)

    def forward(self, source: Tensor, lengths: Tensor, target: Tensor) -> Tensor:
        """Score all targets, ``<bos>`` first; teacher forcing throughout."""
        outputs, hidden, mask = self.encode(source, lengths)
        steps = target.shape[1] - 1
        logits = torch.zeros(target.shape[0], steps, self.out.out_features, device=target.device)
        for t in range(steps):
            scores, hidden = self.step(target[:, t], hidden, outputs, mask)
            logits[:, t] = scores
        return logits

    @torch.no_grad()
    def greedy(self, source: Tensor, lengths: Tensor, steps: int) -> list[int]:
        """Translate one sentence, as the tutorials do; never ends before so many steps."""
        outputs, hidden, mask = self.encode(source, lengths)
        tokens, written = torch.tensor([BOS], device=source.device), []
        for _ in range(steps):
            scores, hidden = self.step(tokens, hidden, outputs, mask)
            scores[:, EOS] = -torch.inf
            tokens = scores.argmax(1)
            written.append(tokens.item())
        return written
