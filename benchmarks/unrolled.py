"""Train the five small translators that the unrolled figure shows at work.

    python -m benchmarks.unrolled

All learn the same 72 pairs, each sentence of a tiny language, until their loss is small but not
nothing, so that their weights and probabilities leave something to see. Writes
``seqattn/data/measured/unrolled.json``.
"""

import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from seqattn.models import ModelConfig, build_model
from seqattn.specials import BOS, EOS, SPECIALS

OUT = Path(__file__).resolve().parents[1] / "seqattn" / "data" / "measured" / "unrolled.json"

ARTICLES = {"the": "le", "a": "un"}
NOUNS = {"cat": "chat", "dog": "chien", "king": "roi"}
VERBS = {"sleeps": "dort", "eats": "mange", "sings": "chante"}
# French has the colours behind the noun, the size before it.
BEHIND = {"black": "noir", "white": "blanc"}
BEFORE = {"small": "petit"}

SIZES: dict[str, Any] = {"d_embed": 6, "d_hidden": 8, "dropout": 0.0}
ONE_WAY = {"bidirectional": False}
MODELS = {
    "none": ModelConfig("fixed", **SIZES, **ONE_WAY),
    "bahdanau": ModelConfig("bahdanau", **SIZES, d_encoder=4, d_attn=8),
    "luong": ModelConfig("luong", **SIZES, **ONE_WAY, score="general"),
    "luong, no feeding": ModelConfig(
        "luong", **SIZES, **ONE_WAY, score="general", input_feeding=False
    ),
    # One layer and one head, so that one map holds all weights of an attention.
    "transformer": ModelConfig("transformer", d_hidden=8, heads=1, d_feedforward=16, dropout=0.0),
}
ENOUGH = 0.05  # nats a token
LIMIT = 4000


def language() -> list[tuple[list[str], list[str]]]:
    """List every sentence of the tiny language with its translation."""
    pairs = []
    for article, adjective, noun, verb in itertools.product(
        ARTICLES, [None, *BEHIND, *BEFORE], NOUNS, VERBS
    ):
        source = [article, adjective, noun, verb]
        target = [ARTICLES[article], BEFORE.get(adjective), NOUNS[noun], BEHIND.get(adjective)]
        pairs.append(([w for w in source if w], [w for w in [*target, VERBS[verb]] if w]))
    return pairs


def train(config: ModelConfig, seed: int) -> tuple[dict[str, Any], list[list[str]]]:
    """Train one model on all pairs at once; give it as plain values, with both vocabularies."""
    pairs = language()
    words = [[*SPECIALS, *sorted({w for pair in pairs for w in pair[side]})] for side in (0, 1)]
    ids = [[[words[side].index(w) for w in p[side]] for p in pairs] for side in (0, 1)]
    pad = torch.nn.utils.rnn.pad_sequence
    source = pad([torch.tensor(x) for x in ids[0]], batch_first=True)
    lengths = torch.tensor([len(x) for x in ids[0]])
    inputs = pad([torch.tensor([BOS, *y]) for y in ids[1]], batch_first=True)
    wanted = pad([torch.tensor([*y, EOS]) for y in ids[1]], batch_first=True)

    torch.manual_seed(seed)
    model = build_model(config, len(words[0]), len(words[1]))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    updates = 0
    while True:
        updates += 1
        logits = model(source, lengths, inputs).logits
        loss = F.cross_entropy(logits.transpose(1, 2), wanted, ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        if loss < ENOUGH or updates == LIMIT:
            break
        optimizer.step()
    right = (logits.argmax(-1) == wanted)[wanted != 0].float().mean()
    print(f"{updates:5} updates  loss {loss:.3f}  right tokens {100 * right:.1f} %")
    weights = {k: _rounded(v.tolist()) for k, v in model.state_dict().items()}
    plain = {"config": asdict(config), "updates": updates, "loss": round(loss.item(), 4)}
    return plain | {"weights": weights}, words


def _rounded(values: Any) -> Any:
    return [_rounded(v) for v in values] if isinstance(values, list) else round(values, 4)


def main() -> None:
    """Train and write."""
    models = {}
    for name, config in MODELS.items():
        print(f"{name:18}", end="", flush=True)
        models[name], words = train(config, seed=0)
    found = {
        "card": {
            "command": "python -m benchmarks.unrolled",
            "pairs": len(language()),
            "seed": 0,
            "optimizer": f"Adam, learning rate 0.01, until the loss is below {ENOUGH} nats a token",
        },
        "source_words": words[0],
        "target_words": words[1],
        "models": models,
    }
    OUT.write_text(json.dumps(found) + "\n", encoding="utf-8")
    print(f"{OUT.name}: {OUT.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
