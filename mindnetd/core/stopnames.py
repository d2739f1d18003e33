"""Names that name nothing: generic headings, keys of a keyboard, words for a reader of links. German and English."""

from __future__ import annotations

import re

from mindnetd.core.stopwords import STOP_WORDS

_GENERIC = """
about above abstract action actions add additional advanced agenda all answer answers api app appendix archive
article articles author authors back background basic basics below benefits best bibliography body bug bugs cc
changelog changes clear close code command commands comment comments common conclusion conclusions config
configuration contact content contents context contribute contributing contributors control copy create credit
credits custom customization date day data default defaults delete demo demos dependencies description desktop
details discussion display documentation done download downloads edit editing enter error errors example examples
experimental export external faq faqs feature features feedback file files filter filters find first fields fix
fixed fixes folder folders footnotes formatting frequently further future general getting goal goals guide guides
help here hello history hint home hotkeys how id ideas image images import important index info information
inspiration install installation installing instructions intro introduction issue issues item items keyboard known
last layout learn legend license licence limitations link links list lists log main maintainers manual menu message
meta metadata method methods misc miscellaneous mobile mode model models more motivation name names navigation new
next no nope note notes notice objective open operations option options other others outline output outlook overview
page pages parameters parts permalink pin placeholder plan plans plugin plugins premise preamble prerequisites
privacy pro problem problems process properties pros purpose question questions quick quickstart quotes readme
reason reasons recent reference references related release releases remove requirements resource resources result
results roadmap rules save screenshot screenshots script search section see select setting settings setup shortcuts
show solution solutions some source sources start started status step steps style styles submit summaries summary
support syntax system table tables tag tags task tasks team template templates test testing tests text thanks theme
themes things this time tip tips title titles toc todo todos tools topic topics troubleshooting tutorial tutorials
type types untitled update updates upgrade url usage use useful user users using value values variables version
versions video videos view views warning web welcome what why work year yes you your
"""

_PHRASES = """
all notes|basic usage|best practices|code of conduct|common issues|example usage|external links|feature requests
frequently asked questions|further reading|get started|getting started|getting help|good to know|how it works
how to use|how to install|known issues|learn more|more info|more information|new features|next steps|open questions
other notes|quick start|read more|related links|related notes|release notes|report a bug|see also|see here|see more
table of contents|technical details|to do|to-do|useful links|what's new|what is it|click here|full list
advanced usage|additional resources|additional information|also see|bug fixes|contact us|things to note
allgemein|allgemeines|anforderungen|anhang|anhänge|anleitung|antwort|antworten|anwendung|ansicht|ansichten|aufgabe
aufgaben|beispiel|beispiele|bemerkung|bemerkungen|beschreibung|datei|dateien|datum|details|einführung|einleitung
einrichten|einrichtung|einschränkungen|einstellung|einstellungen|ende|entwurf|ergebnis|ergebnisse|erste schritte
erweitert|fazit|fehler|fehlerbehebung|felder|fragen|frage|funktion|funktionen|häufig gestellte fragen|häufige fragen
hilfe|hinweis|hinweise|hintergrund|ideen|idee|inhalt|inhalte|inhaltsverzeichnis|kontakt|liste|listen|literatur|lösung
lösungen|mehr|mehr erfahren|mehr informationen|erfahre mehr|methode|methoden|name|namen|neu|neues|notiz|notizen
nutzung|nächste schritte|optionen|option|ordner|parameter|problem|probleme|protokoll|quelle|quellen|schritt|schritte
siehe auch|seite|seiten|sonstiges|stand|status|tabelle|tabellen|tag|tage|tastenkürzel|thema|themen|tipp|tipps|titel
text|überblick|übersicht|verwandt|verwandte notizen|verweise|verwendung|voraussetzung|voraussetzungen|vorlage|vorlagen
vorteile|nachteile|was ist das|weitere details|weitere informationen|weiteres|weiterführende links|werte|ziel|ziele
zusammenfassung|zusammenfassungen|zweck|siehe|variablen|filter|marker|layout|desktop|mobil|editor|bearbeiten|mobile
"""

