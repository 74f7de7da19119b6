//! The log: what goes on, for whoever runs the server, one event a line on standard error.
//!
//! ```text
//! storage, engine, wire ── tracing events, by target ──▶ levels of targets ──▶ text or JSON ──▶ stderr
//! ```
//! Targets are named in `TARGETS`. Never holds a value, a literal, or who somebody is: events carry counts, times, SQLSTATEs and
//! names of the schema. An event below its target's level costs one look at one number.

use std::io::stderr;
use std::str::FromStr;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// What all targets begin with.
const ALL: &str = "dogwood";

/// What events are about.
pub(crate) const TARGETS: [&str; 11] = [
    "dogwood::audit",
    "dogwood::connections",
    "dogwood::erasures",
    "dogwood::expiry",
    "dogwood::logins",
    "dogwood::panics",
    "dogwood::server",
    "dogwood::statements",
    "dogwood::storage",
    "dogwood::subscriptions",
    "dogwood::views",
];

/// How events are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// An object each.
    Json,
}

/// Which events are written: a level for all targets, and others for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    all: LevelFilter,
    of: Vec<(&'static str, LevelFilter)>,
}

impl Default for Levels {
    fn default() -> Self {
        Levels { all: LevelFilter::INFO, of: Vec::new() }
    }
}

/// Neither a level nor levels of targets.
#[derive(Debug, PartialEq, Eq)]
pub struct NoLevels;

impl FromStr for Levels {
    type Err = NoLevels;

    /// `info`, or `warning,dogwood::views=debug`.
    fn from_str(text: &str) -> Result<Levels, NoLevels> {
        let mut levels = Levels::default();
        for (place, part) in text.split(',').enumerate() {
            match part.split_once('=') {
                None if place == 0 => levels.all = level(part)?,
                None => return Err(NoLevels),
                Some((target, named)) => {
                    let known =
                        TARGETS.iter().find(|known| **known == target || known.ends_with(&format!("::{target}")));
                    levels.of.push((known.ok_or(NoLevels)?, level(named)?));
                }
            }
        }
        Ok(levels)
    }
}

fn level(name: &str) -> Result<LevelFilter, NoLevels> {
    Ok(match name {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warning" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        _ => return Err(NoLevels),
    })
}

/// Begins the process's log. Once.
pub fn start(format: Format, levels: &Levels) {
    let targets = Targets::new().with_target(ALL, levels.all).with_targets(levels.of.iter().copied());
    // What cannot be written is lost: of that nothing could be written either, and a full disk must not end the server.
    let layer = fmt::layer().with_writer(stderr).with_ansi(false).log_internal_errors(false);
    let layer = match format {
        Format::Text => layer.boxed(),
        Format::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(layer.with_filter(targets)).init();
}

/// Whether there is a log: a command that only prints what it finds has none.
pub(crate) fn is_started() -> bool {
    tracing::dispatcher::has_been_set()
}

#[cfg(test)]
mod tests {
    use super::{Levels, NoLevels};
    use tracing::level_filters::LevelFilter;

    #[test]
    fn levels_are_read() {
        assert_eq!("info".parse(), Ok(Levels::default()));
        let some: Levels = "warning,views=debug,dogwood::storage=off".parse().expect("levels");
        assert_eq!(some.all, LevelFilter::WARN);
        assert_eq!(some.of, [("dogwood::views", LevelFilter::DEBUG), ("dogwood::storage", LevelFilter::OFF)]);
        for wrong in ["", "loud", "info,debug", "tokio=debug", "info,views=", "views"] {
            assert_eq!(wrong.parse::<Levels>(), Err(NoLevels), "{wrong}");
        }
    }
}
