"""Write the generated pages of docs/reference: the spec, the command line, the catalog, the host checks, clues and causes.

`python -m tools.gen_docs` writes them; `--check` only says which are out of date, and exits 1 when one is. Nothing in
the pages depends on the machine, the clock or the terminal, so they are committed and a test holds them to the code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tools.docs_catalog import catalog_page
from tools.docs_causes import causes_page
from tools.docs_checks import checks_page
from tools.docs_cli import cli_page
from tools.docs_spec import spec_page

ROOT = Path(__file__).resolve().parents[1]
PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/spec.md": spec_page,
    "docs/reference/cli.md": cli_page,
    "docs/reference/catalog.md": catalog_page,
    "docs/reference/host-checks.md": checks_page,
    "docs/reference/causes.md": causes_page,
}


def outdated() -> dict[str, str]:
    """The pages whose committed text is not what the code says now: path from the top of the checkout -> right text."""
    found = {}
    for name, page in PAGES.items():
        text = page()
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            found[name] = text
    return found


def main() -> int:
    """Write or check the pages; the exit code of the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    check = parser.parse_args().check
    pages = outdated()
    for name, text in pages.items():
        print(f"{'out of date' if check else 'wrote'}: {name}")
        if not check:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
    return 1 if check and pages else 0


if __name__ == "__main__":
    sys.exit(main())
