"""A real browser for tests of the page: Chromium without a window, controlled through chromedriver.

    with Browser(1280, 800) as browser:
        browser.open("report.html", "#kernels&kernels.sort=-count")
        assert browser.js("return document.title") == "train.json.gz"

A console error, a violation of the page's Content-Security-Policy or a request to anything but file:, blob: and data:
fails the test when the `with` block ends, whatever else the test checks.

Needs Debian's chromium, chromium-driver and python3-selenium (group page of scripts/packages.txt). Without them
require_browser raises Skipped; with GPUTALLY_REQUIRE_BROWSER set, as in CI, it raises an error instead.
"""
import atexit
import base64
import contextlib
import glob
import json
import os
import pathlib
import shutil
import tempfile
import time

from tests.common.harness import SYSTEM_PATH, Skipped

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:  # require_browser says so
    webdriver = Keys = None

REQUIRED = bool(os.environ.get("GPUTALLY_REQUIRE_BROWSER"))
DEPS = os.environ.get("GPUTALLY_DEPS", "")  # packages that were unpacked without root (scripts/with-deps)
WAIT_SECONDS = 120  # only ends a test that waits forever
ALLOWED = ("file:", "blob:", "data:", "about:", "chrome:", "devtools:")
ARGUMENTS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-extensions", "--hide-scrollbars",
             "--force-color-profile=srgb", "--lang=en-US",
             # One process for all pages, and none kept ready for the next: starting them takes as long as loading a page.
             "--renderer-process-limit=1", "--disable-site-isolation-trials",
             "--disable-features=SpareRendererForSitePerProcess,Translate,OptimizationHints,MediaRouter"]

# Runs before the page's own program: what the console does not say.
WATCH = """
window.watched = [];
addEventListener('securitypolicyviolation', (event) => watched.push(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
addEventListener('error', (event) => watched.push(`error: ${event.message}`));
addEventListener('unhandledrejection', (event) => watched.push(`rejected: ${event.reason}`));
for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => watched.push(`${name}() was called`);
"""


def find_programs():
    """Paths of Chromium and chromedriver, or None. Chromium unpacked without root is started without its script, which
    knows only the system's folders."""
    unpacked = os.path.join(DEPS, "usr/lib/chromium/chromium") if DEPS else ""
    chromium = unpacked if os.path.exists(unpacked) else shutil.which("chromium", path=SYSTEM_PATH)
    return chromium, shutil.which("chromedriver", path=SYSTEM_PATH)


def library_path():
    """For Chromium unpacked without root: some of its libraries look for others in folders of the system (pulseaudio/)."""
    libraries = glob.glob(f"{glob.escape(DEPS)}/usr/lib/*/lib*.so*") + glob.glob(f"{glob.escape(DEPS)}/usr/lib/*/*/lib*.so*")
    return ":".join(sorted({os.path.dirname(path) for path in libraries}, key=lambda path: (path.count("/"), path)))


def require_browser():
    missing = [name for name, found in zip(("chromium", "chromedriver", "selenium for Python"), (*find_programs(), webdriver)) if not found]
    if missing and REQUIRED:
        raise RuntimeError(f"missing: {', '.join(missing)}; scripts/install-packages page installs them")
    if missing:
        raise Skipped(f"needs {', '.join(missing)} (scripts/install-packages page)")


IDLE = []  # (driver, folder) of browsers whose test has ended


def quit_browser(driver, folder):
    if driver:
        with contextlib.suppress(WebDriverException):
            driver.quit()
    if folder:
        shutil.rmtree(folder, ignore_errors=True)


@atexit.register
def quit_idle():
    while IDLE:
        quit_browser(*IDLE.pop())


