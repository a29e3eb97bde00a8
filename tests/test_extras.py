"""Optional packages that are not there."""

import pytest

from seqattn.extras import require


def test_a_missing_package_is_named_with_the_command_that_brings_it():
    said = r'drawing needs not_there: pip install "seqattn\[viz\]"'
    with pytest.raises(ImportError, match=said):
        require("not_there.at_all", "drawing", "viz")
