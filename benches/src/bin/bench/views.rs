//! `bench views`: what maintained views cost and bring. Reads by key, counts and joins beside PostgreSQL and memcached, writes under views,
//! views made while others write, subscriptions, memory.

mod creation;
mod reads;
mod subscriptions;
mod writes;

use crate::articles::{Articles, VOTES_EACH};
use crate::cache::Cache;
use crate::maintained::{heap_and_indexes, views};
use crate::measure::told;
use crate::options::Options;
use crate::report::Report;
use crate::server::{CacheServer, Failure, Kind, Place, Server};

/// The columns of the report.
const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const CACHE: &str = "memcached";

/// What the parts work on.
struct Bench<'a> {
    options: &'a Options,
    place: &'a Place,
    articles: Articles,
    ours: Server,
    peer: Server,
    cache: CacheServer,
}

/// All parts, or those that were asked for.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let people = options.people;
    let data = format!("{people} people with an article each, {} votes", people * VOTES_EACH);
    let mut report = Report::new("views", &data, options.plan(1), &[OURS, PEER, CACHE])?;
    let bench = Bench {
        options,
        place,
        articles: Articles::new(people),
        ours: Server::dogwood(place, "dogwood")?,
        peer: Server::postgresql(place, "postgresql")?,
        cache: CacheServer::start(place)?,
    };
    for server in [&bench.ours, &bench.peer] {
        eprintln!("filling {}", server.kind.name());
        bench.articles.fill(server)?;
    }
    type Part = fn(&Bench<'_>, &mut Report) -> Result<(), Failure>;
    let parts: [(&str, Part); 6] = [
        ("reads", reads::by_key),
        // Before a view of the votes is earned: it would slow the writers down.
        ("creation", creation::run),
        ("counts", reads::counts),
        ("files", reads::files),
        ("writes", writes::run),
        ("subscriptions", subscriptions::run),
    ];
    for (name, part) in parts {
        if !options.wants(name) {
            continue;
        }
        eprintln!("part {name}");
        if let Err(failure) = part(&bench, &mut report) {
            report.failed(name, &told(&*failure))?;
        }
    }
    report.print()
}

/// What the views of one step need, beside their data in PostgreSQL and the same results in memcached.
struct Memory {
    views: u64,
    resident: u64,
}

impl Memory {
    fn now(server: &Server) -> Result<Memory, Failure> {
        Ok(Memory { views: views(&mut server.connect()?)?.bytes, resident: server.resident()? })
    }

    /// Reports what has come since.
    fn report(&self, bench: &Bench<'_>, report: &mut Report, name: &str, cached: Option<u64>) -> Result<(), Failure> {
        let now = Memory::now(&bench.ours)?;
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        let mut values = vec![(OURS, megabytes(now.views.saturating_sub(self.views)))];
        let data = heap_and_indexes(&mut bench.peer.connect()?)?;
        values.push((PEER, data as f64 / 1e6));
        values.extend(cached.map(|bytes| (CACHE, megabytes(bytes))));
        report.numbers(
            &format!("memory: {name} (`dogwood.views`; PostgreSQL: heap and indexes of all tables so far; memcached: its items)"),
            "MB",
            &values,
        )?;
        report.single(
            &format!("memory: growth of the resident set meanwhile, {name}"),
            "MB",
            megabytes(now.resident.saturating_sub(self.resident)),
        )
    }
}

/// Bytes of memcached's items.
fn cached_bytes(bench: &Bench<'_>) -> Result<u64, Failure> {
    Cache::connect(&bench.cache)?.statistic("bytes")
}

/// Both that speak SQL.
fn servers<'a>(bench: &'a Bench<'_>) -> [&'a Server; 2] {
    debug_assert_eq!(bench.ours.kind, Kind::Dogwood);
    [&bench.ours, &bench.peer]
}
