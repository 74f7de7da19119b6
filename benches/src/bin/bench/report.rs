//! Results as JSON and as a Markdown table beside it, with the machine, the date and the command.
//!
//! Both are written anew after each measurement and say that they are partial until the run has ended well.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::measure::{Plan, Samples, quantile};
use crate::server::{Failure, memory_megabytes};

/// One class of operations of one system under an offered rate.
pub struct Offered {
    /// Which system, as in the columns.
    pub system: String,
    /// Sorted, in microseconds from the arrival; of operations that were cut off, until then.
    pub latencies: Vec<f64>,
    /// Sorted, in microseconds from the moment that a connection began it.
    pub services: Vec<f64>,
    /// Microseconds of the servers' processor time for an operation, over all classes.
    pub processor_us: f64,
    /// It fell too far behind and was cut off: its latencies tell nothing.
    pub cut: bool,
    /// In most slices it fell further and further behind.
    pub grows: bool,
}

/// The results of one run.
pub struct Report {
    head: String,
    systems: Vec<String>,
    table: String,
    notes: Vec<String>,
    json: Vec<String>,
    path: PathBuf,
    tls: bool,
    failed: bool,
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string()).unwrap_or_default()
}

/// The number of processes that ran or waited, over the last minute.
pub fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().into()
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character < ' ' => quoted.push(' '),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

