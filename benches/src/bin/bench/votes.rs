//! `bench votes`: articles with the number of their votes, nineteen reads to a vote, in four setups: PostgreSQL alone, PostgreSQL with memcached
//! filled on demand and invalidated by whoever writes, PostgreSQL with a counter that a trigger keeps, and Dogwood.
//!
//! A read must count every vote that was acknowledged before it began, and none that was not begun when it ended. Only the cache may break the
//! first half (its filler may be slower than the writer who invalidates): such reads are counted and told.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use postgres::Client;

use crate::articles::{Articles, COUNT, VOTE, VOTES_EACH};
use crate::cache::Cache;
use crate::maintained::{earned, number, views};
use crate::measure::{Lane, Operation, Random, Zipf, race};
use crate::options::Options;
use crate::report::Report;
use crate::server::{CacheServer, Failure, Place, Server};

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const CACHED: &str = "PostgreSQL 15 and memcached";
const COUNTER: &str = "PostgreSQL 15, counter by trigger";
const EXPONENT: f64 = 0.6;
/// Of a hundred operations.
const READS: u64 = 95;
const CLASSES: [&str; 2] = ["read", "vote"];

/// What one would write by hand in PostgreSQL: a column that a trigger keeps.
const COUNT_BY_TRIGGER: &str = "
    ALTER TABLE articles ADD COLUMN votes bigint NOT NULL DEFAULT 0;
    UPDATE articles SET votes = (SELECT count(*) FROM votes WHERE article = articles.id);
    CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN UPDATE articles SET votes = votes + 1 WHERE id = NEW.article; RETURN NULL; END';
    CREATE TRIGGER counted AFTER INSERT ON votes FOR EACH ROW EXECUTE FUNCTION counted()";
const COUNTED: &str = "SELECT id, title, votes FROM articles WHERE id = $1";

/// What votes each system has been sent and has acknowledged, by article.
struct Tally {
    begun: Vec<AtomicI64>,
    acknowledged: Vec<AtomicI64>,
    reads: AtomicU64,
    hits: AtomicU64,
    stale: AtomicU64,
}

impl Tally {
    fn new(articles: u64) -> Tally {
        let votes = || (0..articles).map(|_| AtomicI64::new(VOTES_EACH as i64)).collect();
        Tally {
            begun: votes(),
            acknowledged: votes(),
            reads: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            stale: AtomicU64::new(0),
        }
    }

    /// Is this count right for a read that began when `least` votes were acknowledged?
    fn check(&self, article: u64, least: i64, count: i64, may_be_stale: bool) -> Result<(), Failure> {
        let most = self.begun[article as usize].load(Ordering::SeqCst);
        if count < least && may_be_stale {
            self.stale.fetch_add(1, Ordering::Relaxed);
        } else if count < least || count > most {
            return Err(format!("article {article} was read with {count} votes; {least} to {most} are right").into());
        }
        Ok(())
    }
}

/// All in turn, at one connection and at as many as were asked for.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let articles = Articles::new(options.people);
    let data = format!("{0} articles, {1} votes, Zipf {EXPONENT}, {READS} % reads", options.people, articles.votes());
    let mut report = Report::new("votes", &data, options.plan(options.connections), &[OURS, PEER, CACHED, COUNTER])?;
    let ours = Server::dogwood(place, "dogwood")?;
    let peer = Server::postgresql(place, "postgresql")?;
    let backed = Server::postgresql(place, "postgresql-cached")?;
    let counted = Server::postgresql(place, "postgresql-counted")?;
    let cache = CacheServer::start(place)?;
    for server in [&ours, &peer, &backed, &counted] {
        eprintln!("filling {}", server.kind.name());
        articles.fill(server)?;
    }
    let mut client = counted.connect()?;
    client.batch_execute(COUNT_BY_TRIGGER)?;
    client.batch_execute("VACUUM FULL ANALYZE articles")?;
    let zipf = Zipf::new(options.people, EXPONENT);
    let tallies = [(); 4].map(|()| Tally::new(options.people));
    let mut client = ours.connect()?;
    let count = client.prepare(COUNT)?;
    match earned(&mut client, |client| Ok(client.query(&count, &[&1_i32]).map(drop)?))? {
        Some(took) => {
            report.single("from the first executions to a filled automatic view", "ms", took.as_secs_f64() * 1e3)?
        }
        None => report.note("NO AUTOMATIC VIEW was made of the count: each execution computes it")?,
    }
    fill_cache(&backed, &cache, &tallies[2], options.people)?;
    let setup = Setup { articles: &articles, zipf: &zipf };
    let mut connections = vec![1, options.connections];
    connections.dedup();
    for connections in connections {
        let lanes = [
            setup.sql(OURS, &ours, COUNT, &tallies[0]),
            setup.sql(PEER, &peer, COUNT, &tallies[1]),
            setup.cached(&backed, &cache, &tallies[2]),
            setup.sql(COUNTER, &counted, COUNTED, &tallies[3]),
        ];
        let samples = race(&lanes, CLASSES.len(), options.plan(connections))?;
        for (class, samples) in CLASSES.iter().zip(samples) {
            report.samples(&format!("{class}, {connections} conn."), &samples)?;
        }
    }
    for ((server, tally), name) in
        [&ours, &peer, &backed, &counted].into_iter().zip(&tallies).zip([OURS, PEER, CACHED, COUNTER])
    {
        let votes = number(&mut server.connect()?, "SELECT count(*) FROM votes")?;
        let acknowledged: i64 = tally.acknowledged.iter().map(|votes| votes.load(Ordering::SeqCst)).sum();
        if votes != acknowledged {
            return Err(format!("{name} has {votes} votes, {acknowledged} were acknowledged").into());
        }
    }
    let (reads, hits, stale) = (&tallies[2].reads, &tallies[2].hits, &tallies[2].stale);
    let reads = reads.load(Ordering::Relaxed).max(1);
    report.note(&format!(
        "memcached had {:.1} % of what was asked; {} of {reads} reads lacked a vote acknowledged before they began. The others: none",
        hits.load(Ordering::Relaxed) as f64 * 100.0 / reads as f64,
        stale.load(Ordering::Relaxed)
    ))?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let cached = Cache::connect(cache.port)?.statistic("bytes")?;
    report.numbers(
        "the results in memory",
        "MB",
        &[(OURS, megabytes(views(&mut client)?.bytes)), (CACHED, megabytes(cached))],
    )?;
    report.print()
}

