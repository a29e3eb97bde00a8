"""A French teacher reads thousands of pairs: agreement, elision, contraction, spelling.

The checks know the tables of words (gender, number, forms) and read the finished sentences; of the
rules that made them they know nothing.
"""

import re

import pytest

from seqattn.data.grammar import Pair
from seqattn.data.grammar.english import gerund, past, plural
from seqattn.data.grammar.french import conjugate, participle
from seqattn.data.grammar.french import plural as pluriel
from seqattn.data.grammar.lexicon import ADJECTIVES, NOUNS, VERBS

pytestmark = pytest.mark.slow  # thousands of pairs are drawn first

MUTE_H = re.compile("(homme|histoire|horloge|hôpita|hôtel|habit|hier)")
VOWELS = "aâàeéèêiîoôuûœy"

SINGULAR = {
    False: re.compile("le|l'|un|de|d'|ce|cet|mon|ton|son|notre|leur|chaque|du|au|quel"),
    True: re.compile("la|l'|une|de|d'|cette|[mts]a|[mts]on|notre|leur|chaque|quelle"),
}
PLURAL = re.compile("les|des|de|d'|ces|[mts]es|nos|leurs|aux|quels|quelles")
NUMERAL = re.compile("deux|trois|quatre|cinq|six|sept|dix|douze")
CLITIC = re.compile("ne|n'|[mts]e|[mts]'|le|la|l'|les|lui|leur|nous|y")
NOUN_FORMS = {
    **{noun.en: (noun, False) for noun in NOUNS},
    **{noun.en_plural: (noun, True) for noun in NOUNS},
}


def forms(masculine: str, feminine: str, *, gender: bool, number: bool) -> set[str]:
    """List the right forms of an adjective."""
    form = feminine if gender else masculine
    if number:
        irregular = {"beau": "beaux", "nouveau": "nouveaux", "gros": "gros", "gris": "gris"}
        if form[-1] in "sx":
            return {form}
        return {irregular.get(form, form + "s")}
    before_vowel = {"beau": "bel", "nouveau": "nouvel", "vieux": "vieil"}
    return {form, before_vowel.get(form, form)}


ADJECTIVE_FORMS: dict[str, list[tuple[bool, bool]]] = {}
for adj in ADJECTIVES:
    for gender in (False, True):
        for number in (False, True):
            for form in forms(adj.fr, adj.feminine, gender=gender, number=number):
                ADJECTIVE_FORMS.setdefault(form, []).append((gender, number))


@pytest.fixture
def pairs(drawn) -> list[Pair]:
    return drawn.ordinary + drawn.long


def nouns_of(pair: Pair):
    """Find the French nouns by their links with English ones: position, noun, is it plural."""
    for i, word in enumerate(pair.source):
        if word in NOUN_FORMS:
            noun, number = NOUN_FORMS[word]
            form = noun.fr_plural if number else noun.fr
            linked = [j for k, j in pair.links if k == i and pair.target[j] == form]
            if linked:
                yield linked[0], noun, number


def test_english_nouns_and_verbs_do_not_share_forms() -> None:
    """Otherwise the checker below could take a verb for a noun."""
    verb_forms = {
        form
        for table in VERBS.values()
        for verb in table
        for form in (verb.base, verb.past, verb.participle, gerund(verb.base))
    }
    assert not set(NOUN_FORMS) & verb_forms


def test_every_noun_is_found(pairs) -> None:
    found = sum(1 for pair in pairs for _ in nouns_of(pair))
    there = sum(word in NOUN_FORMS for pair in pairs for word in pair.source)
    assert found == there > 5_500


def test_determiners_and_adjectives_agree_with_their_noun(pairs) -> None:
    seen = 0
    for pair in pairs:
        for j, noun, number in nouns_of(pair):
            words = list(pair.target)
            left = j - 1
            while left >= 0 and words[left] in ADJECTIVE_FORMS:
                agrees = (noun.feminine, number) in ADJECTIVE_FORMS[words[left]]
                assert agrees, f"{words[left]} {words[j]}: {pair.target_text}"
                left, seen = left - 1, seen + 1
            if left >= 0 and NUMERAL.fullmatch(words[left]):
                assert number, pair.target_text
                left -= 1
            elif left >= 0 and any(
                kind.fullmatch(words[left]) for kind in (*SINGULAR.values(), PLURAL)
            ):
                allowed = PLURAL if number else SINGULAR[noun.feminine]
                assert allowed.fullmatch(words[left]), (
                    f"{words[left]} {words[j]}: {pair.target_text}"
                )
            # An adjective after the noun, unless it is the predicate of "être", is its own.
            right = words[j + 1] if j + 1 < len(words) else ""
            if right in ADJECTIVE_FORMS:
                agrees = (noun.feminine, number) in ADJECTIVE_FORMS[right]
                assert agrees, f"{words[j]} {right}: {pair.target_text}"
                seen += 1
    assert seen > 1_000


