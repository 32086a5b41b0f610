"""/docs"""
from __future__ import annotations

from fastapi import FastAPI


def install(app: FastAPI) -> None: ...
