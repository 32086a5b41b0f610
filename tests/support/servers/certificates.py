"""An authority of one's own and a server's certificate of it, as people make them with openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lutra_lab.servers.account import account

from tests.support.servers.engines import program

NEW = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def authority(folder: Path, name: str = "ca") -> Path:
    """The authority's certificate; its key is beside it."""
    made = folder / f"{name}.pem"
    _openssl("-subj", f"/CN=lutra test {name}", "-keyout", str(_key(made)), "-out", str(made))
    return made


def server(folder: Path, ca: Path, address: str = "127.0.0.1") -> tuple[Path, Path]:
    """A certificate by which a server proves that it is at `address`, and its key: its account's own."""
    made = folder / "server.pem"
    names = ("-subj", "/CN=lutra test server", "-addext", f"subjectAltName=IP:{address}")
    _openssl("-CA", str(ca), "-CAkey", str(_key(ca)), *names, "-keyout", str(_key(made)), "-out", str(made))
    folder.chmod(0o755)
    for path in (ca, made):
        path.chmod(0o644)
    account().own(_key(made))
    return made, _key(made)


def _key(certificate: Path) -> Path:
    return certificate.with_suffix(".key")


def _openssl(*arguments: str) -> None:
    subprocess.run([program("openssl"), *NEW, *arguments], check=True, capture_output=True)
