//! What the server that stands before the engine lets in, as its sessions are shown it: `pg_hba_file_rules` and
//! `pg_ident_file_mappings`. The files are the server's; the engine asks.

use crate::clock;
use crate::error::SqlError;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

/// Where whoever has read the rules says how to ask for them. Empty where there is no server.
pub struct LoginRules {
    asked: OnceLock<AskedOfServer>,
    /// When the database was opened, in microseconds since 2000-01-01 UTC.
    pub opened_at: i64,
    read_at: AtomicI64,
}

impl Default for LoginRules {
    fn default() -> Self {
        let opened_at = clock::now_micros();
        LoginRules { asked: OnceLock::new(), opened_at, read_at: AtomicI64::new(opened_at) }
    }
}

/// What a server answers.
pub struct AskedOfServer {
    /// Each line of the rules' file, as it stands now.
    pub rules: Box<dyn Fn() -> Result<Vec<ListedRule>, SqlError> + Send + Sync>,
    /// Each line of the maps' file.
    pub identities: Box<dyn Fn() -> Result<Vec<ListedIdentity>, SqlError> + Send + Sync>,
    /// Reads everything again. Whether it was understood.
    pub reload: Box<dyn Fn() -> bool + Send + Sync>,
}

/// A line of the rules' file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRule {
    /// Which; none for the rule that holds where there is no file.
    pub line: Option<i32>,
    /// The rule, or why it is none.
    pub rule: Result<ShownRule, String>,
}

/// A rule, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRule {
    /// What connections it is for.
    pub kind: &'static str,
    /// Which databases.
    pub databases: Vec<String>,
    /// Which roles.
    pub roles: Vec<String>,
    /// What addresses.
    pub address: Option<String>,
    /// Which bits of them count.
    pub netmask: Option<String>,
    /// What is asked.
    pub method: &'static str,
    /// How.
    pub options: Vec<String>,
}

/// A line of the maps' file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedIdentity {
    /// Which.
    pub line: i32,
    /// Map, name and role, or why it is no line of a map.
    pub mapping: Result<[String; 3], String>,
}

impl LoginRules {
    /// From now on they are asked for so. The first server's answer holds.
    pub fn serve(&self, asked: AskedOfServer) {
        let _another = self.asked.set(asked);
    }

    /// Each line of the rules' file; none where there is no server.
    pub fn rules(&self) -> Result<Vec<ListedRule>, SqlError> {
        self.asked.get().map_or_else(|| Ok(Vec::new()), |asked| (asked.rules)())
    }

    /// Each line of the maps' file.
    pub fn identities(&self) -> Result<Vec<ListedIdentity>, SqlError> {
        self.asked.get().map_or_else(|| Ok(Vec::new()), |asked| (asked.identities)())
    }

    /// Has everything read again. Whether it was understood; not where there is no server.
    pub fn reload(&self) -> bool {
        let understood = self.asked.get().is_some_and(|asked| (asked.reload)());
        if understood {
            self.read_at.store(clock::now_micros(), Ordering::Relaxed);
        }
        understood
    }

    /// When everything was last read and understood, in microseconds since 2000-01-01 UTC.
    pub fn read_at(&self) -> i64 {
        self.read_at.load(Ordering::Relaxed)
    }
}
