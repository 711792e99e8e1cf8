"""A headless Chromium spoken to over its pipe: what a page asks for, says and looks like."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections import deque

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")

OPTIONS = [
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


def need_chromium():
    """Skip where there is no Chromium; in continuous integration, where there must be one, fail."""
    if PROGRAM is None and os.environ.get("CI"):
        pytest.fail("continuous integration needs Chromium: `make system` installs Debian's package")
    if PROGRAM is None:
        pytest.skip("no Chromium here: install Debian's package chromium")


class Browser:
    """A browser with one page; messages end with a zero byte, as --remote-debugging-pipe has them."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # The pipes must be the descriptors 3 and 4 of the browser, whatever they are here.
        command = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        options = [*OPTIONS, "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", command, PROGRAM, *options], pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.out, self.read = os.fdopen(ours_out, "wb", buffering=0), os.fdopen(ours_in, "rb", buffering=0)
        self.left, self.events, self.number, self.session = b"", deque(), 0, None
        page = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        """Send a command and wait for its answer; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        self.out.write(json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self.number:
                assert "error" not in found, found
                return found["result"]
            self.events.append(found)

    def _message(self):
        while b"\0" not in self.left:
            more = self.read.read(1 << 20)
            assert more, "the browser ended"
            self.left += more
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def wait(self, method):
        """Wait for an event and return it; the others are kept."""
        for event in list(self.events):
            if event.get("method") == method:
                self.events.remove(event)
                return event["params"]
        while True:
            event = self._message()
            if event.get("method") == method:
                return event["params"]
            self.events.append(event)

    def open(self, address, *, width=1440, dark=False):
        """Load a page in a window of this width; return what it asked the network for, and what it complained of."""
        self.ask("Page.navigate", url="about:blank")
        self.wait("Page.loadEventFired")
        self.events.clear()
        self.ask("Emulation.setScrollbarsHidden", hidden=True)
        self.show(width, dark=dark)
        self.ask("Page.navigate", url=address)
        self.wait("Page.loadEventFired")
        self.settle()
        return self.asked(address), self.said()

    def show(self, width, *, dark):
        """Show the page in a window of this width, to a reader who prefers dark pages or light ones."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[theme])

    def settle(self):
        """Wait until what was changed is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def asked(self, address):
        """Addresses that were asked for, but for the page itself."""
        found = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [url for url in found if url.partition("#")[0] != address]

    def said(self):
        """What the console and the log have."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event["params"] for event in self.events if event.get("method") in kinds]

    def run(self, program):
        """The value of a program that runs in the page, whatever its content security policy is."""
        found = self.ask("Runtime.evaluate", expression=program, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def picture(self, file):
        """The whole page as a PNG."""
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))

    def press(self, key, code):
        """Press a key and let it go."""
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code)

    def close(self):
        """End the browser."""
        self.session = None
        self.ask("Browser.close")
        self.process.wait(timeout=30)
        self.out.close()
        self.read.close()
        self.folder.cleanup()
