"""For the whole project: what to import and what to collect."""

import sys

# jsonschema, which nbformat imports, can do without it: it takes 1.5 s of each process, to tell
# whether a notebook holds addresses in other scripts.
sys.modules.setdefault("rfc3987_syntax", None)

collect_ignore_glob = ["chapters/*.py", "solutions/*.py", "_build/*"]
