"""Traces: one line from the first read of a post to its place in the index.

Between processes the place in a trace travels as a W3C traceparent string.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext

from opentelemetry import context, propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from telegram_assistant import __version__
from telegram_assistant.settings import TelemetrySettings


class _Recording:
    """Asked for every event, so it must cost nothing to know that nobody listens."""

    tracer: trace.Tracer | None = None


def start_tracing(settings: TelemetrySettings, *, instance: str) -> TracerProvider | None:
    """Send spans to the collector if one is set. The caller shuts the returned provider down."""
    if not settings.traces_endpoint:
        return None
    resource = Resource.create({"service.name": "telegram-assistant", "service.version": __version__, "service.instance.id": instance})
    provider = TracerProvider(resource=resource)
    exporter = OTLPSpanExporter(endpoint=settings.traces_endpoint.rstrip("/") + "/v1/traces", timeout=5)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    _Recording.tracer = provider.get_tracer("telegram_assistant")
    return provider


def traceparent() -> str | None:
    """The current place in the trace, to be carried by an event; None outside a recorded span."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier.get("traceparent")


def span(
    name: str, *, parent: str | None = None, links: Iterable[str | None] = (), **attributes: str | float | bool
) -> AbstractContextManager[object]:
    """Record a piece of work, as a child of the given traceparent or of the current span; free where nothing is recorded."""
    if _Recording.tracer is None:
        return nullcontext()
    where = _context_of(parent) if parent else context.get_current()
    linked = [trace.Link(trace.get_current_span(_context_of(one)).get_span_context()) for one in links if one]
    return _Recording.tracer.start_as_current_span(name, context=where, links=linked, attributes=attributes)


def _context_of(parent: str) -> context.Context:
    return propagate.extract({"traceparent": parent})
