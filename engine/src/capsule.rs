//! `dogwood export-capsule` and `dogwood prove`: the audit log of a data folder that no server has open, or one record of it, as a
//! file that `dogwood verify` checks.

use state::SqlError;
use std::io::{BufWriter, Write};
use std::path::Path;
use storage::audit::capsule::ExportError;
use storage::audit::read_heads;
use storage::{Mode, RootKeySource};
use transactions::database::open_stopped;

/// What is to be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proved {
    /// A record, by its number.
    Record(u64),
    /// The record in which an entry stands, by the number that `dogwood.audit` has of it.
    Entry(u64),
}

/// Proves that a record stands in the log, from the newest of these heads that reaches it, or from the present one where none are given.
pub fn prove(data: &Path, root_key: &RootKeySource, proved: Proved, heads: Option<&[u8]>) -> Result<Vec<u8>, SqlError> {
    let store = open_stopped(data, root_key, Mode::Check)?;
    let heads = heads.map(|heads| read_heads(&store.public_key(), heads)).transpose();
    let heads = heads.map_err(|error| SqlError::new("22023", error.to_string()))?;
    let snapshot = store.snapshot();
    let record = match proved {
        Proved::Record(record) => Some(record),
        Proved::Entry(entry) => snapshot.record_of_entry(entry)?,
    };
    let record = record.ok_or_else(|| SqlError::new("22023", "the audit log has no such entry"))?;
    let newest = heads.iter().flatten().filter(|head| head.sequence >= record).max_by_key(|head| head.sequence);
    if heads.is_some() && newest.is_none() {
        return Err(SqlError::new("22023", "no head that reaches the record was published"));
    }
    snapshot.prove(record, newest)?.ok_or_else(|| SqlError::new("22023", "the audit log has no such record"))
}

/// Writes the log from the checkpoint before a record. False, and nothing, while there is none.
pub fn export(data: &Path, root_key: &RootKeySource, from: u64, out: impl Write) -> Result<bool, SqlError> {
    let store = open_stopped(data, root_key, Mode::Check)?;
    let mut out = BufWriter::new(out);
    let failed = |error: std::io::Error| SqlError::new("58030", format!("could not write the capsule: {error}"));
    let exported = match store.snapshot().export_capsule(from, &mut out) {
        Ok(exported) => exported,
        Err(ExportError::Storage(error)) => return Err(error.into()),
        Err(ExportError::Write(error)) => return Err(failed(error)),
    };
    out.flush().map_err(failed)?;
    Ok(exported)
}
