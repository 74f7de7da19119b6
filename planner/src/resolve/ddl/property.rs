//! Properties of personal data that columns hold: given and taken.

use super::Labels;
use super::change::DefinitionChange;
use super::column::NewColumn;
use crate::catalog::{Property, Table, with_tables_below};
use crate::error::PlanError;
use crate::parse::statement::Identifier;
use crate::scalar::registry::type_name;
use repr::{ColumnIndex, RelationId, ScalarType};
use std::sync::Arc;

impl DefinitionChange<'_> {
    /// What was written behind a new column, once it is in its table.
    pub(super) fn take_property_of(
        &mut self,
        id: RelationId,
        index: ColumnIndex,
        new: &NewColumn,
    ) -> Result<(), PlanError> {
        new.properties.iter().try_for_each(|property| self.give_property(id, index, *property))
    }

    /// A column holds a property from now on. By when a row expires it is found.
    ///
    /// # Errors
    /// 42804 for a column of another type, 42710 where the column or the table has one already.
    pub(super) fn give_property(
        &mut self,
        id: RelationId,
        index: ColumnIndex,
        property: Property,
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        let column = &table.columns[index];
        let word = property.word();
        if column.property == Some(property) {
            return Ok(());
        }
        if let Some(other) = column.property {
            let message =
                format!("column \"{}\" of table \"{}\" holds {} already", column.name, table.name, other.word());
            let hint = format!("ALTER TABLE … ALTER COLUMN {} DROP {} first", column.name, other.word());
            return Err(PlanError::new("42710", message).hint(hint));
        }
        if let Some(other) = table.property(property) {
            let other = &table.columns[other].name;
            let message = format!("column \"{other}\" of table \"{}\" holds {word} already", table.name);
            return Err(PlanError::new("42710", message).hint("a table has one column for each property"));
        }
        property.require_type(&table, &column.name, &column.column_type.scalar)?;
        if property == Property::Expires {
            self.refuse_if_kept(&table)?;
        }
        self.edit(id).columns[index].property = Some(property);
        if property == Property::Expires {
            self.equality_index(id, &[index], false);
        }
        Ok(())
    }

    /// ALTER COLUMN … DROP PURPOSES and its kin.
    pub(super) fn drop_property(
        &mut self,
        id: RelationId,
        column: &Identifier,
        property: Property,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        if table.columns[index].property != Some(property) {
            let message =
                format!("column \"{}\" of table \"{}\" holds no {}", column.name, table.name, property.word());
            return Err(PlanError::new("42704", message).at(Some(column.position)));
        }
        self.take_property(id, index)
    }

    /// A column holds nothing of that kind any more.
    pub(super) fn take_property(&mut self, id: RelationId, index: ColumnIndex) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        if table.columns[index].property == Some(Property::Expires) {
            self.refuse_if_kept(&table)?;
        }
        self.edit(id).columns[index].property = None;
        let of_expiry = self.get(id).whole_indexes().find(|found| found.automatic && found.columns == [index]);
        if let Some(found) = of_expiry.map(|found| found.id) {
            self.release_index(id, found);
        }
        Ok(())
    }

    /// 2BP01 if a materialized view holds what it has read of a table: it would go on as before. What is restored was made with such
    /// views, which are made anew then.
    fn refuse_if_kept(&self, table: &Table) -> Result<(), PlanError> {
        if self.labels == Labels::Settle {
            return Ok(());
        }
        let keeps = |view: &&Arc<Table>| {
            view.is_maintained() && with_tables_below(&self.catalog, [view.id]).contains(&table.id)
        };
        let Some(view) = self.catalog.relations.values().find(keeps) else { return Ok(()) };
        let message = format!("cannot change whether rows of table {} expire", self.shown(table));
        Err(PlanError::new("2BP01", message)
            .detail(format!("materialized view {} holds what it has read of them", self.shown(view)))
            .hint("Drop the view, and make it again afterwards."))
    }
}

impl Property {
    /// 42804 if a column of that type cannot hold it.
    pub(super) fn require_type(self, table: &Table, column: &str, scalar: &ScalarType) -> Result<(), PlanError> {
        if self.is_held_by(scalar) {
            return Ok(());
        }
        let (word, type_name) = (self.word(), type_name(scalar));
        let message =
            format!("column \"{column}\" of table \"{}\" is of type {type_name}, which cannot hold {word}", table.name);
        Err(PlanError::new("42804", message).hint(format!("{word} is held by {}", self.types())))
    }
}

/// 42804 if a column that becomes of that type could not hold its property any more.
pub(super) fn require_same_property(
    table: &Table,
    column: &Identifier,
    property: Option<Property>,
    scalar: &ScalarType,
) -> Result<(), PlanError> {
    let held = property.map_or(Ok(()), |property| property.require_type(table, &column.name, scalar));
    held.map_err(|error| error.at(Some(column.position)))
}
