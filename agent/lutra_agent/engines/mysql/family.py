from __future__ import annotations

import configparser
import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from lutra_agent.engines.common.account import Accounts
from lutra_agent.engines.common.address import Addresses, Table, Url, parsed, system_authorities
from lutra_agent.engines.common.engine import Engine, Family, needs_extra
from lutra_agent.engines.mysql.server.section import MariadbDatabase, MysqlDatabase
from lutra_agent.engines.mysql.server.sockets import SOCKETS
from lutra_agent.errors import ConfigError
from lutra_agent.files.secrets import exposed

OPTION_FILE = Path("~/.my.cnf")
PASSWORD_VARIABLE = "MYSQL_PWD"  # noqa: S105
FOLDERS = ("/run/mysqld", "/var/run/mysqld", "/var/lib/mysql", "/tmp")  # noqa: S108
PORT = 3306
OPTIONS = ("unix_socket", "socket", "group", "ssl_ca", "ssl_mode")
UNVERIFIED = ("", "PREFERRED", "DISABLED")
VERIFIED = {"REQUIRED": "ca", "VERIFY_CA": "ca", "VERIFY_IDENTITY": "identity"}


def table(address: str) -> Table:
    """Missing parts of the URL come from the option file's group `[client]`, and from `?group=` if the URL names one.

    The file's password becomes the variable that the clients read.
    """
    url = parsed(address, OPTIONS)
    file = _option_file(url.options.get("group"))
    if "password" in file:
        os.environ[PASSWORD_VARIABLE] = file["password"]
    port = str(url.port or file.get("port") or PORT)
    if not port.isdecimal():
        raise ConfigError(f"{OPTION_FILE}: port = {port!r} is not a number")
    return {
        "host": _host(url, file),
        "port": int(port),
        "user": url.user or file.get("user") or getpass.getuser(),
        "dbname": url.path.strip("/"),
        **_tls({**file, **url.options}),
    }


def _host(url: Url, file: Mapping[str, str]) -> str:
    """As the clients have it: `localhost` means the socket, unless a port is named."""
    host = url.host or file.get("host", "")
    socket = url.options.get("unix_socket") or url.options.get("socket") or ("" if url.host else file.get("socket"))
    if socket:
        return socket
    if host not in ("", "localhost") or url.port:
        return host or "127.0.0.1"
    places = (Path(folder, name) for folder in FOLDERS for name in SOCKETS)
    return next((str(place) for place in places if place.exists()), "127.0.0.1")


def _tls(options: Mapping[str, str]) -> Table:
    mode, authority = options.get("ssl_mode", "").upper(), options.get("ssl_ca", "")
    if mode not in (*UNVERIFIED, *VERIFIED):
        raise ConfigError(f"ssl-mode={mode} is not one of {', '.join((*UNVERIFIED[1:], *VERIFIED))}")
    if mode == "DISABLED" or (mode in UNVERIFIED and not authority):
        return {}
    return {"tls_ca": authority or system_authorities(), "tls_verify": VERIFIED.get(mode, "ca")}


def _option_file(group: str | None) -> dict[str, str]:
    """The options of its groups for clients. Raises ConfigError for a group that it does not have."""
    path, parser = OPTION_FILE.expanduser(), configparser.RawConfigParser(allow_no_value=True, strict=False)
    try:
        with path.open(encoding="utf-8") as file:
            lines = [line for line in file if not line.lstrip().startswith("!")]
            parser.read_file(lines)
            found = {n: v for name in ("client", group) if name and name in parser for n, v in parser[name].items()}
            if "password" in found:
                exposed(path, os.fstat(file.fileno()))
    except FileNotFoundError:
        found = {}
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        raise ConfigError(f"{OPTION_FILE} cannot be read: {' '.join(str(error).split())}") from None
    if group is not None and group not in parser:
        raise ConfigError(f"{OPTION_FILE} has no group [{group}]")
    return {name.replace("-", "_"): (value or "").strip("'\"") for name, value in found.items()}


WORDS = {
    "database.password_file or MYSQL_PWD": "password in [client] of ~/.my.cnf, or MYSQL_PWD",
    "the server's socket as database.host": "the server's socket in the URL (?socket=/run/mysqld/mysqld.sock)",
    "its authority as database.tls_ca": "its authority (ssl-ca=FILE)",
    "database.tls_ca": "ssl-ca=FILE in the URL",
    "# include_file": "# in an option file of the server, such as /etc/mysql/mariadb.conf.d/99-lutra.cnf",
}
NO_PASSWORD = "using password: NO"  # noqa: S105
MYSQL_ADDRESSES = Addresses(("mysql://",), table, NO_PASSWORD, WORDS)
MARIADB_ADDRESSES = Addresses(("mariadb://",), table, NO_PASSWORD, WORDS)


def _open_mysql(database: MysqlDatabase) -> Engine:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mysql
    return open_mysql(database)


def _open_mariadb(database: MariadbDatabase) -> Engine:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.engine import open_mariadb
    return open_mariadb(database)


def _mysql_accounts(database: MysqlDatabase) -> Accounts:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.account import MysqlAccounts
    return MysqlAccounts(database)


def _mariadb_accounts(database: MariadbDatabase) -> Accounts:
    with needs_extra("mysql"):
        from lutra_agent.engines.mysql.account import MariadbAccounts
    return MariadbAccounts(database)


MYSQL = Family("mysql", PASSWORD_VARIABLE, MysqlDatabase, _open_mysql, MYSQL_ADDRESSES, _mysql_accounts)
MARIADB = Family("mariadb", PASSWORD_VARIABLE, MariadbDatabase, _open_mariadb, MARIADB_ADDRESSES, _mariadb_accounts)
