"""JoeyNMT as a contestant; runs in an environment of its own, without seqattn.

``python benchmarks/joey.py train|decode DATA BATCHING SCORE THREADS [BEAM STEPS]`` with weights of
its own, ``python benchmarks/joey.py translate DATA BEAM THREADS ANSWERS`` with ours, or
``python benchmarks/joey.py reach THREADS DATA`` to translate again and again while it trains.
"""

import ctypes
import json
import logging
import sys
import time
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from learner import learn_and_show  # beside this file

EMBED, HIDDEN, DROPOUT, SMOOTHING, CLIP = 256, 512, 0.2, 0.1, 1.0
# Its special tokens are unk 0, pad 1, bos 2, eos 3; in the file pad 0, bos 1, eos 2, unk 3.
IDS = {0: 1, 1: 2, 2: 3, 3: 0}
BACK = {theirs: ours for ours, theirs in IDS.items()}
DEVICE = torch.device("cpu")


def vocabulary(size):
    """Make a vocabulary of so many tokens."""
    special = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None,
        unk_id=0, pad_id=1, bos_id=2, eos_id=3, sep_id=None, lang_tags=[],
    )  # fmt: skip
    return Vocabulary([f"t{i}" for i in range(4, size)], special)


def make_model(sizes, score, embed=EMBED, hidden=HIDDEN, dropout=DROPOUT, **start):
    """Build its recurrent model with input feeding, in the sizes of the benchmark.

    ``start`` is what its configuration may say of the first weights.
    """
    part = {
        "type": "recurrent", "rnn_type": "gru", "hidden_size": hidden, "num_layers": 1,
        "embeddings": {"embedding_dim": embed, "scale": False}, "dropout": dropout,
    }  # fmt: skip
    config = {
        "encoder": {**part, "bidirectional": True},
        "decoder": {
            **part, "attention": score, "input_feeding": True, "init_hidden": "bridge",
            "hidden_dropout": DROPOUT,
        },
    }  # fmt: skip
    return build_model(config | start, *map(vocabulary, sizes))


