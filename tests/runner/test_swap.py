"""Holds what the runner swaps: each form of import, in the program's files and nowhere else."""

import ast
import sys
import textwrap
from pathlib import Path

import pytest

from lazyarray.runner import swap

from .conftest import RunPython


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import numpy", "import t as numpy"),
        ("import numpy as np", "import t as np"),
        ("import os, numpy as np, sys", "import os, t as np, sys"),
        ("import numpy.linalg", "import t.linalg as numpy, t as numpy"),
        ("import numpy.linalg as la", "import t.linalg as la"),
        ("from numpy import *", "from t import *"),
        ("from numpy import sin as s, pi", "from t import sin as s, pi"),
        ("from numpy.random import default_rng", "from t.random import default_rng"),
        ("def f():\n    import numpy\n    return numpy", "def f():\n    import t as numpy\n    return numpy"),
        ("import numpydoc", "import numpydoc"),
        ("from numpy_financial import irr", "from numpy_financial import irr"),
        ("from .numpy import x", "from .numpy import x"),
        ("from . import numpy", "from . import numpy"),
        ("import scipy.numpy", "import scipy.numpy"),
    ],
)
def test_rewrites_imports(source: str, expected: str) -> None:
    assert ast.unparse(swap.ImportRewriter("t").visit(ast.parse(source))) == expected


@pytest.mark.parametrize(
    ("source", "whole"),
    [
        ("import numpy as np\nnp.__dict__", True),
        ("import numpy\nvars(numpy.linalg)", True),
        ("from numpy import fft as f\nf.__dict__.items()", True),
        ("import numpy as np\nvars(self)", False),
        ("import numpy as np\nself.__dict__", False),
        ("import numpy as np\nvars()", False),
        ("import numpy as np\nx = np.zeros\ndel np.__dict__", False),
    ],
)
def test_names_are_asked_of_modules_that_imports_bind(source: str, whole: bool) -> None:
    assert ("names_of(" in ast.unparse(swap.ImportRewriter("t").visit(ast.parse(source)))) is whole


def test_modules_have_all_their_names_where_a_program_asks_for_their_dictionaries() -> None:
    program = """
    import numpy as np, numpy.fft as f
    asked = [(np, np.__dict__), (np.linalg, vars(np.linalg)), (f, f.__dict__)]
    missing = [[name for name in dir(module) if name not in names and name[0] != "_"] for module, names in asked]
    assert "real" in vars(np.generic)
    """
    space: dict[str, object] = {"__name__": "p"}
    exec(swap.compile_swapped(textwrap.dedent(program).encode(), "p", "lazyarray"), space)
    assert space["missing"] == [[], [], []]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__IN__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def test_every_import_form_binds_the_target(run_python: RunPython, program_folder: Path) -> None:
    write(
        program_folder,
        script="""
        import numpy
        print(numpy.__name__, numpy.marker)
        import numpy.linalg
        print(numpy.__name__, numpy.linalg.SWAPPED)
        import numpy.linalg as la
        from numpy.linalg import SWAPPED, norm
        print(la.SWAPPED, SWAPPED, norm([3, 4]))
        from numpy import linalg, marker
        print(linalg is la, marker)
        import numpy.random as random
        from numpy.random import default_rng
        print(random.__name__, default_rng(0).integers(10, size=3))
        from numpy.lib.stride_tricks import sliding_window_view
        import numpy.lib.stride_tricks
        print(numpy.marker, sliding_window_view.__name__)
        from numpy import *
        print(SWAPPED, sin(0.0))
        """,
    )
    result = run_python("script.py")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "swaptarget the target",
        "swaptarget True",
        "True True 5.0",
        "True the target",
        "numpy.random [8 6 5]",
        "the target sliding_window_view",
        "True 0.0",
    ]


def test_numpy_modules_without_namesake_stay_numpys(run_python: RunPython, program_folder: Path) -> None:
    write(program_folder, script="import numpy.ctypeslib as c\nprint(c.__name__, c.__spec__.name)\n")
    plain, swapped = run_python("script.py", swapped=False), run_python("script.py")
    assert swapped.stdout == plain.stdout
    assert swapped.stderr == ""


def test_missing_names_raise_as_in_numpy(run_python: RunPython, program_folder: Path) -> None:
    write(
        program_folder,
        script="""
        try:
            import numpy.no_such_module
        except ModuleNotFoundError as error:
            print("no module")
        try:
            from numpy import no_such_name
        except ImportError as error:
            print(type(error).__name__)
        """,
    )
    assert run_python("script.py").stdout == run_python("script.py", swapped=False).stdout


