"""`python -m benchmarks attacks` lists the attacks; `… attacks NAME --help` says what each can be told."""

from __future__ import annotations

import runpy
import sys

ATTACKS: tuple[tuple[str, str], ...] = (
    ("strangers", "everything that a stranger without a token can do at once: memory, /healthz, agents' reports"),
    ("bad_token", "one agent's token gone bad: the other databases' answers, and the disk that it can fill"),
    ("plugin", "a package that means harm among the candidates: the other databases' recommendations"),
    ("hostile_service", "a service that lies to real agents beside real servers, for an hour of simulated time"),
    ("fuzz", "generated requests over six scopes and two stores: 5xx, undocumented answers, foreign data"),
    ("kills", "SIGKILL to service, worker, store and agent under load: what was acknowledged, lost and doubled"),
)


def main(arguments: list[str]) -> None:
    names = [name for name, _ in ATTACKS]
    if not arguments or arguments[0] in ("-h", "--help"):
        print("\n".join(f"{name:16} {sentence}" for name, sentence in ATTACKS))
        return
    name, *rest = arguments
    name = name.replace("-", "_")
    if name not in names:
        sys.exit(f"no attack {name!r}; there are: {', '.join(names)}")
    sys.argv = [f"benchmarks.attacks.{name}", *rest]
    runpy.run_module(f"benchmarks.attacks.{name}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
