"""The page in a real browser: it shows what it must, and asks the network for nothing."""

import json
import shutil
import subprocess

import pytest

from ordinate.report import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install Debian's package chromium")

QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pings",
    # The browser's own errands, such as asking for updates, are to reach nobody.
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


def dump(page, folder):
    """The DOM after loading, and the addresses that its net log names as requested by a page.

    What the browser asks for of its own accord has "not an origin" for its initiator.
    """
    log = folder / "net.json"
    found = subprocess.run(
        [
            CHROMIUM,
            *QUIET,
            f"--user-data-dir={folder / 'profile'}",
            f"--log-net-log={log}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    events = json.loads(log.read_text())
    kinds = events["constants"]["logEventTypes"]
    starts = kinds["URL_REQUEST_START_JOB"]
    asked = [
        event["params"] for event in events["events"] if event["type"] == starts and "url" in event.get("params", {})
    ]
    return found.stdout, [one["url"] for one in asked if one["initiator"] != "not an origin"]


@pytest.fixture
def opened(result, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(render(result), encoding="utf-8")
    return dump(page, tmp_path)


def test_curves_and_tables_are_there_and_nothing_is_requested(opened):
    dom, requested = opened
    for name in ("loss", "difference", "context", "gap"):
        assert f'aria-labelledby="{name}-wide-title {name}-wide-summary"' in dom
    assert dom.count('<g class="original"><polyline class="fine"') == 2
    assert dom.count('<g class="extended"><polyline class="fine"') == 2
    assert "0 of 3 (0 to 56 %)" in dom
    assert "384 (contiguous)" in dom
    assert requested == []


def test_the_log_would_show_a_request(tmp_path):
    """The same browser and the same reading of its log, on a page that does ask for something."""
    page = tmp_path / "page.html"
    page.write_text('<!doctype html><title>x</title><img src="http://127.0.0.1:9/asked.png">')
    _, requested = dump(page, tmp_path)
    assert requested == ["http://127.0.0.1:9/asked.png"]
