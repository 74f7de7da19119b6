//! `make demo`: one data set's story in the terminal, from its first row to a forgotten person.
//!
//! A client like any other: everything goes through SQL and the program's commands. Every step checks what it claims
//! against the data set itself; the first claim that does not hold ends the demo with exit status 1.

mod auditor;
mod backups;
mod consent;
mod data;
mod failure;
mod server;
mod tell;
mod watch;

use auditor::Auditor;
use backups::{Backups, Moment};
use data::{Data, TABLES};
use failure::Failure;
use postgres::error::DbError;
use postgres::{Client, SimpleQueryMessage};
use server::Server;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tell::{chapter, claim, fact, listing};
use watch::Watch;

/// The person of the story.
const PERSON: u32 = 7;
const SEED: u64 = 20_180_525;

fn main() -> ExitCode {
    let folder = std::env::temp_dir().join(format!("dogwood-demo-{}", std::process::id()));
    let start = Instant::now();
    let told = fs::create_dir(&folder).map_err(Failure::File).and_then(|()| story(&folder));
    match told {
        Ok(()) => {
            println!("\nThe end, after {:.1} s. Every claim held.", start.elapsed().as_secs_f64());
            match fs::remove_dir_all(&folder) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("could not remove {}: {error}", folder.display());
                    ExitCode::FAILURE
                }
            }
        }
        Err(failure) => {
            eprintln!("\nThe demo failed: {failure}\nIts folder is kept: {}", folder.display());
            ExitCode::FAILURE
        }
    }
}

fn story(folder: &Path) -> Result<(), Failure> {
    let data_folder = folder.join("data");
    let mut data = Data::new(SEED);

    chapter("A server on an empty folder");
    let heads = folder.join("heads");
    let head_file = heads.display().to_string();
    let publishes = ["--publish-head", &head_file];
    let (server, start) = timed(|| Server::start(&data_folder, &publishes))?;
    let (notes, _notices) = channel();
    let mut client = server.connect(notes)?;
    fact("dogwood serve", start, "listening");

    filled(&mut client, &mut data)?;

    chapter("Ordinary questions");
    questions(&mut client)?;

    chapter("A discussion, watched live");
    let watched = discussion(&server, &mut client, &mut data)?;
    let before = counts(&mut client)?;

    chapter("A consent, given for a purpose and withdrawn");
    consent::withdrawn(&server, &mut client, PERSON)?;

    chapter(&format!("GDPR GET users {PERSON}: what is held about {}", data::name(PERSON)));
    access(&mut client, &data)?;

    chapter(&format!("CREATE USER … FOR users {PERSON}: a login that is {}'s own", data::name(PERSON)));
    let (own_notes, own_notices) = channel();
    let mut own = own_login(&server, &mut client, own_notes)?;

    chapter("A backup, with the person in it");
    let backups = Backups::of(&data_folder, folder);
    let moment = backups.take(&[])?;

    chapter("EXPLAIN GDPR FORGET: what an erasure would do");
    let (plan, time) = timed(|| rows(&mut client, &format!("EXPLAIN GDPR FORGET users {PERSON}")))?;
    fact("EXPLAIN", time, &format!("{} tables touched", plan.len()));
    claim("nothing has changed", counts(&mut client)? == before)?;

    chapter(&format!("GDPR FORGET users {PERSON}, by {}", data::name(PERSON)));
    let asked = Instant::now();
    let (outcome, time) = timed(|| rows(&mut own, &format!("GDPR FORGET users {PERSON}")))?;
    fact("FORGET", time, "erased, key destroyed, login ended, receipt signed");
    listing(&["table", "deleted", "anonymized", "disowned"], &outcome);
    claim("it did what EXPLAIN said", outcome == plan)?;
    claim("the login is no more", number(&mut client, LOGINS)? == 0)?;
    let receipt = receipt(&own_notices, folder)?;
    vanished(&mut client, &data, watched, asked)?;

    chapter("The same questions afterwards");
    questions(&mut client)?;
    let after = aftermath(&mut client, &data, &before, &outcome)?;

    chapter("The receipt, verified without the server");
    verify(&data_folder, &receipt)?;

    chapter("Another backup, without the person: it brings the erasure's place in the ledger");
    backups.take(&["--incremental"])?;

    drop((client, own));
    server.kill()?;
    opened_again(&data_folder, &publishes, &after)?;
    proofs(&data_folder, &heads, (&backups, &moment), &after)
}

