"""The next step on a live database: the recommendation of the evidence, of its readings, or none."""

from lutra_models.gp.advice.advise import Advised, advise

__all__ = ["Advised", "advise"]
