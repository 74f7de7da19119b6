//! What a command is told of the audit log: what to export, prove, merge and verify, where its heads go, and to whose it refers.

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
    /// The published public keys; one, but for capsules of several databases.
    pub keys: Vec<PathBuf>,
    /// What to verify.
    pub file: PathBuf,
    /// Published heads of the audit logs.
    pub heads: Vec<GivenHeads>,
}

/// `merge-capsules`' options.
#[derive(Debug, PartialEq, Eq)]
pub struct MergeCapsules {
    /// The published public keys of all databases.
    pub keys: Vec<PathBuf>,
    /// Where to.
    pub file: PathBuf,
    /// Exported audit logs, and merged ones.
    pub capsules: Vec<PathBuf>,
}

/// Where heads of the audit log go, and how often.
#[derive(Debug, PartialEq, Eq)]
pub struct Publish {
    /// Files, and addresses of witnesses.
    pub targets: Vec<String>,
    /// Files of other databases' heads, to which the log refers.
    pub others: Vec<PathBuf>,
    /// Their public keys.
    pub other_keys: Vec<PathBuf>,
    /// Between two.
    pub every: Duration,
    is_timed: bool,
}

impl Default for Publish {
    fn default() -> Publish {
        Publish {
            targets: Vec::new(),
            others: Vec::new(),
            other_keys: Vec::new(),
            every: PUBLISHES_EVERY,
            is_timed: false,
        }
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
            Some("--refer-to") => self.others.push(options.value("--refer-to")?.into()),
            Some("--refer-key") => self.other_keys.push(options.value("--refer-key")?.into()),
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
        match (self.others.is_empty(), self.other_keys.is_empty()) {
            (false, true) => Err(ArgumentError::MissingOption("--refer-key")),
            (true, false) => Err(ArgumentError::MissingOption("--refer-to")),
            (true, true) if self.is_timed && self.targets.is_empty() => {
                Err(ArgumentError::MissingOption("--publish-head"))
            }
            (_, _) => Ok(self),
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
    let (mut keys, mut file, mut heads) = (Vec::new(), None, Vec::new());
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--key") => keys.push(options.value("--key")?.into()),
            Some("--head") => heads.push(head(options.value("--head")?)),
            Some(option) if option.starts_with('-') => return Err(unknown(&word)),
            _ => set("FILE", &mut file, word.into())?,
        }
    }
    let keys = some(keys, "--key")?;
    Ok(Command::Verify(Verify { keys, file: file.ok_or(ArgumentError::MissingOption("FILE"))?, heads }))
}

pub(super) fn merge_capsules<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut keys, mut file, mut capsules) = (Vec::new(), None, Vec::new());
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--key") => keys.push(options.value("--key")?.into()),
            Some(option) if option.starts_with('-') => return Err(unknown(&word)),
            _ if file.is_none() => file = Some(word.into()),
            _ => capsules.push(word.into()),
        }
    }
    Ok(Command::MergeCapsules(MergeCapsules {
        keys: some(keys, "--key")?,
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
        capsules: some(capsules, "CAPSULE")?,
    }))
}

/// What has to be given once at least.
fn some(given: Vec<PathBuf>, name: &'static str) -> Result<Vec<PathBuf>, ArgumentError> {
    if given.is_empty() { Err(ArgumentError::MissingOption(name)) } else { Ok(given) }
}

/// A record's number and hash, or else a file.
pub(super) fn head(given: OsString) -> GivenHeads {
    let one = || {
        let (number, hash) = given.to_str()?.split_once(':')?;
        Some(GivenHeads::One(number.parse().ok()?, crate::verify::hash(hash)?))
    };
    one().unwrap_or_else(|| GivenHeads::File(given.into()))
}
