\set first random(1, 100000 * :scale - 20000)
SELECT aid, md5(aid::text) AS word FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 20000 ORDER BY word LIMIT 10;
