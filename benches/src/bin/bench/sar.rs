//! `bench sar`: access and erasure of the people with most data, at the scale of Lobsters. Each answer is compared with a walk over all rows,
//! and in the end every table with what must be left.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage};

use crate::lobsters::{Lobsters, Reached};
use crate::measure::Samples;
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Place, Server};
use crate::workload::last_flushes;

const OURS: &str = "Dogwood";
/// How often it is asked whether the server rests.
const LOOK_AFTER: Duration = Duration::from_secs(1);
/// It does when it uses no more than this of a processor.
const IDLE_PART: f64 = 0.03;
/// No longer is waited for that.
const REST_MAX: Duration = Duration::from_mins(1);

/// All accesses, then all erasures.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let lobsters = Lobsters::new(|paper| options.scaled(paper), options.seed);
    let count = (options.requests as usize).min(lobsters.users() / 2);
    let data = format!(
        "{} people and {} rows in 19 tables, Zipf 0.6; the {count} heaviest people, one after another on a server at rest",
        lobsters.users(),
        lobsters.rows()
    );
    let mut report = Report::new("sar", &data, options.untimed(), &[OURS])?;
    let server = Server::dogwood(place, "dogwood")?;
    let started = Instant::now();
    lobsters.fill(&server)?;
    report.single("filling the tables", "s", started.elapsed().as_secs_f64())?;
    let people = lobsters.heaviest(count);
    let mut client = server.connect()?;

    let (mut gets, mut rows, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    rest(&server)?;
    let used = server.meter().seconds()?;
    for &person in &people {
        let started = Instant::now();
        let messages = client.simple_query(&format!("GDPR GET users {person}"))?;
        gets.push(started.elapsed().as_secs_f64() * 1e6);
        answers.push(answered(&messages)?);
    }
    let used = server.meter().seconds()? - used;
    // The walks are done when all is measured: each goes through the caches of the processor that the server shares.
    for (place, (&person, got)) in people.iter().zip(answers).enumerate() {
        require_right(person, &got, &lobsters.walk(person))?;
        rows.push(got.len() as f64);
        if (place + 1) % 50 == 0 {
            eprintln!("GET: {} of {count}, each as the walk says", place + 1);
        }
    }
    told(&mut report, "rows of a person", "rows", &rows, 1.0)?;
    told(&mut report, "GDPR GET, each answer equal to the walk over all rows", "ms", &gets, 1e3)?;
    per_row(&mut report, "GDPR GET", &gets, &rows)?;
    processor(&mut report, "GDPR GET", used, count)?;

    rest(&server)?;
    let used = server.meter().seconds()?;
    let (mut whole, mut flushes, mut work) = (Vec::new(), Vec::new(), Vec::new());
    for (place, &person) in people.iter().enumerate() {
        let started = Instant::now();
        client.simple_query(&format!("GDPR FORGET users {person}"))?;
        let took = started.elapsed().as_secs_f64() * 1e6;
        let flushed = last_flushes(&mut client)? * 1e3;
        whole.push(took);
        flushes.push(flushed);
        work.push(took - flushed);
        if (place + 1) % 50 == 0 {
            eprintln!("FORGET: {} of {count}", place + 1);
        }
    }
    told(&mut report, "GDPR FORGET, whole", "ms", &whole, 1e3)?;
    told(&mut report, "of it waiting for the disk, as the server says", "ms", &flushes, 1e3)?;
    told(&mut report, "of it work", "ms", &work, 1e3)?;
    per_row(&mut report, "GDPR FORGET without the disk", &work, &rows)?;
    processor(&mut report, "GDPR FORGET", server.meter().seconds()? - used, count)?;
    left(&mut client, &lobsters, people.iter().copied().collect())?;
    report.note("Every GET equals the walk; after all erasures every table holds exactly the rows that it must; a second FORGET is refused")?;
    report.print()
}

