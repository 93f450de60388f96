"""Whether the api role may run in several processes with these settings."""

from dataclasses import dataclass

from telegram_assistant.domain.operations.diagnosis import Finding, bad
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings
from telegram_assistant.vectors.opening import VectorLocation, choose_location

SUBJECT = "api processes"


@dataclass(frozen=True, slots=True)
class ProcessesRefused:
    """The setting that several processes cannot work with."""

    why: Reason
    remedy: Reason


def find_refusal(settings: Settings) -> ProcessesRefused | None:
    """Embedded vectors belong to one process. Without SECRET_KEY each process would have a secret of its
    own, and no process could read the cookies and codes of another one.
    """
    processes = settings.http.api_processes
    if processes == 1:
        return None
    if choose_location(settings.vectors) is VectorLocation.EMBEDDED:
        return ProcessesRefused(
            Reason(
                "processes_beside_embedded_vectors",
                "API_PROCESSES is {processes}, and embedded vectors can be used by one process only",
                processes=processes,
            ),
            Reason(
                "one_process_or_qdrant",
                "Set API_PROCESSES=1, or QDRANT_URL to a Qdrant server, or empty VECTORS_DIR",
            ),
        )
    if not settings.web.secret_key.get_secret_value():
        return ProcessesRefused(
            Reason(
                "processes_without_secret_key",
                "API_PROCESSES is {processes}, and without SECRET_KEY the processes share no secret",
                processes=processes,
            ),
            Reason("set_secret_key_or_one_process", "Set SECRET_KEY to what `tga accounts key` prints"),
        )
    return None


def examine(settings: Settings) -> list[Finding]:
    """Nothing if the role may start."""
    refusal = find_refusal(settings)
    return [] if refusal is None else [bad(SUBJECT, refusal.why, remedy=refusal.remedy)]