def test_a_feminine_noun_takes_mon_only_before_a_vowel_sound(pairs) -> None:
    masculine, feminine = {"mon", "ton", "son", "cet"}, {"ma", "ta", "sa"}
    for pair in pairs:
        for j, noun, number in nouns_of(pair):
            before = j - 1
            while before > 0 and pair.target[before] in ADJECTIVE_FORMS:
                before -= 1
            determiner, following = pair.target[before], pair.target[before + 1]
            vowel = begins_with_vowel(following)
            if noun.feminine and not number:
                assert not (vowel and determiner in feminine), pair.target_text
                assert vowel or determiner not in masculine, pair.target_text
            if determiner in ("ce", "cet") and not number:
                assert vowel == (determiner == "cet"), pair.target_text


def begins_with_vowel(word: str) -> bool:
    if word[0] == "h":
        return bool(MUTE_H.match(word))
    return word[0] in VOWELS and word != "onze"


def test_words_elide_before_a_vowel_and_only_there(pairs) -> None:
    elides = {"je", "me", "te", "se", "le", "la", "de", "ne", "que"}
    for pair in pairs:
        for word, following in zip(pair.target, pair.target[1:]):
            vowel = begins_with_vowel(following)
            assert not (word in elides and vowel), pair.target_text
            if word == "s'" and following in ("il", "ils"):
                continue
            if word.endswith("'"):
                assert vowel, pair.target_text
        assert not pair.target[-1].endswith("'"), pair.target_text
        assert "si il" not in pair.target_text


def test_prepositions_contract_with_articles_but_not_with_pronouns(pairs) -> None:
    """One says "près du roi" and "il oublie de le voir"."""
    before_verb = {verb.infinitive for table in VERBS.values() for verb in table} | {"lui", "leur"}
    for pair in pairs:
        for first, second, third in zip(pair.target, pair.target[1:], (*pair.target[2:], "")):
            if first in ("de", "à") and second in ("le", "les"):
                assert third in before_verb, pair.target_text
            if first in ("du", "des", "au", "aux"):
                assert second not in before_verb, pair.target_text
            assert (first, second) not in {("de", "du"), ("de", "des")}, pair.target_text


# English subject, French subject: how the French verb ends.
VERB_ENDINGS = {
    ("i", "je"): "(e|s|x|ai)",
    ("i", "j'"): "(e|s|x|ai)",
    ("you", "tu"): "(s|x)",
    ("we", "nous"): "(ons|sommes)",
    ("they", "ils"): "nt",
    ("they", "elles"): "nt",
    **{(en, fr): "(e|t|d|a)" for en in ("he", "she", "it", "there") for fr in ("il", "elle")},
}


def test_verbs_agree_with_pronoun_subjects(pairs) -> None:
    seen = 0
    for pair in pairs:
        if "swapped roles" in pair.constructions:
            continue
        for i, j in pair.links:
            ending = VERB_ENDINGS.get((pair.source[i], pair.target[j]))
            if ending is None or (j and CLITIC.fullmatch(pair.target[j - 1])):
                continue
            verb = next(word for word in pair.target[j + 1 :] if not CLITIC.fullmatch(word))
            assert re.search(ending + "$", verb), f"{pair.target[j]} {verb}: {pair.target_text}"
            if pair.target[j] in ("il", "elle") and verb.endswith("nt"):
                assert verb in ("vient", "revient", "tient", "peint"), pair.target_text
            seen += 1
    assert seen > 1_400


def test_participles_agree_with_the_subject_of_etre(pairs) -> None:
    etre = {"suis": 0, "es": 0, "est": 0, "sommes": 1, "sont": 1}
    stems = ["allé", "arrivé", "parti", "resté", "revenu", "tombé", "venu"]
    seen = 0
    for pair in pairs:
        for subject, number, feminine in (
            ("il", 0, False), ("elle", 0, True), ("ils", 1, False), ("elles", 1, True)
        ):  # fmt: skip
            found = re.search(
                rf"(?:^| ){subject} (?:n' |ne )?(?:se |s' )?(\w+) (?:(?:pas|jamais|déjà|souvent|"
                rf"toujours|parfois|rarement|plus) )?({'|'.join(stems)})(e?s?)(?: |$)",
                pair.target_text,
            )
            if found and found[1] in etre:
                assert found[3] == "e" * feminine + "s" * number, pair.target_text
                seen += 1
    assert seen > 20


