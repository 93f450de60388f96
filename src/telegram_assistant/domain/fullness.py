"""How full a store is: a disk, or the memory of a server."""

from dataclasses import dataclass

from telegram_assistant.domain.diagnosis import Severity

WARNING_SHARE = 0.7
BAD_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Fullness:
    """The bytes in use, of all that there are."""

    used_bytes: int
    size_bytes: int

    @property
    def free_bytes(self) -> int:
        return max(0, self.size_bytes - self.used_bytes)

    @property
    def share(self) -> float:
        """The share in use; 0 of nothing."""
        return self.used_bytes / self.size_bytes if self.size_bytes else 0.0

    @property
    def severity(self) -> Severity:
        if self.share >= BAD_SHARE:
            return Severity.BAD
        return Severity.WARNING if self.share >= WARNING_SHARE else Severity.OK
