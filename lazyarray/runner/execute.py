"""Owns running a program as `__main__` in this process, looking to it as if Python itself had started it."""

import importlib.util
import os
import signal
import sys
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import ModuleType, TracebackType

from lazyarray.config import config
from lazyarray.native import COMPILED
from lazyarray.runner import swap

RUNNER_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# What NumPy raises for a program's mistake.
NUMPYS_ERRORS = (ValueError, TypeError, IndexError, ArithmeticError, MemoryError, Warning)


class CannotRunError(Exception):
    """The program cannot be started; the text is the one Python gives, and `code` its exit status."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(f"{sys.executable}: {text}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Program:
    """What the user asked to run: a script, or with `is_module` a module."""

    name: str
    is_module: bool
    arguments: tuple[str, ...]

    @property
    def command(self) -> list[str]:
        """The arguments that make plain Python run it."""
        return [*(["-m"] if self.is_module else []), self.name, *self.arguments]


@dataclass(frozen=True, slots=True)
class Found:
    """A program that was found: its source, and what its `__main__` module and `sys.path` must hold."""

    source: bytes
    filename: str
    spec: ModuleSpec | None
    path0: str | None


def make_absolute(name: str) -> str:
    """A script's name as Python stores it: joined to the current folder, else as it was written."""
    return name if os.path.isabs(name) else os.path.join(os.getcwd(), name)


def find_script(name: str) -> Found:
    """Reads a script, or the `__main__.py` of a folder."""
    absolute = make_absolute(name)
    if os.path.isdir(name):
        filename = os.path.join(absolute, "__main__.py")
        if not os.path.isfile(filename):
            raise CannotRunError(f"can't find '__main__' module in {absolute!r}", 1)
        loader = SourceFileLoader("__main__", filename)
        spec = importlib.util.spec_from_file_location("__main__", filename, loader=loader)
        folder = absolute
    else:
        filename, spec = absolute, None
        folder = os.path.dirname(os.path.realpath(name))
    try:
        with open(filename, "rb") as file:
            source = file.read()
    except OSError as error:
        raise CannotRunError(f"can't open file {absolute!r}: [Errno {error.errno}] {error.strerror}", 2) from None
    return Found(source, filename, spec, folder)


def find_module(name: str) -> Found:
    """Finds a module as `python -m` does; a package stands for its `__main__`."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise
        reason = f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})"
        raise CannotRunError(reason, 1) from None
    if spec is None:
        raise CannotRunError(f"No module named {name}", 1)
    if spec.submodule_search_locations is not None:
        main = f"{name}.__main__"
        spec = importlib.util.find_spec(main)
        if spec is None:
            raise CannotRunError(f"No module named {main}; {name!r} is a package and cannot be directly executed", 1)
    if not isinstance(spec.loader, SourceFileLoader):
        raise CannotRunError(f"No code object available for {name}", 1)
    filename = spec.loader.path
    return Found(spec.loader.get_data(filename), filename, spec, None)


def find_module_root(name: str) -> str | None:
    """The folder of the program of `-m name`: its top package's, or the package where it is installed."""
    top = importlib.util.find_spec(name.partition(".")[0])
    if top is None:
        return None
    locations = list(top.submodule_search_locations or ())
    place = os.path.abspath(locations[0] if locations else top.origin or "")
    parent = os.path.dirname(place)
    installed = swap.INSTALLED_FOLDERS.intersection(parent.split(os.sep))
    return place if installed and locations else parent


def make_main_module(found: Found) -> ModuleType:
    """A `__main__` that holds what Python puts there."""
    main = ModuleType("__main__")
    main.__file__ = found.filename
    main.__spec__ = found.spec
    main.__package__ = found.spec.parent if found.spec is not None else None
    main.__loader__ = SourceFileLoader(found.spec.name if found.spec else "__main__", found.filename)
    main.__dict__["__cached__"] = found.spec.cached if found.spec is not None else None
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    if "__annotations__" in vars(sys.modules["__main__"]):  # Python makes it for __main__ up to 3.13
        vars(main).update(__annotations__={})
    return main


def run(program: Program, target: str) -> int:
    """Runs the program with NumPy swapped; returns the exit status. SystemExit passes through."""
    if program.is_module:
        # Packages on the way to the module are the program's too, so the finder must stand before they load.
        root = find_module_root(program.name)
        if root is not None:
            swap.install(root, target)
        found = find_module(program.name)
    else:
        found = find_script(program.name)
        assert found.path0 is not None
        swap.install(found.path0, target)
        if not sys.flags.safe_path:
            sys.path[0] = found.path0
    sys.argv[:] = [found.filename if program.is_module else program.name, *program.arguments]
    main = make_main_module(found)
    sys.modules["__main__"] = main
    try:
        code = swap.compile_swapped(found.source, found.filename, target)
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        return show_error(error)
    return 0


def show_error(error: BaseException) -> int:
    """Reports an uncaught error as Python would, without the runner's frames; returns the exit status."""
    strip_runner_frames(error)
    sys.excepthook(type(error), error, error.__traceback__)
    return 128 + signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1


def strip_runner_frames(error: BaseException) -> None:
    """Takes the runner's own frames out of the tracebacks of an error and of those it came from."""
    pending, seen = [error], set[int]()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        current.__traceback__ = without_frames(
            current.__traceback__, hidden_folder(current), isinstance(current, SyntaxError)
        )
        pending.extend(e for e in (current.__cause__, current.__context__) if e is not None)
        if isinstance(current, BaseExceptionGroup):
            pending.extend(current.exceptions)


def hidden_folder(error: BaseException) -> str:
    """Below which folder frames are left out of an error's traceback.

    Where NumPy raises, it does so in C, without frames: lazyarray's say nothing of the user's mistake. They are shown
    where the mistake may be lazyarray's own, and with `LAZYARRAY_DEBUG` set.
    """
    return PACKAGE_FOLDER if isinstance(error, NUMPYS_ERRORS) and not config.debug else RUNNER_FOLDER


def without_frames(traceback: TracebackType | None, folder: str, drop_import_system: bool) -> TracebackType | None:
    """The traceback without frames of files below the folder."""
    kept: list[TracebackType] = []
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        if traceback.tb_frame.f_globals.get("__name__") in COMPILED:
            filename = os.path.join(PACKAGE_FOLDER, filename)  # which C was told as it lay in the build's folder
        # Python hides the import system's frames above a module that does not compile; ours stand among them.
        hidden = filename.startswith(folder) or (drop_import_system and filename.startswith("<frozen importlib"))
        if not hidden:
            kept.append(traceback)
        traceback = traceback.tb_next
    rest: TracebackType | None = None
    for entry in reversed(kept):
        entry.tb_next = rest
        rest = entry
    return rest
