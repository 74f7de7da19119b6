//! `bench owncloud`: the file-sharing workload of the K9db paper. Nineteen reads to a write, in batches of ten; what each person must see is known to the
//! client and checked on every read. Beside PostgreSQL alone and PostgreSQL with memcached, and beside Dogwood with parts of it turned off.
//!
//! The paper does not say how its reads divide: here half of them view files, half get files by key.

use std::sync::atomic::{AtomicU64, Ordering};

use postgres::types::ToSql;
use postgres::{Client, Statement};

use crate::cache::Cache;
use crate::file_sharing::{self, Access, Files, Target, VIEW_FILES, cache_key, gid, members, uid};
use crate::maintained::{earned, heap_and_indexes, number, views};
use crate::measure::{Lane, Operation, Random, Zipf, race};
use crate::options::Options;
use crate::report::Report;
use crate::server::{CacheServer, Failure, Place, Server};

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const CACHED: &str = "PostgreSQL 15 and memcached";
const WITHOUT_VIEWS: &str = "Dogwood, views off";
const WITHOUT_ACCESSORS: &str = "Dogwood, accessors off";
const EXPONENT: f64 = 0.6;
const BATCH: usize = 10;
const CLASSES: [&str; 5] =
    ["view files of ten people", "get ten files", "share with a person", "share with a group", "update a file"];
const SHARE: &str = "INSERT INTO oc_share (id, share_type, share_with, share_with_group, uid_owner, item_source, item_type, permissions, stime) \
    VALUES ($1, $2, $3, $4, $5, $6, 'file', 1, 1700000000)";

/// Everything in turn, at one connection and at as many as were asked for.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let users = options.scaled(100_000).max(100);
    let fresh = || Files::new(users, options.seed);
    let files = fresh();
    let data = format!(
        "{} people, {} files, {} shares, Zipf {EXPONENT}, 95 % reads in batches of {BATCH}",
        files.users,
        files.count(),
        files.shares()
    );
    let systems = [OURS, PEER, CACHED, WITHOUT_VIEWS, WITHOUT_ACCESSORS];
    let mut report = Report::new("owncloud", &data, options.plan(options.connections), &systems)?;
    let ours = Server::dogwood(place, "dogwood")?;
    let peer = Server::postgresql(place, "postgresql")?;
    let backed = Server::postgresql(place, "postgresql-cached")?;
    let bare = Server::dogwood(place, "dogwood-views-off")?;
    let owners = Server::dogwood(place, "dogwood-accessors-off")?;
    let cache = CacheServer::start(place)?;
    let servers = [&ours, &peer, &backed, &bare, &owners];
    for (server, system) in servers.into_iter().zip(systems) {
        eprintln!("filling {system}");
        let access = if system == WITHOUT_ACCESSORS { Access::Owners } else { Access::Accessors };
        files.fill(server, access)?;
    }
    let zipf = Zipf::new(files.users, EXPONENT);
    for (server, system) in [(&ours, OURS), (&owners, WITHOUT_ACCESSORS)] {
        warm(&mut report, server, system, &files)?;
    }
    let models: Vec<Files> = systems.iter().map(|_| fresh()).collect();
    let hits = AtomicU64::new(0);
    let asked = AtomicU64::new(0);
    let mut connections = vec![1, options.connections];
    connections.dedup();
    for connections in connections {
        let lanes: Vec<Lane<'_>> = servers
            .into_iter()
            .zip(systems)
            .zip(&models)
            .map(|((server, system), files)| {
                let cache = (system == CACHED).then_some(&cache);
                lane(Setup { system, server, cache, files, zipf: &zipf, hits: &hits, asked: &asked })
            })
            .collect();
        let samples = race(&lanes, CLASSES.len(), options.plan(connections))?;
        for (class, samples) in CLASSES.iter().zip(samples) {
            report.samples(&format!("{class}, {connections} conn."), &samples)?;
        }
    }
    for ((server, system), files) in servers.into_iter().zip(systems).zip(&models) {
        let shares = number(&mut server.connect()?, "SELECT count(*) FROM oc_share")?;
        if shares != files.acknowledged() {
            return Err(format!("{system} has {shares} shares, {} were acknowledged", files.acknowledged()).into());
        }
    }
    let asked = asked.load(Ordering::Relaxed).max(1);
    report.note(&format!(
        "memcached had {:.1} % of what was asked",
        hits.load(Ordering::Relaxed) as f64 * 100.0 / asked as f64
    ))?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let held = views(&mut ours.connect()?)?.bytes;
    let cached = Cache::connect(cache.port)?.statistic("bytes")?;
    let data = heap_and_indexes(&mut peer.connect()?)? as f64 / 1e6;
    report.numbers(
        "memory of the results (`dogwood.views`, memcached's items); PostgreSQL: heap and indexes of the data",
        "MB",
        &[(OURS, megabytes(held)), (PEER, data), (CACHED, megabytes(cached))],
    )?;
    let disk: Vec<(&str, f64)> =
        systems.into_iter().zip(servers).map(|(system, server)| (system, megabytes(server.bytes()))).collect();
    report.numbers("folder on disk", "MB", &disk)?;
    report.print()
}

