//! `peers QUERY FILE`: one of Nexmark's queries in dbsp, in process, over the events of a file. Says what filling and each transaction took, the
//! processor time of an event, and the answer.
//!
//! `bench nexmark` starts it and compares the answer. It keeps nothing on disk.

mod circuits;
mod events;

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use circuits::{Inputs, View};
use dbsp::mimalloc::MiMalloc;
use dbsp::{DBSPHandle, Runtime};
use events::Transaction;
use rustix::time::{ClockId, clock_gettime};

/// What can go wrong.
pub type Failure = Box<dyn Error + Send + Sync>;

/// That compute; dbsp merges its batches on another one.
const THREADS: usize = 1;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [query, path] = arguments.as_slice() else {
        eprintln!("usage: peers q0|q1|…|q8 FILE");
        return ExitCode::FAILURE;
    };
    match run(query, path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("peers: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(query: &str, path: &str) -> Result<(), Failure> {
    let transactions = events::read(path)?;
    let mut engine = Engine::new(query)?;
    let mut said = Vec::new();
    let (mut events, mut processor_s) = (0, 0.0);
    for (number, transaction) in transactions.into_iter().enumerate() {
        let count = transaction.len();
        let (clock, own) = engine.take(transaction)?;
        if number == 0 {
            println!("fill_ms {:.3}", clock * 1e3);
            continue;
        }
        events += count;
        processor_s += own;
        said.push(clock * 1e3);
    }
    for milliseconds in said {
        println!("transaction_ms {milliseconds:.4}");
    }
    println!("event_us {:.4}", processor_s * 1e6 / events.max(1) as f64);
    println!("rows");
    for (row, count) in engine.rows {
        for _ in 0..count {
            println!("{row}");
        }
    }
    Ok(())
}

/// A circuit with its inputs, its view, and the view's rows so far.
struct Engine {
    circuit: DBSPHandle,
    inputs: Inputs,
    view: View,
    rows: BTreeMap<String, i64>,
}

impl Engine {
    fn new(query: &str) -> Result<Engine, Failure> {
        let query = query.to_string();
        let (circuit, (inputs, view)) =
            Runtime::init_circuit(THREADS, move |circuit| Ok(circuits::build(circuit, &query)?))
                .map_err(|error| error.to_string())?;
        Ok(Engine { circuit, inputs, view, rows: BTreeMap::new() })
    }

    /// Takes a transaction: seconds by the clock and of this process's processor time until the view has changed.
    fn take(&mut self, mut transaction: Transaction) -> Result<(f64, f64), Failure> {
        let own = processor_seconds();
        let started = Instant::now();
        self.inputs.persons.append(&mut transaction.persons);
        self.inputs.auctions.append(&mut transaction.auctions);
        self.inputs.bids.append(&mut transaction.bids);
        self.circuit.transaction().map_err(|error| error.to_string())?;
        let took = (started.elapsed().as_secs_f64(), processor_seconds() - own);
        for (row, weight) in (self.view)() {
            let count = self.rows.entry(row.clone()).or_default();
            *count += weight;
            if *count == 0 {
                self.rows.remove(&row);
            }
        }
        Ok(took)
    }
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
