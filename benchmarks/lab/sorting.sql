\set first random(1, 100000 * :scale - 20000)
SELECT max(place) FROM (
  SELECT row_number() OVER (ORDER BY md5(aid::text)) AS place
  FROM pgbench_accounts WHERE aid BETWEEN :first AND :first + 20000
) AS ordered;
