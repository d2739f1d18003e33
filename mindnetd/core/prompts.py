"""What a language model is asked about notes: texts, schemas, limits. Pure; equal inputs, equal prompts.

Schemas are flat and bounded, `maxItems` and `maxLength` everywhere, and each prompt has one worked example: without
either a small model gives no valid JSON at all (``ollama.md`` 7). The example's names are made up, so that one of them
in a reply is known for what it is. Not for: what a reply means (``core.llm_replies``).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

PROMPT_VERSION = "1"
"""Raise it when a prompt or a schema changes: replies to the old ones are not taken for replies to the new."""

TYPES = ("concept", "technology", "person", "organisation", "place", "event", "project")
NAMES_AT_ONCE = 50
"""Entities whose types are asked for in one call."""
CANDIDATES = 30
"""Candidates of a document that one call is about."""
CHUNK_ITEMS = 11
"""The most items that a reply about a chunk has."""
NAME, DESCRIPTION, RELATION = 60, 100, 30
"""The longest name, description and relation, in characters."""
ITEM_TOKENS = 60
"""What an entity or a relation of a reply takes at most, about."""
SUMMARY_TOKENS = 300
EXAMPLE_NAMES = ("Zorblat", "Quenfir Labs")


@dataclass(frozen=True, slots=True)
class Ask:
    """One call to make. ``key`` names its input whatever the limits are; ``notes`` are the keys of its sources."""

    key: str
    purpose: str
    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None
    max_tokens: int
    notes: tuple[int, ...] = ()


def ask_key(digest: str, purpose: str, *parts: str) -> str:
    """The key of a reply: model, prompt version and input."""
    text = json.dumps([digest, PROMPT_VERSION, purpose, *parts], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def narrower(ask: Ask) -> Ask:
    """The same with half the items: for a reply that was cut at its limit. The key stays."""
    if ask.schema is None:
        return ask
    properties = {
        name: {**rule, "maxItems": max(2, rule["maxItems"] // 2)} if "maxItems" in rule else rule
        for name, rule in ask.schema["properties"].items()
    }
    return replace(ask, schema={**ask.schema, "properties": properties})


# -------------------------------------------------------------------------------------------------------------- schemas


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(longest: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}


def _list(of: Mapping[str, Any], most: int) -> dict[str, Any]:
    return {"type": "array", "items": dict(of), "maxItems": most}


_TYPE = {"type": "string", "enum": list(TYPES)}


def _entity(name: dict[str, Any]) -> dict[str, Any]:
    return _object({"name": name, "type": _TYPE, "description": _text(DESCRIPTION)})


def _relation(name: dict[str, Any]) -> dict[str, Any]:
    return _object({"source": name, "target": name, "relation": _text(RELATION)})


def types_schema(count: int) -> dict[str, Any]:
    """One type a number, all of them: a list could get out of step, numbered keys cannot."""
    return _object({str(number): _TYPE for number in range(1, count + 1)})


def extract_schema(entities: int, relations: int, names: Sequence[str] = ()) -> dict[str, Any]:
    """Entities, and relations between them; of `names` alone where there are any: a small model repeats the example's
    names otherwise (docs/decisions/0019)."""
    name = {"type": "string", "enum": list(names)} if names else _text(NAME)
    return _object({"entities": _list(_entity(name), entities), "relations": _list(_relation(name), relations)})


def entities_schema(entities: int) -> dict[str, Any]:
    """Entities alone."""
    return _object({"entities": _list(_entity(_text(NAME)), entities)})


# -------------------------------------------------------------------------------------------------------------- prompts

_EXAMPLE_TEXT = "Zorblat is a sync tool made by Quenfir Labs."
_EXAMPLE_ENTITIES = [
    {"name": "Zorblat", "type": "technology", "description": "A sync tool"},
    {"name": "Quenfir Labs", "type": "organisation", "description": "Makes Zorblat"},
]
_EXAMPLE_RELATIONS = [{"source": "Quenfir Labs", "target": "Zorblat", "relation": "makes"}]
_RULES = (
    "Answer with one JSON object and nothing else. Use only names that stand in the text, spelled as there. "
    "Never use a name of the example. Each entity once. Descriptions are short and in the language of the text."
)


def _messages(task: str, example: tuple[str, object], question: str) -> tuple[Mapping[str, str], ...]:
    shown = json.dumps(example[1], ensure_ascii=False)
    return (
        {"role": "system", "content": f"{task} {_RULES}\n\nExample\n{example[0]}\n{shown}"},
        {"role": "user", "content": question},
    )


def room(num_ctx: int, max_tokens: int) -> int:
    """Tokens of text that a prompt has room for: what the reply, the rules and a margin of a fifth leave."""
    return max(100, int((num_ctx - max_tokens - 500) / 1.2))


def reply_tokens(num_ctx: int, items: int) -> int:
    """The limit of a reply with so many items; never more than half the context."""
    return min(200 + items * ITEM_TOKENS, num_ctx // 2)


@dataclass(frozen=True, slots=True)
class Asks:
    """The questions to one model: ``digest`` names its weights, ``num_ctx`` is its context in tokens."""

    digest: str
    num_ctx: int

    def types(self, names: Sequence[str]) -> Ask:
        """The types of at most `NAMES_AT_ONCE` names, numbered from 1."""
        task = f"You say of each numbered name what kind of thing it is: one of {', '.join(TYPES)}."
        lines = "\n".join(f"{number}. {_line(name)}" for number, name in enumerate(names, 1))
        example = ("1. Zorblat\n2. Quenfir Labs", {"1": "technology", "2": "organisation"})
        return Ask(
            key=ask_key(self.digest, "entity_types", *names),
            purpose="entity_types",
            messages=_messages(task, example, lines),
            schema=types_schema(len(names)),
            max_tokens=reply_tokens(self.num_ctx, math.ceil(len(names) / 4)),
        )

    def type_key(self, name: str) -> str:
        """The key of the type of one name: batches differ, the question about a name does not."""
        return ask_key(self.digest, "entity_types", "name", name)

    def document(self, title: str, text: str, candidates: Sequence[str], notes: tuple[int, ...]) -> Ask:
        """Mode hybrid: which of a document's candidates are entities, of what type, and how they are related."""
        entities = max(3, min(len(candidates), CANDIDATES, (self.num_ctx // 3 - 200) // ITEM_TOKENS))
        relations = max(3, entities // 3)
        task = (
            "You are given a note and candidates for its entities. Return those that are worth an entry of their own, "
            f"with a type ({', '.join(TYPES)}) and a description, and the relations that the text states between them."
        )
        example = (
            f"Text:\n{_EXAMPLE_TEXT}\nCandidates:\nZorblat\nQuenfir Labs\ntool",
            {"entities": _EXAMPLE_ENTITIES, "relations": _EXAMPLE_RELATIONS},
        )
        names = [_line(name) for name in candidates[:CANDIDATES]]
        listed = "\n".join(names)
        question = f"Title: {_line(title)}\nText:\n{text}\nCandidates:\n{listed}"
        return Ask(
            key=ask_key(self.digest, "extract", question),
            purpose="extract",
            messages=_messages(task, example, question),
            schema=extract_schema(entities, relations, names),
            max_tokens=reply_tokens(self.num_ctx, entities + relations),
            notes=notes,
        )

    def chunk(self, text: str, notes: tuple[int, ...]) -> Ask:
        """Mode llm, first call: the entities of a chunk."""
        task = f"You find the entities of a text, each with a type ({', '.join(TYPES)}) and a description."
        return Ask(
            key=ask_key(self.digest, "extract", "chunk", text),
            purpose="extract",
            messages=_messages(task, (f"Text:\n{_EXAMPLE_TEXT}", {"entities": _EXAMPLE_ENTITIES}), f"Text:\n{text}"),
            schema=entities_schema(10),
            max_tokens=reply_tokens(self.num_ctx, 10),
            notes=notes,
        )

    def gleaning(self, text: str, found: Sequence[str], notes: tuple[int, ...]) -> Ask:
        """Mode llm, second call: what the first one missed, and the relations."""
        task = (
            "You are given a text and entities that were found in it. Return the entities that were missed, and the "
            "relations that the text states between any of them."
        )
        example = (
            f"Text:\n{_EXAMPLE_TEXT}\nFound:\nZorblat",
            {"entities": _EXAMPLE_ENTITIES[1:], "relations": _EXAMPLE_RELATIONS},
        )
        question = f"Text:\n{text}\nFound:\n" + ("\n".join(_line(name) for name in found) or "none")
        return Ask(
            key=ask_key(self.digest, "gleaning", text, *found),
            purpose="gleaning",
            messages=_messages(task, example, question),
            schema=extract_schema(5, 6),
            max_tokens=reply_tokens(self.num_ctx, CHUNK_ITEMS),
            notes=notes,
        )

    def summary(self, title: str, sentences: Sequence[str], notes: tuple[int, ...] = ()) -> Ask:
        """What a community is about, from its best sentences; nothing else, so that what is stored of it is enough."""
        system = (
            "You write what a group of notes is about, in two to four plain sentences, in the language of the notes, "
            "from the sentences given alone. No list, no heading, nothing that the sentences do not say."
        )
        said = "\n".join(f"- {_line(one)}" for one in sentences[:20])
        question = f"Group: {_line(title)}\nSentences:\n{said}"
        messages = ({"role": "system", "content": system}, {"role": "user", "content": question})
        return Ask(ask_key(self.digest, "summary", question), "summary", messages, None, SUMMARY_TOKENS, notes)


def _line(text: str) -> str:
    """On one line, so that a name cannot pass for a part of the prompt."""
    return " ".join(text.split())[:400]
