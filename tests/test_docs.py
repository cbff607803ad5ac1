"""Holds that the Python programs in README.md and docs/ run and print as printed, and that links lead somewhere."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from lazyarray.ir.installed import SUMS_IN_BUFFERS  # the pages show the records of NumPy 2.3 and newer
from lazyarray_llvm.elementwise import comparison

SET_BY_TESTS = ("LAZYARRAY_EAGER_BELOW", "LAZYARRAY_COMPILE_AT")  # in `conftest.py`
ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^ *```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
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
        env={name: value for name, value in os.environ.items() if name not in SET_BY_TESTS},  # as users run it
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


def shown_elsewhere() -> dict[tuple[str, str], str]:
    """The `text` blocks that follow no program, by page and first line: what they are taken from."""
    activation = re.search(
        r"```python\n(import lazyarray as np\n.*?)```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL
    )
    assert activation is not None
    settings = {**os.environ, "LAZYARRAY_DEBUG": "plan,kernels"}
    for name in SET_BY_TESTS:
        settings.pop(name, None)
    command = [sys.executable, "-c", activation.group(1)]
    told = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60, check=True
    ).stderr
    page = ROOT / "docs" / "layout.md"
    # Emitted for a CPU with AVX-512, whatever this one has.
    emitted = f"""
import contextlib, io
space = {{"__name__": "page"}}
with contextlib.redirect_stdout(io.StringIO()):
    exec(compile({read_program(page).source!r}, {str(page)!r}, "exec"), space)
from lazyarray_llvm import engine
from lazyarray_llvm.lower.emit import emit
host = engine.host()._replace(vector_bytes=64, has_fma=True)
print(emit(space["program"].kernel, host, "whole"))
"""
    settings.pop("LAZYARRAY_DEBUG")
    command = [sys.executable, "-c", emitted]
    code = subprocess.run(
        command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    return {
        ("README.md", "kernel reduction 10000000 (7 ops): reads 160000000 bytes, writes 8 bytes"): told,
        ("layout.md", "j.loop.3:"): code,
        ("layout.md", "%kept = getelementptr"): code,
        ("adding-an-op.md", "def heaviside("): inspect.getsource(comparison),
    }


def test_what_a_page_shows_beside_outputs_is_as_it_shows_it() -> None:
    sources = shown_elsewhere()
    found = []
    for page in PAGES:
        text, end = page.read_text(encoding="utf-8"), -1
        for block in FENCE.finditer(text):
            kind, body = block.group(1).strip(), block.group(2)
            if kind == "python":
                end = block.end()
            elif kind == "text" and (end < 0 or text[end : block.start()].strip()):
                lines = [line.strip() for line in body.splitlines()]
                (key,) = [key for key in sources if key[0] == page.name and lines[0].startswith(key[1])]
                source = [line.strip() for line in sources[key].splitlines()]
                assert [line for line in lines if line not in source] == [], page.name
                places = [source.index(line) for line in lines if source.count(line) == 1]
                assert places == sorted(places), page.name
                found.append(key)
    assert sorted(found) == sorted(sources)


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page with their kinds, and indented ones, which show commands and output, as "shell"."""
    text = page.read_text(encoding="utf-8")
    fenced = [(block.group(1).strip(), block.group(2)) for block in FENCE.finditer(text)]
    indented = re.findall(r"(?<=\n\n)((?: {4}.*\n)+)", FENCE.sub("", text))
    return [*fenced, *(("shell", body) for body in indented)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_is_of_a_kind_that_is_tested(page: Path) -> None:
    for kind, body in blocks(page):
        assert kind in ("python", "text", "sh", "bash", "toml", "shell"), kind
        if kind == "toml":
            assert tomllib.loads(body)
        if kind in ("sh", "bash", "shell"):
            for module in re.findall(r"python -m (lazyarray[\w.]*|benchmarks[\w.]*|tests[\w.]*)", body):
                assert importlib.util.find_spec(module) is not None, module


def test_the_site_has_every_page_in_the_order_in_which_they_are_read() -> None:
    contents = (ROOT / "docs" / "site" / "contents.md").read_text(encoding="utf-8")
    listed = re.findall(r"<(\S+\.md)>", contents)
    assert len(listed) == len(set(listed))
    pages = {(ROOT / "docs" / "site" / target).resolve() for target in listed}
    assert set(PAGES) <= pages
    names = [Path(target).stem for target in listed]
    order = "tutorial evaluation why-slow numerics gpu cache adding-an-op adding-a-backend layout benchmarks coverage"
    wanted = [*order.split(), "changelog"]
    assert [name for name in names if name in wanted] == wanted


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    config = (ROOT / "docs" / "site" / "conf.py").read_text(encoding="utf-8")
    (command,) = re.findall(r"python -m sphinx (.*) build/site$", config, re.MULTILINE)
    words = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        *command.split(),
        "-d",
        str(tmp_path / "trees"),
        str(tmp_path / "site"),
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    (target,) = set(re.findall(r"[\w/]+\.html", front))
    assert (tmp_path / "site" / target).exists()
    for page in PAGES:
        assert (tmp_path / "site" / page.relative_to(ROOT).with_suffix(".html")).exists(), page


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
