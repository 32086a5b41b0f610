"""How good predictions were: one forecast and what was measured, many of them, a model version's scorecard, and one
version beside another."""

from lutra_models.scores.card import LEAST_TRIALS, scorecard
from lutra_models.scores.comparison import Comparison, compared
from lutra_models.scores.forecasts import Forecast, rank_correlation, tally

__all__ = ["LEAST_TRIALS", "Comparison", "Forecast", "compared", "rank_correlation", "scorecard", "tally"]
