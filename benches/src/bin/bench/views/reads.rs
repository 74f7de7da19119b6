//! Reads: a materialized view by key, the count of an article's votes, the files that a person sees.

use std::time::Instant;

use postgres::Client;
use postgres::types::ToSql;

use super::setup::{Bench, CACHE, Memory};
use crate::articles::{Articles, COUNT, VOTES_EACH};
use crate::cache::Cache;
use crate::file_sharing::{self, Access, Files, Shown};
use crate::maintained::{earned, filled};
use crate::measure::{Lane, Operation, Random, Workload, measure, race};
use crate::report::Report;
use crate::server::{CacheServer, Failure, Kind};

/// A materialized view by key. PostgreSQL's is a table that nobody keeps up, so that this is its point read.
pub fn by_key(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let memory = Memory::now(&bench.ours)?;
    let base = number_of_votes();
    for server in bench.servers() {
        let mut client = server.connect()?;
        let begun = Instant::now();
        client.batch_execute(
            "CREATE MATERIALIZED VIEW article_votes AS
             SELECT a.id, a.title, count(v.id) AS votes FROM articles a LEFT JOIN votes v ON v.article = a.id GROUP BY a.id, a.title",
        )?;
        let index = if server.kind == Kind::PostgreSql { "CREATE UNIQUE INDEX" } else { "CREATE INDEX" };
        client.batch_execute(&format!("{index} ON article_votes (id)"))?;
        if server.kind == Kind::Dogwood {
            filled(&mut client)?;
            let took = begun.elapsed();
            report.single(
                &format!("filling a view of {} articles with their votes", bench.articles.people),
                "ms",
                took.as_secs_f64() * 1e3,
            )?;
        }
    }
    memory.report(bench, report, "a view of all articles with their votes", None)?;
    let point =
        ByKey { articles: &bench.articles, base, sql: "SELECT id, title, votes FROM article_votes WHERE id = $1" };
    for connections in [1, 8, 32] {
        let samples = measure(&bench.servers(), bench.options.plan(connections), &point)?;
        report.samples(&format!("SELECT from a materialized view by key, {connections} conn."), &samples)?;
    }
    for server in bench.servers() {
        server.connect()?.batch_execute("DROP MATERIALIZED VIEW article_votes")?;
    }
    Ok(())
}

/// The number of an article's votes: a join and a count, against the same in PostgreSQL and against its result in memcached.
pub fn counts(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let memory = Memory::now(&bench.ours)?;
    let count = ByKey { articles: &bench.articles, base: number_of_votes(), sql: COUNT };
    warm(bench, report, "the count of an article's votes", &count)?;
    let before = bench.cached_bytes()?;
    let mut cache = Cache::connect(&bench.cache)?;
    let values: Vec<(String, Vec<u8>)> =
        (0..bench.articles.people).map(|article| (key(article), value(article).into_bytes())).collect();
    for (key, value) in &values {
        cache.set(key, value)?;
    }
    let cached = bench.cached_bytes()? - before;
    memory.report(bench, report, "the view of the counts", Some(cached))?;
    for connections in [1, 8] {
        let ours = crate::measure::lane(&bench.ours, &count);
        let peer = crate::measure::lane(&bench.peer, &count);
        let cache = cache_lane(&bench.cache, bench.articles.people, key, right);
        let samples = race(&[ours, peer, cache], 1, bench.options.plan(connections))?;
        report.samples(&format!("articles ⋈ votes, COUNT by id, prepared, {connections} conn."), &samples[0])?;
    }
    Ok(())
}

/// The files that a person sees: shared with them or with a group of theirs, with their paths and storages.
pub fn files(bench: &Bench<'_>, report: &mut Report) -> Result<(), Failure> {
    let files = Files::new((bench.options.people / 5).max(500), bench.options.seed);
    for server in bench.servers() {
        eprintln!("sharing files on {}", server.kind.name());
        files.fill(server, Access::Accessors)?;
    }
    let memory = Memory::now(&bench.ours)?;
    let visible = Visible { files: &files };
    warm(bench, report, "the files that a person sees", &visible)?;
    let before = bench.cached_bytes()?;
    let mut cache = Cache::connect(&bench.cache)?;
    let values: Vec<(String, Vec<u8>)> =
        (0..files.users).map(|user| (file_sharing::cache_key(user), files.cached(user).into_bytes())).collect();
    for (key, value) in &values {
        cache.set(key, value)?;
    }
    let cached = bench.cached_bytes()? - before;
    memory.report(bench, report, "the view of the files that each person sees", Some(cached))?;
    for connections in [1, 8] {
        let ours = crate::measure::lane(&bench.ours, &visible);
        let peer = crate::measure::lane(&bench.peer, &visible);
        let cache = cache_lane(&bench.cache, files.users, file_sharing::cache_key, |user, list| {
            let mut shown = Vec::new();
            Shown::of_list(user, list, &mut shown)?;
            files.check(&shown, &[user], &[files.seen(user)])
        });
        let samples = race(&[ours, peer, cache], 1, bench.options.plan(connections))?;
        report.samples(
            &format!("view files of one of {} people, three joins, prepared, {connections} conn.", files.users),
            &samples[0],
        )?;
    }
    Ok(())
}

