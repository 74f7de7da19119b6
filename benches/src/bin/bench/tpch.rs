//! `bench tpch`: the 22 queries of TPC-H, each as a maintained view while orders come (its first refresh function) and go (its second) in commits of
//! some orders. PostgreSQL has the same as a materialized view and a REFRESH after each commit. Beside that, each query asked once.

mod data;
mod market;
mod queries;
mod schema;

use std::time::Instant;

use crate::answers::Answer;
use crate::maintained::{copy, filled};
use crate::measure::{quantile, told};
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Kind, Place, Server};
use data::{Data, Order};
use market::{Cost, Market, ORDERS_EACH};
use queries::{QUERIES, query};

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
/// How often a query is asked once.
const ASKED: usize = 3;
/// Neither system is waited for longer, a statement.
const PATIENCE: &str = "SET statement_timeout = '2min'";
/// Orders are copied in parts of so many, so that their lines follow soon.
const PART: u64 = 20_000;

/// What became of the queries.
#[derive(Default)]
struct Verdicts {
    right: Vec<String>,
    wrong: Vec<String>,
    refused: Vec<String>,
    slower: Vec<String>,
}

/// Every query by itself, then all of them together.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let data = Data::new(options.scale, options.seed);
    let about = format!(
        "TPC-H's tables at scale {}: {} customers, {} orders; commits of {ORDERS_EACH} orders with their lines",
        options.scale, data.customers, data.orders
    );
    let mut report = Report::new("tpch", &about, options.untimed(), &[OURS, PEER])?;
    let (ours, peer) = (Server::dogwood(place, "dogwood")?, Server::postgresql(place, "postgresql")?);
    let loads = [&ours, &peer].map(|server| load(server, &data));
    let [ours_took, peer_took] = loads;
    report.pair("filling the tables by COPY", "s", ours_took?, peer_took?)?;
    let mut market = Market { data, servers: [&ours, &peer], seconds: options.seconds, done: 0 };
    let alone = market.both("")?;
    let name = format!("a commit of {ORDERS_EACH} orders without a view");
    costs(&mut report, &name, &alone, None)?;
    against_a_count(&mut report, &market, options.scale)?;
    let mut verdicts = Verdicts::default();
    let wanted: Vec<usize> = (1..=QUERIES.len()).filter(|number| options.wants(&number.to_string())).collect();
    for number in &wanted {
        let name = format!("Q{number}");
        eprintln!("{name}");
        let sql = query(*number, options.scale);
        once(&mut report, &market, &name, &sql)?;
        if let Err(failure) = kept(&mut report, &mut market, &name, &sql, &alone, &mut verdicts) {
            report.note(&format!("{name} is no maintained view: {}", told(&*failure)))?;
            verdicts.refused.push(name.clone());
        }
        drop_views(&market, &[name])?;
    }
    together(&mut report, &mut market, &verdicts.right, options.scale, &alone)?;
    restarted(&mut report, place, ours, &verdicts.right)?;
    let listed = |names: &[String]| if names.is_empty() { "none".to_string() } else { names.join(", ") };
    report.note(&format!(
        "{} of {} queries are right as views after the refresh functions; wrong: {}; refused or failed: {}; a commit that keeps them takes more processor time than one with REFRESH: {}",
        verdicts.right.len(),
        wanted.len(),
        listed(&verdicts.wrong),
        listed(&verdicts.refused),
        listed(&verdicts.slower),
    ))?;
    report.print()
}

/// Seconds that COPY took.
fn load(server: &Server, data: &Data) -> Result<f64, Failure> {
    eprintln!("filling {}", server.kind.name());
    schema::make(server)?;
    let mut seconds = 0.0;
    for (table, lines) in data.tables() {
        seconds += copy(server, table, lines.into_iter())?.as_secs_f64();
    }
    for first in (1..=data.orders).step_by(PART as usize) {
        let last = data.orders.min(first + PART - 1);
        let (mut orders, mut lines) = (Vec::new(), Vec::new());
        for Order { order, lines: of_order } in (first..=last).map(|key| data.order(key)) {
            orders.push(order);
            lines.extend(of_order);
        }
        seconds += copy(server, "orders", orders.into_iter())?.as_secs_f64();
        seconds += copy(server, "lineitem", lines.into_iter())?.as_secs_f64();
    }
    if server.kind == Kind::PostgreSql {
        server.connect()?.batch_execute("VACUUM ANALYZE")?;
    }
    Ok(seconds)
}

