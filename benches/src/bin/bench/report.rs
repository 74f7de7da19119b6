//! Results as a Markdown table on standard output and as JSON beside it, with the machine, the date and the command.

use std::fmt::Write;
use std::process::Command;

use crate::measure::Samples;
use crate::server::{Failure, memory_megabytes};

/// The results of one run.
pub struct Report {
    head: String,
    table: String,
    json: Vec<String>,
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
}

impl Report {
    /// Begins a report.
    pub fn new(people: u64, posts: u64, seconds: f64, rounds: u64) -> Report {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let head = format!(
            "{}; `bench {command}`; {cores} cores, {} MB; load {} at the start; {people} people, {posts} posts; {rounds} slices of {seconds} s for each system, in turn.",
            said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            memory_megabytes(),
            std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default(),
        );
        let table = "| measurement | Dogwood | PostgreSQL 15 | Dogwood / PostgreSQL | better |\n|---|---|---|---|---|\n".into();
        Report { head, table, json: Vec::new() }
    }

    /// Rates and latencies of both, Dogwood first.
    pub fn samples(&mut self, name: &str, samples: &[Samples]) {
        let cells: Vec<String> = samples
            .iter()
            .map(|all| {
                format!(
                    "{:.0}/s ±{:.0} %; p50 {:.0} p95 {:.0} p99 {:.0} µs",
                    all.rate(),
                    all.spread() * 50.0,
                    all.quantile(0.5),
                    all.quantile(0.95),
                    all.quantile(0.99)
                )
            })
            .collect();
        let ratio = samples[0].rate() / samples[1].rate();
        self.line(name, &cells[0], &cells[1], Some((ratio, "more")));
        for all in samples {
            self.json.push(format!(
                "{{\"name\":\"{name}\",\"system\":\"{}\",\"rates\":{:?},\"p50_us\":{:.1},\"p95_us\":{:.1},\"p99_us\":{:.1}}}",
                all.kind.name(),
                all.rates,
                all.quantile(0.5),
                all.quantile(0.95),
                all.quantile(0.99)
            ));
        }
    }

    /// One number of each; less is better.
    pub fn pair(&mut self, name: &str, unit: &str, ours: f64, peers: f64) {
        self.line(name, &format!("{ours:.2} {unit}"), &format!("{peers:.2} {unit}"), Some((ours / peers, "less")));
        self.json.push(format!("{{\"name\":\"{name}\",\"unit\":\"{unit}\",\"dogwood\":{ours:.3},\"postgresql\":{peers:.3}}}"));
    }

    /// A number without a peer.
    pub fn single(&mut self, name: &str, unit: &str, value: f64) {
        self.line(name, &format!("{value:.1} {unit}"), "", None);
        self.json.push(format!("{{\"name\":\"{name}\",\"unit\":\"{unit}\",\"value\":{value:.3}}}"));
    }

    fn line(&mut self, name: &str, ours: &str, peers: &str, ratio: Option<(f64, &str)>) {
        let (ratio, better) = ratio.map_or((String::new(), ""), |(ratio, better)| (format!("{ratio:.2}"), better));
        let line = format!("| {name} | {ours} | {peers} | {ratio} | {better} |\n");
        eprint!("{line}");
        self.table += &line;
    }

    /// Prints the table and writes the JSON to `bench-core.json` in the present folder's `target`, or to $BENCH_JSON.
    pub fn print(&self) -> Result<(), Failure> {
        println!("{}\n\n{}", self.head, self.table);
        let mut json = format!("{{\"about\":{:?},\"results\":[\n", self.head);
        write!(json, "{}\n]}}\n", self.json.join(",\n"))?;
        let path = std::env::var("BENCH_JSON").unwrap_or_else(|_| "bench-core.json".into());
        std::fs::write(&path, json)?;
        println!("JSON: {path}");
        Ok(())
    }
}
