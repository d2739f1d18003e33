"""``python tests/graph_shots.py FOLDER``: the pictures of docs/graph.md, and how long a pan's frames take."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import browser
from graph_samples import sample

from mindnetd.client.page import page

PAN = """new Promise(done => {
  const times = [], drawn = [], painter = mindnet.painter, was = painter.draw;
  painter.draw = function () {
    const at = performance.now();
    was.apply(this, arguments);
    drawn.push(performance.now() - at);
  };
  const canvas = document.querySelector("canvas");
  const at = step => ({pointerId: 1, clientX: 640 + 200 * Math.sin(step / 9), clientY: 60 + step, bubbles: true});
  canvas.setPointerCapture = () => {};
  canvas.dispatchEvent(new PointerEvent("pointerdown", at(0)));
  let step = 0, last = performance.now();
  const next = now => { times.push(now - last); last = now;
    const over = ++step > 90;
    canvas.dispatchEvent(new PointerEvent(over ? "pointerup" : "pointermove", at(step)));
    if (!over) return requestAnimationFrame(next);
    delete painter.draw;
    done({times: times.slice(2), drawn}); };
  requestAnimationFrame(next);
})"""
"""Moves the view for 90 frames: what each took from the one before, and how long the script drew it, in ms."""


def middle_and_slowest(values: Sequence[float]) -> str:
    """Median and 95th percentile."""
    ordered = sorted(values)
    return f"median {ordered[len(ordered) // 2]:.1f} ms, p95 {ordered[int(len(ordered) * 0.95)]:.1f} ms"


def main(folder: Path) -> None:
    """Write ``graph-30.webp``, ``graph-300.webp``, ``graph-2000.webp``."""
    with browser.page() as tab:
        for count, dark in ((30, False), (300, True), (2000, False)):
            file = folder.resolve() / f"graph-{count}.html"
            file.write_text("".join(page(sample(count))), encoding="utf-8")
            tab.look(1200, 750, dark=dark)
            tab.open(file)
            file.unlink()
            if count == 300:
                tab.js("mindnet.choose(3, {go: true})")
                tab.js("new Promise(done => setTimeout(done, 900))")
            shot = tab.screenshot(format="webp", quality=70)
            file.with_suffix(".webp").write_bytes(shot)
            pan = tab.js(PAN)
            frames, drawn = middle_and_slowest(pan["times"]), middle_and_slowest(pan["drawn"])
            print(f"{count} nodes: picture {len(shot)} bytes; a frame {frames}; of it drawing {drawn}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
