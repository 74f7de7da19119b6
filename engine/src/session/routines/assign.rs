//! Values on their way into variables: of their type, into fields and elements, or as rows.

use super::frame::{Frame, Slot, row_type};
use crate::session::Session;
use planner::hir::OutputColumn;
use planner::plpgsql::{Expression, Into, Target};
use repr::{Array, ColumnType, Datum, ScalarType};
use state::SqlError;
use std::sync::Arc;

/// A variable that a target names, and the field of it.
struct TargetPlace {
    slot: usize,
    fields: Vec<String>,
}

fn unknown(name: &str) -> SqlError {
    SqlError::new("42601", format!("\"{name}\" is not a known variable"))
}

impl Session {
    fn place(frame: &Frame, target: &Target) -> Result<TargetPlace, SqlError> {
        let path = &target.path;
        let first = path.first().map(String::as_str).unwrap_or_default();
        if let [label, name, fields @ ..] = path.as_slice()
            && let Some(slot) = frame.find(Some(label), name)
        {
            return Ok(TargetPlace { slot, fields: fields.to_vec() });
        }
        match frame.find(None, first) {
            Some(slot) => Ok(TargetPlace { slot, fields: path[1..].to_vec() }),
            None => Err(unknown(&path.join("."))),
        }
    }

    /// Puts a value where a target says.
    pub(super) fn assign(
        &mut self,
        frame: &mut Frame,
        target: &Target,
        value: Datum,
        from: &ScalarType,
    ) -> Result<(), SqlError> {
        let TargetPlace { slot, fields } = Self::place(frame, target)?;
        if frame.slots[slot].constant {
            let name = target.path.join(".");
            return Err(SqlError::new("22005", format!("variable \"{name}\" is declared CONSTANT")));
        }
        if target.subscripts.is_empty() && fields.is_empty() {
            return self.assign_slot(frame, slot, value, from);
        }
        let Some(own) = frame.slots[slot].column_type.clone() else {
            return Err(SqlError::new("55000", format!("record \"{}\" is not assigned yet", target.path[0]))
                .detail("The tuple structure of a not-yet-assigned record is indeterminate."));
        };
        let before = frame.slots[slot].value.clone();
        let changed = self.with_part(frame, (before, &own), &fields, &target.subscripts, (value, from))?;
        frame.slots[slot].value = changed;
        Ok(())
    }

    /// A value with one field, or one element of that, another.
    fn with_part(
        &mut self,
        frame: &Frame,
        (before, own): (Datum, &ColumnType),
        fields: &[String],
        subscripts: &[Expression],
        (value, from): (Datum, &ScalarType),
    ) -> Result<Datum, SqlError> {
        let Some((field, deeper)) = fields.split_first() else {
            return match subscripts {
                [] => self.converted(value, from, own),
                [one] => self.with_element(frame, (before, own), one, (value, from)),
                _ => Err(SqlError::unsupported("an assignment to an element of several dimensions")),
            };
        };
        let ScalarType::Record(record) = &own.scalar else {
            return Err(SqlError::new("42804", format!("cannot assign to field \"{field}\" of a scalar")));
        };
        let Some(place) = record.iter().position(|(name, _)| name == field) else {
            return Err(SqlError::new("42703", format!("record has no field \"{field}\"")));
        };
        let mut values = match before {
            Datum::Record(values) => values.to_vec(),
            _ => vec![Datum::Null; record.len()],
        };
        let of_field = ColumnType { modifier: record.modifier(place), ..record.column_type(place) };
        let inner = std::mem::replace(&mut values[place], Datum::Null);
        values[place] = self.with_part(frame, (inner, &of_field), deeper, subscripts, (value, from))?;
        Ok(Datum::Record(values.into()))
    }

    /// An array of one dimension with another element: it grows at its ends.
    fn with_element(
        &mut self,
        frame: &Frame,
        (before, own): (Datum, &ColumnType),
        subscript: &Expression,
        (value, from): (Datum, &ScalarType),
    ) -> Result<Datum, SqlError> {
        let Some(element) = own.scalar.element() else {
            return Err(SqlError::new("42804", "subscripted object is not an array"));
        };
        let index = self.integer(frame, subscript, "array subscript in assignment")?;
        let value = self.converted(value, from, &ColumnType::nullable(element))?;
        let (mut lower, mut elements) = match &before {
            Datum::Array(array) if array.elements.is_empty() => (index, Vec::new()),
            Datum::Array(array) if array.dimensions.len() == 1 => {
                (i64::from(array.dimensions[0].1), array.elements.clone())
            }
            Datum::Array(_) => {
                return Err(SqlError::new("2202E", "wrong number of array subscripts"));
            }
            _ => (index, Vec::new()),
        };
        const ELEMENTS_MAX: i64 = 1 << 26;
        if index.abs_diff(lower) > ELEMENTS_MAX.unsigned_abs() {
            return Err(SqlError::new("54000", "array size exceeds the maximum allowed (134217727)"));
        }
        while index < lower {
            elements.insert(0, Datum::Null);
            lower -= 1;
        }
        let place = usize::try_from(index - lower).unwrap_or_default();
        if place >= elements.len() {
            elements.resize(place + 1, Datum::Null);
        }
        elements[place] = value;
        let lower = i32::try_from(lower).map_err(|_| SqlError::new("22003", "integer out of range"))?;
        Ok(Datum::Array(Arc::new(Array::new(vec![(elements.len(), lower)], elements))))
    }