/// Filling query 1, whose sums are over nearly all lines, against filling a count of them.
fn against_a_count(report: &mut Report, market: &Market<'_>, scale: f64) -> Result<(), Failure> {
    let mut times = Vec::new();
    for server in market.servers {
        let (_, count_ms) = make(server, "counted", "SELECT count(*) AS lines FROM lineitem")?;
        let (_, sums_ms) = make(server, "summed", &query(1, scale))?;
        times.push((count_ms, sums_ms / count_ms));
    }
    drop_views(market, &["counted".into(), "summed".into()])?;
    report.pair("a count of all lines as a view: processor time of filling", "ms", times[0].0, times[1].0)?;
    report.pair("processor time of filling Q1 / of filling a count of all lines", "times", times[0].1, times[1].1)
}

/// Times of the query by itself; the answers must be alike.
fn once(report: &mut Report, market: &Market<'_>, name: &str, sql: &str) -> Result<(), Failure> {
    let (mut asked, mut processor_ms) = (Vec::new(), Vec::new());
    for server in market.servers {
        let before = server.meter().seconds()?;
        let mut client = server.connect()?;
        // A view that it would earn is another measurement.
        let own = if server.kind == Kind::Dogwood { "SET dogwood.auto_views = off" } else { "" };
        client.batch_execute(own)?;
        client.batch_execute(PATIENCE)?;
        let times = (0..ASKED).map(|_| {
            let started = Instant::now();
            let answer = Answer::of(&mut client, sql)?;
            Ok((started.elapsed().as_secs_f64() * 1e3, answer))
        });
        asked.push(times.collect::<Result<Vec<_>, Failure>>());
        drop(client);
        processor_ms.push((server.meter().seconds()? - before) * 1e3 / ASKED as f64);
    }
    let (peer, ours) = (asked.pop().ok_or("nothing was asked")??, asked.pop().ok_or("nothing was asked")?);
    let ours = match ours {
        Ok(ours) => ours,
        Err(failure) => return report.note(&format!("{name} asked once is not answered: {}", told(&*failure))),
    };
    if let Err(failure) = ours[0].1.require(&peer[0].1) {
        report.note(&format!("{name} asked once is WRONG: {}", told(&*failure)))?;
    }
    let median = |times: &[(f64, Answer)]| {
        let mut times: Vec<f64> = times.iter().map(|(time, _)| *time).collect();
        times.sort_by(f64::total_cmp);
        quantile(&times, 0.5)
    };
    report.pair(&format!("{name} asked once, {} rows", peer[0].1.len()), "ms", median(&ours), median(&peer))?;
    report.pair(&format!("{name} asked once: processor time"), "ms", processor_ms[0], processor_ms[1])
}

/// The query as a view under the refresh functions. An error if it cannot be made, or fails.
fn kept(
    report: &mut Report,
    market: &mut Market<'_>,
    name: &str,
    sql: &str,
    alone: &[Cost; 2],
    verdicts: &mut Verdicts,
) -> Result<(), Failure> {
    let mut fillings = Vec::new();
    for server in market.servers {
        fillings.push(make(server, name, sql)?);
    }
    report.pair(&format!("{name} as a view: filling"), "ms", fillings[0].0, fillings[1].0)?;
    report.pair(&format!("{name} as a view: processor time of filling"), "ms", fillings[0].1, fillings[1].1)?;
    let both = market.both(&format!("REFRESH MATERIALIZED VIEW {name}"))?;
    costs(report, &format!("{name} as a view: a commit, with it kept up (PostgreSQL: REFRESH)"), &both, Some(alone))?;
    let select = format!("SELECT * FROM {name}");
    let kept = Answer::of(&mut market.servers[0].connect()?, &select)?;
    let mut peer = market.servers[1].connect()?;
    match kept.require(&Answer::of(&mut peer, sql)?) {
        Ok(()) => verdicts.right.push(name.into()),
        Err(failure) => {
            verdicts.wrong.push(name.into());
            report.note(&format!("{name} as a view is WRONG after {} commits: {}", market.done, told(&*failure)))?;
        }
    }
    // By processor time: other work of the machine is not in it.
    if both[0].processor_ms > both[1].processor_ms {
        verdicts.slower.push(name.into());
    }
    Ok(())
}

