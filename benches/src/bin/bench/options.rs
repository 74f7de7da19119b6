//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::measure::Plan;
use crate::server::Failure;

/// What is printed to whoever asks.
pub const USAGE: &str =
    "usage: bench core|views|votes|owncloud|lobsters|sar|ycsb|gdprbench|memory|tpch|nexmark [options]
  --seconds S      length of a slice (2)
  --rounds R       slices of each system, in turn (3)
  --people N       people of core, views and votes (10000)
  --scale F        part of the paper's data for owncloud, lobsters, sar, ycsb, gdprbench and memory (0.02);
                   of tpch, where 1 is six million lines (0.01); of nexmark, where 1 is 2,500,000 events (0.02)
  --users-times N  lobsters once more with so many times the data (1: not)
  --connections N  of votes, owncloud, lobsters, ycsb and gdprbench (8)
  --rate R         operations a second that votes and owncloud offer all systems alike, beside the closed loop
                   (half of what the slowest bears, and half of what PostgreSQL with memcached bears)
  --subscribers N  of views (1000; the goals speak of 10000 and 100000)
  --group N        rows of the largest group that views changes (160000)
  --requests N     people whose access and erasure sar asks for (100; the paper: 1000)
  --only A,B       some parts of views: reads,creation,fills,together,strangers,operators,counts,files,writes,
                   subscriptions; or some letters of ycsb, some numbers of tpch's queries, some of nexmark's,
                   or some systems of lobsters: Dogwood,PostgreSQL,MariaDB; with updates, its writes under views alone
  --seed N         of keys and choices (1)
  --tls            TLS on every connection of core, votes, owncloud, lobsters and ycsb, to all systems
$DOGWOOD names the server (else the one beside this program), $BENCH_JSON the file of results (else bench-NAME.json).";

/// What was asked for.
pub struct Options {
    /// Which benchmark.
    pub command: String,
    /// Of core, views and votes.
    pub people: u64,
    /// Part of the paper's data.
    pub scale: f64,
    /// Of lobsters: how many times the data, the second time.
    pub users_times: u64,
    /// Connections of the mixed workloads.
    pub connections: u64,
    /// Operations a second to offer; chosen from what the systems bear if it is not given.
    pub rate: Option<f64>,
    /// Of views.
    pub subscribers: u64,
    /// Rows of the largest group that views changes.
    pub group: u64,
    /// Of sar.
    pub requests: u64,
    /// Some parts only; all if empty.
    pub only: Vec<String>,
    /// Length of a slice.
    pub seconds: f64,
    /// Slices of each system.
    pub rounds: u64,
    /// Of keys and choices.
    pub seed: u64,
    /// TLS on every connection.
    pub tls: bool,
    /// Dogwood's program.
    pub binary: PathBuf,
}

/// What `--tls` is there for: the others' subscriptions speak in plain text.
const WITH_TLS: [&str; 5] = ["core", "votes", "owncloud", "lobsters", "ycsb"];

impl Options {
    /// From the command line.
    pub fn read() -> Result<Options, Failure> {
        let beside = std::env::current_exe()?.with_file_name("dogwood");
        let mut arguments = std::env::args().skip(1);
        let command = arguments.next().unwrap_or_default();
        let mut options = Options {
            people: 10_000,
            scale: if command == "tpch" { 0.01 } else { 0.02 },
            command,
            users_times: 1,
            connections: 8,
            rate: None,
            subscribers: 1_000,
            group: 160_000,
            requests: 100,
            only: Vec::new(),
            seconds: 2.0,
            rounds: 3,
            seed: 1,
            tls: false,
            binary: std::env::var_os("DOGWOOD").map_or(beside, PathBuf::from),
        };
        while let Some(argument) = arguments.next() {
            if argument == "--tls" {
                options.tls = true;
                continue;
            }
            let value = arguments.next().ok_or_else(|| format!("{argument} wants a value\n{USAGE}"))?;
            match argument.as_str() {
                "--people" => options.people = number(&argument, &value)?,
                "--scale" => options.scale = number(&argument, &value)?,
                "--users-times" => options.users_times = number(&argument, &value)?,
                "--connections" => options.connections = number(&argument, &value)?,
                "--rate" => options.rate = Some(number(&argument, &value)?),
                "--subscribers" => options.subscribers = number(&argument, &value)?,
                "--group" => options.group = number(&argument, &value)?,
                "--requests" => options.requests = number(&argument, &value)?,
                "--only" => options.only = value.split(',').map(str::to_string).collect(),
                "--seconds" => options.seconds = number(&argument, &value)?,
                "--rounds" => options.rounds = number(&argument, &value)?,
                "--seed" => options.seed = number(&argument, &value)?,
                _ => return Err(format!("there is no option {argument}\n{USAGE}").into()),
            }
        }
        if options.tls && !WITH_TLS.contains(&options.command.as_str()) {
            return Err(format!("--tls is there for {}", WITH_TLS.join(", ")).into());
        }
        if options.people < 1_000 || options.rounds == 0 || options.seconds <= 0.0 || options.scale <= 0.0 {
            return Err("at least 1,000 people, one round, and some time and data".into());
        }
        if options.rate.is_some_and(|rate| !(1.0..=1e6).contains(&rate)) {
            return Err("a rate of 1 to 1,000,000 operations a second".into());
        }
        if options.connections == 0 || options.connections > 64 {
            return Err("1 to 64 connections".into());
        }
        Ok(options)
    }

    /// How a workload over so many connections is timed.
    pub fn plan(&self, connections: u64) -> Plan {
        Plan { connections, rounds: self.rounds, slice: Duration::from_secs_f64(self.seconds), seed: self.seed }
    }

    /// Of a bench that is not cut into slices of time.
    pub fn untimed(&self) -> Plan {
        Plan { connections: 1, rounds: 0, slice: Duration::ZERO, seed: self.seed }
    }

    /// What may come to stand on the disk: generously, with logs and preallocated files.
    pub fn bytes_wanted(&self) -> u64 {
        let gigabytes = match self.command.as_str() {
            "owncloud" => 12.0 * self.scale,
            "ycsb" => 8.0 * self.scale,
            "lobsters" => 6.0 * self.scale * (1.0 + self.users_times as f64),
            "sar" => 3.0 * self.scale,
            "gdprbench" => 1.0 * self.scale,
            "memory" => 5.0 * self.scale,
            "tpch" => 10.0 * self.scale,
            "nexmark" => 4.0 * self.scale,
            _ => self.people as f64 / 20_000.0,
        };
        ((2.0 + gigabytes) * 1e9) as u64
    }

    /// Is this part wanted?
    pub fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == part)
    }

    /// A number of the paper at this scale.
    pub fn scaled(&self, paper: u64) -> u64 {
        ((paper as f64 * self.scale) as u64).max(1)
    }
}

/// What an option was given, as a number.
fn number<T: FromStr>(option: &str, value: &str) -> Result<T, Failure> {
    value.parse().map_err(|_| format!("{option} wants a number, and {value:?} is none").into())
}
