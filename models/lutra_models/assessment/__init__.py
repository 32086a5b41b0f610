"""The combined evidence of symptoms and rules about a live server: the basis of a live recommendation."""

from lutra_models.assessment.assess import assess
from lutra_models.assessment.rows import RuleRow, rule_rows

__all__ = ["RuleRow", "assess", "rule_rows"]
