"""/docs: every endpoint on one page, rendered from the OpenAPI document.

It has no scripts and no external resources, so it works offline.
"""

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

type Described = Mapping[str, Any]

STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0 0 .3rem; } h2 { margin: 2.2rem 0 .2rem; }
nav a { display: inline-block; margin: 0 .8rem .3rem 0; }
details { border: 1px solid var(--line); border-radius: .5rem; margin: .4rem 0; padding: .1rem .8rem; }
details[open] { padding-bottom: .8rem; }
summary { cursor: pointer; padding: .45rem 0; overflow-wrap: anywhere; }
code, pre { font: 14px/1.45 ui-monospace, monospace; background: var(--soft); border-radius: .3rem;
  padding: .1rem .3rem; }
pre { padding: .7rem .9rem; overflow-x: auto; }
.method { display: inline-block; min-width: 4.2rem; font: bold 13px ui-monospace, monospace; }
.GET { color: #2a7de1; } .POST { color: #2e9e4f; } .PUT, .PATCH { color: #c27c0e; }
.DELETE { color: #d1383d; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid var(--line); padding: .3rem .6rem .3rem 0; vertical-align: top; }
.soft { opacity: .75; }
"""


def render_docs(described: Described) -> str:
    """Renders the OpenAPI document as one HTML page."""
    info = described["info"]
    by_area: dict[str, list[str]] = {area["name"]: [] for area in described["tags"]}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            by_area[operation["tags"][0]].append(
                "".join(_operation(method.upper(), path, operation, described))
            )
    areas = "".join(
        f'<h2 id="{_anchor(area["name"])}">{escape(area["name"])}</h2><p '
        f'class="soft">{_prose(area["description"])}</p>' + "".join(by_area[area["name"]])
        for area in described["tags"]
    )
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name in by_area)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width">'
        f"<title>{escape(info['title'])}</title><style>{STYLE}</style></head><body>"
        f'<h1>{escape(info["title"])}</h1><p class="soft">API {escape(info["version"])} · <a '
        'href="/openapi.json">openapi.json</a></p>'
        f"{_blocks(info['description'])}<nav>{links}</nav>{areas}</body></html>"
    )


def _anchor(area: str) -> str:
    return escape(f"about-{area.lower().replace(' ', '-')}")


def _operation(method: str, path: str, operation: Described, api_description: Described) -> Iterator[str]:
    yield (
        f'<details id="{escape(operation["operationId"])}"><summary><span class="method '
        f'{method}">{method}</span> '
    )
    yield f'<code>{escape(path)}</code> <span class="soft">{escape(operation["summary"])}</span></summary>'
    yield _blocks(operation.get("description", ""))
    if parameters := operation.get("parameters"):
        yield "<table>" + "".join(_parameter(parameter) for parameter in parameters) + "</table>"
    if body := operation.get("requestBody"):
        yield f"<p>Request body</p>{_code(_example(body['content']['application/json'], api_description))}"
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            content = answer.get("content", {}).get("application/json")
            yield f"<p>{escape(status)} {escape(answer['description'])}</p>" + (
                _code(_example(content, api_description)) if content else ""
            )
    refusals = ", ".join(status for status in operation["responses"] if not status.startswith("2"))
    yield f'<p class="soft">Errors: {escape(refusals)}, as application/problem+json.</p></details>'


def _parameter(parameter: Described) -> str:
    needed_text = "required" if parameter.get("required") else "optional"
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td>"
        f'<td class="soft">{escape(parameter["in"])}, {needed_text}</td>'
        f"<td>{_prose(parameter.get('description', ''))}</td></tr>"
    )


def _example(content: Described, described: Described) -> object:
    if "example" in content:
        return content["example"]
    schema = content["schema"]
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    fields = schema.get("properties", {})
    examples = schema.get("examples") or [{name: _value(field) for name, field in fields.items()}]
    return examples[0]


def _value(field: Described) -> object:
    return (field.get("examples") or [field.get("default", field.get("type", "…"))])[0]


def _code(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"


def _blocks(text: str) -> str:
    """Renders paragraphs and lists, the only Markdown that our descriptions use besides code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("* "):
            blocks.append(
                "<ul>"
                + "".join(f"<li>{_prose(line)}</li>" for line in block.removeprefix("* ").split("\n* "))
                + "</ul>"
            )
        elif block:
            blocks.append(f"<p>{_prose(block)}</p>")
    return "".join(blocks)


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