class Browser:
    def __init__(self, width=1280, height=800, dark=False):
        self.size, self.dark = (width, height), dark

    # ---- start and end ----

    def __enter__(self):
        require_browser()
        self.driver, self.folder, self.found = None, None, []
        try:
            self.take_idle() if IDLE else self.start()
            self.prepare()
        except BaseException:
            self.stop()
            raise
        return self

    def start(self):
        self.folder = tempfile.mkdtemp(prefix="gputally-browser-")
        chromium, chromedriver = find_programs()
        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        for argument in [*ARGUMENTS, f"--user-data-dir={self.folder}/profile", "--window-size=1280,800"]:
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        environment = {**os.environ, "LD_LIBRARY_PATH": library_path()} if DEPS else None
        service = Service(executable_path=chromedriver, log_path=f"{self.folder}/log", env=environment)
        self.driver = webdriver.Chrome(service=service, options=options)
        self.driver.set_script_timeout(WAIT_SECONDS)

    def take_idle(self):
        """Continues with the browser of an earlier test, in a new tab: starting one takes longer than most tests."""
        self.driver, self.folder = IDLE.pop()
        old = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        new = self.driver.current_window_handle
        self.driver.switch_to.window(old)
        self.driver.close()
        self.driver.switch_to.window(new)
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)

    def prepare(self):
        self.downloads = tempfile.mkdtemp(prefix="downloads-", dir=self.folder)
        self.set_size(*self.size)
        self.set_dark(self.dark)
        self.cdp("Page.bringToFront")
        self.cdp("Emulation.setFocusEmulationEnabled", enabled=True)
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.downloads)
        self.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])

    def stop(self):
        quit_browser(self.driver, self.folder)

    def __exit__(self, kind, *_):
        problems = None
        try:
            problems = [] if kind else self.problems()
        finally:
            if kind or problems is None:
                self.stop()
            else:
                IDLE.append((self.driver, self.folder))
        if problems:
            raise AssertionError("; ".join(problems))

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def set_size(self, width, height):
        self.size = (width, height)
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def set_dark(self, dark):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    # ---- the page ----

    def open(self, path, hash_=""):
        """Loads a page from its beginning and waits until it is ready."""
        self.collect()
        self.driver.get("about:blank")  # else a change of the hash alone would not load anything
        self.driver.get(pathlib.Path(path).resolve().as_uri() + hash_)
        self.wait("document.documentElement.dataset.ready", "the page to be ready")
        self.settle()

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def wait(self, condition, what=None):
        """Until a JavaScript expression is true. Ends early if the page reports an error."""
        end = time.monotonic() + WAIT_SECONDS
        while not self.js(f"return Boolean({condition})"):
            if self.problems():
                raise AssertionError("; ".join(self.problems()))
            if time.monotonic() > end:
                raise AssertionError(f"waited too long for {what or condition}")
            time.sleep(0.02)

    def settle(self):
        """Until everything that was asked for has been drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));")

    def hash(self):
        return self.js("return decodeURIComponent(location.hash)")

    def text(self, css):
        """The visible text of the first element."""
        return self.js("return document.querySelector(arguments[0]).innerText", css)

    def texts(self, css):
        return self.js("return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText)", css)

    def count(self, css):
        return self.js("return document.querySelectorAll(arguments[0]).length", css)

    def box(self, css):
        """[left, top, width, height] in the window, after scrolling the element into it."""
        self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'nearest', behavior: 'instant'})", css)
        self.settle()
        return self.js("const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top, b.width, b.height]", css)

    # ---- what a user does ----

    def click(self, css, x=0.5, y=0.5, **options):
        """At a place of the element, in shares of its size."""
        left, top, width, height = self.box(css)
        self.mouse("mouseMoved", left + x * width, top + y * height)
        self.mouse("mousePressed", left + x * width, top + y * height, button="left", clickCount=1, **options)
        self.mouse("mouseReleased", left + x * width, top + y * height, button="left", clickCount=1, **options)
        self.settle()

    def hover(self, css, x=0.5, y=0.5):
        left, top, width, height = self.box(css)
        self.mouse("mouseMoved", left + x * width, top + y * height)
        self.settle()

    def mouse(self, kind, x, y, **options):
        self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def drag(self, css, begin, end, steps=8, **options):
        """From one place of an element to another: (x, y) in shares of its size. modifiers: 1 Alt, 2 Ctrl, 8 Shift."""
        left, top, width, height = self.box(css)
        places = [(left + width * (begin[0] + (end[0] - begin[0]) * i / steps), top + height * (begin[1] + (end[1] - begin[1]) * i / steps))
                  for i in range(steps + 1)]
        self.mouse("mouseMoved", *places[0], **options)
        self.mouse("mousePressed", *places[0], button="left", buttons=1, clickCount=1, **options)
        for place in places[1:]:
            self.mouse("mouseMoved", *place, button="left", buttons=1, **options)
        self.mouse("mouseReleased", *places[-1], button="left", clickCount=1, **options)
        self.settle()

    def wheel(self, css, delta, x=0.5, y=0.5, delta_x=0, **options):
        left, top, width, height = self.box(css)
        self.mouse("mouseWheel", left + x * width, top + y * height, deltaX=delta_x, deltaY=delta, **options)
        self.settle()

    def keys(self, *keys, css=None):
        """Types into the focused element, or first gives the focus to one. Names of special keys: Keys.ENTER."""
        if css:
            self.js("document.querySelector(arguments[0]).focus()", css)
        ActionChains(self.driver).send_keys(*keys).perform()
        self.settle()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()
        self.settle()

    def fill(self, css, text):
        """Replaces the text of an input field, as if typed."""
        self.js("const field = document.querySelector(arguments[0]); field.focus(); field.select();", css)
        field = self.driver.find_element(By.CSS_SELECTOR, css)
        field.send_keys(Keys.BACKSPACE)
        if text:
            field.send_keys(text)
        self.settle()

    def clipboard(self):
        return self.driver.execute_async_script("const done = arguments[0]; navigator.clipboard.readText().then(done, (e) => done(`no clipboard: ${e}`));")

    def downloaded(self):
        """The path of the only file that was saved; waits for it."""
        end = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < end:
            files = [path for path in glob.glob(f"{glob.escape(self.downloads)}/*") if not path.endswith((".crdownload", ".tmp"))]
            if files:
                assert len(files) == 1, files
                return files[0]
            time.sleep(0.05)
        raise AssertionError("nothing was saved")

    # ---- what a test looks at ----

    def screenshot(self, path, full=False):
        """The window, or with full all of the page."""
        options = {}
        if full:
            self.js("scrollTo({top: 0, behavior: 'instant'})")
            self.settle()
            size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 16000), "scale": 1}}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.cdp("Page.captureScreenshot", format="png", **options)["data"]))

    def collect(self):
        """Keeps the problems of the page that is open."""
        for entry in self.driver.get_log("browser"):
            if entry["level"] == "SEVERE":
                self.found.append(f"console: {entry['message']}")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url, document = message["params"]["request"]["url"], message["params"].get("documentURL", "")
                if not url.startswith((*ALLOWED, "chrome")) and not document.startswith("chrome"):  # a new tab, before it is blank
                    self.found.append(f"request: {url}")
        watched = self.js("return (window.watched || []).splice(0)")
        self.found += [one for one in watched if one not in self.found]

    def problems(self):
        self.collect()
        return self.found