fn view_files() -> String {
    let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
    format!("{VIEW_FILES} WHERE uid IN ({})", places.join(", "))
}

fn get_files() -> String {
    let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
    format!("SELECT id, file_name FROM oc_files WHERE id IN ({})", places.join(", "))
}

/// Lets the query earn its view, checks that it answers the same after as before, and says how long it took.
fn warm(report: &mut Report, server: &Server, system: &str, files: &Files) -> Result<(), Failure> {
    let mut client = server.connect()?;
    let statement = client.prepare(&view_files())?;
    let users: Vec<u64> = (0..BATCH as u64).collect();
    let took = earned(&mut client, |client| view(client, &statement, files, &users).map(drop))?;
    match took {
        Some(took) => report.numbers(
            "from the first executions to a filled automatic view",
            "ms",
            &[(system, took.as_secs_f64() * 1e3)],
        ),
        None => {
            report.note(&format!("NO AUTOMATIC VIEW was made of `view files` ({system}): each execution computes it"))
        }
    }
}

/// Different people, as ten accounts that ask at once.
fn people(random: &mut Random, zipf: &Zipf, count: usize) -> Vec<u64> {
    let mut users = Vec::with_capacity(count);
    while users.len() < count {
        let user = zipf.draw(random);
        if !users.contains(&user) {
            users.push(user);
        }
    }
    users
}

/// What those people see, checked. Exactly as many parameters as the statement has: the last person repeated.
fn view(
    client: &mut Client,
    statement: &Statement,
    files: &Files,
    users: &[u64],
) -> Result<Vec<postgres::Row>, Failure> {
    let least: Vec<u32> = users.iter().map(|&user| files.seen(user)).collect();
    let mut names: Vec<String> = users.iter().map(|&user| uid(user)).collect();
    names.resize_with(BATCH, || uid(users[users.len() - 1]));
    let parameters: Vec<&(dyn ToSql + Sync)> = names.iter().map(|name| name as _).collect();
    let rows = client.query(statement, &parameters)?;
    files.check(&rows, users, &least)?;
    Ok(rows)
}

/// One system at work.
#[derive(Clone, Copy)]
struct Setup<'a> {
    system: &'static str,
    server: &'a Server,
    cache: Option<&'a CacheServer>,
    files: &'a Files,
    zipf: &'a Zipf,
    hits: &'a AtomicU64,
    asked: &'a AtomicU64,
}

/// A connection's statements.
struct Statements {
    view: Statement,
    get: Statement,
    share: Statement,
    update: Statement,
}

fn lane(setup: Setup<'_>) -> Lane<'_> {
    let mut meters = vec![setup.server.meter()];
    meters.extend(setup.cache.map(CacheServer::meter));
    Lane::new(setup.system, &meters, move || {
        let mut client = setup.server.connect()?;
        if setup.system == WITHOUT_VIEWS {
            client.batch_execute("SET dogwood.auto_views = off")?;
        }
        let mut cache = setup.cache.map(|cache| Cache::connect(cache.port)).transpose()?;
        let statements = Statements {
            view: client.prepare(&view_files())?,
            get: client.prepare(&get_files())?,
            share: client.prepare(SHARE)?,
            update: client.prepare("UPDATE oc_files SET file_name = $2 WHERE id = $1")?,
        };
        let operation: Operation<'_> = Box::new(move |random, unique| {
            let class = match random.below(1_000) {
                0..475 => 0,
                475..950 => 1,
                950..967 => 2,
                967..984 => 3,
                _ => 4,
            };
            match class {
                0 => setup.view(&mut client, cache.as_mut(), &statements, random)?,
                1 => setup.get(&mut client, &statements, random)?,
                4 => setup.update(&mut client, &statements, random, unique)?,
                kind => setup.share(&mut client, cache.as_mut(), &statements, kind == 2)?,
            }
            Ok(class)
        });
        Ok(operation)
    })
}

