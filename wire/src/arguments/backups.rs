//! Where backups are, and what is wanted of them, as a command is told.

use super::auditing;
use super::root_key::Which;
use super::{ArgumentError, Command, Options, set, unknown};
use crate::verify::VerifyBackup;
use engine::RootKeySource;
use engine::Until;
use engine::backup::{BackupOrder, RestoreOrder};
use repr::text::TextContext;
use repr::{Datum, ScalarType};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Key backups stay so long, if nothing is said: while they do, the keys of those who are forgotten are in them.
const KEEP_KEYS_DAYS: u32 = 7;

/// `backup`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct Backup {
    /// Of which folder.
    pub data: PathBuf,
    /// Where to, and how.
    pub order: BackupOrder,
    /// Where the root key is.
    pub root_key: RootKeySource,
}

/// What `backup` and `serve` have in common.
#[derive(Default)]
pub(super) struct Targets {
    data: Option<String>,
    keys: Option<String>,
    keep: Option<u32>,
    keep_keys: Option<u32>,
}

/// How they are called.
pub(super) struct Names {
    data: &'static str,
    keys: &'static str,
}

/// `backup`'s.
pub(super) const OF_BACKUP: Names = Names { data: "--to", keys: "--keys-to" };
/// `serve`'s.
pub(super) const OF_SERVE: Names = Names { data: "--ship-to", keys: "--ship-keys-to" };

impl Targets {
    /// Reads the option if it is one of these, and says whether it is.
    pub(super) fn read<I: Iterator<Item = OsString>>(
        &mut self,
        names: &Names,
        word: &OsStr,
        options: &mut Options<I>,
    ) -> Result<bool, ArgumentError> {
        match word.to_str() {
            Some(option) if option == names.data => text(names.data, options, &mut self.data)?,
            Some(option) if option == names.keys => text(names.keys, options, &mut self.keys)?,
            Some("--keep-backups") => days("--keep-backups", options, &mut self.keep)?,
            Some("--keep-keys") => days("--keep-keys", options, &mut self.keep_keys)?,
            Some(_) | None => return Ok(false),
        }
        Ok(true)
    }

    /// What was said, if anything was.
    pub(super) fn order(self, names: &Names, incremental: bool) -> Result<Option<BackupOrder>, ArgumentError> {
        let Targets { data, keys, keep, keep_keys } = self;
        match (data, keys) {
            (Some(data), Some(keys)) => Ok(Some(BackupOrder {
                data,
                keys,
                incremental,
                keep_days: keep,
                keep_keys_days: keep_keys.unwrap_or(KEEP_KEYS_DAYS),
            })),
            (None, None) if keep.is_none() && keep_keys.is_none() => Ok(None),
            (None, _) => Err(ArgumentError::MissingOption(names.data)),
            (Some(_), None) => Err(ArgumentError::MissingOption(names.keys)),
        }
    }
}

pub(super) fn backup<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut incremental, mut root_key, mut targets) = (None, None, None, Targets::default());
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--incremental") => set("--incremental", &mut incremental, true)?,
            _ if targets.read(&OF_BACKUP, &word, options)? => {}
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            _ => return Err(unknown(&word)),
        }
    }
    let order = targets.order(&OF_BACKUP, incremental.is_some())?;
    Ok(Command::Backup(Backup {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        order: order.ok_or(ArgumentError::MissingOption("--to"))?,
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
    }))
}

pub(super) fn verify_backup<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut key, mut from, mut heads) = (None, None, Vec::new());
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--key") => options.path("--key", &mut key)?,
            Some("--from") => text("--from", options, &mut from)?,
            Some("--head") => heads.push(auditing::head(options.value("--head")?)),
            _ => return Err(unknown(&word)),
        }
    }
    Ok(Command::VerifyBackup(VerifyBackup {
        key: key.ok_or(ArgumentError::MissingOption("--key"))?,
        from: from.ok_or(ArgumentError::MissingOption("--from"))?,
        heads,
    }))
}

pub(super) fn restore<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut folder, mut data, mut keys, mut ledger) = (None, None, None, None);
    let (mut until, mut overwrites, mut unchecked, mut root_key) = (None, None, None, None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut folder)?,
            Some("--from") => text("--from", options, &mut data)?,
            Some("--keys") => text("--keys", options, &mut keys)?,
            Some("--ledger") => options.path("--ledger", &mut ledger)?,
            Some("--to") => options.parsed("--to", &mut until, moment)?,
            Some("--overwrite") => set("--overwrite", &mut overwrites, true)?,
            Some("--unchecked") => set("--unchecked", &mut unchecked, true)?,
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            _ => return Err(unknown(&word)),
        }
    }
    Ok(Command::Restore(RestoreOrder {
        data: data.ok_or(ArgumentError::MissingOption("--from"))?,
        keys: keys.ok_or(ArgumentError::MissingOption("--keys"))?,
        ledger,
        until: until.unwrap_or(Until::End),
        folder: folder.ok_or(ArgumentError::MissingOption("--data"))?,
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
        overwrites: overwrites.is_some(),
        unchecked: unchecked.is_some(),
    }))
}

fn text<I: Iterator<Item = OsString>>(
    option: &'static str,
    options: &mut Options<I>,
    into: &mut Option<String>,
) -> Result<(), ArgumentError> {
    let value = options.value(option)?;
    let value = value.into_string().map_err(|value| ArgumentError::Target(value.display().to_string()))?;
    set(option, into, value)
}

fn days<I: Iterator<Item = OsString>>(
    option: &'static str,
    options: &mut Options<I>,
    into: &mut Option<u32>,
) -> Result<(), ArgumentError> {
    let value = options.value(option)?;
    let value = value.to_string_lossy();
    let days = super::number(&value, 0..=36_500).map(|days| days as u32);
    set(option, into, days.ok_or_else(|| ArgumentError::Days(value.into_owned()))?)
}

/// A moment of the clock, or a commit or record by its number.
fn moment(text: &str) -> Result<Until, ArgumentError> {
    let wrong = || ArgumentError::Moment(text.to_owned());
    let number = |digits: &str| digits.parse().map_err(|_no_number| wrong());
    match text.split_once(':') {
        Some(("commit", digits)) => number(digits).map(Until::Commit),
        Some(("record", digits)) => number(digits).map(Until::Record),
        // Without a zone it is UTC.
        Some(_) | None => match repr::text::parse(&ScalarType::Timestamptz, -1, text, &TextContext::default()) {
            Ok(Datum::Timestamptz(moment_us)) => Ok(Until::Time(moment_us)),
            Ok(_) | Err(_) => Err(wrong()),
        },
    }
}
