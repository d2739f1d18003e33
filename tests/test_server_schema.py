"""Every reply of every route is what the OpenAPI document says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from server_make import Reply, Served, World, serve_world
from test_server_routes import fill

BASIC = "basic"
CALLS: list[tuple[str, str, str, Any]] = [
    ("GET", "/status", "/status", None),
    ("GET", "/stats", "/stats", None),
    ("GET", "/notes?limit=3", "/notes", None),
    ("GET", "/notes?limit=0", "/notes", None),
    ("GET", "/notes/valve-timing", "/notes/{ref}", None),
    ("GET", "/notes/board.canvas", "/notes/{ref}", None),
    ("GET", "/notes/empty", "/notes/{ref}", None),
    ("GET", "/notes/same", "/notes/{ref}", None),
    ("GET", "/notes/none", "/notes/{ref}", None),
    ("GET", "/notes/pump?visibility=sensitive", "/notes/{ref}", None),
    ("GET", "/notes/pump/related", "/notes/{ref}/related", None),
    ("GET", "/notes/none/related", "/notes/{ref}/related", None),
    ("GET", "/notes/pump/suggestions", "/notes/{ref}/suggestions", None),
    ("GET", "/notes/none/suggestions", "/notes/{ref}/suggestions", None),
    ("GET", "/neighbors/pump", "/neighbors/{ref}", None),
    ("GET", "/neighbors/pump?kind=backlink", "/neighbors/{ref}", None),
    ("GET", "/path?from=pump&to=valve", "/path", None),
    ("GET", "/path?from=pump&to=empty", "/path", None),
    ("GET", "/path?from=pump", "/path", None),
    ("GET", "/orphans", "/orphans", None),
    ("GET", "/subgraph/pump?depth=3", "/subgraph/{ref}", None),
    ("GET", "/unresolved", "/unresolved", None),
    ("GET", "/diagnostics", "/diagnostics", None),
    ("GET", "/runs", "/runs", None),
    ("GET", "/runs/none", "/runs/{run_id}", None),
    ("GET", "/query-log", "/query-log", None),
    ("GET", "/jobs/none", "/jobs/{job_id}", None),
    ("POST", "/query", "/query", {"text": "valve"}),
    ("POST", "/query", "/query", {"text": "empty"}),
    ("POST", "/query", "/query", {"text": "zzzz"}),
    ("POST", "/query", "/query", {"text": ""}),
    ("POST", "/query", "/query", {}),
    ("POST", "/query", "/query", {"text": "valve", "answer": True}),
    ("POST", "/query", "/query", {"text": "what is it all about", "mode": "global", "answer": True}),
    ("POST", "/query", "/query", {"text": "valve", "mode": "drift"}),
    ("POST", "/explain", "/explain", {"text": "valve", "note": "pump"}),
    ("POST", "/explain", "/explain", {"text": "valve", "note": "valve", "filters": {"types": ["none"]}}),
    ("POST", "/explain", "/explain", {"text": "valve", "note": "nobody"}),
    ("POST", "/explain", "/explain", {"text": "valve"}),
    ("POST", "/context", "/context", {"text": "valve", "tokens": 50}),
    ("POST", "/context", "/context", {"text": ""}),
    ("POST", "/context", "/context", {"text": "valve", "tokens": 0}),
    ("GET", "/entities", "/entities", None),
    ("GET", "/entities?q=x&limit=0", "/entities", None),
    ("GET", "/entities/nobody", "/entities/{id}", None),
    ("GET", "/communities", "/communities", None),
    ("GET", "/communities?level=-1", "/communities", None),
    ("GET", "/communities/c_0_0", "/communities/{id}", None),
    ("GET", "/communities/none", "/communities/{id}", None),
    ("POST", "/admin/reindex", "/admin/reindex", {"all": True}),
    ("POST", "/admin/reindex", "/admin/reindex", {"all": "yes"}),
    ("POST", "/admin/reconcile", "/admin/reconcile", {}),
    ("POST", "/admin/import", "/admin/import", None),
    ("POST", "/admin/resolve", "/admin/resolve", None),
    ("POST", "/admin/verify", "/admin/verify", {"hashes": True}),
    ("POST", "/admin/communities", "/admin/communities", {"cold": True}),
    ("POST", "/admin/communities", "/admin/communities", {"cold": "yes"}),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("schema")
    world = World(folder)
    fill(world)
    running = serve_world(world, folder / "s.sock")
    yield running
    world.index()
    running.stop()
    world.close()


@pytest.fixture(scope="module")
def document(served: Served) -> dict[str, Any]:
    return served.get("/openapi.json")


def schema_of(document: dict[str, Any], method: str, path: str, status: int) -> dict[str, Any]:
    """The schema of a reply, with everything that it refers to."""
    answer = document["paths"][path][method.lower()]["responses"][str(status)]
    return {**answer["content"]["application/json"]["schema"], "components": document["components"]}


def check(document: dict[str, Any], method: str, path: str, reply: Reply) -> None:
    schema = schema_of(document, method, path, reply.status)
    jsonschema.Draft202012Validator(schema).validate(reply.json())


@pytest.mark.parametrize(("method", "target", "path", "body"), CALLS)
def test_a_reply_is_as_documented(
    served: Served, document: dict[str, Any], method: str, target: str, path: str, body: Any
) -> None:
    """Success and error alike."""
    check(document, method, path, served.call(method, target, body))


def test_runs_and_jobs_are_as_documented(served: Served, document: dict[str, Any]) -> None:
    """Those whose id must be asked for first."""
    run = served.get("/runs")["runs"][0]["id"]
    check(document, "GET", "/runs/{run_id}", served.call("GET", f"/runs/{run}"))
    job = served.call("POST", "/admin/verify", {}).json()["id"]
    check(document, "GET", "/jobs/{job_id}", served.call("GET", f"/jobs/{job}"))


def test_every_route_is_tried(document: dict[str, Any]) -> None:
    """No documented JSON route is left out above."""
    streams = {"/events", "/metrics", "/backup", "/export"}
    assert set(document["paths"]) - streams == {path for _, _, path, _ in CALLS}


def test_the_document_is_valid_and_complete(document: dict[str, Any]) -> None:
    """Every call documents its errors by one model, and all references lead somewhere."""
    errors = {"400", "403", "404", "409", "413", "422", "429", "503"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert path == "/metrics" or errors <= set(operation["responses"]), (path, method)
    text = json.dumps(document)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


def test_the_defaults_of_a_question_are_shown(document: dict[str, Any]) -> None:
    """What a question that leaves everything out asks for can be read in the document."""
    fields = document["components"]["schemas"]["QueryRequest"]["properties"]
    assert fields["lanes"]["default"] == ["lexical", "dense", "title"]
    assert "retrieval.yaml" in fields["top_k"]["description"]


def test_the_basic_vault_is_as_documented(shared: Path, tmp_path: Path) -> None:
    """Every note and canvas of the shared vault, hidden ones included, and its lists."""
    import shutil

    world = World(tmp_path)
    shutil.copytree(shared / "vaults" / BASIC, world.vault, dirs_exist_ok=True)
    world.allow("sensitive")
    world.index()
    running = serve_world(world, tmp_path / "s.sock")
    document = running.get("/openapi.json")
    seen = "visibility=public,internal,sensitive&include_flags=draft,needs_review,private_journal"
    notes = running.get(f"/notes?limit=500&{seen}")["notes"]
    assert notes
    for note in notes:
        check(document, "GET", "/notes/{ref}", running.call("GET", f"/notes/{note['id']}?{seen}"))
        check(document, "GET", "/subgraph/{ref}", running.call("GET", f"/subgraph/{note['id']}?{seen}"))
    for name in ("stats", "unresolved", "diagnostics"):
        check(document, "GET", f"/{name}", running.call("GET", f"/{name}?{seen}"))
    running.stop()
    world.close()