impl Setup<'_> {
    fn view(
        &self,
        client: &mut Client,
        cache: Option<&mut Cache>,
        statements: &Statements,
        random: &mut Random,
    ) -> Result<(), Failure> {
        let users = people(random, self.zipf, BATCH);
        let Some(cache) = cache else {
            return view(client, &statements.view, self.files, &users).map(drop);
        };
        let keys: Vec<String> = users.iter().map(|&user| cache_key(user)).collect();
        let found = cache.get_many(&keys)?;
        self.asked.fetch_add(users.len() as u64, Ordering::Relaxed);
        let mut missing = Vec::new();
        for (user, value) in users.iter().zip(found) {
            match value {
                // The cache's filler may be slower than the writer who invalidates: only what was there from the beginning is sure.
                Some(value) => self.files.check_cached(&String::from_utf8_lossy(&value), *user)?,
                None => missing.push(*user),
            }
        }
        self.hits.fetch_add((users.len() - missing.len()) as u64, Ordering::Relaxed);
        if missing.is_empty() {
            return Ok(());
        }
        let rows = view(client, &statements.view, self.files, &missing)?;
        for user in missing {
            let name = uid(user);
            let mut lines = String::new();
            for row in &rows {
                if row.try_get::<_, &str>(0)? == name {
                    let (share, file): (i32, i32) = (row.try_get(1)?, row.try_get(2)?);
                    lines += &format!(
                        "{name}\t{share}\t{file}\t{}\t{}\n",
                        row.try_get::<_, &str>(3)?,
                        row.try_get::<_, &str>(4)?
                    );
                }
            }
            cache.set(&cache_key(user), lines.as_bytes())?;
        }
        Ok(())
    }

    fn get(&self, client: &mut Client, statements: &Statements, random: &mut Random) -> Result<(), Failure> {
        let mut wanted: Vec<i32> = Vec::with_capacity(BATCH);
        for user in people(random, self.zipf, BATCH) {
            wanted.push(i32::try_from(file_sharing::file_of(user, random))?);
        }
        let parameters: Vec<&(dyn ToSql + Sync)> = wanted.iter().map(|file| file as _).collect();
        let rows = client.query(&statements.get, &parameters)?;
        let mut seen: Vec<i32> = Vec::with_capacity(BATCH);
        for row in &rows {
            let file: i32 = row.try_get(0)?;
            if !row.try_get::<_, &str>(1)?.starts_with(&format!("{file:08}")) {
                return Err(format!("a wrong name of file {file}").into());
            }
            seen.push(file);
        }
        seen.sort_unstable();
        wanted.sort_unstable();
        if seen == wanted { Ok(()) } else { Err(format!("asked for files {wanted:?}, got {seen:?}").into()) }
    }

    fn share(
        &self,
        client: &mut Client,
        cache: Option<&mut Cache>,
        statements: &Statements,
        with_user: bool,
    ) -> Result<(), Failure> {
        let share = self.files.fresh_share(with_user);
        let target = self.files.target(share);
        let (user, group) = match target {
            Target::User(user) => (Some(uid(user)), None),
            Target::Group(group) => (None, Some(gid(group))),
        };
        let (id, kind, file) = (i32::try_from(share)?, i32::from(!with_user), i32::try_from(self.files.file(share))?);
        self.files.begin(share);
        client.execute(&statements.share, &[&id, &kind, &user, &group, &self.files.owner(share), &file])?;
        if let Some(cache) = cache {
            for member in members(target) {
                cache.delete(&cache_key(member))?;
            }
        }
        self.files.acknowledge(share);
        Ok(())
    }

    fn update(
        &self,
        client: &mut Client,
        statements: &Statements,
        random: &mut Random,
        unique: u64,
    ) -> Result<(), Failure> {
        let file = i32::try_from(file_sharing::file_of(self.zipf.draw(random), random))?;
        let name = format!("{file:08}.{unique}.odt");
        if client.execute(&statements.update, &[&file, &name])? != 1 {
            return Err(format!("no file {file}").into());
        }
        Ok(())
    }
}
