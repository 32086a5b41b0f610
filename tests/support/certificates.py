"""An authority of one's own and a server's certificate of it, as people make them with openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.engines import program

NEW = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def authority(folder: Path, name: str = "ca") -> Path:
    """The authority's certificate; its key is beside it."""
    made = folder / f"{name}.pem"
    _openssl("-subj", f"/CN=lutra test {name}", "-keyout", str(_key(made)), "-out", str(made))
    return made


def server_options(folder: Path, ca: Path, address: str = "127.0.0.1") -> dict[str, str]:
    """What a server of the MySQL family takes, to prove that it is at `address`."""
    made = folder / "server.pem"
    names = ("-subj", "/CN=lutra test server", "-addext", f"subjectAltName=IP:{address}")
    _openssl("-CA", str(ca), "-CAkey", str(_key(ca)), *names, "-keyout", str(_key(made)), "-out", str(made))
    for path in (folder, ca, made, _key(made)):
        path.chmod(0o755 if path.is_dir() else 0o644)  # for the server's account
    return {"ssl_ca": str(ca), "ssl_cert": str(made), "ssl_key": str(_key(made))}


def _key(certificate: Path) -> Path:
    return certificate.with_suffix(".key")


def _openssl(*arguments: str) -> None:
    subprocess.run([program("openssl"), *NEW, *arguments], check=True, capture_output=True)
