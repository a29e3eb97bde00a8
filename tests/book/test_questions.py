"""Questions are well formed, stand where they are asked, and show in every face of the book."""

import re

import pytest
import yaml

from tools import notebooks, plain, questions
from tools.questions import QuestionError

CHAPTERS = [path for path in notebooks.sources() if path.stem[0].isdigit()]
ONE = {
    "kind": "one",
    "asks": "What is $1 + 1$?",
    "options": [
        {"says": "one", "because": "That is one of them."},
        {"says": "two", "right": True, "because": "One and one more."},
    ],
}
NUMBER = ONE | {
    "kind": "number",
    "within": 0.4,
    "otherwise": "Count.",
    "options": [dict(option, says=says) for option, says in zip(ONE["options"], ("1", "2"))],
}
CURVE = ONE | {
    "kind": "curve",
    "x": {"label": "x", "at": [0, 1]},
    "y": {"label": "y", "range": [0, 5]},
    "options": [
        {"says": "it rises", "because": "It does: 0, 4.", "right": True, "curve": [0, 4]},
        {"says": "it falls", "because": "It does not.", "curve": [4, 0]},
    ],
}


def table(tmp_path, entry, name="two"):
    path = tmp_path / "09_new.yml"
    path.write_text(yaml.safe_dump({"predict": {name: entry}}), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_asks_each_of_its_questions_once_and_in_order(path):
    cells = notebooks.read_source(path).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    asked = questions.DIRECTIVE.findall(text)
    assert len(re.findall(r"\{(?:predict|self-check)\}", text)) == len(asked)
    own = questions.read(questions.ROOT / questions.FOLDER / f"{path.stem}.yml")
    for use in questions.USES:
        names = [name for kind, name in asked if kind == use]
        assert names == [question.name for question in own if question.use == use]
        assert len(names) >= (3 if use == "self-check" else 2)
    # An output waits for a question that is asked before it.
    seen = set()
    for cell in cells:
        seen |= {name for _, name in questions.DIRECTIVE.findall(cell.source)}
        tags = cell.metadata.get("tags", [])
        for tag in tags:
            if tag.startswith(questions.UNTIL):
                assert tag.removeprefix(questions.UNTIL) in seen
                assert "hide-output" in tags, (
                    f"beside {tag!r} stands 'hide-output': without scripts the output is folded"
                )
                assert "experiment_card(" not in cell.source, "a card says nothing of the outcome"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_what_explains_an_output_waits_like_the_output(path):
    waited_for = False
    for cell in notebooks.read_source(path).cells:
        if cell.cell_type == "code":
            tags = cell.metadata.get("tags", [])
            waited_for |= any(tag.startswith(questions.UNTIL) for tag in tags)
        elif waited_for:
            # A heading begins something else.
            assert cell.source.startswith(("<details>", "#")), (
                "put what explains the output into a fold, <details><summary>What the output "
                f"shows</summary>: {cell.source[:80]!r}"
            )
            waited_for = False


def test_names_are_unique_and_every_table_belongs_to_a_chapter():
    pages = {question.page for question in questions.every().values()}
    assert pages == {path.stem for path in CHAPTERS} | {"prerequisites"}
    assert {q.kind for q in questions.every().values()} == set(questions.KINDS)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_plain_notebook_shows_the_question_and_folds_the_answer(path):
    page = plain.Text(plain.Book(), f"chapters/{path.stem}")
    for question in questions.read(questions.ROOT / questions.FOLDER / f"{path.stem}.yml"):
        shown = page.convert(f"```{{{question.use}}} {question.name}\n```")
        before, _, answer = shown.partition("<details>")
        assert before.startswith(f"**{question.head}.** ")
        assert "{" + question.use not in shown
        for option in question.options:
            assert question.kind == "number" or page.convert(option.says) in before
            assert page.convert(option.because) in answer
            assert page.convert(option.because) not in before


@pytest.mark.parametrize("entry", [ONE, NUMBER, CURVE], ids=lambda entry: entry["kind"])
def test_a_good_question_is_read(tmp_path, entry):
    [question] = questions.read(table(tmp_path, entry))
    assert [option.right for option in question.options].count(True) == 1
    assert question.head == "Predict"


@pytest.mark.parametrize(("says", "number"), [("1,500", 1500), ("−1", -1), ("-0.5", -0.5)])
def test_a_number_is_read_as_a_reader_sees_it(says, number):
    assert questions.Option(says, "").number == number


def but(entry, option=None, **changes):
    """Change an entry, or its second option."""
    changed = entry | {k: v for k, v in changes.items() if option is None}
    if option is not None:
        options = [dict(o) for o in entry["options"]]
        options[option] |= changes
        changed["options"] = options
    return {k: v for k, v in changed.items() if v is not None}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (but(ONE, kind="two"), "`kind` is 'two'; expected one of one, several"),
        (but(ONE, asks=" "), "`asks` is ' '; expected a text"),
        (but(ONE, because="b"), "`because` is unknown here"),
        (but(ONE, options=ONE["options"][:1]), "`options` is no list of two to eight"),
        (but(ONE, 0, right=True), "`options` has 2 right ones; expected exactly one"),
        (but(ONE, 1, right=False), "`options` has 0 right ones"),
        (but(ONE, 0, because=""), "option 1: `because` is ''; expected a text"),
        (but(ONE, 0, says=3), "option 1: `says` is 3; expected a text (in quotes"),
        (but(ONE, 0, says="{{ x }}"), "option 1: `says` has a placeholder"),
        (but(ONE, 0, says="a\n\nb"), "option 1: `says` has several paragraphs"),
        (but(ONE, 1, right="yes"), "option 2: `right` is 'yes'; expected true"),
        (but(ONE, 0, says="two"), "`options` has two that say the same"),
        (but(ONE, kind="several", options=[o | {"right": True} for o in ONE["options"]]),
         "expected some and not all"),
        (but(ONE, kind="order", options=[{"says": s, "because": "b"} for s in "ba"]),
         "`options` has two; an order has three"),
        (but(ONE, kind="order", options=[{"says": s, "because": "b"} for s in "abc"]),
         "stand in the alphabet's order"),
        (but(NUMBER, otherwise=None), "`otherwise` is None"),
        (but(NUMBER, factor=2), "`within` or `factor`: expected one of the two"),
        (but(NUMBER, within=None), "`within` or `factor`: expected one of the two"),
        (but(NUMBER, within=0.6), "`options` has two numbers that one answer could mean"),
        (but(NUMBER, 0, says="few"), "option 1: `says` is 'few'; expected a number"),
        (but(CURVE, 1, curve=[4, 0, 1]), "'it falls' has not a height at each place"),
        (but(CURVE, 1, curve=[4, 9]), "'it falls' leaves the range of `y`"),
        (but(CURVE, 0, because="It does."), "does not have '0, 4' in its `because`"),
        (but(CURVE, y={"label": "y", "range": [5, 0]}), "`y` has a `range` of a lowest"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_faulty_question_is_named_with_its_file_and_field(tmp_path, entry, words):
    with pytest.raises(QuestionError, match=re.escape(words)) as error:
        questions.read(table(tmp_path, entry))
    assert str(error.value).startswith("09_new.yml: two")


def test_a_directive_must_name_a_question_of_its_use():
    with pytest.raises(QuestionError, match=r"no table of .* has a question 'nobody'"):
        questions.expanded("```{predict} nobody\n```")
    with pytest.raises(QuestionError, match=r"is a question for {predict}, not for {self-check}"):
        questions.expanded("```{self-check} overflow\n```")
