//! `dogwood export-capsule`: the audit log of a data folder that no server has open, as a file that `dogwood verify` checks.

use state::SqlError;
use state::config::Config;
use std::io::{BufWriter, Write};
use std::path::Path;
use storage::audit::capsule::ExportError;
use storage::{Mode, RootKeySource};
use transactions::database::open_store;

/// Writes the log from the checkpoint before a record. False, and nothing, while there is none.
pub fn export(data: &Path, root_key: &RootKeySource, from: u64, out: impl Write) -> Result<bool, SqlError> {
    let mut config = Config::new(data.to_path_buf());
    config.root_key = root_key.clone();
    let store = open_store(data, &config, Mode::Check)?;
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
