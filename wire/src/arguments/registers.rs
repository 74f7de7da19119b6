//! What `report`, `lint` and `mask` are told.

use super::root_key::Which;
use super::{ArgumentError, Command, Options, set, unknown};
use engine::RootKeySource;
use engine::masking::Judged;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use wire::lint::Lint;
use wire::mask::Masking;
use wire::report::{ReportForm, ReportOptions, ReportOrder};

pub(super) fn report<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut data, mut database, mut form, mut root_key, mut file) = (None, None, None, None, None);
    while let Some(word) = options.arguments.next() {
        let named =
            |(name, _): &(&str, ReportForm)| word.to_str().and_then(|word| word.strip_prefix("--")) == Some(*name);
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--data") => options.path("--data", &mut data)?,
            Some("--database") => {
                let value = options.value("--database")?;
                set("--database", &mut database, value.to_string_lossy().into_owned())?;
            }
            _ if Which::Present.read(&word, options, &mut root_key)? => {}
            Some(option) if option.starts_with('-') && option != "-" => {
                let (_, found) = ReportForm::ALL.into_iter().find(named).ok_or_else(|| unknown(&word))?;
                set("the report's form", &mut form, found)?;
            }
            _ => set("FILE", &mut file, PathBuf::from(&word))?,
        }
    }
    Ok(Command::Report(ReportOptions {
        data: data.ok_or(ArgumentError::MissingOption("--data"))?,
        order: ReportOrder { form: form.ok_or(ArgumentError::MissingOption("--html, --csv or --jsonld"))?, database },
        root_key: root_key.unwrap_or(RootKeySource::DataFolder),
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
    }))
}

pub(super) fn lint<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut json, mut impersonal, mut file) = (None, BTreeSet::new(), None);
    while let Some(word) = options.arguments.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--json") => set("--json", &mut json, true)?,
            Some("--impersonal") => {
                impersonal.insert(options.value("--impersonal")?.to_string_lossy().into_owned());
            }
            Some(option) if option.starts_with('-') && option != "-" => return Err(unknown(&word)),
            _ => set("FILE", &mut file, PathBuf::from(&word))?,
        }
    }
    let file = file.ok_or(ArgumentError::MissingOption("FILE"))?;
    Ok(Command::Lint(Lint { json: json.is_some(), impersonal, file }))
}

pub(super) fn mask<I: Iterator<Item = OsString>>(options: &mut Options<I>) -> Result<Command, ArgumentError> {
    let (mut key, mut without_labels, mut file, mut to) = (None, None, None, None);
    let mut judged = Judged::default();
    while let Some(word) = options.arguments.next() {
        let (option, columns) = match word.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--key") => {
                options.path("--key", &mut key)?;
                continue;
            }
            Some("--no-security-labels") => {
                set("--no-security-labels", &mut without_labels, true)?;
                continue;
            }
            Some("--keep") => ("--keep", &mut judged.kept),
            Some("--mask") => ("--mask", &mut judged.masked),
            Some("--null") => ("--null", &mut judged.nulled),
            Some(option) if option.starts_with('-') && option != "-" => return Err(unknown(&word)),
            _ if file.is_none() => {
                file = Some(PathBuf::from(&word));
                continue;
            }
            _ => {
                set("TO", &mut to, PathBuf::from(&word))?;
                continue;
            }
        };
        columns.insert(options.value(option)?.to_string_lossy().into_owned());
    }
    Ok(Command::Mask(Masking {
        judged,
        key,
        without_labels: without_labels.is_some(),
        file: file.ok_or(ArgumentError::MissingOption("FILE"))?,
        to: to.ok_or(ArgumentError::MissingOption("TO"))?,
    }))
}
