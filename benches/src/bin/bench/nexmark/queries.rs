//! Nexmark's queries q0 to q8 in SQL that can be maintained, and how their answers are compared with those of another engine: as whole numbers and text.

/// One query.
pub struct Query {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub about: &'static str,
    /// The view.
    pub sql: &'static str,
    /// The view's rows as whole numbers and text; `$view` is the view.
    pub plain: &'static str,
}

/// In order.
pub const QUERIES: [Query; 9] = [
    Query {
        name: "q0",
        about: "all bids",
        sql: "SELECT number, auction, bidder, price, date_time FROM bid",
        plain: "SELECT number, auction, bidder, price, $us(date_time) FROM $view",
    },
    Query {
        name: "q1",
        about: "prices in another currency",
        sql: "SELECT number, auction, bidder, 0.908 * price AS price, date_time FROM bid",
        plain: "SELECT number, auction, bidder, (price * 1000)::bigint, $us(date_time) FROM $view",
    },
    Query {
        name: "q2",
        about: "bids for some auctions",
        sql: "SELECT number, auction, price FROM bid WHERE auction % 123 = 0",
        plain: "SELECT number, auction, price FROM $view",
    },
    Query {
        name: "q3",
        about: "who sells in a category from some states",
        sql: "SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id \
              WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
        plain: "SELECT name, city, state, id FROM $view",
    },
    Query {
        name: "q4",
        about: "the mean of winning bids by category",
        sql: "SELECT category, avg(final) AS mean FROM ( \
                SELECT a.id, a.category, max(b.price) AS final FROM auction a JOIN bid b ON b.auction = a.id \
                WHERE b.date_time >= a.date_time AND b.date_time <= a.expires GROUP BY a.id, a.category) AS won \
              GROUP BY category",
        plain: "SELECT category, floor(mean)::bigint FROM $view",
    },
    Query {
        name: "q5",
        about: "the auctions with most bids of ten seconds, every two seconds",
        sql: "WITH counted AS ( \
                SELECT auction, date_bin('2 seconds', date_time, TIMESTAMP '2020-01-01') - back * interval '2 seconds' AS starts, count(*) AS bids \
                FROM bid CROSS JOIN (VALUES (0), (1), (2), (3), (4)) AS hop (back) GROUP BY 1, 2) \
              SELECT c.starts, c.auction, c.bids FROM counted c \
              JOIN (SELECT starts, max(bids) AS most FROM counted GROUP BY starts) AS m ON m.starts = c.starts AND m.most = c.bids",
        plain: "SELECT $us(starts), auction, bids FROM $view",
    },
    Query {
        name: "q6",
        about: "the mean of a seller's last ten winning bids",
        sql: "SELECT seller, avg(final) AS mean FROM ( \
                SELECT seller, final, row_number() OVER (PARTITION BY seller ORDER BY expires DESC, id DESC) AS place FROM ( \
                    SELECT a.id, a.seller, a.expires, max(b.price) AS final FROM auction a JOIN bid b ON b.auction = a.id \
                    WHERE b.date_time >= a.date_time AND b.date_time <= a.expires GROUP BY a.id, a.seller, a.expires) AS won) AS placed \
              WHERE place <= 10 GROUP BY seller",
        plain: "SELECT seller, floor(mean)::bigint FROM $view",
    },
    Query {
        name: "q7",
        about: "the highest bid of each ten seconds",
        sql: "SELECT b.number, b.auction, b.bidder, b.price, b.date_time FROM bid b \
              JOIN (SELECT date_bin('10 seconds', date_time, TIMESTAMP '2020-01-01') AS starts, max(price) AS highest FROM bid GROUP BY 1) AS m \
              ON m.highest = b.price AND m.starts = date_bin('10 seconds', b.date_time, TIMESTAMP '2020-01-01')",
        plain: "SELECT number, auction, bidder, price, $us(date_time) FROM $view",
    },
    Query {
        name: "q8",
        about: "who opened an auction within ten seconds of coming",
        sql: "SELECT DISTINCT p.id, p.name, date_bin('10 seconds', p.date_time, TIMESTAMP '2020-01-01') AS starts \
              FROM person p JOIN auction a ON a.seller = p.id AND date_bin('10 seconds', a.date_time, TIMESTAMP '2020-01-01') \
                = date_bin('10 seconds', p.date_time, TIMESTAMP '2020-01-01')",
        plain: "SELECT id, name, $us(starts) FROM $view",
    },
];

impl Query {
    /// The query of its rows as whole numbers and text.
    pub fn plain(&self) -> String {
        let sql = self.plain.replace("$view", self.name);
        let Some((before, rest)) = sql.split_once("$us(") else { return sql };
        let (column, after) = rest.split_once(')').unwrap_or((rest, ""));
        format!("{before}(extract(epoch FROM {column}) * 1000000)::bigint{after}")
    }
}
