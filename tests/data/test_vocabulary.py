"""Vocabularies: text to ids and back, learnt from training text alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqattn.data import Subwords, TextPair, Vocabularies, Words, detokenize, join, tokenize

PAIRS = [
    TextPair("The cat's mat, the owl.", "Le tapis du chat, l'hibou."),
    TextPair("a big cat", "un grand chat"),
] * 3


@pytest.fixture(scope="module")
def subwords():
    return Subwords.learn([p.source for p in PAIRS] + [p.target for p in PAIRS], size=300)


# Any text but lone surrogates, which no encoding writes.
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_subwords_give_every_text_back(text):
    vocabulary = Subwords.learn(["der große Hund"] * 3, size=262)
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text
    assert all(4 <= i < len(vocabulary) for i in ids)
    assert vocabulary.encode_all([text, text]) == [ids, ids]


def test_a_text_that_spells_a_special_token_stays_a_text(subwords):
    ids = subwords.encode("<eos> <pad>")
    assert min(ids) >= 4
    assert subwords.decode(ids) == "<eos> <pad>"


def test_frequent_words_are_one_piece(subwords):
    assert subwords.tokens(subwords.encode("the cat")) == ["▁the", "▁cat"]
    assert len(subwords) <= 300


@pytest.mark.slow
def test_every_piece_belongs_to_the_word_that_it_spells(drawn):
    texts = [(detokenize(p.target, "fr"), "fr") for p in drawn.ordinary[:300]]
    texts += [(detokenize(p.source, "en"), "en") for p in drawn.ordinary[:300]]
    vocabulary = Subwords.learn([text for text, _ in texts], size=400)
    for text, language in texts:
        ids, words = vocabulary.encode(text), tokenize(text, language)
        numbers = vocabulary.word_numbers(text, language)
        assert len(numbers) == len(ids)
        assert numbers == sorted(numbers)
        for k, word in enumerate(words):
            spelled = vocabulary.decode([i for i, n in zip(ids, numbers, strict=True) if n == k])
            assert spelled.strip().lower() == word


def test_a_text_without_words_has_no_word_numbers(subwords):
    with pytest.raises(ValueError, match="has no word"):
        subwords.word_numbers("  ", "fr")


def test_words_leave_unknown_ones_out_and_name_them():
    words = Words.learn(["the cat sat", "the mat"], "en")
    assert words.encode("The DOG sat") == [words.encode("the")[0], 3, words.encode("sat")[0]]
    assert words.unknown("The dog, the cat") == ["dog", ","]
    assert words.tokens([0, 1, 2, 3]) == ["<pad>", "<bos>", "<eos>", "<unk>"]
    assert Words.learn(["a a b"], "en", min_count=2).unknown("a b") == ["b"]


def test_ids_go_by_frequency_and_then_by_the_alphabet():
    assert Words.learn(["c b a", "b"], "en").words[4:] == ("b", "a", "c")


@pytest.mark.slow
def test_the_toy_corpus_is_split_into_the_words_that_its_links_count(drawn):
    for pair in drawn.ordinary[:999]:
        assert tokenize(detokenize(pair.source, "en"), "en") == list(pair.source)
        assert tokenize(detokenize(pair.target, "fr"), "fr") == list(pair.target)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "fr"])
def test_words_give_the_toy_corpus_back(drawn, language):
    pairs = drawn.ordinary[:999]
    texts = [detokenize(p.source if language == "en" else p.target, language) for p in pairs]
    words = Words.learn(texts, language)
    assert [words.decode(ids) for ids in words.encode_all(texts)] == texts


@pytest.mark.parametrize("options", [{}, {"subwords": 280}, {"subwords": 290, "joint": True}])
def test_vocabularies_go_through_json(options):
    learnt = Vocabularies.learn(PAIRS, ("en", "fr"), **options)
    back = Vocabularies.from_dict(json.loads(json.dumps(learnt.to_dict())))
    for before, after, text in zip(learnt, back, PAIRS[0]):
        assert len(before) == len(after)
        assert before.encode(text) == after.encode(text)
        assert after.decode(after.encode(text)) == before.decode(before.encode(text))
    assert (back.source is back.target) == options.get("joint", False)


def test_one_list_of_words_for_two_languages():
    pairs = [TextPair("the king's cat", "l'ami du cat"), TextPair("the mat", "l'ami")]
    learnt = Vocabularies.learn(pairs, ("en", "fr"), joint=True, min_count=2)
    assert learnt.shared
    assert learnt.source.words[4:] == learnt.target.words[4:] == ("ami", "l'", "the")
    back = Vocabularies.from_dict(json.loads(json.dumps(learnt.to_dict())))
    assert back.shared
    # Each splits and joins as its language does.
    assert back.source.unknown("the king's cat") == ["king", "'s", "cat"]
    assert back.target.decode(back.target.encode("l'ami")) == "l'ami"
    assert not Vocabularies.learn(pairs, ("en", "fr")).shared
    assert Vocabularies.learn(pairs, ("en", "fr"), subwords=280, joint=True).shared


def test_words_beyond_the_vocabulary_have_ids_after_its_own():
    words = Words.learn(["the cat sat"], "en")
    ids = words.encode("the dog sat, dog", ["dog", ","])
    assert ids == [6, 7, 5, 8, 7]
    assert words.tokens(ids, ["dog", ","]) == ["the", "dog", "sat", ",", "dog"]
    assert words.decode([*ids, 2], ["dog", ","]) == "the dog sat, dog"
    assert words.encode("the dog sat, dog") == [6, 3, 5, 3, 3]


def test_decoding_leaves_padding_and_ends_out(subwords):
    for vocabulary in (subwords, Words.learn(["the cat"], "en")):
        ids = vocabulary.encode("the cat")
        assert vocabulary.decode([1, *ids, 2, 0, 0]) == "the cat"


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="word 'cat' comes twice"):
        Words(["cat", "mat", "cat"], "en")
    with pytest.raises(ValueError, match="size is 100; expected at least 260"):
        Subwords.learn(["a"], size=100)
    with pytest.raises(ValueError, match="min_count is 2 and subwords is 300; expected whole"):
        Vocabularies.learn(PAIRS, ("en", "fr"), subwords=300, min_count=2)
    for joint in (False, True):
        with pytest.raises(ValueError, match="min_count is 0; expected at least 1"):
            Vocabularies.learn(PAIRS, ("en", "fr"), joint=joint, min_count=0)
    with pytest.raises(ValueError, match="vocabulary of kind 'letters'"):
        Vocabularies.from_dict({"source": {"kind": "letters"}, "target": None})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda words: words.encode_all("the cat"), "texts is one string, 'the cat'; expected a"),
        (
            lambda words: words.encode("the cat", "dog"),
            "more is one string, 'dog'; expected a list",
        ),
        (lambda words: words.tokens([4], "dog"), "more is one string"),
        (lambda words: Words("cat", "en"), "words is one string, 'cat'; expected a list of words"),
        (
            lambda words: Words.learn("the cat", "en"),
            "texts is one string, 'the cat'; expected many",
        ),
        (lambda words: Subwords.learn("the cat", 300), "texts is one string, 'the cat'"),
        (lambda words: Subwords("cat", []), "pieces is one string, 'cat'"),
        (
            lambda words: join("the cat", "en"),
            "tokens is one string, 'the cat'; expected a list of",
        ),
        (lambda words: detokenize("the cat", "en"), "tokens is one string"),
    ],
)
def test_one_string_where_several_are_due_is_refused(call, said, unchecked):
    with pytest.raises(TypeError, match=said):
        call(Words.learn(["the cat"], "en"))


def test_one_string_is_no_list_of_texts_for_subwords(subwords):
    with pytest.raises(TypeError, match="texts is one string"):
        subwords.encode_all("the cat")


def as_promised(text):
    return " ".join(text.lower().replace("’", "'").split())


def comes_back(text, language):
    return " ".join(join(tokenize(text, language), language).split())


@pytest.mark.parametrize("language", ["en", "fr", "de"])
@pytest.mark.parametrize(
    "text",
    [
        "It costs 3.5, not 1,000.50 (or -2 %)!",
        "I don't, he'd, they’re; the king's, the dogs' and O'Neill's.",
        "L’homme n'a-t-il pas vu l' « oiseau » aujourd'hui ?",
        "Qu'est-ce que c'est ? Rien; c'est \u00e0 10 h 30 : voil\u00e0 !",
        "Er sagte: „Geht's dir gut?“ – „Ja …“, z. B. um 12:30 Uhr.",
        "A 'quoted' word, \"another\", `code` and 5'11\".",
        "see https://www.example.org/a_b?c=d&e=%20#f, or mail a.b+c@example.org",
        "well-known, re - entered, 2020-2021, — dash—dash, and/or, #1 & $5",
        "Wait... what?! No. . .  ¿Qué? Ünïcödé 東京 🐈🐈 e\u0301",
        "a ￭ mark, ￭glued￭ ▁and▁ ▁ (￭) ￭￭▁",
        "  spaces\tand\u00a0kinds of \u2009 it \n",
        "",
        "'",
    ],
)
def test_text_in_usual_forms_comes_back(text, language):
    assert comes_back(text, language) == as_promised(text)


@given(
    st.one_of(st.text(max_size=40), st.text("ab3 '’.,-?!:;()\"…￭▁s_\u00a0", max_size=40)),
    st.sampled_from(["en", "fr", "de"]),
)
def test_every_text_comes_back(text, language):
    assert comes_back(text, language) == as_promised(text)


@pytest.mark.slow
def test_sentences_of_the_grammar_come_back_to_the_last_space_and_need_no_marks(drawn):
    for pair in drawn.ordinary[:999]:
        for tokens, language in ((pair.source, "en"), (pair.target, "fr")):
            text = detokenize(tokens, language)
            assert tokenize(text, language) == list(tokens)
            assert join(tokenize(text, language), language) == text


def test_marks_stand_on_punctuation_and_leave_words_alone():
    assert tokenize('He said "well" (3.5).', "en") == [
        "he", "said", '"￭', "well", '￭"', "(￭", "3", ".￭", "5", "￭)", ".",
    ]  # fmt: skip
    assert tokenize("odd , is it .", "en") == ["odd", "▁,", "is", "it", "▁."]


def test_a_vocabulary_that_has_never_seen_a_mark_takes_the_word_without():
    # As one that was learnt when there were none.
    words = Words(["don", "'", "t", "3", ".", "5", "(", ")"], "en")
    assert words.tokens(words.encode("Don't (3.5)")) == ["don", "'", "t", "(", "3", ".", "5", ")"]
    assert words.unknown("don't [3.5]") == ["[￭", "￭]"]
    # And what it decodes stands as it did.
    assert words.decode(words.encode("3 . 5")) == "3. 5"


def test_decoded_sentences_are_the_texts_that_were_learnt_from():
    texts = ["It's 3.5 km (or so), isn't it?", '"No..." – he\'d said: e-mails, 10:30!']
    words = Words.learn(texts, "en")
    assert [words.decode(words.encode(text)) for text in texts] == [as_promised(t) for t in texts]
