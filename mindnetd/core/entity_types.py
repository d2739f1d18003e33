"""What kind of thing a name is, told from the name and from how notes use it; a note's own type wins."""

from __future__ import annotations

import re
from collections.abc import Set

_FILE = re.compile(
    r"[\w.-]*\w?\.(?:css|js|ts|json|ya?ml|md|py|rs|toml|html?|png|jpe?g|svg|pdf|csv|zip|txt|exe|canvas|base)", re.I
)
_CODE = re.compile(r"[\w.$-]+\(\)|\w+_\w+|[a-z]+\d*[A-Z]\w*|--?[a-z][\w-]+|[\w-]+[:/.][\w:/.-]+")
_ACRONYM = re.compile(r"[A-Z][A-Z0-9]{1,5}s?(?:[+#]{1,2})?")
_CAMEL = re.compile(r"[A-Z][a-z]+[A-Z]\w*|\w+\.(?:js|ts|io|net|ai)", re.ASCII)
_TECH_WORDS = frozenset(
    (
        *("api", "sdk", "cli", "plugin", "plugins", "framework", "database", "server", "linux", "windows", "macos"),
        *("android", "ios", "python", "java", "javascript", "typescript", "rust", "docker", "kubernetes", "git"),
        *("markdown", "css", "html", "json", "yaml", "sql", "browser", "app", "software", "theme", "erweiterung"),
        *("engine", "compiler", "protocol", "protokoll", "datenbank", "bibliothek", "library", "syntax", "uri"),
    )
)
_ORGANISATION = re.compile(
    r"(?:\b(?:inc|ltd|llc|gmbh|ag|kg|corp|company|foundation|university|institute|ministry|association|team|bank|verein"
    r"|stiftung|institut|hochschule|ministerium|verband|behörde)\b\.?|universität|e\.\s?v\.)",
    re.I,
)
_EVENT = re.compile(
    r"\b(?:conference|summit|meetup|meeting|workshop|festival|hackathon|october|election|war|konferenz|treffen|tagung"
    r"|besprechung|sitzung|messe|\d{4}-\d{2}(?:-\d{2})?)\b|#?\b\w*tober\b",
    re.I,
)
_PLACE = re.compile(
    r"\b(?:street|city|county|river|island|lake|mountain|station|airport|straße|platz|stadt|insel|bahnhof|flughafen)\b"
    r"|^(?:europe|europa|asia|asien|africa|afrika|america|amerika|germany|deutschland|austria|österreich|switzerland"
    r"|schweiz|france|frankreich|italy|italien|spain|spanien|england|london|paris|berlin|hamburg|münchen|munich|wien"
    r"|vienna|zürich|zurich|new york|san francisco|tokyo|japan|china|india|indien|usa|uk|united states|canada|kanada)$",
    re.I,
)
_PROJECT = re.compile(r"\b(?:project|projekt|roadmap|migration|relaunch|campaign|kampagne)\b", re.I)
_PERSON = re.compile(
    r"[^\W\d_][\w\u2019'-]*[a-zß-ÿ]\.?(?: (?:van|von|de|der|del|di|da|la|le))?(?: [A-Z]\.)?"
    r"(?: \w[\w\u2019'-]+){1,2}"
)
_FIRST_NAMES = frozenset(
    (
        *("adam", "alan", "albert", "alex", "alexander", "alice", "andrea", "andreas", "andrew", "angela", "anna"),
        *("anne", "anton", "barbara", "ben", "benjamin", "bernd", "bob", "brian", "carl", "charles", "charlie"),
        *("chris", "christian", "christina", "christine", "christoph", "claudia", "daniel", "david", "dennis"),
        *("dieter", "donald", "edward", "elena", "elisabeth", "elizabeth", "ella", "emily", "emma", "eric", "erik"),
        *("erika", "eva", "felix", "frank", "franz", "fred", "friedrich", "gary", "george", "georg", "grace", "hannah"),
        *("hans", "heinrich", "helen", "helga", "henry", "ian", "isaac", "jack", "jacob", "jakob", "james", "jan"),
        *("jane", "jason", "jean", "jeff", "jennifer", "jim", "joe", "johann", "johannes", "john", "jonas", "jonathan"),
        *("joseph", "julia", "julian", "karl", "katharina", "kevin", "klaus", "kurt", "lars", "laura", "lea", "lena"),
        *("leon", "linda", "lisa", "louis", "luca", "lucas", "ludwig", "lukas", "maria", "marie", "mark", "markus"),
        *(
            "martin",
            "mary",
            "matt",
            "matthew",
            "max",
            "maya",
            "michael",
            "michelle",
            "mike",
            "monika",
            "nick",
            "niklas",
        ),
        *("nicole", "nina", "oliver", "olivia", "otto", "patrick", "paul", "peter", "petra", "philipp", "rachel"),
        *("ralf", "rebecca", "richard", "robert", "ryan", "sabine", "sam", "sandra", "sara", "sarah", "sebastian"),
        *("simon", "sophia", "sophie", "stefan", "stephan", "stephen", "steve", "steven", "susan", "susanne", "thomas"),
        *("tim", "tom", "tobias", "ulrich", "ursula", "uwe", "vera", "walter", "werner", "william", "wolfgang"),
    )
)

FOLDERS = {
    "person": ("people", "person", "persons", "personen", "kontakte", "contacts", "authors", "autoren"),
    "project": ("projects", "project", "projekte", "projekt"),
    "place": ("places", "orte", "locations"),
    "organisation": ("organisations", "organizations", "organisationen", "companies", "firmen"),
    "event": ("events", "meetings", "veranstaltungen", "daily", "journal", "daily notes", "tagebuch"),
}
_BY_FOLDER = {folder: kind for kind, folders in FOLDERS.items() for folder in folders}


def type_of_note(own: str | None, path: str, name: str, kinds: Set[str]) -> str:
    """The type of an entity that is a note: its own, else by its folder, else by its name."""
    if own:
        return own
    for folder in reversed(path.casefold().split("/")[:-1]):
        for part in (folder, folder.lstrip("0123456789 -_.")):
            if part in _BY_FOLDER:
                return _BY_FOLDER[part]
    return type_of_name(name, kinds)


def type_of_name(name: str, kinds: Set[str]) -> str:
    """The type that a name alone suggests; `kinds` are the kinds of signals that gave it."""
    if kinds == {"tag"}:
        return "tag"
    if _FILE.fullmatch(name):
        return "file"
    if _CODE.fullmatch(name) and kinds & {"code", "codeword", "heading"}:
        return "technology"
    if name.startswith("@") or _is_person(name):
        return "person"
    for kind, pattern in (("organisation", _ORGANISATION), ("place", _PLACE), ("event", _EVENT), ("project", _PROJECT)):
        if pattern.search(name):
            return kind
    words = frozenset(name.casefold().replace("-", " ").split())
    if words & _TECH_WORDS or _CAMEL.fullmatch(name) or (_ACRONYM.fullmatch(name) and kinds & {"codeword", "code"}):
        return "technology"
    return "concept"


def _is_person(name: str) -> bool:
    first = name.partition(" ")[0].casefold()
    return first in _FIRST_NAMES and " " in name and _PERSON.fullmatch(name) is not None
