"""`python -m lazyarray [--report] script.py args...`: runs an unmodified NumPy script with NumPy swapped."""

import sys

from lazyarray.runner.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
