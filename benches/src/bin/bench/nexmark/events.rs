//! Nexmark's stream: persons, auctions and bids of an auction house, one event a millisecond, made here from a seed.
//!
//! Of fifty events the first is a person and the next three are auctions, as in the published generator; the rest are bids. An event follows from its
//! number alone. Windows are columns of the bids' and the others' times (`date_bin`): they stay, as nothing here says that time has passed.

use crate::measure::Random;
use crate::server::{Failure, Kind, Server};

/// Events of which one is a person and three are auctions.
const ROUND: u64 = 50;
const AUCTIONS: u64 = 3;
const BIDS: u64 = ROUND - 1 - AUCTIONS;
const US_EACH: u64 = 1_000;
/// Auctions that are bid for at a time.
const OPEN: u64 = 100;
const STATES: [&str; 6] = ["OR", "ID", "CA", "WA", "AZ", "WY"];
const CITIES: [&str; 8] = ["Bend", "Boise", "Fresno", "Kent", "Mesa", "Cody", "Salem", "Yuma"];
const NAMES: [&str; 10] = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo"];
const CHANNELS: [&str; 4] = ["search", "friends", "letter", "walk-in"];

/// The events of a seed.
#[derive(Clone, Copy)]
pub struct Events {
    /// Of all choices.
    pub seed: u64,
}

/// Lines of COPY of some events, by table.
#[derive(Default)]
pub struct Lines {
    /// Of `person`.
    pub persons: Vec<String>,
    /// Of `auction`.
    pub auctions: Vec<String>,
    /// Of `bid`.
    pub bids: Vec<String>,
}

/// The tables, with the persons as people who own their auctions and bids.
pub fn make_tables(server: &Server) -> Result<(), Failure> {
    let (subject, owned) = match server.kind {
        Kind::Dogwood => ("DATA_SUBJECT", "OWNED_BY"),
        Kind::PostgreSql => ("", "REFERENCES"),
    };
    let mut client = server.connect()?;
    client.batch_execute(&format!(
        "CREATE {subject} TABLE person (id bigint PRIMARY KEY, name text NOT NULL, email text NOT NULL, card text NOT NULL, city text NOT NULL,
            state text NOT NULL, date_time timestamp NOT NULL);
         CREATE TABLE auction (id bigint PRIMARY KEY, item text NOT NULL, initial bigint NOT NULL, reserve bigint NOT NULL, date_time timestamp NOT NULL,
            expires timestamp NOT NULL, seller bigint NOT NULL {owned} person(id), category bigint NOT NULL);
         CREATE TABLE bid (number bigint PRIMARY KEY, auction bigint NOT NULL REFERENCES auction(id), bidder bigint NOT NULL {owned} person(id),
            price bigint NOT NULL, channel text NOT NULL, date_time timestamp NOT NULL)",
    ))?;
    if server.kind == Kind::PostgreSql {
        client.batch_execute(
            "CREATE INDEX ON auction (seller); CREATE INDEX ON bid (auction); CREATE INDEX ON bid (bidder)",
        )?;
    }
    Ok(())
}

impl Events {
    /// The lines of events from one number to before another.
    pub fn lines(self, from: u64, to: u64) -> Lines {
        let mut lines = Lines::default();
        for number in from..to {
            match number % ROUND {
                0 => lines.persons.push(self.person(number)),
                place if place <= AUCTIONS => lines.auctions.push(self.auction(number)),
                _ => lines.bids.push(self.bid(number)),
            }
        }
        lines
    }

    fn random(self, number: u64) -> Random {
        let mut random = Random::new(self.seed * 1_000_000_007 + number);
        random.below(2);
        random.below(2);
        random
    }

    fn person(self, number: u64) -> String {
        let mut random = self.random(number);
        let id = number / ROUND;
        let (name, city, state) =
            (one_of(&NAMES, &mut random), one_of(&CITIES, &mut random), one_of(&STATES, &mut random));
        let card = 1_000_000_000_000_000 + random.below(9_000_000_000_000_000);
        format!("{id}\t{name} {id}\t{id}@example.org\t{card}\t{city}\t{state}\t{}", time(number))
    }

    fn auction(self, number: u64) -> String {
        let mut random = self.random(number);
        let id = number / ROUND * AUCTIONS + number % ROUND - 1;
        let initial = price(&mut random);
        let reserve = initial + price(&mut random);
        let expires = number + 500 + random.below(4_000);
        let category = 10 + random.below(5);
        let seller = self.somebody(number, &mut random);
        format!("{id}\titem {id}\t{initial}\t{reserve}\t{}\t{}\t{seller}\t{category}", time(number), time(expires))
    }

    fn bid(self, number: u64) -> String {
        let mut random = self.random(number);
        let newest = number / ROUND * AUCTIONS + AUCTIONS - 1;
        // Half of the bids are for the auction of the hour.
        let auction =
            if random.below(2) == 0 { newest / OPEN * OPEN } else { newest - random.below(OPEN.min(newest + 1)) };
        let bidder = self.somebody(number, &mut random);
        let (price, channel) = (price(&mut random), one_of(&CHANNELS, &mut random));
        let counted = number / ROUND * BIDS + number % ROUND - 1 - AUCTIONS;
        format!("{counted}\t{auction}\t{bidder}\t{price}\t{channel}\t{}", time(number))
    }

    /// One who is there by then; a quarter of all is done by the one of the hour.
    fn somebody(self, number: u64, random: &mut Random) -> u64 {
        let newest = number / ROUND;
        if random.below(4) == 0 { newest / OPEN * OPEN } else { newest - random.below(1_000.min(newest + 1)) }
    }
}

fn one_of<'a>(list: &[&'a str], random: &mut Random) -> &'a str {
    list[random.below(list.len() as u64) as usize]
}

/// From 1 to 1,000,000; as many below 1,000 as above.
fn price(random: &mut Random) -> u64 {
    let magnitude = 10_u64.pow(random.below(6) as u32);
    magnitude + random.below(magnitude * 9)
}

/// Of an event, as SQL writes it.
fn time(number: u64) -> String {
    let of_day = number * US_EACH;
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    format!("2020-01-{:02} {:02}:{:02}:{:02}.{micros:06}", days + 1, seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// The number of the last event whose time can be written.
pub const LAST: u64 = 31 * 86_400 * 1_000 - 10_000;
