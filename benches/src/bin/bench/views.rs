//! `bench views`: what maintained views cost and bring. What a change costs each operator, what others notice of a view, filling, reads by key beside
//! PostgreSQL and memcached, writes under views, subscriptions, memory.

mod at_once;
mod creation;
mod fills;
mod operators;
mod reads;
mod setup;
mod strangers;
mod subscriptions;
mod writes;

use crate::articles::VOTES_EACH;
use crate::measure::told;
use crate::options::Options;
use crate::report::Report;
use crate::server::{Failure, Place};
use setup::{Bench, CACHE, OURS, PEER};

/// All parts, or those that were asked for.
pub fn run(options: &Options, place: &Place) -> Result<(), Failure> {
    let people = options.people;
    let data = format!("{people} people with an article each, {} votes", people * VOTES_EACH);
    let mut report = Report::new("views", &data, options.plan(1), &[OURS, PEER, CACHE])?;
    let bench = Bench::start(options, place)?;
    type Part = fn(&Bench<'_>, &mut Report) -> Result<(), Failure>;
    let parts: [(&str, Part); 10] = [
        ("reads", reads::by_key),
        // Before a view of the votes is earned: it would slow the writers down.
        ("creation", creation::run),
        ("fills", fills::run),
        ("together", at_once::run),
        ("strangers", strangers::run),
        ("operators", operators::run),
        ("counts", reads::counts),
        ("files", reads::files),
        ("writes", writes::run),
        ("subscriptions", subscriptions::run),
    ];
    for (name, part) in parts {
        if !options.wants(name) {
            continue;
        }
        eprintln!("part {name}");
        if let Err(failure) = part(&bench, &mut report) {
            report.failed(name, &told(&*failure))?;
        }
    }
    report.print()
}
