"""`python -m lazyarray.inspect replay FOLDER`: computes again what `lazyarray.verify` found to differ."""

import sys
from pathlib import Path

from lazyarray.inspect.verify import Replay

USAGE = "usage: python -m lazyarray.inspect replay FOLDER"


def main(arguments: list[str]) -> int:
    """Runs the command line and returns the exit status: 0 if the results agree now, 1 if they differ."""
    if len(arguments) != 2 or arguments[0] != "replay":
        print(USAGE, file=sys.stderr)
        return 2
    try:
        text = Replay.load(Path(arguments[1])).describe()
    except FileNotFoundError as error:
        print(f"{arguments[1]} holds no replay: {error}", file=sys.stderr)
        return 2
    print(text)
    return 0 if text.endswith("within its bound") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
