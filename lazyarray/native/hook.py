"""Owns hatchling's hook: builds the compiled form with the package, and builds the package without it where it cannot.

`LAZYARRAY_NATIVE=0` in the environment of the build leaves it out, `LAZYARRAY_NATIVE=1` makes a failure an error.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledForm(BuildHookInterface):  # type: ignore[misc]
    """Compiles the hot modules for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get("LAZYARRAY_NATIVE")
        if self.target_name != "wheel":
            return
        sys.path.insert(0, str(Path(self.root)))
        try:
            from lazyarray.native.build import build, build_bytecode, build_loops

            if version == "editable":
                build_bytecode()
            if wanted == "0":
                return
            build()
            loops = build_loops()
        except (Exception, SystemExit) as error:  # whatever keeps a C compiler from working
            if wanted == "1":
                raise
            self.app.display_warning(f"lazyarray runs without compiled modules ({error}): calls take longer")
            return
        finally:
            sys.path.remove(str(Path(self.root)))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        if not loops:
            self.app.display_warning("lazyarray compiles exp, sin, ... when a program first needs them")
        build_data["artifacts"] += ["lazyarray/native/lib/**", "backends/lazyarray_llvm/loops/**"]
