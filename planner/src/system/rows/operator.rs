//! Operators that somebody created: pg_operator, and what pg_depend has of them.

use super::super::builtin::{PG_OPERATOR, PG_PROC, PG_TYPE, function};
use super::{Rows, Source, flag, text};
use crate::catalog::{NamespaceId, Operator};
use crate::system::schemas::PG_CATALOG;
use repr::{Datum, Id};

impl Source<'_> {
    /// pg_operator
    pub(super) fn operators(&self, rows: &mut Rows) {
        self.recorded(rows);
        for operator in self.catalog.operators.values() {
            let (left, right) = operator.operands();
            let hints = &operator.hints;
            rows.add(&[
                ("oid", Datum::Oid(operator.id)),
                ("oprname", text(&operator.name)),
                ("oprnamespace", Datum::Oid(operator.namespace.0)),
                ("oprowner", self.owner(operator.id)),
                ("oprkind", text(if left == 0 { "l" } else { "b" })),
                ("oprcanmerge", flag(hints.merges)),
                ("oprcanhash", flag(hints.hashes)),
                ("oprleft", Datum::Oid(left)),
                ("oprright", Datum::Oid(right)),
                ("oprresult", Datum::Oid(self.result_of_operator(operator))),
                ("oprcom", Datum::Oid(hints.commutator)),
                ("oprnegate", Datum::Oid(hints.negator)),
                ("oprcode", Datum::Oid(operator.routine)),
                ("oprrest", Datum::Oid(hints.restrict)),
                ("oprjoin", Datum::Oid(hints.join)),
            ]);
        }
    }

    /// Its function's; 0 of a shell.
    fn result_of_operator(&self, operator: &Operator) -> Id {
        match self.catalog.routines.get(&operator.routine) {
            Some(routine) => super::routine::result_oid(routine),
            None => function::by_id(operator.routine).map_or(0, |found| found.result),
        }
    }

    /// What operators hang on: their functions, the created types of their operands, and their schemas.
    pub(super) fn operator_dependencies(&self, rows: &mut Rows) {
        let mut add = |operator: &Operator, class: Id, object: Id| {
            rows.add(&[
                ("classid", Datum::Oid(PG_OPERATOR)),
                ("objid", Datum::Oid(operator.id)),
                ("refclassid", Datum::Oid(class)),
                ("refobjid", Datum::Oid(object)),
                ("deptype", text("n")),
            ]);
        };
        for operator in self.catalog.operators.values() {
            if operator.namespace != NamespaceId(PG_CATALOG) {
                add(operator, 2615, operator.namespace.0);
            }
            let (left, right) = operator.operands();
            for id in [left, right] {
                if operator.types().any(|of| of.scalar.oid() == id && of.scalar.unarrayed().created().is_some()) {
                    add(operator, PG_TYPE, id);
                }
            }
            if self.catalog.routines.contains_key(&operator.routine) {
                add(operator, PG_PROC, operator.routine);
            }
        }
    }
}
