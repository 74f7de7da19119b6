//! Backups: one from before the erasure, one from after, and the older one restored to another folder.

use crate::failure::Failure;
use crate::server::{self, Server};
use crate::tell::{claim, fact};
use crate::{counts, data, number, refused, timed};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

/// Where they are: the data, and apart from them the keys.
pub struct Backups {
    of: PathBuf,
    data: PathBuf,
    keys: PathBuf,
}

/// The state that a backup has: a commit's number.
pub struct Moment(String);

impl Backups {
    /// Of a running server's folder.
    pub fn of(data_folder: &Path, folder: &Path) -> Backups {
        Backups { of: data_folder.to_path_buf(), data: folder.join("backups"), keys: folder.join("keys") }
    }

    /// Takes one.
    pub fn take(&self, more: &[&str]) -> Result<Moment, Failure> {
        let [of, to, keys] = [&self.of, &self.data, &self.keys].map(|path| path.display().to_string());
        let order = ["backup", "--data", &of, "--to", &to, "--keys-to", &keys];
        let (taken, time) = timed(|| server::run(&[&order, more].concat()))?;
        let said = String::from_utf8_lossy(&taken.stdout).into_owned();
        let line = |name: &str| said.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("nothing").trim();
        fact("dogwood backup", time, &format!("brought {}, while the server runs", line("brought")));
        claim("the backup is taken", taken.status.success())?;
        Ok(Moment(line("commit").to_owned()))
    }

    /// Restores what was there at a moment to another folder, in which the person who was there then must not be.
    pub fn restore(&self, moment: &Moment, person: u32, folder: &Path, after: &[u64]) -> Result<(), Failure> {
        let restored = folder.join("restored");
        let [from, keys, to] = [&self.data, &self.keys, &restored].map(|path| path.display().to_string());
        // Of the data only: the root key is none of what a backup has.
        let root = self.of.join("root.key").display().to_string();
        let until = format!("commit:{}", moment.0);
        let order = ["restore", "--from", &from, "--keys", &keys, "--data", &to, "--to", &until, "--unchecked"];
        let (made, time) = timed(|| server::run(&[&order[..], &["--root-key-file", &root]].concat()))?;
        if !made.status.success() {
            return Err(Failure::Claim(String::from_utf8_lossy(&made.stderr).into_owned()));
        }
        let said = String::from_utf8_lossy(&made.stdout).into_owned();
        let erasures = said.lines().find_map(|line| line.strip_prefix("erasures")).unwrap_or("nothing").trim();
        fact("dogwood restore", time, &format!("to commit {}: {erasures}", moment.0));
        claim("one erasure is carried out again", erasures.starts_with("1 since, of 1 people"))?;
        fs::copy(self.of.join("root.key"), restored.join("root.key"))?;
        let server = Server::start(&restored, &[])?;
        let (notes, _notices) = channel();
        let mut client = server.connect_with(&self.of, notes)?;
        let name = data::name(person);
        claim(&format!("{name} is not there"), refused(&mut client, &format!("GDPR GET users {person}"), "DG003")?)?;
        let others = number(&mut client, &format!("SELECT count(*) FROM comments WHERE author <> {person}"))?;
        claim(&format!("all others are, with {others} comments"), counts(&mut client)? == after)?;
        drop(client);
        server.stop()
    }
}
