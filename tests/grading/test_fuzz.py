"""Twenty seconds of nonsense, always the same; ``python -m tools.fuzz`` goes on with more."""

import pytest

from tools import fuzz


@pytest.mark.slow
def test_what_must_always_hold_holds(tmp_path):
    found = fuzz.fuzz(20, "suite", folder=tmp_path, last=60)
    assert found.failed == []
    assert found.real
    assert found.files > found.rounds


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (
            lambda out: (out / "grades.csv").write_text("student,file,status,points,notes\n"),
            "no row",
        ),
        (lambda out: next((out / "feedback").iterdir()).write_text("<script></script>"), "script"),
        (lambda out: next((out / "feedback").iterdir()).write_text(fuzz.SEED), "the seed"),
        (lambda out: next((out / "feedback").iterdir()).unlink(), "a page is missing"),
        (lambda out: (out / "similar.csv").write_text("one\n=1+1\n"), "starts a formula"),
        (lambda out: (out / "x.part").touch(), "was left"),
    ],
)
def test_what_does_not_hold_is_noticed(spoil, what, tmp_path):
    made = fuzz.Class(tmp_path / "in", tmp_path / "roster.csv", ["ada"])
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.ipynb").write_text("{}")
    made.roster.write_text("id\nada\nbob\n")
    with fuzz.judged_by(fuzz.Stub):
        assert fuzz.grade(made.folder, made.roster, tmp_path / "out", 1).status == 0
    fuzz.look_at(made, tmp_path / "out")
    spoil(tmp_path / "out")
    with pytest.raises(fuzz.BrokenError, match=what):
        fuzz.look_at(made, tmp_path / "out")
