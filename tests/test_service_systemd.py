"""The installed unit under a real user manager; skips where the machine cannot run one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import REPO

CANNOT = 77


@pytest.mark.timeout(300)
def test_life_of_the_unit(shared: Path, model_cache: Path, tmp_path: Path) -> None:
    """Install two vaults, READY, STATUS, reload, watchdog, stop, uninstall: all by the real systemd."""
    tool = shared / "tools/user-systemd.sh"
    if not tool.is_file() or shutil.which("systemctl") is None:
        pytest.skip("no user-systemd.sh or no systemd on this machine")
    home = tmp_path / "home"
    home.mkdir()
    path = "/usr/bin:/bin:/usr/sbin:/sbin"
    done = subprocess.run(
        [str(tool), sys.executable, str(REPO / "tests/systemd_scenario.py"), str(home)],
        env={"PATH": path, "MN_HOME": str(home), "MN_ENV": f"MINDNET_MODEL_CACHE={model_cache}"},
        cwd=REPO, capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    if done.returncode == CANNOT:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    steps = dict(re.findall(r"^ok (\S+) ([\d.]+)$", done.stdout, re.M))
    assert {"install-one", "indexed-two", "sandbox", "reload", "reload-broken", "watchdog", "stop"} <= set(steps)
    assert float(steps["stop"]) < 10
    assert done.stdout.endswith("done\n")