def test_participles_agree_with_a_pronoun_before_avoir(pairs) -> None:
    seen = 0
    for pair in pairs:
        for found in re.finditer(
            r"(?<!\w)les (?:ai|as|a|avons|ont) (?:pas |jamais |déjà |\w+ment |souvent |toujours "
            r"|parfois )?(\w+)",
            pair.target_text,
        ):
            assert found[1].endswith("s"), pair.target_text
            seen += 1
    assert seen > 20


def test_english_articles_and_auxiliaries_are_right(pairs) -> None:
    for pair in pairs:
        for word, following in zip(pair.source, pair.source[1:]):
            vowel = following[0] in "aeiou" and following != "useful"
            if word in ("a", "an"):
                assert (word == "an") == vowel, pair.source_text
            if word in ("he", "she") and following in ("do", "have", "are", "were"):
                raise AssertionError(pair.source_text)
            if word in ("they", "we") and following in ("does", "has", "is", "was"):
                raise AssertionError(pair.source_text)


@pytest.mark.parametrize(
    ("infinitive", "tense", "six"),
    [
        ("manger", "présent", "mange manges mange mangeons mangez mangent"),
        ("manger", "imparfait", "mangeais mangeais mangeait mangions mangiez mangeaient"),
        ("lancer", "présent", "lance lances lance lançons lancez lancent"),
        ("lancer", "imparfait", "lançais lançais lançait lancions lanciez lançaient"),
        ("acheter", "futur", "achèterai achèteras achètera achèterons achèterez achèteront"),
        ("appeler", "présent", "appelle appelles appelle appelons appelez appellent"),
        ("espérer", "présent", "espère espères espère espérons espérez espèrent"),
        ("espérer", "futur", "espérerai espéreras espérera espérerons espérerez espéreront"),
        ("nettoyer", "présent", "nettoie nettoies nettoie nettoyons nettoyez nettoient"),
        ("envoyer", "futur", "enverrai enverras enverra enverrons enverrez enverront"),
        ("choisir", "présent", "choisis choisis choisit choisissons choisissez choisissent"),
        ("obéir", "futur", "obéirai obéiras obéira obéirons obéirez obéiront"),
        ("attendre", "présent", "attends attends attend attendons attendez attendent"),
        ("attendre", "futur", "attendrai attendras attendra attendrons attendrez attendront"),
        ("être", "imparfait", "étais étais était étions étiez étaient"),
        ("avoir", "futur", "aurai auras aura aurons aurez auront"),
        ("aller", "présent", "vais vas va allons allez vont"),
        ("revenir", "futur", "reviendrai reviendras reviendra reviendrons reviendrez reviendront"),
        ("boire", "imparfait", "buvais buvais buvait buvions buviez buvaient"),
        ("peindre", "imparfait", "peignais peignais peignait peignions peigniez peignaient"),
        ("sourire", "présent", "souris souris sourit sourions souriez sourient"),
        ("asseoir", "présent", "assieds assieds assied asseyons asseyez asseyent"),
    ],
)  # fmt: skip
def test_french_verbs_are_conjugated_as_in_a_grammar(infinitive, tense, six) -> None:
    persons = [(person, number) for number in (False, True) for person in (1, 2, 3)]
    assert " ".join(conjugate(infinitive, tense, *person) for person in persons) == six


@pytest.mark.parametrize(
    ("infinitive", "expected"),
    [("manger", "mangé"), ("choisir", "choisi"), ("attendre", "attendu"), ("comprendre", "compris"),
     ("ouvrir", "ouvert"), ("devoir", "dû"), ("asseoir", "assis"), ("poursuivre", "poursuivi")],
)  # fmt: skip
def test_past_participles(infinitive, expected) -> None:
    assert participle(infinitive) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [("chat", "chats"), ("souris", "souris"), ("cheval", "chevaux"), ("gâteau", "gâteaux"),
     ("bleu", "bleus"), ("vieux", "vieux"), ("hôpital", "hôpitaux")],
)  # fmt: skip
def test_french_plurals(word, expected) -> None:
    assert pluriel(word) == expected


@pytest.mark.parametrize(
    ("inflect", "word", "expected"),
    [(plural, "box", "boxes"), (plural, "butterfly", "butterflies"), (plural, "donkey", "donkeys"),
     (gerund, "swim", "swimming"), (gerund, "make", "making"), (gerund, "see", "seeing"),
     (gerund, "travel", "travelling"), (gerund, "listen", "listening"), (gerund, "cry", "crying"),
     (past, "carry", "carried"), (past, "play", "played"), (past, "prefer", "preferred")],
)  # fmt: skip
def test_english_forms(inflect, word, expected) -> None:
    assert inflect(word) == expected
