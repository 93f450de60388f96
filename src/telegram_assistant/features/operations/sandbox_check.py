"""Checks of `tga doctor` for the sandbox: how well this kernel
isolates the processes that open untrusted content.
"""

from telegram_assistant.crawling.rendering import Renderer
from telegram_assistant.domain.operations.diagnosis import Finding, bad, ok, warning
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.sandbox.launching import probe
from telegram_assistant.sandbox.parsers import parser_rules
from telegram_assistant.settings import CrawlSettings

READERS = "sandbox"
BROWSER = "browser"
KERNEL = Reason(
    "use_newer_kernel",
    "use Linux 6.7 or newer with Landlock (in CONFIG_LSM or lsm=) and seccomp, and allow containers to "
    "call both",
)


async def examine(crawl: CrawlSettings) -> list[Finding]:
    """Starts a real sandboxed process, and asks the running crawler, if there is one."""
    return [await _examine_readers(), *await _examine_browser(crawl)]


async def _examine_readers() -> Finding:
    try:
        protection = await probe(parser_rules())
    except (OSError, TimeoutError, ValueError) as error:
        reason = Reason(
            "no_sandbox",
            "no sandboxed process can be started ({error}), so pages and pictures are not read",
            error=type(error).__name__,
        )
        return bad(
            READERS,
            reason,
            remedy=Reason("let_python_be_read", "check that this user can read this Python and its packages"),
        )
    if protection.reachable:
        reason = Reason(
            "sandbox_leaks",
            "readers of pages and pictures can reach {reachable}; not in force: {missing}",
            reachable=", ".join(protection.reachable),
            missing=", ".join(protection.missing),
        )
        return warning(READERS, reason, remedy=KERNEL)
    reason = Reason(
        "sandbox_in_force",
        "readers of pages and pictures have an empty environment, no capabilities, {layers}, no files and "
        "no network",
        layers=protection.in_words(),
    )
    return ok(READERS, reason)


async def _examine_browser(crawl: CrawlSettings) -> list[Finding]:
    if not crawl.crawler_address:
        return []
    renderer = Renderer(crawl.crawler_address, guard=Guard(), max_bytes=crawl.max_bytes)
    try:
        protection = await renderer.ask_protection()
    except Unreadable as error:
        command = "python -m telegram_assistant.crawling.crawler"
        return [
            warning(
                BROWSER, error.reason, remedy=Reason("start_program", "start it: {command}", command=command)
            )
        ]
    if protection.startswith("without"):
        remedy = Reason("allow_namespaces", "allow user namespaces, or run it in its own container")
        return [warning(BROWSER, quote(protection), remedy=remedy)]
    return [ok(BROWSER, quote(protection))]
