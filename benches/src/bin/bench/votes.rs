//! `bench votes`: articles with the number of their votes, nineteen reads to a vote, in four setups: PostgreSQL alone, PostgreSQL with memcached
//! filled on demand and invalidated by whoever writes, PostgreSQL with a counter that a trigger keeps, and Dogwood.
//!
//! Each connection as fast as it can first, then all systems under the same arrivals at rates that they bear.
//!
//! A read must count every vote that was acknowledged before it began, and none that was not begun when it ended. Only the cache may break the
//! first half (its filler may be slower than the writer who invalidates): such reads are counted and told.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use postgres::Client;

use crate::articles::{Articles, COUNT, VOTE, VOTES_EACH};
use crate::cache::Cache;
use crate::maintained::{earned, number, views};
use crate::measure::{Random, Zipf};
use crate::mixed::{self, Candidate, Mix, Worker};
use crate::options::Options;
use crate::report::Report;
use crate::server::{self, CacheServer, Failure, Place, Server};

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

    /// What memcached had of what was asked since this was told last, and how old it was.
    fn told(&self, report: &mut Report, when: &str) -> Result<(), Failure> {
        let [reads, hits, stale] = [&self.reads, &self.hits, &self.stale].map(|count| count.swap(0, Ordering::Relaxed));
        report.note(&format!(
            "{when}: memcached had {:.1} % of what was asked; {stale} of {reads} reads lacked a vote acknowledged before they began. The others: none",
            hits as f64 * 100.0 / reads.max(1) as f64
        ))
    }
}

/// What a connection is asked to do.
enum Asked {
    /// An article with its votes.
    Read { article: u64 },
    /// A vote of somebody for it.
    Vote { id: i64, voter: i32, article: u64 },
}

impl Asked {
    fn draw(random: &mut Random, articles: &Articles, zipf: &Zipf) -> Asked {
        let article = zipf.draw(random);
        if random.below(100) < READS {
            return Asked::Read { article };
        }
        // There are fewer people than an int counts.
        let voter = random.below(articles.people) as i32;
        Asked::Vote { id: articles.fresh_vote(), voter, article }
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
    if options.tls {
        let servers = [(OURS, &ours), (PEER, &peer), (CACHED, &backed), (COUNTER, &counted)];
        report.encrypted(&server::encryption(&servers, Some((CACHED, &cache)))?)?;
    }
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
            report.single("from the first executions to a filled automatic view", "ms", took.as_secs_f64() * 1e3)?;
        }
        None => report.note("NO AUTOMATIC VIEW was made of the count: each execution computes it")?,
    }
    fill_cache(&backed, &cache, &tallies[2], options.people)?;
    let candidates = [
        sql(OURS, &ours, COUNT, &tallies[0]),
        sql(PEER, &peer, COUNT, &tallies[1]),
        cached(&backed, &cache, &tallies[2]),
        sql(COUNTER, &counted, COUNTED, &tallies[3]),
    ];
    let mix = Mix {
        classes: CLASSES.map(String::from).into(),
        draw: Box::new(|random, _unique| Asked::draw(random, &articles, &zipf)),
        class: |asked| usize::from(matches!(asked, Asked::Vote { .. })),
    };
    if options.connections > 1 {
        mixed::closed(&mut report, options, &mix, &candidates, 1)?;
    }
    let borne = mixed::closed(&mut report, options, &mix, &candidates, options.connections)?;
    tallies[2].told(&mut report, "closed loop")?;
    for (rate, why) in mixed::rates(options, &borne, CACHED) {
        mixed::offered(&mut report, options, &mix, &candidates, rate, &why)?;
        tallies[2].told(&mut report, &format!("{rate:.0} a second offered"))?;
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
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let cached = Cache::connect(&cache)?.statistic("bytes")?;
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
    let mut cache = Cache::connect(cache)?;
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

fn vote(
    client: &mut Client,
    insert: &postgres::Statement,
    (id, voter, article): (i64, i32, u64),
    tally: &Tally,
) -> Result<(), Failure> {
    tally.begun[article as usize].fetch_add(1, Ordering::SeqCst);
    client.execute(insert, &[&id, &voter, &i32::try_from(article)?])?;
    Ok(())
}

/// A database alone.
fn sql<'a>(system: &'static str, server: &'a Server, count: &'static str, tally: &'a Tally) -> Candidate<'a, Asked> {
    let open = move || {
        let mut client = server.connect()?;
        let (count, insert) = (client.prepare(count)?, client.prepare(VOTE)?);
        let worker: Worker<'a, Asked> = Box::new(move |asked| match *asked {
            Asked::Read { article } => {
                let least = tally.acknowledged[article as usize].load(Ordering::SeqCst);
                let votes = read(&mut client, &count, article)?;
                tally.check(article, least, votes, false)
            }
            Asked::Vote { id, voter, article } => {
                vote(&mut client, &insert, (id, voter, article), tally)?;
                tally.acknowledged[article as usize].fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        });
        Ok(worker)
    };
    Candidate { system, meters: vec![server.meter()], open: Box::new(open) }
}

/// A database behind a cache.
fn cached<'a>(server: &'a Server, cache: &'a CacheServer, tally: &'a Tally) -> Candidate<'a, Asked> {
    let open = move || {
        let mut client = server.connect()?;
        let mut cache = Cache::connect(cache)?;
        let (count, insert) = (client.prepare(COUNT)?, client.prepare(VOTE)?);
        let worker: Worker<'a, Asked> = Box::new(move |asked| {
            let article = match *asked {
                Asked::Read { article } => article,
                Asked::Vote { id, voter, article } => {
                    vote(&mut client, &insert, (id, voter, article), tally)?;
                    cache.delete(&key(article))?;
                    tally.acknowledged[article as usize].fetch_add(1, Ordering::SeqCst);
                    return Ok(());
                }
            };
            let key = key(article);
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
            tally.check(article, least, votes, true)
        });
        Ok(worker)
    };
    Candidate { system: CACHED, meters: vec![server.meter(), cache.meter()], open: Box::new(open) }
}
