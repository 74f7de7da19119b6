//! Ten views made at once, over one table and over ten, against the time of one; and how long a subscription waits for its rows meanwhile.

use std::time::{Duration, Instant};

use super::setup::{Bench, OURS};
use crate::maintained::{copy, filled, number};
use crate::report::Report;
use crate::server::{Failure, Kind, Server};
use crate::subscriber::Subscriber;

const VIEWS: u64 = 10;
/// So long after the views the subscription is asked for.
const AFTER: Duration = Duration::from_millis(50);
/// Of the small table that is subscribed to.
const QUIET_ROWS: u64 = 1_000;

/// On both, in turn, some rounds.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    // Ten of these stand at once.
    let rows = (bench.options.group / 2).max(1_000);
    for server in bench.servers() {
        tables(server, rows)?;
    }
    let mut one = [Vec::new(), Vec::new()];
    let mut same = [Vec::new(), Vec::new()];
    let mut apart = [Vec::new(), Vec::new()];
    let mut waits = Vec::new();
    for round in 0..bench.options.rounds {
        for (place, server) in bench.servers().into_iter().enumerate() {
            let subscribed = |number: u64| (server.kind == Kind::Dogwood).then_some(round * 2 + number);
            one[place].push(make(server, rows, &[(0, round % VIEWS)], None)?.0);
            let all_of_one: Vec<(u64, u64)> = (0..VIEWS).map(|view| (0, view)).collect();
            let (took, wait) = make(server, rows, &all_of_one, subscribed(0))?;
            same[place].push(took);
            waits.extend(wait);
            let one_of_all: Vec<(u64, u64)> = (0..VIEWS).map(|table| (table, table)).collect();
            let (took, wait) = make(server, rows, &one_of_all, subscribed(1))?;
            apart[place].push(took);
            waits.extend(wait);
        }
    }
    let [one, same, apart] = [one, same, apart].map(|times| times.map(median));
    report.pair(&format!("making one view over {rows} rows"), "ms", one[0], one[1])?;
    for (name, times) in [("over one table", same), ("over ten tables", apart)] {
        report.pair(
            &format!("making ten views at once, {name} of {rows} rows, until all are filled"),
            "ms",
            times[0],
            times[1],
        )?;
        let name = format!("ten views at once {name} / the time of one");
        report.pair(&name, "times", times[0] / one[0], times[1] / one[1])?;
    }
    waits.sort_by(f64::total_cmp);
    let worst = waits.last().copied().unwrap_or_default();
    report.numbers(
        "a subscription to a quiet table until its rows are there, while ten views fill: the longest",
        "ms",
        &[(OURS, worst)],
    )?;
    report.single("the same: median", "ms", median(waits))?;
    for server in bench.servers() {
        let mut client = server.connect()?;
        for table in 0..VIEWS {
            client.batch_execute(&format!("DROP TABLE many_{table}"))?;
        }
    }
    Ok(())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or_default()
}

fn tables(server: &Server, rows: u64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    for table in 0..VIEWS {
        let columns = "(id int PRIMARY KEY, kind int NOT NULL, amount int NOT NULL)";
        client.batch_execute(&format!("CREATE TABLE many_{table} {columns}"))?;
        let lines = (0..rows).map(|id| format!("{id}\t{}\t{}", id * 7 % 1_000, (id * 31 + table) % 10_007));
        copy(server, &format!("many_{table}"), lines)?;
    }
    client.batch_execute("CREATE TABLE small (id int PRIMARY KEY, kind int NOT NULL)")?;
    copy(server, "small", (0..QUIET_ROWS).map(|id| format!("{id}\t{}", id % 10)))?;
    Ok(())
}

/// Makes views of (table, variant), each on a connection of its own: milliseconds until all are filled, and until a subscription has its rows if there
/// is one. Two with other numbers share no view.
fn make(
    server: &Server,
    rows: u64,
    views: &[(u64, u64)],
    subscription: Option<u64>,
) -> Result<(f64, Option<f64>), Failure> {
    let started = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let makers: Vec<_> = views.iter().map(|view| scope.spawn(move || create(server, *view))).collect();
        let wait = subscription.map(|number| {
            std::thread::sleep(AFTER);
            let begun = Instant::now();
            Subscriber::open(server, &format!("SELECT id, kind + {number} FROM small WHERE id % 7 >= 0"))?;
            Ok::<f64, Failure>(begun.elapsed().as_secs_f64() * 1e3)
        });
        for maker in makers {
            maker.join().unwrap_or_else(|_| Err("a connection's thread panicked".into()))?;
        }
        wait.transpose()
    })?;
    let mut client = server.connect()?;
    if server.kind == Kind::Dogwood {
        filled(&mut client)?;
    }
    let took = started.elapsed().as_secs_f64() * 1e3;
    for (table, view) in views {
        let seen = number(&mut client, &format!("SELECT sum(n)::bigint FROM made_{table}_{view}"))?;
        if u64::try_from(seen)? != rows {
            return Err(format!("view {view} of table {table} counts {seen} of {rows} rows").into());
        }
        client.batch_execute(&format!("DROP MATERIALIZED VIEW made_{table}_{view}"))?;
    }
    Ok((took, outcome))
}

fn create(server: &Server, (table, view): (u64, u64)) -> Result<(), Failure> {
    let query = format!(
        "SELECT kind % {} AS part, count(*) AS n, sum(amount) AS total, max(amount) AS most FROM many_{table} GROUP BY 1",
        10 + view
    );
    Ok(server.connect()?.batch_execute(&format!("CREATE MATERIALIZED VIEW made_{table}_{view} AS {query}"))?)
}
