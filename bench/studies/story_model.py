"""How much a sentence model adds to comparing posts by their words, names and numbers: the recall of English
pairs at the same precision.

The model is the one that comes as a package; it reads no other language. Both regressions, without and with
the cosine of the two vectors, are fitted on one half of the measuring world, as bench.studies.fit_stories
does, and judged on the other. Decision 17 says why stories are grouped without it.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.studies.fit_stories import fit_weights, pairs, weigh_posts
from bench.workloads.story_world import MEASURING_DAYS, LabelledPost, halves, world
from telegram_assistant.ai.local.models import folder_of
from telegram_assistant.ai.local.sentence_model import SentenceModel
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.domain.stories.pairs import features_of, side_of
from testkit.harness import arguments, finish
from testkit.models import MINILM, package_models

PRECISIONS = (0.97, 0.98, 0.99)

type Numbers = "np.ndarray[Any, Any]"


def compare_pairs(
    told_posts: Sequence[LabelledPost], model: SentenceModel
) -> tuple[Numbers, Numbers, Numbers]:
    """The features of all English pairs, the cosine of their vectors, and whether they tell the same."""
    posts, weights = weigh_posts(told_posts)
    english = [
        (place, other)
        for place, other in pairs(posts, weights)
        if side_of(posts[place], posts[other]) == "en"
    ]
    places = sorted({place for pair in english for place in pair})
    vectors = dict(
        zip(
            places,
            np.array(model.embed([told_posts[place].post.text for place in places], TextKind.DOCUMENT)),
            strict=True,
        )
    )
    return (
        np.array([features_of(posts[place], posts[other], weights) for place, other in english]),
        np.array([vectors[place] @ vectors[other] for place, other in english]),
        np.array([told_posts[place].truth == told_posts[other].truth for place, other in english]),
    )


def recall_at(scores: Numbers, labels: Numbers, precision: float) -> float:
    """The largest recall at which at least so many of the accepted pairs are right."""
    right = np.cumsum(labels[np.argsort(-scores)])
    enough = np.flatnonzero(right / np.arange(1, len(right) + 1) >= precision)
    return round(float(right[enough[-1]] / labels.sum()), 4) if len(enough) else 0.0


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=MEASURING_DAYS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = SentenceModel(folder_of(package_models(Path(folder)), MINILM), threads=2)
        (known, known_cosines, known_labels), (features, cosines, labels) = (
            compare_pairs(half, model) for half in halves(world(days=options.days))
        )
    words = fit_weights(known, known_labels)
    both = fit_weights(np.c_[known, known_cosines], known_labels)
    by_words, by_both = features @ words[:-1], np.c_[features, cosines] @ both[:-1]
    result = {
        "bench": "story_model",
        "model": MINILM,
        "pairs": len(labels),
        "same": int(labels.sum()),
        "recall_by_words": {
            str(precision): recall_at(by_words, labels, precision) for precision in PRECISIONS
        },
        "recall_with_model": {
            str(precision): recall_at(by_both, labels, precision) for precision in PRECISIONS
        },
    }
    finish(result, options)


if __name__ == "__main__":
    main()
