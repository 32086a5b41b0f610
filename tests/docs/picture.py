"""`python -m tests.docs.picture` makes the README's picture anew: the page of `lutra check` about a real PostgreSQL.

The server is a scratch one with two settings made wrong, under two clients of pgbench that update and one that sorts.
It needs chromium, which renders the page in the browser's light and dark scheme.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from lutra_lab.servers.postgresql import ScratchPostgres

DOCS = Path(__file__).parents[2] / "docs"
WRONG = {"work_mem": "256kB", "max_wal_size": "64MB", "autovacuum": "off"}
SORTING = "SELECT count(*) FROM (SELECT abalance, filler FROM pgbench_accounts ORDER BY filler, abalance) AS sorted;"
SECONDS = 30
SIZE = "1000,880"
SCHEMES = {"dark": "0", "light": "1"}
"""By name, chromium's number for it."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "check.html"
        with ScratchPostgres(Path(folder) / "server", options=WRONG) as server:
            server.fill(20)
            _look(server, Path(folder), page)
        for scheme, number in SCHEMES.items():
            _draw(page, DOCS / f"check-{scheme}.png", number)


def _look(server: ScratchPostgres, folder: Path, page: Path) -> None:
    sorting = folder / "sorting.sql"
    sorting.write_text(SORTING)
    where = ["-h", server.host, "-p", str(server.port), "-U", server.user, "-n", "-T", "600", server.dbname]
    pgbench = str(server.bin_dir / "pgbench")
    loads = [[pgbench, "-c", "2", *where], [pgbench, "-f", str(sorting), *where]]
    clients = [subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for load in loads]
    try:
        url = f"postgresql://{server.user}@{server.host}:{server.port}/{server.dbname}"
        options = ["--seconds", str(SECONDS), "--html", str(page)]
        subprocess.run([str(Path(sys.executable).with_name("lutra")), "check", url, *options], check=False)
    finally:
        for client in clients:
            client.kill()
            client.wait()


def _draw(page: Path, picture: Path, scheme: str) -> None:
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}"]
    options += [f"--user-data-dir={page.parent / 'browser'}", f"--blink-settings=preferredColorScheme={scheme}"]
    subprocess.run(
        ["chromium", *options, f"--screenshot={picture}", page.as_uri()],
        check=True,
        timeout=120,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
