//! The auction house on both systems that speak SQL: the same events in the same transactions, and how fast they are taken.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::maintained::copy_by;
use crate::measure::quantile;
use crate::nexmark::events::{Events, LAST, Lines, make_tables};
use crate::server::{Failure, Kind, Server};
use crate::subscriber::Subscriber;

/// Events of a transaction.
pub const EVENTS_EACH: u64 = 100;
/// Transactions at least, however long they take.
const TRANSACTIONS_MIN: u64 = 6;
/// Transactions at most.
const TRANSACTIONS_MAX: u64 = 1_000;
/// Events of one COPY at the beginning.
const PART: u64 = 50_000;
/// So long a subscriber is listened to for a transaction, after it was acknowledged.
const LISTENED: Duration = Duration::from_millis(20);

/// Both systems, and how many events they have had.
pub struct House<'a> {
    /// Ours, and the peer.
    pub servers: [&'a Server; 2],
    /// What comes.
    pub stream: Events,
    /// Events so far.
    pub events: u64,
    seconds: f64,
}

/// How some transactions were taken.
pub struct Pace {
    /// Sorted.
    milliseconds: Vec<f64>,
    /// Of the server's processor time, an event.
    pub processor_us: f64,
}

impl Pace {
    /// Over all of them.
    pub fn events_a_second(&self) -> f64 {
        let seconds = self.milliseconds.iter().sum::<f64>() / 1e3;
        (self.milliseconds.len() as u64 * EVENTS_EACH) as f64 / seconds
    }

    /// Of a transaction.
    pub fn median_ms(&self) -> f64 {
        quantile(&self.milliseconds, 0.5)
    }
}

impl<'a> House<'a> {
    /// Makes the tables.
    pub fn open(servers: [&'a Server; 2], seed: u64, seconds: f64) -> Result<House<'a>, Failure> {
        for server in servers {
            make_tables(server)?;
        }
        Ok(House { servers, stream: Events { seed }, events: 0, seconds })
    }

    /// The first events, as they come.
    pub fn fill(&mut self, events: u64) -> Result<(), Failure> {
        for server in self.servers {
            eprintln!("filling {}", server.kind.name());
            let mut client = server.connect()?;
            for from in (0..events).step_by(PART as usize) {
                self.send(&mut client, from, events.min(from + PART))?;
            }
            if server.kind == Kind::PostgreSql {
                client.batch_execute("VACUUM ANALYZE")?;
            }
        }
        self.events = events;
        Ok(())
    }

    /// The same transactions on both; the peer runs `after` behind each of those that it is measured with, and once at the end.
    pub fn both(&mut self, after: &str) -> Result<[Pace; 2], Failure> {
        let [ours, peer] = self.servers;
        let pace = self.measured(ours, "", TRANSACTIONS_MAX)?;
        let count = pace.milliseconds.len() as u64;
        let peers = self.measured(peer, after, count)?;
        self.catch_up(peers.milliseconds.len() as u64, count, after)?;
        self.events += count * EVENTS_EACH;
        Ok([pace, peers])
    }

    /// Milliseconds from sending a transaction to its change at a subscriber to the view, the median of those that change it.
    pub fn watched(&mut self, view: &str, transactions: u64, refresh: &str) -> Result<f64, Failure> {
        let [ours, _] = self.servers;
        let mut client = ours.connect()?;
        let mut subscriber = Subscriber::open(ours, &format!("SELECT * FROM {view}"))?;
        let mut times = Vec::new();
        for number in 0..transactions {
            let started = Instant::now();
            self.transaction(&mut client, number)?;
            if subscriber.hears(LISTENED)? {
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
            // What else belongs to it must not be taken for the next one's.
            while subscriber.hears(LISTENED)? {}
        }
        self.catch_up(0, transactions, refresh)?;
        self.events += transactions * EVENTS_EACH;
        times.sort_by(f64::total_cmp);
        if times.is_empty() { Err("no transaction changed the view".into()) } else { Ok(quantile(&times, 0.5)) }
    }

    fn measured(&self, server: &Server, after: &str, most: u64) -> Result<Pace, Failure> {
        let mut client = server.connect()?;
        let before = server.meter().seconds()?;
        let (begun, length) = (Instant::now(), Duration::from_secs_f64(self.seconds));
        let mut milliseconds = Vec::new();
        while (milliseconds.len() as u64) < most
            && ((milliseconds.len() as u64) < TRANSACTIONS_MIN || begun.elapsed() < length)
        {
            let started = Instant::now();
            self.transaction(&mut client, milliseconds.len() as u64)?;
            if !after.is_empty() {
                client.batch_execute(after)?;
            }
            milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let events = milliseconds.len() as u64 * EVENTS_EACH;
        let processor_us = (server.meter().seconds()? - before) * 1e6 / events as f64;
        milliseconds.sort_by(f64::total_cmp);
        Ok(Pace { milliseconds, processor_us })
    }

    /// Transactions that the peer was not measured with.
    fn catch_up(&self, done: u64, wanted: u64, after: &str) -> Result<(), Failure> {
        let mut client = self.servers[1].connect()?;
        for number in done..wanted {
            self.transaction(&mut client, number)?;
        }
        Ok(client.batch_execute(after)?)
    }

    /// The one of that number from now on.
    fn transaction(&self, client: &mut Client, number: u64) -> Result<(), Failure> {
        let from = self.events + number * EVENTS_EACH;
        self.send(client, from, from + EVENTS_EACH)
    }

    fn send(&self, client: &mut Client, from: u64, to: u64) -> Result<(), Failure> {
        if to > LAST {
            return Err("these are more events than a month has milliseconds: choose a smaller scale".into());
        }
        let Lines { persons, auctions, bids } = self.stream.lines(from, to);
        client.batch_execute("BEGIN")?;
        for (table, lines) in [("person", persons), ("auction", auctions), ("bid", bids)] {
            copy_by(client, table, lines.into_iter())?;
        }
        Ok(client.batch_execute("COMMIT")?)
    }
}
