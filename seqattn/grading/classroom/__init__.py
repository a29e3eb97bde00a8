"""A whole class: who handed in what, grading in parallel, and the reports that come of it."""
