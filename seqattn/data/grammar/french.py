"""French forms and spelling: conjugation, plurals, feminines; elision and contraction.

Three tenses are conjugated (*présent*, *imparfait*, *futur*); the *passé composé* is an auxiliary
in the present and a participle. Regular verbs follow their ending; the others stand in a table,
six persons in a row, as in a French grammar.

The grammar puts whole words in order; :func:`spell`, the last pass, lets neighbours meet. Beads
travel with the letters: *à* + *le* is one word, *au*, on the beads of both.
"""

from functools import cache
from typing import Literal, NamedTuple

from seqattn.data.grammar.phrases import Features, Word, Words

__all__ = [
    "Simple",
    "agree",
    "begins_with_vowel_sound",
    "conjugate",
    "participle",
    "plural",
    "spell",
]

Simple = Literal["présent", "imparfait", "futur"]


class Irregular(NamedTuple):
    """Six persons of the present, the past participle, the stem of the future."""

    present: str
    participle: str
    future: str


IRREGULAR = {
    "être": Irregular("suis es est sommes êtes sont", "été", "ser"),
    "avoir": Irregular("ai as a avons avez ont", "eu", "aur"),
    "aller": Irregular("vais vas va allons allez vont", "allé", "ir"),
    "faire": Irregular("fais fais fait faisons faites font", "fait", "fer"),
    "pouvoir": Irregular("peux peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "devoir": Irregular("dois dois doit devons devez doivent", "dû", "devr"),
    "vouloir": Irregular("veux veux veut voulons voulez veulent", "voulu", "voudr"),
    "savoir": Irregular("sais sais sait savons savez savent", "su", "saur"),
    "voir": Irregular("vois vois voit voyons voyez voient", "vu", "verr"),
    "boire": Irregular("bois bois boit buvons buvez boivent", "bu", "boir"),
    "croire": Irregular("crois crois croit croyons croyez croient", "cru", "croir"),
    "lire": Irregular("lis lis lit lisons lisez lisent", "lu", "lir"),
    "dire": Irregular("dis dis dit disons dites disent", "dit", "dir"),
    "rire": Irregular("ris ris rit rions riez rient", "ri", "rir"),
    "écrire": Irregular("écris écris écrit écrivons écrivez écrivent", "écrit", "écrir"),
    "ouvrir": Irregular("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvert", "ouvrir"),
    "offrir": Irregular("offre offres offre offrons offrez offrent", "offert", "offrir"),
    "dormir": Irregular("dors dors dort dormons dormez dorment", "dormi", "dormir"),
    "partir": Irregular("pars pars part partons partez partent", "parti", "partir"),
    "courir": Irregular("cours cours court courons courez courent", "couru", "courr"),
    "venir": Irregular("viens viens vient venons venez viennent", "venu", "viendr"),
    "tenir": Irregular("tiens tiens tient tenons tenez tiennent", "tenu", "tiendr"),
    "prendre": Irregular("prends prends prend prenons prenez prennent", "pris", "prendr"),
    "peindre": Irregular("peins peins peint peignons peignez peignent", "peint", "peindr"),
    "suivre": Irregular("suis suis suit suivons suivez suivent", "suivi", "suivr"),
    "vivre": Irregular("vis vis vit vivons vivez vivent", "vécu", "vivr"),
    "connaître": Irregular(
        "connais connais connaît connaissons connaissez connaissent", "connu", "connaîtr"
    ),
    "construire": Irregular(
        "construis construis construit construisons construisez construisent",
        "construit",
        "construir",
    ),
    "conduire": Irregular(
        "conduis conduis conduit conduisons conduisez conduisent", "conduit", "conduir"
    ),
    "asseoir": Irregular("assieds assieds assied asseyons asseyez asseyent", "assis", "assiér"),
    "pleuvoir": Irregular("pleus pleus pleut pleuvons pleuvez pleuvent", "plu", "pleuvr"),
}
# Prefix + model: "comprendre" is conjugated like "prendre".
PREFIXED = {
    "apprendre": "prendre",
    "comprendre": "prendre",
    "poursuivre": "suivre",
    "revenir": "venir",
    "sourire": "rire",
}
# Verbs in -er whose stem changes before a silent ending: il achète, nous achetons.
SILENT_STEM = {
    "aboyer": "aboi",
    "acheter": "achèt",
    "appeler": "appell",
    "envoyer": "envoi",
    "essayer": "essai",
    "espérer": "espèr",
    "lever": "lèv",
    "nettoyer": "nettoi",
    "préférer": "préfèr",
    "promener": "promèn",
    "protéger": "protèg",
}
FUTURE_STEM = {
    "envoyer": "enverr",
    "espérer": "espérer",
    "préférer": "préférer",
    "protéger": "protéger",
}
PRESENT_ENDINGS = {
    "er": ["e", "es", "e", "ons", "ez", "ent"],
    "ir": ["is", "is", "it", "issons", "issez", "issent"],
    "re": ["s", "s", "", "ons", "ez", "ent"],
}
IMPERFECT_ENDINGS = ["ais", "ais", "ait", "ions", "iez", "aient"]
FUTURE_ENDINGS = ["ai", "as", "a", "ons", "ez", "ont"]


@cache
def conjugate(infinitive: str, tense: Simple, person: int, plural: bool) -> str:
    """Conjugate a verb in a simple tense.

    Examples
    --------
    >>> [conjugate("manger", tense, 1, True) for tense in ("présent", "imparfait", "futur")]
    ['mangeons', 'mangions', 'mangerons']
    """
    column = person - 1 + 3 * plural
    if tense == "présent":
        return _present(infinitive)[column]
    if tense == "futur":
        return _future_stem(infinitive) + FUTURE_ENDINGS[column]
    stem = "ét" if infinitive == "être" else _present(infinitive)[3].removesuffix("ons")
    ending = IMPERFECT_ENDINGS[column]
    if ending.startswith("i"):
        # The e of "mangeons" and the cedilla of "lançons" only soften the consonant before a and o.
        stem = stem[:-1] if stem.endswith("ge") else stem.replace("ç", "c")
    return stem + ending


@cache
def _present(infinitive: str) -> tuple[str, ...]:
    if infinitive in IRREGULAR:
        return tuple(IRREGULAR[infinitive].present.split())
    if infinitive in PREFIXED:
        model = PREFIXED[infinitive]
        prefix = infinitive.removesuffix(model)
        return tuple(prefix + form for form in _present(model))
    stem, group = infinitive[:-2], infinitive[-2:]
    endings = PRESENT_ENDINGS[group]
    if group != "er":
        return tuple(stem + ending for ending in endings)
    silent = SILENT_STEM.get(infinitive, stem)
    return tuple(
        (_soften(stem) if ending == "ons" else stem if ending == "ez" else silent) + ending
        for ending in endings
    )


def _soften(stem: str) -> str:
    """Keep the sound of g and c before o: nous mangeons, nous lançons."""
    if stem.endswith("g"):
        return stem + "e"
    return stem[:-1] + "ç" if stem.endswith("c") else stem


def _future_stem(infinitive: str) -> str:
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive].future
    if infinitive in PREFIXED:
        model = PREFIXED[infinitive]
        return infinitive.removesuffix(model) + _future_stem(model)
    if infinitive in FUTURE_STEM:
        return FUTURE_STEM[infinitive]
    if infinitive in SILENT_STEM:
        return SILENT_STEM[infinitive] + "er"
    return infinitive.removesuffix("e")


