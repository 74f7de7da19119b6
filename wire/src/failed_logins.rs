//! Failed logins: each makes the next from there, or as that role, wait longer; and what the log says of them.
//!
//! ```text
//! a role from an address   one attempt after the other, up to two seconds apart; whoever could not be answered in time is refused
//! an address, a role       up to a second each, for all attempts alike: nobody is kept out by what others do
//! ```
//! What is known is bounded, and halves every half minute. Names of roles that do not exist are nowhere written: passwords get
//! typed there. Never knows a password.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures of a role from an address that cost nothing: people mistype.
const FREE_PAIR: u32 = 2;
/// Failures of an address or a role that cost nothing.
const FREE_EACH: u32 = 20;
const FIRST_DELAY: Duration = Duration::from_millis(25);
const PAIR_DELAY_MAX: Duration = Duration::from_secs(2);
const EACH_DELAY_MAX: Duration = Duration::from_secs(1);
/// Half as many failures count after so long without one.
const HALVED_AFTER: Duration = Duration::from_secs(30);
/// As many pairs, addresses and roles are remembered, each.
const REMEMBERED_MAX: usize = 4_096;
/// As many lines a second are written.
const LINES_MAX: u32 = 10;
const SECOND: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Default)]
pub struct FailedLogins {
    known: Mutex<KnownFailures>,
}

#[derive(Default)]
struct KnownFailures {
    pairs: Failures<(IpAddr, String)>,
    addresses: Failures<IpAddr>,
    roles: Failures<String>,
    written: Option<WrittenLines>,
}

/// Who tries to log in.
#[derive(Clone, Debug)]
pub struct Attempt {
    address: IpAddr,
    role: String,
}

/// What the log says of a failure.
#[derive(Debug, PartialEq, Eq)]
pub struct Told {
    /// Of this one.
    pub line: String,
    /// So many before it were not written.
    pub left_out: u32,
}

/// This one cannot be answered in time.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

struct Failures<K> {
    failed: BTreeMap<K, Failed>,
}

#[derive(Clone, Copy)]
struct Failed {
    count: u32,
    last: Instant,
    /// Before this nobody's turn comes.
    next: Instant,
}

/// The lines of a second.
struct WrittenLines {
    since: Instant,
    lines: u32,
    left_out: u32,
}

impl Attempt {
    /// From an address, of which a network counts as one where it is handed out as a whole.
    pub fn new(address: IpAddr, role: &str) -> Attempt {
        let address = match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, ..] = address.segments();
                IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
            }
        };
        Attempt { address, role: role.chars().take(63).collect() }
    }

    /// As whom.
    pub fn role(&self) -> &str {
        &self.role
    }

    fn pair(&self) -> (IpAddr, String) {
        (self.address, self.role.clone())
    }
}

impl FailedLogins {
    /// How long an attempt waits before its password is looked at.
    pub fn wait(&self, attempt: &Attempt, now: Instant, deadline: Instant) -> Result<Duration, TooMany> {
        let mut known = self.lock();
        let of = |failed: Option<&Failed>| failed.map_or(0, |failed| failed.count_at(now));
        let each = of(known.addresses.failed.get(&attempt.address)).max(of(known.roles.failed.get(&attempt.role)));
        let own = delay(each, FREE_EACH, EACH_DELAY_MAX);
        let turn = match known.pairs.failed.get_mut(&attempt.pair()) {
            Some(failed) => {
                let between = delay(failed.count_at(now), FREE_PAIR, PAIR_DELAY_MAX);
                let turn = failed.next.max(now) + between;
                if turn >= deadline {
                    return Err(TooMany);
                }
                failed.next = turn;
                turn.saturating_duration_since(now)
            }
            None => Duration::ZERO,
        };
        Ok(turn.max(own))
    }

    /// One has failed. What is to be written to the log, if anything; `is_known`: whether there is such a role.
    pub fn failed(&self, attempt: &Attempt, is_known: bool, now: Instant) -> Option<Told> {
        let mut known = self.lock();
        known.pairs.count(attempt.pair(), now);
        known.addresses.count(attempt.address, now);
        known.roles.count(attempt.role.clone(), now);
        known.told("failed login", attempt, is_known, now)
    }

    /// One was not looked at, as too many had failed. What is to be written to the log, if anything.
    pub(crate) fn turned_away(&self, attempt: &Attempt, is_known: bool, now: Instant) -> Option<Told> {
        self.lock().told("too many failed logins: turned away a login", attempt, is_known, now)
    }

    /// One was refused before a password was asked for: `why`, in a word or two. What is to be written to the log, if anything.
    pub(crate) fn refused(&self, why: &str, attempt: &Attempt, is_known: bool, now: Instant) -> Option<Told> {
        self.lock().told(&format!("{why}: refused a login"), attempt, is_known, now)
    }

    /// One has succeeded: what failed before it is forgiven to that role from there.
    pub(crate) fn succeeded(&self, attempt: &Attempt) {
        let mut known = self.lock();
        if !known.pairs.failed.is_empty() {
            known.pairs.failed.remove(&attempt.pair());
        }
    }

