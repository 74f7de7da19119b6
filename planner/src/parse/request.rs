//! Statements about people's requests: what they asked for, erasures that are taken back, restriction, breaches.

use super::statement::{Identifier, ObjectName};
use sqlparser::ast;

/// `table key` of a subject request.
#[derive(Clone, Debug, PartialEq)]
pub struct SubjectReference {
    /// The data-subject table.
    pub table: ObjectName,
    /// The key, one expression a primary-key column: literals or parameters.
    pub key: Vec<ast::Expr>,
}

/// A statement about people's requests.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestStatement {
    /// GDPR UNFORGET table key
    Unforget(SubjectReference),
    /// GDPR RESTRICT table key, GDPR UNRESTRICT table key
    Restrict {
        /// Who.
        subject: SubjectReference,
        /// Whether it begins.
        begins: bool,
    },
    /// GDPR REKEY table key
    Rekey(SubjectReference),
    /// GDPR REQUEST kind table key, perhaps RECEIVED at a moment
    Enter {
        /// What is asked for.
        kind: RequestKind,
        /// By whom.
        subject: SubjectReference,
        /// When it came, and where that is written; else now.
        received: Option<(String, u32)>,
    },
    /// GDPR ANSWER number, perhaps with an answer; GDPR EXTEND number FOR a reason
    Answer {
        /// The request's number.
        request: i64,
        /// What was answered, or why it takes longer.
        text: Option<String>,
        /// Whether it takes longer.
        extends: bool,
    },
    /// GDPR DISCARD number: what was handed over is kept no longer.
    Discard(i64),
    /// GDPR NOTIFIED number, perhaps with how: a recipient was told.
    Notified {
        /// The notice's number.
        notice: i64,
        /// How.
        how: Option<String>,
    },
    /// GDPR VERIFY DELETION receipt
    Verify(String),
    /// GDPR BREACH BETWEEN two moments, perhaps ROLE name, perhaps PEOPLE
    Breach {
        /// From when.
        from: String,
        /// To when.
        to: String,
        /// By whom; else by everybody.
        role: Option<Identifier>,
        /// Person by person, rather than table by table.
        people: bool,
    },
}

/// GDPR FORGET: whom, and perhaps of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Forget {
    /// Who.
    pub subject: SubjectReference,
    /// For how long it may be taken back, and where that is written.
    pub grace: Option<(String, u32)>,
    /// Of what alone; of everything where nothing is named.
    pub parts: Vec<ForgetPart>,
}

/// table, or table (columns): a part of what a person has.
#[derive(Clone, Debug, PartialEq)]
pub struct ForgetPart {
    /// The table.
    pub table: ObjectName,
    /// Its columns; whole rows where none are named.
    pub columns: Vec<Identifier>,
}

/// GDPR PURGE table, perhaps BASIS name, perhaps WITHOUT OWNER.
#[derive(Clone, Debug, PartialEq)]
pub struct Purge {
    /// Whose rows.
    pub table: ObjectName,
    /// On which basis they were kept: for the audit log, which has names and no literals.
    pub basis: Option<Identifier>,
    /// Only those that would have no owner if they were anonymized: they are deleted.
    pub without_owner: bool,
}

/// What somebody may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Art. 15
    Access,
    /// Art. 16
    Rectification,
    /// Art. 17
    Erasure,
    /// Art. 18
    Restriction,
    /// Art. 20
    Portability,
    /// Art. 21
    Objection,
}

impl RequestKind {
    /// All.
    pub const ALL: [RequestKind; 6] = [
        RequestKind::Access,
        RequestKind::Rectification,
        RequestKind::Erasure,
        RequestKind::Restriction,
        RequestKind::Portability,
        RequestKind::Objection,
    ];

    /// As it is written in statements.
    pub fn word(self) -> &'static str {
        match self {
            RequestKind::Access => "ACCESS",
            RequestKind::Rectification => "RECTIFICATION",
            RequestKind::Erasure => "ERASURE",
            RequestKind::Restriction => "RESTRICTION",
            RequestKind::Portability => "PORTABILITY",
            RequestKind::Objection => "OBJECTION",
        }
    }

    /// As `dogwood.requests` has it.
    pub fn name(self) -> String {
        self.word().to_ascii_lowercase()
    }
}

/// The portable form of GDPR EXPORT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One JSON document.
    Json,
    /// CSV with a metadata header.
    Csv,
}
