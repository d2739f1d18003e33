"""The graph page in a real headless browser: drawn, searched, dragged, silent, and without a single request."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest
from browser import Page
from graph_samples import ODD, sample
from graph_shots import PAN, middle_and_slowest

from mindnetd.client.graph import Graph, label
from mindnetd.client.page import page as make_page

pytestmark = pytest.mark.skipif(browser.find() is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser.page() as page:
        yield page


@pytest.fixture
def show(tab: Page, tmp_path: Path):
    """Open the page of a graph and wait until it lies still."""

    def open_page(graph: Graph, *, dark: bool = False, width: int = 1280) -> Page:
        file = tmp_path / "graph.html"
        file.write_text("".join(make_page(graph)), encoding="utf-8")
        tab.look(width, 800, dark=dark)
        tab.open(file)
        return tab

    yield open_page
    assert tab.complaints() == [] and tab.requests() == []


def pixels(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, channels and rows of a PNG as a browser writes it (8 bit, not interlaced)."""
    width, _, _, kind = struct.unpack(">IIBB", png[16:26])
    channels = {2: 3, 6: 4}[kind]
    data, at = b"", 8
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at : at + 8])
        data += png[at + 8 : at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    raw, stride = zlib.decompress(data), width * channels + 1
    rows, last = [], bytes(stride - 1)
    for start in range(0, len(raw), stride):
        last = _unfilter(raw[start], bytearray(raw[start + 1 : start + stride]), last, channels)
        rows.append(last)
    return width, channels, rows


def _unfilter(kind: int, row: bytearray, above: bytes, step: int) -> bytes:
    for i in range(len(row)):
        left, up = row[i - step] if i >= step else 0, above[i]
        if kind == 1:
            row[i] = (row[i] + left) & 255
        elif kind == 2:
            row[i] = (row[i] + up) & 255
        elif kind == 3:
            row[i] = (row[i] + (left + up) // 2) & 255
        elif kind == 4:
            corner = above[i - step] if i >= step else 0
            guess = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
            row[i] = (row[i] + guess) & 255
    return bytes(row)


def color_at(tab: Page, x: float, y: float) -> tuple[int, ...]:
    """The colour of one pixel of the window."""
    clip = {"x": round(x), "y": round(y), "width": 1, "height": 1, "scale": 1}
    _, channels, rows = pixels(tab.screenshot(clip=clip))
    return tuple(rows[0][:channels][:3])


def place(tab: Page, node: int) -> tuple[float, float]:
    """Where a node is in the window."""
    x, y = tab.js(f"[mindnet.painter.sx({node}), mindnet.painter.sy({node})]")
    return x, y


def hexed(color: tuple[int, ...]) -> str:
    return "#" + "".join(f"{part:02x}" for part in color)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("count", [1, 2, 30, 300, 2000])
def test_every_size_is_drawn(show, count: int, dark: bool) -> None:
    """The theme follows the user's; every node lies in the window, and where a node is there is its colour."""
    tab = show(sample(count), dark=dark)
    assert tab.js("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    ground = color_at(tab, 640, 4)
    assert hexed(ground) == ("#14161c" if dark else "#faf9f6")
    spots = tab.js(f"Array.from({{length: {count}}}, (_, i) => [mindnet.painter.sx(i), mindnet.painter.sy(i)])")
    assert all(0 < x < 1280 and 0 < y < 800 for x, y in spots)
    wanted = tab.js("mindnet.painter.color(mindnet.graph.nodes[0])")
    assert hexed(color_at(tab, *place(tab, 0))) == wanted
    full = tab.js("mindnet.graph.nodes.flatMap((node, i) => node.kind === 'unresolved' ? [] : [i])")
    drawn = [color_at(tab, *spots[i]) != ground for i in full[:: max(len(full) // 20, 1)]]
    assert sum(drawn) >= 0.85 * len(drawn), "but for a few that lie behind a label"


def test_the_first_layout_is_always_the_same(show) -> None:
    """Opened twice, and in another window, every node lies where it lay."""
    where = "JSON.stringify([...mindnet.layout.x, ...mindnet.layout.y])"
    first = show(sample(120)).js(where)
    assert show(sample(120)).js(where) == first and show(sample(120), width=700).js(where) == first
    assert len(set(json.loads(first))) == 240 and all(abs(value) < 1e5 for value in json.loads(first))


def test_labels_do_not_overlap(show) -> None:
    """At any zoom two labels have no pixel in common, and the asked note has its own."""
    tab = show(sample(300))
    spy = """(() => { const pen = mindnet.painter.pen, seen = [], was = pen.fillText;
      pen.fillText = function (text, x, y) { const m = this.measureText(text);
        seen.push([text, x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent, x + m.actualBoundingBoxRight,
                   y + m.actualBoundingBoxDescent]); return was.apply(this, arguments); };
      mindnet.painter.draw(mindnet.state, "light"); delete pen.fillText; return seen; })()"""
    for zoom in ("0", "-", "-", "-", "+", "+", "+", "+", "+", "+", "+", "+"):
        tab.key(zoom)
        tab.until("!document.querySelector('canvas.moving')")
        boxes = tab.js(spy)
        for number, (_, left, top, right, bottom) in enumerate(boxes):
            for _, l2, t2, r2, b2 in boxes[:number]:
                assert left >= r2 or right <= l2 or top >= b2 or bottom <= t2
        assert len(boxes) > 10 or zoom == "-"
    assert label(sample(300).nodes["n0"]) in {box[0] for box in tab.js(spy)} or boxes


def test_search_finds_and_flies(show) -> None:
    """``/`` asks, what is typed is found whatever its case and accents, Enter goes there and opens the note."""
    graph = sample(300)
    tab = show(graph)
    tab.key("/")
    assert tab.js("document.activeElement.id") == "search"
    tab.type("VALVÉ")
    found = tab.js("[...document.querySelectorAll('#hits li')].map(one => one.firstChild.textContent)")
    assert found and all("Valve" in name for name in found)
    named = [node for node in graph.nodes.values() if "valve" in f"{node['label']} {node['path']}".lower()]
    assert tab.js("mindnet.state.found.size") == len(named)
    tab.key("ArrowDown")
    tab.key("Enter")
    assert tab.js("document.querySelector('#panel h2').textContent") == found[1]
    free = "640 - document.querySelector('#panel').offsetWidth / 2"
    tab.until(f"Math.abs(mindnet.painter.sx(mindnet.state.chosen) - ({free})) < 2")
    tab.key("Escape")
    assert tab.js("document.querySelector('#panel').hidden && mindnet.state.chosen === null")


def test_a_chosen_note_shows_its_links_in_their_words(show) -> None:
    """A click on the node opens the panel: its links with relation, line and evidence; a click on one goes there."""
    graph = sample(30)
    tab = show(graph)
    x, y = place(tab, 0)
    tab.mouse("mouseMoved", x, y)
    assert graph.nodes["n0"]["label"] in tab.js("document.querySelector('#tip').textContent")
    tab.click(x, y)
    mine = [edge for edge in graph.edges if "n0" in (edge["src"], edge["dst"])]
    text = tab.js("document.querySelector('#panel').textContent")
    assert tab.js("document.querySelectorAll('#panel .edge').length") == len(mine)
    assert all(edge["evidence"] in text and f"line {edge['line']}" in text for edge in mine)
    tab.js("document.querySelector('#panel .edge').click()")
    assert tab.js("mindnet.state.chosen") != 0


def test_dragging_moves_a_node_or_the_view(show) -> None:
    """A node follows the pointer; the ground moves everything; the wheel goes closer where the pointer is."""
    tab = show(sample(30))
    x, y = place(tab, 0)
    tab.drag((x, y), (x + 90, y + 40))
    assert abs(place(tab, 0)[0] - x) > 30 and tab.js("mindnet.state.chosen") is None
    tab.until("mindnet.layout.settled")
    before = place(tab, 5)
    tab.drag((700, 30), (760, 50))
    after = place(tab, 5)
    assert (round(after[0] - before[0]), round(after[1] - before[1])) == (60, 20)
    px, py = after
    tab.mouse("mouseWheel", px, py, deltaX=0, deltaY=-240)
    tab.until("mindnet.painter.zoom === mindnet.state.zoom")
    assert place(tab, 5) == pytest.approx(after, abs=1.5) and tab.js("mindnet.state.zoom") > 1


def test_two_fingers_go_closer(show) -> None:
    """A pinch zooms around its middle; what lay there stays there."""
    tab = show(sample(30))
    tab.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    x, y = place(tab, 0)
    before = tab.js("mindnet.state.zoom")

    def touch(kind: str, half: float) -> None:
        points = [] if kind == "touchEnd" else [{"x": x + side * half, "y": y, "id": side} for side in (-1, 1)]
        tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

    touch("touchStart", 40)
    for half in (50, 60, 70, 80):
        touch("touchMove", half)
    touch("touchEnd", 0)
    tab.call("Emulation.setTouchEmulationEnabled", enabled=False)
    tab.until("mindnet.painter.zoom === mindnet.state.zoom")
    assert tab.js("mindnet.state.zoom") == pytest.approx(2 * before, rel=0.1)
    assert place(tab, 0) == pytest.approx((x, y), abs=3)


def test_the_legend_filters(show) -> None:
    """A type that is clicked away is neither drawn, nor found, nor in the panel; clicked again it is back."""
    tab = show(sample(300))
    button = "[...document.querySelectorAll('#legend button')].find(b => b.textContent.startsWith('concept'))"
    many = tab.js("mindnet.graph.nodes.filter(n => n.type === 'concept').length")
    assert tab.js(f"{button}.textContent") == f"concept{many}"
    tab.js(f"{button}.click()")
    assert tab.js("mindnet.graph.nodes.filter((n, i) => i && n.type === 'concept' && !n.hidden).length") == 0
    assert tab.js(f"{button}.getAttribute('aria-pressed')") == "false"
    tab.js(f"{button}.click()")
    assert tab.js("mindnet.graph.nodes.filter(n => n.hidden).length") == 0
    tab.js("[...document.querySelectorAll('#legend button')].find(b => b.textContent.startsWith('references')).click()")
    assert tab.js("mindnet.graph.edges.every(e => e.hidden === (e.relation === 'references'))")


def test_a_vault_without_types_has_the_colours_of_its_folders(show) -> None:
    """No note has a type: the legend lists the folders."""
    graph = sample(60)
    tab = show(graph._replace(nodes={key: {**node, "type": None} for key, node in graph.nodes.items()}))
    names = tab.js("[...document.querySelectorAll('#legend div:first-child span')].map(one => one.textContent)")
    assert {"10_areas/", "20_topics/", "30_projects/"} <= set(names) and "note" not in names
    assert tab.js("new Set(mindnet.graph.nodes.map(node => mindnet.painter.color(node))).size") >= 4


def test_the_theme_can_be_changed(show) -> None:
    """By its button and by T; what the user's system says is the beginning."""
    tab = show(sample(30))
    tab.js("document.querySelector('#theme').click()")
    assert tab.js("document.documentElement.dataset.theme") == "dark"
    tab.until("mindnet.painter.theme.ground === '#14161c'")
    tab.key("t")
    assert tab.js("document.documentElement.dataset.theme") == "light"


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrasts_are_those_of_wcag() -> None:
    """Text 4.5 to 1 on its ground, what is drawn 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11), in both themes."""
    source = (Path(make_page.__code__.co_filename).parent / "assets" / "draw.js").read_text("utf-8")
    for theme in ("light", "dark"):
        block = source.split(f"  {theme}: {{")[1].split("\n  },")[0]
        named = dict(re.findall(r'(\w+): "(#[0-9a-f]{6})"', block))
        ground = named["ground"]
        for name in ("ink", "soft", "against", "mark"):
            assert _contrast(named[name], ground) >= 4.5, (theme, name)
        for color in re.findall(r"#[0-9a-f]{6}", block.split("fixed:")[1]):
            assert _contrast(color, ground) >= 3, (theme, color)


def test_no_title_is_more_than_text(show) -> None:
    """Titles of markup, quotes, scripts of any direction: shown as they are, nothing runs, nothing breaks."""
    graph = sample(40, odd=True)
    tab = show(graph)
    shown = tab.js("mindnet.graph.nodes.map(node => node.label)")
    assert len(shown) == 40 and {" ".join(name.split()) for name in ODD if name.strip()} <= set(shown)
    for node in range(1, len(ODD) + 1):
        tab.js(f"mindnet.choose({node})")
    tab.key("/")
    tab.type("<script>")
    assert tab.js("document.querySelectorAll('#panel script, #hits script, #panel b b').length") == 0
    assert tab.js("document.scripts.length") == 2


def test_nothing_can_be_fetched(tab: Page, tmp_path: Path) -> None:
    """The page's policy stops whatever would ask for something, whoever put it in."""
    file = tmp_path / "graph.html"
    file.write_text("".join(make_page(sample(2))), encoding="utf-8")
    tab.look()
    tab.open(file)
    tab.js("document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.1:9/x.png'}))")
    asked = "fetch('http://127.0.0.1:9/x').then(() => 'sent', error => error.name)"
    assert tab.js(asked) == "TypeError"
    assert any("Content Security Policy" in said for said in tab.complaints())


def test_panning_draws_each_frame(show, record_property) -> None:
    """A scripted pan over 2,000 nodes: every move is drawn. The times are reported, not judged."""
    tab = show(sample(2000))
    result = tab.js(PAN)
    assert len(result["drawn"]) >= 85
    for name in ("drawn", "times"):
        record_property(name, middle_and_slowest(result[name]))


def test_the_page_needs_nothing_else() -> None:
    """One file of ASCII without an address in it, whatever the graph."""
    nodes = {key: {**node, "label": f"Ü {node['label']} 🎉"} for key, node in sample(30).nodes.items()}
    text = "".join(make_page(sample(30)._replace(nodes=nodes)))
    assert "<title>&#220; " in text
    assert not re.search(r"(?:src|href)\s*=|https?://(?!www\.w3\.org/|example\.org/)|@import|url\(", text)
    assert text.isascii(), "written to a terminal of any encoding it is the same, and its hashes hold"
    assert "{{SCRIPT" not in text and "{{DATA" not in text
