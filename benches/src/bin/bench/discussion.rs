//! `bench lobsters`: the discussion board of the K9db paper under open load. Pages arrive at random times and send six to fifteen statements each.
//!
//! First the load that each system bears, then all of them in turn at what PostgreSQL bears and at half of it.

pub mod data;
mod load;
mod pages;
pub mod schema;
mod search;
mod session;
mod tally;
mod updates;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use data::{Data, Lines};
use load::{Lane, Visits};
use pages::{PAGES, Visitor};
use search::{BORNE_US, Probes};
use session::{Session, System};
use tally::Tally;

use crate::maintained::{copy_by, filled, heap_and_indexes, views};
use crate::measure::{Random, Samples, told};
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, MariaServer, Place, Server};

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const MARIA: &str = "MariaDB 10.11, MyRocks";
/// What `--only` says besides systems, if nothing else than writes under views is wanted.
const UPDATES: &str = "updates";
/// The first rate of a search, and that of the warming: pages a second.
const RATE_FIRST: f64 = 8.0;
/// Visits of each page that give its queries their automatic views.
const EARNING: u64 = 8;
/// Visits of each page by itself, for each round.
const VISITS: u64 = 50;
/// Visits of each page at half load, in all slices together, for a verdict on those that come seldom.
const VISITS_OF_ALL: usize = 40;
/// How long one look at the processor time of a page is, before more users are measured.
const STEADY_PROBE: Duration = Duration::from_secs(4);
/// So many looks that find it no lower than before by 3 % end the warming.
const STEADY_PROBES: u32 = 3;
/// So does this time.
const STEADY_MAX: Duration = Duration::from_secs(90);

/// A system with its load.
struct Candidate {
    system: System,
    lane: Lane,
}

