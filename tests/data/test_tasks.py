"""Letters to letters: each task is its rule, and its links say where each letter comes from."""

import pytest

from seqattn.data import LETTER_TASKS, letter_pairs, which_clause
from seqattn.data.tasks import GOOD


def in_code(letter, letters):
    return chr((ord(letter) - ord("a") + letters // 2) % letters + ord("a"))


@pytest.mark.parametrize("letters", [4, 12])
@pytest.mark.parametrize("task", LETTER_TASKS)
def test_each_task_is_its_rule(task, letters):
    pairs = letter_pairs(task, 50, 1, 7, letters=letters, seed=3)
    assert {len(pair.source.split()) for pair in pairs} == set(range(1, 8))
    for pair in pairs:
        source, target = pair.source.split(), pair.target.split()
        coded = [in_code(letter, letters) for letter in source]
        expected = {
            "substitute": coded,
            "reverse": coded[::-1],
            "double": [letter for letter in coded for _ in "ab"],
        }
        assert target == expected[task]
        assert sorted(t for _, t in pair.links) == list(range(len(target)))
        assert all(coded[i] == target[t] for i, t in pair.links)


def test_the_letters_do_not_depend_on_the_task_and_all_occur():
    drawn = [letter_pairs(task, 40, 5, seed=1) for task in LETTER_TASKS]
    assert len({tuple(pair.source for pair in pairs) for pairs in drawn}) == 1
    assert {len(pair.source.split()) for pair in drawn[0]} == {5}
    assert len({letter for pair in drawn[0] for letter in pair.source.split()}) == 12
    assert drawn[0] == letter_pairs("substitute", 40, 5, seed=1)
    assert drawn[0] != letter_pairs("substitute", 40, 5, seed=2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("sort", 1, 3), "task is 'sort'; expected one of substitute, reverse, double"),
        (("double", 1, 5, 4), "lengths are 5 to 4; expected at least 1, in this order"),
        (("double", 1, 0), "lengths are 0 to 0; expected at least 1"),
        (("double", 1, 2.5), "shortest is 2.5; expected a whole number"),
        (("double", True, 2), "count is True; expected a whole number"),
        (("double", -3, 2), "count is -3; expected at least 0"),
    ],
)
def test_errors_name_what_was_wrong(given, said):
    with pytest.raises(ValueError, match=said):
        letter_pairs(*given)


def test_an_odd_alphabet_is_refused():
    with pytest.raises(ValueError, match="letters is 5; expected an even number from 2 to 26"):
        letter_pairs("double", 1, 3, letters=5)
    with pytest.raises(ValueError, match=r"letters is 4\.0; expected a whole number"):
        letter_pairs("double", 1, 3, letters=4.0)


def test_a_clause_is_what_its_label_says():
    drawn = which_clause(6144, seed=2)
    assert len({one.text for one in drawn}) == len(drawn)
    for one in drawn:
        words = one.text.split()
        assert words[one.noun] == "film"
        said = words[one.noun + 1 : one.adjective]
        assert said in (["was"], ["was", "not"])
        assert one.positive == ((words[one.adjective] in GOOD) != ("not" in said))
    assert which_clause(9, seed=2) == which_clause(9, seed=2) != which_clause(9, seed=3)


@pytest.mark.parametrize("count", [0, 6145])
def test_there_are_only_so_many_clauses(count):
    with pytest.raises(ValueError, match=f"count is {count}; expected 1 to 6144"):
        which_clause(count)
