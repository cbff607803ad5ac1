"""Owns the build of the hot modules' compiled form: Python files, with the types of their `.pxd` files, to C libraries.

Run by the package's build (`hook.py`), or by hand: `python -m lazyarray.native.build`. Needs Cython, setuptools, NumPy
and a C compiler. Without them the modules run as Python, slower and otherwise alike.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from importlib.util import source_hash
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
MODULES: Final = (
    "lazyarray.native.apart",
    "lazyarray.runtime.heap",
    "lazyarray.ir.node",
    "lazyarray.runtime.root",
    "lazyarray.frontend.quick",
    "lazyarray.frontend.lent",
    "lazyarray.frontend.recorded",
    "lazyarray.frontend.usual",
    "lazyarray.frontend.lending",
    "lazyarray.frontend.stored",
    "lazyarray.frontend.pauses",
    "lazyarray.frontend.waiting",
    "lazyarray.frontend.small",
    "lazyarray.frontend.recipes",
    "lazyarray.frontend.unusual",
    "lazyarray.frontend.measures",
    "lazyarray.frontend.handle",
    "lazyarray.frontend.callables",
    "lazyarray.ir.expression",
    "lazyarray.runtime.liveness",
    "lazyarray.runtime.run",
    "lazyarray.runtime.resting",
    "lazyarray.runtime.execute",
    "lazyarray.runtime.direct",
    "lazyarray.runtime.banded",
    "lazyarray.runtime.remote",
    "lazyarray.runtime.along",
    "lazyarray.runtime.recalled",
    "lazyarray.runtime.repeated",
    "lazyarray.runtime.settling",
    "lazyarray.runtime.running",
    "lazyarray.runtime.evaluate",
    "lazyarray.runtime.interpret",
    "lazyarray.runtime.prices",
    "lazyarray.runtime.first",
    "lazyarray.runtime.budget",
    "lazyarray.runtime.floating",
    "lazyarray.runtime.device_errors",
    "lazyarray.runtime.device_run",
    "lazyarray.runtime.device_graphs",
    "lazyarray_llvm.workers",
    "lazyarray_llvm.launch",
    "lazyarray_llvm.banded",
    "lazyarray_triton.backend",
    "lazyarray_triton.prepared",
    "lazyarray_cupy.blocks",
    "lazyarray_cupy.device",
    "lazyarray.frontend.loops",
    "lazyarray.frontend.record",
    "lazyarray.frontend.ufunc",
    "lazyarray.frontend.elementwise",
    "lazyarray.frontend.keywords",
    "lazyarray.frontend.exchange",
    "lazyarray.frontend.dispatch",
    "lazyarray.frontend.creation",
    "lazyarray.frontend.manipulation",
    "lazyarray.frontend.slices",
    "lazyarray.frontend.viewed",
    "lazyarray.frontend.updates",
    "lazyarray.frontend.indexing",
    "lazyarray.frontend.index_keys",
    "lazyarray.frontend.scalar",
    "lazyarray.frontend.copies",
    "lazyarray.frontend.writing",
    "lazyarray.frontend.jit",
    "lazyarray.frontend.conversion",
    "lazyarray.frontend.ranges",
    "lazyarray.frontend.linalg",
    "lazyarray.frontend.selection",
    "lazyarray.frontend.reductions",
    "lazyarray.frontend.reduce_methods",
    "lazyarray.frontend.foreign",
    "lazyarray.frontend.boundary",
    "lazyarray.runtime.backend",
    "lazyarray.runtime.ledger",
    "lazyarray.ir.index_map",
    "lazyarray.ir.sizes",
    "lazyarray.schedule.family",
    "lazyarray.runtime.blocks",
    "lazyarray.runtime.pool",
    "lazyarray.runtime.recovery",
    "lazyarray.frontend.array",
    "lazyarray.frontend.views",
    "lazyarray.frontend.regions",
    "lazyarray.frontend.layout",
    "lazyarray.frontend.transforms",
    "lazyarray.frontend.searches",
    "lazyarray.frontend.correlations",
    "lazyarray.frontend.sorts",
    "lazyarray.frontend.rankings",
    "lazyarray.frontend.distinct",
    "lazyarray.frontend.selections",
    "lazyarray.frontend.shares",
    "lazyarray.frontend.segments",
    "lazyarray.frontend.products",
    "lazyarray.frontend.at_once",
    "lazyarray.frontend.draws",
    "lazyarray.frontend.unbound",
    "lazyarray.frontend.random",
)
LOOPS: Final = "lazyarray_llvm.ready"  # what compiles the loops of transcendental functions
OBJECTS: Final = "objects"  # a folder beside that of the library, for the next build
INPUTS: Final = "inputs.txt"  # in it, a line for each module: its name, what its object was made of
FLAGS: Final = (
    [] if os.name == "nt" else ["-O2", "-g0", "-fvisibility=hidden", "-ffp-contract=off", "-Wno-unused-function"]
)
MACROS: Final = (
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
    ("CYTHON_USE_TYPE_SPECS", "0"),
    ("CYTHON_COMPRESS_STRINGS", "0"),  # to unpack texts takes a program's start longer than to read them
)
DIRECTIVES: Final = {
    "language_level": 3,
    "annotation_typing": False,  # the annotations are mypy's; C's types stand in the .pxd files
    "auto_pickle": False,
    "embedsignature": True,
    "embedsignature.format": "clinic",
    "binding": True,
}
_CIMPORT: Final = re.compile(r"^from (\S+) import (.*)  # cimport$", re.MULTILINE)
# Two lines of comment above a class, for the two decorators that they become.
_FREELIST: Final = re.compile(r"^# .*\n# freelist (\d+)$", re.MULTILINE)
_FUTURE: Final = "from __future__ import annotations\n"


def file_of(module: str, root: Path = ROOT) -> Path:
    """Where the module's source is."""
    parts = module.split(".")
    folder = root if parts[0] == "lazyarray" else root / "backends"
    found = folder.joinpath(*parts).with_suffix(".py")
    return found if found.exists() else root.joinpath(*parts).with_suffix(".py")


