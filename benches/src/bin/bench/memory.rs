//! `bench memory`: what the views of Lobsters' pages take, against PostgreSQL's tables and indexes for the same data and against memcached
//! with the same results. Every view is compared with what PostgreSQL computes.

mod pages;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage};

use crate::cache::Cache;
use crate::discussion::{data::Data, schema};
use crate::maintained::{copy, earned, number};
use crate::measure::told;
use crate::options::Options;
use crate::report::Report;
use crate::server::{CacheServer, Failure, Kind, Place, Server};
use pages::{PAGES, Page};

const OURS: &str = "Dogwood";
const THEIRS: &str = "PostgreSQL 15";
const CACHE: &str = "memcached";
/// How long one view may take to be filled.
const FILLED_MAX: Duration = Duration::from_mins(5);
/// Parts of `dogwood.memory` that say who holds the bytes. The others are wholes, or what nobody explains.
const EXPLAINED: [&str; 11] = [
    "block cache",
    "write buffers",
    "data keys",
    "data subjects",
    "opened rows",
    "keyed hashes",
    "view arrangements",
    "view dataflows",
    "ordered indexes",
    "subscription queues",
    "subscription histories",
];
const MEGA: f64 = 1e6;

/// Fills both, makes the views one after the other, and caches the same rows.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let data = Data::new(options.scale, 1, options.seed);
    let mut report = Report::new("memory", &data.told(), options.untimed(), &[OURS, THEIRS, CACHE])?;
    let cache = CacheServer::start(place)?;
    let theirs = Server::postgresql(place, "postgresql")?;
    fill(&theirs, &data)?;
    let heap = tables_of(&theirs, &mut report)?;

    let ours = Server::dogwood(place, "dogwood")?;
    fill(&ours, &data)?;
    ours.stop();
    // Opened again: what the filling left in the allocator would hide what the views take.
    let ours = Server::dogwood(place, "dogwood")?;
    report.numbers(
        "on disk: our whole folder, PostgreSQL's tables and indexes",
        "MB",
        &[(OURS, ours.bytes() as f64 / MEGA), (THEIRS, heap)],
    )?;
    let mut client = ours.connect()?;
    let before = Memory::read(&ours, &mut client)?;

    let made = make_all(&mut client, &mut report)?;
    std::thread::sleep(Duration::from_secs(2));
    let after = Memory::read(&ours, &mut client)?;

    let mut cached = Cache::connect(&cache)?;
    let mut peer = theirs.connect()?;
    let held = views(&mut client)?;
    let (mut all, mut all_cached, mut needed, mut needed_cached) = (0.0, 0.0, Vec::new(), 0.0);
    for (page, took) in &made {
        let view = *held.get(page.name).ok_or_else(|| format!("dogwood.views does not show {}", page.name))?;
        let rows = rows(&mut client, &format!("SELECT * FROM kept_{}", page.name))?;
        compare(page, &rows, self::rows(&mut peer, page.query)?)?;
        let in_cache = keep(&mut cached, page, &rows)?;
        let name = page.name;
        let bytes = (view.arrangements + view.dataflow) as f64 / MEGA;
        report.numbers(
            &format!("view {name}, {} rows: bytes", rows.lines.len()),
            "MB",
            &[(OURS, bytes), (CACHE, in_cache)],
        )?;
        report.single(&format!("view {name}: of it in its dataflow"), "MB", view.dataflow as f64 / MEGA)?;
        report.single(&format!("view {name}: made and filled"), "ms", took.as_secs_f64() * 1e3)?;
        (all, all_cached) = (all + bytes, all_cached + in_cache);
        if is_lookup(&mut client, page)? {
            report.note(&format!("{name}: a lookup by an index answers its page without a view"))?;
        } else {
            needed.push(*page);
            needed_cached += in_cache;
        }
    }
    report.numbers(
        "all views together; PostgreSQL: its tables and indexes",
        "MB",
        &[(OURS, all), (THEIRS, heap), (CACHE, all_cached)],
    )?;
    totals(&mut report, &before, &after, heap, all_cached)?;
    largest(&mut report, &mut client)?;
    for (page, _) in &made {
        client.batch_execute(&format!("DROP MATERIALIZED VIEW kept_{}", page.name))?;
    }
    ours.stop();
    earning(&mut report, &Server::dogwood(place, "dogwood")?, &needed, heap, needed_cached)?;
    report.note("Every view holds exactly the rows that PostgreSQL computes; memcached has evicted none of them")?;
    report.print()
}

