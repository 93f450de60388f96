"""Watches by meaning: how many of the posts that they find are about what was asked for, and how many of
those that are they find.

Each kind of event of the measuring world is watched by a few words that a person would write. A post is right
if it tells of such an event, whatever its words. Only English posts are asked about: the model that comes as
a package reads no other language. `chosen` is the nearness with the best F0.5 on one half of the kinds (an
alert interrupts, so precision counts more), and what it finds on the other half; `shipped` is what the
product demands (features/watches/meaning.py). Nearness is compared exactly, vector by vector.
"""

import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.workloads.story_world import LabelledPost, world
from telegram_assistant.ai.local.models import folder_of
from telegram_assistant.ai.local.sentence_model import SentenceModel
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.features.watches.meaning import OF_WATCH
from testkit.harness import arguments, at_least, finish
from testkit.models import MINILM, package_models

WATCHED = {
    "ancient_find": "archaeologists dig up something ancient",
    "bridge_closed": "a bridge is closed to traffic",
    "commodity": "prices of metals and grain on the exchange",
    "concert_off": "a concert is cancelled",
    "data_leak": "customer data has leaked",
    "drone_airport": "an airport stops flights because of a drone",
    "earnings": "a company reports its quarterly profit",
    "exhibition": "a museum opens an exhibition",
    "exoplanet": "a new planet near another star",
    "fare_rise": "public transport gets more expensive",
    "film_prize": "a film wins a festival",
    "funding": "investors put money into a startup",
    "gadget": "a company presents a new device",
    "gas_evacuation": "people leave a building because of gas",
    "hikers_found": "missing hikers have been found",
    "leaked_document": "a secret document of the city hall",
    "marathon": "a marathon in the city",
    "match": "the result of a football match",
    "merger": "one company buys another",
    "painting_returned": "a stolen painting is back",
    "park_opening": "a new park opens",
    "recall": "a manufacturer recalls a dangerous product",
    "road_crash": "cars crash on the highway",
    "satellite": "satellite images show new construction",
    "service_outage": "an online service is down",
    "ship_drift": "a ship drifts at sea",
    "species": "biologists discover a new species",
    "stadium": "a new stadium is to be built",
    "storm": "a storm hits a town",
    "tram_line": "a new tram line",
    "transfer": "a player moves to another club",
    "trial": "a new medicine is tested on volunteers",
    "vulnerability": "a security hole in software",
    "warehouse_fire": "a warehouse is on fire",
    "water_outage": "houses have no water",
}
STEPS = [step / 100 for step in range(20, 80)]
LIMITS = (*at_least(0.85, "shipped.precision"), *at_least(0.5, "shipped.recall"), *at_least(300, "posts"))


def figures(near: "np.ndarray[Any, Any]", right: "np.ndarray[Any, Any]", least: float) -> dict[str, float]:
    matches = near >= least
    hits = int((matches & right).sum())
    precision, recall = hits / max(int(matches.sum()), 1), hits / max(int(right.sum()), 1)
    return {
        "least": least,
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f_half": round(1.25 * hits / max(matches.sum() + 0.25 * right.sum(), 1), 4),
    }


def embed_texts(texts: Sequence[str], kind: TextKind, model: SentenceModel) -> "np.ndarray[Any, Any]":
    return np.array(model.embed(texts, kind))


def kind_of(post: LabelledPost) -> str:
    return "" if post.planned.story is None else post.planned.story.event.name


def measure(days: int) -> dict[str, object]:
    posts = [
        post for post in world(days=days) if not post.planned.part and language_of(post.post.text) == "en"
    ]
    with tempfile.TemporaryDirectory() as folder:
        model = SentenceModel(folder_of(package_models(Path(folder)), MINILM))
        kinds = sorted(WATCHED)
        near = (
            embed_texts([post.post.text for post in posts], TextKind.DOCUMENT, model)
            @ embed_texts([WATCHED[kind] for kind in kinds], TextKind.QUERY, model).T
        )
    right = np.array([[kind_of(post) == kind for kind in kinds] for post in posts])
    places = list(range(len(kinds)))
    random.Random(3).shuffle(places)
    fitted, reported = places[: len(places) // 2], places[len(places) // 2 :]
    chosen = max(
        (figures(near[:, fitted], right[:, fitted], least) for least in STEPS),
        key=lambda step: step["f_half"],
    )
    reported_figures: Mapping[str, float] = figures(near[:, reported], right[:, reported], chosen["least"])
    return {
        "bench": "meaning_watches",
        "posts": len(posts),
        "watches": len(kinds),
        "reported_watches": len(reported),
        "precision": reported_figures["precision"],
        "recall": reported_figures["recall"],
        "chosen": reported_figures,
        "on_the_fitted_half": chosen,
        "shipped": figures(near[:, reported], right[:, reported], OF_WATCH.min_score),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=21)
    options = parser.parse_args()
    finish(measure(options.days), options, *LIMITS)


if __name__ == "__main__":
    main()
