//! One large group of rows with a column of each kind that aggregates read, and changes of single rows in it; the same on every server.
//!
//! A row follows from its number and from how often it was written, so that two systems with the same history have the same rows.

use postgres::{Client, Statement};

use crate::maintained::copy;
use crate::measure::Random;
use crate::server::{Failure, Server};

/// So many rows in group 1, numbered from 1.
pub struct Facts {
    /// How many.
    pub rows: u64,
    /// Of their values.
    pub seed: u64,
}

/// The values of one row at one time.
struct Values {
    amount: i32,
    price: String,
    weight: f64,
    lasting: String,
    kind: i32,
    label: String,
    parent: Option<i32>,
}

impl Facts {
    /// Makes the tables `facts` and `groups`, and fills them.
    pub fn fill(&self, server: &Server) -> Result<(), Failure> {
        server.connect()?.batch_execute(
            "CREATE TABLE groups (id int PRIMARY KEY, name text NOT NULL);
             INSERT INTO groups VALUES (1, 'the large one'), (2, 'an empty one'), (3, 'another empty one');
             CREATE TABLE facts (id int PRIMARY KEY, grp int NOT NULL, amount int NOT NULL, price numeric(12, 2) NOT NULL,
                weight float8 NOT NULL, lasting interval NOT NULL, kind int NOT NULL, label text NOT NULL, parent int);
             CREATE INDEX facts_grp ON facts (grp);
             CREATE INDEX facts_parent ON facts (parent)",
        )?;
        let lines = (1..=self.rows).map(|id| {
            let Values { amount, price, weight, lasting, kind, label, parent } = self.values(id, 0);
            let parent = parent.map_or("\\N".to_string(), |parent| parent.to_string());
            format!("{id}\t1\t{amount}\t{price}\t{weight}\t{lasting}\t{kind}\t{label}\t{parent}")
        });
        copy(server, "facts", lines)?;
        server.connect()?.batch_execute("VACUUM facts")?;
        Ok(())
    }

    /// Removes the tables again.
    pub fn drop(server: &Server) -> Result<(), Failure> {
        Ok(server.connect()?.batch_execute("DROP TABLE facts; DROP TABLE groups")?)
    }

    /// Each row's parent has a lower number: a tree, whose paths are short.
    fn values(&self, id: u64, written: u64) -> Values {
        let mut random = Random::new(self.seed + id * 1_000_003 + written * 7_919);
        random.below(2);
        let cents = random.below(1_000_000);
        Values {
            amount: random.below(1_000_000) as i32,
            price: format!("{}.{:02}", cents / 100, cents % 100),
            // Quarters, so that sums are exact in any order.
            weight: random.below(4_096) as f64 / 4.0,
            lasting: format!("{} seconds", random.below(86_400)),
            kind: random.below(100) as i32,
            label: format!("label{:04}", random.below(10_000)),
            parent: (id > 1).then(|| 1 + random.below(id - 1) as i32),
        }
    }
}

/// Commits of one row each on one connection: one comes, one changes, the first goes again.
pub struct Changes<'a> {
    client: Client,
    facts: &'a Facts,
    done: u64,
    statements: [Statement; 3],
}

impl<'a> Changes<'a> {
    /// So many commits leave as many rows as before.
    pub const ROUND: u64 = 3;

    /// Goes on after so many.
    pub fn new(server: &Server, facts: &'a Facts, done: u64) -> Result<Changes<'a>, Failure> {
        let mut client = server.connect()?;
        let statements = [
            client.prepare(
                "INSERT INTO facts (grp, id, amount, price, weight, lasting, kind, label, parent) \
                 VALUES (1, $1, $2, $3::text::numeric, $4, $5::text::interval, $6, $7, $8)",
            )?,
            client.prepare(
                "UPDATE facts SET amount = $2, price = $3::text::numeric, weight = $4, lasting = $5::text::interval, kind = $6, label = $7, \
                 parent = $8 WHERE id = $1",
            )?,
            client.prepare("DELETE FROM facts WHERE id = $1")?,
        ];
        Ok(Changes { client, facts, done, statements })
    }

    /// The next commit.
    pub fn one(&mut self) -> Result<(), Failure> {
        let (round, step) = (self.done / Changes::ROUND, self.done % Changes::ROUND);
        let new = self.facts.rows + 1 + round;
        let mut random = Random::new(self.facts.seed + 31 * round);
        let id = if step == 1 { 1 + random.below(self.facts.rows) } else { new };
        let number = i32::try_from(id)?;
        let written = match step {
            2 => self.client.execute(&self.statements[2], &[&number])?,
            _ => {
                let row = self.facts.values(id, 1 + round);
                let Values { amount, price, weight, lasting, kind, label, parent } = &row;
                let statement = &self.statements[usize::from(step == 1)];
                self.client.execute(statement, &[&number, amount, price, weight, lasting, kind, label, parent])?
            }
        };
        if written != 1 {
            return Err(format!("a change of row {id} concerned {written} rows").into());
        }
        self.done += 1;
        Ok(())
    }
}
