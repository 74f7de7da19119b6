//! `dogwood verify`: a receipt, an exported audit log, those of several databases, or a proof of one record, against the public keys that
//! operators published.
//!
//! Needs no server and no secret. The key is never taken from what is verified.

use crate::arguments::{MergeCapsules, Verify};
use engine::{
    CapsuleSummary, MERGED_MAGIC, MergedSummary, PROOF_MAGIC, ProofSummary, PublishedHead, Reached, ReceiptSummary,
    VerifiedBackups, VerifyError, hexadecimal, merge_capsules, read_heads_of, verify_capsule, verify_merged,
    verify_proof, verify_receipt,
};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks the file; the report if it is genuine.
pub fn run(verify: &Verify) -> Result<String, String> {
    let keys = read_keys(&verify.keys)?;
    let file = read(&verify.file)?;
    let heads = Heads::read(&keys, &verify.heads)?;
    if file.starts_with(MERGED_MAGIC) {
        if !heads.numbers.is_empty() {
            return Err("a head as NUMBER:HASH does not say whose it is: give a file of heads".to_owned());
        }
        let merged = verify_merged(&keys, &file, &heads.of).map_err(|error| error.to_string())?;
        return Ok(describe_merged(&merged));
    }
    let mut failure = None;
    for key in &keys {
        match heads.check(key, &file) {
            Ok(report) => return Ok(report),
            // Perhaps another of the keys made it.
            Err(VerifyError::Signature | VerifyError::OtherLog) if failure.is_some() => {}
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or(VerifyError::Malformed).to_string())
}

/// Puts capsules together.
pub fn merge(merge: &MergeCapsules) -> Result<Vec<u8>, String> {
    let keys = read_keys(&merge.keys)?;
    let capsules = merge.capsules.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    merge_capsules(&keys, &capsules).map_err(|error| error.to_string())
}

/// Heads that the verifier trusts.
#[derive(Default)]
struct Heads {
    /// Given by their numbers and hashes.
    numbers: Vec<(u64, [u8; 32])>,
    /// Those of files, which say whose they are.
    of: Vec<PublishedHead>,
}

/// Published heads as they are given: one by its number and hash, or a file of them.
#[derive(Debug, PartialEq, Eq)]
pub enum GivenHeads {
    /// The audit log's last record's number and hash.
    One(u64, [u8; 32]),
    /// A file to which servers have published them.
    File(PathBuf),
}

impl Heads {
    fn read(keys: &[[u8; 32]], given: &[GivenHeads]) -> Result<Heads, String> {
        let mut heads = Heads::default();
        for given in given {
            match given {
                GivenHeads::One(sequence, hash) => heads.numbers.push((*sequence, *hash)),
                GivenHeads::File(path) => {
                    let read = read_heads_of(keys, &read(path)?);
                    heads.of.extend(read.map_err(|error| format!("\"{}\": {error}", path.display()))?);
                }
            }
        }
        Ok(heads)
    }

    /// Each one's number and hash.
    fn all(&self) -> impl Iterator<Item = (u64, [u8; 32])> {
        self.of.iter().map(|head| (head.sequence, head.hash)).chain(self.numbers.iter().copied())
    }

    /// What stands at a target has to reach as far as the heads say: pieces of the log that are missing at its end leave no gap.
    fn check_backups(&self, verified: &VerifiedBackups) -> Result<(), String> {
        if self.of.iter().any(|head| hexadecimal(&head.database) != verified.database) {
            return Err(VerifyError::OtherLog.to_string());
        }
        let reached = verified.backups.iter().map(|backup| backup.reaches.records).max().unwrap_or(0);
        for (sequence, hash) in self.all() {
            if sequence > reached {
                let short =
                    format!("what stands there ends with record {reached}, and record {sequence} was published");
                return Err(format!("{short}: the end of the log is missing, or has not been shipped yet"));
            }
            let mut same = verified.backups.iter().filter(|backup| backup.state.records == sequence);
            if let Some(other) = same.find(|backup| backup.state.head != hash) {
                return Err(format!(
                    "backup {} has another record {sequence} than the one that was published",
                    other.id
                ));
            }
        }
        Ok(())
    }

    /// Checks what is of one database.
    fn check(&self, key: &[u8; 32], file: &[u8]) -> Result<String, VerifyError> {
        let of_other = |database: &[u8; 16]| match self.of.iter().any(|head| head.database != *database) {
            true => Err(VerifyError::OtherLog),
            false => Ok(()),
        };
        if file.starts_with(PROOF_MAGIC) {
            let proof = verify_proof(key, file, self.all())?;
            of_other(&proof.database)?;
            return Ok(describe_proof(&proof, self.all().next().is_some()));
        }
        match verify_receipt(key, file) {
            Ok(receipt) => return Ok(describe_receipt(&receipt)),
            // Perhaps it is the other kind of document.
            Err(VerifyError::Malformed) => {}
            Err(error) => return Err(error),
        }
        let capsule = verify_capsule(key, file, self.all())?;
        of_other(&capsule.database)?;
        Ok(describe_capsule(&capsule))
    }
}

/// `verify-backup`'s options.
#[derive(Debug, PartialEq, Eq)]
pub struct VerifyBackup {
    /// The published public key.
    pub key: PathBuf,
    /// Where the backups are.
    pub from: String,
    /// Published heads of the audit log.
    pub heads: Vec<GivenHeads>,
}

/// Checks what stands at a target of backups; the report if all of it is whole.
pub fn run_backups(verify: &VerifyBackup) -> Result<String, String> {
    let key = read_key(&verify.key)?;
    let heads = Heads::read(&[key], &verify.heads)?;
    let verified = engine::backup::verify_backups(&verify.from, &key, &|name| std::env::var(name).ok());
    let verified = verified.map_err(|error| crate::described(&error))?;
    heads.check_backups(&verified)?;
    Ok(describe_backups(&verified))
}

fn describe_backups(verified: &VerifiedBackups) -> String {
    let mut text = format!("database {}\nledger of {} erasures", verified.database, verified.erasures);
    for backup in &verified.backups {
        let base = backup.base.as_ref().map_or_else(String::new, |base| format!(", adds to {base}"));
        let state = &backup.state;
        let log = backup.log_end - state.sequence;
        write!(
            text,
            "\nbackup {} of {}{base}: commit {}, record {}, {} files, {} bytes, {log} writes behind it",
            backup.id,
            repr::datetime::format_timestamptz(state.time_us, &repr::datetime::Zone::utc()),
            state.commit,
            state.records,
            backup.files,
            backup.bytes,
        )
        .expect("writing to a string does not fail");
        if log == 0 {
            continue;
        }
        let Reached { time_us, commit, records } = backup.reaches;
        write!(
            text,
            ", to commit {commit}, record {records}, of {}",
            repr::datetime::format_timestamptz(time_us, &repr::datetime::Zone::utc()),
        )
        .expect("writing to a string does not fail");
    }
    text
}

/// A file's bytes.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("could not read \"{}\": {error}", path.display()))
}

