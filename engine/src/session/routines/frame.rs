//! A body that runs: its variables, and what their names mean at a place.

use super::compiled::Compiled;
use crate::session::Session;
use planner::hir::OutputColumn;
use planner::parse::statement::{Variable, Variables};
use repr::types::RecordType;
use repr::{ColumnType, Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// A variable.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) value: Datum,
    /// Its type; of a record that of what it holds, none while it holds nothing.
    pub(super) column_type: Option<ColumnType>,
    /// Takes rows of any type.
    pub(super) is_record: bool,
    pub(super) constant: bool,
    pub(super) not_null: bool,
}

impl Slot {
    pub(super) fn of(column_type: ColumnType, value: Datum) -> Slot {
        Slot { value, column_type: Some(column_type), is_record: false, constant: false, not_null: false }
    }

    pub(super) fn record() -> Slot {
        Slot { value: Datum::Null, column_type: None, is_record: true, constant: false, not_null: false }
    }
}

/// A name that is known at a place.
#[derive(Clone)]
pub(super) struct Name {
    qualifier: Option<String>,
    name: String,
    place: usize,
}

/// A cursor that was declared with its query.
#[derive(Clone)]
pub(super) struct BoundCursor {
    pub(super) place: usize,
    pub(super) parameters: Vec<(String, ColumnType)>,
    pub(super) query: planner::plpgsql::Expression,
    pub(super) scroll: Option<bool>,
    /// How many names its query knows.
    pub(super) names: usize,
}

/// What a body has given so far.
#[derive(Default)]
pub(super) struct BodyResult {
    /// RETURN
    pub(super) value: Option<(Datum, ScalarType)>,
    /// RETURN NEXT, RETURN QUERY
    pub(super) rows: Vec<Vec<Datum>>,
}

/// See the module.
pub(super) struct Frame {
    pub(super) compiled: Arc<Compiled>,
    pub(super) slots: Vec<Slot>,
    names: Vec<Name>,
    pub(super) cursors: Vec<BoundCursor>,
    /// How many parameters there are.
    pub(super) positional: usize,
    pub(super) given: BodyResult,
    /// ROW_COUNT
    pub(super) row_count: i64,
    /// What is being handled.
    pub(super) handled: Option<SqlError>,
}

/// What a block adds, to be taken away at its end.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    slots: usize,
    names: usize,
    cursors: usize,
}

impl Frame {
    pub(super) fn new(compiled: Arc<Compiled>) -> Frame {
        Frame {
            compiled,
            slots: Vec::new(),
            names: Vec::new(),
            cursors: Vec::new(),
            positional: 0,
            given: BodyResult::default(),
            row_count: 0,
            handled: None,
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { slots: self.slots.len(), names: self.names.len(), cursors: self.cursors.len() }
    }

    pub(super) fn back_to(&mut self, mark: Mark) {
        self.slots.truncate(mark.slots);
        self.names.truncate(mark.names);
        self.cursors.truncate(mark.cursors);
    }

    /// A new variable.
    pub(super) fn declare(&mut self, qualifier: Option<&str>, name: &str, slot: Slot) -> usize {
        let place = self.slots.len();
        self.slots.push(slot);
        self.name(qualifier, name, place);
        place
    }

    /// Another name for one.
    pub(super) fn name(&mut self, qualifier: Option<&str>, name: &str, place: usize) {
        self.names.push(Name { qualifier: qualifier.map(str::to_owned), name: name.to_owned(), place });
    }

    /// How many names there are.
    pub(super) fn known_names(&self) -> usize {
        self.names.len()
    }

    /// Names that are not there for a while.
    pub(super) fn hide(&mut self, from: usize) -> Vec<Name> {
        self.names.split_off(from.min(self.names.len()))
    }

    /// They are there again, in the place of those since.
    pub(super) fn show(&mut self, from: usize, hidden: Vec<Name>) {
        self.names.truncate(from);
        self.names.extend(hidden);
    }

    /// Whether the block at hand has declared the name.
    pub(super) fn is_declared(&self, since: Mark, name: &str) -> bool {
        self.names[since.names..].iter().any(|known| known.name == name)
    }

    /// The variable of that name.
    pub(super) fn find(&self, qualifier: Option<&str>, name: &str) -> Option<usize> {
        if let Some(number) = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()) {
            return number.checked_sub(1).filter(|place| *place < self.positional);
        }
        let is_it = |known: &&Name| {
            known.name == name && qualifier.is_none_or(|before| known.qualifier.as_deref() == Some(before))
        };
        self.names.iter().rev().find(is_it).map(|found| found.place)
    }

    /// The types of all variables: what a text is planned with.
    pub(super) fn types(&self) -> Vec<Option<ColumnType>> {
        self.slots.iter().map(|slot| slot.column_type.clone()).collect()
    }

    /// All names, for the planner.
    pub(super) fn variables(&self) -> Arc<Variables> {
        let variable = |known: &Name| Variable {
            qualifier: known.qualifier.clone(),
            name: known.name.clone(),
            place: known.place,
            column_type: self.slots[known.place].column_type.clone(),
        };
        let list = self.names.iter().map(variable).collect();
        Arc::new(Variables { list, positional: self.positional, conflict: self.compiled.body.conflict })
    }

    /// All values, by the places of their names.
    pub(super) fn values(&self) -> Arc<[Datum]> {
        self.slots.iter().map(|slot| slot.value.clone()).collect()
    }

    /// FOUND
    pub(super) fn set_found(&mut self, found: bool) {
        if let Some(place) = self.names.iter().find(|known| known.name == "found").map(|known| known.place) {
            self.slots[place].value = Datum::Bool(found);
        }
    }
}

/// The type of a row of these columns.
pub(super) fn row_type(columns: &[OutputColumn]) -> ColumnType {
    let fields: Vec<(String, ScalarType)> =
        columns.iter().map(|column| (column.name.clone(), column.column_type.scalar.clone())).collect();
    ColumnType::nullable(ScalarType::Record(RecordType::from(fields)))
}

impl Session {
    /// A value as one of another type, as assignment has it.
    pub(super) fn converted(&self, value: Datum, from: &ScalarType, to: &ColumnType) -> Result<Datum, SqlError> {
        let is_same = *from == to.scalar && to.modifier == -1;
        if to.domain == 0 && (is_same || value.is_null()) {
            return Ok(value);
        }
        if let (ScalarType::Record(fields), ScalarType::Record(wanted), Datum::Record(values)) =
            (from, &to.scalar, &value)
            && to.domain == 0
        {
            let mut converted = Vec::with_capacity(wanted.len());
            for (place, (_, scalar)) in wanted.iter().enumerate() {
                let field = match (values.get(place), fields.get(place)) {
                    (Some(value), Some((_, from))) => {
                        let to = ColumnType { domain: wanted.domain(place), ..ColumnType::nullable(scalar.clone()) };
                        self.converted(value.clone(), from, &to)?
                    }
                    _ => Datum::Null,
                };
                converted.push(field);
            }
            return Ok(Datum::Record(converted.into()));
        }
        let seen = self.seen();
        let conversion = planner::plan_conversion(from, to, seen.scope()).map_err(SqlError::from)?;
        let context = self.eval_context(Arc::from([value]), &seen.catalog);
        Ok(conversion.eval(&[], &context)?)
    }
}
