//! `bench owncloud`: the file-sharing workload of the K9db paper. Nineteen reads to a write, in batches of ten; what each person must see is known to the
//! client and checked on every read. Beside PostgreSQL alone and PostgreSQL with memcached, and beside Dogwood with parts of it turned off.
//!
//! The paper does not say how its reads divide: here half of them view files, half get files by key. Each connection as fast as it can first, then all
//! systems under the same arrivals at rates that they bear; then once more with files viewed as one value for each person, as a cache keeps them.

use std::sync::atomic::{AtomicU64, Ordering};

use postgres::types::ToSql;
use postgres::{Client, Statement};

use crate::cache::Cache;
use crate::file_sharing::{
    self, Access, Files, GROUPED, Shown, Target, VIEW_FILES, VIEW_LISTS, cache_key, gid, members, uid, user,
};
use crate::maintained::{earned, heap_and_indexes, number, views};
use crate::measure::{Random, Zipf};
use crate::mixed::{self, Candidate, Mix, Worker};
use crate::options::Options;
use crate::report::Report;
use crate::server::{self, CacheServer, Failure, Place, Server};

const OURS: &str = "Dogwood";
const PEER: &str = "PostgreSQL 15";
const CACHED: &str = "PostgreSQL 15 and memcached";
const WITHOUT_VIEWS: &str = "Dogwood, views off";
const WITHOUT_ACCESSORS: &str = "Dogwood, accessors off";
/// How many these are.
const SYSTEMS: usize = 5;
const EXPONENT: f64 = 0.6;
const BATCH: usize = 10;
/// The classes after the view of files.
const OTHERS: [&str; 4] = ["get ten files", "share with a person", "share with a group", "update a file"];
const SHARE: &str = "INSERT INTO oc_share (id, share_type, share_with, share_with_group, uid_owner, item_source, item_type, permissions, stime) \
    VALUES ($1, $2, $3, $4, $5, $6, 'file', 1, 1700000000)";

/// How files are viewed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A row for each.
    Rows,
    /// A row for each person, with the list of files as one value.
    Lists,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Rows => "view files of ten people",
            Form::Lists => "view files of ten people, one value for each",
        }
    }

    fn sql(self) -> String {
        let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
        let people = format!("WHERE uid IN ({})", places.join(", "));
        match self {
            Form::Rows => format!("{VIEW_FILES} {people}"),
            Form::Lists => format!("{VIEW_LISTS} {people}{GROUPED}"),
        }
    }
}

/// What a connection is asked to do.
enum Asked {
    /// The files of ten people.
    View(Vec<u64>),
    /// Ten files by key.
    Get(Vec<i32>),
    /// A share with a person or a group, as its number says.
    Share { share: u64, with_user: bool },
    /// A file's new name.
    Update { file: i32, name: String },
}

impl Asked {
    /// Numbers of new shares are `files`'s; which they are differs between a closed loop's systems, as each comes as far as it can.
    fn draw(random: &mut Random, unique: u64, files: &Files, zipf: &Zipf) -> Asked {
        let file_of = |user: u64, random: &mut Random| file_sharing::file_of(user, random) as i32;
        let share = |with_user| Asked::Share { share: files.fresh_share(with_user), with_user };
        match random.below(1_000) {
            0..475 => Asked::View(people(random, zipf, BATCH)),
            475..950 => Asked::Get(people(random, zipf, BATCH).into_iter().map(|user| file_of(user, random)).collect()),
            950..967 => share(true),
            967..984 => share(false),
            _ => {
                let file = file_of(zipf.draw(random), random);
                Asked::Update { file, name: format!("{file:08}.{unique}.odt") }
            }
        }
    }

