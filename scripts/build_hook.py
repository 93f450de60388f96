"""Refuses to build a wheel without the browser files, which git does not hold."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/telegram_assistant/web/static/vendor"
FILES = (
    "htmx.min.js",
    "pt-serif-cyrillic-700-normal.woff2",
    "pt-serif-latin-700-normal.woff2",
    "pt-serif-license.txt",
)


class BrowserFiles(BuildHookInterface[Any]):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable install may come before the files."""
        del build_data
        missing = [name for name in FILES if not (Path(self.root) / FOLDER / name).exists()]
        if version != "editable" and missing:
            raise FileNotFoundError(f"{FOLDER} lacks {', '.join(missing)}: run scripts/browser-files first")
