//! The two writes that views feel most, by themselves: a comment's counters, and that a story was read again. As fast as they are acknowledged.

use crate::discussion::data::{Data, confidence};
use crate::discussion::session::System;
use crate::mariadb::Cell;
use crate::measure::{Lane, Operation, race};
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Meter};

/// What is written, and how its statement is called.
#[derive(Clone, Copy)]
enum Update {
    Comment,
    Ribbon,
}

impl Update {
    fn name(self) -> &'static str {
        match self {
            Update::Comment => "UPDATE comments under the views of the pages",
            Update::Ribbon => "UPDATE read_ribbons under the views of the pages",
        }
    }
}

const VOTED: &str = "UPDATE comments SET upvotes = upvotes + $1, confidence = $2 WHERE id = $3";
const READ_AGAIN: &str = "UPDATE read_ribbons SET updated_at = now() WHERE id = $1";
const RIBBONS: &str = "SELECT id FROM read_ribbons ORDER BY id LIMIT 2000";

/// Both, on one connection and on as many as were asked for.
pub fn run(
    report: &mut Report,
    options: &Options,
    data: &Data,
    systems: &[(&'static str, &System, Meter)],
) -> Result<(), Failure> {
    for update in [Update::Comment, Update::Ribbon] {
        for connections in [1, options.connections] {
            let lanes: Vec<Lane<'_>> = systems.iter().map(|system| lane(*system, data, update)).collect();
            let samples = race(&lanes, 1, options.plan(connections))?.remove(0);
            report.samples(&format!("{}, {connections} conn.", update.name()), &samples)?;
        }
    }
    Ok(())
}

fn lane<'a>((name, system, meter): (&'static str, &'a System, Meter), data: &'a Data, update: Update) -> Lane<'a> {
    let drawn = data.drawn(data.comments());
    Lane::new(name, &[meter], move || {
        let mut session = system.connect()?;
        let drawn = drawn.clone();
        let ribbons = session.query(RIBBONS, &[])?.iter().map(|row| row.int(0)).collect::<Result<Vec<_>, _>>()?;
        let operation: Operation<'a> = Box::new(move |random, unique| {
            let written = match update {
                Update::Comment => {
                    let comment = drawn.draw(random) as i64 + 1;
                    let sure = confidence(1 + (unique % 1_000) as i64, 0);
                    session.execute(VOTED, &[Cell::Int(1), Cell::Text(sure), Cell::Int(comment)])?
                }
                Update::Ribbon => {
                    let ribbon = ribbons[random.below(ribbons.len() as u64) as usize];
                    session.execute(READ_AGAIN, &[Cell::Int(ribbon)])?
                }
            };
            if written == 1 { Ok(0) } else { Err(format!("{}: {written} rows", update.name()).into()) }
        });
        Ok(operation)
    })
}