    /// Puts a value into a variable, of its type.
    pub(super) fn assign_slot(
        &mut self,
        frame: &mut Frame,
        place: usize,
        value: Datum,
        from: &ScalarType,
    ) -> Result<(), SqlError> {
        let Slot { is_record, not_null, column_type, .. } = &frame.slots[place];
        let (is_record, not_null) = (*is_record, *not_null);
        if is_record {
            if !matches!(from, ScalarType::Record(_)) && !value.is_null() {
                return Err(SqlError::new("42804", "cannot assign non-composite value to a record variable"));
            }
            let slot = &mut frame.slots[place];
            // A record that is set to NULL has no fields until it is assigned again.
            let is_row = matches!(from, ScalarType::Record(_));
            slot.column_type = is_row.then(|| ColumnType::nullable(from.clone())).or(slot.column_type.take());
            slot.value = value;
            return Ok(());
        }
        let to = column_type.clone().unwrap_or_else(|| ColumnType::nullable(ScalarType::Text));
        if matches!(to.scalar, ScalarType::Record(_))
            && !matches!(from, ScalarType::Record(_) | ScalarType::Unknown)
            && !value.is_null()
            && !from.is_string()
        {
            return Err(SqlError::new("42804", "cannot assign non-composite value to a row variable"));
        }
        let value = self.converted(value, from, &to)?;
        if not_null && value.is_null() {
            return Err(SqlError::new("22004", "null value cannot be assigned to a variable declared NOT NULL"));
        }
        frame.slots[place].value = value;
        Ok(())
    }

    /// A row into one record or row variable, or column by column; none is NULL everywhere.
    pub(super) fn assign_row(
        &mut self,
        frame: &mut Frame,
        targets: &[Target],
        columns: &[OutputColumn],
        row: Option<Vec<Datum>>,
    ) -> Result<(), SqlError> {
        if let [only] = targets {
            let TargetPlace { slot, fields } = Self::place(frame, only)?;
            let takes_rows = fields.is_empty()
                && only.subscripts.is_empty()
                && (frame.slots[slot].is_record
                    || matches!(&frame.slots[slot].column_type, Some(own) if matches!(own.scalar, ScalarType::Record(_))));
            if takes_rows {
                return self.assign_whole_row(frame, slot, columns, row);
            }
        }
        let mut values = row.unwrap_or_default().into_iter();
        for (place, target) in targets.iter().enumerate() {
            let from = columns.get(place).map_or(ScalarType::Unknown, |column| column.column_type.scalar.clone());
            let value = values.next().unwrap_or(Datum::Null);
            self.assign(frame, target, value, &from)?;
        }
        Ok(())
    }

    fn assign_whole_row(
        &mut self,
        frame: &mut Frame,
        slot: usize,
        columns: &[OutputColumn],
        row: Option<Vec<Datum>>,
    ) -> Result<(), SqlError> {
        // One column that is a row of itself is that row.
        if let ([only], Some([value])) = (columns, row.as_deref())
            && matches!(only.column_type.scalar, ScalarType::Record(_))
        {
            return self.assign_slot(frame, slot, value.clone(), &only.column_type.scalar);
        }
        let own = row_type(columns);
        let is_there = row.is_some();
        let value = match row {
            Some(row) => Datum::Record(row.into()),
            None => Datum::Record(vec![Datum::Null; columns.len()].into()),
        };
        if !frame.slots[slot].is_record && !is_there {
            frame.slots[slot].value = Datum::Null;
            return Ok(());
        }
        self.assign_slot(frame, slot, value, &own.scalar)
    }

    /// What INTO makes of the rows of a statement.
    pub(super) fn into(
        &mut self,
        frame: &mut Frame,
        into: &Into,
        columns: &[OutputColumn],
        rows: Vec<Vec<Datum>>,
        writes: bool,
    ) -> Result<(), SqlError> {
        let count = rows.len();
        if into.strict && count == 0 {
            return Err(SqlError::new("P0002", "query returned no rows"));
        }
        if (into.strict || writes) && count > 1 {
            return Err(SqlError::new("P0003", "query returned more than one row")
                .hint("Make sure the query returns a single row, or use LIMIT 1."));
        }
        self.assign_row(frame, &into.targets, columns, rows.into_iter().next())
    }
}
