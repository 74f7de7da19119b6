//! `bench core`: reads, writes, joins, subject requests, disk and opening, beside PostgreSQL 15.
//!
//! Never tuned to what it measures: no name of these tables is known to the server.

use crate::measure::{self, Plan, Samples, Workload, measure};
use crate::options::Options;
use crate::report::Report;
use crate::server::{self, Failure, Kind, Place, Server};
use crate::workload::{self, Insert, Join, POSTS_EACH, Point};

/// All of it.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let people = options.people;
    let posts = people * POSTS_EACH;
    let ours = Server::dogwood(place, "dogwood")?;
    let peer = Server::postgresql(place, "postgresql")?;
    let servers = [&ours, &peer];
    let data = format!("{people} people, {posts} posts");
    let mut report = Report::new("core", &data, options.plan(1), &[Kind::Dogwood.name(), Kind::PostgreSql.name()])?;
    if options.tls {
        report.encrypted(&server::encryption(&servers.map(|server| (server.kind.name(), server)), None)?)?;
    }
    for server in servers {
        workload::create(server)?;
        workload::copy(server, "people", (0..people).map(|id| (id, None)))?;
        workload::copy(server, "posts", (0..posts).map(|id| (id, Some(id % people))))?;
    }
    let mut rates = Vec::new();
    for server in servers {
        let took = workload::copy(server, "copied", (0..100_000).map(|id| (id, Some(id % people))))?;
        rates.push(took.as_secs_f64() * 1e3);
        if workload::count(server, "copied")? != 100_000 {
            return Err("COPY lost rows".into());
        }
    }
    report.pair("COPY of 100,000 owned rows, durable", "ms", rates[0], rates[1])?;
    peer.connect()?.batch_execute("ANALYZE")?;
    for connections in [1, 8, 32] {
        run_one(&mut report, options, &servers, connections, "point SELECT by primary key", &Point { people })?;
    }
    let mut first = 200_000_000;
    let label = "INSERT of one owned row, durable";
    inserts(&mut report, options, &servers, people, &mut first, &[1, 8, 32], label)?;
    for connections in [1, 8] {
        run_one(
            &mut report,
            options,
            &servers,
            connections,
            "join of two tables by one key, ten rows",
            &Join { people },
        )?;
    }
    // The join has earned a view by now, which each INSERT changes.
    let label = "INSERT of one owned row, durable, under the join's automatic view";
    inserts(&mut report, options, &servers, people, &mut first, &[1, 8, 32], label)?;
    subjects(&mut report, &servers, people)?;
    for server in servers {
        let rate = pgbench(server, options.seconds * 2.0)?;
        report.single(&format!("pgbench's own script, scale 1, 8 clients: {}", server.kind.name()), "tps", rate)?;
    }
    report.pair("folder on disk after all this", "MB", ours.bytes() as f64 / 1e6, peer.bytes() as f64 / 1e6)?;
    opening(&mut report, options, place, ours)?;
    report.print()
}

/// Rows of their own from `first` on, counted afterwards.
fn inserts(
    report: &mut Report,
    options: &Options,
    servers: &[&Server],
    people: u64,
    first: &mut u64,
    connections: &[u64],
    label: &str,
) -> Result<(), Failure> {
    let keys = options.rounds * measure::CONNECTIONS_MAX * measure::OPERATIONS_MAX;
    for connections in connections {
        let before: Vec<i64> =
            servers.iter().map(|server| workload::count(server, "posts")).collect::<Result<_, _>>()?;
        let samples = run_one(report, options, servers, *connections, label, &Insert { people, first: *first })?;
        *first += keys;
        for ((server, before), samples) in servers.iter().zip(before).zip(samples) {
            if workload::count(server, "posts")? - before != samples.latencies.len() as i64 {
                return Err(format!("{} lost an acknowledged row", server.kind.name()).into());
            }
        }
    }
    Ok(())
}

fn run_one<W: Workload>(
    report: &mut Report,
    options: &Options,
    servers: &[&Server],
    connections: u64,
    name: &str,
    workload: &W,
) -> Result<Vec<Samples>, Failure> {
    let plan = options.plan(connections);
    let samples = measure(servers, plan, workload)?;
    report.samples(&format!("{name}, {connections} conn."), &samples)?;
    Ok(samples)
}

