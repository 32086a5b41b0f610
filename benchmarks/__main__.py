"""`python -m benchmarks` lists what is measured; `python -m benchmarks NAME …` measures it."""

from __future__ import annotations

import runpy
import sys

BENCHMARKS: tuple[tuple[str, str], ...] = (
    ("agent_footprint", "the agent's memory and CPU beside a real server, and what its wheel brings along"),
    ("rest_latency", "how long a stored recommendation, a what-if prediction and a report take over REST"),
    ("ingestion", "reports a second, in turn with a bare FastAPI endpoint or with an older checkout"),
    ("store_scale", "how long the service's queries take over ten thousand, a million and ten million reports"),
    ("observations", "how long 100,000 observations take to a data frame, and what memory the service takes"),
    ("lab", "the recommender on real servers with a slow disk and little memory, against the starts that people make"),
    (
        "verification",
        "what a session hands over on simulated servers with noise, stalls and drift",
    ),
    ("verification.sessions", "whole sessions on such servers, from the first trial to what is handed over"),
    ("lab.intervals", "whether 90 % intervals hold what the lab's and the race's servers read next"),
    ("lab.small_memory", "lab sessions on hosts of 1, 2 and 4 GiB under fifty clients that sort"),
    ("lab.race", "the recommender raced with its peers on such servers, under TPC-C and analytical queries"),
    (
        "live",
        "what a session proposes on real servers with one thing made wrong, and what p99 clients see before and after",
    ),
    ("faults", "servers made wrong by hand under a load: what one look names, and what its cure makes go away"),
    ("attacks", "what strangers, bad tokens, a hostile service, generated requests and SIGKILL can do"),
    ("memory", "what a fleet's past adds to a session, what asking it costs, and what training takes"),
    ("promotion", "whether the rule promotes what is better, sees what is worse, and leaves alone what is equal"),
    ("tuning", "the recommender on measured tables: raced with its peers, its intervals, its safe mode and its speed"),
)


def main(arguments: list[str]) -> None:
    names = [name for name, _ in BENCHMARKS]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("\n".join(f"{name:20} {sentence}" for name, sentence in BENCHMARKS))
        return
    name, *rest = arguments
    if name not in names:
        sys.exit(f"no benchmark {name!r}; there are: {', '.join(names)}")
    sys.argv = [f"benchmarks.{name}", *rest]
    runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