    // A panic while the lock is held cannot leave it half changed: every change is one call.
    fn lock(&self) -> MutexGuard<'_, KnownFailures> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownFailures {
    fn told(&mut self, what: &str, attempt: &Attempt, is_known: bool, now: Instant) -> Option<Told> {
        let written = self.written.get_or_insert(WrittenLines { since: now, lines: 0, left_out: 0 });
        let mut left_out = 0;
        if now.saturating_duration_since(written.since) >= SECOND {
            left_out = written.left_out;
            *written = WrittenLines { since: now, lines: 0, left_out: 0 };
        }
        if written.lines >= LINES_MAX {
            written.left_out += 1;
            return None;
        }
        written.lines += 1;
        let role = if is_known { format!("\"{}\"", attempt.role) } else { "an unknown role".to_string() };
        Some(Told { line: format!("{what} from {} as {role}", attempt.address), left_out })
    }
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Failures { failed: BTreeMap::new() }
    }
}

impl<K: Ord + Clone> Failures<K> {
    fn count(&mut self, key: K, now: Instant) {
        if self.failed.len() >= REMEMBERED_MAX && !self.failed.contains_key(&key) {
            self.failed.retain(|_, failed| failed.count_at(now) > 0);
            let oldest = self.failed.iter().min_by_key(|(_, failed)| (failed.count_at(now), failed.last));
            if let Some((oldest, _)) = oldest.filter(|_| self.failed.len() >= REMEMBERED_MAX) {
                let oldest = oldest.clone();
                self.failed.remove(&oldest);
            }
        }
        let failed = self.failed.entry(key).or_insert(Failed { count: 0, last: now, next: now });
        failed.count = failed.count_at(now).saturating_add(1);
        failed.last = now;
    }
}

impl Failed {
    fn count_at(&self, now: Instant) -> u32 {
        let halvings = now.saturating_duration_since(self.last).as_secs() / HALVED_AFTER.as_secs();
        self.count.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0)
    }
}

/// Twice as long with every failure that is not free.
fn delay(failures: u32, free: u32, at_most: Duration) -> Duration {
    match failures.checked_sub(free + 1) {
        Some(doublings) => FIRST_DELAY.saturating_mul(1 << doublings.min(16)).min(at_most),
        None => Duration::ZERO,
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many failed logins")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn attempt(last: u8, role: &str) -> Attempt {
        Attempt::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)), role)
    }

    #[test]
    fn a_role_from_an_address_is_slowed_and_others_are_not_kept_out() {
        let logins = FailedLogins::default();
        let now = Instant::now();
        let deadline = now + Duration::from_secs(10);
        let wrong = attempt(1, "controller");
        for _ in 0..FREE_PAIR {
            assert_eq!(logins.wait(&wrong, now, deadline), Ok(Duration::ZERO));
            logins.failed(&wrong, true, now);
        }
        logins.failed(&wrong, true, now);
        assert_eq!(logins.wait(&wrong, now, deadline), Ok(FIRST_DELAY));
        assert_eq!(logins.wait(&wrong, now, deadline), Ok(2 * FIRST_DELAY), "one after the other");
        for _ in 0..100 {
            logins.failed(&wrong, true, now);
        }
        let mut waits = Vec::new();
        while let Ok(wait) = logins.wait(&wrong, now, deadline) {
            waits.push(wait);
        }
        assert!(waits.len() < 6 && waits.is_sorted(), "{waits:?}");
        // Elsewhere, or as another, a second at most.
        assert_eq!(logins.wait(&attempt(2, "controller"), now, deadline), Ok(EACH_DELAY_MAX));
        assert_eq!(logins.wait(&attempt(1, "other"), now, deadline), Ok(EACH_DELAY_MAX));
        assert_eq!(logins.wait(&attempt(2, "other"), now, deadline), Ok(Duration::ZERO));
        let later = now + 8 * HALVED_AFTER;
        assert_eq!(logins.wait(&wrong, later, later + SECOND), Ok(Duration::ZERO));
    }

    #[test]
    fn a_success_is_forgiven() {
        let logins = FailedLogins::default();
        let (now, one) = (Instant::now(), attempt(1, "controller"));
        for _ in 0..6 {
            logins.failed(&one, true, now);
        }
        logins.succeeded(&one);
        assert_eq!(logins.wait(&one, now, now + SECOND), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_remembered_and_written_is_bounded() {
        let logins = FailedLogins::default();
        let now = Instant::now();
        let written = (0..10_000).filter_map(|number| {
            let address = IpAddr::V6(Ipv6Addr::new(1, 2, (number >> 8) as u16, number as u16, 5, 6, 7, 8));
            logins.failed(&Attempt::new(address, &format!("secret{number}")), false, now)
        });
        let written: Vec<Told> = written.collect();
        assert_eq!(written.len(), LINES_MAX as usize);
        assert!(written.iter().all(|told| !told.line.contains("secret")), "{written:?}");
        assert_eq!(logins.lock().pairs.failed.len(), REMEMBERED_MAX);
        let later = logins.failed(&attempt(1, "controller"), true, now + SECOND).expect("a line of the next second");
        assert_eq!(later, Told { line: "failed login from 10.0.0.1 as \"controller\"".into(), left_out: 9_990 });
        let away = logins.turned_away(&attempt(1, "controller"), true, now + SECOND).expect("a line");
        assert_eq!(away.line, "too many failed logins: turned away a login from 10.0.0.1 as \"controller\"");
    }
}
