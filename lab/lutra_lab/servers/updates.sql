\set a1 random(1, 100000 * :scale)
\set a2 random(1, 100000 * :scale)
\set a3 random(1, 100000 * :scale)
\set a4 random(1, 100000 * :scale)
\set a5 random(1, 100000 * :scale)
\set a6 random(1, 100000 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid IN (:a1, :a2, :a3, :a4, :a5, :a6);
SELECT abalance FROM pgbench_accounts WHERE aid = :a1;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :a1, :delta, CURRENT_TIMESTAMP);
END;
