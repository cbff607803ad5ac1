"""Holds that the Python programs in README.md and docs/ run and print as printed, and that links lead somewhere."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lazyarray.ir.installed import SUMS_IN_BUFFERS  # the pages show the records of NumPy 2.3 and newer

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


@dataclass(frozen=True)
class Program:
    """All blocks of a page marked exactly `python`, every line at its line of the page, and what they print."""

    page: Path
    source: str
    output: str | None  # the `text` blocks that directly follow `python` ones; None where there are none


def read_program(page: Path) -> Program:
    text = page.read_text(encoding="utf-8")
    lines: list[str] = []
    printed: list[str] = []
    end = -1
    for block in FENCE.finditer(text):
        kind, body = block.group(1).strip(), block.group(2)
        if kind == "python":
            lines += [""] * (text.count("\n", 0, block.start(2)) - len(lines))
            lines += body.splitlines()
            end = block.end()
        elif kind == "text" and end >= 0 and not text[end : block.start()].strip():
            printed.append(body)
    return Program(page, "\n".join(lines), "".join(printed) if printed else None)


PROGRAMS = [program for program in map(read_program, PAGES) if program.source]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.page.name)
def test_the_programs_of_a_page_run_and_print_what_it_says(program: Program) -> None:
    # A process of its own: pages count kernels, and pending arrays of other tests would join their evaluations.
    source = f"exec(compile({program.source!r}, {str(program.page)!r}, 'exec'), {{'__name__': 'page'}})"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "LAZYARRAY_EAGER_BELOW"},  # as users run it
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if program.output is not None:
        shown = done.stdout.replace("buffered_sum", "sum") if SUMS_IN_BUFFERS else done.stdout
        printed = [line for line in shown.splitlines() if line.strip()]
        assert printed == [line for line in program.output.splitlines() if line.strip()]


def anchors(page: Path) -> set[str]:
    """The names under which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = {target for target, _ in LINK.findall(index)}
    assert {page.name for page in PAGES[1:]} - {"index.md"} <= listed
