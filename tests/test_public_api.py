"""The public names: importable, signed as documented, and documented in NumPy's form."""

import inspect
import re
from pathlib import Path

import pytest
import torch

import seqattn
from seqattn import (
    attention,
    data,
    decoding,
    evaluation,
    metrics,
    models,
    plots,
    training,
    translator,
)

# The signatures that exercises, chapters and graders rely on: "*" marks where keywords begin.
SIGNATURES = {
    "additive_score": "query, keys, W_q, W_k, v, b=None",
    "dot_score": "query, keys",
    "scaled_dot_score": "query, keys",
    "general_score": "query, keys, W",
    "concat_score": "query, keys, W, v",
    "reduced_rank_score": "query, keys, U, V",
    "location_score": "query, keys, W",
    "masked_softmax": "scores, mask=None, *, temperature=1.0, dim=-1",
    "attend": "scores, values, mask=None, *, temperature=1.0",
    "Attention": "score, normalize=masked_softmax, dropout=0.0",
    "BahdanauAttention": "d_query, d_key, d_attn",
    "LuongAttention": "d_query, d_key, score='general', d_attn=None",
    "ReducedRankAttention": "d_query, d_key, rank",
    "LocationAttention": "d_query, max_len",
    "ScaledDotProductAttention": "",
    "LocalAttention": "d_query, d_key, window, alignment='predictive', score='general'",
    "CoverageAttention": "d_query, d_key, d_attn",
    "coverage_loss": "weights, coverage=None, target_mask=None",
    "MultiHeadAttention": "d_model, heads, *, bias=True, dropout=0.0",
    "attention_entropy": "weights, mask=None, *, base=None, normalized=False",
    "effective_positions": "weights, mask=None, *, threshold=None",
    "alignment_error_rate": "predicted, sure, possible",
    "padding_mask": "lengths, max_len=None",
    "causal_mask": "size",
    "plot_attention": "weights, source, target, *, ax=None",
}


def written(function) -> str:
    parts, keywords = [], False
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keywords:
            parts.append("*")
            keywords = True
        default = getattr(p.default, "__name__", repr(p.default))
        parts.append(p.name if p.default is p.empty else f"{p.name}={default}")
    return ", ".join(parts)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures_are_those_that_others_rely_on(name):
    # What is documented comes first; more may follow as keywords.
    promised, actual = SIGNATURES[name], written(getattr(seqattn, name))
    rest = actual.removeprefix(promised)
    assert actual.startswith(promised), actual
    assert rest == "" or rest.lstrip(", ").startswith("*") or "*" in promised, actual


def test_star_import_brings_the_public_names_and_no_others():
    names = {n for n in vars(seqattn) if not n.startswith("_")}
    submodules = {n for n in names if inspect.ismodule(getattr(seqattn, n))}
    assert set(seqattn.__all__) == names - submodules
    assert len(seqattn.__all__) == len(set(seqattn.__all__))


PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (seqattn, metrics, plots)
    for name in module.__all__
    if callable(getattr(module, name))
}


def sections(thing) -> dict[str, str]:
    text = inspect.getdoc(thing) or ""
    cut = re.split(r"^([A-Z][A-Za-z ]+)\n-+$", text, flags=re.MULTILINE)
    return {"": cut[0], **dict(zip(cut[1::2], cut[2::2], strict=True))}


def own_parameters(thing) -> list[str]:
    if inspect.isclass(thing) and "__init__" not in vars(thing):
        return list(getattr(thing, "_fields", ()))
    return [p for p in inspect.signature(thing).parameters if p != "self"]


def is_module_without_use_of_its_own(thing) -> bool:
    # Score modules are used through an Attention; each points to its function, which has examples.
    return inspect.isclass(thing) and issubclass(thing, seqattn.Score)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstrings_say_what_goes_in_and_what_comes_out(name):
    thing = PUBLIC[name]
    found = sections(thing)
    summary = found[""].strip().splitlines()[0]
    assert summary.endswith((".", "?")) or ":math:" in found[""], summary
    named = " ".join(found.get("Parameters", "").split()) + found.get("Attributes", "")
    for parameter in own_parameters(thing):
        assert re.search(rf"\b{parameter}\b", named), f"{parameter} is not documented"
    if not inspect.isclass(thing) and inspect.signature(thing).return_annotation is not None:
        assert found.get("Returns", "").strip(), "Returns is missing"
    is_result = inspect.isclass(thing) and issubclass(thing, tuple)
    if not is_result and not is_module_without_use_of_its_own(thing):
        assert ">>> " in found.get("Examples", ""), "a runnable example is missing"


@pytest.mark.parametrize("name", [n for n in SIGNATURES if re.search("_score|.Attention", n)])
def test_formulas_from_the_literature_name_their_source(name):
    assert re.search(r"\(\d{4}\)", sections(getattr(seqattn, name)).get("References", ""))


PAGES = Path(__file__).resolve().parents[1] / "chapters"
REFERENCE = "\n".join(path.read_text(encoding="utf-8") for path in PAGES.glob("api*.md"))
ROOMS = (
    seqattn,
    *(attention, data, decoding, evaluation, metrics, models, plots, training, translator),
)


def own_functions(thing):
    """Give the function, or the public methods of the class and what makes an instance."""
    if inspect.isfunction(thing):
        return [thing]
    found = []
    for name, part in vars(thing).items():
        part = inspect.unwrap(getattr(part, "fget", None) or getattr(part, "__func__", part))
        public = name[0] != "_" or name in ("__init__", "__post_init__")
        # What a dataclass generates has no source.
        if inspect.isfunction(part) and public and part.__code__.co_filename[0] != "<":
            found.append(part)
    return found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_what_is_raised_is_documented(room):
    missing, looked = [], 0
    for thing in (inspect.unwrap(getattr(room, name)) for name in room.__all__):
        if not inspect.isclass(thing) and not inspect.isfunction(thing):
            continue
        for part in [] if getattr(thing, "_is_protocol", False) else own_functions(thing):
            told = sections(part).get("Raises", "")
            if part.__name__.startswith("__"):  # what its class documents
                told += sections(thing).get("Raises", "")
            errors = set(re.findall(r"raise (\w+Error)", inspect.getsource(part)))
            missing += [
                f"{part.__qualname__}: {error}"
                for error in errors - {"NotImplementedError"}
                if error not in told
            ]
            looked += 1
    assert missing == []
    assert looked


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_every_function_and_class_is_on_a_page_of_the_reference(room):
    public = {name: getattr(room, name) for name in room.__all__}
    wanted = {n for n, x in public.items() if inspect.isclass(x) or inspect.isfunction(x)}
    missing = sorted(name for name in wanted if not re.search(rf"\b{name}\b", REFERENCE))
    assert missing == [], "name each on its page, chapters/api_*.md"


def test_results_unpack_and_have_names():
    context, weights = output = seqattn.attend(torch.zeros(2, 3), torch.ones(2, 3, 5))
    assert context is output.context
    assert weights is output.weights