fn read_key(path: &Path) -> Result<[u8; 32], String> {
    let text = read(path)?;
    let digits = text.trim_ascii();
    std::str::from_utf8(digits)
        .ok()
        .and_then(hash)
        .ok_or_else(|| format!("\"{}\" is not a public key: 64 hexadecimal digits", path.display()))
}

/// Public keys from their files.
pub fn read_keys(paths: &[PathBuf]) -> Result<Vec<[u8; 32]>, String> {
    paths.iter().map(|path| read_key(path)).collect()
}

/// Thirty-two bytes in hexadecimal digits.
pub fn hash(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digit = |character: u8| char::from(character).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

fn describe_receipt(receipt: &ReceiptSummary) -> String {
    let mut text = format!(
        "genuine receipt {}\ndatabase      {}\nsubject       {}\n{}\nlog record    {}",
        hexadecimal(&receipt.id),
        hexadecimal(&receipt.database),
        hexadecimal(&receipt.subject),
        match &receipt.key_destroyed {
            Some(key) => format!("key destroyed {}", hexadecimal(key)),
            None => format!("in part       {}", receipt.parts.join(", ")),
        },
        receipt.log_sequence,
    );
    for table in &receipt.tables {
        write!(
            text,
            "\ntable {}: {} deleted, {} anonymized, {} disowned",
            table.table, table.deleted, table.anonymized, table.disowned
        )
        .expect("writing to a string does not fail");
    }
    text
}

/// More entries of a record are only counted.
const ENTRIES_SHOWN: usize = 100;

fn describe_proof(proof: &ProofSummary, against_heads: bool) -> String {
    let mut text = format!(
        "genuine record {} of the audit log\ndatabase {}\nhead     {}:{}, {} steps away",
        proof.record,
        hexadecimal(&proof.database),
        proof.head.0,
        hexadecimal(&proof.head.1),
        proof.steps,
    );
    let mut say = |line: std::fmt::Arguments<'_>| {
        text.push('\n');
        text.write_fmt(line).expect("writing to a string does not fail");
    };
    for entry in proof.entries.iter().take(ENTRIES_SHOWN) {
        let people: Vec<String> = entry.subjects.iter().map(|person| hexadecimal(person)).collect();
        let more = if entry.scope.may_be_more { " and perhaps more" } else { "" };
        say(format_args!(
            "entry {}: {}, {} by login {} as role {}, {} rows, of {} people{more} {}",
            entry.number,
            repr::datetime::format_timestamptz(entry.time_us, &repr::datetime::Zone::utc()),
            entry.operation.name().to_lowercase(),
            entry.actor.login,
            entry.actor.role,
            entry.rows,
            entry.subjects_total,
            people.join(" "),
        ));
        if let Some(reference) = &entry.reference {
            say(format_args!(
                "refers to record {}:{} of log {}",
                reference.sequence,
                hexadecimal(&reference.hash),
                hexadecimal(&reference.log)
            ));
        }
    }
    if proof.entries.is_empty() {
        say(format_args!("its entries were older than what is kept, and are dropped"));
    }
    if proof.entries.len() > ENTRIES_SHOWN {
        say(format_args!("and {} more entries", proof.entries.len() - ENTRIES_SHOWN));
    }
    if !against_heads {
        say(format_args!(
            "not compared with a published head (--head): the log that it is proved of may not be the one others were shown"
        ));
    }
    text
}

