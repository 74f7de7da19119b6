//! The 22 queries of TPC-H as views: their shape, with literals for our words, a name for each column, and orders without ties.

/// Each by its number. `$fraction` of query 11 follows the scale.
pub const QUERIES: [&str; 22] = [
    // 1: what was shipped, by its state.
    "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS base, \
        sum(l_extendedprice * (1 - l_discount)) AS discounted, sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charged, \
        avg(l_quantity) AS mean_quantity, avg(l_extendedprice) AS mean_price, avg(l_discount) AS mean_discount, count(*) AS lines \
     FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    // 2: who supplies a part for the least.
    "SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment \
     FROM part, supplier, partsupp, nation, region \
     WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 15 AND p_type LIKE '%BRASS' AND s_nationkey = n_nationkey \
        AND n_regionkey = r_regionkey AND r_name = 'EUROPE' AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region \
            WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'EUROPE') \
     ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100",
    // 3: open orders of most worth.
    "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority \
     FROM customer, orders, lineitem \
     WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < DATE '1995-03-15' \
        AND l_shipdate > DATE '1995-03-15' \
     GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10",
    // 4: orders with a late line.
    "SELECT o_orderpriority, count(*) AS orders FROM orders \
     WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' \
        AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) \
     GROUP BY o_orderpriority ORDER BY o_orderpriority",
    // 5: trade within a nation.
    "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, supplier, nation, region \
     WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey \
        AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA' \
        AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' \
     GROUP BY n_name ORDER BY revenue DESC, n_name",
    // 6: what smaller discounts would have brought.
    "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem \
     WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    // 7: trade between two nations.
    "SELECT supplies, orders, year, sum(volume) AS revenue FROM ( \
        SELECT n1.n_name AS supplies, n2.n_name AS orders, extract(year FROM l_shipdate) AS year, l_extendedprice * (1 - l_discount) AS volume \
        FROM supplier, lineitem, orders, customer, nation n1, nation n2 \
        WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey \
            AND c_nationkey = n2.n_nationkey AND (n1.n_name = 'FRANCE' AND n2.n_name = 'GERMANY' OR n1.n_name = 'GERMANY' AND n2.n_name = 'FRANCE') \
            AND l_shipdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31') AS shipping \
     GROUP BY supplies, orders, year ORDER BY supplies, orders, year",
    // 8: a nation's part of a market.
    "SELECT year, sum(CASE WHEN nation = 'BRAZIL' THEN volume ELSE 0 END) / sum(volume) AS share FROM ( \
        SELECT extract(year FROM o_orderdate) AS year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation \
        FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region \
        WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey \
            AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = 'AMERICA' AND s_nationkey = n2.n_nationkey \
            AND o_orderdate BETWEEN DATE '1995-01-01' AND DATE '1996-12-31' AND p_type LIKE 'ECONOMY%STEEL') AS trade \
     GROUP BY year ORDER BY year",
    // 9: profit by nation and year.
    "SELECT nation, year, sum(amount) AS profit FROM ( \
        SELECT n_name AS nation, extract(year FROM o_orderdate) AS year, l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount \
        FROM part, supplier, lineitem, partsupp, orders, nation \
        WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey AND o_orderkey = l_orderkey \
            AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profits \
     GROUP BY nation, year ORDER BY nation, year DESC",
    // 10: who sent most back.
    "SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment \
     FROM customer, orders, lineitem, nation \
     WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' \
        AND l_returnflag = 'R' AND c_nationkey = n_nationkey \
     GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment ORDER BY revenue DESC, c_custkey LIMIT 20",
    // 11: stock of most value.
    "SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation \
     WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY' GROUP BY ps_partkey \
     HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) * $fraction FROM partsupp, supplier, nation \
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'GERMANY') ORDER BY value DESC, ps_partkey",
    // 12: late lines by mode and priority.
    "SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high, \
        sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low \
     FROM orders, lineitem \
     WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate \
        AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' \
     GROUP BY l_shipmode ORDER BY l_shipmode",
    // 13: customers by the number of their orders.
    "SELECT orders, count(*) AS customers FROM ( \
        SELECT c_custkey, count(o_orderkey) AS orders \
        FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' \
        GROUP BY c_custkey) AS counted \
     GROUP BY orders ORDER BY customers DESC, orders DESC",
    // 14: what promotion brings.
    "SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) \
        / sum(l_extendedprice * (1 - l_discount)) AS promoted \
     FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'",
    // 15: the supplier who sold most.
    "WITH revenue (supplier, total) AS ( \
        SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem \
        WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-04-01' GROUP BY l_suppkey) \
     SELECT s_suppkey, s_name, s_address, s_phone, total FROM supplier, revenue \
     WHERE s_suppkey = supplier AND total = (SELECT max(total) FROM revenue) ORDER BY s_suppkey",
    // 16: who can supply a kind of part.
    "SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS suppliers FROM partsupp, part \
     WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#45' AND p_type NOT LIKE 'MEDIUM POLISHED%' AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9) \
        AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%') \
     GROUP BY p_brand, p_type, p_size ORDER BY suppliers DESC, p_brand, p_type, p_size",
    // 17: what small orders of a part bring.
    "SELECT sum(l_extendedprice) / 7.0 AS yearly FROM lineitem, part \
     WHERE p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container LIKE 'MED%' \
        AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    // 18: very large orders.
    "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS quantity FROM customer, orders, lineitem \
     WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 260) \
        AND c_custkey = o_custkey AND o_orderkey = l_orderkey \
     GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100",
    // 19: parts of three kinds, by air or post: in the paper's own words, with what is common said three times.
    "SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part \
     WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') AND l_quantity >= 1 AND l_quantity <= 11 \
            AND p_size BETWEEN 1 AND 5 AND l_shipmode IN ('AIR', 'POST') AND l_shipinstruct = 'DELIVER IN PERSON') \
        OR (p_partkey = l_partkey AND p_brand = 'Brand#23' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') AND l_quantity >= 10 AND l_quantity <= 20 \
            AND p_size BETWEEN 1 AND 10 AND l_shipmode IN ('AIR', 'POST') AND l_shipinstruct = 'DELIVER IN PERSON') \
        OR (p_partkey = l_partkey AND p_brand = 'Brand#34' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') AND l_quantity >= 20 AND l_quantity <= 30 \
            AND p_size BETWEEN 1 AND 15 AND l_shipmode IN ('AIR', 'POST') AND l_shipinstruct = 'DELIVER IN PERSON')",
    // 20: suppliers with more of a part than they sell.
    "SELECT s_name, s_address FROM supplier, nation \
     WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'forest%') \
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey \
                AND l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01')) \
        AND s_nationkey = n_nationkey AND n_name = 'CANADA' ORDER BY s_name",
    // 21: who alone was late.
    "SELECT s_name, count(*) AS waits FROM supplier, lineitem l1, orders, nation \
     WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F' AND l1.l_receiptdate > l1.l_commitdate \
        AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) \
        AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey \
            AND l3.l_receiptdate > l3.l_commitdate) \
        AND s_nationkey = n_nationkey AND n_name = 'INDIA' \
     GROUP BY s_name ORDER BY waits DESC, s_name LIMIT 100",
    // 22: customers with money and without orders.
    "SELECT code, count(*) AS customers, sum(c_acctbal) AS balance FROM ( \
        SELECT substring(c_phone FROM 1 FOR 2) AS code, c_acctbal FROM customer \
        WHERE substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17') \
            AND c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0.00 \
                AND substring(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17')) \
            AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS idle \
     GROUP BY code ORDER BY code",
];

/// A query at a scale.
pub fn query(number: usize, scale: f64) -> String {
    QUERIES[number - 1].replace("$fraction", &format!("{:.6}", 0.0001 / scale))
}
