//! Subscriptions, each to its own key of one view: from a commit to the change at the client, and one change that concerns all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::setup::{Bench, OURS};
use crate::maintained::{copy, filled};
use crate::measure::{Random, Samples};
use crate::report::Report;
use crate::server::{Failure, Server};
use crate::subscriber::{self, Subscriber};

const CHANGES: u64 = 300;
const CHANGES_OF_ALL: u64 = 5;
/// How long the quiet server is watched.
const IDLE: Duration = Duration::from_secs(2);
/// Connections besides the subscribers'.
const OTHERS: u64 = 20;
/// Where a process has too few descriptors for all, so many have a connection of their own, and the others are cursors.
const APART_MAX: u64 = 10_000;
/// Cursors of a connection.
const HELD_AT_ONCE: u64 = 100;

/// On a server of its own, which takes as many connections as it can.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let wanted = bench.options.subscribers;
    let possible = subscriber::allow(wanted + OTHERS).saturating_sub(OTHERS);
    let server = Server::dogwood_for(bench.place, "subscribed", possible + OTHERS)?;
    let possible = possible.min(server.connections_max - OTHERS);
    let count = if wanted > possible { possible.min(APART_MAX) } else { wanted };
    fill(&server, wanted)?;
    let mut subscribers = Vec::new();
    for step in [1, 100, 1_000, 10_000, count] {
        let total = step.min(count);
        if subscribers.len() as u64 == total {
            continue;
        }
        let all_came = open(report, &server, &mut subscribers, total)?;
        one_key(report, &server, &mut subscribers, total)?;
        all_keys(report, &server, &mut subscribers)?;
        if !all_came {
            return Ok(());
        }
    }
    if count < wanted {
        report.note(&format!(
            "a process has descriptors for {possible} connections (ulimit -Hn): of {wanted} subscriptions {} are cursors, {HELD_AT_ONCE} a \
             connection, and changes of the others are timed",
            wanted - count
        ))?;
        let _held = hold(report, &server, count..wanted)?;
        one_key(report, &server, &mut subscribers, wanted)?;
    }
    Ok(())
}

fn query_of(key: u64) -> String {
    format!("SELECT id, body, headline FROM posts_shown WHERE id = {key}")
}

/// Subscriptions to these keys, as cursors of few connections.
fn hold(report: &mut Report, server: &Server, keys: std::ops::Range<u64>) -> Result<Vec<Subscriber>, Failure> {
    let (resident, count, started) = (server.resident()?, keys.end - keys.start, Instant::now());
    let queries: Vec<String> = keys.clone().map(query_of).collect();
    let connections = queries.chunks(usize::try_from(HELD_AT_ONCE)?).zip(keys.start..);
    let held: Vec<Subscriber> = connections
        .map(|(queries, number)| Subscriber::holding(server, queries, number))
        .collect::<Result<_, Failure>>()?;
    let name = |what: &str| format!("{what}, {count} more as cursors");
    report.single(&name("opening a subscription, mean"), "ms", started.elapsed().as_secs_f64() * 1e3 / count as f64)?;
    let growth = server.resident()?.saturating_sub(resident) as f64 / 1e3 / count as f64;
    report.single(&name("growth of the resident set for each subscription"), "kB", growth)?;
    Ok(held)
}

