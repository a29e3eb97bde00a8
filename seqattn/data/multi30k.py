"""Multi30k: 31,014 captions of photographs, in English, German and French.

The text is not part of this package. It is downloaded from its authors' repository on first use,
checked, and kept in the user's cache, where a file that was put there by hand serves as well; with
``SEQATTN_DATA`` set, a local copy is read instead.

References
----------
Elliott et al. (2016), "Multi30K: Multilingual English-German Image Descriptions"; Elliott et al.
(2017), "Findings of the Second Shared Task on Multimodal Machine Translation and Multilingual Image
Description", for French and for the later test sets.
"""

import os
from pathlib import Path

from seqattn.data.downloads import VARIABLE, cache_folder, fetch, local_copy
from seqattn.data.pairs import CorpusError, TextPair, read_pairs

__all__ = ["LANGUAGES", "SPLITS", "multi30k_file", "read_multi30k"]

LANGUAGES = ("en", "de", "fr")
# Our names for them, and those of the files.
SPLITS = {
    "train": "train",
    "valid": "val",
    "test": "test_2016_flickr",
    "test_2016_flickr": "test_2016_flickr",
    "test_2017_flickr": "test_2017_flickr",
    "test_2017_mscoco": "test_2017_mscoco",
    "test_2018_flickr": "test_2018_flickr",
}
REPOSITORY = "https://github.com/multi30k/dataset"
FOLDER = "data/task1/raw"
URL = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
BY_HAND = (
    "get {name}.gz from the folder "
    + FOLDER
    + " of "
    + REPOSITORY
    + ", in a browser or by git clone"
)
SHA256 = {
    "test_2016_flickr.de": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "test_2017_flickr.de": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
    "test_2017_flickr.en": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
    "test_2017_flickr.fr": "3ba671ceb2299f3304ffafefea7a833d08632fbaf0ba18546f8a2ec2391af496",
    "test_2017_mscoco.de": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
    "test_2017_mscoco.en": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
    "test_2017_mscoco.fr": "754f3072ba9f124569ba5258b32730fc1d214bbf8e0c6dfb2b74401676220db0",
    "test_2018_flickr.de": "ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608",
    "test_2018_flickr.en": "ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d",
    "test_2018_flickr.fr": "fb2b83fcceb937a4f7e3e93c1c51c22aba92f1e342391e6b5ba392b16a920501",
    "train.de": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}


def read_multi30k(split: str, source: str = "de", target: str = "en") -> list[TextPair]:
    """Read a split of Multi30k.

    Parameters
    ----------
    split : str
        "train" (29,000 pairs), "valid" (1,014), "test" (1,000: test_2016_flickr), or a test set by
        its full name: test_2016_flickr, test_2017_flickr, test_2017_mscoco, test_2018_flickr.
    source, target : {"en", "de", "fr"}
        Languages.

    Returns
    -------
    list of TextPair
        As published: cased, not tokenised.

    Raises
    ------
    CorpusError
        If there is no such split or language, or the local copy is incomplete.
    DownloadError
        If the files are neither here nor to be had, or are not what was published.
    """
    return read_pairs(multi30k_file(split, source), multi30k_file(split, target), empty="raise")


def multi30k_file(split: str, language: str) -> Path:
    """Give the path of one file, after a download where needed; see :func:`read_multi30k`."""
    if split not in SPLITS:
        raise CorpusError(f"Multi30k has no split {split!r}; expected one of {', '.join(SPLITS)}")
    if language not in LANGUAGES:
        raise CorpusError(f"Multi30k has no language {language!r}; expected en, de or fr")
    name = f"{SPLITS[split]}.{language}"
    sha256 = SHA256[name]
    local = os.environ.get(VARIABLE)
    if local:
        path = Path(local) / "multi30k" / f"{name}.gz"
        return local_copy(path, sha256, like="train.de.gz", by_hand=BY_HAND.format(name=name))
    cache = cache_folder() / "multi30k"
    return fetch(
        f"{URL}/{name}.gz",
        cache / f"{name}.gz",
        sha256,
        otherwise=f". Or by hand: {BY_HAND.format(name=name)}, and put it, packed as it is, into "
        f"{cache}. A training reads train, val and test_2016_flickr, each in two languages. (Or "
        f"keep them in a folder named multi30k, and let {VARIABLE} name the folder that holds it.)",
    )
