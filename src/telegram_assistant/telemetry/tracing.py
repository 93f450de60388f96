"""Traces: one trace from the first read of a post to its indexing.

Between processes the trace context travels as a W3C traceparent string.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from opentelemetry import context, propagate, trace

from telegram_assistant import __version__
from telegram_assistant.settings import TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class _Recording:
    """Holds the tracer. Checked for every event, so the check must be free when tracing is off."""

    tracer: trace.Tracer | None = None


def start_tracing(settings: TelemetrySettings, *, instance: str) -> "TracerProvider | None":
    """Sends spans to the collector if one is configured. The caller shuts down the returned provider."""
    if not settings.traces_endpoint:
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 -- loads for 0.1 s
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 -- as above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 -- as above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 -- as above

    resource = Resource.create(
        {
            "service.name": "telegram-assistant",
            "service.version": __version__,
            "service.instance.id": instance,
        }
    )
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=settings.traces_endpoint.rstrip("/") + "/v1/traces", timeout=5)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _Recording.tracer = provider.get_tracer("telegram_assistant")
    return provider


def traceparent() -> str | None:
    """The current trace context, for an event to carry; None outside a recorded span."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


def span(
    name: str,
    *,
    parent: str | None = None,
    links: Iterable[str | None] = (),
    **attributes: str | float | bool,
) -> AbstractContextManager[object]:
    """Records a span as a child of the given traceparent or of the current span; free if tracing is off."""
    if _Recording.tracer is None:
        return nullcontext()
    parent_context = _context_of(parent) if parent else context.get_current()
    span_links = [
        trace.Link(trace.get_current_span(_context_of(link)).get_span_context()) for link in links if link
    ]
    return _Recording.tracer.start_as_current_span(
        name, context=parent_context, links=span_links, attributes=attributes
    )


def _context_of(parent: str) -> context.Context:
    return propagate.extract({"traceparent": parent})
