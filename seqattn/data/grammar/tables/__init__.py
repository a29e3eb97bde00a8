"""The tables of words: text, to be read and changed by people who know the languages."""
