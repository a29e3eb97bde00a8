"""Random choices for the grammar: who, what and when, so that the sentence makes sense."""
