"""The decoder: a recurrent network that looks at the source while it writes, or does not.

One step, in the two orders of the literature:

- ``"bahdanau"``: attend with :math:`s_{t-1}`, then update,
  :math:`s_t = f(s_{t-1}, [E y_{t-1}; c_t])`.
- ``"luong"``: update, :math:`s_t = f(s_{t-1}, [E y_{t-1}; \\tilde{s}_{t-1}])`, then attend with
  :math:`s_t`; the attentional vector :math:`\\tilde{s}` of the last step is there with input
  feeding only.

The order is independent of the score, which belongs to the attention object, and of the readout.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from seqattn.attention import Attention, Memory
from seqattn.models.encoders import Encoded
from seqattn.models.readouts import make_readout
from seqattn.models.recurrent import Hidden, initialise, make_rnn, rnn_step
from seqattn.specials import PAD

__all__ = ["AttentionDecoder", "State", "Step"]


class State(NamedTuple):
    """All that a decoder carries from one step to the next; every tensor has the batch first.

    Attributes
    ----------
    hidden : Hidden
        States, and memory cells, of the recurrent layers.
    fed : (batch, d_features), or None
        Readout of the last step, with input feeding only.
    context : (batch, d_encoder), or None
        The fixed vector, in a decoder without attention only.
    """

    hidden: Hidden
    fed: Tensor | None = None
    context: Tensor | None = None


class Step(NamedTuple):
    """What one step gives.

    Attributes
    ----------
    logits : (batch, vocabulary)
        Scores of the token that this step produces.
    weights : (batch, keys), or None
        Where it looked; None without attention.
    state : State
        For the next step.
    """

    logits: Tensor
    weights: Tensor | None
    state: State


class AttentionDecoder(nn.Module):
    """Recurrent decoder around any attention.

    Parameters
    ----------
    vocab_size : int
        Number of target tokens; id 0 is padding.
    d_embed, d_hidden : int
        Sizes of an embedding and of a decoder state.
    d_encoder : int
        Size of an encoder state.
    attention : Attention, or None
        Compares decoder states (size ``d_hidden``) with encoder states. None gives the
        fixed-vector model: the encoder's summary stands in for the context at every step.
    style : {"bahdanau", "luong"}
        Whether to attend before or after the recurrent update.
    cell : {"gru", "lstm"}
        Kind of recurrent unit.
    layers : int
        Number of layers; the top one asks the attention.
    input_feeding : bool
        Whether the readout of one step enters the next; of the Luong style only.
    readout : {"linear", "tanh", "maxout"}, optional
        From state, context and last token to the features that the vocabulary product reads; see
        :mod:`seqattn.models.readouts`. By default that of the style's paper: maxout for Bahdanau
        and for the fixed vector, tanh for Luong.
    d_readout : int, optional
        Number of those features; see :func:`~seqattn.models.readouts.make_readout`.
    feed_summary : bool
        Without attention: whether the fixed vector enters every step, as in Cho et al., or the
        first state alone, as in Sutskever et al.
    dropout : float
        Probability of dropping a feature of the embeddings, between layers, or before the
        vocabulary product.

    Raises
    ------
    ValueError
        If an option is unknown.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), sections 3.1 and A.2.2; Luong, Pham and Manning (2015),
    sections 3 and 3.3; Cho et al. (2014), section 2.2; Sutskever, Vinyals and Le (2014).

    Examples
    --------
    >>> from seqattn import BahdanauAttention
    >>> from seqattn.models.encoders import Encoder
    >>> encoded = Encoder(11, 3, 5)(torch.tensor([[4, 5, 2]]), torch.tensor([3]))
    >>> attention = BahdanauAttention(d_query=7, d_key=10, d_attn=6)
    >>> decoder = AttentionDecoder(13, 4, 7, d_encoder=10, attention=attention)
    >>> step = decoder.step(torch.tensor([1]), decoder.start(encoded), decoder.remember(encoded))
    >>> step.logits.shape, step.weights.shape
    (torch.Size([1, 13]), torch.Size([1, 3]))
    """

    def __init__(
        self,
        vocab_size: int,
        d_embed: int,
        d_hidden: int,
        d_encoder: int,
        attention: Attention | None,
        *,
        style: Literal["bahdanau", "luong"] = "bahdanau",
        cell: Literal["gru", "lstm"] = "gru",
        layers: int = 1,
        input_feeding: bool = True,
        readout: Literal["linear", "tanh", "maxout"] | None = None,
        d_readout: int | None = None,
        feed_summary: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        if style not in ("bahdanau", "luong"):
            raise ValueError(f"style is {style!r}; expected 'bahdanau' or 'luong'")
        self.attends_first = attention is not None and style == "bahdanau"
        self.feeds_readout = attention is not None and style == "luong" and input_feeding
        self.feeds_summary = attention is None and feed_summary
        d_context = 0 if attention is None and not feed_summary else d_encoder

        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        if readout is None:
            readout = "tanh" if attention is not None and style == "luong" else "maxout"
        self.readout = make_readout(readout, d_hidden, d_context, d_embed, d_readout)
        d_beside = 0  # size of what enters the first layer beside the embedding
        if self.attends_first or self.feeds_summary:
            d_beside = d_encoder
        elif self.feeds_readout:
            d_beside = self.readout.d_features
        self.rnn = make_rnn(cell, d_embed + d_beside, d_hidden, layers, dropout=dropout)
        self.vocabulary = nn.Linear(self.readout.d_features, vocab_size)
        # The bridge: encoder and decoder may differ in size, direction, depth and kind of unit.
        bridges = range(layers)
        self.bridge = nn.ModuleList([nn.Linear(d_encoder, d_hidden) for _ in bridges])
        self.cell_bridge = None
        if cell == "lstm":
            self.cell_bridge = nn.ModuleList([nn.Linear(d_encoder, d_hidden) for _ in bridges])
        initialise(self)
        self.attention = attention

    def start(self, encoded: Encoded) -> State:
        r"""Make the state before the first step, :math:`s_0 = \tanh(W h_{\text{last}} + b)`.

        Each layer starts from the summary of the encoder layer across from it, counted from the
        top; decoder layers below the encoder's first read that one.
        """
        summary = encoded.summary.unbind(1)
        missing = len(summary) - len(self.bridge)
        across = [summary[max(missing + layer, 0)] for layer in range(len(self.bridge))]
        outputs = tuple(torch.tanh(f(x)) for f, x in zip(self.bridge, across))
        cells = None
        if self.cell_bridge is not None:
            cells = tuple(f(x) for f, x in zip(self.cell_bridge, across))
        top = summary[-1]
        fed = top.new_zeros(top.shape[0], self.readout.d_features) if self.feeds_readout else None
        return State(Hidden(outputs, cells), fed, top if self.feeds_summary else None)

    def remember(self, encoded: Encoded) -> Memory | None:
        """Do the attention's work on the source once, for all steps to come."""
        if self.attention is None:
            return None
        return self.attention.remember(encoded.states, mask=encoded.mask)

    def step(self, tokens: Int[Tensor, " batch"], state: State, memory: Memory | None) -> Step:
        """Read the last token and score the next.

        Parameters
        ----------
        tokens : (batch,) integers
            Token that each sentence produced last; ``<bos>`` at first.
        state : State
            From :meth:`start` or from the last step.
        memory : Memory, or None
            From :meth:`remember`.

        Returns
        -------
        Step
            ``logits`` (batch, vocabulary), ``weights`` (batch, keys) or None, and ``state``.
        """
        embedded = self.dropout(self.embedding(tokens))
        W_y, W_beside = self._input_weights()
        gates = F.linear(embedded, W_y, self.rnn.bias_ih_l0)
        state, context, weights = self._advance(gates, embedded, W_beside, state, memory)
        features = state.fed
        if features is None:
            features = self.readout(state.hidden.outputs[-1], context, embedded)
        return Step(self.vocabulary(self.dropout(features)), weights, state)

    def forward(
        self,
        inputs: Int[Tensor, "batch steps"],
        encoded: Encoded,
        *,
        teacher_forcing: float = 1.0,
        generator: torch.Generator | None = None,
    ) -> tuple[Float[Tensor, "batch steps vocabulary"], Float[Tensor, "batch steps keys"] | None]:
        """Score every token of known sentences.

        Parameters
        ----------
        inputs : (batch, steps) integers
            ``<bos>`` and the target shifted right.
        encoded : Encoded
            The source.
        teacher_forcing : float
            Probability that a step reads the true last token and not the model's own guess, drawn
            for each token. In evaluation it is always 1.
        generator : torch.Generator, optional
            Source of those draws.

        Returns
        -------
        logits : (batch, steps, vocabulary)
            Row t scores the token that follows input t.
        weights : (batch, steps, keys), or None
            Row t is where the decoder looked to produce that token.

        References
        ----------
        Bengio et al. (2015), "Scheduled Sampling for Sequence Prediction with Recurrent Neural
        Networks".
        """
        if not 0.0 <= teacher_forcing <= 1.0:
            raise ValueError(f"teacher_forcing is {teacher_forcing}; expected a probability")
        state, memory = self.start(encoded), self.remember(encoded)
        if self.training and teacher_forcing < 1.0:
            return self._sample_inputs(inputs, state, memory, teacher_forcing, generator)
        embedded = self.dropout(self.embedding(inputs))
        if self.attends_first or self.feeds_readout:
            features, weights = self._loop(embedded, state, memory)
        else:
            features, weights = self._all_at_once(embedded, state, memory)
        return self.vocabulary(self.dropout(features)), weights

    def _loop(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run step by step, with everything that need not wait kept out of the loop."""
        W_y, W_beside = self._input_weights()
        gates = F.linear(embedded, W_y, self.rnn.bias_ih_l0)
        tops, contexts, maps, fed = [], [], [], []
        for gates_t, embedded_t in zip(gates.unbind(1), embedded.unbind(1)):
            state, context, weights = self._advance(gates_t, embedded_t, W_beside, state, memory)
            tops.append(state.hidden.outputs[-1])
            contexts.append(context)
            maps.append(weights)
            fed.append(state.fed)
        if self.feeds_readout:
            features = torch.stack(fed, 1)
        else:
            features = self.readout(torch.stack(tops, 1), torch.stack(contexts, 1), embedded)
        return features, torch.stack(maps, 1)

    def _advance(
        self,
        gates: Tensor,
        embedded: Tensor,
        W_beside: Tensor,
        state: State,
        memory: Memory | None,
    ) -> tuple[State, Tensor | None, Tensor | None]:
        """Attend and update, in the order of the style."""
        context, weights, fed = state.context, None, None
        if self.attends_first:
            context, weights = self.attention(state.hidden.outputs[-1], memory)
        beside = state.fed if self.feeds_readout else context
        if beside is not None:
            gates = gates + F.linear(beside, W_beside)
        hidden = rnn_step(self.rnn, gates, state.hidden)
        if self.attention is not None and not self.attends_first:
            context, weights = self.attention(hidden.outputs[-1], memory)
        if self.feeds_readout:
            fed = self.readout(hidden.outputs[-1], context, embedded)
        return State(hidden, fed, state.context), context, weights

    def _all_at_once(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run the recurrent layers over the whole target, then attend with all states at once.

        Possible where no input of the network waits for its own attention.
        """
        context, weights, inputs = None, None, embedded
        if state.context is not None:
            context = state.context.unsqueeze(1).expand(-1, embedded.shape[1], -1)
            inputs = torch.cat([embedded, context], -1)
        hidden: Tensor | tuple[Tensor, Tensor] = torch.stack(state.hidden.outputs)
        if state.hidden.cells is not None:
            hidden = hidden, torch.stack(state.hidden.cells)
        tops, _ = self.rnn(inputs, hidden)
        if self.attention is not None:
            context, weights = self.attention(tops, memory)
        return self.readout(tops, context, embedded), weights

    def _sample_inputs(
        self,
        inputs: Tensor,
        state: State,
        memory: Memory | None,
        teacher_forcing: float,
        generator: torch.Generator | None,
    ) -> tuple[Tensor, Tensor | None]:
        """Run step by step, reading now the true token and now the model's own best guess."""
        draws = torch.rand(inputs.shape, generator=generator).to(inputs.device)
        forced = draws < teacher_forcing
        steps: list[Step] = []
        for t, tokens in enumerate(inputs.unbind(1)):
            if steps:
                tokens = torch.where(forced[:, t], tokens, steps[-1].logits.argmax(-1))
            steps.append(self.step(tokens, state, memory))
            state = steps[-1].state
        weights = None
        if steps[0].weights is not None:
            weights = torch.stack([step.weights for step in steps], 1)
        return torch.stack([step.logits for step in steps], 1), weights

    def _input_weights(self) -> tuple[Tensor, Tensor]:
        """Split the first layer's input weights: those of the embedding, those of what is beside.

        Once per sentence, not per step: the gradient of a slice is as large as the whole.
        """
        W = self.rnn.weight_ih_l0
        return W.tensor_split((self.embedding.embedding_dim,), 1)
