"""The notebooks become part of the package in a wheel; an editable install reads them where they lie."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Notebooks(BuildHookInterface[Any]):
    """Puts ``notebooks/`` into the wheel as ``workbench/notebooks``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the folder to what the wheel holds; ``version`` is ``"standard"`` or ``"editable"``."""
        if version == "standard":
            build_data["force_include"]["notebooks"] = "workbench/notebooks"
