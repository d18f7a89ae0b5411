# SPDX-License-Identifier: MIT
"""Drives Debian's Chromium without a screen by the DevTools protocol over two pipes. Needs no driver and no package."""
import base64
import importlib.util
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DEADLINE = 60  # seconds for any answer
WINDOWS = [(1440, "light"), (390, "light"), (1440, "dark"), (390, "dark")]  # sizes and colours that tests look at
AXE_WINDOWS = WINDOWS[::3]  # each width and each colour once, because axe-core takes seconds
KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35, "Tab": 9, "Enter": 13,
        " ": 32}
# Stops the browser's own requests, because a test counts what pages request.
QUIET = ("--headless=new", "--no-sandbox", "--no-first-run", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--force-color-profile=srgb", "--disable-extensions", "--mute-audio", "--remote-debugging-pipe")


def axe_source():
    package = importlib.util.find_spec("axe_core_python")
    return Path(package.origin).with_name("axe.min.js").read_text() if package else None


AXE = axe_source()  # axe-core, which finds barriers for people with disabilities; None: not installed


class Page:
    """A page, with its messages and requests since it was opened."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.problems, self.requests = [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def take(self, method, told):
        if method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(argument.get("value")) for argument in told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])

    def show(self, url, width, height=900, colours="light"):
        """Opens `url` in a window of that size. With reduced motion pictures show the final state."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """Returns the value of an expression; awaits a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, script, seconds=DEADLINE):
        """Waits until the expression is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(f"Boolean({script})")):
            if time.monotonic() > end:
                raise AssertionError(f"never: {script}; the page said {self.problems}")
            self.browser.listen(0.02)

    def serious_faults(self):
        """Returns axe-core's findings that are serious or worse, a line each. @pre AXE"""
        self.run(f"{AXE}; 0")
        found = self.run("axe.run().then(({violations}) => violations.map(({id, impact, nodes}) => "
                         "`${impact} ${id}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(' | ')}`))")
        return [one for one in found if one.startswith(("serious", "critical"))]

    def place(self, selector):
        """Returns the middle of an element, scrolled into view."""
        return self.run(f"""(() => {{ const element = document.querySelector({json.dumps(selector)});
            element.scrollIntoView({{block: "center"}}); const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")

    def click(self, selector):
        x, y = self.place(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def point(self, selector, along=0.5):
        """Moves the pointer over an element, `along` its width."""
        x, y = self.place(selector)
        width = self.run(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().width")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x + (along - 0.5) * width, y=y)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code="Space" if key == " " else key,
                      windowsVirtualKeyCode=KEYS[key], text={" ": " ", "Enter": "\r"}.get(key) if kind == "keyDown" else None)

    def picture(self, path, whole=False):
        """Returns a PNG of the window, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole,
                           **({"clip": self.whole()} if whole else {}))
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def whole(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}


class Browser:
    """Starts a browser: with Browser() as browser: page = browser.page()"""

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="gangway-browser-")
        to_read, self.to_write = os.pipe()
        self.to_read, to_write = os.pipe()
        # The browser reads and writes descriptors 3 and 4. Copies them above first, because either end may be one of these.
        high = [os.dup2(end, 200 + i) for i, end in enumerate((to_read, to_write))]
        script = f'exec 3<&{high[0]} 4>&{high[1]} {high[0]}<&- {high[1]}>&-; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, "bash", CHROMIUM, *QUIET, f"--user-data-dir={self.home}",
                                         "about:blank"], pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        for end in (to_read, to_write, *high):
            os.close(end)
        self.waiting, self.answers, self.last, self.pages = b"", {}, 0, {}
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(timeout=10)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_read)
        os.close(self.to_write)
        shutil.rmtree(self.home, ignore_errors=True)

    def page(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = Page(self, session)
        return self.pages[session]

    def call(self, method, session=None, **parameters):
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": {key: value for key, value in parameters.items() if value is not None}}
        if session:
            message["sessionId"] = session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + DEADLINE
        while number not in self.answers:
            if time.monotonic() > end or not self.listen(1):
                raise AssertionError(f"{method}: the browser does not answer")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def listen(self, seconds):
        """Reads for at most so long. Returns whether the browser still runs."""
        if not select.select([self.to_read], [], [], seconds)[0]:
            return self.process.poll() is None
        come = os.read(self.to_read, 1 << 20)
        *messages, self.waiting = (self.waiting + come).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif page := self.pages.get(message.get("sessionId")):
                page.take(message["method"], message["params"])
        return bool(come)