_INSTRUCT = """
access activate add adjust allow apply attach automate avoid back build calculate can change check choose clear click
close collapse combine compare configure connect convert copy create customize cut define delete deploy describe
design disable discover display do don't download drag drop duplicate edit embed enable ensure enter exclude expand
explore export extend filter find fix follow format fork generate get give go handle hide highlight how identify if
import improve include increase insert inspect install integrate invite is it join jump keep launch learn let limit
link list load locate log look make manage merge migrate modify move name navigate open optimize organize paste pin
place play post prepare press prevent preview print protect publish pull push put quit read recover redo reduce refer
reload remember remove rename reorder replace report request reset resize resolve restart restore retrieve return
reuse revert review run save search see select send set share show sign skip sort speed split start stop store submit
subscribe support switch sync synchronize tap test there toggle track transfer translate try turn type understand undo
uninstall unlock update upgrade upload use using verify view visit wait watch what when where which who why work wrap
write aktiviere aktualisiere anlegen anpassen ändere ändern beende bearbeite bearbeiten bewege definiere deaktiviere
drücke entferne ergänze erstelle erstellen exportiere falls finde füge gehe gib hilf importiere installiere klicke
kopiere lade lege lerne listet lösche markiere melde nutze öffne prüfe reiche schließe schreibe sende setze sieh
speichere starte stelle suche teile tippe trage verbinde verschiebe verwende wähle warum was wechsle wenn wie wird wo
zeige ziehe
"""
VERBS = frozenset(_INSTRUCT.split())
"""First words of instructions, which are headings and link texts but no names."""
_OPENERS = (STOP_WORDS["en"] | STOP_WORDS["de"] | {"new", "neue", "neuer", "neues"}) - frozenset(
    ("the", "der", "die", "das", "will")
)
_INFINITIVE = re.compile(r".+ [a-zäöüß]+(?:en|ern|eln)")

STOP_NAMES = frozenset((*_GENERIC.split(), *(name.strip() for name in _PHRASES.replace("\n", "|").split("|")))) - {""}
"""Folded names that are no entities by themselves; a note that is called so is one all the same."""

_KEYS = (
    "ctrl|strg|cmd|command|alt|option|shift|umschalt|enter|return|eingabe|escape|esc|tab|backspace|delete|entf|space"
)
_KEYS += "|leertaste|home|end|pos1|ende|up|down|left|right|pageup|pagedown|meta|win|super|fn|mod|insert|einfg|arrow"
_HOTKEY = re.compile(rf"(?:{_KEYS}|f\d{{1,2}})(?:\s*[+-]\s*(?:{_KEYS}|f\d{{1,2}}|\S))*", re.IGNORECASE)
_NOTHING = re.compile(
    r"[\W\d_]*"  # numbers, punctuation
    r"|v?\d[\w.-]*"  # versions, sizes, hours
    r"|#?[0-9a-f]{6,}"  # colours, hashes
    r"|\d{1,2}\.? ?\w+ \d{4}|\w+ \d{1,2},? \d{4}"  # days
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|februar|märz|mai|juni|juli|oktober|dezember"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec"
    r"|true|false|null|none|undefined|nan|str|int|bool|string|number|boolean|object|list|nil|void"
    r"|[kmgt]b|px|ms|am|pm|ok|eg|ie|e\.g|i\.e|etc|usw|bzw|z\.b|nr|no|vs|usd|eur|utc|gmt|todo|fixme|wip|tbd|nb|ps|faq"
    r"|(?:i|it|he|she|we|you|they|there|here|that|this|let|what|who|how|don|doesn|didn|isn|can|won)['\u2019]\w{1,2}"
    r"|[a-z]",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:\d{4}-?\d{2}-?\d{2}|\d{4}-(?:w|q)?\d{1,2}|\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4})(?:\b.{0,12})?", re.I)
_ATTACHMENT = re.compile(r".*\.(?:png|jpe?g|gif|svg|webp|bmp|avif|mp[34]|m4a|wav|ogg|flac|webm|mov|mkv|pdf|zip)", re.I)
_ADDRESS = re.compile(r"(?:https?:)?//|www\.|\S+@\S+\.\w+$|^[\w.-]+/[\w./-]+$")


def names_nothing(key: str) -> bool:
    """Whether a folded name is no entity: generic, a date or number, a key of the keyboard, an address, a file."""
    return (
        key in STOP_NAMES
        or len(key) < 2
        or _NOTHING.fullmatch(key) is not None
        or is_date(key)
        or _HOTKEY.fullmatch(key) is not None
        or _ADDRESS.search(key) is not None
        or is_attachment(key)
    )


def is_instruction(name: str) -> bool:
    """Whether a name of several words is a piece of a sentence: ``Install the plugin``, ``In the community``.

    A German instruction ends in an infinitive (``Plugin installieren``), which unlike a noun has no capital.
    """
    first, blank, _ = name.casefold().partition(" ")
    return bool(blank) and (first in VERBS or first in _OPENERS or _INFINITIVE.fullmatch(name) is not None)


def is_date(key: str) -> bool:
    """Whether a folded name is a day, week, month or year."""
    return _DATE.fullmatch(key) is not None


def is_attachment(key: str) -> bool:
    """Whether a folded name is that of an image, a sound, a film or a document beside the notes."""
    return _ATTACHMENT.fullmatch(key) is not None
