"""The reader of linked pages."""

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from telegram_assistant.settings.declaring import SettingsGroup, split, variable


def _split_sites(text: str) -> tuple[str, ...]:
    sites = [site.lower().removeprefix("www.").removesuffix(".") for site in split(text)]
    if any(not site or set(site) & set("/:@*? ") for site in sites):
        raise ValueError(
            "write domain names separated by commas, like example.org,news.example; subdomains are included"
        )
    return tuple(sites)


def _host_and_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("write it like 127.0.0.1:8013")
    return address


Sites = Annotated[tuple[str, ...], BeforeValidator(_split_sites)]


class CrawlSettings(SettingsGroup):
    """Reading the pages that posts link to."""

    enabled: bool = variable(
        "CRAWL_ENABLED",
        default=True,
        help="true: the pages that posts link to are read. false: posts are processed without them.",
    )
    allow: Sites = variable(
        "CRAWL_ALLOW",
        (),
        help="Domain names, separated by commas: only these sites and their subdomains are read. Empty: "
        "all sites.",
    )
    deny: Sites = variable(
        "CRAWL_DENY",
        (),
        help="Domain names, separated by commas: these sites and their subdomains are never read.",
    )
    max_links: int = variable(
        "CRAWL_MAX_LINKS", 3, help="Maximum number of links that are read per post.", ge=1, le=20
    )
    max_bytes: int = variable(
        "CRAWL_MAX_BYTES",
        3_000_000,
        help="Pages larger than this, compressed or decompressed, are not read.",
        ge=1,
    )
    max_seconds: float = variable(
        "CRAWL_TIMEOUT_SECONDS",
        10.0,
        help="Seconds that a post waits for its linked pages; then it is processed without them.",
        gt=0,
        le=60,
    )
    every_seconds: float = variable(
        "CRAWL_SITE_INTERVAL_SECONDS",
        1.0,
        help="Minimum number of seconds between two requests to one site, across all processes; "
        "its robots.txt may ask for more.",
        ge=0,
    )
    crawler_address: Annotated[str, AfterValidator(_host_and_port)] = variable(
        "CRAWLER_ADDRESS",
        "",
        help="host:port of the browser process; set the same value for it and for the worker. Empty: "
        "pages that need a browser are not read.",
    )
    browser_path: str = variable(
        "BROWSER_PATH", "chromium", help="Path or name of the Chromium executable, for the browser process."
    )