def rewrite(source: str) -> str:
    """The source with its marked imports taken from C, line by line as it was: what Cython reads.

    Classes that are marked so keep memory of instances that are gone for as many new ones. They have no `__del__`: an
    instance in such memory would count as one whose `__del__` has run.
    """
    source, marked = _FREELIST.subn(r"@cython.freelist(\1)\n@cython.cclass", source)
    if marked:
        source = source.replace(_FUTURE, f"{_FUTURE[:-1]}; import cython\n", 1)
    return _CIMPORT.sub(r"from cython.cimports.\1 import \2", source)


def types_files() -> dict[Path, Path]:
    """All `.pxd` files, by where they stand in the package that they describe."""
    return {
        found.relative_to(ROOT / "backends" if found.is_relative_to(ROOT / "backends") else ROOT): found
        for pattern in ("lazyarray/**/*.pxd", "backends/**/*.pxd", "lazyarray_*/**/*.pxd")
        for found in sorted(ROOT.glob(pattern))
    }


def inputs_of(modules: Iterable[str]) -> dict[str, str]:
    """By module, a digest of all that its library is made of: its source, any module's types, how it is compiled."""
    common = [
        version("Cython"),
        version("numpy"),
        sysconfig.get_config_var("SOABI"),
        *FLAGS,
        repr((MACROS, DIRECTIVES)),
    ]
    common += [found.read_text(encoding="utf-8") for found in types_files().values()]
    shared = source_hash("\0".join(map(str, common)).encode())
    return {module: source_hash(shared + file_of(module).read_bytes()).hex() for module in modules}


def lay_out(folder: Path, modules: Iterable[str]) -> list[Path]:
    """Copies the modules and all `.pxd` files into `folder` as Cython is to see them; the modules' files."""
    for relative, found in types_files().items():
        _prepare(folder, relative)
        shutil.copy(found, folder / relative)
    files = []
    for module in modules:
        relative = Path(*module.split(".")).with_suffix(".py")
        _prepare(folder, relative)
        (folder / relative).write_text(rewrite(file_of(module).read_text(encoding="utf-8")), encoding="utf-8")
        files.append(relative)
    return files


def _prepare(folder: Path, relative: Path) -> None:
    (folder / relative.parent).mkdir(parents=True, exist_ok=True)
    for parent in relative.parents[:-1]:
        (folder / parent / "__init__.py").touch()


