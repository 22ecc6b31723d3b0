"""What a word is: the one definition that token ids and word statistics share."""

import re
import unicodedata

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def words(text: str) -> list[str]:
    """Return lower-cased runs of letters and digits, in order; an apostrophe inside a word belongs to it,
    other signs separate. One-letter words are kept. A language that writes without spaces is not cut into
    words.

    >>> words("A man's T-shirt, size 42!")
    ['a', "man's", 't', 'shirt', 'size', '42']
    """
    return WORD.findall(unicodedata.normalize("NFC", text).lower().replace("\u2019", "'"))
