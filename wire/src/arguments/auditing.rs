//! What a command is told of the audit log: what to export, prove and verify, and where its heads go.

use super::root_key::Which;
use super::{ArgumentError, Command, Options, number, set, unknown};
use crate::verify::GivenHeads;
use engine::RootKeySource;
use engine::capsule::Proved;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// Between two heads, if nothing is said.
const PUBLISHES_EVERY: Duration = Duration::from_secs(10);

/// `export-capsule`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct ExportCapsule {
    /// The data folder.
    pub data: PathBuf,
    /// The first record that is needed.
    pub from: u64,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Where to.
    pub file: PathBuf,
}

/// `prove`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct Prove {
    /// The data folder.
    pub data: PathBuf,
    /// What is to be proved.
    pub proved: Proved,
    /// A file of published heads.
    pub heads: Option<PathBuf>,
    /// Where the root key is.
    pub root_key: RootKeySource,
    /// Where to.
    pub file: PathBuf,
}

/// `verify`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct Verify {
    /// The published public key.
    pub key: PathBuf,
    /// What to verify.
    pub file: PathBuf,
    /// Published heads of the audit log.
    pub head: Option<GivenHeads>,
}

/// Where heads of the audit log go, and how often.
#[derive(Debug, PartialEq, Eq)]
pub struct Publish {
    /// Files, and addresses of witnesses.
    pub targets: Vec<String>,
    /// Between two.
    pub every: Duration,
    is_timed: bool,
}

impl Default for Publish {
    fn default() -> Publish {
        Publish { targets: Vec::new(), every: PUBLISHES_EVERY, is_timed: false }
    }
}

impl Publish {
    /// Reads the option if it is one of these, and says whether it is.
    pub(super) fn read<I: Iterator<Item = OsString>>(
        &mut self,
        word: &OsStr,
        options: &mut Options<I>,
    ) -> Result<bool, ArgumentError> {
        match word.to_str() {
            Some("--publish-head") => {
                let target = options.value("--publish-head")?.into_string();
                self.targets.push(target.map_err(|given| ArgumentError::Target(given.display().to_string()))?);
            }
            Some("--publish-every") => {
                let given = options.value("--publish-every")?.to_string_lossy().into_owned();
                let seconds = number(&given, 1..=86_400).ok_or(ArgumentError::Seconds(given))?;
                if std::mem::replace(&mut self.is_timed, true) {
                    return Err(ArgumentError::Repeated("--publish-every"));
                }
                self.every = Duration::from_secs(seconds as u64);
            }
            Some(_) | None => return Ok(false),
        }
        Ok(true)
    }

    /// What was said, if it makes sense.
    pub(super) fn checked(self) -> Result<Publish, ArgumentError> {
        match self.is_timed && self.targets.is_empty() {
            true => Err(ArgumentError::MissingOption("--publish-head")),
            false => Ok(self),
        }
    }
}

fn record<I: Iterator<Item = OsString>>(option: &'static str, options: &mut Options<I>) -> Result<u64, ArgumentError> {
    let value = options.value(option)?.to_string_lossy().into_owned();
    value.parse().map_err(|_no_number| ArgumentError::Record(value))
}

pub(super) fn export_capsule<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut from, mut file, mut root_key) = (None, None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--from") => set("--from", &mut from, record("--from", options)?)?,
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            Some(option) if option.starts_with('-') && option != "-" => return Err(unknown(&word)),
            _ => set("FILE", &mut file, word.into())?,
        }
    }
    Ok(Command::ExportCapsule(ExportCapsule {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        from: from.unwrap_or(1),
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
    }))
}

pub(super) fn prove<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut proved, mut heads, mut file, mut root_key) = (None, None, None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--entry") => set("--entry", &mut proved, Proved::Entry(record("--entry", options)?))?,
            Some("--record") => set("--record", &mut proved, Proved::Record(record("--record", options)?))?,
            Some("--head") => options.path("--head", &mut heads)?,
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            Some(option) if option.starts_with('-') => return Err(unknown(&word)),
            _ => set("FILE", &mut file, word.into())?,
        }
    }
    Ok(Command::Prove(Prove {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        proved: proved.ok_or(ArgumentError::NothingToProve)?,
        heads,
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
    }))
}

pub(super) fn verify<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut key, mut file, mut published) = (None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--key") => options.path("--key", &mut key)?,
            Some("--head") => set("--head", &mut published, head(options.value("--head")?))?,
            Some(option) if option.starts_with('-') => return Err(unknown(&word)),
            _ => set("FILE", &mut file, word.into())?,
        }
    }
    Ok(Command::Verify(Verify {
        key: key.ok_or(ArgumentError::MissingOption("--key"))?,
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
        head: published,
    }))
}

/// A record's number and hash, or else a file.
fn head(given: OsString) -> GivenHeads {
    let one = || {
        let (number, hash) = given.to_str()?.split_once(':')?;
        Some(GivenHeads::One(number.parse().ok()?, crate::verify::hash(hash)?))
    };
    one().unwrap_or_else(|| GivenHeads::File(given.into()))
}
