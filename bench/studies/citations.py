"""How well citations are checked: sentences about the demo world's stories, supported and with inventions
planted as a model makes them.

Half of the event types are held out: the checker was made while looking at the others (`--looked-at` measures
those). Of planted numbers, names, dates, quotations and speakers `dropped_unsupported` is the share that is
not shown as written; of supported sentences `kept_supported` is the share that is shown, as written or as the
source sentence in its place. `dropped_claims` is the same share for inventions that words hardly reveal:
negations, opposites, swapped roles, claims of others.

Each sentence is checked twice: by itself, and as a line of a provider's text with the numbers of its posts
behind it. Each figure is the worse of both.
"""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bench.workloads.citation_cases import Case, cases
from telegram_assistant.language.citations import CheckedSentence, Verdict, check_sentence
from telegram_assistant.summaries.written_sentences import WrittenText
from testkit.harness import arguments, at_least, finish, own_cpu_seconds

STORIES = 400
SUPPORTED = ("own", "paraphrase", "number_in_words")
FACTS = ("link", "number", "number_of_another_noun", "numbers_swapped", "name", "date", "quote", "speaker")
CLAIMS = ("negation", "antonym", "roles", "foreign_claim", "foreign_story")
THINGS = ("another_thing",)
"""Another cause, place or good instead of the one that the posts name. Words mostly cannot reveal it, so it
has a figure of its own.
"""
LIMITS = (
    *at_least(0.98, "dropped_unsupported"),
    *at_least(0.95, "kept_supported"),
    *at_least(0.9, "dropped_claims"),
)


def with_links(made: list[Case]) -> list[Case]:
    """The supported sentences once more, each with a link that no post has."""
    more = ", подробности на t.me/invented/12.", ", more at t.me/invented/12."
    return [
        replace(case, sentence=case.sentence.rstrip(".") + more[case.language == "en"], kind="link")
        for case in made
        if case.kind == "own"
    ]


def check_line(case: Case) -> CheckedSentence:
    """Checks the sentence as a line of a provider: with the numbers of its posts behind it."""
    text = WrittenText(case.posts)
    sentences = list(
        text.end(f"{case.sentence} {' '.join(f'[{place}]' for place in range(1, len(case.posts) + 1))}")
    )
    if not sentences:
        return CheckedSentence("", Verdict.DROPPED, next(iter(text.checks.reasons), None))
    is_written = " ".join(sentence.text for sentence in sentences).strip(" .") == case.sentence.strip(" .")
    return CheckedSentence(sentences[0].text, Verdict.SUPPORTED if is_written else Verdict.REPLACED)


def measure(
    made: list[Case], check: Callable[[Case], CheckedSentence]
) -> tuple[dict[str, Any], list[tuple[Case, CheckedSentence]]]:
    for case in made[:50]:
        check(case)
    began = own_cpu_seconds()
    checked = [(sample, check(sample)) for sample in made]
    cpu = own_cpu_seconds() - began
    verdicts: dict[str, Counter[Verdict]] = defaultdict(Counter)
    for case, result in checked:
        verdicts[case.kind][result.verdict] += 1

    def share(kinds: tuple[str, ...], *wanted: Verdict) -> float:
        all_of = sum((verdicts[kind] for kind in kinds), Counter[Verdict]())
        return round(sum(all_of[verdict] for verdict in wanted) / max(all_of.total(), 1), 4)

    not_shown = (Verdict.DROPPED, Verdict.REPLACED)
    return {
        "dropped_unsupported": share(FACTS, *not_shown),
        "kept_supported": share(SUPPORTED, Verdict.SUPPORTED, Verdict.REPLACED),
        "kept_as_written": share(SUPPORTED, Verdict.SUPPORTED),
        "kept_replaced": share(SUPPORTED, Verdict.REPLACED),
        "dropped_claims": share(CLAIMS, *not_shown),
        "not_as_written": {
            kind: f"{share((kind,), *not_shown):.3f} of {verdicts[kind].total()}"
            for kind in (*FACTS, *CLAIMS, *THINGS)
        },
        "as_written": {
            kind: f"{share((kind,), Verdict.SUPPORTED):.3f} of {verdicts[kind].total()}" for kind in SUPPORTED
        },
        "dropped": {kind: share((kind,), Verdict.DROPPED) for kind in SUPPORTED},
        "sentences": len(made),
        "cpu_ms_per_sentence": round(cpu / max(len(made), 1) * 1000, 2),
    }, checked


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--looked-at", action="store_true", help="measure the event types that the checker was made with"
    )
    parser.add_argument("--show", metavar="KIND", help="print the sentences of a kind that went wrong")
    options = parser.parse_args()
    made = cases(is_held_out=not options.looked_at, most=STORIES)
    made += with_links(made)
    alone, checked = measure(made, lambda sample: check_sentence(sample.sentence, sample.posts))
    as_line, _ = measure(made, check_line)
    worse = {
        key: min(alone[key], as_line[key])
        for key in ("dropped_unsupported", "kept_supported", "kept_as_written", "dropped_claims")
    }
    result = {
        "bench": "citations",
        **worse,
        "kept_replaced": alone["kept_replaced"],
        "alone": alone,
        "as_line": as_line,
    }
    for case, answer in checked:
        if case.kind == options.show and (answer.verdict is Verdict.SUPPORTED) is (
            case.kind not in SUPPORTED
        ):
            print(
                f"{answer.verdict}: {case.sentence} [{answer.reason}] {answer.text}\n"
                f"    {' | '.join(post.text for post in case.posts)!r}"
            )
    finish(result, options, *LIMITS)


if __name__ == "__main__":
    main()