/// The folder once more, as a power cut has left it.
fn opened_again(data_folder: &Path, publishes: &[&str], after: &[u64]) -> Result<(), Failure> {
    chapter("kill -9, and open again");
    let (server, time) = timed(|| Server::start(data_folder, publishes))?;
    fact("dogwood serve", time, "recovered and listening");
    let (notes, _notices) = channel();
    let mut client = server.connect(notes)?;
    claim("no row is lost and none has come back", counts(&mut client)? == after)?;
    claim("the person is still forgotten", refused(&mut client, &format!("GDPR GET users {PERSON}"), "DG003")?)?;

    drop(client);
    server.stop()
}

/// What is left to prove once the server has stopped.
fn proofs(
    data_folder: &Path,
    heads: &Path,
    (backups, moment): (&Backups, &Moment),
    after: &[u64],
) -> Result<(), Failure> {
    let folder = data_folder.parent().expect("it was made in a folder");
    chapter("An auditor, with the public key and the published heads alone");
    Auditor::of(data_folder, heads, folder)?.audits(PERSON)?;

    // Reads every row, meanwhile.
    let check = (server::begin(&["check", "--data", &data_folder.display().to_string()])?, Instant::now());
    chapter("The backup from before the erasure, restored to another folder");
    backups.restore(moment, PERSON, folder, after)?;
    checked(check, &[data_folder, &folder.join("restored"), &folder.join("backups")])
}

/// The schema and its rows.
fn filled(client: &mut Client, data: &mut Data) -> Result<(), Failure> {
    chapter("A schema that says whose each row is");
    let ((), time) = timed(|| Ok(client.batch_execute(data::SCHEMA)?))?;
    fact("CREATE TABLE", time, "eleven tables, one of them of people");
    compliance(client)?;

    chapter("Its rows, by COPY and INSERT");
    let ((), time) = timed(|| data.load(client, |table, rows, time| fact(table, time, &format!("{rows} rows"))))?;
    let total: usize = data.counts().iter().sum();
    fact("all", time, &format!("{total} rows, {:.0} a second", total as f64 / time.as_secs_f64()));
    let before = counts(client)?;
    let sent: Vec<u64> = data.counts().iter().map(|count| *count as u64).collect();
    claim("every table counts what was sent", before == sent)
}

