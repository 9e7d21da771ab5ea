#!/usr/bin/env python3
"""Pictures of a page, to look at: windows of 1280 × 800 and 3840 × 2160, and the whole page 1280 wide, light and dark.

    python3 tests/page/screenshots.py PAGE OUTDIR [HASH]
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from tests.page.browser import Browser  # noqa: E402

SIZES = (("1280x800", 1280, 800, False), ("1280-whole", 1280, 800, True), ("3840x2160", 3840, 2160, False))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__.strip())
    page, folder, hash_ = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) == 4 else ""
    os.makedirs(folder, exist_ok=True)
    with Browser() as browser:
        for theme in ("light", "dark"):
            browser.set_dark(theme == "dark")
            for name, width, height, full in SIZES:
                browser.set_size(width, height)
                browser.open(page, hash_)
                path = os.path.join(folder, f"{name}-{theme}.png")
                browser.screenshot(path, full)
                print(path)


if __name__ == "__main__":
    main()