def test_modules_beside_the_script_swap_and_installed_ones_do_not(run_python: RunPython, program_folder: Path) -> None:
    write(
        program_folder,
        script="""
        import sys
        sys.path.append("venv/lib/site-packages")
        import beside, package.inner, package.deep.most, installed_here
        for module in (beside, package.inner, package.deep.most, installed_here):
            print(module.__name__, module.np.__name__)
        """,
        beside="import numpy as np",
        package__IN____init__="",
        package__IN__inner="import numpy as np",
        package__IN__deep__IN____init__="",
        package__IN__deep__IN__most="from ..inner import np",
    )
    installed = program_folder / "venv" / "lib" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "installed_here.py").write_text("import numpy as np\n")
    result = run_python("script.py")
    assert result.stderr == ""
    assert result.stdout.splitlines() == [
        "beside swaptarget",
        "package.inner swaptarget",
        "package.deep.most swaptarget",
        "installed_here numpy",
    ]


def test_bytecode_of_plain_python_is_neither_used_nor_replaced(run_python: RunPython, program_folder: Path) -> None:
    write(program_folder, script="import beside\nprint(beside.np.__name__)", beside="import numpy as np")
    for swapped, expected in ((False, "numpy\n"), (True, "swaptarget\n"), (False, "numpy\n")):
        assert run_python("script.py", swapped=swapped).stdout == expected


def test_bytecode_of_swapped_modules_is_kept_until_they_change(run_python: RunPython, program_folder: Path) -> None:
    script = """
    from lazyarray.runner import swap
    made, compiled = [], swap.compile_swapped
    swap.compile_swapped = lambda *args: made.append(args[1]) or compiled(*args)
    import beside
    print(beside.np.__name__, beside.value, len(made))
    """
    write(program_folder, script=script, beside="import numpy as np\nvalue = 1")
    for times in (1, 0, 0):
        assert run_python("script.py").stdout == f"swaptarget 1 {times}\n"
    (kept,) = (program_folder / "__pycache__").glob("beside.*.swaptarget-*.pyc")
    write(program_folder, beside="import numpy as np\nvalue = 22")
    for times in (1, 0):
        assert run_python("script.py").stdout == f"swaptarget 22 {times}\n"
    kept.write_bytes(b"no bytecode")
    assert run_python("script.py").stdout == "swaptarget 22 1\n"
    assert run_python("script.py", swapped=False).stdout == "numpy 22 0\n"


def test_packages_read_their_own_files(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "package").mkdir()
    write(program_folder / "package", __init__="import numpy as np", inner="import numpy")
    (program_folder / "package" / "table.txt").write_text("1 2 3")
    read = "import pkgutil; print(pkgutil.get_data('package', 'table.txt'), pkgutil.get_data('package', 'inner.py'))"
    write(program_folder, script=f"import package, package.inner\n{read}\nprint(package.np.__name__)")
    for _ in range(2):
        assert run_python("script.py").stdout == "b'1 2 3' b'import numpy'\nswaptarget\n"


def test_modules_load_where_python_keeps_no_bytecode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import numpy as np")
    monkeypatch.setattr(sys.implementation, "cache_tag", None)
    code = swap.SwapLoader("beside", str(tmp_path / "beside.py"), "lazyarray").get_code("beside")
    assert code is not None
    assert code.co_names == ("lazyarray", "np")
    assert [file.name for file in tmp_path.iterdir()] == ["beside.py"]


def test_source_encoding_and_future_imports_hold(run_python: RunPython, program_folder: Path) -> None:
    source = "# coding: latin-1\n'''doc é'''\nfrom __future__ import annotations\nimport numpy as np\n"
    source += "def f(x: undefined): ...\nprint(ascii(__doc__), f.__annotations__, np.marker)\n"
    (program_folder / "script.py").write_bytes(source.encode("latin-1"))
    result = run_python("script.py")
    assert result.stdout == "'doc \\xe9' {'x': 'undefined'} the target\n"
    assert result.stderr == ""


def test_the_target_itself_is_never_swapped(run_python: RunPython, program_folder: Path) -> None:
    # The script lies above the target's own folder, as a script in this project's root does.
    write(program_folder.parent, above="import numpy.linalg\nprint(numpy.marker, numpy.linalg.norm([3, 4]))")
    result = run_python("../above.py")
    assert (result.stdout, result.stderr) == ("the target 5.0\n", "")
