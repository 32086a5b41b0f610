"""The quality of predictions: one forecast and its reading, many of them, a model version's scorecard, and the
comparison of two versions.
"""

from lutra_models.scores.card import LEAST_TRIALS, scorecard
from lutra_models.scores.comparison import Comparison, compared
from lutra_models.scores.forecasts import Forecast, rank_correlation, tally

__all__ = ["LEAST_TRIALS", "Comparison", "Forecast", "compared", "rank_correlation", "scorecard", "tally"]
