//! A view made over all votes while others vote: what the writers notice.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::setup::Bench;
use crate::articles::VOTE;
use crate::maintained::{filled, number};
use crate::measure::{Random, Samples};
use crate::report::Report;
use crate::server::{Failure, Kind, Server};

const WRITERS: u64 = 4;
const VIEW: &str = "CREATE MATERIALIZED VIEW votes_of_all AS SELECT article, count(*) AS n, min(voter) AS first FROM votes GROUP BY article";

/// On both, one after the other: each round makes the view and drops it.
pub fn run(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let mut all: Vec<(Phase, Phase, Vec<f64>)> = Vec::new();
    for _ in 0..2 {
        all.push((Phase::default(), Phase::default(), Vec::new()));
    }
    for round in 0..bench.options.rounds {
        for (server, (before, during, took)) in bench.servers().into_iter().zip(&mut all) {
            let seconds = round_of(bench, server, round, before, during)?;
            took.push(seconds * 1e3);
        }
    }
    let mut quiet = Vec::new();
    let mut busy = Vec::new();
    let mut times = Vec::new();
    for (server, (before, during, mut took)) in bench.servers().into_iter().zip(all) {
        took.sort_by(f64::total_cmp);
        times.push(took[took.len() / 2]);
        quiet.push(before.samples(server));
        busy.push(during.samples(server));
    }
    for server in bench.servers() {
        // What comes after begins with the same rows on both.
        let mut client = server.connect()?;
        client.execute("DELETE FROM votes WHERE id >= $1", &[&bench.articles.votes()])?;
        client.batch_execute("VACUUM votes")?;
    }
    let votes = number(&mut bench.peer.connect()?, "SELECT count(*) FROM votes")?;
    report.pair(
        &format!("making a view over {votes} votes and those that come meanwhile, {WRITERS} connections vote, median"),
        "ms",
        times[0],
        times[1],
    )?;
    report.samples(&format!("votes by {WRITERS} connections before"), &quiet)?;
    report.samples(&format!("votes by {WRITERS} connections while the view is made"), &busy)?;
    let rise = |place: usize| (busy[place].quantile(0.99) - quiet[place].quantile(0.99)) / 1e3;
    report.numbers(
        "rise of the writers' p99 while the view is made",
        "ms",
        &[(quiet[0].system.as_str(), rise(0)), (quiet[1].system.as_str(), rise(1))],
    )?;
    let worst = |samples: &Samples| samples.quantile(1.0) / 1e3;
    report.pair("longest vote while the view is made", "ms", worst(&busy[0]), worst(&busy[1]))
}

/// Latencies and the time in which they were taken.
#[derive(Default)]
struct Phase {
    latencies: Vec<f64>,
    seconds: f64,
}

impl Phase {
    fn samples(self, server: &Server) -> Samples {
        Samples::of(server.kind.name(), self.latencies, self.seconds)
    }
}

/// Writers write; after a while the view is made; when it is filled, they stop.
fn round_of(
    bench: &Bench<'_>,
    server: &Server,
    round: u64,
    before: &mut Phase,
    during: &mut Phase,
) -> Result<f64, Failure> {
    let (making, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let quiet = Duration::from_secs_f64(bench.options.seconds);
    let outcome = std::thread::scope(|scope| {
        let (making, stop) = (&making, &stop);
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| scope.spawn(move || write(bench, server, round * WRITERS + writer, making, stop)))
            .collect();
        let made = (|| {
            let mut client = server.connect()?;
            std::thread::sleep(quiet);
            making.store(true, Ordering::SeqCst);
            let started = Instant::now();
            client.batch_execute(VIEW)?;
            if server.kind == Kind::Dogwood {
                filled(&mut client)?;
            }
            Ok::<f64, Failure>(started.elapsed().as_secs_f64())
        })();
        stop.store(true, Ordering::SeqCst);
        let mut written = Vec::new();
        for writer in writers {
            written.push(writer.join().unwrap_or_else(|_| Err("a writer panicked".into()))?);
        }
        Ok::<_, Failure>((made?, written))
    })?;
    let (seconds, written) = outcome;
    for (quiet, busy) in written {
        before.latencies.extend(quiet);
        during.latencies.extend(busy);
    }
    before.seconds += quiet.as_secs_f64();
    during.seconds += seconds;
    let mut client = server.connect()?;
    if server.kind == Kind::Dogwood {
        let seen = number(&mut client, "SELECT sum(n)::bigint FROM votes_of_all")?;
        let votes = number(&mut client, "SELECT count(*) FROM votes")?;
        if seen != votes {
            return Err(format!("the view counts {seen} of {votes} votes").into());
        }
    }
    client.batch_execute("DROP MATERIALIZED VIEW votes_of_all")?;
    Ok(seconds)
}

type Latencies = (Vec<f64>, Vec<f64>);

fn write(
    bench: &Bench<'_>,
    server: &Server,
    seed: u64,
    making: &AtomicBool,
    stop: &AtomicBool,
) -> Result<Latencies, Failure> {
    let mut client = server.connect()?;
    let insert = client.prepare(VOTE)?;
    let mut random = Random::new(7 + seed);
    let (mut quiet, mut busy) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::SeqCst) {
        let people = bench.articles.people;
        let (id, voter, article) =
            (bench.articles.fresh_vote(), random.below(people) as i32, random.below(people) as i32);
        let during = making.load(Ordering::SeqCst);
        let started = Instant::now();
        client.execute(&insert, &[&id, &voter, &article])?;
        let took = started.elapsed().as_secs_f64() * 1e6;
        // What began before and ended within belongs to within.
        if during || making.load(Ordering::SeqCst) { busy.push(took) } else { quiet.push(took) }
    }
    Ok((quiet, busy))
}
