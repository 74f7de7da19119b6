//! What COMMENT ON and SECURITY LABEL ON name.

use super::statement::{Identifier, ObjectKind, ObjectName};

/// What COMMENT ON and SECURITY LABEL ON name.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelledObject {
    /// A table, view, index, sequence, type or schema.
    Object(ObjectKind, ObjectName),
    /// COLUMN table.column
    Column(ObjectName, Identifier),
    /// CONSTRAINT name ON table
    Constraint(Identifier, ObjectName),
    /// CONSTRAINT name ON DOMAIN domain
    DomainConstraint(Identifier, ObjectName),
    /// DATABASE name
    Database(String),
    /// EXTENSION name
    Extension(Identifier),
    /// ROLE name
    Role(Identifier),
    /// Anything else, by its kind: refused, except where nothing hangs on it.
    Other(String),
}
