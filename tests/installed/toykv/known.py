"""What the suites want to know of the engine: values to change, and commands that read and load it."""

from tests.support.servers.families import Family

FAMILY = Family(
    at_once={"cache": 1024, "compress": "yes", "clients": 200},
    with_restart={"readers": 4},
    prevents_boot={"arena": 1 << 30},
    refused={"cache": -1},
    settings="ACTIVE",
    work="GET k1",
    store=("PUT kept 7",),
    stored="GET kept",
    most_connections="clients",
    host_file="host_file",
    on_host={"readahead": 512, "hugepages": "yes"},
    refused_by_host={"readahead": 510},
)
KNOWN = ("toykv", FAMILY)