/// Search, then measurement; then the same rates with more users, if asked for.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let data = Data::new(options.scale, 1, options.seed);
    let plan = options.plan(options.connections);
    let mut report = Report::new("lobsters", &data.told(), plan, &[OURS, PEER, MARIA])?;
    let visits = Visits::new(&data);
    let mut probes = Probes { data: &data, visits: &visits, length: plan.slice, seed: options.seed, unique: 0 };
    let mut candidates = started(&mut report, options, place, &data, "")?;
    if options.tls {
        let encrypted = candidates
            .iter()
            .map(|candidate| {
                let agreed = match &candidate.system {
                    System::Wire(server) => server.encryption()?,
                    System::Maria(server) => server.encryption()?,
                };
                Ok((candidate.lane.name, agreed))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        report.encrypted(&encrypted)?;
    }
    warm(&mut report, options, &mut candidates, &mut probes)?;
    write_under_views(&mut report, options, &candidates, &data)?;
    if options.only.iter().any(|only| only == UPDATES) {
        return report.print();
    }
    one_by_one(&mut report, options, &mut candidates, &mut probes)?;
    let mut borne = Vec::new();
    for candidate in &mut candidates {
        let name = candidate.lane.name;
        match probes.saturation(&mut candidate.lane, RATE_FIRST)? {
            Some(rate) => borne.push((name, rate)),
            None => report.note(&format!("{name} does not bear {:.0} pages/s", RATE_FIRST / 8.0))?,
        }
    }
    report.rates(
        &format!("pages a second with 95 % of them within {:.0} ms and no growing backlog", BORNE_US / 1e3),
        "pages/s",
        &borne,
    )?;
    let peer = borne.iter().find(|(name, _)| *name == PEER).or(borne.first());
    let &(name, saturating) = peer.ok_or("no system bears any load")?;
    for (rate, what) in [(saturating, format!("what saturates {name}")), (saturating / 2.0, "half of it".into())] {
        measure(&mut report, options, &mut candidates, &mut probes, &format!("{what}, {rate:.0} pages/s"), rate, None)?;
    }
    let what = format!("half of it, and each page {VISITS_OF_ALL} times at least");
    probes.length *= 3;
    measure(&mut report, options, &mut candidates, &mut probes, &what, saturating / 2.0, Some(VISITS_OF_ALL))?;
    settle(&mut report, &mut candidates)?;
    drop(candidates);
    if options.users_times > 1 {
        let more = Data::new(options.scale, options.users_times, options.seed);
        report.note(&format!("users × {}: {}", options.users_times, more.told()))?;
        let visits = Visits::new(&more);
        let mut probes = Probes { data: &more, visits: &visits, length: plan.slice, seed: options.seed, unique: 0 };
        let mut candidates = started(&mut report, options, place, &more, "-more")?;
        warm(&mut report, options, &mut candidates, &mut probes)?;
        let rate = saturating / 2.0;
        // The first data had the search for saturation to get warm by.
        steady(&mut report, &mut candidates, &mut probes, rate)?;
        let what = format!("users × {}, {rate:.0} pages/s", options.users_times);
        measure(&mut report, options, &mut candidates, &mut probes, &what, rate, None)?;
        settle(&mut report, &mut candidates)?;
    }
    report.print()
}

/// Starts and fills every system. One that does not start is left out, and said.
fn started(
    report: &mut Report,
    options: &Options,
    place: &Place,
    data: &Data,
    suffix: &str,
) -> Result<Vec<Candidate>, Failure> {
    let mut candidates = Vec::new();
    for name in [OURS, PEER, MARIA] {
        if !options.wants(name.split(' ').next().unwrap_or_default()) {
            continue;
        }
        let begun = Instant::now();
        let system = match name {
            OURS => System::Wire(Server::dogwood(place, &format!("dogwood{suffix}"))?),
            PEER => match Server::postgresql(place, &format!("postgresql{suffix}")) {
                Ok(server) => System::Wire(server),
                Err(failure) => {
                    report.failed(name, &told(&*failure))?;
                    continue;
                }
            },
            _ => match MariaServer::start(place, &format!("mariadb{suffix}")) {
                Ok(server) => System::Maria(server),
                Err(failure) => {
                    report.failed(name, &told(&*failure))?;
                    continue;
                }
            },
        };
        eprintln!("filling {name}");
        fill(&system, name, data)?;
        report.numbers("starting, making and filling the tables", "s", &[(name, begun.elapsed().as_secs_f64())])?;
        let meter = match &system {
            System::Wire(server) => server.meter(),
            System::Maria(server) => server.meter(),
        };
        let sessions = (0..options.connections).map(|_| system.connect()).collect::<Result<Vec<Session>, _>>()?;
        candidates.push(Candidate { lane: Lane { name, sessions, tally: Tally::new(data), meter }, system });
    }
    Ok(candidates)
}

/// Makes the tables and fills them.
fn fill(system: &System, name: &str, data: &Data) -> Result<(), Failure> {
    match system {
        System::Wire(server) => {
            let mut client = server.connect()?;
            let script = if name == OURS { schema::annotated() } else { schema::plain() };
            for statement in schema::statements(&script) {
                client.batch_execute(&statement)?;
            }
            for Lines { table, lines, keys } in data.tables() {
                copy_by(&mut client, table, lines)?;
                if let Some(count) = keys {
                    let bare = table.split(' ').next().unwrap_or_default();
                    client.batch_execute(&format!("SELECT setval('{bare}_id_seq', {count})"))?;
                }
            }
            if name == PEER {
                client.batch_execute("VACUUM ANALYZE")?;
            }
        }
        System::Maria(server) => {
            let mut client = server.connect()?;
            for statement in schema::statements(&schema::mariadb()) {
                client.run(&statement)?;
            }
            for Lines { table, lines, .. } in data.tables() {
                server.load(&mut client, table, lines)?;
            }
            // Its statistics are those of the files.
            client.run("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
            client.run(&format!("ANALYZE TABLE {}", schema::tables().join(", ")))?;
        }
    }
    Ok(())
}

/// Each page some times, then some seconds of a light load on every system, so that caches and automatic views are there before anything is timed.
fn warm(
    report: &mut Report,
    options: &Options,
    candidates: &mut [Candidate],
    probes: &mut Probes<'_>,
) -> Result<(), Failure> {
    let mut random = Random::new(options.seed + 61);
    for candidate in &mut *candidates {
        let name = candidate.lane.name;
        eprintln!("warming {name}");
        let begun = Instant::now();
        // In the long run every page is asked for often enough to have its views.
        for (page, _, _) in PAGES {
            for _ in 0..EARNING {
                let visit = probes.visits.visit_of(page, &mut random, probes.unique);
                probes.unique += 1;
                let Lane { sessions, tally, .. } = &mut candidate.lane;
                let served = Visitor { session: &mut sessions[0], data: probes.data, tally }.serve(&visit);
                served.map_err(|failure| format!("{name}, {visit:?}: {}", told(&*failure)))?;
            }
        }
        for _ in 0..3 {
            let length = std::mem::replace(&mut probes.length, Duration::from_secs(3));
            let outcome = probes.offer(&mut candidate.lane, RATE_FIRST);
            probes.length = length;
            outcome.map_err(|failure| format!("{name}: {failure}"))?;
            if let (System::Wire(server), OURS) = (&candidate.system, name) {
                filled(&mut server.connect()?)?;
            }
        }
        eprintln!("{name} is warm after {:.1} s", begun.elapsed().as_secs_f64());
    }
    if let Some(System::Wire(server)) = candidates_of(candidates, OURS) {
        let views = views(&mut server.connect()?)?;
        report.note(&format!("Dogwood has {} automatic views after the warming", views.automatic))?;
    }
    Ok(())
}

/// Each system under a load until a page's processor time falls no more: caches are filled, and what filling the tables left to do is done.
fn steady(
    report: &mut Report,
    candidates: &mut [Candidate],
    probes: &mut Probes<'_>,
    rate: f64,
) -> Result<(), Failure> {
    let length = std::mem::replace(&mut probes.length, STEADY_PROBE);
    for Candidate { lane, .. } in candidates {
        let begun = Instant::now();
        let (mut least, mut vain) = (f64::INFINITY, 0);
        while vain < STEADY_PROBES && begun.elapsed() < STEADY_MAX {
            let outcome = probes.offer(lane, rate)?;
            let page_us = outcome.processor_s * 1e6 / outcome.served.max(1) as f64;
            eprintln!("{}: {rate:.0} pages/s: {page_us:.0} µs of processor time a page", lane.name);
            vain = if page_us < least * 0.97 { 0 } else { vain + 1 };
            least = least.min(page_us);
        }
        let name = lane.name;
        report.note(&format!("{name} was under that load for {:.0} s before", begun.elapsed().as_secs_f64()))?;
    }
    probes.length = length;
    Ok(())
}

fn candidates_of<'a>(candidates: &'a [Candidate], name: &str) -> Option<&'a System> {
    candidates.iter().find(|candidate| candidate.lane.name == name).map(|candidate| &candidate.system)
}

