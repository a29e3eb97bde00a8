r"""The decoder: a recurrent network that looks at the source while it writes, or does not.

One step, in the two orders of the literature:

- ``"bahdanau"``: attend with :math:`s_{t-1}`, then update,
  :math:`s_t = f(s_{t-1}, [E y_{t-1}; c_t])`.
- ``"luong"``: update, :math:`s_t = f(s_{t-1}, [E y_{t-1}; \tilde{s}_{t-1}])`, then attend with
  :math:`s_t`; the attentional vector :math:`\tilde{s}` of the last step is there with input
  feeding only.

The order is independent of the score, which belongs to the attention object, and of the readout.
It is called a ``style`` here, after its paper, and an ``architecture`` in ``ModelConfig``, where
``"fixed"`` and ``"transformer"`` stand beside the two.
"""

import logging
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from seqattn.attention import HardAttention, Mechanism, Memory, Past
from seqattn.decoding.interface import Step
from seqattn.dropout import Dropout
from seqattn.models.encoder import Encoded
from seqattn.models.readouts import make_readout
from seqattn.models.rnn import Hidden, initialise, make_rnn, rnn_step, run_rnn
from seqattn.precision import ready_for_products
from seqattn.specials import PAD

__all__ = ["AttentionDecoder", "Bridge", "State", "stack_steps"]

log = logging.getLogger(__name__)


