"""The moments at which the demo's plan went on, in a file: with it,
the next start continues where this one ends.
"""

from pathlib import Path


class Journal:
    """A line for each step. Without a file, it is forgotten at the end."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        text = path.read_text(encoding="ascii") if path is not None and path.exists() else ""
        complete_lines = text[
            : text.rfind("\n") + 1
        ]  # a line that was not written to its end is a step that nobody has seen
        self.steps = [int(line) for line in complete_lines.splitlines()]
        if path is not None:
            path.write_text(complete_lines, encoding="ascii")

    def add(self, at: int) -> None:
        if self._path is not None:
            with self._path.open("a", encoding="ascii") as lines:
                lines.write(f"{at}\n")
