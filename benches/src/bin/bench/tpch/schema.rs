//! The eight tables of TPC-H. Customers are the people here: an order is its customer's, a line its order's.

use crate::server::{Failure, Kind, Server};

/// The tables; `$…` stands for what differs.
const TABLES: &str = "
CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name text NOT NULL, r_comment text NOT NULL);
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name text NOT NULL, n_regionkey int NOT NULL REFERENCES region, n_comment text NOT NULL);
CREATE TABLE supplier (s_suppkey int PRIMARY KEY, s_name text NOT NULL, s_address text NOT NULL, s_nationkey int NOT NULL REFERENCES nation,
    s_phone text NOT NULL, s_acctbal numeric(15, 2) NOT NULL, s_comment text NOT NULL);
CREATE $subject TABLE customer (c_custkey int PRIMARY KEY, c_name text NOT NULL, c_address text NOT NULL, c_nationkey int NOT NULL REFERENCES nation,
    c_phone text NOT NULL, c_acctbal numeric(15, 2) NOT NULL, c_mktsegment text NOT NULL, c_comment text NOT NULL);
CREATE TABLE part (p_partkey int PRIMARY KEY, p_name text NOT NULL, p_mfgr text NOT NULL, p_brand text NOT NULL, p_type text NOT NULL,
    p_size int NOT NULL, p_container text NOT NULL, p_retailprice numeric(15, 2) NOT NULL, p_comment text NOT NULL);
CREATE TABLE partsupp (ps_partkey int NOT NULL REFERENCES part, ps_suppkey int NOT NULL REFERENCES supplier, ps_availqty int NOT NULL,
    ps_supplycost numeric(15, 2) NOT NULL, ps_comment text NOT NULL, PRIMARY KEY (ps_partkey, ps_suppkey));
CREATE TABLE orders (o_orderkey int PRIMARY KEY, o_custkey int NOT NULL $owned customer(c_custkey), o_orderstatus text NOT NULL,
    o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority text NOT NULL, o_clerk text NOT NULL,
    o_shippriority int NOT NULL, o_comment text NOT NULL);
CREATE TABLE lineitem (l_orderkey int NOT NULL $owned orders(o_orderkey), l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int NOT NULL,
    l_quantity numeric(15, 2) NOT NULL, l_extendedprice numeric(15, 2) NOT NULL, l_discount numeric(15, 2) NOT NULL, l_tax numeric(15, 2) NOT NULL,
    l_returnflag text NOT NULL, l_linestatus text NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL, l_receiptdate date NOT NULL,
    l_shipinstruct text NOT NULL, l_shipmode text NOT NULL, l_comment text NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber),
    FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp (ps_partkey, ps_suppkey))";

/// Indexes on what references: Dogwood has those of foreign keys already.
const OF_FOREIGN_KEYS: &str = "
CREATE INDEX ON nation (n_regionkey);
CREATE INDEX ON supplier (s_nationkey);
CREATE INDEX ON customer (c_nationkey);
CREATE INDEX ON partsupp (ps_suppkey);
CREATE INDEX ON orders (o_custkey);
CREATE INDEX ON lineitem (l_partkey, l_suppkey)";

/// On both: what joins by a part of a key.
const FURTHER: &str = "CREATE INDEX lineitem_supplier ON lineitem (l_suppkey)";

/// Makes the tables with their indexes.
pub fn make(server: &Server) -> Result<(), Failure> {
    let (subject, owned) = match server.kind {
        Kind::Dogwood => ("DATA_SUBJECT", "OWNED_BY"),
        Kind::PostgreSql => ("", "REFERENCES"),
    };
    let mut client = server.connect()?;
    client.batch_execute(&TABLES.replace("$subject", subject).replace("$owned", owned))?;
    if server.kind == Kind::PostgreSql {
        client.batch_execute(OF_FOREIGN_KEYS)?;
    }
    Ok(client.batch_execute(FURTHER)?)
}
