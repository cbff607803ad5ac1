"""Owns what is swapped and where: `import numpy` in a program's own files means another module (`target`).

The import statements are rewritten in the syntax tree, at their places, so tracebacks and debuggers show the
lines that the user wrote. Installed packages and the standard library keep NumPy.
"""

import ast
import functools
import importlib
import importlib.util
import os
import sys
import sysconfig
import warnings
import zlib
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

SWAPPED = "numpy"
INSTALLED_FOLDERS = frozenset({"site-packages", "dist-packages"})


def is_swapped_name(name: str) -> bool:
    """Whether an absolute module name is NumPy's or lies inside NumPy."""
    return name == SWAPPED or name.startswith(SWAPPED + ".")


def names_of(module: object) -> dict[str, object]:
    """What `vars(module)` gives, of a module that makes names when they are asked for with all of them made."""
    if isinstance(module, ModuleType):
        with warnings.catch_warnings(action="ignore"):
            for name in dir(module):
                getattr(module, name, None)
    return vars(module)


class ImportRewriter(ast.NodeTransformer):
    """Turns imports of NumPy into imports of `target` that bind the same names.

    And `np.__dict__` and `vars(np)` into `names_of(np)`.
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.bound: set[str] = set()  # names that such imports bind

    def rename(self, name: str) -> str:
        return self.target + name[len(SWAPPED) :]

    def visit_Import(self, node: ast.Import) -> ast.Import:
        aliases: list[ast.alias] = []
        for alias in node.names:
            if not is_swapped_name(alias.name):
                aliases.append(alias)
                continue
            renamed = self.rename(alias.name)
            self.bound.add(alias.asname or SWAPPED)
            if alias.asname is not None:
                aliases.append(ast.copy_location(ast.alias(renamed, alias.asname), alias))
                continue
            # `import numpy.linalg` loads the submodule and binds `numpy`.
            if alias.name != SWAPPED:
                aliases.append(ast.copy_location(ast.alias(renamed, SWAPPED), alias))
            aliases.append(ast.copy_location(ast.alias(self.target, SWAPPED), alias))
        node.names = aliases
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.level == 0 and node.module is not None and is_swapped_name(node.module):
            node.module = self.rename(node.module)
            self.bound.update(alias.asname or alias.name for alias in node.names)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr == "__dict__" and isinstance(node.ctx, ast.Load) and self.is_bound(node.value):
            return self.all_names(node.value, node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "vars" and len(node.args) == 1 and not node.keywords:
            return self.all_names(node.args[0], node) if self.is_bound(node.args[0]) else node
        return node

    def is_bound(self, node: ast.expr) -> bool:
        """Whether an expression is a name that an import of NumPy bound, or lies in what it names."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self.bound

    def all_names(self, module: ast.expr, place: ast.expr) -> ast.expr:
        """`names_of(module)`, which adds no name to the program's."""
        text = f"__import__({__name__!r}, fromlist=['names_of']).names_of()"
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        for inner in ast.walk(call):
            ast.copy_location(inner, place)
        call.args.append(module)
        return call


def compile_swapped(source: bytes, filename: str, target: str, optimize: int = -1) -> CodeType:
    """Compiles a file's bytes with its imports of NumPy turned to `target`."""
    tree = compile(source, filename, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True, optimize=optimize)
    assert isinstance(tree, ast.Module)
    code: CodeType = compile(ImportRewriter(target).visit(tree), filename, "exec", dont_inherit=True, optimize=optimize)
    return code


@functools.cache
def _rewriting() -> int:
    with open(__file__, "rb") as file:
        return zlib.crc32(file.read())


class SwapLoader(SourceFileLoader):
    """Loads a source file with its imports swapped, from bytecode of its own where that is not older."""

    def __init__(self, fullname: str, path: str, target: str) -> None:
        super().__init__(fullname, path)
        self.target = target

    def get_data(self, path: str) -> bytes:
        """What is in a file: for that of Python's own bytecode, the bytecode of the swapped module."""
        return super().get_data(self.own_file(path))

    def set_data(self, path: str, data: "ReadableBuffer", *, _mode: int = 0o666) -> None:
        """Keeps bytecode, where it may be written."""
        super().set_data(self.own_file(path), data, _mode=_mode)

    def own_file(self, path: str) -> str:
        """Where the swapped module's bytecode is, for Python's own file of bytecode, beside it; else the path.

        The name tells the target, and of which text of this file the rewriting is.
        """
        if sys.implementation.cache_tag is None or path != importlib.util.cache_from_source(self.path):
            return path  # without a tag there is no bytecode
        stem, suffix = os.path.splitext(path)
        return f"{stem}.{self.target}-{_rewriting():08x}{suffix}"

    def source_to_code(  # type: ignore[override]
        self, data: bytes, path: str, *, _optimize: int = -1
    ) -> CodeType:
        return compile_swapped(data, path, self.target, _optimize)


class SwapFinder(MetaPathFinder):
    """Finds the modules beside the script and gives them a loader that swaps."""

    def __init__(self, root: str, target: str) -> None:
        self.root = Path(root).resolve()
        self.target = target
        self.outside: frozenset[Path] | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in sys.builtin_module_names or is_swapped_name(fullname):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader or not spec.origin:
            return None
        if not self.is_beside(spec.origin):
            return None
        spec.loader = SwapLoader(spec.loader.name, spec.origin, self.target)
        return spec

    def is_beside(self, origin: str) -> bool:
        """Whether a file belongs to the program: in the script's folder or below, and not installed."""
        file = Path(origin).resolve()
        if not file.is_relative_to(self.root):
            return False
        if INSTALLED_FOLDERS.intersection(file.relative_to(self.root).parts):
            return False
        if self.outside is None:
            self.outside = self.find_outside_folders()
        return not any(file.is_relative_to(folder) for folder in self.outside)

    def find_outside_folders(self) -> frozenset[Path]:
        """Folders that never count as the program's own although they may lie below its folder."""
        paths = sysconfig.get_paths()
        folders = {Path(paths[key]).resolve() for key in ("stdlib", "platstdlib", "purelib", "platlib")}
        # A program in the project's own tree has the target and its backends beside it.
        backends = (entry.module.partition(".")[0] for entry in entry_points(group=f"{self.target}.backends"))
        for name in (self.target.partition(".")[0], *backends):
            spec = PathFinder.find_spec(name)
            for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
                folders.add(Path(folder).resolve())
        return frozenset(folder for folder in folders if not self.root.is_relative_to(folder))


class NamesakeFinder(MetaPathFinder, Loader):
    """Finds `target.x` where `target` has no such file: its attribute `x`, else NumPy's module."""

    def __init__(self, target: str) -> None:
        self.target = target

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(self.target + ".") or self.find_namesake(fullname) is None:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def find_namesake(self, fullname: str) -> ModuleType | None:
        tail = fullname[len(self.target) + 1 :]
        found: object = sys.modules[self.target]
        for part in tail.split("."):
            found = getattr(found, part, None)
        if isinstance(found, ModuleType):
            return found
        name = f"{SWAPPED}.{tail}"
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
                return None
            raise

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system takes what sys.modules then holds: the namesake itself, its own spec untouched.
        namesake = self.find_namesake(module.__name__)
        assert namesake is not None
        sys.modules[module.__name__] = namesake


def install(root: str, target: str) -> None:
    """Makes imports from now on swap NumPy for `target` in the files below `root`."""
    sys.meta_path.insert(0, SwapFinder(root, target))
    sys.meta_path.append(NamesakeFinder(target))