/// Opens as many as are wanted in all, or as many as the server lets in: then a few are given back, so that it can breathe.
fn open(report: &mut Report, server: &Server, subscribers: &mut Vec<Subscriber>, total: u64) -> Result<bool, Failure> {
    let (resident, threads, before) = (server.resident()?, server.threads(), subscribers.len());
    let started = Instant::now();
    let mut refused = None;
    while (subscribers.len() as u64) < total {
        let number = subscribers.len() as u64;
        match Subscriber::open_as(server, &query_of(number), number) {
            Ok(subscriber) => subscribers.push(subscriber),
            Err(failure) => {
                refused = Some(failure);
                break;
            }
        }
    }
    let took = started.elapsed().as_secs_f64() * 1e3;
    let came = (subscribers.len() - before) as f64;
    if let Some(failure) = &refused {
        let number = subscribers.len() + 1;
        subscribers.truncate(subscribers.len().saturating_sub(OTHERS as usize).max(1));
        report
            .note(&format!("subscription {number} was not let in ({failure}): measured with {}", subscribers.len()))?;
    }
    let total = subscribers.len();
    report.single(&format!("opening a subscription, {total} in all, mean"), "ms", took / came)?;
    let growth = server.resident()?.saturating_sub(resident) as f64 / 1e3 / came;
    report.single(&format!("growth of the resident set for each of {total} subscriptions"), "kB", growth)?;
    let threads = server.threads().saturating_sub(threads) as f64 / came;
    report.single(&format!("threads of the server for each of {total} subscriptions"), "threads", threads)?;
    let busy = server.meter().seconds()?;
    std::thread::sleep(IDLE);
    let busy = (server.meter().seconds()? - busy) / IDLE.as_secs_f64();
    report.single(
        &format!("the server's processor time while nothing happens, {total} subscriptions"),
        "s a second",
        busy,
    )?;
    Ok(refused.is_none())
}

fn fill(server: &Server, posts: u64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    client.batch_execute(
        "CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text NOT NULL);
         CREATE TABLE channels (id int PRIMARY KEY, headline text NOT NULL);
         CREATE TABLE posts (id int PRIMARY KEY, author int NOT NULL OWNED_BY people(id), channel int NOT NULL REFERENCES ONLY channels(id),
            body text NOT NULL);
         CREATE TABLE diary (id bigint PRIMARY KEY, author int NOT NULL OWNED_BY people(id), body text NOT NULL);
         INSERT INTO channels VALUES (1, 'news')",
    )?;
    copy(server, "people", (0..posts).map(|id| format!("{id}\tname{id}")))?;
    copy(server, "posts", (0..posts).map(|id| format!("{id}\t{id}\t1\tas it was")))?;
    client.batch_execute(
        "CREATE MATERIALIZED VIEW posts_shown AS SELECT p.id, p.body, c.headline FROM posts p JOIN channels c ON c.id = p.channel;
         CREATE INDEX ON posts_shown (id)",
    )?;
    filled(&mut client)?;
    Ok(())
}

