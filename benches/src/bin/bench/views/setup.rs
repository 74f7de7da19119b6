//! What the parts of `bench views` work on: the two that speak SQL and the cache, with articles and votes in them.

use crate::articles::Articles;
use crate::cache::Cache;
use crate::maintained::{heap_and_indexes, views};
use crate::options::Options;
use crate::report::Report;
use crate::server::{CacheServer, Failure, Kind, Place, Server};

/// The columns of the report.
pub const OURS: &str = "Dogwood";
/// PostgreSQL, whose materialized views are kept up by REFRESH.
pub const PEER: &str = "PostgreSQL 15";
/// memcached.
pub const CACHE: &str = "memcached";

/// What the parts work on.
pub struct Bench<'a> {
    /// What was asked for.
    pub options: &'a Options,
    /// Where further servers are started.
    pub place: &'a Place,
    /// The first rows.
    pub articles: Articles,
    /// Dogwood.
    pub ours: Server,
    /// PostgreSQL.
    pub peer: Server,
    /// memcached.
    pub cache: CacheServer,
}

impl<'a> Bench<'a> {
    /// Starts everything, and fills what speaks SQL.
    pub fn start(options: &'a Options, place: &'a Place) -> Result<Bench<'a>, Failure> {
        let bench = Bench {
            options,
            place,
            articles: Articles::new(options.people),
            ours: Server::dogwood(place, "dogwood")?,
            peer: Server::postgresql(place, "postgresql")?,
            cache: CacheServer::start(place)?,
        };
        for server in bench.servers() {
            eprintln!("filling {}", server.kind.name());
            bench.articles.fill(server)?;
        }
        Ok(bench)
    }

    /// Both that speak SQL, ours first.
    pub fn servers(&self) -> [&Server; 2] {
        debug_assert_eq!(self.ours.kind, Kind::Dogwood);
        [&self.ours, &self.peer]
    }

    /// Bytes of memcached's items.
    pub fn cached_bytes(&self) -> Result<u64, Failure> {
        Cache::connect(&self.cache)?.statistic("bytes")
    }
}

/// What the views of one step need, beside their data in PostgreSQL and the same results in memcached.
pub struct Memory {
    views: u64,
    resident: u64,
}

impl Memory {
    /// What a server holds before the step.
    pub fn now(server: &Server) -> Result<Memory, Failure> {
        Ok(Memory { views: views(&mut server.connect()?)?.bytes, resident: server.resident()? })
    }

    /// Reports what has come since.
    pub fn report(
        &self,
        bench: &Bench<'_>,
        report: &mut Report,
        name: &str,
        cached: Option<u64>,
    ) -> Result<(), Failure> {
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
