"""Owns the figures in README.md: a block for each mode, written by the command between two comments."""

from __future__ import annotations

import re
from typing import Final

from tests.numpy_compat import run, suite

PAGE: Final = suite.HERE / "README.md"
SHOWN_CAUSES: Final = 20


def block(mode: str, total: run.Total) -> str:
    """The figures of one mode as Markdown."""
    versions = suite.versions()
    setting = " ".join(f"{name}={value}" for name, value in suite.MODES[mode].items()) or "as users run it"
    cases, functions = total.cases, total.functions
    lines = [
        f"### {mode}",
        "",
        f"NumPy {versions['numpy']}, Python {versions['python']}; {setting}.",
        "",
        "| | pass | of | % |",
        "| --- | ---: | ---: | ---: |",
        f"| cases | {cases[0]:,} | {cases[1]:,} | {run.percent(cases):.2f} |",
        f"| functions with every case passing | {functions[0]:,} | {functions[1]:,} | {run.percent(functions):.2f} |",
        "",
    ]
    causes = total.causes()
    if causes:
        lines += ["| cases | functions | cause | for example |", "| ---: | ---: | --- | --- |"]
        for kind, count, among, example in causes[:SHOWN_CAUSES]:
            shown = kind.replace("`", "'").replace("|", "\\|")
            lines.append(f"| {count} | {among} | `{shown}` | `{example.replace('|', '%7C')}` |")
        rest = causes[SHOWN_CAUSES:]
        if rest:
            lines.append(f"| {sum(cause[1] for cause in rest)} | {sum(cause[2] for cause in rest)} | others | |")
        lines.append("")
    return "\n".join(lines)


def write(mode: str, total: run.Total) -> None:
    """Puts the figures of one mode in their place."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- figures of {mode} -->", f"<!-- end of {mode} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    made = f"{begin}\n\n{block(mode, total)}\n{end}"
    changed, count = pattern.subn(lambda _: made, text)
    if count != 1:
        raise ValueError(f"{PAGE.name} has no place for the figures of {mode}")
    PAGE.write_text(changed, encoding="utf-8")
