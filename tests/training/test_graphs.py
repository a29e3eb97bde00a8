"""Updates that are recorded and replayed: what they keep, told without a GPU.

What a GPU makes of them is in ``tests/test_device.py``.
"""

import weakref

import pytest
import torch

from seqattn.data import Batches, Example
from seqattn.models import ModelConfig, build_model
from seqattn.training import graphs, make_optimizer, new_run, update
from seqattn.training.graphs import GraphedUpdates, repeat
from tests.training.corpus import TINY, corpus, settings

EXAMPLES = [Example([4 + n % 5] * n + [2], [5 + n % 4] * (n % 7) + [7, 2]) for n in range(1, 30)]
BATCHES = Batches(EXAMPLES, tokens=64)
RATES = [1e-3, 5e-3, 2e-3, 1e-2, 3e-3, 1e-3]


def built():
    torch.manual_seed(3)
    model = build_model(ModelConfig(d_embed=7, d_hidden=11, dropout=0.0), 12, 12).train()
    return model, make_optimizer(model)


def learned(make, model, rows=(0, 1, 0, 1, 0, 1)):
    """Updates on two batches in turn; the losses, and what came of the weights."""
    plan, told = BATCHES.plan(0), []
    for row, rate in zip(rows, RATES):
        made = make(BATCHES.take(plan[row]), lr=rate)
        told.append((made.loss.total, made.loss.tokens.float(), made.norm))
    # In 32 bits, as they were computed: their last bit depends on where the numbers lie in memory.
    return torch.tensor(told), [p.detach().clone() for p in model.parameters()]


def plainly(**options):
    model, optimizer = built()
    return learned(lambda batch, lr: update(model, optimizer, batch, lr=lr, **options), model)


def test_they_are_the_same_updates_at_each_rate():
    model, optimizer = built()
    recorded = []

    def recorder(work):
        recorded.append(work)
        return repeat(work)

    made = GraphedUpdates(model, optimizer, recorder=recorder, smoothing=0.1, clip=0.5)
    found, weights = learned(made, model)
    expected, known = plainly(smoothing=0.1, clip=0.5)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(weights, known)
    assert len(recorded) == 2  # one for each shape, when it came again


def test_what_was_reported_stays_when_the_next_update_reports():
    model, optimizer = built()
    make, batch = GraphedUpdates(model, optimizer, recorder=repeat), BATCHES.take([3, 9, 20])
    first, second = [make(batch, lr=1e-2) for _ in range(3)][1:]
    assert first.loss.total > second.loss.total


def test_a_shape_that_comes_once_and_shapes_beyond_the_most_are_not_recorded(monkeypatch):
    monkeypatch.setattr(graphs, "MOST", 1)
    model, optimizer = built()
    make = GraphedUpdates(model, optimizer, recorder=repeat)
    found, weights = learned(make, model, rows=(2, 0, 1, 0, 1, 0))
    assert len(make._recorded) == 1
    model, optimizer = built()
    expected, known = learned(
        lambda batch, lr: update(model, optimizer, batch, lr=lr), model, rows=(2, 0, 1, 0, 1, 0)
    )
    torch.testing.assert_close((found, weights), (expected, known))


def test_what_cannot_be_recorded_is_learned_all_the_same(caplog):
    def recorder(work):
        raise RuntimeError("operation not permitted when stream is capturing")

    model, optimizer = built()
    found, weights = learned(GraphedUpdates(model, optimizer, recorder=recorder), model)
    torch.testing.assert_close((found, weights), plainly())
    [message] = [record.getMessage() for record in caplog.records]
    assert "without CUDA graphs" in message
    assert "not permitted" in message


def test_nothing_of_a_failed_recording_is_held_while_the_training_goes_on():
    held = []

    def recorder(work):
        part = torch.zeros(3)
        held.append(weakref.ref(part))
        raise RuntimeError("no")

    model, optimizer = built()
    make = GraphedUpdates(model, optimizer, recorder=recorder)
    known, alive = make._update, []

    def watched(batch):
        alive.append([part() is not None for part in held])
        return known(batch)

    make._update = watched
    for _ in range(3):
        make(BATCHES.take([3, 9, 20]), lr=1e-3)
    assert alive == [[], [False], [False]]
    assert not any(group["capturable"] for group in optimizer.param_groups)


def test_a_trainer_that_is_resumed_records_anew(tmp_path):
    trainer = trainer_of(tmp_path)
    trainer.run()
    trainer._graphed = GraphedUpdates(trainer.model, trainer.optimizer, recorder=repeat)
    trainer.resume()
    assert trainer._graphed is None


def test_graphs_give_way_where_an_update_needs_their_memory(monkeypatch, caplog):
    model, optimizer = built()
    make = GraphedUpdates(model, optimizer, recorder=repeat)
    plan, known = BATCHES.plan(0), make._update
    for _ in range(2):
        make(BATCHES.take(plan[0]), lr=1e-3)
    assert len(make._recorded) == 1

    def full(batch):
        if make._recorded:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return known(batch)

    monkeypatch.setattr(make, "_update", full)
    assert make(BATCHES.take(plan[1]), lr=1e-3).loss.total > 0
    assert not make._recorded
    assert not make.records()
    assert "out of memory" in caplog.text
    monkeypatch.setattr(make, "_update", lambda batch: full_for_good())
    with pytest.raises(torch.cuda.OutOfMemoryError):
        make(BATCHES.take(plan[1]), lr=1e-3)


def full_for_good():
    raise torch.cuda.OutOfMemoryError("CUDA out of memory")


def trainer_of(folder, **changes):
    training = settings(**{"steps": 2, "sampling": None, "sampling_constant": None, **changes})
    return new_run(
        folder / "run", corpus(folder), model=TINY, training=training, subwords=0, quiet=True
    )


def test_a_training_on_a_cpu_records_nothing(tmp_path):
    trainer = trainer_of(tmp_path)
    trainer.run()
    assert trainer._graphed is None


SAMPLED = {"sampling": "linear", "sampling_constant": 0.5}


@pytest.mark.parametrize("changes", [{}, {"accumulate": 2}, SAMPLED])
def test_only_updates_that_do_the_same_are_recorded(changes, tmp_path):
    trainer = trainer_of(tmp_path, **changes)
    trainer.device = torch.device("cuda")
    assert trainer._may_be_recorded() == (not changes)
