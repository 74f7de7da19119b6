//! The core workloads: the same statements for both systems, over the same rows, with answers that are known.

use std::io::Write;
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage, Statement};

use crate::measure::{Random, Workload};
use crate::server::{Failure, Kind, Server};

/// Posts of each person.
pub const POSTS_EACH: u64 = 10;
/// Tables with rows of each person for the subject requests, and rows in each.
pub const SUBJECT_TABLES: [&str; 5] = ["letters", "calls", "visits", "orders", "payments"];
const SUBJECT_ROWS: u64 = 20;

/// The tables. In PostgreSQL ownership is a plain foreign key with the index that ours makes by itself.
pub fn create(server: &Server) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let (subject, owned) = match server.kind {
        Kind::Dogwood => ("DATA_SUBJECT ", "OWNED_BY"),
        Kind::PostgreSql => ("", "REFERENCES"),
    };
    client.batch_execute(&format!("CREATE {subject}TABLE people (id int PRIMARY KEY, name text NOT NULL)"))?;
    for table in ["posts", "copied"].iter().chain(&SUBJECT_TABLES) {
        client.batch_execute(&format!(
            "CREATE TABLE {table} (id int PRIMARY KEY, author int NOT NULL {owned} people(id), body text NOT NULL)"
        ))?;
        if server.kind == Kind::PostgreSql {
            client.batch_execute(&format!("CREATE INDEX ON {table} (author)"))?;
        }
    }
    Ok(())
}

fn body(id: u64) -> String {
    format!("{id:084}")
}

/// COPYs rows in; gives how long it took, durably.
pub fn copy(server: &Server, table: &str, rows: impl Iterator<Item = (u64, Option<u64>)>) -> Result<Duration, Failure> {
    let mut client = server.connect()?;
    let mut text = Vec::new();
    let mut count = 0;
    for (id, author) in rows {
        match author {
            Some(author) => writeln!(text, "{id}\t{author}\t{}", body(id))?,
            None => writeln!(text, "{id}\tname{id}")?,
        }
        count += 1;
    }
    let started = Instant::now();
    let mut writer = client.copy_in(&format!("COPY {table} FROM STDIN"))?;
    // One message each: a message is bounded.
    for part in text.chunks(1 << 16) {
        writer.write_all(part)?;
    }
    let copied = writer.finish()?;
    let took = started.elapsed();
    if copied != count {
        return Err(format!("COPY took {copied} of {count} rows").into());
    }
    Ok(took)
}

/// How many rows a table has.
pub fn count(server: &Server, table: &str) -> Result<i64, Failure> {
    Ok(server.connect()?.query_one(&format!("SELECT count(*) FROM {table}"), &[])?.get(0))
}

/// SELECT of a person by primary key.
pub struct Point {
    /// How many there are.
    pub people: u64,
}

impl Workload for Point {
    type State = Statement;

    fn prepare(&self, client: &mut Client) -> Result<Statement, Failure> {
        Ok(client.prepare("SELECT id, name FROM people WHERE id = $1")?)
    }

    fn run(&self, client: &mut Client, select: &Statement, random: &mut Random, _unique: u64) -> Result<(), Failure> {
        let id = random.below(self.people) as i32;
        let row = client.query_one(select, &[&id])?;
        if row.get::<_, i32>(0) != id || row.get::<_, &str>(1) != format!("name{id}") {
            return Err(format!("a wrong answer for person {id}").into());
        }
        Ok(())
    }
}

/// INSERT of one owned row, durable when answered.
pub struct Insert {
    /// How many people there are.
    pub people: u64,
    /// The first free key.
    pub first: u64,
}

impl Workload for Insert {
    type State = Statement;

    fn prepare(&self, client: &mut Client) -> Result<Statement, Failure> {
        Ok(client.prepare("INSERT INTO posts (id, author, body) VALUES ($1, $2, $3)")?)
    }

    fn run(&self, client: &mut Client, insert: &Statement, random: &mut Random, unique: u64) -> Result<(), Failure> {
        // People of the lower half: the join reads the upper, and knows how many posts they have.
        let author = random.below(self.people / 2) as i32;
        let id = i32::try_from(self.first + unique)?;
        if client.execute(insert, &[&id, &author, &body(unique)])? != 1 {
            return Err("an INSERT that inserted nothing".into());
        }
        Ok(())
    }
}

