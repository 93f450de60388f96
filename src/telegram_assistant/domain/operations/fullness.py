"""How full a store is: a disk, or the memory of a server."""

from dataclasses import dataclass

from telegram_assistant.domain.operations.diagnosis import Finding, Severity
from telegram_assistant.reasons import Reason

WARNING_SHARE = 0.7
BAD_SHARE = 0.9
MEGABYTE = 1024 * 1024
GIGABYTE = 1024 * MEGABYTE


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


def size_in_words(size_bytes: int) -> Reason:
    """The size as people say it."""
    if size_bytes >= GIGABYTE:
        return Reason("size_gigabytes", "{gigabytes:,} GB", gigabytes=round(size_bytes / GIGABYTE, 1))
    return Reason("size_megabytes", "{megabytes:,} MB", megabytes=round(size_bytes / MEGABYTE))


def fullness_finding(subject: str, reason: Reason, fullness: Fullness, *, remedy: Reason) -> Finding:
    """The finding about a store. The remedy is shown when it is needed."""
    return Finding(subject, fullness.severity, reason, None if fullness.severity is Severity.OK else remedy)