/// That GET has shown what a walk finds.
fn require_right(person: u32, got: &Reached, right: &Reached) -> Result<(), Failure> {
    if got != right {
        let missing = right.difference(got).next();
        let strange = got.difference(right).next();
        return Err(format!(
            "GET of person {person}: {} rows, {} are right; missing {missing:?}, strange {strange:?}",
            got.len(),
            right.len()
        )
        .into());
    }
    Ok(())
}

/// Waits until the server has done what was left to do behind what it answered, such as the compactions of what was filled: they
/// are not the next request's.
fn rest(server: &Server) -> Result<(), Failure> {
    let until = Instant::now() + REST_MAX;
    while Instant::now() < until {
        let used = server.meter().seconds()?;
        std::thread::sleep(LOOK_AFTER);
        if server.meter().seconds()? - used <= IDLE_PART * LOOK_AFTER.as_secs_f64() {
            break;
        }
    }
    Ok(())
}

/// The rows of an answer: table, key, owned or not.
fn answered(messages: &[SimpleQueryMessage]) -> Result<Reached, Failure> {
    let mut reached = Reached::new();
    for message in messages {
        let SimpleQueryMessage::Row(row) = message else { continue };
        let (Some(table), Some(relation), Some(json)) = (row.get("table_name"), row.get("relation"), row.get("row"))
        else {
            return Err("a row of GET with a NULL".into());
        };
        let after = json.split("\"id\":").nth(1).ok_or("a row without its key")?.trim_start();
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        if !reached.insert((table.into(), digits.parse()?, relation == "owner")) {
            return Err(format!("GET shows a row of {table} twice").into());
        }
    }
    Ok(reached)
}

/// Mean, median and tail.
fn told(report: &mut Report, name: &str, unit: &str, values: &[f64], divisor: f64) -> Result<(), Failure> {
    let samples = Samples::of(OURS, values.to_vec(), 1.0);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    for (which, value) in [
        ("mean", mean),
        ("p50", samples.quantile(0.5)),
        ("p95", samples.quantile(0.95)),
        ("p99", samples.quantile(0.99)),
        ("most", samples.quantile(1.0)),
    ] {
        report.single(&format!("{name}: {which}"), unit, value / divisor)?;
    }
    Ok(())
}

/// What a row costs, over all requests.
fn per_row(report: &mut Report, name: &str, microseconds: &[f64], rows: &[f64]) -> Result<(), Failure> {
    report.single(
        &format!("{name}: for each row, over all"),
        "µs",
        microseconds.iter().sum::<f64>() / rows.iter().sum::<f64>().max(1.0),
    )
}

/// The server's processor time, which does not count other work of the machine.
fn processor(report: &mut Report, name: &str, seconds: f64, count: usize) -> Result<(), Failure> {
    report.single(&format!("{name}: the server's processor time, mean"), "ms", seconds * 1e3 / count as f64)
}

/// Is exactly that left which has an owner left and names no erased row that it must go with?
fn left(client: &mut Client, lobsters: &Lobsters, forgotten: BTreeSet<u32>) -> Result<(), Failure> {
    for (table, right) in lobsters.survivors(&forgotten) {
        let ids: BTreeSet<u32> = client
            .query(&format!("SELECT id FROM {table}"), &[])?
            .iter()
            .map(|row| row.get::<_, i32>(0) as u32)
            .collect();
        if ids != right {
            let (missing, strange) = (right.difference(&ids).next(), ids.difference(&right).next());
            return Err(format!(
                "{table} has {} rows, {} are right; missing {missing:?}, strange {strange:?}",
                ids.len(),
                right.len()
            )
            .into());
        }
    }
    let again = forgotten.first().copied().unwrap_or_default();
    match client.simple_query(&format!("GDPR FORGET users {again}")) {
        Err(error) if error.code().is_some_and(|code| code.code() == "DG003") => Ok(()),
        other => Err(format!("a second FORGET of person {again} was not refused with DG003: {other:?}").into()),
    }
}
