-- Each event makes a temporary table of 20,000 rows, some 2.5 MB.
require("oltp_common")

local SPAN = 20000

function prepare_statements() end

function event()
   local first = sysbench.rand.uniform(1, math.max(1, sysbench.opt.table_size - SPAN))
   con:query(string.format(
      "SELECT COUNT(*) FROM (SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN %d AND %d) s",
      sysbench.rand.uniform(1, sysbench.opt.tables), first, first + SPAN))
end