class State(NamedTuple):
    """All that a decoder carries from one step to the next; every tensor has the batch first.

    Attributes
    ----------
    hidden : Hidden
        States, and memory cells, of the recurrent layers.
    fed : (batch, d_features), or None
        Readout of the last step, which is fed to the next, with input feeding only.
    fixed : (batch, d_encoder), or None
        The fixed vector, in a decoder without attention only.
    past : Past, or None
        What the attention must know of the steps before.
    """

    hidden: Hidden
    fed: Tensor | None = None
    fixed: Tensor | None = None
    past: Past | None = None


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
    attention : Mechanism, or None
        Compares decoder states (size ``d_hidden``) with encoder states; what it must know of
        earlier steps travels in the state. None gives the fixed-vector model: the encoder's summary
        stands in for the context at every step.
    style : {"bahdanau", "luong"}
        Whether to attend before or after the recurrent update.
    cell : {"gru", "lstm"}
        Kind of recurrent unit.
    layers : int
        Number of layers; the top one asks the attention.
    input_feeding : bool
        Whether the readout of one step enters the next; of the Luong style only.
    readout : {"linear", "tanh", "maxout"}, optional
        From state, context and last token to the features that the output projection reads. By
        default that of the style's paper: maxout for Bahdanau and for the fixed vector, tanh for
        Luong.
    d_readout : int, optional
        Number of those features; see :func:`~seqattn.models.readouts.make_readout`.
    feed_summary : bool
        Without attention: whether the fixed vector enters every step, as in Cho et al., or the
        first state alone, as in Sutskever et al.
    dropout : float
        Probability of dropping a feature of the embeddings, between layers, or before the
        output projection.

    Raises
    ------
    ValueError
        If an option is unknown.
    TypeError
        If the attention is no mechanism.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), sections 3.1 and A.2.2; Luong, Pham and Manning (2015),
    sections 3 and 3.3; Cho et al. (2014), section 2.2; Sutskever, Vinyals and Le (2014).

    Examples
    --------
    >>> from seqattn import BahdanauAttention
    >>> from seqattn.models.encoder import Encoder
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
        attention: Mechanism | None,
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
        if not (attention is None or isinstance(attention, Mechanism)):
            raise TypeError(
                f"attention is {attention!r}; expected a mechanism, such as "
                "BahdanauAttention(...), or None"
            )
        if isinstance(attention, HardAttention) and attention.gradient == "none":
            log.warning(
                "HardAttention(gradient='none') passes no gradient to its score, and a decoder "
                "hands on no log-probabilities to train it with: unless the loss reads the "
                "weights, the score stays as it is. Take gradient='straight-through'"
            )
        if style not in ("bahdanau", "luong"):
            raise ValueError(f"style is {style!r}; expected 'bahdanau' or 'luong'")
        self.d_encoder = d_encoder
        # The fixed vector is a context that is known before the update, like Bahdanau's.
        self.context_first = attention is None or style == "bahdanau"
        self.feeds_readout = not self.context_first and input_feeding
        self.feeds_summary = attention is None and feed_summary
        d_context = 0 if attention is None and not feed_summary else d_encoder
        self.readout = make_readout(
            readout or ("maxout" if self.context_first else "tanh"),
            d_hidden,
            d_context,
            d_embed,
            d_readout,
        )
        d_extra = self.readout.d_features if self.feeds_readout else 0
        if self.context_first:
            d_extra = d_context
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.dropout = Dropout(dropout)
        self.rnn = make_rnn(cell, d_embed + d_extra, d_hidden, layers, dropout=dropout)
        self.bridge = Bridge(d_encoder, d_hidden, layers, cells=cell == "lstm")
        # The output projection; checkpoints know it by this name.
        self.vocabulary = nn.Linear(self.readout.d_features, vocab_size)
        initialise(self)
        self.attention = attention  # last: it came with weights of its own

    def start(self, encoded: Encoded) -> State:
        """Make the state before the first step; see :class:`Bridge`."""
        top = encoded.summary[:, -1]
        fed = top.new_zeros(top.shape[0], self.readout.d_features) if self.feeds_readout else None
        past = None if self.attention is None else self.attention.first_past(encoded.states)
        return State(self.bridge(encoded.summary), fed, top if self.feeds_summary else None, past)

    def remember(self, encoded: Encoded) -> Memory | None:
        """Do the attention's work on the source once, for all steps to come."""
        if self.attention is None:
            return None
        keys, values, mask = self.attention.remember(encoded.states, mask=encoded.mask)
        once = ready_for_products(keys)
        return Memory(once, once if values is keys else ready_for_products(values), mask)

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
        state, features, weights = self._advance(embedded, state, memory)
        return Step(self.vocabulary(self.dropout(features)), weights, state)

    def forward(
        self,
        inputs: Int[Tensor, "batch steps"],
        encoded: Encoded,
    ) -> tuple[Float[Tensor, "batch steps vocabulary"], Float[Tensor, "batch steps keys"] | None]:
        """Score every token of known sentences, each step told the true one before.

        Parameters
        ----------
        inputs : (batch, steps) integers
            ``<bos>`` and the target shifted right.
        encoded : Encoded
            The source.

        Returns
        -------
        logits : (batch, steps, vocabulary)
            Row t scores the token that follows input t.
        weights : (batch, steps, keys), or None
            Row t is where the decoder looked to produce that token.
        """
        state, memory = self.start(encoded), self.remember(encoded)
        embedded = self.dropout(self.embedding(inputs))
        # No step waits for another's attention: the context is fixed, or comes after and stays out.
        independent = self.attention is None or not (self.context_first or self.feeds_readout)
        run = self._all_at_once if independent else self._one_by_one
        features, weights = run(embedded, state, memory)
        return self.vocabulary(self.dropout(features)), weights

    def _advance(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[State, Tensor, Tensor | None]:
        """Attend and update, in the order of the style, and read out.

        The update reads the last token and, beside it, the context (Bahdanau) or the last readout
        (input feeding). Gives the next state, features for the output projection, and weights.
        """
        beside = state.fed
        if self.context_first:
            context, weights, past = self._attend(state.hidden.outputs[-1], memory, state)
            beside = context
        inputs = embedded if beside is None else torch.cat([embedded, beside], -1)
        hidden = rnn_step(self.rnn, inputs, state.hidden)
        if not self.context_first:
            context, weights, past = self._attend(hidden.outputs[-1], memory, state)
        features = self.readout(hidden.outputs[-1], context, embedded)
        fed = features if self.feeds_readout else None
        return State(hidden, fed, state.fixed, past), features, weights

    def _attend(
        self, query: Tensor, memory: Memory | None, state: State
    ) -> tuple[Tensor | None, Tensor | None, Past | None]:
        if self.attention is None or memory is None:
            return state.fixed, None, None
        return self.attention.look(query, memory, state.past)

    def _one_by_one(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run step by step, after the embedding of all inputs and before the output projection."""
        features, maps = [], []
        for embedded_t in embedded.unbind(1):
            state, features_t, weights = self._advance(embedded_t, state, memory)
            features.append(features_t)
            maps.append(weights)
        return torch.stack(features, 1), stack_steps(maps)

    def _all_at_once(
        self, embedded: Tensor, state: State, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None]:
        """Run the recurrent layers over the whole target, then attend with all states at once."""
        inputs, fixed = embedded, state.fixed
        if fixed is not None:
            fixed = fixed.unsqueeze(1).expand(-1, embedded.shape[1], -1)
            inputs = torch.cat([embedded, fixed], -1)
        outputs, cells = state.hidden
        first = torch.stack(outputs)
        hidden = first if cells is None else (first, torch.stack(cells))
        tops, _ = run_rnn(self.rnn, inputs, hidden)
        context, weights, _ = self._attend(tops, memory, state._replace(fixed=fixed))
        return self.readout(tops, context, embedded), weights


def stack_steps(steps: Sequence[Tensor | None]) -> Tensor | None:
    """Put what each step gave side by side, as (batch, steps, ...); None where steps gave None."""
    given = [x for x in steps if x is not None]
    return torch.stack(given, 1) if given else None


class Bridge(nn.Module):
    r"""First decoder state, :math:`s_0 = \tanh(W \bar{h} + b)`, one such layer for each of its own.

    Encoder and decoder may so differ in size, in number of directions and layers, and in the kind
    of unit: memory cells have a projection of their own, without the tanh, as they have no bounds.

    Each decoder layer reads the summary of the encoder layer across from it, counted from the top;
    layers below the encoder's first all read that one.

    Parameters
    ----------
    d_encoder, d_hidden : int
        Sizes of an encoder summary and of a decoder state.
    layers : int
        Number of decoder layers.
    cells : bool
        Whether the decoder has memory cells.

    Notes
    -----
    Bahdanau et al. read the backward state at the first word alone, :math:`W \overleftarrow{h}_1`.
    Here :math:`\bar{h}` holds the last forward state as well, which costs a product per sentence.

    References
    ----------
    Bahdanau, Cho and Bengio (2015), section A.2.2.

    Examples
    --------
    >>> hidden = Bridge(d_encoder=10, d_hidden=7, layers=2)(torch.randn(3, 1, 10))
    >>> [state.shape for state in hidden.outputs]
    [torch.Size([3, 7]), torch.Size([3, 7])]
    """

    def __init__(self, d_encoder: int, d_hidden: int, layers: int = 1, *, cells: bool = False):
        super().__init__()
        self.outputs = _projections(d_encoder, d_hidden, layers)
        self.cells = _projections(d_encoder, d_hidden, layers) if cells else None

    def forward(self, summary: Float[Tensor, "batch layers d_encoder"]) -> Hidden:
        """Project the summaries of the encoder's layers."""
        layers = summary.unbind(1)
        missing = len(layers) - len(self.outputs)
        across = [layers[max(missing + i, 0)] for i in range(len(self.outputs))]
        outputs = tuple(torch.tanh(project(x)) for project, x in zip(self.outputs, across))
        if self.cells is None:
            return Hidden(outputs, None)
        return Hidden(outputs, tuple(project(x) for project, x in zip(self.cells, across)))


def _projections(d_encoder: int, d_hidden: int, layers: int) -> nn.ModuleList:
    return nn.ModuleList([nn.Linear(d_encoder, d_hidden) for _ in range(layers)])