/// The writes that views feel most, while all views are there.
fn write_under_views(
    report: &mut Report,
    options: &Options,
    candidates: &[Candidate],
    data: &Data,
) -> Result<(), Failure> {
    let systems = candidates.iter().map(|candidate| (candidate.lane.name, &candidate.system, candidate.lane.meter));
    updates::run(report, options, data, &systems.collect::<Vec<_>>())
}

/// Each page by itself on one connection, a visit to each system in turn; and each statement that it sends.
fn one_by_one(
    report: &mut Report,
    options: &Options,
    candidates: &mut [Candidate],
    probes: &mut Probes<'_>,
) -> Result<(), Failure> {
    let mut random = Random::new(options.seed + 59);
    let mut lines = Vec::new();
    for candidate in &mut *candidates {
        candidate.lane.sessions[0].times = Some(BTreeMap::new());
    }
    for (page, name, _) in PAGES {
        let mut latencies = vec![Vec::new(); candidates.len()];
        for _ in 0..options.rounds * VISITS {
            let visit = probes.visits.visit_of(page, &mut random, probes.unique);
            probes.unique += 1;
            for (candidate, latencies) in candidates.iter_mut().zip(&mut latencies) {
                let Lane { sessions, tally, .. } = &mut candidate.lane;
                let begun = Instant::now();
                Visitor { session: &mut sessions[0], data: probes.data, tally }.serve(&visit)?;
                latencies.push(begun.elapsed().as_secs_f64() * 1e6);
            }
        }
        lines.push((format!("{name}; alone, 1 conn."), latencies));
    }
    let mut statements: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    for (place, candidate) in candidates.iter_mut().enumerate() {
        for (text, times) in candidate.lane.sessions[0].times.take().unwrap_or_default() {
            statements.entry(text).or_insert_with(|| vec![Vec::new(); PAGES.len()])[place] = times;
        }
    }
    let statements = statements.into_iter().map(|(text, times)| (format!("`{}`", text.replace('|', " ")), times));
    for (name, latencies) in lines.into_iter().chain(statements) {
        let samples: Vec<Samples> = candidates
            .iter()
            .zip(latencies)
            .filter(|(_, latencies)| !latencies.is_empty())
            .map(|(candidate, latencies)| {
                let seconds = latencies.iter().sum::<f64>() / 1e6;
                Samples::of(candidate.lane.name, latencies, seconds)
            })
            .collect();
        report.samples(&name, &samples)?;
    }
    Ok(())
}

