"""The process itself."""

import socket

from telegram_assistant.settings.declaring import SettingsGroup, variable


class ProcessSettings(SettingsGroup):
    """This process."""

    host_name: str = variable(
        "HOSTNAME",
        "",
        help="Name of this instance in health reports, locks and stream consumer names. Empty: "
        "the name of the host.",
    )
    shutdown_grace_seconds: float = variable(
        "SHUTDOWN_GRACE_SECONDS",
        20.0,
        help="Seconds that running work has to finish after SIGTERM.",
        ge=0,
        le=3600,
    )

    @property
    def instance_name(self) -> str:
        """The name of this instance: HOSTNAME, or the name of the host."""
        return self.host_name or socket.gethostname()
