//! `dogwood export-capsule`: the audit log of a data folder that no server has open, as a file that `dogwood verify` checks.

use state::SqlError;
use std::io::{BufWriter, Write};
use std::path::Path;
use storage::audit::capsule::ExportError;
use storage::{Mode, RootKeySource};
use transactions::database::open_stopped;

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