/// A person joined with their ten posts.
pub struct Join {
    /// How many people there are.
    pub people: u64,
}

impl Workload for Join {
    type State = Statement;

    fn prepare(&self, client: &mut Client) -> Result<Statement, Failure> {
        Ok(client
            .prepare("SELECT p.name, q.id, q.body FROM people p JOIN posts q ON q.author = p.id WHERE p.id = $1")?)
    }

    fn run(&self, client: &mut Client, select: &Statement, random: &mut Random, _unique: u64) -> Result<(), Failure> {
        let id = self.people / 2 + random.below(self.people - self.people / 2);
        let rows = client.query(select, &[&(id as i32)])?;
        let right = rows.iter().all(|row| {
            let post = row.get::<_, i32>(1) as u64;
            row.get::<_, &str>(0) == format!("name{id}")
                && post % self.people == id
                && row.get::<_, &str>(2) == body(post)
        });
        if rows.len() as u64 != POSTS_EACH || !right {
            return Err(format!("a wrong answer of {} rows for person {id}", rows.len()).into());
        }
        Ok(())
    }
}

/// Rows of the subject requests for people from `first` on.
pub fn fill_subjects(server: &Server, first: u64, people: u64) -> Result<(), Failure> {
    copy(server, "people", (first..first + people).map(|id| (id, None)))?;
    for table in SUBJECT_TABLES {
        let rows = (0..people * SUBJECT_ROWS).map(|row| (row, Some(first + row / SUBJECT_ROWS)));
        copy(server, table, rows)?;
    }
    Ok(())
}

/// Milliseconds of each request: all that a person has.
pub fn get_subject(server: &Server, client: &mut Client, person: u64) -> Result<f64, Failure> {
    let started = Instant::now();
    let rows = match server.kind {
        Kind::Dogwood => rows(&client.simple_query(&format!("GDPR GET people {person}"))?),
        Kind::PostgreSql => {
            let mut sql = format!("SELECT to_jsonb(t) FROM people t WHERE id = {person}");
            for table in SUBJECT_TABLES.iter().chain(&["posts", "copied"]) {
                sql += &format!(" UNION ALL SELECT to_jsonb(t) FROM {table} t WHERE author = {person}");
            }
            rows(&client.simple_query(&sql)?)
        }
    };
    let took = started.elapsed();
    if rows as u64 != 1 + SUBJECT_ROWS * SUBJECT_TABLES.len() as u64 {
        return Err(format!("{rows} rows of person {person}").into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

/// Milliseconds that the server's last commit on this connection waited for the disk.
pub fn last_flushes(client: &mut Client) -> Result<f64, Failure> {
    let messages = client.simple_query("SHOW dogwood.last_flushes")?;
    let said = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let numbers = said.unwrap_or_default().split(' ').filter_map(|word| word.parse::<f64>().ok());
    Ok(numbers.sum::<f64>() / 1e3)
}

/// Milliseconds of an erasure, and nothing of the person left.
pub fn forget_subject(server: &Server, client: &mut Client, person: u64) -> Result<f64, Failure> {
    let started = Instant::now();
    match server.kind {
        Kind::Dogwood => client.simple_query(&format!("GDPR FORGET people {person}"))?,
        Kind::PostgreSql => {
            let mut sql = String::from("BEGIN;");
            for table in SUBJECT_TABLES.iter().chain(&["posts", "copied"]) {
                sql += &format!("DELETE FROM {table} WHERE author = {person};");
            }
            client.simple_query(&format!("{sql} DELETE FROM people WHERE id = {person}; COMMIT"))?
        }
    };
    let took = started.elapsed();
    let left: i64 = client
        .query_one(
            "SELECT (SELECT count(*) FROM letters WHERE author = $1) + (SELECT count(*) FROM people WHERE id = $1)",
            &[&(person as i32)],
        )?
        .get(0);
    if left != 0 {
        return Err(format!("{left} rows of a forgotten person").into());
    }
    Ok(took.as_secs_f64() * 1e3)
}

fn rows(messages: &[SimpleQueryMessage]) -> usize {
    messages.iter().filter(|message| matches!(message, SimpleQueryMessage::Row(_))).count()
}
