//! `bench nexmark`: an auction house's events under the queries q0 to q8, each as a maintained view: events a second, durable, in transactions of some;
//! how fresh a subscriber is; and the processor time of keeping the view, an event. Beside PostgreSQL, which refreshes after each transaction, and dbsp,
//! which computes in process and keeps nothing (benches/peers).

mod events;
mod house;
mod queries;
mod rival;

use std::time::Instant;

use crate::answers::Answer;
use crate::maintained::filled;
use crate::measure::{quantile, told};
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Kind, Place, Server};
use house::{EVENTS_EACH, House, Pace};
use queries::{QUERIES, Query};
use rival::Rival;

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const RIVAL: &str = "dbsp, in process";
/// Events before anything is measured, at scale 1.
const EVENTS_BEFORE: u64 = 2_500_000;
/// Transactions under a subscription.
const WATCHED: u64 = 50;

/// Each query by itself.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let before = options.scaled(EVENTS_BEFORE).div_ceil(EVENTS_EACH) * EVENTS_EACH;
    let about = format!("Nexmark: {before} events at first, then transactions of {EVENTS_EACH} events");
    let mut report = Report::new("nexmark", &about, options.untimed(), &[OURS, PEER, RIVAL])?;
    let rival = Rival::found(place.folder.clone())?;
    if rival.is_none() {
        report.note("dbsp is not measured: $PEERS names its program, which `make bench-nexmark` builds")?;
    }
    let (ours, peer) = (Server::dogwood(place, "dogwood")?, Server::postgresql(place, "postgresql")?);
    let mut house = House::open([&ours, &peer], options.seed, options.seconds)?;
    house.fill(before)?;
    // The first ones find everything cold.
    house.both("")?;
    let alone = house.both("")?;
    let rates = alone.each_ref().map(Pace::events_a_second);
    report.rates(
        &format!("events a second without a view, transactions of {EVENTS_EACH}"),
        "events/s",
        &[(OURS, rates[0]), (PEER, rates[1])],
    )?;
    let times = alone.each_ref().map(|pace| pace.processor_us);
    report.numbers("processor time of an event without a view", "µs", &[(OURS, times[0]), (PEER, times[1])])?;
    for query in QUERIES.iter().filter(|query| options.wants(query.name)) {
        eprintln!("{}: {}", query.name, query.about);
        if let Err(failure) = one(&mut report, &mut house, rival.as_ref(), query) {
            report.failed(query.name, &told(&*failure))?;
        }
        for server in house.servers {
            server.connect()?.batch_execute(&format!("DROP MATERIALIZED VIEW IF EXISTS {}", query.name))?;
        }
    }
    report.print()
}

/// One query on all three.
fn one(report: &mut Report, house: &mut House<'_>, rival: Option<&Rival>, query: &Query) -> Result<(), Failure> {
    let name = format!("{}, {}", query.name, query.about);
    // Right before: other work of the machine changes what a transaction costs.
    let alone = house.both("")?.map(|pace| pace.processor_us);
    let before = house.events;
    let mut fillings = Vec::new();
    for server in house.servers {
        fillings.push((server.kind.name(), fill(server, query)?));
    }
    let refresh = format!("REFRESH MATERIALIZED VIEW {}", query.name);
    let both = house.both(&refresh)?;
    let mut fresh = vec![(OURS, house.watched(query.name, WATCHED, &refresh)?), (PEER, both[1].median_ms())];
    let rates = both.each_ref().map(Pace::events_a_second);
    let mut rates = vec![(OURS, rates[0]), (PEER, rates[1])];
    let mut kept =
        vec![(OURS, (both[0].processor_us - alone[0]).max(0.0)), (PEER, (both[1].processor_us - alone[1]).max(0.0))];
    let [ours, right] = house.servers.map(|server| Answer::of(&mut server.connect()?, &query.plain()));
    let right = right?;
    ours?.require(&right).map_err(|failure| format!("a wrong view: {failure}"))?;
    if let Some(rival) = rival {
        let said = rival.run(query.name, house.stream, before, house.events, EVENTS_EACH)?;
        if said.rows != right.lines() {
            return Err(format!("dbsp has other rows: {} instead of {}", said.rows.len(), right.len()).into());
        }
        let seconds = said.transactions_ms.iter().sum::<f64>() / 1e3;
        rates.push((RIVAL, (house.events - before) as f64 / seconds));
        kept.push((RIVAL, said.processor_us));
        fresh.push((RIVAL, quantile(&said.transactions_ms, 0.5)));
        fillings.push((RIVAL, said.fill_ms));
    }
    report.rates(&format!("{name}: events a second (dbsp: nothing durable)"), "events/s", &rates)?;
    report.numbers(&format!("{name}: processor time of keeping the view, an event"), "µs", &kept)?;
    report.numbers(
        &format!("{name}: from sending a transaction to its change at a subscriber, median"),
        "ms",
        &fresh,
    )?;
    report.numbers(&format!("{name}: filling the view"), "ms", &fillings)
}

/// Milliseconds until it is filled.
fn fill(server: &Server, query: &Query) -> Result<f64, Failure> {
    let mut client = server.connect()?;
    let started = Instant::now();
    client.batch_execute(&format!("CREATE MATERIALIZED VIEW {} AS {}", query.name, query.sql))?;
    if server.kind == Kind::Dogwood {
        filled(&mut client)?;
    }
    Ok(started.elapsed().as_secs_f64() * 1e3)
}