/// As a cache that has been in use: everything that was ever asked.
fn fill_cache(server: &Server, cache: &CacheServer, tally: &Tally, articles: u64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let count = client.prepare(COUNT)?;
    let mut cache = Cache::connect(cache.port)?;
    for article in 0..articles {
        let votes = read(&mut client, &count, article)?;
        tally.check(article, VOTES_EACH as i64, votes, false)?;
        cache.set(&key(article), &value(article, votes))?;
    }
    Ok(())
}

fn key(article: u64) -> String {
    format!("article:{article}")
}

fn value(article: u64, votes: i64) -> Vec<u8> {
    format!("{article}\t{}\t{votes}", Articles::title(article)).into_bytes()
}

/// The votes of an article, its title checked.
fn read(client: &mut Client, count: &postgres::Statement, article: u64) -> Result<i64, Failure> {
    let row = client.query_one(count, &[&i32::try_from(article)?])?;
    if row.try_get::<_, &str>(1)? != Articles::title(article) {
        return Err(format!("a wrong title of article {article}").into());
    }
    Ok(row.try_get(2)?)
}

struct Setup<'a> {
    articles: &'a Articles,
    zipf: &'a Zipf,
}

impl<'a> Setup<'a> {
    fn vote(
        &self,
        client: &mut Client,
        insert: &postgres::Statement,
        random: &mut Random,
        article: u64,
        tally: &Tally,
    ) -> Result<(), Failure> {
        let voter = i32::try_from(random.below(self.articles.people))?;
        tally.begun[article as usize].fetch_add(1, Ordering::SeqCst);
        client.execute(insert, &[&self.articles.fresh_vote(), &voter, &i32::try_from(article)?])?;
        Ok(())
    }

    /// A database alone.
    fn sql(&'a self, system: &str, server: &'a Server, count: &'static str, tally: &'a Tally) -> Lane<'a> {
        Lane::new(system, &[server.meter()], move || {
            let mut client = server.connect()?;
            let (count, insert) = (client.prepare(count)?, client.prepare(VOTE)?);
            let operation: Operation<'a> = Box::new(move |random, _unique| {
                let article = self.zipf.draw(random);
                if random.below(100) < READS {
                    let least = tally.acknowledged[article as usize].load(Ordering::SeqCst);
                    let votes = read(&mut client, &count, article)?;
                    tally.check(article, least, votes, false)?;
                    return Ok(0);
                }
                self.vote(&mut client, &insert, random, article, tally)?;
                tally.acknowledged[article as usize].fetch_add(1, Ordering::SeqCst);
                Ok(1)
            });
            Ok(operation)
        })
    }

    /// A database behind a cache.
    fn cached(&'a self, server: &'a Server, cache: &'a CacheServer, tally: &'a Tally) -> Lane<'a> {
        Lane::new(CACHED, &[server.meter(), cache.meter()], move || {
            let mut client = server.connect()?;
            let mut cache = Cache::connect(cache.port)?;
            let (count, insert) = (client.prepare(COUNT)?, client.prepare(VOTE)?);
            let operation: Operation<'a> = Box::new(move |random, _unique| {
                let article = self.zipf.draw(random);
                let key = key(article);
                if random.below(100) >= READS {
                    self.vote(&mut client, &insert, random, article, tally)?;
                    cache.delete(&key)?;
                    tally.acknowledged[article as usize].fetch_add(1, Ordering::SeqCst);
                    return Ok(1);
                }
                let least = tally.acknowledged[article as usize].load(Ordering::SeqCst);
                tally.reads.fetch_add(1, Ordering::Relaxed);
                let votes = if let Some(found) = cache.get(&key)? {
                    tally.hits.fetch_add(1, Ordering::Relaxed);
                    let text = String::from_utf8_lossy(&found).into_owned();
                    let votes = text.rsplit('\t').next().unwrap_or_default().parse()?;
                    if found != value(article, votes) {
                        return Err(format!("a wrong answer for {key}").into());
                    }
                    votes
                } else {
                    let votes = read(&mut client, &count, article)?;
                    cache.set(&key, &value(article, votes))?;
                    votes
                };
                tally.check(article, least, votes, true)?;
                Ok(0)
            });
            Ok(operation)
        })
    }
}
