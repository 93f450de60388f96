"""Articles as a newspaper prints them: markup, metadata and looks."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from html import escape
from importlib.resources import files

from telegram_simulator.world.article import Article, Mention, PageKind


def article_page(article: Article) -> str:
    return beginning(article) + ending(article)


def beginning(article: Article) -> str:
    """Up to the end of the text, where comments may follow."""
    furniture = article.furniture
    sections = "\n".join(
        (f"<h2>{escape(section.heading)}</h2>\n" if section.heading else "")
        + "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.paragraphs)
        for section in article.sections
    )
    title, invitation, button = (escape(line) for line in furniture.wall)
    wall = (
        f'<div class="wall"><strong>{title}</strong><p>{invitation}</p><button '
        f'type="button">{button}</button></div>'
    )
    date = f'<time datetime="{_moment(article)}">{_date(article)}</time>'
    picture = (
        f'<img src="/articles/{article.page_id}.jpg" width="640" height="400" alt="{escape(article.title)}">'
    )
    return f"""{_head(article)}
<body>
{_masthead(article)}
<main>
<p class="rubric">{escape(article.rubric)}</p>
<article>
<h1>{escape(article.title)}</h1>
<div class="byline"><a class="author" rel="author" href="/">{escape(article.author)}</a> · {date}</div>
<figure>{picture}<figcaption>{escape(furniture.photo)}</figcaption></figure>
{sections}
{wall if article.kind is PageKind.PAYWALL else ""}
</article>
"""


def ending(article: Article) -> str:
    return f"{_also(article.also, article.furniture.also)}\n</main>\n{_footer(article)}\n</body>\n</html>\n"


def comments(article: Article, size_bytes: int) -> str:
    """A block of what readers have to say, about so long."""
    remarks = "".join(f"<p>{escape(reader)}</p>\n" for reader in article.furniture.readers)
    repetition_count = size_bytes // len(remarks.encode()) + 1
    return (
        f'<section class="comments"><h3>{escape(article.furniture.comments)}</h3>\n'
        f"{remarks * repetition_count}</section>\n"
    )


def script_page(article: Article) -> str:
    """A frame without a word of the article in it."""
    furniture = article.furniture
    return f"""<!DOCTYPE html>
<html lang="{article.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(furniture.paper)}</title>
<style>{_read_asset("newspaper.css")}</style>
</head>
<body>
<main id="app"><p>{escape(furniture.loading)}</p><noscript>{escape(furniture.no_script)}</noscript></main>
<script>{_read_asset("newspaper.js")}</script>
</body>
</html>
"""


def front_page(articles: Sequence[Article]) -> str:
    newest = articles[0]
    items = "\n".join(
        f'<li><a href="{article.path}">{escape(article.title)}</a>'
        f"<p>{escape(article.rubric)} · {escape(article.author)} · {_date(article)}</p></li>"
        for article in articles
    )
    return f"""<!DOCTYPE html>
<html lang="{newest.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(newest.furniture.paper)}</title>
<style>{_read_asset("newspaper.css")}</style>
</head>
<body>
{_masthead(newest, is_front=True)}
<main><ul class="front">
{items}
</ul></main>
{_footer(newest)}
</body>
</html>
"""


def _head(article: Article) -> str:
    return f"""<!DOCTYPE html>
<html lang="{article.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(article.title)} – {escape(article.furniture.paper)}</title>
<link rel="canonical" href="{escape(article.url)}">
{_metadata(article)}
<style>{_read_asset("newspaper.css")}</style>
</head>"""


def _metadata(article: Article) -> str:
    """As in life some pages tell everything twice, some only in `meta`,
    and some nothing that is not to be seen.
    """
    manner = int(article.page_id[:-1], 16) % 3
    metadata = {
        "description": article.description,
        "author": article.author,
    }
    properties = {
        "og:type": "article",
        "og:site_name": article.furniture.paper,
        "og:title": article.title,
        "og:description": article.description,
        "og:url": article.url,
        "og:image": f"{article.site}/articles/{article.page_id}.jpg",
        "og:locale": "ru_RU" if article.language == "ru" else "en_GB",
        "article:published_time": _moment(article),
        "article:section": article.rubric,
    }
    lines = [f'<meta name="{name}" content="{escape(value)}">' for name, value in metadata.items()]
    lines += [f'<meta property="{name}" content="{escape(value)}">' for name, value in properties.items()]
    return "\n".join([*lines, _render_linked_data(article)] if manner == 0 else lines if manner == 1 else [])


def _render_linked_data(article: Article) -> str:
    facts = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": article.title,
        "datePublished": _moment(article),
        "inLanguage": article.language,
        "author": {"@type": "Person", "name": article.author},
        "publisher": {"@type": "Organization", "name": article.furniture.paper},
        "mainEntityOfPage": article.url,
        "isAccessibleForFree": article.kind is not PageKind.PAYWALL,
    }
    return (
        "<script "
        f'type="application/ld+json">{json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c")}</script>'
    )


def _masthead(article: Article, *, is_front: bool = False) -> str:
    furniture = article.furniture
    current_section = None if is_front else article.rubric
    rubrics = "".join(
        f"<span{' class=here' if section == current_section else ''}>{escape(section)}</span>"
        for section in furniture.sections.values()
    )
    home = (
        "<a "
        f'href="/?language={article.language}">{escape(furniture.paper)}</a><p>{escape(furniture.motto)}</p>'
    )
    return f'<header><div class="masthead">{home}</div><nav>{rubrics}</nav></header>'


def _also(mentions: Sequence[Mention], heading: str) -> str:
    if not mentions:
        return ""
    items = "".join(f'<li><a href="{mention.path}">{escape(mention.title)}</a></li>' for mention in mentions)
    return f"<aside><h3>{escape(heading)}</h3><ul>{items}</ul></aside>"


def _footer(article: Article) -> str:
    return f"<footer>© {escape(article.furniture.paper)} · simulated</footer>"


def _moment(article: Article) -> str:
    return datetime.fromtimestamp(article.published, UTC).isoformat()


def _date(article: Article) -> str:
    moment = datetime.fromtimestamp(article.published, UTC)
    return f"{moment.day} {article.furniture.months[moment.month - 1]} {moment.year}, {moment:%H:%M}"


@cache
def _read_asset(name: str) -> str:
    return (files("telegram_simulator.web") / name).read_text(encoding="utf-8")
