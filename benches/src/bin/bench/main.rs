//! Benchmarks against PostgreSQL 15, MariaDB and memcached: all started here, measured in turn in one run, answers checked while timed.
//!
//! `bench core|views|votes|owncloud|lobsters|sar|ycsb|gdprbench|memory|tpch|nexmark`: each prints a Markdown table, and writes JSON. Compare ratios within a run only.

mod answers;
mod articles;
mod cache;
mod core;
mod discussion;
mod facts;
mod file_sharing;
mod gdprbench;
mod guard;
mod lobsters;
mod maintained;
mod mariadb;
mod measure;
mod memory;
mod mixed;
mod nexmark;
mod open;
mod options;
mod owncloud;
mod report;
mod sar;
mod server;
mod subscriber;
mod tls;
mod tpch;
mod views;
mod votes;
mod workload;
mod ycsb;

use std::process::ExitCode;

use options::Options;
use server::{Failure, Place};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bench: {}", measure::told(&*failure));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let options = Options::read()?;
    let bench = match options.command.as_str() {
        "core" => core::run,
        "views" => views::run,
        "votes" => votes::run,
        "owncloud" => owncloud::run,
        "lobsters" => discussion::run,
        "sar" => sar::run,
        "ycsb" => ycsb::run,
        "gdprbench" => gdprbench::run,
        "memory" => memory::run,
        "tpch" => tpch::run,
        "nexmark" => nexmark::run,
        "" | "--help" => return Err(options::USAGE.into()),
        other => return Err(format!("there is no benchmark {other}\n{}", options::USAGE).into()),
    };
    let place = Place::new(options.binary.clone(), options.bytes_wanted(), options.tls)?;
    let outcome = bench(&options, &place);
    let cleared = place.clear();
    outcome?;
    cleared
}
