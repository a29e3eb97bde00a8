"""The study of score and order: each part trains once, and nothing stored is lost."""

import itertools
import json

import pytest

from benchmarks import order
from seqattn.data.batches import Example

FEW, MANY = 2, 4


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Give what runs the study with made-up trainings, and the file that it writes."""
    trained = []

    def train_and_validate(cell):
        trained.append(json.dumps(cell))
        return {**cell, "epochs": cell["updates"] / 10, "bleu": 1.0}

    monkeypatch.setattr(order, "train_and_validate", train_and_validate)
    monkeypatch.setattr(order, "read_corpus", lambda: ([], ([1, 2], [1, 2, 3])))
    result = tmp_path / "order.json"

    def run(*options):
        trained.clear()
        shared = ["--work", str(tmp_path / "work"), "--result", str(result)]
        order.main([*shared, "--steps", str(FEW), str(MANY), *options])
        return list(trained), json.loads(result.read_text("utf-8"))

    return run


def test_the_study_trains_eight_models_from_three_seeds_once(study):
    trained, found = study()
    assert len(trained) == len(set(trained)) == 24
    assert {(row["lr"], row["updates"]) for row in found["rows"]} == {(order.LR, FEW)}
    assert (found["card"]["updates"], found["card"]["lr"]) == (FEW, order.LR)
    assert found["card"]["vocabularies"] == [2, 3]
    assert study()[0] == [], "what is there is trained again"


def test_memory_is_measured_apart_and_joins_what_is_stored(study, monkeypatch):
    _, before = study()
    peaks = iter(range(0, 10_000, 7))
    monkeypatch.setattr(order, "peak_memory", lambda device: next(peaks))
    monkeypatch.setattr(order, "in_own_process", lambda work, cell: work(cell))
    monkeypatch.setattr(order, "encode_pairs", lambda *_: [Example([4, 2], [5, 2])] * 9)
    trained, found = study("--memory")
    assert len(trained) == len(found["memory"]["rows"]) == 24
    assert {(row["updates"], row["memory"]) for row in found["memory"]["rows"]} == {(1, 7)}
    assert found.pop("memory")["card"]["updates"] == 1
    assert found == before


def test_a_process_of_its_own_gives_back_what_it_found():
    assert order.in_own_process(order.name_of, {"lr": 0.1, "seed": 2}) == "0.1-2"


def test_it_is_taken_up_where_it_stopped(study, monkeypatch):
    train = order.train_and_validate

    def stop_at_the_third(cell):
        if (cell["score"], cell["seed"]) == ("general", order.SEEDS[0]):
            raise KeyboardInterrupt
        return train(cell)

    monkeypatch.setattr(order, "train_and_validate", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        study()
    monkeypatch.setattr(order, "train_and_validate", train)
    trained, found = study()
    assert len(trained) == 22
    assert len(found["rows"]) == 24


def test_beyond_it_every_rate_and_budget_but_its_own_joins_what_is_stored(study):
    _, before = study()
    trained, found = study("--beyond")
    assert len(trained) == len(set(trained)) == 5 * 24
    assert (found["card"], found["rows"]) == (before["card"], before["rows"])
    seen = {(row["lr"], row["updates"]) for row in found["beyond"]["rows"]}
    assert seen == {*itertools.product(order.RATES, (FEW, MANY))} - {(order.LR, FEW)}
    assert found["beyond"]["card"]["updates"] == [FEW, MANY]
    assert study()[1] == found, "the first study drops what is beyond it"


def test_processes_can_share_what_lies_beyond_and_one_of_them_writes(study):
    _, before = study()
    shared = []
    for rate in order.RATES:
        trained, found = study("--beyond", "--rates", str(rate))
        assert {json.loads(cell)["lr"] for cell in trained} == {rate}
        assert found == before
        shared += trained
    trained, found = study("--beyond")
    assert trained == []
    assert len(found["beyond"]["rows"]) == len(shared) == len(set(shared))
