"""Reads the health, readiness and metrics of a running role over HTTP,
for checks from outside the process.
"""

import asyncio
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RoleAddress:
    """The address of a role. `operations_port` serves health details and metrics."""

    host: str
    port: int
    operations_port: int
    key: str
    """The operator's key; empty: no key is sent."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample of a metric."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of a role at one moment."""

    samples: tuple[Sample, ...]

    def total(self, name: str, **labels: str) -> float | None:
        """The sum over all series with these labels; None if there is none."""
        values = list(self._values(name, labels))
        return sum(values) if values else None

    def largest(self, name: str, **labels: str) -> float | None:
        return max(self._values(name, labels), default=None)

    def quantile(self, name: str, share: float) -> float | None:
        """The upper bound of the bucket at or below which this share of all observations lies;
        None before the first observation.
        """
        buckets: dict[float, float] = {}
        for sample in self.samples:
            if sample.name == f"{name}_bucket":
                bound = float(sample.labels["le"])
                buckets[bound] = buckets.get(bound, 0.0) + sample.value
        count = buckets.get(math.inf, 0.0)
        return (
            next((bound for bound in sorted(buckets) if buckets[bound] >= share * count), None)
            if count
            else None
        )

    def _values(self, name: str, labels: Mapping[str, str]) -> Iterator[float]:
        return (
            sample.value
            for sample in self.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """The whole status of a role."""

    health: Mapping[str, Any]
    details: Mapping[str, Any]
    obstacles: Mapping[str, str]
    """Why the role is not ready for traffic; empty if it is."""
    metrics: Metrics


async def role_status(address: RoleAddress) -> RoleStatus:
    """Reads the status. Raises ConnectionError with an explanation if the role does not answer or refuses."""
    return await asyncio.to_thread(_scrape_role, address)


def _scrape_role(address: RoleAddress) -> RoleStatus:
    health = json.loads(_get(address, address.port, "/health"))
    readiness = json.loads(_get(address, address.port, "/readyz", or_else=503))
    details = json.loads(_get(address, address.operations_port, "/health/details"))
    exposition = _get(address, address.operations_port, "/metrics").decode()
    samples = tuple(
        Sample(sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
    )
    return RoleStatus(health, details, readiness.get("because", {}), Metrics(samples))


def _get(address: RoleAddress, port: int, path: str, *, or_else: int = 200) -> bytes:
    connection = HTTPConnection(address.host, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(
            "GET", path, headers={"Authorization": f"Bearer {address.key}"} if address.key else {}
        )
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException) as error:
        raise ConnectionError(f"{address.host}:{port} does not answer ({type(error).__name__})") from error
    finally:
        connection.close()
    if answer.status not in {200, or_else}:
        raise ConnectionError(f"{address.host}:{port}{path} answers with {answer.status} {answer.reason}")
    return body