/// All systems at a rate, slice by slice in turn; with `at_least` there are so many visits of each page in all slices, and only
/// of pages of which there would have been fewer is told.
fn measure(
    report: &mut Report,
    options: &Options,
    candidates: &mut [Candidate],
    probes: &mut Probes<'_>,
    what: &str,
    rate: f64,
    at_least: Option<usize>,
) -> Result<(), Failure> {
    let mut all: Vec<Vec<Samples>> = Vec::new();
    for _ in 0..=PAGES.len() {
        all.push(candidates.iter().map(|candidate| Samples::of(candidate.lane.name, Vec::new(), 1.0)).collect());
    }
    for samples in all.iter_mut().flatten() {
        samples.rates.clear();
    }
    let mut processor = vec![(0.0, 0_usize, 0_usize); candidates.len()];
    let mut woke_late = vec![Vec::new(); candidates.len()];
    for round in 0..options.rounds {
        eprintln!("{what}: slice {} of {} of each system", round + 1, options.rounds);
        let of_each = at_least.map_or(0, |visits| visits.div_ceil(options.rounds as usize));
        let arrivals = probes.visits.arrivals_of_all(rate, probes.length, probes.seed, probes.unique, of_each);
        probes.unique += arrivals.len() as u64;
        for (place, candidate) in candidates.iter_mut().enumerate() {
            let outcome = candidate
                .lane
                .offer(probes.data, &arrivals)
                .map_err(|failure| format!("{}: {failure}", candidate.lane.name))?;
            let seconds = outcome.took.as_secs_f64();
            for (page, latencies) in outcome.latencies.iter().enumerate() {
                for class in [page, PAGES.len()] {
                    all[class][place].latencies.extend(latencies);
                }
                all[page][place].rates.push(latencies.len() as f64 / seconds);
            }
            all[PAGES.len()][place].rates.push(outcome.served as f64 / seconds);
            processor[place].0 += outcome.processor_s;
            processor[place].1 += outcome.served;
            processor[place].2 += outcome.cut;
            woke_late[place].extend(outcome.woke_late);
        }
    }
    for (place, &(seconds, served, cut)) in processor.iter().enumerate() {
        all[PAGES.len()][place].processor_us = Some(seconds * 1e6 / served.max(1) as f64);
        if cut > 0 {
            let name = candidates[place].lane.name;
            report.note(&format!("{what}: {name} was more than 3 s behind: {cut} of {} pages were cut off, and count with the time until then", cut + served))?;
        }
    }
    let late: Vec<(&str, Vec<f64>, usize)> = candidates
        .iter()
        .zip(woke_late)
        .zip(&processor)
        .map(|((candidate, woke), (_, served, cut))| (candidate.lane.name, woke, served + cut))
        .collect();
    report.late(what, late)?;
    let visits = rate * probes.length.as_secs_f64() * options.rounds as f64;
    tell_pages(report, what, all, at_least.map(|at_least| (at_least, visits)))
}

/// The samples of each page and of all; or of those pages alone of which so many visits would have had fewer than wanted.
fn tell_pages(
    report: &mut Report,
    what: &str,
    all: Vec<Vec<Samples>>,
    rare: Option<(usize, f64)>,
) -> Result<(), Failure> {
    let names = PAGES.iter().map(|(_, name, _)| *name).chain(["all pages"]);
    let weights: u64 = PAGES.iter().map(|(_, _, weight)| weight).sum();
    let told = |place: usize| {
        rare.is_none_or(|(at_least, visits)| {
            let page = PAGES.get(place);
            page.is_some_and(|(_, _, weight)| visits * *weight as f64 / (weights as f64) < at_least as f64)
        })
    };
    for ((place, name), mut samples) in names.enumerate().zip(all) {
        if !told(place) {
            continue;
        }
        for one in &mut samples {
            one.latencies.sort_by(f64::total_cmp);
        }
        // A rare page may not have been asked for at all.
        if samples.iter().any(|one| !one.latencies.is_empty()) {
            report.samples(&format!("{name}; {what}"), &samples)?;
        }
    }
    Ok(())
}

/// Is everything there that was acknowledged? Then what it takes.
fn settle(report: &mut Report, candidates: &mut [Candidate]) -> Result<(), Failure> {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let (mut disk, mut resident) = (Vec::new(), Vec::new());
    for Candidate { system, lane } in candidates {
        let name = lane.name;
        let mut session = system.connect()?;
        lane.tally.settle(&mut session).map_err(|failure| format!("{name}: {failure}"))?;
        let (bytes, memory) = match system {
            System::Wire(server) => (server.bytes(), server.resident()?),
            System::Maria(server) => (server.bytes(), server.resident()?),
        };
        disk.push((name, megabytes(bytes)));
        resident.push((name, megabytes(memory)));
        match (&*system, name) {
            (System::Wire(server), OURS) => {
                let held = views(&mut server.connect()?)?;
                report.numbers("memory of the views, by `dogwood.views`", "MB", &[(name, megabytes(held.bytes))])?;
                report.note(&format!("Dogwood has {} views, {} of them automatic", held.count, held.automatic))?;
            }
            (System::Wire(server), PEER) => {
                let data = heap_and_indexes(&mut server.connect()?)?;
                report.numbers("heap and indexes", "MB", &[(name, data as f64 / 1e6)])?;
            }
            _ => {}
        }
    }
    report.numbers("folder on disk", "MB", &disk)?;
    report.numbers("resident set (of PostgreSQL its first process)", "MB", &resident)?;
    report
        .note("votes, comments, stories, users and the stories' counters: as many in every system as were acknowledged")
}
