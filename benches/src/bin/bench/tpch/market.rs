//! The refresh functions: orders that come and orders that go, in commits of some, alike on both systems.

use std::time::{Duration, Instant};

use postgres::Client;

use crate::maintained::copy_by;
use crate::measure::quantile;
use crate::server::{Failure, Server};
use crate::tpch::data::{Data, Order};

/// Orders of a commit.
pub const ORDERS_EACH: u64 = 10;
/// Commits at least, however long they take.
const COMMITS_MIN: u64 = 6;
/// Commits at most.
const COMMITS_MAX: u64 = 400;

/// Both systems, and how many commits they have had.
pub struct Market<'a> {
    /// The rows that come.
    pub data: Data,
    /// Ours, and the peer.
    pub servers: [&'a Server; 2],
    /// How long each is measured.
    pub seconds: f64,
    /// Commits so far. Every second one takes orders away.
    pub done: u64,
}

/// What some commits took.
pub struct Cost {
    /// Sorted, of each commit with what followed it.
    milliseconds: Vec<f64>,
    /// Of the server's processor time, a commit.
    pub processor_ms: f64,
}

impl Cost {
    /// Of a commit.
    pub fn median(&self) -> f64 {
        quantile(&self.milliseconds, 0.5)
    }
}

impl Market<'_> {
    /// The same commits on both; the peer runs `after` behind each of those that it is measured with, and once at the end.
    pub fn both(&mut self, after: &str) -> Result<[Cost; 2], Failure> {
        let [ours, peer] = self.servers;
        let cost = self.measured(ours, "", COMMITS_MAX)?;
        let commits = cost.milliseconds.len() as u64;
        let peers = self.measured(peer, after, commits)?;
        let mut client = peer.connect()?;
        for commit in peers.milliseconds.len() as u64..commits {
            self.commit(&mut client, self.done + commit)?;
        }
        client.batch_execute(after)?;
        self.done += commits;
        Ok([cost, peers])
    }

    fn measured(&self, server: &Server, after: &str, most: u64) -> Result<Cost, Failure> {
        let mut client = server.connect()?;
        let before = server.meter().seconds()?;
        let (begun, length) = (Instant::now(), Duration::from_secs_f64(self.seconds));
        let mut milliseconds = Vec::new();
        while (milliseconds.len() as u64) < most
            && ((milliseconds.len() as u64) < COMMITS_MIN || begun.elapsed() < length)
        {
            let started = Instant::now();
            self.commit(&mut client, self.done + milliseconds.len() as u64)?;
            if !after.is_empty() {
                client.batch_execute(after)?;
            }
            milliseconds.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let processor_ms = (server.meter().seconds()? - before) * 1e3 / milliseconds.len() as f64;
        milliseconds.sort_by(f64::total_cmp);
        Ok(Cost { milliseconds, processor_ms })
    }

    /// One commit: new orders with their lines, or the oldest ones go with theirs.
    fn commit(&self, client: &mut Client, number: u64) -> Result<(), Failure> {
        let first = 1 + number / 2 * ORDERS_EACH;
        let keys = first..first + ORDERS_EACH;
        client.batch_execute("BEGIN")?;
        if number.is_multiple_of(2) {
            let (mut orders, mut lines) = (Vec::new(), Vec::new());
            for Order { order, lines: of_order } in keys.map(|key| self.data.order(self.data.orders + key)) {
                orders.push(order);
                lines.extend(of_order);
            }
            copy_by(client, "orders", orders.into_iter())?;
            copy_by(client, "lineitem", lines.into_iter())?;
        } else {
            let keys: Vec<i32> = keys.map(i32::try_from).collect::<Result<_, _>>()?;
            client.execute("DELETE FROM lineitem WHERE l_orderkey = ANY ($1)", &[&keys])?;
            let gone = client.execute("DELETE FROM orders WHERE o_orderkey = ANY ($1)", &[&keys])?;
            if gone != ORDERS_EACH {
                return Err(format!("{gone} of {ORDERS_EACH} orders went").into());
            }
        }
        Ok(client.batch_execute("COMMIT")?)
    }
}