/// Lets a query earn its view, and says whether it did.
fn warm<W: Workload>(bench: &Bench<'_>, report: &mut Report, name: &str, workload: &W) -> Result<(), Failure> {
    let mut client = bench.ours.connect()?;
    let state = workload.prepare(&mut client)?;
    let mut random = Random::new(99);
    let took = earned(&mut client, |client| workload.run(client, &state, &mut random, 0))?;
    match took {
        Some(took) => report.single(
            &format!("from the first executions to a filled automatic view: {name}"),
            "ms",
            took.as_secs_f64() * 1e3,
        ),
        None => report.note(&format!("NO AUTOMATIC VIEW was made for {name}: each execution computes it")),
    }
}

fn number_of_votes() -> i64 {
    i64::try_from(VOTES_EACH).unwrap_or(i64::MAX)
}

fn key(article: u64) -> String {
    format!("article:{article}")
}

fn value(article: u64) -> String {
    format!("{article}\t{}\t{VOTES_EACH}", Articles::title(article))
}

/// Is this the cached value of an article? Taken apart, as a row is.
fn right(article: u64, value: &str) -> Result<(), Failure> {
    let words: Vec<&str> = value.split('\t').collect();
    let &[id, title, votes] = words.as_slice() else { return Err("a value of other words".into()) };
    if id.parse::<u64>()? != article || title != Articles::title(article) || votes.parse::<u64>()? != VOTES_EACH {
        return Err(format!("a wrong answer for article {article}").into());
    }
    Ok(())
}

/// Gets one of so many values, all of which are there, and takes it apart into what a database's rows hold.
fn cache_lane<'a>(
    cache: &'a CacheServer,
    count: u64,
    key: fn(u64) -> String,
    check: impl Fn(u64, &str) -> Result<(), Failure> + Copy + Sync + 'a,
) -> Lane<'a> {
    Lane::new(CACHE, &[cache.meter()], move || {
        let mut client = Cache::connect(cache)?;
        let operation: Operation<'a> = Box::new(move |random, _unique| {
            let one = random.below(count);
            let value = client.get(&key(one))?.ok_or("memcached has lost a value")?;
            check(one, std::str::from_utf8(&value)?)?;
            Ok(0)
        });
        Ok(operation)
    })
}

/// An article, its title and its votes.
struct ByKey<'a> {
    articles: &'a Articles,
    base: i64,
    sql: &'static str,
}

impl Workload for ByKey<'_> {
    type State = postgres::Statement;

    fn prepare(&self, client: &mut Client) -> Result<Self::State, Failure> {
        Ok(client.prepare(self.sql)?)
    }

    fn run(&self, client: &mut Client, select: &Self::State, random: &mut Random, _unique: u64) -> Result<(), Failure> {
        let article = random.below(self.articles.people);
        let id = i32::try_from(article)?;
        let row = client.query_one(select, &[&id])?;
        let right = row.try_get::<_, &str>(1)? == Articles::title(article) && row.try_get::<_, i64>(2)? == self.base;
        if row.try_get::<_, i32>(0)? != id || !right {
            return Err(format!("a wrong answer for article {article}").into());
        }
        Ok(())
    }
}

/// The files of one person.
struct Visible<'a> {
    files: &'a Files,
}

impl Workload for Visible<'_> {
    type State = postgres::Statement;

    fn prepare(&self, client: &mut Client) -> Result<Self::State, Failure> {
        Ok(client.prepare(&format!("{} WHERE uid = $1", file_sharing::VIEW_FILES))?)
    }

    fn run(&self, client: &mut Client, select: &Self::State, random: &mut Random, _unique: u64) -> Result<(), Failure> {
        let user = random.below(self.files.users);
        let uid = file_sharing::uid(user);
        let parameters: [&(dyn ToSql + Sync); 1] = [&uid];
        let seen = self.files.seen(user);
        let rows = client.query(select, &parameters)?;
        let shown = rows.iter().map(Shown::of_row).collect::<Result<Vec<_>, _>>()?;
        self.files.check(&shown, &[user], &[seen])
    }
}
