"""Whole models as one program: ``torch.export`` and ``torch.compile(fullgraph=True)``.

An exported model takes batches of any size and sources of any length. A loop over known targets is
written out, so its number of steps is that of the example; ``begin`` and ``step`` have none.
"""

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F
from torch.utils._pytree import tree_map

from seqattn import BahdanauAttention
from seqattn.models import AttentionDecoder, Encoder, PointerGenerator, Transformer
from tests.conftest import THOROUGH
from tests.models.families import (
    D_EMBED,
    D_ENCODER,
    D_HIDDEN,
    FAMILIES,
    KEYS,
    PLAIN,
    SOURCE_VOCAB,
    STEPS,
    TARGET_VOCAB,
    batch,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("unchecked"),
    # Both are PyTorch's own, of a loop that is one operation.
    pytest.mark.filterwarnings(
        "ignore:The .grad attribute of a Tensor:UserWarning", "ignore::DeprecationWarning"
    ),
]
ANY = Dim.DYNAMIC


def pointer_generator():
    attention = BahdanauAttention(D_HIDDEN, D_ENCODER, 5)
    decoder = AttentionDecoder(SOURCE_VOCAB + 1, D_EMBED, D_HIDDEN, D_ENCODER, attention)
    return PointerGenerator(Encoder(SOURCE_VOCAB, D_EMBED, D_ENCODER // 2), decoder).double()


def transformer(**options):
    sizes = {"d_model": 12, "heads": 3, "layers": 2, "d_feedforward": 20, "dropout": 0.0}
    return Transformer(SOURCE_VOCAB, TARGET_VOCAB, **sizes, **options).double()


# An export takes seconds: a commit tries what differs in its loop or in what a state carries.
EXPORTED = [
    "luong, no input feeding",
    "fixed, first state only",
    "bahdanau, lstm, 2 layers, tanh",
    "coverage, luong",
    "local-p, luong, no input feeding",
    "hard, luong",
]
if THOROUGH:
    EXPORTED += [
        "bahdanau",
        "scaled dot, luong",
        "concat, bahdanau",
        "rank 2, luong",
        "one direction",
        "local-m, bahdanau",
        "two heads, luong",
    ]
COMPILED = ["luong", "luong, no input feeding, lstm, 2 layers, linear", "fixed, first state only"]
OTHERS = {
    "pointer-generator": pointer_generator,
    "transformer": transformer,
    "transformer, post-norm, learned positions": lambda: transformer(
        norm="post", positions="learned", max_len=31
    ),
}
MODELS = {family.name: family.build for family in FAMILIES + PLAIN} | OTHERS


def more_sentences(keys=KEYS, steps=STEPS):
    """A batch of another size, of sentences of other lengths."""
    torch.manual_seed(1)
    lengths = torch.tensor([1, keys - 1, 3, keys, 2])
    source = torch.randint(4, SOURCE_VOCAB, (5, keys))
    source[torch.arange(keys) >= lengths[:, None]] = 0
    return source, lengths, torch.randint(4, TARGET_VOCAB, (5, steps))


def agree(found, expected):
    """The same numbers; where the shapes are those of the input alone, with room for more words."""
    (logits, weights), words = found, expected.logits.shape[-1]
    torch.testing.assert_close(logits[..., :words], expected.logits, rtol=1e-10, atol=1e-12)
    assert (logits[..., words:] == -torch.inf).all()
    torch.testing.assert_close(weights, expected.weights, rtol=1e-10, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*EXPORTED, *OTHERS])
def test_an_exported_model_takes_any_batch_and_any_source(name):
    model = MODELS[name]().eval()
    steps = {1: ANY} if "transformer" in name else {}
    shapes = {0: ANY, 1: ANY}, {0: ANY}, {0: ANY} | steps
    exported = export(model, batch(), dynamic_shapes=shapes).module()
    more = more_sentences(KEYS + 4, STEPS + 2 if steps else STEPS)
    for given in (batch(), more):
        agree(exported(*given), model(*given))


def sizes_of(x):
    """Which sizes of a part of a state or memory may change: its batch, and the source's length."""
    if x is None:
        return None
    return {0: ANY, 1: ANY} if x.shape[1:2] == (KEYS,) else {0: ANY}


class Part(nn.Module):
    """One of a model's two methods, as a module that can be exported."""

    def __init__(self, model, method):
        super().__init__()
        self.model, self.method = model, method

    def forward(self, *given):
        return getattr(self.model, self.method)(*given)


@pytest.mark.parametrize("name", ["bahdanau", "coverage, luong", "local-m, luong"])
def test_begin_and_step_can_be_exported_for_a_search_elsewhere(name):
    model = MODELS[name]().eval()
    source, lengths, inputs = batch()
    begin = export(
        Part(model, "begin"), (source, lengths), dynamic_shapes=(({0: ANY, 1: ANY}, {0: ANY}),)
    ).module()
    first = model.begin(source, lengths)
    sizes = tree_map(sizes_of, first)
    shapes = (({0: ANY}, *sizes),)
    step = export(Part(model, "step"), (inputs[:, 0], *first), dynamic_shapes=shapes).module()
    source, lengths, inputs = more_sentences(KEYS + 4)
    state, memory = begin(source, lengths)
    own_state, own_memory = model.begin(source, lengths)
    for tokens in inputs.unbind(1):
        found, expected = step(tokens, state, memory), model.step(tokens, own_state, own_memory)
        torch.testing.assert_close(found[:2], expected[:2], rtol=1e-10, atol=1e-12)
        state, own_state = found.state, expected.state


@pytest.mark.parametrize("name", [*COMPILED, "pointer-generator", "transformer"])
def test_torch_compile_takes_it_whole(name, compile_whole):
    model = MODELS[name]()  # in training, as one would
    compiled = compile_whole(model)
    for given in (batch(), more_sentences()):
        agree(compiled(*given), model(*given))


@pytest.mark.parametrize("name", ["bahdanau", "luong, no input feeding, lstm, 2 layers, linear"])
@pytest.mark.parametrize("how", ["compiled", "exported"])
def test_what_is_made_of_a_model_learns_the_same(how, name, unchecked):
    torch.compiler.reset()
    model, given = MODELS[name](), batch()
    if how == "compiled":
        program = torch.compile(model, fullgraph=True, backend="aot_eager")
    else:
        shapes = {0: ANY, 1: ANY}, {0: ANY}, {0: ANY}
        program = export(model, given, dynamic_shapes=shapes).module()
    gradients = []
    for made in (model, program):
        loss = F.cross_entropy(made(*given).logits.flatten(0, 1), given[2].flatten())
        parameters = dict(made.named_parameters())
        found = torch.autograd.grad(loss, list(parameters.values()))
        gradients.append({n.removeprefix("_orig_mod."): g for n, g in zip(parameters, found)})
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-9, atol=1e-12)
