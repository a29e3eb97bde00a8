"""What the grammar holds: its constructions, each with an example, and its words."""

from seqattn.data.grammar.adverbials import CONJUNCTIONS, FREQUENCY, MANNER, PREPOSITIONS, TIMES
from seqattn.data.grammar.lexicon import ADJECTIVES, NAMES, NOUNS, NUMERALS, VERBS
from seqattn.data.grammar.noun_phrases import DETERMINERS, PRONOUNS

__all__ = ["CONSTRUCTIONS", "lemmas"]

# Every name that a pair's ``constructions`` can hold, and a pair that shows it.
CONSTRUCTIONS = {
    # Around the noun.
    "adjective before the noun": ("a big dog", "un gros chien"),
    "adjective after the noun": ("a red apple", "une pomme rouge"),
    "possessive": ("her book", "son livre"),
    "owner": ("the king 's cat", "le chat du roi"),
    "demonstrative": ("this child", "cet enfant"),
    "quantifier": ("many cats", "beaucoup de chats"),
    "numeral": ("three cats", "trois chats"),
    "quantity": ("a cup of tea", "une tasse de thé"),
    "bare noun": ("he eats bread", "il mange du pain"),
    "some or any": ("some water", "de l' eau"),
    "list of nouns": ("the king and the queen", "le roi et la reine"),
    "relative clause with qui": ("the cat that sleeps", "le chat qui dort"),
    "relative clause with que": ("the apple that he ate", "la pomme qu' il a mangée"),
    # Around the verb.
    "progressive": ("she is eating", "elle mange"),
    "passé composé with avoir": ("she ate", "elle a mangé"),
    "passé composé with être": ("she left", "elle est partie"),
    "imparfait": ("she was eating", "elle mangeait"),
    "future": ("she will eat", "elle mangera"),
    "near future": ("she is going to eat", "elle va manger"),
    "modal verb": ("she can swim", "elle peut nager"),
    "reflexive verb": ("she wakes up", "elle se réveille"),
    "negation": ("she does not eat", "elle ne mange pas"),
    "negative adverb": ("she never eats", "elle ne mange jamais"),
    "adverb of frequency": ("she often eats", "elle mange souvent"),
    "adverb of manner": ("she walks slowly", "elle marche lentement"),
    "object pronoun": ("i see him", "je le vois"),
    "two object pronouns": ("he gives it to her", "il le lui donne"),
    "recipient": ("he gives a ball to the dog", "il donne une balle au chien"),
    "swapped roles": ("i miss you", "tu me manques"),
    "prepositional phrase": ("on the mat", "sur le tapis"),
    "time phrase": ("last week", "la semaine dernière"),
    # Being.
    "predicate adjective": ("the queen is happy", "la reine est heureuse"),
    "degree": ("very happy", "très heureuse"),
    "comparative": ("taller than him", "plus grande que lui"),
    "profession": ("she is a doctor", "elle est médecin"),
    "age": ("she is ten years old", "elle a dix ans"),
    "passive": ("it was found by the king", "il a été trouvé par le roi"),
    "there is": ("there is a cat", "il y a un chat"),
    "weather": ("it is raining", "il pleut"),
    # Questions and several clauses.
    "yes-no question": ("does he sleep ?", "est-ce qu' il dort ?"),
    "question with a question word": ("what does he eat ?", "qu' est-ce qu' il mange ?"),
    "question for the subject": ("who is sleeping ?", "qui dort ?"),
    "coordinated clauses": ("he sings and she dances", "il chante et elle danse"),
    "coordinated verbs": ("he sings and dances", "il chante et danse"),
    "pronoun for a noun": ("he buys an apple and eats it", "il achète une pomme et la mange"),
    "clause with that": ("he thinks that she sings", "il pense qu' elle chante"),
    "clause with because": ("he eats because he is hungry", "il mange parce qu' il a faim"),
    "clause with when": ("he smiles when she sings", "il sourit quand elle chante"),
    "clause with while": ("he works while she sings", "il travaille pendant qu' elle chante"),
    "clause with if": ("if it rains , he stays", "s' il pleut , il reste"),
}


def lemmas() -> dict[str, tuple[str, ...]]:
    """List the dictionary forms of the English words, by part of speech.

    Examples
    --------
    >>> words = lemmas()
    >>> "mouse" in words["nouns"], "look for" in words["verbs"]
    (True, True)
    >>> sum(map(len, words.values())) > 350
    True
    """
    verbs = [entry.en for table in VERBS.values() for entry in table]
    question_words = ("who", "what", "which", "how many", "where", "when", "why")
    return {
        "nouns": tuple(entry.en for entry in NOUNS),
        "names": tuple(entry.en for entry in NAMES),
        "adjectives": tuple(entry.en for entry in ADJECTIVES),
        "verbs": tuple(dict.fromkeys(verbs)),
        "adverbs": (*FREQUENCY, *MANNER, "very", "never", "not", "no longer"),
        "times": tuple(TIMES),
        "prepositions": tuple(PREPOSITIONS),
        "conjunctions": (*CONJUNCTIONS, "or"),
        "determiners": (*DETERMINERS, "a", "some", "any", "all"),
        "numerals": tuple(NUMERALS),
        "pronouns": tuple(dict.fromkeys(pronoun.subject for pronoun in PRONOUNS.values())),
        "question words": question_words,
    }
