"""Checks of `tga doctor` for the sandbox: how well this kernel isolates the processes that open untrusted content."""

from telegram_assistant.domain.diagnosis import Finding, bad, ok, warning
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.pages.guard import Guard
from telegram_assistant.pages.rendering import Renderer
from telegram_assistant.sandbox.launching import probe
from telegram_assistant.sandbox.parsers import parser_rules
from telegram_assistant.settings import CrawlSettings

READERS = "sandbox"
BROWSER = "browser"
KERNEL = "use Linux 6.7 or newer with Landlock (CONFIG_LSM or lsm= names it) and seccomp, and let containers call both"


async def examine(crawl: CrawlSettings) -> list[Finding]:
    """Starts a real sandboxed process, and asks the running crawler, if there is one."""
    return [await _examine_readers(), *await _examine_browser(crawl)]


async def _examine_readers() -> Finding:
    try:
        protection = await probe(parser_rules())
    except (OSError, TimeoutError, ValueError) as error:
        what = f"no sandboxed process can be started ({type(error).__name__}), so no pages and pictures are read"
        return bad(READERS, what, remedy="check that this user can read this Python and its packages")
    if protection.reachable:
        what = f"readers of pages and pictures can reach {', '.join(protection.reachable)}; not in force: {', '.join(protection.missing)}"
        return warning(READERS, what, remedy=KERNEL)
    return ok(READERS, f"readers of pages and pictures: empty environment, {protection.in_words()}; no files, no network")


async def _examine_browser(crawl: CrawlSettings) -> list[Finding]:
    if not crawl.crawler_address:
        return []
    renderer = Renderer(crawl.crawler_address, guard=Guard(), max_bytes=crawl.max_bytes)
    try:
        protection = await renderer.ask_protection()
    except Unreadable as error:
        return [warning(BROWSER, str(error), remedy="start it: python -m telegram_assistant.pages.crawler")]
    if protection.startswith("without"):
        return [warning(BROWSER, protection, remedy="allow user namespaces, or keep it in a container of its own")]
    return [ok(BROWSER, protection)]
