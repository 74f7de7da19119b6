//! Operators that somebody created: a symbol between types, and the function that it calls.
//!
//! What an operator gives is what its function gives. The rest of what is said of one informs PostgreSQL's planner alone: it is
//! kept and shown, and changes no answer.

use super::routine::{spelled, type_oid};
use super::{Catalog, NamespaceId, Qualifier, Scope};
use repr::{ColumnType, Id};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// CREATE OPERATOR
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operator {
    /// OID of its `pg_operator` row.
    pub id: Id,
    /// Its symbol, which it shares with those of other operands.
    pub name: String,
    /// The schema that it is in.
    pub namespace: NamespaceId,
    /// LEFTARG; a prefix operator has none.
    #[serde(default)]
    pub left: Option<ColumnType>,
    /// RIGHTARG
    pub right: ColumnType,
    /// The function; 0 of a shell, which another operator names and nobody has created yet.
    #[serde(default)]
    pub routine: Id,
    /// What else is said of it.
    #[serde(default)]
    pub hints: OperatorHints,
}

/// What PostgreSQL's planner is told of an operator. 0 where nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorHints {
    /// COMMUTATOR
    pub commutator: Id,
    /// NEGATOR
    pub negator: Id,
    /// RESTRICT
    pub restrict: Id,
    /// JOIN
    pub join: Id,
    /// HASHES
    pub hashes: bool,
    /// MERGES
    pub merges: bool,
}

impl Operator {
    /// The OIDs of what stands left and right of it; 0 where nothing does.
    pub fn operands(&self) -> (Id, Id) {
        (self.left.as_ref().map_or(0, type_oid), type_oid(&self.right))
    }

    /// The types of its operands, in order.
    pub fn types(&self) -> impl Iterator<Item = &ColumnType> {
        self.left.iter().chain([&self.right])
    }

    /// `symbol(left,right)` under a name that is written so, as messages and `regoperator` have it.
    pub fn called(&self, name: &str, scope: Scope<'_>) -> String {
        let left = self.left.as_ref().map_or_else(|| "NONE".to_owned(), |left| spelled(left, scope));
        format!("{name}({left},{})", spelled(&self.right, scope))
    }

    /// Whether an operand is of that type, or of an array of it.
    pub fn is_over(&self, id: Id) -> bool {
        self.types().any(|of| of.scalar.unarrayed().created() == Some(id))
    }
}

impl Catalog {
    /// The operators of that symbol in a schema.
    pub fn operators_in(&self, namespace: NamespaceId, name: &str) -> impl Iterator<Item = &Arc<Operator>> {
        self.operators.values().filter(move |found| found.namespace == namespace && found.name == name)
    }

    /// The operators that call a function.
    pub fn operators_calling(&self, routine: Id) -> impl Iterator<Item = &Arc<Operator>> {
        self.operators.values().filter(move |found| found.routine == routine)
    }
}

impl<'a> Scope<'a> {
    /// The operators that a symbol may mean, by the schema that is written or by the search path: of those of the same operands the
    /// first.
    pub fn operators<'n>(self, before: impl Into<Qualifier<'n>>, name: &str) -> Vec<&'a Arc<Operator>> {
        let catalog = self.catalog;
        if catalog.operators.is_empty() {
            return Vec::new();
        }
        let before = before.into();
        if before.is_written() {
            let namespace = self.namespace_before(before);
            return namespace.into_iter().flat_map(|namespace| catalog.operators_in(namespace, name)).collect();
        }
        let mut found: Vec<&Arc<Operator>> = Vec::new();
        for namespace in self.path.searched() {
            for operator in catalog.operators_in(*namespace, name) {
                if found.iter().all(|known| known.operands() != operator.operands()) {
                    found.push(operator);
                }
            }
        }
        found
    }

    /// Whether a schema is searched before PostgreSQL's own objects are found.
    pub(crate) fn is_before_built_in(self, namespace: NamespaceId) -> bool {
        let place = |wanted| self.path.searched().iter().position(|found| *found == wanted);
        match (place(namespace), place(NamespaceId::PG_CATALOG)) {
            (Some(own), Some(built_in)) => own < built_in,
            _ => false,
        }
    }

    /// Whether the bare symbol and the operands mean it.
    pub fn sees_operator(self, operator: &Operator) -> bool {
        let built_in = crate::system::builtin::operator_over(&operator.name, operator.operands()).is_some();
        (!built_in || self.is_before_built_in(operator.namespace))
            && self.operators(None, &operator.name).iter().any(|found| found.id == operator.id)
    }

    /// Its symbol as messages and `regoperator` must have it to be found.
    pub fn spelled_operator(self, operator: &Operator) -> String {
        match self.sees_operator(operator) {
            true => operator.name.clone(),
            false => format!("{}.{}", self.qualifier(operator.namespace), operator.name),
        }
    }
}
