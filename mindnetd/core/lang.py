"""Which language a text is in: by script, then by its small words. A guess that chooses a stemmer, nothing more.

Only the beginning is looked at, so the cost does not grow with the note (about 0.1 ms).
"""

from __future__ import annotations

import re
from collections import Counter

from mindnetd.core.stopwords import STOP_WORDS

LOOK = 2000
"""Characters that are looked at."""
MIN_SCORE = 1.0
"""Evidence needed to name a language: a small word that only one language has counts 1."""
MARGIN = 1.25
"""The best language must have so many times the evidence of the second."""
LETTER = 0.5
"""Evidence of a letter that hardly any other language has (names bring foreign letters along)."""
MIN_SCRIPT_SHARE = 0.25
"""Share of the letters that must be in a script for it to decide."""

UNKNOWN = "und"

_OTHERS = {
    "pl": "i w na nie się z do że jest to jak po co za od czy przez dla tak o są był była które który jego być",
    "cs": "a v na je se že s z do to o i jako pro by za od po ale tak jsou byl která který nebo při také jeho jen už",
    "tr": "ve bir bu için ile da de çok olarak daha gibi sonra kadar ne olan var ama her o en mi ancak ya değil şey",
    "fi": "ja on ei se että oli hän mutta ovat myös kun tai niin kuin joka sen jos vain ole mukaan sekä voi ollut",
    "no": "og i det som er på en et av for å til med ikke den at var har fra om ble men han hun kan eller etter også",
    "hu": "a az és hogy nem is egy volt ez meg de mint csak már van ha vagy el még ki le akkor azt kell lesz aki",
    "ro": "și în de la cu pe un o nu este din care sunt mai ca pentru să fi dar sau prin după fost ce lui ale",
}
_SCRIPTS = (
    ("kana", re.compile("[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")),
    ("han", re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("ko", re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7af]")),
    ("cyrillic", re.compile("[\u0400-\u052f]")),
    ("el", re.compile("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("arabic", re.compile("[\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("bn", re.compile("[\u0980-\u09ff]")),
    ("ta", re.compile("[\u0b80-\u0bff]")),
    ("ka", re.compile("[\u10a0-\u10ff]")),
    ("hy", re.compile("[\u0530-\u058f]")),
)
_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_NOISE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|\]\([^)\n]*\)|<[^>\n]*>", re.DOTALL)
_LETTERS = {
    "ß": "de", "ñ": "es", "¿": "es", "¡": "es", "ã": "pt", "õ": "pt", "ł": "pl", "ř": "cs", "ě": "cs",
    "ı": "tr", "ğ": "tr", "ő": "hu", "ű": "hu", "ș": "ro", "ț": "ro",
}  # fmt: skip


def _weights() -> dict[str, tuple[tuple[str, float], ...]]:
    """Each small word with its languages; a word of several languages is shared evidence."""
    lists = {lang: words for lang, words in STOP_WORDS.items() if lang != "ru"}
    lists |= {lang: frozenset(words.split()) for lang, words in _OTHERS.items()}
    known = Counter(word for words in lists.values() for word in words)
    return {word: tuple((lang, 1 / known[word]) for lang in sorted(lists) if word in lists[lang]) for word in known}


_WEIGHTS = _weights()


def detect(text: str) -> str:
    """Return a language tag ("en", "de", "ja", ...) for `text`, or "und" where nothing can be told."""
    head = _NOISE.sub(" ", text[:LOOK])
    if not head.isascii():
        by_script = _by_script(head)
        if by_script:
            return by_script
    scores: dict[str, float] = {}
    for word in _WORDS.findall(head.lower()):
        for lang, share in _WEIGHTS.get(word, ()):
            scores[lang] = scores.get(lang, 0.0) + share
    if not head.isascii():
        for letter, lang in _LETTERS.items():
            if letter in head:
                scores[lang] = scores.get(lang, 0.0) + LETTER
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    if not ranked or ranked[0][1] < MIN_SCORE:
        return UNKNOWN
    clear = len(ranked) == 1 or ranked[0][1] >= MARGIN * ranked[1][1]
    return ranked[0][0] if clear else UNKNOWN


def _by_script(text: str) -> str:
    """The language of a script other than Latin that holds enough of the letters, else ""."""
    letters = sum(map(len, _WORDS.findall(text)))
    found = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS}
    found["han"] += found["kana"]  # Japanese is written in both
    script = max(found, key=lambda name: found[name])
    if not letters or found[script] < MIN_SCRIPT_SHARE * letters:
        return ""
    if script == "han":
        return "ja" if found["kana"] * 10 >= found["han"] else "zh"
    if script == "cyrillic":
        return "uk" if re.search("[іїєґ]", text, re.IGNORECASE) and not re.search("[ыэъё]", text) else "ru"
    if script == "arabic":
        return "fa" if re.search("[پچژگ]", text) else "ar"
    return "ja" if script == "kana" else script
