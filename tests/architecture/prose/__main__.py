"""Check every text that a user reads against the style: `python -m tests.architecture.prose`, a part of `make lint`."""

from __future__ import annotations

import sys
from itertools import chain

from tests.architecture.prose.check import hard_sentences, private_words
from tests.architecture.prose.texts import (
    catalogues,
    docstrings,
    documentation,
    help_texts,
    messages,
    rest_descriptions,
)


def main() -> int:
    faults = sorted({*private_words(texts()), *hard_sentences(texts())})
    print("\n".join(faults) or "The prose keeps the style.")
    return 1 if faults else 0


def texts() -> chain[object]:
    return chain(documentation(), docstrings(), help_texts(), rest_descriptions(), messages(), catalogues())


if __name__ == "__main__":
    sys.exit(main())
