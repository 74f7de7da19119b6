//! Offered load: visits that arrive when they do (Poisson), whether or not the system keeps up. Latency counts from the arrival.
//!
//! All systems get the same visits at the same times of a slice. A connection takes the next arrival as soon as it is free.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::discussion::data::{Data, TAGS};
use crate::discussion::pages::{PAGES, Page, Visit, Visitor};
use crate::discussion::session::Session;
use crate::discussion::tally::Tally;
use crate::measure::{Random, Zipf};
use crate::server::{Failure, Meter};

/// How far behind its arrivals a system may fall before a slice is cut.
const BEHIND_MAX: Duration = Duration::from_secs(3);

/// Whom visits are drawn for.
pub struct Visits {
    users: Zipf,
    stories: Zipf,
    comments: Zipf,
}

/// When, after the slice's start, and what.
pub struct Arrival {
    at: Duration,
    visit: Visit,
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

/// What became of a slice.
pub struct Outcome {
    /// Microseconds from arrival to the last answer, by the place of the page in `PAGES`. Of visits that were cut off, the time until then.
    pub latencies: Vec<Vec<f64>>,
    /// Visits that were served.
    pub served: usize,
    /// Visits that were cut off: the system was more than three seconds behind.
    pub cut: usize,
    /// How late visits were begun on average, in the middle third and in the last third of the slice, in microseconds.
    pub waited: [f64; 2],
    /// Seconds of processor time.
    pub processor_s: f64,
    /// How long it took.
    pub took: Duration,
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
            let there = all.iter().filter(|arrival| arrival.visit.page == page).count();
            for _ in there..at_least {
                let part = random.below(1 << 20) as f64 / (1_u64 << 20) as f64;
                let visit = self.visit_of(page, &mut random, first + all.len() as u64);
                all.push(Arrival { at: length.mul_f64(part), visit });
            }
        }
        all.sort_by_key(|arrival| arrival.at);
        all
    }

    /// The arrivals of a slice. Numbers of visits begin at `first`, which differs between slices.
    pub fn arrivals(&self, rate: f64, length: Duration, seed: u64, first: u64) -> Vec<Arrival> {
        let mut random = Random::new(seed.wrapping_mul(1_000_003) + first);
        let mut at = 0.0;
        let mut all = Vec::new();
        loop {
            let part = (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
            at += -part.ln() / rate;
            if at >= length.as_secs_f64() {
                return all;
            }
            all.push(Arrival {
                at: Duration::from_secs_f64(at),
                visit: self.visit(&mut random, first + all.len() as u64),
            });
        }
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

/// What one connection did: latencies by page; of each visit its arrival and how late it was begun.
#[derive(Default)]
struct Part {
    latencies: Vec<(usize, f64)>,
    begun: Vec<(Duration, f64)>,
    cut: usize,
}

impl Lane {
    /// Offers arrivals and waits until all are served or the slice is cut.
    pub fn offer(&mut self, data: &Data, arrivals: &[Arrival]) -> Result<Outcome, Failure> {
        let before = self.meter.seconds()?;
        let next = AtomicUsize::new(0);
        let stopped = AtomicBool::new(false);
        let (tally, next, stopped) = (&self.tally, &next, &stopped);
        let started = Instant::now();
        let parts = std::thread::scope(|scope| {
            let threads: Vec<_> = self
                .sessions
                .iter_mut()
                .map(|session| {
                    scope.spawn(move || serve(Visitor { session, data, tally }, arrivals, started, next, stopped))
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err("a connection's thread panicked".into())))
                .collect::<Result<Vec<Part>, Failure>>()
        })?;
        let took = started.elapsed();
        let mut latencies = vec![Vec::new(); PAGES.len()];
        let mut waits = [(0.0, 0.0); 3];
        let end = arrivals.last().map_or(0.0, |arrival| arrival.at.as_secs_f64()).max(1e-9);
        let (mut served, mut cut) = (0, 0);
        for part in parts {
            for (page, latency) in part.latencies {
                latencies[page].push(latency);
            }
            for (at, waited) in part.begun {
                let third = ((at.as_secs_f64() / end * 3.0) as usize).min(2);
                waits[third].0 += waited;
                waits[third].1 += 1.0;
                served += 1;
            }
            served -= part.cut;
            cut += part.cut;
        }
        let mean = |third: usize| if waits[third].1 > 0.0 { waits[third].0 / waits[third].1 } else { 0.0 };
        let processor_s = self.meter.seconds()? - before;
        Ok(Outcome { latencies, served, cut, waited: [mean(1), mean(2)], processor_s, took })
    }
}

fn serve(
    mut visitor: Visitor<'_>,
    arrivals: &[Arrival],
    started: Instant,
    next: &AtomicUsize,
    stopped: &AtomicBool,
) -> Result<Part, Failure> {
    let mut part = Part::default();
    while let Some(arrival) = arrivals.get(next.fetch_add(1, Ordering::Relaxed)) {
        let now = started.elapsed();
        if let Some(early) = arrival.at.checked_sub(now) {
            std::thread::sleep(early);
        }
        let late = started.elapsed().saturating_sub(arrival.at);
        part.begun.push((arrival.at, late.as_secs_f64() * 1e6));
        if late > BEHIND_MAX {
            stopped.store(true, Ordering::Relaxed);
        }
        if stopped.load(Ordering::Relaxed) {
            part.cut += 1;
        } else if let Err(failure) = visitor.serve(&arrival.visit) {
            // The others need not go on.
            stopped.store(true, Ordering::Relaxed);
            let (page, name, _) = PAGES[place(arrival.visit.page)];
            return Err(format!("{name} ({page:?} of {:?}): {}", arrival.visit, crate::measure::told(&*failure)).into());
        }
        let latency = started.elapsed().saturating_sub(arrival.at);
        part.latencies.push((place(arrival.visit.page), latency.as_secs_f64() * 1e6));
    }
    Ok(part)
}

impl Outcome {
    /// A quantile over all pages, in microseconds.
    pub fn quantile(&self, part: f64) -> f64 {
        let mut all: Vec<f64> = self.latencies.iter().flatten().copied().collect();
        all.sort_by(f64::total_cmp);
        all.get((all.len().saturating_sub(1) as f64 * part).round() as usize).copied().unwrap_or(0.0)
    }
}
