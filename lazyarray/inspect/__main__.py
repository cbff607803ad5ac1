"""`python -m lazyarray.inspect replay FOLDER`: runs again what a dump saved, or what `lazyarray.verify` found."""

import sys
from pathlib import Path

from lazyarray.inspect.replay import replay

USAGE = """\
usage: python -m lazyarray.inspect replay FOLDER

FOLDER is what LAZYARRAY_DUMP was set to, one launch in it, or a folder that lazyarray.verify
named. Each kernel runs again on its saved inputs, with the settings in force (LAZYARRAY_BACKEND,
LAZYARRAY_DEVICE, ...), and is compared with the NumPy interpreter. The exit status is 0 if all
results are within their bounds, 1 if not, 2 if there is nothing to run."""


def main(arguments: list[str]) -> int:
    """Runs the command line and returns the exit status."""
    if len(arguments) != 2 or arguments[0] != "replay":
        print(USAGE, file=sys.stderr)
        return 2
    try:
        lines, agree = replay(Path(arguments[1]))
    except (FileNotFoundError, NotADirectoryError) as error:
        print(f"{arguments[1]} holds no replay: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
