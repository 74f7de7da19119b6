//! What of an entry is asked for: whose data it was, who acted, of which table.

use repr::{Id, RelationId};

use crate::audit::Pseudonym;
use crate::audit::logged::LoggedEntry;

/// What entries may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mentioned {
    /// They list this person.
    Person(Pseudonym),
    /// This role logged in for them, or they were done as it.
    Role(Id),
    /// They are of this table, and do not list all whose data it was.
    Unlisted(RelationId),
    /// They are of this table or view.
    Table(RelationId),
}

impl Mentioned {
    /// Whether an entry mentions it.
    pub fn is_in(self, entry: &LoggedEntry) -> bool {
        match self {
            Mentioned::Person(person) => entry.subjects.contains(&person),
            Mentioned::Role(role) => entry.actor.login == role || entry.actor.role == role,
            Mentioned::Unlisted(table) => entry.scope.may_be_more && entry.tables.contains(&table),
            Mentioned::Table(table) => entry.tables.contains(&table),
        }
    }

    /// All that an entry mentions.
    pub(crate) fn all_of(entry: &LoggedEntry, mention: &mut dyn FnMut(Mentioned)) {
        entry.subjects.iter().for_each(|person| mention(Mentioned::Person(*person)));
        mention(Mentioned::Role(entry.actor.login));
        mention(Mentioned::Role(entry.actor.role));
        for table in &*entry.tables {
            mention(Mentioned::Table(*table));
            if entry.scope.may_be_more {
                mention(Mentioned::Unlisted(*table));
            }
        }
    }
}