fn describe_capsule(capsule: &CapsuleSummary) -> String {
    let mut text = format!(
        "genuine audit log\ndatabase {}\nrecords  {} to {}\nhead     {}:{}",
        hexadecimal(&capsule.database),
        capsule.first,
        capsule.last,
        capsule.last,
        hexadecimal(&capsule.hash),
    );
    if capsule.emptied > 0 {
        write!(
            text,
            "\nof the first {} records only hashes are left, as their entries were older than what is kept",
            capsule.emptied
        )
        .expect("writing to a string does not fail");
    }
    if capsule.heads > 0 {
        write!(text, "\ncompared with {} published heads", capsule.heads).expect("writing to a string does not fail");
    } else {
        text.push_str("\nnot compared with a published head (--head): records cut off at the end would not be noticed");
    }
    text
}

fn describe_merged(merged: &MergedSummary) -> String {
    let mut text = format!("genuine audit logs of {} databases", merged.capsules.len());
    for capsule in &merged.capsules {
        text.push('\n');
        text.push_str(&describe_capsule(capsule));
    }
    write!(text, "\nreferences from one to another that hold: {}", merged.references)
        .expect("writing to a string does not fail");
    if merged.earlier > 0 {
        write!(text, "\nto records before a capsule's first: {}; export it from an earlier record", merged.earlier)
            .expect("writing to a string does not fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sixty_four_digits() {
        let key = [0xab; 32];
        assert_eq!(hash(&hexadecimal(&key)), Some(key));
        for wrong in ["", "ab", &"x".repeat(64), &"é".repeat(32), &"a".repeat(63), &"a".repeat(65)] {
            assert_eq!(hash(wrong), None);
        }
    }

    #[test]
    fn what_is_neither_receipt_nor_log_is_refused() {
        let folder = std::env::temp_dir().join(format!("dogwood-verify-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("folder");
        let (key, file) = (folder.join("public.key"), folder.join("receipt"));
        fs::write(&key, format!("{}\n", "0".repeat(64))).expect("written");
        fs::write(&file, "{\"kind\":\"dogwood erasure 1\"}").expect("written");
        let verify = Verify { keys: vec![key], file, heads: Vec::new() };
        assert_eq!(run(&verify), Err("this is no receipt or capsule, or it was damaged".to_string()));
        fs::write(&verify.keys[0], "short").expect("written");
        assert!(run(&verify).expect_err("refused").contains("is not a public key"));
        fs::remove_dir_all(folder).expect("removed");
    }
}
