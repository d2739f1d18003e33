"""``mindnet context``: what the notes know of a text, packed under a token budget for a prompt of one's own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mindnetd.client.ask import filters_of, printable
from mindnetd.client.main import WrongUseError
from mindnetd.client.paint import clean

if TYPE_CHECKING:
    from mindnetd.client.main import Call


def run_context(call: Call) -> int:
    """The text alone on standard output, what was left out on standard error; 1 where nothing fits or is found."""
    text = " ".join(call.args.text)
    if not text.strip():
        raise WrongUseError("the text is empty; try: mindnet context 'what the prompt is about' --tokens 2000")
    request = {"text": text, "tokens": call.args.tokens, "filters": filters_of(call.args)}
    body = call.client.post("/context", {name: value for name, value in request.items() if value not in (None, {})})
    reply = json.loads(body)
    if call.json:
        call.raw(body)
        return 0 if reply["sources"] else 1
    if reply["text"]:
        call.out(printable(reply["text"]).rstrip("\n"))
    notes = [f"{reply['tokens']} tokens of {len(reply['sources'])} sources"] if reply["sources"] else []
    notes += [f"{reply['left_out']} more did not fit; give a higher --tokens"] if reply["left_out"] else []
    for line in [*map(clean, reply["warnings"]), "; ".join(notes) or "nothing found"]:
        sys.stderr.write(f"mindnet: {line}\n")
    return 0 if reply["sources"] else 1
