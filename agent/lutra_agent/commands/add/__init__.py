"""`lutra add URL`, `lutra remove NAME` and `lutra-agent enrol`: from a server's URL to an agent that measures."""
