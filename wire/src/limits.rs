//! How many connections there can be: one file descriptor each, beside those of the store.
//!
//! The soft limit of descriptors is raised to the hard one, as databases do: it is low for programs that cannot count beyond it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fmt;

/// Sessions at once, if the operator does not say otherwise and the descriptors last.
const CONNECTIONS_DEFAULT: usize = 1_000;
/// Descriptors that are not connections': the store's files (1,024 of data at most), the listener, clients on their way in.
const DESCRIPTORS_KEPT: usize = 1_400;
/// A server of fewer connections than these takes them even where descriptors are scarce: the store opens fewer files.
const CONNECTIONS_ALWAYS: usize = 100;

/// More connections were asked for than there can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsError {
    wanted: usize,
    possible: usize,
}

impl fmt::Display for LimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "--connections {} is more than the file descriptors of this process last for, which is {}: raise its hard limit (ulimit -Hn)",
            self.wanted, self.possible
        )
    }
}

impl std::error::Error for LimitsError {}

/// How many sessions there may be at once: what is wanted, if it is possible, or as many as are sensible.
pub fn connections_max(wanted: Option<usize>) -> Result<usize, LimitsError> {
    let descriptors = raise_descriptors();
    decide(wanted, descriptors)
}

fn decide(wanted: Option<usize>, descriptors: Option<usize>) -> Result<usize, LimitsError> {
    let possible = descriptors.map_or(usize::MAX, |most| most.saturating_sub(DESCRIPTORS_KEPT).max(CONNECTIONS_ALWAYS));
    match wanted {
        None => Ok(CONNECTIONS_DEFAULT.min(possible)),
        Some(wanted) if wanted > possible => Err(LimitsError { wanted, possible }),
        Some(wanted) => Ok(wanted),
    }
}

/// Raises the soft limit to the hard one; how many there may be then, if that is limited.
pub fn raise_descriptors() -> Option<usize> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Some systems refuse what they say is allowed: then the limit stays as it is.
        let _raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.map(|most| usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_the_descriptors() {
        assert_eq!(decide(None, None), Ok(CONNECTIONS_DEFAULT));
        assert_eq!(decide(None, Some(20_000)), Ok(CONNECTIONS_DEFAULT));
        assert_eq!(decide(None, Some(2_048)), Ok(2_048 - DESCRIPTORS_KEPT));
        assert_eq!(decide(None, Some(1_024)), Ok(CONNECTIONS_ALWAYS));
        assert_eq!(decide(Some(15_000), Some(20_000)), Ok(15_000));
        let refused = decide(Some(19_000), Some(20_000)).expect_err("too many");
        assert!(refused.to_string().contains("--connections 19000"));
        assert_eq!(decide(Some(100_000), None), Ok(100_000));
    }

    #[test]
    fn the_soft_limit_is_raised() {
        let most = raise_descriptors();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(most, limit.current.map(|most| most as usize));
    }
}
