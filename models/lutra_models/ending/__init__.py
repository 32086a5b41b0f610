"""May a window end early: by what it has read so far, whether it can still come to its level."""

from lutra_models.ending.rule import LEAST_READINGS, LEAST_SHARE, Level, Outlook, ended, outlook

__all__ = ["LEAST_READINGS", "LEAST_SHARE", "Level", "Outlook", "ended", "outlook"]
