"""How good predictions were: one forecast and what was measured, many of them, and a model version's scorecard."""

from lutra_models.scores.card import LEAST_TRIALS, scorecard
from lutra_models.scores.forecasts import Forecast, rank_correlation, tally

__all__ = ["LEAST_TRIALS", "Forecast", "rank_correlation", "scorecard", "tally"]
