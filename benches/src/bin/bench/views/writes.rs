//! What a write costs under views: none, one, ten and fifty that it changes, and a thousand that it does not.

use std::sync::atomic::{AtomicI64, Ordering};

use super::setup::{Bench, OURS, PEER};
use crate::maintained::{filled, number, views};
use crate::measure::{Lane, Operation, Samples, race};
use crate::report::Report;
use crate::server::{Failure, Kind, Server};

const AFFECTED: [u64; 4] = [0, 1, 10, 50];
const UNAFFECTED: u64 = 1_000;
const KINDS: u64 = 100;

/// All of it.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let fresh = AtomicI64::new(0);
    for server in bench.servers() {
        for affected in AFFECTED {
            table(server, affected)?;
        }
    }
    let mut client = bench.ours.connect()?;
    for affected in AFFECTED {
        for view in 0..affected {
            client.batch_execute(&definition(affected, view))?;
        }
    }
    filled(&mut client)?;
    for connections in [1, 8, 32] {
        let mut lanes: Vec<Lane<'_>> = AFFECTED.iter().map(|&affected| lane(&bench.ours, affected, &fresh)).collect();
        lanes.push(lane(&bench.peer, 0, &fresh));
        let mut samples = race(&lanes, 1, bench.options.plan(connections))?.remove(0);
        let peer = samples.pop().ok_or("no samples of PostgreSQL")?;
        let alone = samples[0].quantile(0.5);
        let alone_rate = samples[0].rate();
        for (affected, ours) in AFFECTED.iter().zip(samples) {
            let cost = (ours.quantile(0.5) - alone) / (*affected).max(1) as f64;
            let times = alone_rate / ours.rate();
            let pair: Vec<Samples> = if *affected == 0 { vec![ours, peer.clone()] } else { vec![ours] };
            report.samples(
                &format!("INSERT of one row, durable, {affected} affected views, {connections} conn."),
                &pair,
            )?;
            if *affected > 0 {
                report.single(
                    &format!("growth of its p50 for each of {affected} views, {connections} conn."),
                    "µs",
                    cost,
                )?;
                report.single(
                    &format!(
                        "time of a statement (by throughput) under {affected} views / under none, {connections} conn."
                    ),
                    "times",
                    times,
                )?;
            }
        }
    }
    for affected in AFFECTED {
        correct(&mut client, affected)?;
        for view in 0..affected {
            client.batch_execute(&format!("DROP MATERIALIZED VIEW of_{affected}_{view}"))?;
        }
    }
    unaffected(bench, report, &fresh)
}

fn table(server: &Server, affected: u64) -> Result<(), Failure> {
    let owned = if server.kind == Kind::Dogwood { "OWNED_BY" } else { "REFERENCES" };
    let mut client = server.connect()?;
    client.batch_execute(&format!(
        "CREATE TABLE events_{affected} (id bigint PRIMARY KEY, person int NOT NULL {owned} people(id), kind int NOT NULL, amount int NOT NULL)"
    ))?;
    if server.kind == Kind::PostgreSql {
        client.batch_execute(&format!("CREATE INDEX ON events_{affected} (person)"))?;
    }
    Ok(())
}

/// Counts, sums, joins and filters, in turn; every row of the table changes each.
fn definition(affected: u64, view: u64) -> String {
    let query = match view % 4 {
        0 => format!(
            "SELECT kind, count(*) AS n, sum(amount) AS total FROM events_{affected} WHERE amount >= -{view} GROUP BY kind"
        ),
        1 => format!(
            "SELECT e.id, p.name, e.amount + {view} AS amount FROM events_{affected} e JOIN people p ON p.id = e.person"
        ),
        2 => format!("SELECT person, count(*) AS n FROM events_{affected} WHERE kind > -{view} GROUP BY person"),
        _ => format!(
            "SELECT kind, max(amount) AS most, count(*) AS n FROM events_{affected} WHERE id > -{view} GROUP BY kind"
        ),
    };
    format!("CREATE MATERIALIZED VIEW of_{affected}_{view} AS {query}")
}

fn lane<'a>(server: &'a Server, affected: u64, fresh: &'a AtomicI64) -> Lane<'a> {
    let system = if server.kind == Kind::Dogwood { OURS } else { PEER };
    Lane::new(system, &[server.meter()], move || {
        let mut client = server.connect()?;
        let insert = client
            .prepare(&format!("INSERT INTO events_{affected} (id, person, kind, amount) VALUES ($1, $2, $3, $4)"))?;
        let operation: Operation<'a> = Box::new(move |random, _unique| {
            let id = fresh.fetch_add(1, Ordering::Relaxed);
            let (person, kind, amount) =
                (random.below(1_000) as i32, random.below(KINDS) as i32, random.below(1_000) as i32);
            if client.execute(&insert, &[&id, &person, &kind, &amount])? != 1 {
                return Err("an INSERT that inserted nothing".into());
            }
            Ok(0)
        });
        Ok(operation)
    })
}

/// Each view has counted every row.
fn correct(client: &mut postgres::Client, affected: u64) -> Result<(), Failure> {
    let rows = number(client, &format!("SELECT count(*) FROM events_{affected}"))?;
    for view in 0..affected {
        let column = if view % 4 == 1 { "count(*)" } else { "sum(n)::bigint" };
        let seen = number(client, &format!("SELECT {column} FROM of_{affected}_{view}"))?;
        if seen != rows {
            return Err(format!("view of_{affected}_{view} has seen {seen} of {rows} rows").into());
        }
    }
    Ok(())
}

/// Two servers, one of them with a thousand views on a table that nobody writes.
fn unaffected(bench: &Bench<'_>, report: &mut Report, fresh: &AtomicI64) -> Result<(), Failure> {
    let mut pair = Vec::new();
    for (name, count) in [("without", 0), ("with", UNAFFECTED)] {
        let server = Server::dogwood(bench.place, name)?;
        let mut client = server.connect()?;
        client.batch_execute(
            "CREATE DATA_SUBJECT TABLE people (id int PRIMARY KEY, name text NOT NULL);
             INSERT INTO people SELECT i, 'name' || i FROM generate_series(0, 999) AS i;
             CREATE TABLE quiet (id int PRIMARY KEY, person int NOT NULL OWNED_BY people(id), kind int NOT NULL);
             INSERT INTO quiet SELECT i, i % 1000, i % 10 FROM generate_series(0, 999) AS i",
        )?;
        table(&server, 0)?;
        for view in 0..count {
            client.batch_execute(&format!(
                "CREATE MATERIALIZED VIEW quiet_{view} AS SELECT kind, count(*) AS n FROM quiet WHERE id > {view} GROUP BY kind"
            ))?;
        }
        filled(&mut client)?;
        if views(&mut client)?.count != count {
            return Err(format!("{count} views were made, others are there").into());
        }
        pair.push(server);
    }
    for connections in [1, 8] {
        let lanes: Vec<Lane<'_>> = pair.iter().map(|server| lane(server, 0, fresh)).collect();
        let samples = race(&lanes, 1, bench.options.plan(connections))?.remove(0);
        for (name, samples) in ["no view", "1,000 unaffected views"].iter().zip(samples) {
            report.samples(&format!("INSERT of one row, durable, {name}, {connections} conn."), &[samples])?;
        }
    }
    Ok(())
}
