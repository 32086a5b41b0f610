"""What symptoms and rules say of a live server together: the evidence that a live recommendation rests on."""

from lutra_models.assessment.assess import assess
from lutra_models.assessment.rows import RuleRow, rule_rows

__all__ = ["RuleRow", "assess", "rule_rows"]
