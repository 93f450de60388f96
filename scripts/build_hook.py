"""Refuses to build a wheel without the browser files, which git does not hold."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VENDOR = "src/telegram_assistant/web/static/vendor/htmx.min.js"


class BrowserFiles(BuildHookInterface[Any]):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install may come before the files."""
        del build_data
        if version != "editable" and not (Path(self.root) / VENDOR).exists():
            raise FileNotFoundError(f"{VENDOR} is missing: run scripts/browser-files first")
