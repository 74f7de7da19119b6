//! What CREATE TYPE … AS, CREATE DOMAIN and their ALTERs say.

use super::statement::{Identifier, ObjectName, SqlText, TypeName};

/// CREATE TYPE … AS (…)
#[derive(Clone, Debug, PartialEq)]
pub struct CreateComposite {
    /// Its name.
    pub name: ObjectName,
    /// Its attributes, in order.
    pub attributes: Vec<AttributeDefinition>,
}

/// CREATE TYPE … AS RANGE (…)
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRange {
    /// Its name.
    pub name: ObjectName,
    /// SUBTYPE
    pub subtype: Option<TypeName>,
    /// SUBTYPE_OPCLASS
    pub operator_class: Option<ObjectName>,
    /// COLLATION
    pub collation: Option<ObjectName>,
    /// SUBTYPE_DIFF
    pub difference: Option<ObjectName>,
    /// MULTIRANGE_TYPE_NAME
    pub multirange: Option<ObjectName>,
}

/// ALTER TYPE … ADD VALUE
#[derive(Clone, Debug, PartialEq)]
pub struct AddEnumValue {
    /// The type.
    pub name: ObjectName,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// The new label.
    pub label: String,
    /// BEFORE (true) or AFTER an existing label.
    pub neighbour: Option<(bool, String)>,
}

/// ALTER TYPE … ADD, DROP, ALTER, RENAME ATTRIBUTE
#[derive(Clone, Debug, PartialEq)]
pub struct AlterComposite {
    /// The type.
    pub name: ObjectName,
    /// What changes, in order.
    pub changes: Vec<AttributeChange>,
}

/// An attribute of a composite type.
#[derive(Clone, Debug, PartialEq)]
pub struct AttributeDefinition {
    /// Its name.
    pub name: Identifier,
    /// Its type.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<ObjectName>,
}

/// One change of ALTER TYPE.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeChange {
    /// ADD ATTRIBUTE
    Add(AttributeDefinition),
    /// DROP ATTRIBUTE
    Drop {
        /// The attribute.
        name: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// ALTER ATTRIBUTE … TYPE
    Retype(AttributeDefinition),
    /// RENAME ATTRIBUTE
    Rename {
        /// The attribute.
        old: Identifier,
        /// What it is called from now on.
        new: Identifier,
    },
}

impl AttributeChange {
    /// The name that means nothing any more.
    pub fn removed(&self) -> Option<&str> {
        match self {
            AttributeChange::Drop { name, .. } | AttributeChange::Rename { old: name, .. } => Some(&name.name),
            AttributeChange::Add(_) | AttributeChange::Retype(_) => None,
        }
    }
}

/// CREATE DOMAIN
#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    /// Its name.
    pub name: ObjectName,
    /// What it is over.
    pub type_name: TypeName,
    /// COLLATE
    pub collation: Option<ObjectName>,
    /// DEFAULT
    pub default: Option<SqlText>,
    /// Its constraints.
    pub constraints: Vec<DomainConstraint>,
}

/// A constraint of a domain.
#[derive(Clone, Debug, PartialEq)]
pub struct DomainConstraint {
    /// CONSTRAINT name
    pub name: Option<Identifier>,
    /// What it asks.
    pub kind: DomainConstraintKind,
    /// NOT VALID
    pub not_valid: bool,
    /// 1-based character position.
    pub position: u32,
}

/// What a constraint of a domain asks.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainConstraintKind {
    /// NOT NULL
    NotNull,
    /// NULL
    Null,
    /// CHECK
    Check(SqlText),
}

/// ALTER DOMAIN
#[derive(Clone, Debug, PartialEq)]
pub struct AlterDomain {
    /// The domain.
    pub name: ObjectName,
    /// What becomes of it.
    pub action: DomainAction,
}

/// What becomes of a domain.
#[derive(Clone, Debug, PartialEq)]
pub enum DomainAction {
    /// SET DEFAULT, DROP DEFAULT
    SetDefault(Option<SqlText>),
    /// SET NOT NULL (true), DROP NOT NULL
    SetNotNull(bool),
    /// ADD
    Add(DomainConstraint),
    /// DROP CONSTRAINT
    Drop {
        /// The constraint.
        constraint: Identifier,
        /// IF EXISTS
        if_exists: bool,
    },
    /// VALIDATE CONSTRAINT
    Validate(Identifier),
    /// RENAME CONSTRAINT
    Rename {
        /// The constraint.
        old: Identifier,
        /// Its new name.
        new: Identifier,
    },
}
