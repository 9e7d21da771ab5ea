#!/usr/bin/env python3
"""Frame times of the timeline while it is zoomed and moved by script. Not a test: times depend on the machine.

    python3 -m tests.page.measure_timeline [--events 500000] [--size 1280x800] [--page PAGE]

Prints the time between frames, of that what the page's own program needs to draw, and the CPU time of the page's thread
per frame. Only the last figure means something on a machine that is busy with other things.
"""
import argparse
import os
import sys
import tempfile

from tests.page import sample
from tests.page.browser import Browser

# One wheel event per frame: zooms in and out eight times at places that move, then moves left and right eight times.
PROGRAM = """
const done = arguments[0];
const canvas = document.querySelector('.timeline-upper');
const box = canvas.getBoundingClientRect();
const ask = window.requestAnimationFrame;
const between = [], drawing = [];
const count = 800;
let number = 0, last = null;
window.requestAnimationFrame = (action) => ask((time) => {
  const begin = performance.now();
  action(time);
  drawing.push(performance.now() - begin);
});
function frame(time) {
  if (last !== null) between.push(time - last);
  last = time;
  if (number++ === count) {
    window.requestAnimationFrame = ask;
    done({between, drawing});
    return;
  }
  const half = Math.floor(number / (count / 16)) % 2;
  const isZoom = number <= count / 2;
  canvas.dispatchEvent(new WheelEvent('wheel', {clientX: box.left + box.width * (0.5 + 0.4 * Math.sin(number / 37)), clientY: box.top + 80,
    bubbles: true, cancelable: true, deltaY: isZoom ? (half ? 60 : -60) : 0, deltaX: isZoom ? 0 : (half ? -60 : 60)}));
  ask(frame);
}
ask(frame);
"""


def summary(name, values):
    values = sorted(values)
    print(f"{name:28} median {values[len(values) // 2]:6.1f}  95 % below {values[int(len(values) * 0.95)]:6.1f}  worst {values[-1]:6.1f} ms")


def cpu_seconds(browser):
    """CPU time of the page's thread."""
    return {one["name"]: one["value"] for one in browser.cdp("Performance.getMetrics")["metrics"]}["TaskDuration"]


def measure(browser, title, begin, end, hash_=""):
    browser.js("location.hash = arguments[0]", f"#timeline&view={begin:.0f}-{end:.0f}{hash_}")
    browser.driver.execute_async_script("setTimeout(arguments[0], 1500)")
    before = cpu_seconds(browser)
    result = browser.driver.execute_async_script(PROGRAM)
    used = cpu_seconds(browser) - before
    summary(f"{title}: frames", result["between"])
    summary(f"{title}: drawing", result["drawing"])
    print(f"{title + ': CPU per frame':28} mean   {1000 * used / len(result['between']):6.1f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=500000)
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--page", help="measure this page instead of a synthetic one")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    with tempfile.TemporaryDirectory(prefix="gputally-timeline-") as folder, Browser(width, height) as browser:
        path = options.page or os.path.join(folder, "page.html")
        if not options.page:
            sample.make(path, "--events", str(options.events))
        browser.cdp("Performance.enable", timeDomain="threadTicks")
        browser.open(path, "#timeline")
        browser.js("document.documentElement.style.scrollBehavior = 'auto'; document.getElementById('timeline').scrollIntoView()")
        browser.driver.execute_async_script("setTimeout(arguments[0], 1500)")
        print(browser.text("#timeline-text"))
        length = length_of(browser)
        measure(browser, "whole trace", 0, length)
        measure(browser, "a fifth", length * 0.4, length * 0.6)
        measure(browser, "a thousandth", length * 0.5, length * 0.501)
        measure(browser, "search", 0, length, "&search=gemm")


def length_of(browser):
    """The length of the trace in ns, to three digits: all of it is shown at first."""
    units = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
    number, unit = browser.text(".timeline-shown").split()[:2]
    return float(number.replace(",", "")) * units[unit]


if __name__ == "__main__":
    sys.exit(main())
