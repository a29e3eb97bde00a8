"""For the whole project: what is a notebook's source is no module to collect."""

collect_ignore_glob = ["chapters/*.py", "solutions/*.py", "_build/*"]