    /// Its class: the view of files, then the `OTHERS`.
    fn class(&self) -> usize {
        match self {
            Asked::View(_) => 0,
            Asked::Get(_) => 1,
            Asked::Share { with_user: true, .. } => 2,
            Asked::Share { with_user: false, .. } => 3,
            Asked::Update { .. } => 4,
        }
    }
}

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
    let systems: [&str; SYSTEMS] = [OURS, PEER, CACHED, WITHOUT_VIEWS, WITHOUT_ACCESSORS];
    let mut report = Report::new("owncloud", &data, options.plan(options.connections), &systems)?;
    let ours = Server::dogwood(place, "dogwood")?;
    let peer = Server::postgresql(place, "postgresql")?;
    let backed = Server::postgresql(place, "postgresql-cached")?;
    let bare = Server::dogwood(place, "dogwood-views-off")?;
    let owners = Server::dogwood(place, "dogwood-accessors-off")?;
    let cache = CacheServer::start(place)?;
    let servers = [&ours, &peer, &backed, &bare, &owners];
    if options.tls {
        let pairs: Vec<(&str, &Server)> = systems.into_iter().zip(servers).collect();
        report.encrypted(&server::encryption(&pairs, Some((CACHED, &cache)))?)?;
    }
    fill_all(&files, servers, systems)?;
    let zipf = Zipf::new(files.users, EXPONENT);
    let models: Vec<Files> = systems.iter().map(|_| fresh()).collect();
    let count = Hits::default();
    let setups: Vec<Setup<'_>> = servers
        .into_iter()
        .zip(systems)
        .zip(&models)
        .map(|((server, system), files)| {
            let cache = (system == CACHED).then_some(&cache);
            Setup { system, server, cache, files, hits: &count, form: Form::Rows }
        })
        .collect();
    let mut rates = None;
    for form in [Form::Rows, Form::Lists] {
        let setups = of_form(&setups, form);
        for setup in setups.iter().filter(|setup| [OURS, WITHOUT_ACCESSORS].contains(&setup.system)) {
            warm(&mut report, setup)?;
        }
        let candidates: Vec<Candidate<'_, Asked>> = setups.iter().map(|setup| candidate(*setup)).collect();
        let mix = Mix {
            classes: [form.name()].iter().chain(&OTHERS).map(|name| told(name, form)).collect(),
            draw: Box::new(|random, unique| Asked::draw(random, unique, &files, &zipf)),
            class: Asked::class,
        };
        if options.connections > 1 {
            mixed::closed(&mut report, options, &mix, &candidates, 1)?;
        }
        let borne = mixed::closed(&mut report, options, &mix, &candidates, options.connections)?;
        count.told(&mut report, form, "closed loop")?;
        // Both forms at the same rates.
        let rates: &[(f64, String)] = rates.get_or_insert_with(|| mixed::rates(options, &borne, CACHED));
        for (rate, why) in rates {
            let why = if form == Form::Lists { format!("{why} with rows") } else { why.clone() };
            mixed::offered(&mut report, options, &mix, &candidates, *rate, &why)?;
            count.told(&mut report, form, &format!("{rate:.0} a second offered"))?;
        }
        results(&mut report, form, &ours, &peer, &cache)?;
    }
    require_acknowledged(servers, systems, &models)?;
    let disk = systems.into_iter().zip(servers).map(|(system, server)| (system, server.bytes() as f64 / 1e6));
    let disk: Vec<(&str, f64)> = disk.collect();
    report.numbers("folder on disk", "MB", &disk)?;
    report.print()
}

/// The systems that are asked in a form: what parts of Dogwood cost is asked of the rows alone.
fn of_form<'a>(setups: &[Setup<'a>], form: Form) -> Vec<Setup<'a>> {
    let asked = |setup: &&Setup<'_>| form == Form::Rows || [OURS, PEER, CACHED].contains(&setup.system);
    setups.iter().filter(asked).map(|setup| Setup { form, ..*setup }).collect()
}

fn fill_all(files: &Files, servers: [&Server; SYSTEMS], systems: [&str; SYSTEMS]) -> Result<(), Failure> {
    for (server, system) in servers.into_iter().zip(systems) {
        eprintln!("filling {system}");
        let access = if system == WITHOUT_ACCESSORS { Access::Owners } else { Access::Accessors };
        files.fill(server, access)?;
    }
    Ok(())
}

/// That every system has the shares that it acknowledged.
fn require_acknowledged(
    servers: [&Server; SYSTEMS],
    systems: [&str; SYSTEMS],
    models: &[Files],
) -> Result<(), Failure> {
    for ((server, system), files) in servers.into_iter().zip(systems).zip(models) {
        let shares = number(&mut server.connect()?, "SELECT count(*) FROM oc_share")?;
        if shares != files.acknowledged() {
            return Err(format!("{system} has {shares} shares, {} were acknowledged", files.acknowledged()).into());
        }
    }
    Ok(())
}

fn get_files() -> String {
    let places: Vec<String> = (1..=BATCH).map(|place| format!("${place}")).collect();
    format!("SELECT id, file_name FROM oc_files WHERE id IN ({})", places.join(", "))
}

/// A class's name: those beside a view of lists are other measurements than those beside a view of rows.
fn told(class: &str, form: Form) -> String {
    match form {
        Form::Rows => class.into(),
        Form::Lists if class == form.name() => class.into(),
        Form::Lists => format!("{class}, beside views of one value"),
    }
}

