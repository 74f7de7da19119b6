//! Calls of what types are read and written by: `int4in('5')`, `textout('a')`.
//!
//! Which they are follows from `pg_type`. Each is the cast that it is behind.

use super::{Resolver, Typed};
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::scalar::cast::{Cast, CastContext, CastMethod};
use crate::system::builtin::recorded;
use repr::{ColumnType, Datum, Id, ScalarType};
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Reads,
    Writes,
}

/// The OIDs of types whose one function stands for many types.
const ARRAY: Id = 2277;
const RECORD: Id = 2249;
const ENUM: Id = 3500;
const CSTRING: &str = "2275";
const WITH_MODIFIER: &str = "2275 26 23";

/// By name: what it does, and with which type.
static FUNCTIONS: LazyLock<BTreeMap<&'static str, (Direction, Id)>> = LazyLock::new(|| {
    let procedures: BTreeMap<Id, _> = recorded("pg_proc").map(|row| (row.id("oid"), row)).collect();
    let mut functions = BTreeMap::new();
    for row in recorded("pg_type") {
        for (column, direction) in [("typinput", Direction::Reads), ("typoutput", Direction::Writes)] {
            let Some(procedure) = procedures.get(&row.id(column)) else { continue };
            let of = match (direction, procedure.text("proargtypes")) {
                (Direction::Reads, CSTRING | WITH_MODIFIER) => procedure.id("prorettype"),
                (Direction::Writes, argument) => argument.parse().unwrap_or(0),
                (Direction::Reads, _) => 0,
            };
            if ScalarType::from_oid(of).is_some_and(|scalar| !scalar.is_pseudo())
                || (direction == Direction::Writes && [ARRAY, RECORD, ENUM].contains(&of))
            {
                functions.insert(procedure.text("proname"), (direction, of));
            }
        }
    }
    functions
});

impl Resolver<'_> {
    /// The call, if the name is that of such a function.
    pub(super) fn io_call(&mut self, name: &str, args: &[Typed]) -> Result<Option<Typed>, PlanError> {
        let Some(&(direction, of)) = FUNCTIONS.get(name) else { return Ok(None) };
        match (direction, args) {
            (Direction::Reads, [arg]) => self.read_call(of, arg, -1),
            // The type's element, and its modifier.
            (Direction::Reads, [arg, _, modifier]) => match (modifier.expr.as_literal(), ScalarType::from_oid(of)) {
                (Some(Datum::Null), Some(scalar)) => Ok(Some(Typed::literal(Datum::Null, scalar))),
                (Some(value), _) => match value.as_i64().and_then(|modifier| i32::try_from(modifier).ok()) {
                    Some(modifier) => self.read_call(of, arg, modifier),
                    None => Ok(None),
                },
                (None, _) => Ok(None),
            },
            (Direction::Writes, [arg]) => self.write_call(of, arg),
            (Direction::Reads | Direction::Writes, _) => Ok(None),
        }
    }

    fn read_call(&mut self, of: Id, arg: &Typed, modifier: i32) -> Result<Option<Typed>, PlanError> {
        let Some(scalar) = ScalarType::from_oid(of) else { return Ok(None) };
        let to = ColumnType { modifier, ..ColumnType::nullable(scalar) };
        match arg.scalar() {
            ScalarType::Unknown => self.cast(arg.clone(), &to, CastContext::Assignment).map(Some),
            ScalarType::Cstring => Ok(Some(converted(arg.clone(), CastMethod::Input, to))),
            _ => Ok(None),
        }
    }

    fn write_call(&mut self, of: Id, arg: &Typed) -> Result<Option<Typed>, PlanError> {
        let fits = match (of, arg.scalar()) {
            (ARRAY, ScalarType::Array(_)) | (RECORD, ScalarType::Record(_)) | (ENUM, ScalarType::Enum(_)) => true,
            (of, scalar) => scalar.oid() == of,
        };
        let arg = match ScalarType::from_oid(of) {
            _ if fits => arg.clone(),
            Some(scalar) => match self.cast(arg.clone(), &ColumnType::nullable(scalar), CastContext::Implicit) {
                Ok(cast) => cast,
                Err(error) if error.code == "42846" => return Ok(None),
                Err(error) => return Err(error),
            },
            None => return Ok(None),
        };
        Ok(Some(converted(arg, CastMethod::Print, ColumnType::nullable(ScalarType::Cstring))))
    }
}

fn converted(arg: Typed, method: CastMethod, to: ColumnType) -> Typed {
    let cast = Cast { from: arg.scalar().clone(), method, explicit: false };
    Typed::of(HirExpr::Cast { expr: Box::new(arg.expr), cast, to: to.clone() }, to)
}