fn checked((check, began): (Child, Instant), folders: &[&Path]) -> Result<(), Failure> {
    chapter("The folder, checked");
    let check = check.wait_with_output()?;
    let said = String::from_utf8_lossy(&check.stdout).into_owned();
    fact("dogwood check", began.elapsed(), said.lines().next().unwrap_or("done"));
    claim("dogwood check finds nothing wrong", check.status.success())?;
    let email = data::email(PERSON);
    for folder in folders {
        let name = folder.file_name().unwrap_or_default().display();
        claim(&format!("\"{email}\" stands in no file of {name}"), !stands_in(folder, email.as_bytes())?)?;
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, Duration), Failure> {
    let start = Instant::now();
    let outcome = work()?;
    Ok((outcome, start.elapsed()))
}

/// A statement's rows as text, NULL as a dash.
fn rows(client: &mut Client, statement: &str) -> Result<Vec<Vec<String>>, Failure> {
    let mut rows = Vec::new();
    for message in client.simple_query(statement)? {
        if let SimpleQueryMessage::Row(row) = message {
            rows.push((0..row.len()).map(|column| row.get(column).unwrap_or("-").to_string()).collect());
        }
    }
    Ok(rows)
}

fn number(client: &mut Client, statement: &str) -> Result<u64, Failure> {
    let rows = rows(client, statement)?;
    let value = rows.first().and_then(|row| row.first()).and_then(|value| value.parse().ok());
    value.ok_or_else(|| Failure::Claim(format!("no number came from {statement}")))
}

/// How many rows each table has, in the order of `TABLES`.
fn counts(client: &mut Client) -> Result<Vec<u64>, Failure> {
    TABLES.iter().map(|table| number(client, &format!("SELECT count(*) FROM {table}"))).collect()
}

const LOGINS: &str = "SELECT count(*) FROM pg_roles WHERE rolname = 'person'";
const OWN_SECRET: &str = "theirs alone";

/// The person's login: it sees what GET gives, table by table, and nobody else.
fn own_login(server: &Server, client: &mut Client, notes: Sender<DbError>) -> Result<Client, Failure> {
    let make = format!("CREATE USER person FOR users {PERSON} PASSWORD '{OWN_SECRET}'");
    let ((), time) = timed(|| Ok(client.batch_execute(&make)?))?;
    fact("CREATE USER", time, "for one person");
    let mut own = server.connect_as("person", OWN_SECRET, notes)?;
    let mut held: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows(client, &format!("GDPR GET users {PERSON}"))? {
        *held.entry(row[0].clone()).or_default() += 1;
    }
    let (seen, time) = timed(|| counts(&mut own))?;
    fact("count(*)", time, &format!("{} rows in eleven tables", seen.iter().sum::<u64>()));
    let expected: Vec<u64> = TABLES.iter().map(|table| held.get(*table).copied().unwrap_or_default()).collect();
    claim("every table is what GET gives of it", seen == expected)?;
    let others = format!("SELECT count(*) FROM users WHERE id <> {PERSON}");
    claim("nobody else is there", number(&mut own, &others)? == 0)?;
    claim("nor can be asked for", refused(&mut own, "GDPR GET users 1", "DG003")?)?;
    Ok(own)
}

fn refused(client: &mut Client, statement: &str, code: &str) -> Result<bool, Failure> {
    match client.simple_query(statement) {
        Ok(_) => Ok(false),
        Err(error) => match error.code() {
            Some(state) => Ok(state.code() == code),
            None => Err(error.into()),
        },
    }
}

fn compliance(client: &mut Client) -> Result<(), Failure> {
    let (report, time) = timed(|| rows(client, "EXPLAIN COMPLIANCE"))?;
    fact("EXPLAIN COMPLIANCE", time, &format!("{} findings; who owns and who may access:", report.len()));
    let who = report.iter().filter(|row| row[0] == "info").map(|row| vec![row[1].clone(), row[4].clone()]);
    listing(&["table", "whose its rows are"], &who.collect::<Vec<_>>());
    let named = |table: &&str| report.iter().any(|row| row[1] == **table && row[0] == "info");
    claim("every table belongs to someone, or is accessed by someone", TABLES.iter().all(named))
}

const FRONT_PAGE: &str = "SELECT s.id, s.title, u.name, count(*) AS votes
    FROM stories s JOIN users u ON u.id = s.author JOIN votes v ON v.story_id = s.id
    GROUP BY s.id, s.title, u.name ORDER BY votes DESC, s.id LIMIT 3";

fn questions(client: &mut Client) -> Result<(), Failure> {
    let (page, time) = timed(|| rows(client, FRONT_PAGE))?;
    fact("front page", time, "the three stories with most votes:");
    listing(&["id", "title", "author", "votes"], &page);
    claim("it has three stories, the most voted first", {
        let votes: Vec<u64> = page.iter().filter_map(|row| row[3].parse().ok()).collect();
        votes.len() == 3 && votes.is_sorted_by(|a, b| a >= b)
    })?;
    let (found, time) =
        timed(|| number(client, &format!("SELECT count(*) FROM users WHERE email = '{}'", data::email(PERSON))))?;
    fact("by email", time, &format!("{}'s address: {found} found", data::name(PERSON)));
    Ok(())
}

/// Who watches what while the person is there.
struct Watched {
    story: u32,
    discussion: Watch,
    person: Watch,
}

/// Follows the discussion of a story that the person takes part in, while two people go on with it.
fn discussion(server: &Server, client: &mut Client, data: &mut Data) -> Result<Watched, Failure> {
    let ((), time) = timed(|| {
        Ok(client.batch_execute(
            "CREATE MATERIALIZED VIEW discussions AS
             SELECT c.story_id, c.id, u.name, c.body FROM comments c JOIN users u ON u.id = c.author",
        )?)
    })?;
    fact("CREATE VIEW", time, "maintained from here on, filled in the background");
    let story = data.discussion_of(PERSON);
    let story = story.ok_or_else(|| Failure::Claim("the person takes part in no discussion".to_string()))?;
    let query = format!("SELECT id, name, body FROM discussions WHERE story_id = {story}");
    let ((discussion, snapshot), time) = timed(|| Watch::open(server, &query))?;
    let comments = data.comments_on(story);
    fact(
        "SUBSCRIBE",
        time,
        &format!("{} comments on story {story}, at dogwood_time {}", comments.len(), snapshot.time),
    );
    let mut found: Vec<u32> = snapshot.rows.iter().filter_map(|(_, row)| row[0].parse().ok()).collect();
    found.sort_unstable();
    claim("they are all of them", found == comments.iter().map(|comment| comment.0).collect::<Vec<_>>())?;
    let own = format!("SELECT id, name, email FROM users WHERE id = {PERSON}");
    let (person, snapshot) = Watch::open(server, &own)?;
    claim("another subscriber watches the person's own row", snapshot.rows.len() == 1)?;

    let other = comments.iter().map(|comment| comment.1).find(|author| *author != PERSON);
    let other = other.ok_or_else(|| Failure::Claim("nobody else takes part".to_string()))?;
    let mut said = Vec::new();
    for (author, body) in [(other, "Which of the numbers do you doubt?"), (PERSON, "All of them.")] {
        let id = data.comment(author, story);
        let sent = Instant::now();
        client.batch_execute(&format!("INSERT INTO comments VALUES ({id}, '{body}', {author}, {story})"))?;
        let answered = sent.elapsed();
        let change = discussion.next()?;
        let line = vec![id.to_string(), data::name(author), body.to_string()];
        claim("one commit changes one row of the discussion", change.rows == [(1, line.clone())])?;
        fact("INSERT", answered, "answered");
        fact(
            "heard",
            change.at.duration_since(sent),
            &format!("after it was sent: +1 at dogwood_time {}", change.time),
        );
        said.push([vec![change.time.to_string(), "+1".to_string()], line].concat());
    }
    listing(&["dogwood_time", "dogwood_diff", "id", "name", "body"], &said);
    Ok(Watched { story, discussion, person })
}

/// The erasure as the subscribers hear of it.
fn vanished(client: &mut Client, data: &Data, watched: Watched, asked: Instant) -> Result<(), Failure> {
    let Watched { story, discussion, person } = watched;
    let (from_discussion, own) = (discussion.next()?, person.next()?);
    let heard = from_discussion.at.max(own.at).duration_since(asked);
    fact("heard", heard, &format!("after it was asked for, by both subscribers, at dogwood_time {}", own.time));
    let mut rows = from_discussion.rows.clone();
    rows.sort();
    let shown = |(difference, row): &(i64, Vec<String>)| {
        [vec![from_discussion.time.to_string(), difference.to_string()], row.clone()].concat()
    };
    listing(&["dogwood_time", "dogwood_diff", "id", "name", "body"], &rows.iter().map(shown).collect::<Vec<_>>());
    let gone = |author: u32| data.comments_on(story).into_iter().filter(move |comment| comment.1 == author);
    let mut expected: Vec<u32> = gone(PERSON).map(|comment| comment.0).collect();
    expected.sort_unstable();
    let mut found: Vec<u32> = rows.iter().filter_map(|(_, row)| row[0].parse().ok()).collect();
    found.sort_unstable();
    let retracted = |change: &watch::Change| change.rows.iter().all(|(difference, _)| *difference == -1);
    claim("the person's comments vanish from the discussion, and nobody else's", {
        found == expected && retracted(&from_discussion)
    })?;
    claim("the person's own row vanishes", own.rows.len() == 1 && retracted(&own))?;
    claim("all of it in the same commit: one dogwood_time", from_discussion.time == own.time)?;
    let left = number(client, &format!("SELECT count(*) FROM discussions WHERE story_id = {story}"))?;
    claim(
        &format!("the view has the {left} comments of the others"),
        left == (data.comments_on(story).len() - expected.len()) as u64,
    )
}

fn access(client: &mut Client, data: &Data) -> Result<(), Failure> {
    let (answer, time) = timed(|| rows(client, &format!("GDPR GET users {PERSON}")))?;
    fact("GET", time, &format!("{} rows", answer.len()));
    let mut found: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for row in &answer {
        *found.entry((&row[0], &row[1])).or_default() += 1;
    }
    let found: Vec<_> = found.into_iter().map(|((table, relation), count)| (table, relation, count)).collect();
    let listed =
        found.iter().map(|(table, relation, count)| vec![table.to_string(), relation.to_string(), count.to_string()]);
    listing(&["table", "relation", "rows"], &listed.collect::<Vec<_>>());
    let walked = data.rights(PERSON);
    if found != walked {
        println!("      by hand: {walked:?}");
    }
    claim("a walk over the references by hand finds the same", found == walked)
}

/// Writes the receipt of the notice into a file.
fn receipt(notices: &Receiver<DbError>, folder: &Path) -> Result<PathBuf, Failure> {
    let notice = notices.try_iter().find(|notice| notice.message().starts_with("receipt "));
    let signed = notice.as_ref().and_then(|notice| notice.detail());
    let signed = signed.ok_or_else(|| Failure::Claim("no receipt came with the erasure".to_string()))?;
    let path = folder.join("receipt");
    fs::write(&path, signed)?;
    let name = data::name(PERSON);
    claim("the receipt names no one", !signed.contains(&name) && !signed.contains(&data::email(PERSON)))?;
    Ok(path)
}

/// What must hold once the person is forgotten; the tables' rows.
fn aftermath(client: &mut Client, data: &Data, before: &[u64], outcome: &[Vec<String>]) -> Result<Vec<u64>, Failure> {
    claim("GDPR GET: no such person (DG003)", refused(client, &format!("GDPR GET users {PERSON}"), "DG003")?)?;
    claim("a second FORGET is refused (DG003)", refused(client, &format!("GDPR FORGET users {PERSON}"), "DG003")?)?;

    let after = counts(client)?;
    let deleted = |table: &str| outcome.iter().find(|row| row[0] == table).map_or(0, |row| row[1].parse().unwrap_or(0));
    let expected: Vec<u64> = TABLES.iter().zip(before).map(|(table, count)| count - deleted(table)).collect();
    claim("each table lost exactly the rows of the outcome", after == expected)?;

    let blank = number(client, "SELECT count(*) FROM messages WHERE sender IS NULL OR receiver IS NULL")?;
    claim(
        &format!("{blank} messages stay with the other person, without this one"),
        blank == data.messages_of(PERSON) as u64 && deleted("messages") == 0,
    )?;
    for (column, table) in [
        ("author", "comments"),
        ("creator", "files"),
        ("user_id", "members"),
        ("sender", "messages"),
        ("receiver", "messages"),
        ("shared_by", "shares"),
        ("with_user", "shares"),
        ("author", "stories"),
        ("user_id", "votes"),
    ] {
        let left = number(client, &format!("SELECT count(*) FROM {table} WHERE {column} = {PERSON}"))?;
        claim(&format!("no {table}.{column} names the person"), left == 0)?;
    }
    let dangling = number(
        client,
        "SELECT count(*) FROM comments c WHERE c.story_id IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM stories s WHERE s.id = c.story_id)",
    )?;
    claim("no comment points at an erased story", dangling == 0)?;
    let empty = number(
        client,
        "SELECT count(*) FROM groups g WHERE NOT EXISTS (SELECT 1 FROM members m WHERE m.group_id = g.id)",
    )?;
    claim("no group is left without a member", empty == 0)?;
    Ok(after)
}

fn verify(data_folder: &Path, receipt: &Path) -> Result<(), Failure> {
    let key = data_folder.join("public.key").display().to_string();
    let path = receipt.display().to_string();
    let (genuine, time) = timed(|| server::run(&["verify", "--key", &key, &path]))?;
    fact("dogwood verify", time, String::from_utf8_lossy(&genuine.stdout).lines().next().unwrap_or("nothing"));
    claim("the receipt is genuine", genuine.status.success())?;
    let altered = fs::read_to_string(receipt)?.replacen("\"deleted\":1,", "\"deleted\":2,", 1);
    claim("there is a count to alter", altered != fs::read_to_string(receipt)?)?;
    let forged = receipt.with_extension("forged");
    fs::write(&forged, altered)?;
    let answer = server::run(&["verify", "--key", &key, &forged.display().to_string()])?;
    claim("with one count altered it is not", !answer.status.success())
}

/// Whether the bytes stand anywhere in the folder's files.
fn stands_in(folder: &Path, bytes: &[u8]) -> Result<bool, Failure> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            stands_in(&path, bytes)?
        } else {
            fs::read(&path)?.windows(bytes.len()).any(|window| window == bytes)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
