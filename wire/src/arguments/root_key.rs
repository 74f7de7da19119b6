//! Where the root key is, as a command is told: never the key itself, nor a passphrase, which others would see among processes.

use super::{ArgumentError, Options, set};
use engine::RootKeySource;
use std::ffi::{OsStr, OsString};

/// The options of one root key: those of the present, and with `--new-` those of the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The one that opens the folder.
    Present,
    /// The one that it is to be opened with.
    Next,
}

impl Which {
    /// File, variable, file of a passphrase, variable of a passphrase.
    fn names(self) -> [&'static str; 4] {
        match self {
            Which::Present => ["--root-key-file", "--root-key-env", "--passphrase-file", "--passphrase-env"],
            Which::Next => {
                ["--new-root-key-file", "--new-root-key-env", "--new-passphrase-file", "--new-passphrase-env"]
            }
        }
    }

    /// Reads the option if it is one of these, and says whether it is.
    pub(super) fn read<I: Iterator<Item = OsString>>(
        self,
        word: &OsStr,
        options: &mut Options<I>,
        into: &mut Option<RootKeySource>,
    ) -> Result<bool, ArgumentError> {
        let names = self.names();
        let Some(kind) = names.iter().position(|name| word.to_str() == Some(name)) else { return Ok(false) };
        let value = options.value(names[kind])?;
        let variable =
            || value.clone().into_string().map_err(|value| ArgumentError::Variable(value.display().to_string()));
        let source = match kind {
            0 => RootKeySource::File(value.into()),
            1 => RootKeySource::Environment(variable()?),
            2 => RootKeySource::PassphraseFile(value.into()),
            _ => RootKeySource::PassphraseEnvironment(variable()?),
        };
        set(names[kind], into, source)?;
        Ok(true)
    }
}
