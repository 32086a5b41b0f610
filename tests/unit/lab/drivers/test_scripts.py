from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lutra_lab.drivers.pgbench import count_statements


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("SELECT 1;", 1),
        ("BEGIN;\nUPDATE t SET a = 1;\nEND;\n", 3),
        ("\\set id random(1, 10)\nSELECT a FROM t WHERE id = :id;", 1),
        ("SELECT ';' ; -- a; comment; \nSELECT \"a;b\";", 2),
        ("SELECT $x$ ; ; $x$;", 1),
        ("/* nothing; here */", 0),
        ("SELECT 1 \\; SELECT 2;", 2),
        ("SELECT 1", 1),
        ("\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n", 2),
        (";;", 0),
    ],
)
def test_every_statement_that_the_client_sends_is_counted(script: str, statements: int) -> None:
    assert count_statements(script) == statements


def test_a_script_that_branches_has_no_fixed_number_of_statements() -> None:
    assert count_statements("\\if :x\nSELECT 1;\n\\endif") is None


@given(st.text(max_size=200))
def test_counting_is_total(script: str) -> None:
    count = count_statements(script)
    assert count is None or count >= 0
