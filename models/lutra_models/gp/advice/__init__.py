"""The next step on a live database: what evidence speaks for, what its readings have taught, or nothing."""

from lutra_models.gp.advice.advise import Advised, advise

__all__ = ["Advised", "advise"]
