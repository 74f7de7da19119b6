//! The visits of an offered load, and one system under it: whom they are drawn for, and in which mix.

use std::time::Duration;

use crate::discussion::data::{Data, TAGS};
use crate::discussion::pages::{PAGES, Page, Visit, Visitor};
use crate::discussion::session::Session;
use crate::discussion::tally::Tally;
use crate::measure::{Random, Zipf, told};
use crate::open::{self, Outcome};
use crate::server::{Failure, Meter};

/// How far behind its arrivals a system may fall before a slice is cut.
const BEHIND_MAX: Duration = Duration::from_secs(3);

/// A visit and when it comes.
pub type Arrival = open::Arrival<Visit>;

/// Whom visits are drawn for.
pub struct Visits {
    users: Zipf,
    stories: Zipf,
    comments: Zipf,
}

/// One system under load.
pub struct Lane {
    /// Its name in reports.
    pub name: &'static str,
    /// Its connections.
    pub sessions: Vec<Session>,
    /// What it acknowledged.
    pub tally: Tally,
    /// Its processor time.
    pub meter: Meter,
}

impl Visits {
    /// Over all of the data.
    pub fn new(data: &Data) -> Visits {
        Visits {
            users: data.drawn(data.users),
            stories: data.drawn(data.stories),
            comments: data.drawn(data.comments()),
        }
    }

    /// The same with visits of pages that come seldom added, at random times, so that there are so many of each.
    pub fn arrivals_of_all(&self, rate: f64, length: Duration, seed: u64, first: u64, at_least: usize) -> Vec<Arrival> {
        let mut all = self.arrivals(rate, length, seed, first);
        let mut random = Random::new(seed.wrapping_mul(1_000_003) + first + 1);
        for (page, _, _) in PAGES {
            let there = all.iter().filter(|arrival| arrival.what.page == page).count();
            for _ in there..at_least {
                let part = random.below(1 << 20) as f64 / (1_u64 << 20) as f64;
                let visit = self.visit_of(page, &mut random, first + all.len() as u64);
                all.push(Arrival { at: length.mul_f64(part), what: visit });
            }
        }
        all.sort_by_key(|arrival| arrival.at);
        all
    }

    /// The arrivals of a slice. Numbers of visits begin at `first`, which differs between slices.
    pub fn arrivals(&self, rate: f64, length: Duration, seed: u64, first: u64) -> Vec<Arrival> {
        let mut random = Random::new(seed.wrapping_mul(1_000_003) + first);
        open::arrivals(rate, length, &mut random, |random, place| self.visit(random, first + place))
    }

    /// A visit of a page drawn from the mix.
    fn visit(&self, random: &mut Random, unique: u64) -> Visit {
        let mut draw = random.below(PAGES.iter().map(|(_, _, weight)| weight).sum());
        let mut page = Page::Story;
        for (candidate, _, weight) in PAGES {
            if draw < weight {
                page = candidate;
                break;
            }
            draw -= weight;
        }
        self.visit_of(page, random, unique)
    }

    /// A visit of this page.
    pub fn visit_of(&self, page: Page, random: &mut Random, unique: u64) -> Visit {
        let other = if page == Page::Submit { random.below(TAGS) } else { self.users.draw(random) } + 1;
        Visit {
            page,
            user: self.users.draw(random) + 1,
            story: self.stories.draw(random) + 1,
            comment: self.comments.draw(random) + 1,
            other,
            unique,
        }
    }
}

/// The place of a page in `PAGES`.
fn place(page: Page) -> usize {
    PAGES.iter().position(|(candidate, _, _)| *candidate == page).unwrap_or_default()
}

impl Lane {
    /// Offers arrivals and waits until all are served or the slice is cut. Classes are the places of pages in `PAGES`.
    pub fn offer(&mut self, data: &Data, arrivals: &[Arrival]) -> Result<Outcome, Failure> {
        let tally = &self.tally;
        let connections = self.sessions.iter_mut().map(|session| {
            let mut visitor = Visitor { session, data, tally };
            move |visit: &Visit| {
                visitor.serve(visit).map_err(|failure| {
                    let (page, name, _) = PAGES[place(visit.page)];
                    format!("{name} ({page:?} of {visit:?}): {}", told(&*failure)).into()
                })
            }
        });
        open::offer(connections.collect(), &[self.meter], arrivals, PAGES.len(), |visit| place(visit.page), BEHIND_MAX)
    }
}