/// What the results take in memory, in this form (in Dogwood: in all forms that have been asked for).
fn results(report: &mut Report, form: Form, ours: &Server, peer: &Server, cache: &CacheServer) -> Result<(), Failure> {
    let held = views(&mut ours.connect()?)?.bytes as f64 / 1e6;
    let cached = Cache::connect(cache)?.statistic("bytes")? as f64 / 1e6;
    if form == Form::Lists {
        let name = "memory of the results, of Dogwood both as rows and as one value for each person";
        return report.numbers(name, "MB", &[(OURS, held), (CACHED, cached)]);
    }
    let data = heap_and_indexes(&mut peer.connect()?)? as f64 / 1e6;
    report.numbers(
        "memory of the results (`dogwood.views`, memcached's items); PostgreSQL: heap and indexes of the data",
        "MB",
        &[(OURS, held), (PEER, data), (CACHED, cached)],
    )
}

/// Lets the query earn its view, checks that it answers the same after as before, and says how long it took.
fn warm(report: &mut Report, setup: &Setup<'_>) -> Result<(), Failure> {
    let (system, name) = (setup.system, setup.form.name());
    let mut client = setup.server.connect()?;
    let statement = client.prepare(&setup.form.sql())?;
    let users: Vec<u64> = (0..BATCH as u64).collect();
    let took = earned(&mut client, |client| setup.ask(client, &statement, &users).map(drop))?;
    match took {
        Some(took) => report.numbers(
            &match setup.form {
                Form::Rows => "from the first executions to a filled automatic view".into(),
                Form::Lists => format!("from the first executions to a filled automatic view: {name}"),
            },
            "ms",
            &[(system, took.as_secs_f64() * 1e3)],
        ),
        None => report.note(&format!("NO AUTOMATIC VIEW was made of `{name}` ({system}): each execution computes it")),
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

/// What memcached had of what was asked.
#[derive(Default)]
struct Hits {
    hits: AtomicU64,
    asked: AtomicU64,
}

impl Hits {
    /// Since this was told last.
    fn told(&self, report: &mut Report, form: Form, when: &str) -> Result<(), Failure> {
        let [hits, asked] = [&self.hits, &self.asked].map(|count| count.swap(0, Ordering::Relaxed) as f64);
        let part = hits * 100.0 / asked.max(1.0);
        report.note(&format!("{}, {when}: memcached had {part:.1} % of what was asked", form.name()))
    }
}

/// One system at work.
#[derive(Clone, Copy)]
struct Setup<'a> {
    system: &'static str,
    server: &'a Server,
    cache: Option<&'a CacheServer>,
    files: &'a Files,
    hits: &'a Hits,
    form: Form,
}

/// A connection's statements.
struct Statements {
    view: Statement,
    get: Statement,
    share: Statement,
    update: Statement,
}

fn candidate(setup: Setup<'_>) -> Candidate<'_, Asked> {
    let mut meters = vec![setup.server.meter()];
    meters.extend(setup.cache.map(CacheServer::meter));
    let open = move || {
        let mut client = setup.server.connect()?;
        if setup.system == WITHOUT_VIEWS {
            client.batch_execute("SET dogwood.auto_views = off")?;
        }
        let mut cache = setup.cache.map(Cache::connect).transpose()?;
        let statements = Statements {
            view: client.prepare(&setup.form.sql())?,
            get: client.prepare(&get_files())?,
            share: client.prepare(SHARE)?,
            update: client.prepare("UPDATE oc_files SET file_name = $2 WHERE id = $1")?,
        };
        let worker: Worker<'_, Asked> = Box::new(move |asked| match asked {
            Asked::View(users) => setup.view(&mut client, cache.as_mut(), &statements.view, users),
            Asked::Get(files) => get(&mut client, &statements.get, files),
            Asked::Share { share, with_user } => {
                setup.share(&mut client, cache.as_mut(), &statements.share, *share, *with_user)
            }
            Asked::Update { file, name } => update(&mut client, &statements.update, *file, name),
        });
        Ok(worker)
    };
    Candidate { system: setup.system, meters, open: Box::new(open) }
}