def take_over(model, ours):
    """Give its model the weights of ours: Luong's general score, a GRU, input feeding."""
    size = len(ours["encoder.embedding.weight"]), len(ours["decoder.embedding.weight"])
    renumbered = [torch.tensor([BACK.get(i, i) for i in range(n)]) for n in size]
    states = ours["encoder.rnn.weight_hh_l0"].shape[1] * 2
    context, state = ours["decoder.readout.W_c.weight"].split((states, states // 2), 1)
    theirs = {
        "src_embed.lut.weight": ours["encoder.embedding.weight"][renumbered[0]],
        "trg_embed.lut.weight": ours["decoder.embedding.weight"][renumbered[1]],
        "decoder.bridge_layer.weight": ours["decoder.bridge.outputs.0.weight"],
        "decoder.bridge_layer.bias": ours["decoder.bridge.outputs.0.bias"],
        "decoder.attention.key_layer.weight": ours["decoder.attention.score.W"],
        "decoder.att_vector_layer.weight": torch.cat([state, context], 1),
        "decoder.att_vector_layer.bias": torch.zeros(len(state)),
        "decoder.output_layer.weight": ours["decoder.vocabulary.weight"][renumbered[1]],
        "decoder.output_layer.bias": ours["decoder.vocabulary.bias"][renumbered[1]],
    }
    theirs |= {name: value for name, value in ours.items() if ".rnn." in name}
    # It has no bias there; ours learnt one.
    model.decoder.output_layer = torch.nn.Linear(states // 2, size[1])
    model.load_state_dict(theirs)


def pad(rows):
    """Put sentences below each other."""
    width = max(map(len, rows))
    return torch.tensor([[IDS.get(i, i) for i in row] + [1] * (width - len(row)) for row in rows])


def make_batch(data, rows, with_target):
    """Put sentences into a batch as its own trainer does."""
    source = [data["examples"][row][0] for row in rows]
    target = [[1, *data["examples"][row][1]] for row in rows]
    batch = Batch(
        src=pad(source), src_length=torch.tensor([len(s) for s in source]),
        src_prompt_mask=None, trg=pad(target) if with_target else None, trg_prompt_mask=None,
        indices=torch.tensor(rows), device=DEVICE, pad_index=1, eos_index=3,
        is_train=with_target,
    )  # fmt: skip
    batch.sort_by_src_length()
    return batch


def obey(work):
    """Work when told to, and say how much was done in what time."""
    print(f"ready: JoeyNMT {version('joeynmt')}, PyTorch {torch.__version__}", flush=True)
    for line in sys.stdin:
        began, done = time.perf_counter(), 0
        while time.perf_counter() - began < float(line):
            done += work()
        if DEVICE.type == "cuda":  # still at it
            torch.cuda.synchronize()
        print(json.dumps({"tokens": done, "seconds": time.perf_counter() - began}), flush=True)


def translate(path, beam, threads, answers) -> None:
    """Translate sentences with weights of ours: all of them once, then as told."""
    torch.set_num_threads(int(threads))
    data = json.loads(Path(path).read_text())
    ours = torch.load(data["weights"], weights_only=True)
    embed, hidden = (
        ours["encoder.embedding.weight"].shape[1],
        len(ours["decoder.attention.score.W"]),
    )
    model = make_model(data["sizes"], "luong", embed, hidden).eval()
    take_over(model, ours)

    Path(answers).write_text(json.dumps(translate_all(model, data, beam)))
    obey(lambda: sum(len(list(search_all(model, data, rows, beam))) for rows in data[beam]))


def reach(threads, path) -> None:
    """Train, and translate what nobody trains on whenever a judgement is due."""
    torch.set_num_threads(int(threads))
    data = json.loads(Path(path).read_text())
    torch.manual_seed(data["seed"])
    own = data["own"]
    model = make_model(data["sizes"], own["score"], *data["widths"], own["dropout"], **own["start"])
    update = make_trainer(model, own["smoothing"], own["clip"], own["adamw"])

    def train(rows, lr) -> int:
        model.train()
        return update(make_batch(data, rows, with_target=True), lr)

    about = f"JoeyNMT {version('joeynmt')}, PyTorch {torch.__version__}"
    learn_and_show(data, train, lambda: translate_all(model.eval(), data, "1"), about)


def search_all(model, data, rows, beam):
    """Translate the sentences of these rows; give each with its row."""
    batch = make_batch(data, rows, with_target=False)
    most = 2 * int(batch.src_length.max()) + 10
    found, *_ = search(
        model, batch, max_output_length=most, beam_size=0 if beam == "1" else int(beam),
        beam_alpha=0.6, n_best=1, min_output_length=0,
    )  # fmt: skip
    return zip(batch.indices.tolist(), found.tolist(), strict=True)


def translate_all(model, data, beam):
    """Translate all batches of a beam; give our ids, in the order of their rows."""
    found = dict(pair for rows in data[beam] for pair in search_all(model, data, rows, beam))
    # Its greedy search writes on until the last sentence of the batch has ended.
    ids = [[BACK.get(i, i) for i in [*found[row], 3]] for row in sorted(found)]
    return [sentence[: sentence.index(2)] for sentence in ids]


def make_trainer(model, smoothing=SMOOTHING, clip=CLIP, adamw=None):
    """Give what makes an update with a batch and counts its target tokens.

    The optimizer is AdamW with these settings, or Adam as it comes.
    """
    model.loss_function = ("crossentropy", smoothing)
    if adamw is None:
        optimizer = torch.optim.Adam(model.parameters())
    else:
        optimizer = torch.optim.AdamW(model.parameters(), **adamw)

    def train(batch, lr) -> int:
        optimizer.param_groups[0]["lr"] = lr
        loss, *_ = model(return_type="loss", **vars(batch))
        batch.normalize(loss, "tokens").backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        optimizer.zero_grad()
        return batch.ntokens

    return train


def main() -> None:
    """Be a contestant."""
    logging.disable(logging.CRITICAL)
    # As ours does: see seqattn.process.prepare_process.
    torch.set_flush_denormal(True)
    for option in (-3, -1):
        ctypes.CDLL(None).mallopt(option, 2**31 - 1)
    torch.manual_seed(0)
    if sys.argv[1] == "--device":
        global DEVICE
        DEVICE = torch.device(sys.argv[2])
        del sys.argv[1:3]
    if whole := {"translate": translate, "reach": reach}.get(sys.argv[1]):
        return whole(*sys.argv[2:])
    job, path, batching, score, threads, *rest = sys.argv[1:]
    torch.set_num_threads(int(threads))
    data = json.loads(Path(path).read_text())
    model = make_model(data["sizes"], score).to(DEVICE)
    stream = (make_batch(data, rows, job == "train") for rows in cycle(data[batching]))

    def decode() -> int:
        beam, steps = map(int, rest)
        batch = next(stream)
        search(
            model, batch, max_output_length=steps, beam_size=beam, beam_alpha=0.6, n_best=1,
            min_output_length=steps,
        )  # fmt: skip
        return batch.nseqs * steps

    model.train(job == "train")
    train = make_trainer(model)
    work = (lambda: train(next(stream), 5e-4)) if job == "train" else decode
    work()
    obey(work)


if __name__ == "__main__":
    main()