/// Milliseconds by the clock and of the server's processor time until it is filled.
fn make(server: &Server, name: &str, sql: &str) -> Result<(f64, f64), Failure> {
    let before = server.meter().seconds()?;
    let started = Instant::now();
    let mut client = server.connect()?;
    client.batch_execute(PATIENCE)?;
    client.batch_execute(&format!("CREATE MATERIALIZED VIEW {name} AS {sql}"))?;
    if server.kind == Kind::Dogwood {
        filled(&mut client)?;
    }
    drop(client);
    let took = started.elapsed().as_secs_f64() * 1e3;
    Ok((took, (server.meter().seconds()? - before) * 1e3))
}

fn drop_views(market: &Market<'_>, names: &[String]) -> Result<(), Failure> {
    for server in market.servers {
        let mut client = server.connect()?;
        for name in names {
            client.batch_execute(&format!("DROP MATERIALIZED VIEW IF EXISTS {name}"))?;
        }
    }
    Ok(())
}

/// Reports the time of a commit, and its processor time beyond that of one without the view.
fn costs(report: &mut Report, name: &str, both: &[Cost; 2], alone: Option<&[Cost; 2]>) -> Result<(), Failure> {
    report.pair(&format!("{name}: median"), "ms", both[0].median(), both[1].median())?;
    let beyond = |place: usize| {
        let without = alone.map_or(0.0, |alone| alone[place].processor_ms);
        (both[place].processor_ms - without).max(0.0)
    };
    let what = if alone.is_some() { "processor time beyond the commit's own" } else { "processor time" };
    report.pair(&format!("{name}: {what}"), "ms", beyond(0), beyond(1))
}

/// A commit under all the views that are right.
fn together(
    report: &mut Report,
    market: &mut Market<'_>,
    names: &[String],
    scale: f64,
    alone: &[Cost; 2],
) -> Result<(), Failure> {
    if names.len() < 2 {
        return Ok(());
    }
    for (number, name) in (1..=QUERIES.len()).map(|number| (number, format!("Q{number}"))) {
        if names.contains(&name) {
            for server in market.servers {
                make(server, &name, &query(number, scale))?;
            }
        }
    }
    let refresh: Vec<String> = names.iter().map(|name| format!("REFRESH MATERIALIZED VIEW {name}")).collect();
    let both = market.both(&refresh.join("; "))?;
    let name = format!("a commit under {} views, all kept up (PostgreSQL: REFRESH of each)", names.len());
    costs(report, &name, &both, Some(alone))
}

/// How long it takes after a start until the views are there again. PostgreSQL has them on disk, as of their last REFRESH.
fn restarted(report: &mut Report, place: &Place, ours: Server, names: &[String]) -> Result<(), Failure> {
    if names.len() < 2 {
        return Ok(());
    }
    ours.stop();
    let ours = Server::dogwood(place, "dogwood")?;
    report.single("a start with these views, until it answers", "ms", ours.opened.as_secs_f64() * 1e3)?;
    let mut client = ours.connect()?;
    let started = Instant::now();
    let asked = names.last().ok_or("no view")?;
    client.simple_query(&format!("SELECT * FROM {asked}"))?;
    report.single("the answer of one that is not filled yet", "ms", started.elapsed().as_secs_f64() * 1e3)?;
    filled(&mut client)?;
    report.single("until all are filled", "s", started.elapsed().as_secs_f64())?;
    report.single("processor time until all are filled", "s", ours.meter().seconds()?)
}