fn subjects(report: &mut Report, servers: &[&Server], people: u64) -> Result<(), Failure> {
    const REQUESTS: u64 = 40;
    let mut gets = Vec::new();
    let mut forgets = Vec::new();
    for server in servers {
        workload::fill_subjects(server, people, REQUESTS)?;
    }
    for server in servers {
        let mut client = server.connect()?;
        let each = |request: &dyn Fn(&mut postgres::Client, u64) -> Result<f64, Failure>,
                    client: &mut postgres::Client| {
            let all =
                (people..people + REQUESTS).map(|person| request(client, person)).collect::<Result<Vec<_>, _>>()?;
            Ok::<f64, Failure>(median(all))
        };
        if server.kind == Kind::Dogwood {
            gets.push(each(&|client, person| workload::get_subject(server, client, person), &mut client)?);
            let (mut whole, mut flushes) = (Vec::new(), Vec::new());
            for person in people..people + REQUESTS {
                whole.push(workload::forget_subject(server, &mut client, person)?);
                flushes.push(workload::last_flushes(&mut client)?);
            }
            let rest = whole.iter().zip(&flushes).map(|(whole, flushes)| whole - flushes).collect();
            forgets.push(median(whole));
            report.single("of FORGET, its two serial flushes (as the server says), median", "ms", median(flushes))?;
            report.single("of FORGET, the rest, median", "ms", median(rest))?;
            continue;
        }
        gets.push(each(&|client, person| workload::get_subject(server, client, person), &mut client)?);
        forgets.push(each(&|client, person| workload::forget_subject(server, client, person), &mut client)?);
    }
    report.pair(
        "GET of a person with 100 rows in five tables, median (PostgreSQL: UNION ALL by hand)",
        "ms",
        gets[0],
        gets[1],
    )?;
    report.pair(
        "FORGET of such a person, two flushes within (PostgreSQL: DELETEs in one transaction, nothing erased)",
        "ms",
        forgets[0],
        forgets[1],
    )?;
    Ok(())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

/// What opening costs with few and with many subjects, and what reading does.
fn opening(report: &mut Report, options: &Options, place: &Place, ours: Server) -> Result<(), Failure> {
    ours.stop();
    let many = Server::dogwood(place, "dogwood")?;
    report.single(&format!("opening with {} subjects", options.people), "ms", many.opened.as_secs_f64() * 1e3)?;
    let few = Server::dogwood(place, "small")?;
    workload::create(&few)?;
    workload::copy(&few, "people", (0..100).map(|id| (id, None)))?;
    few.stop();
    let few = Server::dogwood(place, "small")?;
    report.single("opening with 100 subjects", "ms", few.opened.as_secs_f64() * 1e3)?;
    workload::copy(&few, "people", (100..1_000).map(|id| (id, None)))?;
    for (server, people) in [(&few, 1_000), (&many, options.people)] {
        let plan = Plan { rounds: 1, ..options.plan(1) };
        let samples = measure(&[server], plan, &Point { people })?;
        report.single(&format!("point SELECT with {people} subjects, p50"), "µs", samples[0].quantile(0.5))?;
    }
    workload::copy(&many, "copied", (200_000..300_000).map(|id| (id, Some(id % options.people))))?;
    many.kill()?;
    let many = Server::dogwood(place, "dogwood")?;
    report.single("opening after kill -9, 100,000 owned rows later", "ms", many.opened.as_secs_f64() * 1e3)?;
    if workload::count(&many, "copied")? != 200_000 {
        return Err("a crash lost acknowledged rows".into());
    }
    Ok(())
}

fn pgbench(server: &Server, seconds: f64) -> Result<f64, Failure> {
    let database = if server.kind == Kind::Dogwood { "dogwood" } else { "postgres" };
    let user = if server.kind == Kind::Dogwood { "controller" } else { "postgres" };
    let call = |arguments: &[&str]| -> Result<String, Failure> {
        let mut command = std::process::Command::new("/usr/lib/postgresql/15/bin/pgbench");
        command.args(["-h", "127.0.0.1", "-p", &server.port.to_string(), "-U", user]).args(arguments).arg(database);
        command.env("PGSSLMODE", if server.tls.is_some() { "require" } else { "disable" });
        if let Some(password) = server.config.get_password() {
            command.env("PGPASSWORD", String::from_utf8_lossy(password).as_ref());
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    call(&["-i", "-q", "-s", "1"])?;
    let seconds = (seconds.ceil() as u64).max(2).to_string();
    let output = call(&["-n", "-M", "prepared", "-c", "8", "-j", "1", "-T", &seconds])?;
    let rate = output.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    rate.ok_or_else(|| "pgbench told no rate".into())
}
