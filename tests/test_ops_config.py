"""The configuration: layers, types, lines of errors, the template."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mindnetd.config import KEYS, VARIABLES, Config, differences, find_config, load_config, value_of
from mindnetd.core.rank import RetrievalSettings
from mindnetd.errors import BadRequest, ConfigError
from mindnetd.settings.edit import set_value
from mindnetd.settings.init import fill_template, write_config
from mindnetd.settings.places import places, slug
from mindnetd.settings.read import nearest, plain, whole
from mindnetd.settings.retrieval import load_retrieval, retrieval_settings
from mindnetd.settings.share import shared_file
from mindnetd.settings.show import show


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A user of his own: nothing of the real one's home is seen."""
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}


def write(tmp_path: Path, text: str, name: str = "notes.yaml") -> Path:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def problems(file: Path, env: dict[str, str], **flags: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_config(file, env, flags)
    return list(caught.value.detail["problems"])


def test_vault_alone_is_enough(tmp_path: Path, env: dict[str, str]) -> None:
    """With nothing but the vault, every other value has the documented default."""
    config = load_config(None, env, {"vault": str(tmp_path / "Meine Notizen")})
    assert config.name == "meine-notizen"
    assert config.db == tmp_path / "home/.local/state/mindnetd/meine-notizen.duckdb"
    assert config.socket == tmp_path / "run/mindnetd/meine-notizen.sock"
    assert (config.watch.settle_ms, config.hash.compare, config.vector_index) == (200, "body", "exact")
    assert config.privacy.exclude_flags == ("draft", "needs_review", "private_journal")
    assert config.origin("watch.settle_ms") == "default"


def test_template_is_exactly_the_defaults(tmp_path: Path, env: dict[str, str]) -> None:
    """The template as shipped, and with every setting commented in, means the same as no file at all."""
    text = fill_template(tmp_path / "Notes", tmp_path / "home/.local/state/mindnetd/notes.duckdb", ())
    commented_in = re.sub(r"^#(?! [^ ])", "", text, flags=re.M)
    assert set(KEYS) == {key for key in KEYS if re.search(rf"^ *{key.rpartition('.')[2]}:", commented_in, re.M)}
    want = load_config(None, env, {"vault": str(tmp_path / "Notes")})
    for number, form in enumerate((text, commented_in)):
        folder = tmp_path / f"home/{number}"
        folder.mkdir(parents=True)
        got = load_config(write(folder, form), env)
        assert {k for k in differences(want, got) if not k.endswith("_file")} == set()
    assert got.origin("maintenance.keep").startswith(str(tmp_path))


def test_layers(tmp_path: Path, env: dict[str, str]) -> None:
    """Flags win over the environment, that over the file, that over defaults; each value knows its origin."""
    file = write(tmp_path, "vault: /v\nid_prefix: file\nwatch: {settle_ms: 1, scan_s: 1, reconcile_minutes: 1}\n")
    env |= {"MINDNET_WATCH__SETTLE_MS": "2", "MINDNET_WATCH__SCAN_S": "2"}
    config = load_config(file, env, {"watch.settle_ms": "3"})
    watch = config.watch
    assert (watch.settle_ms, watch.scan_s, watch.reconcile_minutes, watch.max_wait_ms) == (3, 2, 1, 2000)
    assert config.origin("watch.settle_ms") == "--set watch.settle_ms"
    assert config.origin("watch.scan_s") == "$MINDNET_WATCH__SCAN_S"
    assert config.origin("id_prefix") == f"{file}:2"


@pytest.mark.parametrize("variable", ["MINDNET_HASH_COMPARE", "MINDNET_HASH__COMPARE"])
def test_hash_variables_in_any_case(env: dict[str, str], variable: str) -> None:
    """The short names of the three hash settings are aliases, and their values may be in any case."""
    assert load_config(None, env | {variable: "Full"}, {"vault": "/v"}).hash.compare == "full"


def test_every_key_has_a_variable() -> None:
    """No key can be set only in the file."""
    assert set(VARIABLES.values()) == set(KEYS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vault: /v\nsettle_ms: 5\n", ":2: unknown key settle_ms; did you mean watch.settle_ms?"),
        ("vault: /v\nwatch:\n  setle_ms: 5\n", ":3: unknown key watch.setle_ms; did you mean watch.settle_ms?"),
        (
            "vault: /v\nwatch:\n  settle_ms: soon\n",
            ":3: watch.settle_ms expects a whole number from 0 to 60000, not 'soon'",
        ),
        ("vault: /v\nwatch:\n  settle_ms: '5'\n", ":3: watch.settle_ms expects a whole number"),
        ("vault: /v\nwatch: 5\n", ":2: unknown key watch"),
        (
            "vault: /v\nhash: {compare: bdy}\n",
            ":2: hash.compare expects one of body, frontmatter, full, not 'bdy'; did you",
        ),
        ("vault: /v\nignore: Templates\n", ":2: ignore expects a list of text"),
        (
            "vault: /v\nprivacy: {exclude_flags: [draft, secret]}\n",
            ":2: privacy.exclude_flags expects a list of draft, needs_review, private_journal, not 'secret'",
        ),
        ("vault: [a]\n", ":1: vault expects a path, not a list"),
        ("vault: /v\nvault: /w\n", ":2: vault stands here a second time"),
        ("vault: /v\nhash: {}\nhash: {compare: full}\nhash: {compare: body}\n", ":4: hash"),
        ("vault: /v\n x: [\n", ":2: not valid YAML"),
        ("vault: /v\nsocket: a\0\n", ":2: not valid YAML: unacceptable character"),
        ("- vault\n", ":1: expects `key: value` lines at the top"),
        ("vault: /v\ngraph: {rebuild: every day}\n", ":2: graph.rebuild expects `every <n>m|h|d [if changed]`"),
        ("vault: /v\nresources: {duckdb_memory_limit: lots}\n", ":2: resources.duckdb_memory_limit expects a size"),
        ("vault: /v\ndb: /v/x.duckdb\n", ":2: db /v/x.duckdb is inside the vault"),
        (f"vault: /v\nsocket: /{'s' * 120}\n", ":2: socket /sss"),
        ("id_prefix: x\n", ": no vault: give `vault:` there"),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, env: dict[str, str], text: str, expected: str) -> None:
    """Every kind of mistake is an error with file, line, key, and what was expected."""
    file = write(tmp_path, text)
    found = problems(file, env)
    assert any(line.startswith(f"{file}{expected}") for line in found), found


def test_every_problem_is_reported(tmp_path: Path, env: dict[str, str]) -> None:
    """Several mistakes are reported together, the message being the first and their number."""
    file = write(tmp_path, "vault: /v\na: 1\nwatch: {settle_ms: x}\n")
    with pytest.raises(ConfigError, match=r"unknown key a.*\(and 1 more") as caught:
        load_config(file, env)
    assert len(caught.value.detail["problems"]) == 2
    assert "\n" not in caught.value.message


def test_unknown_variable_and_flag(env: dict[str, str]) -> None:
    """A misspelt variable with a section, or a misspelt --set, is an error too; other programs' names are not."""
    env |= {"MINDNET_WATCH__SETLE_MS": "5", "MINDNET_SHARED": "/x"}
    with pytest.raises(ConfigError) as caught:
        load_config(None, env, {"vault": "/v", "watch.x": "1"})
    first, second = caught.value.detail["problems"]
    assert first == "$MINDNET_WATCH__SETLE_MS: unknown key watch.setle_ms; did you mean watch.settle_ms?"
    assert second.startswith("--set watch.x: unknown key watch.x")


def test_json_is_yaml(tmp_path: Path, env: dict[str, str]) -> None:
    """A JSON file works, indented with tabs as well."""
    text = json.dumps({"vault": "/v", "ignore": [], "llm": {"think": "off", "enabled": False}}, indent="\t")
    config = load_config(write(tmp_path, text, "notes.json"), env)
    assert (config.ignore, config.llm.think, config.llm.enabled) == ((), "off", "off")


def test_yaml_words_stay_words(tmp_path: Path, env: dict[str, str]) -> None:
    """What YAML 1.1 reads as a boolean or a number is taken as the key expects it."""
    text = "vault: /v\nid_prefix: 007\nmaintenance: {backup: off}\nllm: {enabled: yes}\nsocket: ~\nembedding:\n"
    config = load_config(write(tmp_path, text), env)
    assert (config.id_prefix, config.maintenance.backup, config.llm.enabled) == ("007", "off", "on")
    assert config.socket.name == "notes.sock"


def test_paths(tmp_path: Path, env: dict[str, str]) -> None:
    """``~`` is the home folder; a relative path starts at the file that says it."""
    config = load_config(write(tmp_path, "vault: ~/N\ndb: data/x.duckdb\nretrieval_file: r.yaml\n"), env)
    assert config.vault == tmp_path / "home/N"
    assert (config.db, config.retrieval_file) == (tmp_path / "data/x.duckdb", tmp_path / "r.yaml")


def test_relative_vault_is_absolute(env: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A relative vault on the command line starts at the working folder, and the name is that of its folder."""
    (tmp_path / "Wiki").mkdir()
    monkeypatch.chdir(tmp_path / "Wiki")
    config = load_config(None, env, {"vault": "."})
    assert (config.vault, config.name) == (tmp_path / "Wiki", "wiki")


def test_lists_outside_a_file(env: dict[str, str]) -> None:
    """A list is given as ``a,b`` or ``[a, b]`` in the environment; an empty pair of brackets empties it."""
    for text, want in (("A/**,B", ("A/**", "B")), ("[A, B]", ("A", "B")), ("[]", ())):
        assert load_config(None, env | {"MINDNET_IGNORE": text}, {"vault": "/v"}).ignore == want


def test_show_reads_back(tmp_path: Path, env: dict[str, str]) -> None:
    """What `config show` prints is a configuration with the same values."""
    config = load_config(None, env, {"vault": str(tmp_path / "a: b #c"), "llm.keep_alive": "-1"})
    again = load_config(write(tmp_path, show(config), f"{config.name}.yaml"), env)
    assert differences(config, again) == ()
    assert config.digest() == again.digest() != load_config(None, env, {"vault": "/v"}).digest()


# --- finding the file -------------------------------------------------------------------------------------------------


def find(env: dict[str, str], **given: str | None) -> Path | None:
    return find_config(env, file=given.get("file"), name=given.get("name"), vault=given.get("vault"))


def test_find_config(tmp_path: Path, env: dict[str, str]) -> None:
    """The file is that of --config, of --name, of the vault, or the only one; doubt is an error."""
    for name in ("One", "Two"):
        (tmp_path / name).mkdir()
    assert find(env) is None
    one = write_config(tmp_path / "One", env).file
    assert find(env) == find(env, name="one") == find(env, vault=str(tmp_path / "One")) == one
    assert find(env, vault=str(tmp_path / "Two")) is None
    two = write_config(tmp_path / "Two", env, "second").file
    assert find(env, vault=str(tmp_path / "Two")) == two
    with pytest.raises(ConfigError, match=r"several vaults are configured \(one, second\)"):
        find(env)
    with pytest.raises(ConfigError, match="no such configuration"):
        find(env, name="third")
    with pytest.raises(ConfigError, match="no such file"):
        find(env, file=str(tmp_path / "none.yaml"))


def test_name_of_another_vault(tmp_path: Path, env: dict[str, str]) -> None:
    """Two folders of one name do not silently share a configuration and a database."""
    for parent in ("a", "b"):
        (tmp_path / parent / "Notes").mkdir(parents=True)
    write_config(tmp_path / "a/Notes", env)
    with pytest.raises(ConfigError, match=r"is for the vault .*a/Notes"):
        find(env, vault=str(tmp_path / "b/Notes"))


def test_init_never_overwrites(tmp_path: Path, env: dict[str, str]) -> None:
    """The second init of a name is refused and changes nothing; a missing folder too."""
    vault = tmp_path / "Notes"
    with pytest.raises(BadRequest):
        write_config(vault, env)
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["templates/"]}')
    written = write_config(vault, env)
    before = written.file.read_text()
    assert written.excluded == ("templates/",)
    assert '["templates/"]' in before
    with pytest.raises(ConfigError, match="left as it is"):
        write_config(vault, env)
    assert written.file.read_text() == before
    assert sorted(p.name for p in vault.rglob("*")) == [".obsidian", "app.json"]


# --- small parts ------------------------------------------------------------------------------------------------------


def test_slug_and_places(env: dict[str, str]) -> None:
    """Names fit files and units; relative XDG values are ignored; a unit's state folder is believed."""
    assert [slug(s) for s in ("Straße Ü", "_a__b_", "笔记")] == ["strasse-u", "a-b", "vault"]
    assert places(env | {"XDG_STATE_HOME": "rel"}).state == Path(env["HOME"], ".local/state/mindnetd")
    assert places(env | {"STATE_DIRECTORY": "/s/mindnetd"}).state == Path("/s/mindnetd")
    assert places({"HOME": "/h"}).runtime.name == "mindnetd"


def test_nearest() -> None:
    """A key in the wrong place is found by its last part, a typo by its spelling, nonsense not at all."""
    assert nearest("watch.nice", KEYS) == "resources.nice"
    assert nearest("valt", KEYS) == "vault"
    assert nearest("zzzzqq", KEYS) is None


@given(st.text(max_size=30))
def test_numbers_never_crash(text: str) -> None:
    """Whatever stands where a number should, it is that number or a ValueError."""
    try:
        value = whole(-5, 5)(plain(text, "x", Path(), Path()))
    except ValueError:
        return
    assert -5 <= value <= 5


@given(st.binary(max_size=200))
def test_any_file_is_an_error_or_a_configuration(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    """Any bytes in the file give a configuration or a ConfigError, never another exception."""
    file = tmp_path_factory.getbasetemp() / "fuzz.yaml"
    file.write_bytes(raw)
    try:
        config = load_config(file, {"HOME": "/h"}, {"vault": "/v"})
    except ConfigError:
        return
    assert isinstance(config, Config)
    assert all(value_of(config, key) is not ... for key in KEYS)


def test_shipped_files_are_there() -> None:
    """The template, the unit and the demo vault travel with the program."""
    assert shared_file("config", "mindnetd.yaml").is_file()
    assert shared_file("deploy", "mindnetd@.service").is_file()
    assert shared_file("demo").is_dir()
    with pytest.raises(ConfigError, match="missing from this installation"):
        shared_file("deploy", "nothing")


# --- retrieval.yaml ---------------------------------------------------------------------------------------------------


def test_retrieval_file(tmp_path: Path) -> None:
    """Only what the file says is returned; a missing one is no error unless it was asked for."""
    text = "version: 1\nretrieval: {alpha: 0.5, fusion: RRF}\n"
    text += "time_decay: {lambda: 0.01}\nrelation_weights: {contradicts: -0.9}\n"
    got = load_retrieval(write(tmp_path, text, "retrieval.yaml"), required=False, home=tmp_path)
    assert got == {
        "version": 1,
        "retrieval.alpha": 0.5,
        "retrieval.fusion": "rrf",
        "time_decay.lambda": 0.01,
        "relation_weights": {"contradicts": -0.9},
    }
    assert load_retrieval(tmp_path / "none.yaml", required=False, home=tmp_path) == {}
    with pytest.raises(ConfigError, match="cannot be read"):
        load_retrieval(tmp_path / "none.yaml", required=True, home=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retrieval: {alpha: 0, beta: 0}\n", ":1: alpha and beta are both 0"),
        ("version: 2\n", ":1: version expects a whole number from 1 to 1"),
        ("retrieval: {alfa: 1}\n", ":1: unknown key retrieval.alfa; did you mean retrieval.alpha?"),
        ("relation_weights:\n  references: much\n", ":1: relation_weights references (line 2) expects a number"),
    ],
)
def test_retrieval_file_errors(tmp_path: Path, text: str, expected: str) -> None:
    """Mistakes are named with their line here too."""
    file = write(tmp_path, text, "retrieval.yaml")
    with pytest.raises(ConfigError) as caught:
        load_retrieval(file, required=True, home=tmp_path)
    assert str(caught.value).startswith(f"{file}{expected}")


def test_shipped_retrieval_file_is_the_defaults(tmp_path: Path) -> None:
    """The retrieval.yaml that ships says what the code does without it."""
    values = load_retrieval(shared_file("config", "retrieval.yaml"), required=True, home=tmp_path)
    assert retrieval_settings(values, RetrievalSettings().exclude_flags) == RetrievalSettings()
    assert retrieval_settings({"retrieval.alpha": 0.6}, ("x",)) == RetrievalSettings(alpha=0.6, exclude_flags=("x",))


# --- changing one value -----------------------------------------------------------------------------------------------

EDITS = {
    "missing": "# mine\nvault: /v  # here\n",
    "block": "vault: /v\nembedding:   # the model\n  threads: 2\nhash: {compare: full}\n",
    "there": "vault: /v\nembedding:\n  threads: 2\n  backend: onnx  # measured\n",
    "flow": "vault: /v\nembedding: {threads: 2}\n",
    "empty flow": "vault: /v\nembedding: {}\n",
    "empty": "vault: /v\nembedding:\nhash: {compare: full}\n",
    "null": "vault: /v\nembedding: null\nhash: {compare: full}\n",
    "last": "vault: /v\nembedding:",
    "json": '{"vault": "/v",\n\t"embedding": {"threads": 2}}\n',
    "json without": '{"vault": "/v"}\n',
}


@pytest.mark.parametrize("form", EDITS)
def test_one_value_is_changed(tmp_path: Path, env: dict[str, str], form: str) -> None:
    """Whatever the form of the file: the value is set, every other value and every comment stays."""
    file = write(tmp_path, EDITS[form])
    before = load_config(file, env)
    set_value(file, "embedding", "backend", "openvino")
    after = load_config(file, env)
    assert after.embedding.backend == "openvino"
    assert differences(before, after) == ("embedding.backend",)
    comments = re.findall(r"#.*", EDITS[form])
    assert re.findall(r"#.*", file.read_text()) == comments
    assert [p.name for p in tmp_path.iterdir()] == ["notes.yaml"]
    if "json" in form:
        json.loads(file.read_text())
