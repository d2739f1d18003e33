"""Which mode answers a question that asks for ``auto``: one small function, to be replaced by a better one.

Phrases decide first, those that ask for the whole (global), then those that ask how things hang together (drift); the
phrases ``main theme``, ``summarize``, ``overview`` and ``relate``, ``connect``, ``compare`` are given by the design.
Without a phrase an answer comes from the passages around what is named (local). German and English.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Mode = Literal["local", "global", "drift"]


class Route(NamedTuple):
    """A mode and, in a few words, why."""

    mode: Mode
    reason: str


# Prefixes of words: "summarize" also finds "summarizes", "relate" also "related".
_GLOBAL = (
    *("main theme", "summari[sz]e", "overview"),
    *("main topic", "key theme", "key topic", "common theme", "recurring theme", "themes? (?:of|in|across|run)"),
    *("(?:which|what) (?:are the )?(?:main |big |overall )?(?:themes|topics|subjects|areas)", "summary of"),
    *("big picture", "in general terms", "overall", "as a whole"),
    *("what is (?:this|the|my) vault about", "what do my notes"),
    *("hauptthem", "zusammenfass", "fass(?:e|t)? .{0,80}zusammen", "überblick", "ueberblick", "übersicht über"),
    *("welche themen", "wichtigste[nr]? them", "zentrale[nrs]? them", "kernthem", "rote[rn]? faden", "im großen"),
    *("sum up", "recap", "gist of", "in a nutshell", r"takeaways?\b", "key (?:points|insights|ideas|findings|lessons)"),
    *("most important (?:themes|topics|subjects|ideas|points|insights)", r"trends?\b", "patterns? (?:in|across)"),
    *("have i been (?:working|thinking|writing|reading)", "across (?:all|my)", "comes? up again"),
    *("zusammengefasst", "kernaussage", "quintessenz", "wichtigste[nr]? (?:erkenntnisse|ideen|punkte)", "gesamtbild"),
    *("tauchen immer wieder auf", r"zieh\w* sich durch", "(?:womit|woran) habe ich", "wovon handel"),
    *("insgesamt", "im ganzen", "worum geht es in (?:diese[mnr]|meine[mnr]|den|dem|der)", "schwerpunkte"),
)
_DRIFT = (
    *("relate", "connect", "compar(?:e|ing|ison)"),
    *("relation(?:ship)?s? between", "links? between", "differences? between", "differ from", "in common"),
    *(r"how (?:do|does|did) .{1,80} depend", r"how (?:is|are) .{1,80} (?:linked|tied)", "contrast", "similarit"),
    *(r"ties? .{0,40}together", r"ha(?:s|ve) .{1,60} to do with", "overlap", r"links? between"),
    *("einfluss", "ähnel", "gegensatz", "zusammenspiel", r"wirk\w* .{0,60} auf\b", r"(?:hat|haben) .{1,60} zu tun"),
    *(r"häng\w* .{1,80} (?:von .{1,60} )?ab\b", "abhängigkeit"),
    *("versus", r"vs\b", "influence", r"affects?\b", "impact of .{1,60} on", "interact", "depend on each other"),
    *("zusammenh(?:ang|äng|ing)", r"häng\w* .{0,80}zusammen", "verbind", "verbunden", "verknüpf"),
    *("vergleich", "vergliche", r"beziehung(?:en)? .{0,20}zwischen", "unterschied", "unterscheide", "gemeinsam"),
    *("verhält sich", "verhalten sich", "beeinfluss", "auswirkung", "gegenüber", "wechselwirk"),
)


def _finder(phrases: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(phrases)})\w*")


_FINDERS: tuple[tuple[Mode, re.Pattern[str]], ...] = (("global", _finder(_GLOBAL)), ("drift", _finder(_DRIFT)))
_NAMED = 3
"""So many names are told in a reason."""


def classify(text: str, entities: Sequence[str] = ()) -> Route:
    """Return the mode for the question `text`; `entities` are the names of known entities that it contains.

    Depends on nothing else. The reason is ``phrase: ...``, ``entity: ...`` or ``no entity``.
    """
    asked = " ".join(text.casefold().split())
    for mode, finder in _FINDERS:
        found = finder.search(asked)
        if found is not None:
            return Route(mode, f"phrase: {found[0]}")
    if entities:
        return Route("local", f"entity: {', '.join(entities[:_NAMED])}")
    return Route("local", "no entity")


_FRAME = re.compile(
    r"(?<!\w)(?:(?:my|all|these|the|meine[nrs]?|alle[nr]?|diese[nrs]?|den|der) )?"
    r"(?:notes?|vault|notizen?|sammlung|everything|anything|alles)(?!\w)"
    r"|(?<!\w)(?:main|key|important|recurring|common|general|big|wichtigste[nrs]?|große[nr]?)(?!\w)"
    r"|(?<!\w)(?:write|wrote|written|say|said|cover(?:ed|s)?|give me|tell me|work together)(?!\w)"
    r"|(?<!\w)(?:geschrieben|steht|gib mir)(?!\w)"
)


def _between(phrase: re.Match[str]) -> str:
    """What a phrase with a gap (*hängen ... zusammen*) holds in it."""
    words = phrase[0].split()
    return f" {' '.join(words[1:-1])} " if len(words) > 3 else " "


def topic(text: str) -> str:
    """What a question is about, without the phrases that choose a mode and without words for the notes themselves.

    >>> topic("Give me an overview of sync")
    'an  of sync'
    >>> topic("What are the main themes of my notes?").split()
    ['are', 'of', '?']
    """
    about = text.casefold()
    for _, finder in _FINDERS:
        about = finder.sub(_between, about)
    return _FRAME.sub(" ", about).strip()
