"""Questions from text to answer: phrases, negation, prefix, titles, filters, scores that add up, snippets."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from search_make import Made, Vault, note_meta, rows_of, searcher_of, text_hash, vector

from mindnetd.core.filters import DateRange, Filters
from mindnetd.core.query import QuerySpec
from mindnetd.core.rank import RetrievalSettings
from mindnetd.core.results import ChunkText
from mindnetd.deadline import Deadline
from mindnetd.errors import BadRequest, ModelError, Unavailable
from mindnetd.search import Searcher


@pytest.fixture(scope="module")
def garden() -> Vault:
    """A few notes about valves and pumps."""
    vault = Vault()
    vault.add(
        "Valve timing.md", "The valve opens at noon. It closes again.", aliases=("Timing of valves",), tags=("water",)
    )
    vault.add(
        "pump.md", "The pump opens the valve by hand.", "A second part about the valve and its seals.", h1="The pump"
    )
    vault.add("x/deep note.md", "Nothing to see. Opening times of shops.", type="Journal", tags=("a/b/c",))
    vault.add("empty valve.md")
    vault.add("secret.md", "A valve nobody may know. Zanzibar.", visibility="sensitive")
    vault.add("draft.md", "An unfinished valve.", flags=("draft",))
    return vault


# ---- phrases, negation, prefix


def test_a_phrase_must_stand_in_the_text(garden: Vault) -> None:
    """Quoted words count only in that order, in every lane."""
    assert garden.paths('"valve opens"') == ["Valve timing.md"]
    assert garden.paths('"opens the valve"') == ["pump.md"]
    assert garden.paths('"valve the opens"') == []
    assert garden.paths('"valve opens" closes') == ["Valve timing.md"]


def test_a_phrase_may_stand_in_the_title(garden: Vault) -> None:
    """Names and headings are text too."""
    assert garden.paths('"valve timing"')[0] == "Valve timing.md"


def test_quotes_in_a_sentence_are_a_quotation(garden: Vault) -> None:
    """A question that quotes something does not demand it word by word."""
    assert "pump.md" in garden.paths('What is the "valve the opens" about?')


def test_a_phrase_in_a_script_without_spaces() -> None:
    """Characters in a row are a phrase wherever they stand."""
    vault = Vault()
    vault.add("a.md", "私は東京都に住んでいます", lang="ja")
    vault.add("b.md", "京都と東京", lang="ja")
    assert vault.paths('"東京都"') == ["a.md"]


def test_negation_takes_away_in_every_lane(garden: Vault) -> None:
    """``-word`` and ``-"some words"`` remove chunks, a dash inside or alone does not."""
    assert "pump.md" not in garden.paths("valve -pump")
    assert "Valve timing.md" not in garden.paths('valve -"opens at noon"')
    assert "pump.md" in garden.paths('valve -"opens at noon"')
    assert "pump.md" in garden.paths("valve - pump")
    assert garden.words("-valve") == []


def test_prefix_on_the_last_word(garden: Vault) -> None:
    """Only if asked for, and only the last word."""
    assert garden.words("val") == []
    assert garden.words("val", prefix=True)[0] in ("Valve timing.md", "pump.md", "empty valve.md")
    assert "x/deep note.md" in garden.words("shop openi", prefix=True)
    assert garden.words("val noon", prefix=True) == ["Valve timing.md"]


# ---- titles


@pytest.mark.parametrize(
    "text",
    [
        "Valve timing",
        "valve  TIMING",
        "[[Valve timing]]",
        "Timing of valves",
        "Valve timing.md",
        '"Valve timing"',
        "Valve timing?",
    ],
)
@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_a_name_puts_its_note_first(garden: Vault, text: str, fusion: str) -> None:
    """Demand 17: an exact title, alias or file name is hit 1."""
    searcher = searcher_of(garden.hot, garden, RetrievalSettings(fusion=fusion))  # type: ignore[arg-type]
    top = searcher.query(QuerySpec(text), Deadline(30)).hits[0]
    assert top.note.path == "Valve timing.md"
    assert top.terms["title"].term > 1.0
    assert top.lanes["title"] == (1, 1.0)


def test_names_with_odd_signs_are_told_apart() -> None:
    """C and C++ are two names."""
    vault = Vault()
    for name in ("C", "C++", "C#", ".NET", "net", "What next?"):
        vault.add(f"{name}.md", "a language", title=name)
    for name in ("C", "C++", "C#", ".NET", "net", "What next?", "What next"):
        found = [hit.note.title for hit in vault.query(name).hits if hit.terms["title"].value]
        assert found == ["What next?" if name.startswith("What") else name]


def test_the_language_of_a_question(garden: Vault) -> None:
    """German questions lean on the words, one German-looking word does not make a question German."""

    def share(text: str) -> float:
        return garden.query(text).hits[0].terms["sim"].weight

    assert share("wie wird das Ventil geöffnet valve") < share("how is the valve opened") == share("die valve")


def test_a_pasted_document_is_a_question(garden: Vault) -> None:
    """A megabyte of text is answered by its beginning."""
    assert garden.words("valve noon " + "word " * 200_000)[0] == "Valve timing.md"


def test_a_note_without_text_is_found_by_its_name(garden: Vault) -> None:
    """Its chunk is None."""
    top = garden.query("empty valve").hits[0]
    assert (top.note.path, top.chunk, top.snippet) == ("empty valve.md", None, "")
    assert top.as_dict(explain=True)["chunk"] is None


def test_the_title_lane_alone(garden: Vault) -> None:
    """It answers names and nothing else."""
    assert garden.paths("the pump", lanes=("title",)) == ["pump.md", "pump.md"]
    assert garden.paths("valve", lanes=("title",)) == []


# ---- filters and visibility


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (Filters(types=("journal",)), {"x/deep note.md"}),
        (Filters(tags=("a",)), {"x/deep note.md"}),
        (Filters(tags=("#A/B",)), {"x/deep note.md"}),
        (Filters(tags=("a/b/c/d",)), set()),
        (Filters(tags=("water", "a")), {"Valve timing.md", "x/deep note.md"}),
        (Filters(paths=("x/**",)), {"x/deep note.md"}),
        (Filters(paths=("x",)), {"x/deep note.md"}),
        (Filters(paths=("*.md",), tags=("water",)), {"Valve timing.md"}),
        (Filters(paths=("**/deep*",)), {"x/deep note.md"}),
        (Filters(visibility=("sensitive",)), {"secret.md"}),
        (Filters(visibility=("public",)), set()),
        (Filters(lang="de"), set()),
        (Filters(modified=DateRange("2026-01-02", None)), set()),
        (Filters(modified=DateRange("2026-01-01", "2026-01-01"), tags=("water",)), {"Valve timing.md"}),
        (Filters(created=DateRange(None, "2030-01-01")), set()),
    ],
)
@pytest.mark.parametrize("lanes", [("lexical", "dense", "title"), ("dense",)])
def test_filters(garden: Vault, filters: Filters, paths: set[str], lanes: tuple[str, ...]) -> None:
    """Each filter lets through exactly its notes, in every lane."""
    assert set(garden.paths("valve opening times", filters=filters, lanes=lanes)) == paths


def test_flags_hide_unless_asked_for(garden: Vault) -> None:
    """A flagged note is there only for who names the flag."""
    assert "draft.md" not in garden.paths("unfinished valve")
    assert garden.paths("unfinished valve", filters=Filters(include_flags=("draft",)))[0] == "draft.md"


def test_frontmatter_and_status() -> None:
    """Values are compared as text, one entry of a list is enough."""
    vault = Vault()
    vault.add("a.md", "valve", frontmatter_json='{"area": "Garden", "n": ["1", "2"], "done": "false"}', status="active")
    vault.add("b.md", "valve", frontmatter_json='{"area": "house"}')
    for pair in (("area", "garden"), ("n", "2"), ("Done", "FALSE")):
        assert vault.paths("valve", filters=Filters(frontmatter=(pair,))) == ["a.md"]
    assert vault.paths("valve", filters=Filters(status=("ACTIVE",))) == ["a.md"]


def test_a_bad_date_is_refused(garden: Vault) -> None:
    """With the name of the filter."""
    with pytest.raises(BadRequest, match="modified"):
        garden.query("valve", filters=Filters(modified=DateRange("yesterday", None)))


def test_a_hidden_title_is_no_title(garden: Vault) -> None:
    """Nothing tells that a hidden note exists."""
    assert "secret.md" not in garden.paths("secret")
    assert garden.words("zanzibar") == []


def test_three_notes_among_twenty_thousand() -> None:
    """Demand 20: a filter that leaves three notes gives their best hits in every lane, fast."""
    notes, known = [], {}
    for n in range(20_000):
        text = f"common valve words {n % 40}"
        tags = ("rare",) if n in (77, 9_000, 19_999) else ()
        notes.append(Made(note_meta(2 * n, f"n{n}.md", tags=tags), [(2 * n + 1, text)]))
        known.setdefault(text_hash(text), vector(text))
    vault = Vault(notes={}, keys=40_000)
    vault.hot.load(rows_of(notes, known))
    for note in (notes[77], notes[9_000], notes[19_999]):
        vault._keep(note)
    filters = Filters(tags=("rare",))
    for lanes in (("lexical",), ("dense",), ("lexical", "dense", "title")):
        assert sorted(vault.paths("common valve", lanes=lanes, filters=filters)) == ["n19999.md", "n77.md", "n9000.md"]
    assert vault.paths("n9000", filters=filters)[0] == "n9000.md"
    assert vault.paths("n9001", filters=filters, lanes=("title",)) == []


# ---- scores


@settings(max_examples=50, deadline=None)
@given(
    text=st.lists(st.sampled_from(["valve", "pump", "noon", "opens", "the", "Valve timing", "seal"]), min_size=1).map(
        " ".join
    ),
    lanes=st.sampled_from([("lexical",), ("dense",), ("lexical", "dense"), ("lexical", "dense", "title")]),
    fusion=st.sampled_from(["weighted", "rrf"]),
)
def test_scores_are_the_sum_of_their_terms(garden: Vault, text: str, lanes: tuple[str, ...], fusion: str) -> None:
    """Law 10: to the last bit, in the order of the explanation; values stay in their ranges; the order is by score."""
    searcher = searcher_of(garden.hot, garden, RetrievalSettings(fusion=fusion))  # type: ignore[arg-type]
    reply = searcher.query(QuerySpec(text, lanes=lanes), Deadline(30)).as_dict()
    scores = [hit["score"] for hit in reply["results"]]
    assert scores == sorted(scores, reverse=True)
    assert [hit["rank"] for hit in reply["results"]] == list(range(1, len(scores) + 1))
    for hit in reply["results"]:
        added = 0.0
        for name, term in hit["explain"].items():
            if name != "lanes":
                assert term["term"] == term["value"] * term["weight"]
                assert (-1 <= term["value"] <= 0) if name == "diversity" else (0 <= term["value"] <= 1)
                added += term["term"]
        assert added == hit["score"]
        assert ("rrf" in hit["explain"]) == (fusion == "rrf")


def test_candidates_have_exact_scores_in_all_lanes(garden: Vault) -> None:
    """A hit of the vectors alone still shows its place among the words, and the other way round."""
    hits = {(h.note.path, h.chunk and h.chunk.idx): h for h in garden.query("opens valve").hits}
    assert set(hits["pump.md", 0].lanes) == {"lexical", "dense"}
    assert set(hits["x/deep note.md", 0].lanes) >= {"dense"}
    assert sorted(h.lanes["dense"][0] for h in hits.values() if "dense" in h.lanes) == list(range(1, len(hits) + 1))


def test_results_are_diverse_by_note() -> None:
    """Five good chunks of one note do not push every other note down."""
    vault = Vault(settings=RetrievalSettings())
    vault.add("long.md", *[f"valve pump seal number {n}" for n in range(8)])
    for n in range(4):
        vault.add(f"other{n}.md", f"valve pump seal and some other words too {n}")
    assert len(set(vault.paths("valve pump seal", top_k=5))) >= 4


def test_no_lane_vetoes_another(garden: Vault) -> None:
    """Words without vectors and vectors without words are both answers."""
    pending = Vault()
    pending.put(pending.make("a.md", "a new valve"), vectors=False)
    pending.add("b.md", "something else")
    result = pending.query("valve")
    assert {h.note.path for h in result.hits} == {"a.md", "b.md"}
    assert (result.ready, result.pending) == (1, 1)


def test_a_note_that_waits_for_its_vector_is_not_dragged_down() -> None:
    """While vectors stream in, the words stand in for what nobody has measured: the best word match stays first."""
    vault = Vault()
    vault.put(vault.make("right.md", "valve timing and valve seals"), vectors=False)
    for number in range(5):
        vault.add(f"other{number}.md", f"a valve somewhere in text number {number}")
    best = vault.query("valve timing seals").hits[0]
    assert best.note.path == "right.md"
    assert best.terms["sim"].value == best.terms["kw"].value == 1.0


def test_words_alone_without_a_model(garden: Vault) -> None:
    """No model, or one that fails: a warning and the words."""

    def failing(_text: str) -> None:
        raise ModelError("weights are gone")

    for provider in (lambda: None, lambda: failing):
        result = Searcher(garden.hot, garden, provider).query(QuerySpec("valve"), Deadline(30))  # type: ignore[arg-type]
        assert {hit.note.path for hit in result.hits} == {"Valve timing.md", "pump.md", "empty valve.md"}
        assert len(result.warnings) == 1
    assert garden.query("valve").warnings == ()


# ---- limits, deadlines, races


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "  "},
        {"top_k": 0},
        {"top_k": 1001},
        {"lanes": ("magic",)},
        {"lanes": ()},
        {"mode": "best"},
    ],
)
def test_bad_values_are_refused(garden: Vault, changes: dict[str, object]) -> None:
    """Each with one line that says which."""
    with pytest.raises(BadRequest):
        searcher_of(garden.hot, garden).query(replace(QuerySpec("valve"), **changes), Deadline(30))  # type: ignore[arg-type]


def test_modes(garden: Vault) -> None:
    """The search itself is the same for every mode (`modes` adds to it); an unknown one is refused."""
    assert (garden.query("valve").mode, garden.query("valve").mode_reason) == ("local", "no entity")
    assert garden.query("valve", mode="local").mode_reason == "asked for"
    assert garden.paths("valve", mode="drift") == garden.paths("valve", mode="local")
    with pytest.raises(BadRequest):
        garden.query("valve", mode="odd")


def test_past_the_deadline() -> None:
    """A query gives up with ``timeout``."""
    with pytest.raises(Unavailable) as error:
        searcher_of(Vault().hot, Vault()).query(QuerySpec("valve"), Deadline(0, clock=time.monotonic))
    assert error.value.code == "timeout"


def test_a_chunk_rewritten_meanwhile_is_asked_for_again() -> None:
    """The text is gone when it is fetched: the newer revision answers; gone for good: left out."""
    vault = Vault()
    vault.add("a.md", "valve one")

    class Racing(Vault):
        calls = 0

        def texts(self, keys: object) -> dict[int, ChunkText]:
            Racing.calls += 1
            if Racing.calls == 1:
                vault.add("a.md", "valve two")
                return {}
            return dict(vault.texts(keys))  # type: ignore[arg-type]

    result = Searcher(vault.hot, Racing(), lambda: vector).query(QuerySpec("valve"), Deadline(30))
    assert [h.chunk and h.chunk.text for h in result.hits] == ["valve two"]
    assert result.revision == vault.hot.snapshot().revision
    vault.chunks.clear()
    assert vault.paths("valve") == []


def test_an_empty_vault() -> None:
    """Has no answers and no errors."""
    for lanes in (("lexical",), ("dense",), ("lexical", "dense", "title")):
        assert Vault().paths("anything at all", lanes=lanes) == []


# ---- snippets


def test_snippets_mark_the_words() -> None:
    """Highlights are offsets into the snippet, of whole words in any form."""
    vault = Vault()
    body = (
        "# Heading\n\n" + "filler words go here. " * 40 + "Then the valves were opened by hand. " + "more filler. " * 40
    )
    vault.add("a.md", body)
    hit = vault.query("opening a valve").hits[0]
    assert hit.chunk is not None
    assert hit.snippet in hit.chunk.text
    assert len(hit.snippet) < 300
    assert [hit.snippet[a:b] for a, b in hit.highlights] == ["valves", "opened"]


def test_snippets_mark_pairs_in_scripts_without_spaces() -> None:
    """Only what was asked for, not the whole run."""
    vault = Vault()
    vault.add("a.md", "私は東京都に住んでいます", lang="ja")
    hit = vault.query("東京").hits[0]
    assert [hit.snippet[a:b] for a, b in hit.highlights] == ["東京"]


def test_snippets_of_odd_tokens() -> None:
    """Joined words are marked whole, words inside others not at all."""
    vault = Vault()
    vault.add("a.md", "Use snake_case and real-time, not unrealtime; C++ too. Größe.")
    found = vault.query("real-time snake_case C++ groesse").hits[0]
    assert [found.snippet[a:b] for a, b in found.highlights] == ["snake_case", "real-time", "C++", "Größe"]


def test_without_words_the_snippet_is_the_beginning(garden: Vault) -> None:
    """A hit of the vectors alone shows how its chunk begins."""
    hit = garden.query("opens -empty", lanes=("dense",)).hits[-1]
    assert hit.chunk is not None
    assert hit.snippet == hit.chunk.text[: len(hit.snippet)] != ""