/// Makes the views, one after the other, and how long each took.
fn make_all(client: &mut Client, report: &mut Report) -> Result<Vec<(&'static Page, Duration)>, Failure> {
    let mut made = Vec::new();
    for page in &PAGES {
        match make(client, page) {
            Ok(took) => made.push((page, took)),
            Err(failure) => {
                report.failed(&format!("view {}", page.name), &told(&*failure))?;
                client.batch_execute(&format!("DROP MATERIALIZED VIEW IF EXISTS kept_{}", page.name))?;
            }
        }
    }
    Ok(made)
}

/// Makes the tables and fills them.
fn fill(server: &Server, data: &Data) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let script = match server.kind {
        Kind::Dogwood => schema::annotated(),
        Kind::PostgreSql => schema::plain(),
    };
    for statement in schema::statements(&script) {
        client.batch_execute(&statement)?;
    }
    for table in data.tables() {
        copy(server, table.table, table.lines)?;
    }
    eprintln!("{}: the tables are filled", server.kind.name());
    Ok(())
}

/// Megabytes of PostgreSQL's tables and indexes, packed.
fn tables_of(server: &Server, report: &mut Report) -> Result<f64, Failure> {
    let mut client = server.connect()?;
    let size = |client: &mut Client, function: &str| -> Result<f64, Failure> {
        let sql = format!(
            "SELECT sum({function}(oid))::bigint FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        );
        Ok(number(client, &sql)? as f64 / MEGA)
    };
    report.numbers(
        "PostgreSQL's tables and indexes as they were filled",
        "MB",
        &[(THEIRS, size(&mut client, "pg_total_relation_size")?)],
    )?;
    client.batch_execute("VACUUM FULL")?;
    let (heap, all) = (size(&mut client, "pg_table_size")?, size(&mut client, "pg_total_relation_size")?);
    report.numbers("after VACUUM FULL: tables", "MB", &[(THEIRS, heap)])?;
    report.numbers("after VACUUM FULL: indexes", "MB", &[(THEIRS, all - heap)])?;
    Ok(all)
}

/// Makes a view keyed as its page asks, and waits until it is filled.
fn make(client: &mut Client, page: &Page) -> Result<Duration, Failure> {
    let name = page.name;
    let started = Instant::now();
    client.batch_execute(&format!("CREATE MATERIALIZED VIEW kept_{name} AS {} WITH NO DATA", page.query))?;
    filled(client, page, started)?;
    if !page.index.is_empty() {
        client.batch_execute(&format!("CREATE INDEX kept_{name}_key ON kept_{name} ({})", page.index))?;
        filled(client, page, started)?;
    }
    eprintln!("view {name}: {:.1} s", started.elapsed().as_secs_f64());
    Ok(started.elapsed())
}

fn filled(client: &mut Client, page: &Page, started: Instant) -> Result<(), Failure> {
    let asked = format!("SELECT stage, message, rows_read FROM dogwood.views WHERE name = 'kept_{}'", page.name);
    loop {
        let answer = rows(client, &asked)?;
        let words = answer.lines.first().ok_or("the view is not in dogwood.views")?;
        match words[0].as_str() {
            "ready" => return Ok(()),
            "failed" => return Err(words[1].clone().into()),
            stage if started.elapsed() > FILLED_MAX => {
                let seconds = FILLED_MAX.as_secs();
                return Err(format!("still {stage} after {seconds} s, with {} rows read", words[2]).into());
            }
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// An answer as text, NULL as the word.
struct Rows {
    columns: Vec<String>,
    lines: Vec<Vec<String>>,
}

fn rows(client: &mut Client, sql: &str) -> Result<Rows, Failure> {
    let mut rows = Rows { columns: Vec::new(), lines: Vec::new() };
    for message in client.simple_query(sql)? {
        match message {
            SimpleQueryMessage::RowDescription(columns) => {
                rows.columns = columns.iter().map(|column| column.name().to_string()).collect();
            }
            SimpleQueryMessage::Row(row) => {
                rows.lines.push((0..row.len()).map(|place| row.get(place).unwrap_or("NULL").to_string()).collect());
            }
            _ => {}
        }
    }
    Ok(rows)
}

/// The view must be what PostgreSQL computes.
fn compare(page: &Page, ours: &Rows, theirs: Rows) -> Result<(), Failure> {
    let mut kept = ours.lines.clone();
    let mut right = theirs.lines;
    kept.sort();
    right.sort();
    if kept == right {
        return Ok(());
    }
    let strange = kept.iter().zip(&right).find(|(one, other)| one != other);
    Err(format!(
        "view {}: {} rows, PostgreSQL has {}; the first that differ: {strange:?}",
        page.name,
        kept.len(),
        right.len()
    )
    .into())
}

/// Caches the rows of each key as one value; gives the megabytes that memcached counts for them.
fn keep(cache: &mut Cache, page: &Page, rows: &Rows) -> Result<f64, Failure> {
    let before = cache.statistic("bytes")?;
    let key = page.key().map(|key| rows.columns.iter().position(|column| column == key).ok_or("no such column"));
    let key = key.transpose()?;
    let mut values: BTreeMap<&str, String> = BTreeMap::new();
    for line in &rows.lines {
        let value = values.entry(key.map_or("all", |key| line[key].as_str())).or_default();
        *value += &line.join("\t");
        value.push('\n');
    }
    for (key, value) in &values {
        cache.set(&format!("{}:{key}", page.name), value.as_bytes())?;
    }
    match cache.statistic("evictions")? {
        0 => Ok((cache.statistic("bytes")? - before) as f64 / MEGA),
        evicted => Err(format!("memcached has evicted {evicted} values: choose a smaller scale").into()),
    }
}

/// Does a lookup in the tables answer the page without its view?
fn is_lookup(client: &mut Client, page: &Page) -> Result<bool, Failure> {
    let Some(key) = page.key() else { return Ok(false) };
    let plan = rows(client, &format!("EXPLAIN SELECT * FROM ({}) asked WHERE {key} = 1", page.query))?;
    Ok(plan.lines.iter().any(|line| line[0] == "Path: lookup"))
}

/// The same pages as an application has them: its queries earn their views, which have no arrangement but by their key.
fn earning(report: &mut Report, server: &Server, pages: &[&Page], heap: f64, cached: f64) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let before = server.resident()? as f64 / MEGA;
    for page in pages {
        let keyed =
            page.key().map(|key| client.prepare(&format!("SELECT * FROM ({}) asked WHERE {key} = $1", page.query)));
        let whole = client.prepare(page.query)?;
        let keyed = keyed.transpose()?;
        let made = earned(&mut client, |client| match &keyed {
            Some(asked) => Ok(client.query(asked, &[&1]).map(drop)?),
            None => Ok(client.query(&whole, &[]).map(drop)?),
        })?;
        if made.is_none() {
            report.note(&format!("{}: its query earns no view of its own; one is made by statement", page.name))?;
            make(&mut client, page)?;
        }
    }
    std::thread::sleep(Duration::from_secs(2));
    let (held, resident) =
        (crate::maintained::views(&mut client)?.bytes as f64 / MEGA, server.resident()? as f64 / MEGA);
    let name = "views that pages need beside lookups, earned by their queries; PostgreSQL: its tables and indexes";
    report.numbers(name, "MB", &[(OURS, held), (THEIRS, heap), (CACHE, cached)])?;
    report.single("growth of the resident set with these (/proc)", "MB", resident - before)
}

#[derive(Clone, Copy)]
struct View {
    arrangements: u64,
    dataflow: u64,
}

/// What `dogwood.views` says of each, by its page's name.
fn views(client: &mut Client) -> Result<BTreeMap<String, View>, Failure> {
    let answer = rows(client, "SELECT name, bytes, dataflow_bytes FROM dogwood.views")?;
    let view = |line: &Vec<String>| -> Result<(String, View), Failure> {
        Ok((
            line[0].trim_start_matches("kept_").into(),
            View { arrangements: line[1].parse()?, dataflow: line[2].parse()? },
        ))
    };
    answer.lines.iter().map(view).collect()
}

/// The server's memory, by its own account and by the system's.
struct Memory {
    parts: Vec<(String, f64)>,
    resident: f64,
}

impl Memory {
    fn read(server: &Server, client: &mut Client) -> Result<Memory, Failure> {
        let answer = rows(client, "SELECT part, bytes FROM dogwood.memory")?;
        let part = |line: &Vec<String>| -> Result<(String, f64), Failure> {
            Ok((line[0].clone(), line[1].parse::<f64>()? / MEGA))
        };
        let parts = answer.lines.iter().map(part).collect::<Result<_, _>>()?;
        Ok(Memory { parts, resident: server.resident()? as f64 / MEGA })
    }

    fn part(&self, name: &str) -> f64 {
        self.parts.iter().find(|(part, _)| part == name).map_or(0.0, |(_, bytes)| *bytes)
    }

    fn explained(&self) -> f64 {
        EXPLAINED.iter().map(|part| self.part(part)).sum()
    }
}

/// Parts before and after, and the ratios that goals speak of.
fn totals(report: &mut Report, before: &Memory, after: &Memory, heap: f64, cached: f64) -> Result<(), Failure> {
    for (name, bytes) in &after.parts {
        report.single(&format!("memory before the views: {name}"), "MB", before.part(name))?;
        report.single(&format!("memory with the views: {name}"), "MB", *bytes)?;
    }
    let grown = after.explained() - before.explained();
    report.single("growth of what is accounted for", "MB", grown)?;
    report.single("growth of the resident set (/proc)", "MB", after.resident - before.resident)?;
    report.single("growth of what is allocated", "MB", after.part("allocated") - before.part("allocated"))?;
    let mut ratio = |name: &str, one: f64, other: f64| report.single(name, "times", one / other);
    ratio("accounted growth / resident growth (goal: at least 0.9)", grown, after.resident - before.resident)?;
    ratio("accounted growth / growth of what is allocated", grown, after.part("allocated") - before.part("allocated"))?;
    ratio(
        "everything accounted for / PostgreSQL's tables and indexes (goal: at most 1.5; K9db: 3.3)",
        after.explained(),
        heap,
    )?;
    ratio("resident set / PostgreSQL's tables and indexes", after.resident, heap)?;
    let views = after.part("view arrangements") + after.part("view dataflows");
    ratio("views / PostgreSQL's tables and indexes", views, heap)?;
    ratio("views / memcached with the same results (goal: at most 1; K9db: 2.0)", views, cached)
}

/// Who holds most.
fn largest(report: &mut Report, client: &mut Client) -> Result<(), Failure> {
    let sql = "SELECT view, name, renders, rows, bytes FROM dogwood.arrangements ORDER BY bytes DESC LIMIT 12";
    for line in rows(client, sql)?.lines {
        let [view, operator, renders, rows, bytes] = line.as_slice() else { return Err("too few columns".into()) };
        let megabytes = bytes.parse::<f64>()? / MEGA;
        report.note(&format!("{megabytes:.2} MB in {rows} rows: {operator} of {view}, which renders `{renders}`"))?;
    }
    Ok(())
}