@cache
def participle(infinitive: str) -> str:
    """Give the past participle, masculine singular."""
    if infinitive in IRREGULAR:
        return IRREGULAR[infinitive].participle
    if infinitive in PREFIXED:
        model = PREFIXED[infinitive]
        return infinitive.removesuffix(model) + participle(model)
    return infinitive[:-2] + {"er": "é", "ir": "i", "re": "u"}[infinitive[-2:]]


@cache
def plural(word: str) -> str:
    """Make a noun or a masculine adjective plural."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    if word.endswith(("eau", "eu")) and word != "bleu":
        return word + "x"
    return word + "s"


def agree(masculine: str, feminine: str, features: Features) -> str:
    """Choose the form of an adjective or participle that agrees with a noun."""
    form = feminine if features.feminine else masculine
    return plural(form) if features.plural else form


VOWELS = frozenset("aàâeéèêiîoôuœy")
# "le hibou", "le héros": an h that forbids elision. Other words in h- behave as if it were absent.
ASPIRATED = frozenset(
    [
        "hache",
        "haches",
        "harpe",
        "harpes",
        "hérisson",
        "hérissons",
        "héros",
        "hibou",
        "hiboux",
        "huit",
    ]
)
ELIDED = {"je", "me", "te", "se", "le", "la", "de", "ne", "que"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


def begins_with_vowel_sound(word: str) -> bool:
    """Say whether a preceding word elides before this one.

    Examples
    --------
    >>> [begins_with_vowel_sound(word) for word in ("ami", "homme", "héros", "chat", "onze")]
    [True, True, False, False, False]
    """
    if word[0] == "h":
        return word not in ASPIRATED
    return word[0] in VOWELS and word != "onze"


def spell(words: Words) -> Words:
    """Absorb, elide and contract.

    Words have a *kind* where their spelling hangs on their part of speech: the article *le*
    contracts with *à*, the pronoun *le* does not (à le voir); a partitive or indefinite article
    ("some") vanishes after the preposition *de* (besoin + de + de l'eau = besoin d'eau).
    """
    return tuple(_contract(_elide(_absorb(words))))


def _absorb(words: Words) -> list[Word]:
    kept: list[Word] = []
    for word in words:
        if word.kind == "some" and kept and kept[-1].text == "de" and kept[-1].kind != "some":
            kept[-1] = _merge(kept[-1], word, "de")
        else:
            kept.append(word)
    return kept


def _elide(words: list[Word]) -> list[Word]:
    spelt = list(words)
    for i in range(len(words) - 1):
        text, following = words[i].text, words[i + 1].text
        before_il = text == "si" and following in ("il", "ils")
        if before_il or (text in ELIDED and begins_with_vowel_sound(following)):
            spelt[i] = words[i]._replace(text=text[:-1] + "'")
    return spelt


def _contract(words: list[Word]) -> list[Word]:
    kept: list[Word] = []
    for word in words:
        article = word.kind in ("the", "some")
        contracted = CONTRACTED.get((kept[-1].text, word.text)) if kept and article else None
        if contracted:
            kept[-1] = _merge(kept[-1], word, contracted)
        else:
            kept.append(word)
    return kept


def _merge(first: Word, second: Word, text: str) -> Word:
    beads = first.beads + tuple(bead for bead in second.beads if bead not in first.beads)
    return Word(text, beads, first.kind)
