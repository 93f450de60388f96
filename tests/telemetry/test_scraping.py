"""Quantiles and sums from the metrics of a running role."""

from telegram_assistant.telemetry.scraping import Metrics, Sample


def test_a_quantile_is_the_bound_of_its_bucket_over_all_modes() -> None:
    samples = [
        Sample("run_bucket", {"mode": mode, "le": bound}, count)
        for mode, counts in (("a", (90, 95, 100)), ("b", (0, 1, 1)))
        for bound, count in zip(("1.0", "30.0", "+Inf"), counts, strict=True)
    ]
    assert Metrics(tuple(samples)).quantile("run", 0.5) == 1.0
    assert Metrics(tuple(samples)).quantile("run", 0.95) == 30.0
    assert Metrics(tuple(samples)).quantile("run", 0.99) == float("inf")
    assert Metrics(()).quantile("run", 0.95) is None


def test_series_are_summed_by_their_labels() -> None:
    metrics = Metrics(
        (
            Sample("posts", {"mode": "a", "x": "1"}, 2),
            Sample("posts", {"mode": "a", "x": "2"}, 3),
            Sample("posts", {"mode": "b"}, 5),
        )
    )
    assert (
        metrics.total("posts", mode="a"),
        metrics.total("posts"),
        metrics.total("none"),
        metrics.largest("posts"),
    ) == (5, 10, None, 5)