/// Changes of single posts: each comes to its subscriber and to nobody else.
/// There are `total` subscriptions with those of others.
fn one_key(report: &mut Report, server: &Server, subscribers: &mut [Subscriber], total: u64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let update = client.prepare("UPDATE posts SET body = $2 WHERE id = $1")?;
    let mut random = Random::new(5);
    let (mut acknowledged, mut arrived, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let begun = Instant::now();
    for change in 0..CHANGES {
        let key = random.below(subscribers.len() as u64);
        let body = format!("changed with {total} {change}");
        let started = Instant::now();
        client.execute(&update, &[&i32::try_from(key)?, &body])?;
        let answered = started.elapsed();
        let lines = subscribers[key as usize].wait(2)?;
        let came = started.elapsed();
        let right = |diff: &str, part: &str| {
            lines.iter().any(|line| line.split('\t').nth(1) == Some(diff) && line.contains(part))
        };
        if lines.len() != 2 || !right("1", &body) || !right("-1", "") {
            return Err(format!("a subscription to key {key} got {lines:?}").into());
        }
        acknowledged.push(answered.as_secs_f64() * 1e6);
        arrived.push(came.as_secs_f64() * 1e6);
        after.push(came.saturating_sub(answered).as_secs_f64() * 1e6);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let name = |what: &str| format!("one change, {total} subscriptions, each to its own key: {what}");
    report.samples(&name("UPDATE sent to acknowledged"), &[Samples::of(OURS, acknowledged, seconds)])?;
    report.samples(&name("UPDATE sent to the change at the client"), &[Samples::of(OURS, arrived, seconds)])?;
    report.samples(&name("acknowledged to the change at the client"), &[Samples::of(OURS, after, seconds)])?;
    let stray = subscribers.iter_mut().map(Subscriber::changes).collect::<Result<Vec<_>, _>>()?.concat();
    if stray.is_empty() { Ok(()) } else { Err(format!("{} changes came to the wrong subscribers", stray.len()).into()) }
}

/// Changes that concern every subscription, and what another writer notices of them.
fn all_keys(report: &mut Report, server: &Server, subscribers: &mut [Subscriber]) -> Result<(), Failure> {
    let total = subscribers.len();
    let (busy, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(server, total as u64, &busy, &stop));
        let served = (|| {
            std::thread::sleep(Duration::from_secs(1));
            busy.store(true, Ordering::SeqCst);
            let mut times = Vec::new();
            for change in 0..CHANGES_OF_ALL {
                times.push(one_for_all(server, subscribers, &format!("edition {total} {change}"))?);
                std::thread::sleep(Duration::from_millis(200));
            }
            Ok::<_, Failure>(times)
        })();
        stop.store(true, Ordering::SeqCst);
        let written = writer.join().unwrap_or_else(|_| Err("the writer panicked".into()));
        Ok::<_, Failure>((served?, written?))
    })?;
    let (times, (quiet, busy)) = outcome;
    let median = |place: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = times.iter().map(place).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let name = |what: &str| format!("one change of all {total} subscriptions: {what}");
    report.single(&name("sent to acknowledged, median"), "ms", median(|times| times.0))?;
    report.single(&name("sent to the last one served, median"), "ms", median(|times| times.1))?;
    for (when, (times, seconds)) in [("before", quiet), ("during changes of all", busy)] {
        // Of thousands, a few meet a change of all: no quantile shows them.
        let longest = times.iter().copied().fold(0.0, f64::max) / 1e3;
        let name = format!("another connection's INSERTs, {total} subscriptions, {when}");
        report.samples(&name, &[Samples::of(OURS, times, seconds)])?;
        report.single(&format!("{name}: the longest"), "ms", longest)?;
    }
    Ok(())
}

/// Milliseconds to the acknowledgement and until the last subscriber has it.
fn one_for_all(server: &Server, subscribers: &mut [Subscriber], headline: &str) -> Result<(f64, f64), Failure> {
    let mut client = server.connect()?;
    let update = client.prepare("UPDATE channels SET headline = $1 WHERE id = 1")?;
    let started = Instant::now();
    if client.execute(&update, &[&headline])? != 1 {
        return Err("no channel was changed".into());
    }
    let acknowledged = started.elapsed().as_secs_f64() * 1e3;
    for subscriber in subscribers {
        let lines = subscriber.wait(2)?;
        if lines.len() != 2 || !lines.iter().any(|line| line.contains(headline)) {
            return Err(format!("a subscription got {lines:?}").into());
        }
    }
    Ok((acknowledged, started.elapsed().as_secs_f64() * 1e3))
}

type Written = (Vec<f64>, f64);

/// Writes a table that no view reads, and keeps apart what came before and during.
fn write(server: &Server, people: u64, busy: &AtomicBool, stop: &AtomicBool) -> Result<(Written, Written), Failure> {
    let mut client = server.connect()?;
    let first: i64 = client.query_one("SELECT count(*) FROM diary", &[])?.try_get(0)?;
    let insert = client.prepare("INSERT INTO diary (id, author, body) VALUES ($1, $2, 'dear diary')")?;
    let mut random = Random::new(11);
    let mut written: [Written; 2] = Default::default();
    for id in first.. {
        let phase = usize::from(busy.load(Ordering::SeqCst));
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let started = Instant::now();
        client.execute(&insert, &[&id, &i32::try_from(random.below(people))?])?;
        let took = started.elapsed().as_secs_f64();
        written[phase].0.push(took * 1e6);
        written[phase].1 += took;
    }
    let [quiet, busy] = written;
    Ok((quiet, busy))
}
