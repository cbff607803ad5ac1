"""Holds that a program cannot tell the runner from Python: names, paths, errors and exit statuses."""

import re
import textwrap
from pathlib import Path

import pytest

from .conftest import Result, RunPython

INTROSPECTION = """
    import sys, os, __main__
    print(__name__, __file__, __package__, __spec__ and __spec__.name, __cached__ and 'cached', __doc__)
    print(sys.argv, sys.path[0], type(__loader__).__name__, __builtins__ is __import__('builtins'))
    print(__main__.__dict__ is globals(), sys.modules['__main__'] is __main__)
    print(sorted(globals()))
"""


def assert_same(swapped: Result, plain: Result) -> None:
    assert (swapped.returncode, swapped.stdout) == (plain.returncode, plain.stdout)
    assert swapped.stderr == plain.stderr


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))


@pytest.mark.parametrize(
    "command",
    [
        ["script.py", "a", "--report", "-m"],
        ["./sub/../script.py"],
        ["sub/inner.py", "x"],
        ["-m", "script", "a", "-b"],
        ["-m", "package.module"],
        ["-m", "package", "1"],
        ["folder", "2"],
    ],
)
def test_the_program_sees_what_python_shows(run_python: RunPython, program_folder: Path, command: list[str]) -> None:
    for name in (
        "script.py",
        "sub/inner.py",
        "package/module.py",
        "package/__main__.py",
        "folder/__main__.py",
    ):
        write(program_folder, name, INTROSPECTION)
    write(program_folder, "package/__init__.py", "import numpy as np; assert np is not None")
    plain = run_python(*command, swapped=False)
    assert plain.returncode == 0
    assert_same(run_python(*command), plain)


def test_the_full_path_of_a_script_holds(run_python: RunPython, program_folder: Path) -> None:
    write(program_folder, "script.py", INTROSPECTION)
    link = program_folder.parent / "link.py"
    link.symlink_to(program_folder / "script.py")
    for path in (str(program_folder / "script.py"), str(link)):
        assert_same(run_python(path), run_python(path, swapped=False))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np\ndef f(a):\n    return a / undefined_name\n\n\nf(np.zeros(3))\n",
        "import numpy as np\nnp.zeros(3).reshape(2,\n    2)\n",
        "import beside\n\nbeside.fail()\n",
        "import numpy as np\nx = np.ones((100, 100))\n(x * 2) + np.ones(7)\n",
        "import numpy as np\nx = np.ones((100, 100)) + 1\nx[:, 0] = 1, 2\n",
        "import broken\n",
        "def f(:\n",
        "try:\n    import broken\nexcept SyntaxError as error:\n    raise ValueError('chained') from error\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    raise KeyError('context')\n",
        "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\n",
        "import no_such_module_anywhere\n",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise ValueError\n",
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\n",
        "import linecache\nprint(linecache.getline(__file__, 2)) #\n",
        "import inspect, beside\ndef f(): ...\nprint(inspect.getsource(f), inspect.getsource(beside))\n",
        "import warnings\nwarnings.warn('here')\nx = '\\d'\n",
    ],
)
def test_errors_show_as_in_python(run_python: RunPython, program_folder: Path, source: str) -> None:
    write(program_folder, "script.py", source)
    write(program_folder, "beside.py", "import numpy as np\n\ndef fail():\n    np.zeros(3)[[7]]\n")
    write(program_folder, "broken.py", "x = 1\nif x\n")
    plain = run_python("script.py", swapped=False)
    assert_same(run_python("script.py"), plain)


@pytest.mark.parametrize(
    "source",
    [
        "import sys; sys.exit()",
        "import sys; sys.exit(7)",
        "import sys; sys.exit('a message')",
        "raise SystemExit(True)",
        "import os; os._exit(4)",
        "import atexit; atexit.register(print, 'bye'); print('hello')",
        "import threading; threading.Timer(0.05, print, ['late']).start()",
        "print(*[line for line in open(0)])",
    ],
)
def test_exit_statuses_pass_through(run_python: RunPython, program_folder: Path, source: str) -> None:
    write(program_folder, "script.py", source)
    assert_same(run_python("script.py"), run_python("script.py", swapped=False))


def test_keyboard_interrupt_gives_the_status_that_shells_give(run_python: RunPython, program_folder: Path) -> None:
    write(program_folder, "script.py", "raise KeyboardInterrupt")
    result = run_python("script.py")
    assert result.returncode == 130
    assert result.stderr == run_python("script.py", swapped=False).stderr


@pytest.mark.parametrize(
    "command",
    [["nope.py"], ["empty"], ["-m", "nope"], ["-m", "package"], ["-m", "nope.nope"], ["-m", "math"]],
)
def test_what_cannot_start_is_said_as_python_says_it(
    run_python: RunPython, program_folder: Path, command: list[str]
) -> None:
    (program_folder / "empty").mkdir()
    write(program_folder, "package/__init__.py", "")
    assert_same(run_python(*command), run_python(*command, swapped=False))


def test_command_line_errors_are_ours(run_python: RunPython) -> None:
    for command, text in (
        ([], "no script given"),
        (["-m"], "argument expected for the -m option"),
        (["--wrong", "x.py"], "unknown option --wrong"),
        (["--repeat", "0", "x.py"], "--repeat takes a positive whole number"),
    ):
        result = run_python(*command)
        assert result.returncode == 2
        assert text in result.stderr
    assert run_python("--help").stdout.startswith("usage: python -m lazyarray")


def test_classes_of_the_script_pickle(run_python: RunPython, program_folder: Path) -> None:
    write(
        program_folder,
        "script.py",
        "import pickle\nclass A: x = 1\nprint(type(pickle.loads(pickle.dumps(A()))) is A, A)\n",
    )
    assert re.match(r"True <class '__main__.A'>", run_python("script.py").stdout)
