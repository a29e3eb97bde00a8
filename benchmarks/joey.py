"""JoeyNMT as a contestant; runs in an environment of its own, without seqattn.

``python benchmarks/joey.py train|decode DATA BATCHING SCORE THREADS [BEAM STEPS]``
"""

import json
import logging
import sys
import time
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary

EMBED, HIDDEN, DROPOUT, SMOOTHING, CLIP = 256, 512, 0.2, 0.1, 1.0
# Its special tokens are unk 0, pad 1, bos 2, eos 3; in the file pad 0, bos 1, eos 2, unk 3.
IDS = {0: 1, 1: 2, 2: 3, 3: 0}


def vocabulary(size):
    """Make a vocabulary of so many tokens."""
    special = SimpleNamespace(
        unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>", sep_token=None,
        unk_id=0, pad_id=1, bos_id=2, eos_id=3, sep_id=None, lang_tags=[],
    )  # fmt: skip
    return Vocabulary([f"t{i}" for i in range(4, size)], special)


def make_model(sizes, score):
    """Build its recurrent model with input feeding, in the sizes of the benchmark."""
    part = {
        "type": "recurrent", "rnn_type": "gru", "hidden_size": HIDDEN, "num_layers": 1,
        "embeddings": {"embedding_dim": EMBED, "scale": False}, "dropout": DROPOUT,
    }  # fmt: skip
    config = {
        "encoder": {**part, "bidirectional": True},
        "decoder": {
            **part, "attention": score, "input_feeding": True, "init_hidden": "bridge",
            "hidden_dropout": DROPOUT,
        },
    }  # fmt: skip
    return build_model(config, *map(vocabulary, sizes))


def pad(rows):
    """Put sentences below each other."""
    width = max(map(len, rows))
    return torch.tensor([[IDS.get(i, i) for i in row] + [1] * (width - len(row)) for row in rows])


def batches(data, batching, with_target=True):
    """Give its batches for ever."""
    for rows in cycle(data[batching]):
        source = [data["examples"][row][0] for row in rows]
        target = [[1, *data["examples"][row][1]] for row in rows]
        batch = Batch(
            src=pad(source), src_length=torch.tensor([len(s) for s in source]),
            src_prompt_mask=None, trg=pad(target) if with_target else None, trg_prompt_mask=None,
            indices=torch.arange(len(rows)), device=torch.device("cpu"), pad_index=1, eos_index=3,
            is_train=with_target,
        )  # fmt: skip
        batch.sort_by_src_length()  # as its own trainer does
        yield batch


def main() -> None:
    """Be a contestant."""
    job, path, batching, score, threads, *rest = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    data = json.loads(Path(path).read_text())
    model = make_model(data["sizes"], score)
    model.loss_function = ("crossentropy", SMOOTHING)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    stream = batches(data, batching, job == "train")

    def train() -> int:
        batch = next(stream)
        loss, *_ = model(return_type="loss", **vars(batch))
        batch.normalize(loss, "tokens").backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        return batch.ntokens

    def decode() -> int:
        beam, steps = map(int, rest)
        batch = next(stream)
        search(
            model, batch, max_output_length=steps, beam_size=beam, beam_alpha=0.6, n_best=1,
            min_output_length=steps,
        )  # fmt: skip
        return batch.nseqs * steps

    model.train(job == "train")
    work = train if job == "train" else decode
    work()
    print("ready", flush=True)
    for line in sys.stdin:
        began, tokens = time.perf_counter(), 0
        while time.perf_counter() - began < float(line):
            tokens += work()
        print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
