//! What a writer notices of a heavy view over a table that it does not write. Another writes that table all the while: once without the view, once
//! with it. PostgreSQL's other writer refreshes its view after each of its writes.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use super::setup::Bench;
use crate::maintained::{copy, filled, number};
use crate::measure::{Random, Samples};
use crate::report::Report;
use crate::server::{Failure, Kind, Server};

/// A row of the stranger's comes as often, whether or not the last one is acknowledged: its time counts from then, so that a pause counts for
/// all that came in it.
const PACE: Duration = Duration::from_millis(4);
/// The other writer's rest after each write.
const REST: Duration = Duration::from_millis(20);
const GROUPS: u64 = 100;

/// A view that has much to do for one commit.
struct Heavy {
    name: &'static str,
    /// Over `heavy_watched`.
    query: &'static str,
    /// What the other writes, with the table as `$table`.
    write: &'static str,
}

const HEAVY: [Heavy; 2] = [
    Heavy {
        name: "a list of all rows, put together at each commit",
        query: "SELECT string_agg(label, ',' ORDER BY id) AS labels FROM heavy_watched",
        write: "UPDATE $table SET amount = amount + 1, label = 'label' || amount WHERE id = $1",
    },
    Heavy {
        name: "a join and groups, 5,000 rows changed by a commit",
        query: "SELECT g.name, h.amount % 1000 AS part, count(*) AS n, min(h.id) AS first FROM heavy_watched h JOIN heavy_groups g ON g.id = h.grp \
                GROUP BY g.name, h.amount % 1000",
        write: "UPDATE $table SET amount = amount + 1 WHERE id >= $1 AND id < $1 + 5000",
    },
];

/// Each view, on both in turn.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let rows = bench.options.group.max(10_000);
    for server in bench.servers() {
        tables(server, rows)?;
    }
    let fresh = AtomicI64::new(0);
    for heavy in &HEAVY {
        let mut all: [[Vec<f64>; 2]; 2] = Default::default();
        for server in bench.servers() {
            let mut client = server.connect()?;
            client.batch_execute(&format!("CREATE MATERIALIZED VIEW heavy_view AS {}", heavy.query))?;
            if server.kind == Kind::Dogwood {
                filled(&mut client)?;
            }
        }
        for _ in 0..bench.options.rounds {
            for (place, server) in bench.servers().into_iter().enumerate() {
                for watched in [false, true] {
                    all[place][usize::from(watched)].extend(phase(bench, server, heavy, rows, watched, &fresh)?);
                }
            }
        }
        let seconds = bench.options.seconds * bench.options.rounds as f64;
        let samples = all.map(|phases| phases.map(|latencies| Samples::of("", latencies, seconds)));
        let named = |watched: usize| -> Vec<Samples> {
            let of = bench.servers().into_iter().zip(&samples);
            of.map(|(server, phases)| Samples { system: server.kind.name().into(), ..phases[watched].clone() })
                .collect()
        };
        let name = heavy.name;
        report.samples(
            &format!("250 INSERTs a second into a table that no view reads, beside writes of another; {name}: without that view"),
            &named(0),
        )?;
        report.samples(
            &format!("250 INSERTs a second into a table that no view reads, beside writes of another; {name}: with it"),
            &named(1),
        )?;
        for (quantile, part) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)] {
            let times = |place: usize| samples[place][1].quantile(part) / samples[place][0].quantile(part);
            report.pair(
                &format!("{name}: a stranger's {quantile} with the view / without it"),
                "times",
                times(0),
                times(1),
            )?;
        }
        for server in bench.servers() {
            server.connect()?.batch_execute("DROP MATERIALIZED VIEW heavy_view")?;
        }
    }
    Ok(())
}

fn tables(server: &Server, rows: u64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    client.batch_execute("CREATE TABLE light (id bigint PRIMARY KEY, amount int NOT NULL); CREATE TABLE heavy_groups (id int PRIMARY KEY, name text NOT NULL)")?;
    copy(server, "heavy_groups", (0..GROUPS).map(|id| format!("{id}\tgroup{id}")))?;
    for name in ["heavy_plain", "heavy_watched"] {
        client.batch_execute(&format!(
            "CREATE TABLE {name} (id int PRIMARY KEY, grp int NOT NULL, amount int NOT NULL, label text NOT NULL)"
        ))?;
        copy(server, name, (0..rows).map(|id| format!("{id}\t{}\t{}\tlabel{id}", id % GROUPS, id * 7 % 100_003)))?;
    }
    Ok(())
}

/// Latencies of the stranger while the other writes the table with the view or the one without.
fn phase(
    bench: &Bench<'_>,
    server: &Server,
    heavy: &Heavy,
    rows: u64,
    watched: bool,
    fresh: &AtomicI64,
) -> Result<Vec<f64>, Failure> {
    let stop = AtomicBool::new(false);
    let (latencies, written) = std::thread::scope(|scope| {
        let other = scope.spawn(|| write(server, heavy, rows, watched, &stop));
        let latencies = strange(server, bench.options.seconds, fresh);
        stop.store(true, Ordering::SeqCst);
        let written = other.join().unwrap_or_else(|_| Err("the other writer panicked".into()));
        Ok::<_, Failure>((latencies?, written?))
    })?;
    if written == 0 {
        return Err("the other writer wrote nothing".into());
    }
    if watched && server.kind == Kind::Dogwood {
        let mut client = server.connect()?;
        // The one list has a comma between two rows.
        let seen = if heavy.query.contains("string_agg") {
            number(
                &mut client,
                "SELECT sum(length(labels) - length(replace(labels, ',', '')) + 1)::bigint FROM heavy_view",
            )?
        } else {
            number(&mut client, "SELECT sum(n)::bigint FROM heavy_view")?
        };
        if u64::try_from(seen)? != rows {
            return Err(format!("the view has {seen} of {rows} rows").into());
        }
    }
    Ok(latencies)
}

/// Rows at a steady pace on one connection.
fn strange(server: &Server, seconds: f64, fresh: &AtomicI64) -> Result<Vec<f64>, Failure> {
    let mut client = server.connect()?;
    let insert = client.prepare("INSERT INTO light (id, amount) VALUES ($1, 7)")?;
    let mut latencies = Vec::new();
    let begun = Instant::now();
    let mut due = Duration::ZERO;
    while due.as_secs_f64() < seconds {
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        client.execute(&insert, &[&fresh.fetch_add(1, Ordering::Relaxed)])?;
        latencies.push(begun.elapsed().saturating_sub(due).as_secs_f64() * 1e6);
        due += PACE;
    }
    Ok(latencies)
}

/// The other's writes, with a rest between them; gives how many.
fn write(server: &Server, heavy: &Heavy, rows: u64, watched: bool, stop: &AtomicBool) -> Result<u64, Failure> {
    let table = if watched { "heavy_watched" } else { "heavy_plain" };
    let mut client = server.connect()?;
    let statement = client.prepare(&heavy.write.replace("$table", table))?;
    let mut random = Random::new(17);
    let mut written = 0;
    while !stop.load(Ordering::SeqCst) {
        let first = random.below(rows - 5_000) as i32;
        client.execute(&statement, &[&first])?;
        if watched && server.kind == Kind::PostgreSql {
            client.batch_execute("REFRESH MATERIALIZED VIEW heavy_view")?;
        }
        written += 1;
        std::thread::sleep(REST);
    }
    Ok(written)
}
