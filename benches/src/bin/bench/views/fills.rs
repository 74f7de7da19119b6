//! Filling a view: the server's processor time and the time by the clock, of a filter and of a join over all votes.

use std::time::Instant;

use super::setup::Bench;
use crate::maintained::{filled, number};
use crate::report::Report;
use crate::server::{Failure, Kind, Server};

const VIEWS: [(&str, &str); 2] = [
    ("a filter", "SELECT id, voter, article FROM votes WHERE article % 2 = 0"),
    ("a join", "SELECT v.id, v.voter, a.title FROM votes v JOIN articles a ON a.id = v.article"),
];

/// Each view some times on both, in turn; the median of each.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let votes = number(&mut bench.peer.connect()?, "SELECT count(*) FROM votes")?;
    for (name, query) in VIEWS {
        let mut times: [Vec<(f64, f64)>; 2] = Default::default();
        for _ in 0..bench.options.rounds {
            let mut rows = Vec::new();
            for (server, times) in bench.servers().into_iter().zip(&mut times) {
                let (time, count) = fill(server, query)?;
                times.push(time);
                rows.push(count);
            }
            if rows[0] != rows[1] {
                return Err(format!("{name}: {} rows instead of {}", rows[0], rows[1]).into());
            }
        }
        let median = |place: usize, part: fn(&(f64, f64)) -> f64| {
            let mut all: Vec<f64> = times[place].iter().map(part).collect();
            all.sort_by(f64::total_cmp);
            all[all.len() / 2] * 1e3
        };
        for (what, part) in [("processor time", (|time| time.0) as fn(&(f64, f64)) -> f64), ("time", |time| time.1)] {
            let name = format!("filling a view over {votes} rows, {name}: {what}");
            report.pair(&name, "ms", median(0, part), median(1, part))?;
        }
    }
    Ok(())
}

/// Seconds of the server's processor time and by the clock, and how many rows the view has.
fn fill(server: &Server, query: &str) -> Result<((f64, f64), i64), Failure> {
    let before = server.meter().seconds()?;
    let started = Instant::now();
    let mut client = server.connect()?;
    client.batch_execute(&format!("CREATE MATERIALIZED VIEW filled AS {query}"))?;
    if server.kind == Kind::Dogwood {
        filled(&mut client)?;
    }
    let took = (server.meter().seconds()? - before, started.elapsed().as_secs_f64());
    let rows = number(&mut client, "SELECT count(*) FROM filled")?;
    client.batch_execute("DROP MATERIALIZED VIEW filled")?;
    Ok((took, rows))
}