impl Report {
    /// Begins a report of the systems named, ours first.
    pub fn new(name: &str, data: &str, plan: Plan, systems: &[&str]) -> Result<Report, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let slices = match plan.rounds {
            0 => String::new(),
            rounds => format!("; {rounds} slices of {} s for each system, in turn", plan.slice.as_secs_f64()),
        };
        let head = format!(
            "{}; `bench {command}`; {cores} cores, {} MB; load {} at the start; {data}{slices}.",
            said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
            memory_megabytes(),
            load(),
        );
        eprintln!("{head}");
        let columns: String = systems.iter().map(|system| format!(" {system} |")).collect();
        let rules = "---|".repeat(systems.len());
        let table = format!("| measurement |{columns} {} / the others |\n|---|{rules}---|\n", systems[0]);
        let path = std::env::var_os("BENCH_JSON").map_or_else(|| format!("bench-{name}.json").into(), PathBuf::from);
        let systems = systems.iter().map(ToString::to_string).collect();
        let report =
            Report { head, systems, table, notes: Vec::new(), json: Vec::new(), path, tls: false, failed: false };
        report.write(true)?;
        Ok(report)
    }

    /// Rates and latencies of some of the systems.
    pub fn samples(&mut self, name: &str, samples: &[Samples]) -> Result<(), Failure> {
        let cells = samples.iter().map(|all| {
            let cell = format!(
                "{:.0}/s ±{:.0} %; p50 {:.0} p95 {:.0} p99 {:.0} µs",
                all.rate(),
                all.spread() * 50.0,
                all.quantile(0.5),
                all.quantile(0.95),
                all.quantile(0.99)
            );
            let processor = all.processor_us.map(|time| format!("; CPU {time:.0} µs")).unwrap_or_default();
            (all.system.as_str(), cell + &processor)
        });
        let cells: Vec<_> = cells.collect();
        let ours = samples.iter().find(|all| all.system == self.systems[0]);
        let ratios = samples.iter().filter(|all| all.system != self.systems[0]).filter_map(|peer| {
            let ours = ours?;
            let part = |part| ours.quantile(part) / peer.quantile(part);
            let rate = ours.rate() / peer.rate();
            let processor = match (ours.processor_us, peer.processor_us) {
                (Some(ours), Some(peers)) if peers > 0.0 => format!(", CPU {:.2}", ours / peers),
                _ => String::new(),
            };
            let ratio = format!("rate {rate:.2}, p50 {:.2}, p95 {:.2}{processor}", part(0.5), part(0.95));
            Some((peer.system.as_str(), ratio))
        });
        let ratios: Vec<_> = ratios.collect();
        self.line(name, &cells, &ratios);
        for all in samples {
            let rates: Vec<String> = all.rates.iter().map(|rate| format!("{rate:.1}")).collect();
            self.json.push(format!(
                "{{\"name\":{},\"system\":{},\"operations\":{},\"rates\":[{}],\"p50_us\":{:.1},\"p95_us\":{:.1},\"p99_us\":{:.1},\"processor_us\":{}}}",
                quoted(name),
                quoted(&all.system),
                all.latencies.len(),
                rates.join(","),
                all.quantile(0.5),
                all.quantile(0.95),
                all.quantile(0.99),
                all.processor_us.map_or("null".into(), |time| format!("{time:.2}"))
            ));
        }
        self.write(true)
    }

    /// What some systems made of the same arrivals, so many a second of the whole mix. Ratios are those of the time since the arrival.
    pub fn offered(&mut self, name: &str, rate: f64, all: &[Offered]) -> Result<(), Failure> {
        let quantiles = |of: &[f64]| [0.5, 0.95, 0.99].map(|part| quantile(of, part));
        let mut cells = Vec::new();
        for one in all {
            let ([p50, p95, p99], [sent50, sent95, sent99]) = (quantiles(&one.latencies), quantiles(&one.services));
            let mut row = format!(
                "{{\"name\":{},\"system\":{},\"offered_per_s\":{rate},\"operations\":{},\"cut_off\":{},\"backlog_grows\":{},\"processor_us\":{:.2}",
                quoted(name),
                quoted(&one.system),
                one.services.len(),
                one.cut,
                one.grows,
                one.processor_us
            );
            if one.cut {
                cells.push((one.system.as_str(), "not borne: cut off".to_string()));
            } else {
                let grows = if one.grows { "; BACKLOG GROWS" } else { "" };
                let cell = format!(
                    "p50 {p50:.0} p95 {p95:.0} p99 {p99:.0} µs; once begun p50 {sent50:.0} p95 {sent95:.0} p99 {sent99:.0}; CPU {:.0} µs{grows}",
                    one.processor_us
                );
                cells.push((one.system.as_str(), cell));
                write!(row, ",\"p50_us\":{p50:.1},\"p95_us\":{p95:.1},\"p99_us\":{p99:.1}")?;
                write!(row, ",\"begun_p50_us\":{sent50:.1},\"begun_p95_us\":{sent95:.1},\"begun_p99_us\":{sent99:.1}")?;
            }
            self.json.push(row + "}");
        }
        let ours = all.iter().find(|one| one.system == self.systems[0] && !one.cut);
        let ratios = all.iter().filter(|one| one.system != self.systems[0] && !one.cut).filter_map(|peer| {
            let ours = ours.filter(|ours| !ours.latencies.is_empty() && !peer.latencies.is_empty())?;
            let part = |part| quantile(&ours.latencies, part) / quantile(&peer.latencies, part);
            let (p50, p95, p99) = (part(0.5), part(0.95), part(0.99));
            let processor = ours.processor_us / peer.processor_us;
            Some((peer.system.as_str(), format!("p50 {p50:.2}, p95 {p95:.2}, p99 {p99:.2}, CPU {processor:.2}")))
        });
        let ratios: Vec<_> = ratios.collect();
        self.line(name, &cells, &ratios);
        self.write(true)
    }

    /// How late the client itself was, in microseconds, for arrivals that found a connection free and asleep; and how many arrivals there were.
    /// It is in every latency from an arrival.
    pub fn late(&mut self, what: &str, all: Vec<(&str, Vec<f64>, usize)>) -> Result<(), Failure> {
        let mut told = Vec::new();
        for (system, mut woke, arrivals) in all {
            woke.sort_by(f64::total_cmp);
            let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|part| quantile(&woke, part));
            let free = woke.len() as f64 / arrivals.max(1) as f64;
            self.json.push(format!(
                "{{\"name\":{},\"system\":{},\"found_free\":{free:.4},\"late_p50_us\":{p50:.1},\"late_p95_us\":{p95:.1},\"late_p99_us\":{p99:.1}}}",
                quoted(&format!("the client's own lateness; {what}")),
                quoted(system)
            ));
            told.push(format!("{system} p50 {p50:.0} p95 {p95:.0} p99 {p99:.0} µs ({:.1} % of all)", free * 100.0));
        }
        self.note(&format!(
            "{what}: the client's own lateness for arrivals that found a connection free: {}",
            told.join("; ")
        ))
    }

    /// One number of each of some systems; less is better.
    pub fn numbers(&mut self, name: &str, unit: &str, values: &[(&str, f64)]) -> Result<(), Failure> {
        self.compared(name, unit, values, "less is better")
    }

    /// One number of each of some systems; more is better.
    pub fn rates(&mut self, name: &str, unit: &str, values: &[(&str, f64)]) -> Result<(), Failure> {
        self.compared(name, unit, values, "more is better")
    }

    fn compared(&mut self, name: &str, unit: &str, values: &[(&str, f64)], better: &str) -> Result<(), Failure> {
        let cells: Vec<_> = values.iter().map(|(system, value)| (*system, format!("{value:.2} {unit}"))).collect();
        let ours = values.iter().find(|(system, _)| *system == self.systems[0]);
        let ratios: Vec<_> = values
            .iter()
            .filter(|(system, _)| *system != self.systems[0])
            .filter_map(|(system, value)| Some((*system, format!("{:.2}, {better}", ours?.1 / value))))
            .collect();
        self.line(name, &cells, &ratios);
        for (system, value) in values {
            let (name, unit, system) = (quoted(name), quoted(unit), quoted(system));
            self.json.push(format!("{{\"name\":{name},\"unit\":{unit},\"system\":{system},\"value\":{value:.3}}}"));
        }
        self.write(true)
    }

    /// One number of ours and of PostgreSQL; less is better.
    pub fn pair(&mut self, name: &str, unit: &str, ours: f64, peers: f64) -> Result<(), Failure> {
        let systems = [self.systems[0].clone(), self.systems[1].clone()];
        self.numbers(name, unit, &[(&systems[0], ours), (&systems[1], peers)])
    }

    /// A number of ours, without a peer.
    pub fn single(&mut self, name: &str, unit: &str, value: f64) -> Result<(), Failure> {
        let system = self.systems[0].clone();
        self.numbers(name, unit, &[(&system, value)])
    }

    /// Every connection of these systems is encrypted: with which protocol and cipher.
    pub fn encrypted(&mut self, all: &[(&str, Option<String>)]) -> Result<(), Failure> {
        let missing = || -> Failure { "a system without TLS in a run with it".into() };
        let cells = all.iter().map(|(system, agreed)| Ok((*system, agreed.clone().ok_or_else(missing)?)));
        let cells = cells.collect::<Result<Vec<_>, Failure>>()?;
        self.tls = true;
        self.head += " TLS on every connection, of all systems.";
        for (system, agreed) in &cells {
            let (system, agreed) = (quoted(system), quoted(agreed));
            self.json.push(format!("{{\"name\":\"TLS\",\"system\":{system},\"agreed\":{agreed}}}"));
        }
        self.line("TLS on every connection", &cells, &[]);
        self.write(true)
    }

    /// A fact that is no number.
    pub fn note(&mut self, text: &str) -> Result<(), Failure> {
        eprintln!("{text}");
        self.notes.push(text.into());
        self.json.push(format!("{{\"note\":{}}}", quoted(text)));
        self.write(true)
    }

    /// A part that could not be measured: said, and the rest goes on.
    pub fn failed(&mut self, part: &str, why: &str) -> Result<(), Failure> {
        self.failed = true;
        self.note(&format!("NOT MEASURED: {part}: {why}"))
    }

    fn line(&mut self, name: &str, cells: &[(&str, String)], ratios: &[(&str, String)]) {
        let mut line = format!("| {name} |");
        for system in &self.systems {
            let cell = cells.iter().find(|(of, _)| of == system).map_or("", |(_, cell)| cell.as_str());
            line += &format!(" {cell} |");
        }
        let one_peer = self.systems.len() == 2;
        let ratios: Vec<String> = ratios
            .iter()
            .map(|(system, ratio)| if one_peer { ratio.clone() } else { format!("{system}: {ratio}") })
            .collect();
        line += &format!(" {} |\n", ratios.join("; "));
        eprint!("{line}");
        self.table += &line;
    }

    fn write(&self, partial: bool) -> Result<(), Failure> {
        let mut json =
            format!("{{\"about\":{},\"tls\":{},\"partial\":{partial},\"results\":[\n", quoted(&self.head), self.tls);
        write!(json, "{}\n]}}\n", self.json.join(",\n"))?;
        std::fs::write(&self.path, json).map_err(|error| format!("{}: {error}", self.path.display()))?;
        let path = self.path.with_extension("md");
        std::fs::write(&path, self.text(partial)).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    fn text(&self, partial: bool) -> String {
        let notes: String = self.notes.iter().map(|note| format!("- {note}\n")).collect();
        let partial = match (self.failed, partial) {
            (true, _) => "PARTIAL: parts of this run were not measured. ",
            (false, true) => "PARTIAL: this run has not come to its end. ",
            (false, false) => "",
        };
        format!("{partial}{} Load {} at the end.\n\n{}\n{notes}", self.head, load(), self.table)
    }

    /// Prints the table and says where it is. Fails if a part was not measured.
    pub fn print(&self) -> Result<(), Failure> {
        self.write(self.failed)?;
        println!("{}\n{} and {}", self.text(false), self.path.display(), self.path.with_extension("md").display());
        if self.failed {
            Err("parts of this run were not measured: its results are marked partial".into())
        } else {
            Ok(())
        }
    }
}
