//! A backup from before the erasure, restored after it: the person does not come back.

use crate::data::TABLES;
use crate::failure::Failure;
use crate::server::{self, Server};
use crate::tell::{claim, fact};
use crate::{PERSON, counts, refused, timed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::mpsc::channel;

/// Where backups are.
pub struct Backups {
    folder: PathBuf,
    /// The commit of the first.
    commit: String,
}

impl Backups {
    /// Takes the first one, of a running server.
    pub fn take(folder: &Path) -> Result<Backups, Failure> {
        let backups = Backups { folder: folder.to_owned(), commit: String::new() };
        let said = backups.back_up(&[])?;
        let commit = said.lines().find_map(|line| line.strip_prefix("commit")).map(|commit| commit.trim().to_string());
        let commit = commit.ok_or_else(|| Failure::Claim("a backup says no commit".to_string()))?;
        Ok(Backups { commit, ..backups })
    }

    /// Takes another one, after the erasure: with it comes the ledger.
    pub fn take_again(&self) -> Result<(), Failure> {
        self.back_up(&["--incremental"]).map(|_| ())
    }

    /// Restores the first, and looks who is in it.
    pub fn restore(&self, before: &[u64]) -> Result<(), Failure> {
        let (restored, key) = (self.path("restored"), self.path("data/root.key"));
        let to = format!("commit:{}", self.commit);
        let (from, keys) = (self.path("backups"), self.path("keys"));
        let words = ["restore", "--from", &from, "--keys", &keys, "--to", &to, "--data", &restored, "--unchecked"];
        let (output, time) = timed(|| server::run(&[&words[..], &["--root-key-file", &key]].concat()))?;
        let said = done(&output)?;
        fact("dogwood restore", time, said.lines().find(|line| line.starts_with("erasures")).unwrap_or("done"));
        fs::copy(&key, self.folder.join("restored/root.key"))?;
        let server = Server::start(&self.folder.join("restored"))?;
        let (notes, _notices) = channel();
        let mut client = server.connect(notes)?;
        let found = counts(&mut client)?;
        let users = TABLES.iter().position(|table| *table == "users").expect("there are users");
        claim("everybody else is there", found[users] == before[users] - 1)?;
        claim("nobody who was forgotten is", refused(&mut client, &format!("GDPR GET users {PERSON}"), "DG003")?)?;
        drop(client);
        server.stop()
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn back_up(&self, more: &[&str]) -> Result<String, Failure> {
        let (data, to, keys) = (self.path("data"), self.path("backups"), self.path("keys"));
        let words = ["backup", "--data", &data, "--to", &to, "--keys-to", &keys];
        let (output, time) = timed(|| server::run(&[&words[..], more].concat()))?;
        let said = done(&output)?;
        fact("dogwood backup", time, said.lines().find(|line| line.starts_with("brought")).unwrap_or("done"));
        Ok(said)
    }
}

/// What a command said, if it did what it was asked.
fn done(output: &Output) -> Result<String, Failure> {
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(Failure::Claim(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
