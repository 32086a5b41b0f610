-- Each event sorts 20,000 rows of one table by what no index orders; its server needs some 3 MB for it.
require("oltp_common")

local SPAN = 20000

function prepare_statements() end

function event()
   local first = sysbench.rand.uniform(1, math.max(1, sysbench.opt.table_size - SPAN))
   con:query(string.format(
      "SELECT MAX(place) FROM (SELECT ROW_NUMBER() OVER (ORDER BY c) AS place FROM sbtest%d WHERE id BETWEEN %d AND %d) s",
      sysbench.rand.uniform(1, sysbench.opt.tables), first, first + SPAN))
end
