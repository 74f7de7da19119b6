//! The auditor: the audit log as a file, checked with the public key and the published head alone, no server and no secret.

use crate::failure::Failure;
use crate::tell::{claim, fact};
use crate::{data, server, timed};
use std::fs;
use std::path::{Path, PathBuf};

/// What an auditor has: the operator's public key, the heads that were published, and the log that was handed out.
pub struct Auditor {
    key: PathBuf,
    heads: PathBuf,
    capsule: PathBuf,
}

impl Auditor {
    /// Has the log of a stopped server's folder handed out.
    pub fn of(data_folder: &Path, heads: &Path, folder: &Path) -> Result<Auditor, Failure> {
        let capsule = folder.join("audit.capsule");
        let (exported, time) = timed(|| {
            server::run(&[
                "export-capsule",
                "--data",
                &data_folder.display().to_string(),
                &capsule.display().to_string(),
            ])
        })?;
        claim("the audit log is handed out", exported.status.success())?;
        fact("export-capsule", time, &format!("{} bytes", fs::metadata(&capsule)?.len()));
        Ok(Auditor { key: data_folder.join("public.key"), heads: heads.to_path_buf(), capsule })
    }

    /// What must hold of it.
    pub fn audits(&self, person: u32) -> Result<(), Failure> {
        let log = fs::read(&self.capsule)?;
        let names = [data::name(person), data::email(person)];
        let named = |name: &String| log.windows(name.len()).any(|window| window == name.as_bytes());
        claim("it names no one", !names.iter().any(named))?;
        let ((genuine, said), time) = timed(|| self.verifies(&self.capsule))?;
        fact("dogwood verify", time, said.lines().nth(2).unwrap_or("nothing"));
        claim("it is genuine, and ends no earlier than the head that was published", genuine)?;

        let mut changed = log.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        self.finds("one bit changed", &changed)?;
        // The head of a shorter log is the operator's to sign, and the published one gives it away. Here the end is just cut off.
        self.finds("its end cut off", &log[..log.len() - 1])
    }

    fn finds(&self, what: &str, log: &[u8]) -> Result<(), Failure> {
        let forged = self.capsule.with_extension("forged");
        fs::write(&forged, log)?;
        let ((genuine, said), time) = timed(|| self.verifies(&forged))?;
        fact("dogwood verify", time, said.trim().trim_start_matches("dogwood: "));
        claim(&format!("with {what} it is not genuine"), !genuine)
    }

    fn verifies(&self, log: &Path) -> Result<(bool, String), Failure> {
        let path = |path: &Path| path.display().to_string();
        let answer = server::run(&["verify", "--key", &path(&self.key), "--head", &path(&self.heads), &path(log)])?;
        let said = if answer.status.success() { &answer.stdout } else { &answer.stderr };
        Ok((answer.status.success(), String::from_utf8_lossy(said).into_owned()))
    }
}