impl Setup<'_> {
    /// What those people see, decoded and checked. Exactly as many parameters as the statement has: the last person repeated.
    fn ask(&self, client: &mut Client, statement: &Statement, users: &[u64]) -> Result<Vec<postgres::Row>, Failure> {
        let least: Vec<u32> = users.iter().map(|&user| self.files.seen(user)).collect();
        let mut names: Vec<String> = users.iter().map(|&user| uid(user)).collect();
        names.resize_with(BATCH, || uid(users[users.len() - 1]));
        let parameters: Vec<&(dyn ToSql + Sync)> = names.iter().map(|name| name as _).collect();
        let rows = client.query(statement, &parameters)?;
        let mut shown = Vec::new();
        for row in &rows {
            match self.form {
                Form::Rows => shown.push(Shown::of_row(row)?),
                Form::Lists => Shown::of_list(user(row.try_get(0)?)?, row.try_get(1)?, &mut shown)?,
            }
        }
        self.files.check(&shown, users, &least)?;
        Ok(rows)
    }

    fn view(
        &self,
        client: &mut Client,
        cache: Option<&mut Cache>,
        statement: &Statement,
        users: &[u64],
    ) -> Result<(), Failure> {
        let Some(cache) = cache else {
            return self.ask(client, statement, users).map(drop);
        };
        let keys: Vec<String> = users.iter().map(|&user| cache_key(user)).collect();
        let found = cache.get_many(&keys)?;
        let texts = found.iter().map(|value| value.as_deref().map(std::str::from_utf8).transpose());
        let texts: Vec<Option<&str>> = texts.collect::<Result<_, _>>()?;
        // Decoded into the same rows, and these checked by the same rules, as a database's.
        let (mut shown, mut there, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for (&user, text) in users.iter().zip(texts) {
            match text {
                Some(text) => {
                    Shown::of_list(user, text, &mut shown)?;
                    there.push(user);
                }
                None => missing.push(user),
            }
        }
        // The cache's filler may be slower than the writer who invalidates: only what was there from the beginning is sure.
        let least: Vec<u32> = there.iter().map(|&user| self.files.seen_first(user)).collect();
        self.files.check(&shown, &there, &least).map_err(|failure| format!("the cache: {failure}"))?;
        self.hits.asked.fetch_add(users.len() as u64, Ordering::Relaxed);
        self.hits.hits.fetch_add(there.len() as u64, Ordering::Relaxed);
        if missing.is_empty() {
            return Ok(());
        }
        let rows = self.ask(client, statement, &missing)?;
        for user in missing {
            let name = uid(user);
            let mut value = String::new();
            for row in &rows {
                if row.try_get::<_, &str>(0)? != name {
                    continue;
                }
                if self.form == Form::Lists {
                    value = row.try_get(1)?;
                    continue;
                }
                let (share, file): (i32, i32) = (row.try_get(1)?, row.try_get(2)?);
                let (path, storage): (&str, &str) = (row.try_get(3)?, row.try_get(4)?);
                let before = if value.is_empty() { "" } else { "\n" };
                value += &format!("{before}{share}\t{file}\t{path}\t{storage}");
            }
            cache.set(&cache_key(user), value.as_bytes())?;
        }
        Ok(())
    }

    fn share(
        &self,
        client: &mut Client,
        cache: Option<&mut Cache>,
        statement: &Statement,
        share: u64,
        with_user: bool,
    ) -> Result<(), Failure> {
        let target = self.files.target(share);
        let (user, group) = match target {
            Target::User(user) => (Some(uid(user)), None),
            Target::Group(group) => (None, Some(gid(group))),
        };
        let (id, kind, file) = (i32::try_from(share)?, i32::from(!with_user), i32::try_from(self.files.file(share))?);
        self.files.begin(share);
        client.execute(statement, &[&id, &kind, &user, &group, &self.files.owner(share), &file])?;
        if let Some(cache) = cache {
            for member in members(target) {
                cache.delete(&cache_key(member))?;
            }
        }
        self.files.acknowledge(share);
        Ok(())
    }
}

fn get(client: &mut Client, statement: &Statement, files: &[i32]) -> Result<(), Failure> {
    let parameters: Vec<&(dyn ToSql + Sync)> = files.iter().map(|file| file as _).collect();
    let rows = client.query(statement, &parameters)?;
    let mut seen: Vec<i32> = Vec::with_capacity(BATCH);
    for row in &rows {
        let file: i32 = row.try_get(0)?;
        if !row.try_get::<_, &str>(1)?.starts_with(&format!("{file:08}")) {
            return Err(format!("a wrong name of file {file}").into());
        }
        seen.push(file);
    }
    let mut wanted = files.to_vec();
    seen.sort_unstable();
    wanted.sort_unstable();
    if seen == wanted { Ok(()) } else { Err(format!("asked for files {wanted:?}, got {seen:?}").into()) }
}

fn update(client: &mut Client, statement: &Statement, file: i32, name: &str) -> Result<(), Failure> {
    if client.execute(statement, &[&file, &name])? != 1 {
        return Err(format!("no file {file}").into());
    }
    Ok(())
}