def compile_files(folder: Path, files: list[Path], compiler: Any, include: list[str]) -> list[Path]:
    """Compiles the files, which lie in `folder`, the current one; an object of each.

    The function that Python calls to import one has the module's whole name (`PyInit_lazyarray_ir_node`): a library
    that holds them all may have but one of a name.
    """
    from Cython.Build import cythonize
    from setuptools import Extension

    from lazyarray.native import whole_name

    modules = [".".join(file.with_suffix("").parts) for file in files]
    named = [Extension(module, [str(file)]) for module, file in zip(modules, files, strict=True)]
    translate: Any = cythonize
    translated = translate(named, compiler_directives=DIRECTIVES, quiet=True, include_path=[str(folder)])
    sources = {one.name: one.sources for one in translated}

    def compile_one(module: str) -> Path:
        macros = [*MACROS, (f"PyInit_{module.rpartition('.')[2]}", f"PyInit_{whole_name(module)}")]
        (made,) = compiler.compile(
            sources[module],
            output_dir=str(folder / "temp"),
            macros=macros,
            include_dirs=include,
            extra_postargs=FLAGS,
        )
        return Path(made)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, modules))


def c_compiler() -> tuple[Any, list[str]]:
    """The compiler of this Python's extensions as setuptools sets it up, and where it finds what they include."""
    import numpy as np
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    class Prepared(build_ext):  # type: ignore[misc]
        def build_extensions(self) -> None:
            """Nothing: all else has been prepared."""

    extension = Extension("none", ["none.c"])
    command = Prepared(Distribution({"name": "lazyarray", "ext_modules": [extension]}))
    command.ensure_finalized()
    command.run()
    return command.compiler, [np.get_include(), *command.include_dirs]


def build(target: Path = HERE / "lib") -> None:
    """Compiles the modules into one library in `target`, with an index of them. Objects of the same inputs stay.

    One library, since opening one for each module would take a tenth of the time that a program's start does.
    """
    from lazyarray.native import INDEX, digest_of

    digests = {module: digest_of(str(file_of(module))) for module in MODULES}  # sources may be edited while it takes
    inputs = inputs_of(MODULES)
    library = f"lazyarray_compiled{sysconfig.get_config_var('EXT_SUFFIX')}"
    kept = target.with_name(OBJECTS)
    kept.mkdir(parents=True, exist_ok=True)
    made = dict(line.split("\t") for line in _lines(kept / INPUTS))
    objects = {module: kept / f"{module}.o" for module in MODULES}
    missing = [m for m in MODULES if made.get(m) != inputs[m] or not objects[m].exists()]
    with tempfile.TemporaryDirectory() as name:
        folder, before = Path(name).resolve(), Path.cwd()
        os.chdir(folder)
        try:
            compiler, include = c_compiler()
            compiled = compile_files(folder, lay_out(folder, missing), compiler, include)
            for module, made_of_it in zip(missing, compiled, strict=True):
                shutil.copy2(made_of_it, objects[module])
            compiler.link_shared_object([str(objects[m]) for m in MODULES], str(folder / library))
        finally:
            os.chdir(before)
        (kept / INPUTS).write_text("".join(f"{m}\t{inputs[m]}\n" for m in MODULES), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        shutil.copy2(folder / library, target / library)
    lines = [f"{module}\t{library}\t{digests[module]}\n" for module in MODULES]
    (target / INDEX).write_text(f"{sys.implementation.cache_tag}\n{''.join(lines)}", encoding="utf-8")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def build_bytecode() -> None:
    """Has Python compile the package's modules, as an installation from a wheel does.

    An editable installation leaves that to the first program, and to every one where programs write no bytecode.
    """
    backends = ROOT / "backends"
    folders = [ROOT / "lazyarray", *([backends] if backends.exists() else ROOT.glob("lazyarray_*"))]
    for folder in folders:
        compileall.compile_dir(folder, quiet=1)


def build_loops() -> int:
    """Has the CPU's backend compile what every program may need (see `LOOPS`); how many loops."""
    if (ROOT / "backends").exists():
        sys.path.insert(0, str(ROOT / "backends"))
    try:
        return int(import_module(LOOPS).build())
    except Exception as error:  # no LLVM, say: a program compiles them when it first needs them
        print(f"lazyarray: no loops are ready ({error})", file=sys.stderr)
        return 0


if __name__ == "__main__":
    build()
    build_loops()
    build_bytecode()
