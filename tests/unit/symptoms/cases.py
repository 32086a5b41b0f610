"""For each symptom a server and an hour that show it, what makes it silent, and the settings that it then moves."""

from __future__ import annotations

from tests.unit.symptoms.host import HOST, MACHINE
from tests.unit.symptoms.mysql import MYSQLDS
from tests.unit.symptoms.mysql_safety import MYSQL_SAFETY
from tests.unit.symptoms.mysql_work import MYSQL_WORK
from tests.unit.symptoms.postgresql import HARM, POSTGRESQL
from tests.unit.symptoms.postgresql_safety import SAFETY
from tests.unit.symptoms.postgresql_work import WORK
from tests.unit.symptoms.redis import REDIS, REDIS_COSTS, REDIS_HARM

CASES = (
    *POSTGRESQL,
    *HARM,
    *SAFETY,
    *WORK,
    *HOST,
    *MACHINE,
    *MYSQLDS,
    *MYSQL_SAFETY,
    *MYSQL_WORK,
    *REDIS,
    *REDIS_HARM,
    *REDIS_COSTS,
)
