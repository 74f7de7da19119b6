//! Articles and votes: people, what they wrote, and who voted for it; the same rows on every server.
//!
//! Everything follows from the numbers, so that each answer is known without asking.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::maintained::copy;
use crate::server::{Failure, Kind, Server};

/// Votes for each article at first.
pub const VOTES_EACH: u64 = 40;
/// The query of a page: an article with the number of its votes.
pub const COUNT: &str = "SELECT a.id, a.title, count(v.id) FROM articles a LEFT JOIN votes v ON v.article = a.id WHERE a.id = $1 \
    GROUP BY a.id, a.title";
/// A vote.
pub const VOTE: &str = "INSERT INTO votes (id, voter, article) VALUES ($1, $2, $3)";

/// So many people, each with one article.
pub struct Articles {
    /// How many.
    pub people: u64,
    next_vote: AtomicI64,
}

impl Articles {
    /// With the first votes counted.
    pub fn new(people: u64) -> Articles {
        let articles = Articles { people, next_vote: AtomicI64::new(0) };
        articles.next_vote.store(articles.votes(), Ordering::Relaxed);
        articles
    }

    /// Votes at the beginning: the number that the next one gets.
    pub fn votes(&self) -> i64 {
        i64::try_from(self.people * VOTES_EACH).unwrap_or(i64::MAX)
    }

    /// An article's title.
    pub fn title(article: u64) -> String {
        format!("On the matter of {article:08}")
    }

    /// A vote's number that nobody has.
    pub fn fresh_vote(&self) -> i64 {
        self.next_vote.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes the tables and fills them.
    pub fn fill(&self, server: &Server) -> Result<(), Failure> {
        let mut client = server.connect()?;
        let (subject, owned, plain) = match server.kind {
            Kind::Dogwood => ("DATA_SUBJECT ", "OWNED_BY", "REFERENCES ONLY"),
            Kind::PostgreSql => ("", "REFERENCES", "REFERENCES"),
        };
        client.batch_execute(&format!(
            "CREATE {subject}TABLE people (id int PRIMARY KEY, name text NOT NULL);
             CREATE TABLE articles (id int PRIMARY KEY, author int NOT NULL {owned} people(id), title text NOT NULL);
             CREATE TABLE votes (id bigint PRIMARY KEY, voter int NOT NULL {owned} people(id),
                article int NOT NULL {plain} articles(id) ON DELETE CASCADE)"
        ))?;
        if server.kind == Kind::PostgreSql {
            client.batch_execute(
                "CREATE INDEX ON articles (author); CREATE INDEX ON votes (voter); CREATE INDEX ON votes (article)",
            )?;
        }
        let people = self.people;
        copy(server, "people", (0..people).map(|id| format!("{id}\tname{id}")))?;
        copy(server, "articles", (0..people).map(|id| format!("{id}\t{id}\t{}", Articles::title(id))))?;
        let votes = 0..people * VOTES_EACH;
        copy(
            server,
            "votes",
            votes.map(|id| format!("{id}\t{}\t{}", (id / people * 7_919 + id) % people, id % people)),
        )?;
        if server.kind == Kind::PostgreSql {
            client.batch_execute("VACUUM ANALYZE")?;
        }
        Ok(())
    }
}
