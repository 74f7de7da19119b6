//! A folder of logs to salvage a store by whose own logs are missing or cut off.
//!
//! RocksDB holds logs against what the manifest says of them, and opens nothing where one does not fit; told not to, it still
//! wants to write that down, which a store that is only read cannot. So the logs are looked at where a longer one stands in
//! for each that does not fit: the rest of it is zeros, which hold no record. The others are links to where they are.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::{WAL_BYTES_MAX, log_name, log_number};

/// The folder. Dropped, it is gone.
pub(super) struct StandInLogs {
    folder: PathBuf,
}

impl StandInLogs {
    /// Links to all logs of a store.
    pub(super) fn of(store: &Path) -> io::Result<StandInLogs> {
        let store = fs::canonicalize(store)?;
        let folder = std::env::temp_dir().join(format!("dogwood-salvage-{}", std::process::id()));
        // One that is there already is somebody else's.
        DirBuilder::new().mode(0o700).create(&folder)?;
        let logs = StandInLogs { folder };
        for entry in fs::read_dir(&store)? {
            let name = entry?.file_name();
            if name.to_str().is_some_and(|name| log_number(name).is_some()) {
                symlink(store.join(&name), logs.folder.join(&name))?;
            }
        }
        Ok(logs)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Has one stand in for the log of an error, if it is of one, and none stands in for it yet.
    pub(super) fn replace(&self, error: &rocksdb::Error) -> io::Result<bool> {
        let Some(number) = unfit_log(error.as_ref()) else { return Ok(false) };
        let log = self.folder.join(log_name(number));
        let whole = match fs::read_link(&log) {
            Ok(own) => {
                let whole = fs::read(own)?;
                fs::remove_file(&log)?;
                whole
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // Not a link: it stands in already.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
            Err(error) => return Err(error),
        };
        fs::write(&log, &whole)?;
        // Longer than any log can have been; it takes no room.
        File::options().write(true).open(&log)?.set_len(whole.len() as u64 + 4 * WAL_BYTES_MAX)?;
        Ok(true)
    }
}

impl Drop for StandInLogs {
    fn drop(&mut self) {
        // What cannot be removed is sealed, and in a folder for what may be lost.
        let _left = fs::remove_dir_all(&self.folder);
    }
}

/// The log that an error says is missing, or shorter than it should be.
fn unfit_log(message: &str) -> Option<u64> {
    let rest = message.split_once("log number: ")?.1;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::unfit_log;

    #[test]
    fn errors_name_their_log() {
        assert_eq!(unfit_log("Corruption: Missing WAL with log number: 12."), Some(12));
        let short =
            "Corruption: Size mismatch: WAL (log number: 7) in MANIFEST is 9 bytes , but actually is 8 bytes on disk.";
        assert_eq!(unfit_log(short), Some(7));
        assert_eq!(unfit_log("IO error: no log"), None);
    }
}
