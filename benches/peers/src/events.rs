//! Events from the lines that `bench nexmark` writes: a letter for the table, then the row as COPY has it; a point alone ends a transaction.

use dbsp::utils::{Tup2, Tup5};

use crate::Failure;

/// Number, name, city, state, time.
pub type Person = Tup5<i64, String, String, String, i64>;
/// Number, seller, category, time, end.
pub type Auction = Tup5<i64, i64, i64, i64, i64>;
/// Number, auction, bidder, price, time.
pub type Bid = Tup5<i64, i64, i64, i64, i64>;

/// 2020-01-01 in microseconds since 1970.
const FIRST_US: i64 = 1_577_836_800_000_000;

/// Rows that come together, each once.
#[derive(Default)]
pub struct Transaction {
    /// New ones.
    pub persons: Vec<Tup2<Person, i64>>,
    /// New ones.
    pub auctions: Vec<Tup2<Auction, i64>>,
    /// New ones.
    pub bids: Vec<Tup2<Bid, i64>>,
}

impl Transaction {
    /// How many events.
    pub fn len(&self) -> usize {
        self.persons.len() + self.auctions.len() + self.bids.len()
    }
}

/// All transactions of a file.
pub fn read(path: &str) -> Result<Vec<Transaction>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut all = Vec::new();
    let mut transaction = Transaction::default();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        match cells.as_slice() {
            ["."] => all.push(std::mem::take(&mut transaction)),
            ["p", id, name, _, _, city, state, at] => {
                let [name, city, state] = [name, city, state].map(ToString::to_string);
                transaction.persons.push(Tup2(Tup5(id.parse()?, name, city, state, time(at)?), 1));
            }
            ["a", id, _, _, _, at, expires, seller, category] => {
                let row = Tup5(id.parse()?, seller.parse()?, category.parse()?, time(at)?, time(expires)?);
                transaction.auctions.push(Tup2(row, 1));
            }
            ["b", number, auction, bidder, price, _, at] => {
                let row = Tup5(number.parse()?, auction.parse()?, bidder.parse()?, price.parse()?, time(at)?);
                transaction.bids.push(Tup2(row, 1));
            }
            _ => return Err(format!("no event: {line:?}").into()),
        }
    }
    Ok(all)
}

/// `2020-01-DD hh:mm:ss.ffffff` in microseconds since 1970.
fn time(text: &str) -> Result<i64, Failure> {
    let part = |from: usize, to: usize| -> Result<i64, Failure> {
        Ok(text.get(from..to).ok_or_else(|| format!("no time: {text:?}"))?.parse()?)
    };
    let seconds = ((part(8, 10)? - 1) * 24 + part(11, 13)?) * 3_600 + part(14, 16)? * 60 + part(17, 19)?;
    Ok(FIRST_US + seconds * 1_000_000 + part(20, 26)?)
}
