//! Constraints: keys, checks, foreign keys and the edges that annotate them, with the indexes they need.

use super::change::DefinitionChange;
use super::names::{constraint_name, has_constraint};
use super::opclass::no_class;
use super::validity::{Existing, refuse_edge_not_valid, refuse_keys_not_valid};
use super::{DdlEffect, ExpressionPurpose, rewrite};
use crate::catalog::{
    Check, ConstraintName, DefaultValue, EdgeRef, EdgeSource, ForeignKey, Index, IndexDeclaration, ReferentialAction,
    Table,
};
use crate::error::PlanError;
use crate::parse::definition::{References, TableConstraint, TableConstraintKind, Timing};
use crate::parse::statement::{Identifier, SqlText};
use crate::parse::{Expr, parse_expression};
use repr::id::is_temporary;
use repr::{ColumnIndex, Id, IndexId, RelationId, ScalarType};
use std::sync::Arc;

/// PostgreSQL's INDEX_MAX_KEYS.
pub(super) const KEY_COLUMNS_MAX: usize = 32;

impl DefinitionChange<'_> {
    /// Adds a constraint; `fresh` tables have no rows to build indexes for or to validate.
    pub(super) fn add_constraint(
        &mut self,
        id: RelationId,
        constraint: &TableConstraint,
        fresh: bool,
    ) -> Result<(), PlanError> {
        let may_merge = matches!(constraint.kind, TableConstraintKind::ForeignKey(..));
        if let Some(name) = constraint.name.as_ref().filter(|name| !(may_merge && self.is_stand_in(id, name))) {
            self.require_new_name(id, name)?;
        }
        refuse_keys_not_valid(constraint)?;
        let name = constraint.name.as_ref();
        let existing = match (fresh, constraint.not_valid) {
            (true, _) => Existing::None,
            (false, false) => Existing::Checked,
            (false, true) => Existing::Unchecked,
        };
        match &constraint.kind {
            TableConstraintKind::PrimaryKey(columns) | TableConstraintKind::Unique(columns) => {
                self.add_key(id, columns, constraint, fresh)
            }
            TableConstraintKind::UsingIndex(primary, index) => {
                self.add_key_using_index(id, name, *primary, index, constraint.timing)
            }
            TableConstraintKind::Check(text) => self.add_check(id, name, text, existing),
            TableConstraintKind::ForeignKey(columns, references) => {
                let columns = self.key_columns(id, columns, "foreign key")?;
                self.add_foreign_key(id, name, columns, references, constraint.timing, existing, None)?;
                Ok(())
            }
        }
    }

    /// 42710 if the table has a constraint of that name.
    fn require_new_name(&self, id: RelationId, name: &Identifier) -> Result<(), PlanError> {
        let table = self.get(id);
        if !has_constraint(table, &name.name) {
            return Ok(());
        }
        let message = format!("constraint \"{}\" for relation \"{}\" already exists", name.name, table.name);
        Err(PlanError::new("42710", message).at(Some(name.position)))
    }

    /// Whether that is the name of a foreign key that a label stands for, until it is declared.
    fn is_stand_in(&self, id: RelationId, name: &Identifier) -> bool {
        let mut keys = self.get(id).foreign_keys.iter().filter(|key| key.constraint.name == name.name);
        keys.any(|key| {
            let edge = EdgeRef { table: id, foreign_key: key.constraint.id };
            self.catalog.labelled_edges.get(&edge) == Some(&EdgeSource::LabelOnly)
        })
    }

    /// The columns that a key names: 42703, and 42701 for one named twice.
    fn key_columns(&self, id: RelationId, columns: &[Identifier], what: &str) -> Result<Vec<ColumnIndex>, PlanError> {
        let table = self.get(id);
        let mut indexes = Vec::new();
        for column in columns {
            let Some((index, _)) = table.column_by_name(&column.name) else {
                let message = if what == "foreign key" {
                    format!("column \"{}\" referenced in foreign key constraint does not exist", column.name)
                } else {
                    format!("column \"{}\" named in key does not exist", column.name)
                };
                return Err(PlanError::new("42703", message).at(Some(column.position)));
            };
            if indexes.contains(&index) && what != "foreign key" {
                return Err(PlanError::new(
                    "42701",
                    format!("column \"{}\" appears twice in {what} constraint", column.name),
                )
                .at(Some(column.position)));
            }
            indexes.push(index);
        }
        if indexes.len() > KEY_COLUMNS_MAX {
            return Err(PlanError::new("54011", format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index")));
        }
        Ok(indexes)
    }

    /// The columns of INCLUDE, which an index only carries.
    pub(super) fn included_columns(
        &self,
        id: RelationId,
        keys: &[ColumnIndex],
        include: &[Identifier],
    ) -> Result<Vec<ColumnIndex>, PlanError> {
        if keys.len() + include.len() > KEY_COLUMNS_MAX {
            return Err(PlanError::new("54011", format!("cannot use more than {KEY_COLUMNS_MAX} columns in an index")));
        }
        let table = self.get(id);
        let find =
            |column: &Identifier| match table.column_by_name(&column.name) {
                Some((index, _)) => Ok(index),
                None => Err(PlanError::new("42703", format!("column \"{}\" does not exist", column.name))
                    .at(Some(column.position))),
            };
        include.iter().map(find).collect()
    }

    fn add_key(
        &mut self,
        id: RelationId,
        columns: &[Identifier],
        written: &TableConstraint,
        fresh: bool,
    ) -> Result<(), PlanError> {
        let TableConstraint { kind, timing, nulls_not_distinct, .. } = written;
        let (name, timing, nulls_not_distinct) = (written.name.as_ref(), *timing, *nulls_not_distinct);
        let primary = matches!(kind, TableConstraintKind::PrimaryKey(_));
        let what = if primary { "primary key" } else { "unique" };
        if primary && timing.deferrable {
            // Rows lie under their primary key: two cannot share one until the commit.
            return Err(
                PlanError::unsupported("a deferrable primary key").hint("Declare the columns UNIQUE DEFERRABLE.")
            );
        }
        let columns = self.key_columns(id, columns, what)?;
        let include = self.included_columns(id, &columns, &written.include)?;
        let table = Arc::clone(self.get(id));
        require_indexable(&table, &columns)?;
        if primary {
            require_no_primary_key(&table)?;
        } else if name.is_none() {
            // Repeating PRIMARY KEY or UNIQUE on the same columns is one constraint, as in PostgreSQL.
            let same = |index: &&Index| {
                index.constraint.is_some()
                    && index.columns == columns
                    && (index.declared.nulls_not_distinct == nulls_not_distinct || table.primary_key == Some(index.id))
                    && fresh
            };
            if table.indexes.iter().any(|index| same(&index)) {
                return Ok(());
            }
        }
        let constraint_name = match name {
            Some(name) => {
                self.require_free(table.namespace, &name.name)?;
                name.name.clone()
            }
            None if primary => self.relation_name(&table.name, "", "pkey", &table),
            None => {
                let all: Vec<ColumnIndex> = columns.iter().chain(&include).copied().collect();
                self.relation_name(&table.name, &column_list(&table, &all), "key", &table)
            }
        };
        let constraint = self.constraint(constraint_name.clone(), timing);
        if primary {
            self.set_not_null(id, &columns, fresh);
        }
        self.add_index(
            id,
            Index {
                id: IndexId(0),
                name: constraint_name,
                columns,
                unique: true,
                automatic: false,
                constraint: Some(constraint),
                nulls: true,
                declared: IndexDeclaration { include, nulls_not_distinct, ..IndexDeclaration::default() },
            },
            primary,
            fresh,
        );
        Ok(())
    }

    fn add_key_using_index(
        &mut self,
        id: RelationId,
        name: Option<&Identifier>,
        primary: bool,
        index: &Identifier,
        timing: Timing,
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        let Some(position) = table.indexes.iter().position(|found| found.name == index.name && !found.automatic) else {
            return Err(
                PlanError::new("42704", format!("index \"{}\" does not exist", index.name)).at(Some(index.position))
            );
        };
        let found = &table.indexes[position];
        if found.constraint.is_some() {
            return Err(PlanError::new(
                "55000",
                format!("index \"{}\" is already associated with a constraint", found.name),
            ));
        }
        if !found.unique {
            return Err(PlanError::new("42809", format!("\"{}\" is not a unique index", found.name))
                .detail("Cannot create a primary key or unique constraint using such an index."));
        }
        if primary {
            require_no_primary_key(&table)?;
            self.set_not_null(id, &found.columns, false);
        }
        let new_name = name.map_or_else(|| found.name.clone(), |name| name.name.clone());
        if new_name != found.name {
            self.require_free(table.namespace, &new_name)?;
        }
        let (index_id, constraint) = (found.id, self.constraint(new_name.clone(), timing));
        let table = self.edit(id);
        table.indexes[position].name = new_name;
        table.indexes[position].constraint = Some(constraint);
        if primary {
            table.primary_key = Some(index_id);
        }
        Ok(())
    }

    /// NOT NULL on these columns, validated where rows may hold NULLs.
    pub(super) fn set_not_null(&mut self, id: RelationId, columns: &[ColumnIndex], fresh: bool) {
        for &column in columns {
            let entry = &mut self.edit(id).columns[column].column_type;
            if entry.nullable {
                entry.nullable = false;
                if !fresh {
                    self.effects.push(DdlEffect::ValidateNotNull { table: id, column });
                }
            }
        }
    }

    pub(super) fn constraint(&mut self, name: String, timing: Timing) -> ConstraintName {
        let (deferrable, initially_deferred) = (timing.deferrable, timing.initially_deferred);
        ConstraintName { name, deferrable, initially_deferred, id: self.next_id(), not_valid: false }
    }

    /// Puts an index into its table, and has it built.
    pub(super) fn add_index(&mut self, id: RelationId, mut index: Index, primary: bool, fresh: bool) -> IndexId {
        let index_id = IndexId(self.next_id());
        index.id = index_id;
        let table = self.edit(id);
        table.indexes.push(index);
        if primary {
            table.primary_key = Some(index_id);
        }
        if !fresh {
            self.effects.push(DdlEffect::BuildIndex { table: id, index: index_id });
        }
        index_id
    }

    fn add_check(
        &mut self,
        id: RelationId,
        name: Option<&Identifier>,
        text: &SqlText,
        existing: Existing,
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        self.check_expression(ExpressionPurpose::Check, text, &table)?;
        let name = match name {
            Some(name) => name.name.clone(),
            None => {
                let used = rewrite::columns_used(&text.text, &table);
                let column = if let [only] = used[..] { table.columns[only].name.as_str() } else { "" };
                constraint_name(&table, column, "check")
            }
        };
        let not_valid = existing == Existing::Unchecked;
        let constraint = ConstraintName { not_valid, ..self.constraint(name.clone(), Timing::default()) };
        let expression = unwrapped(&self.kept(&text.text));
        self.edit(id).checks.push(Check { constraint, expression: expression.clone() });
        if existing == Existing::Checked {
            self.effects.push(DdlEffect::ValidateCheck { table: id, name, expression: expression.clone() });
        }
        Ok(())
    }

    /// Adds a foreign key, plain or annotated, or merges it with one that says the same.
    /// `source` is set for labels, comments and ALTER … SET.
    #[allow(clippy::too_many_arguments)] // One noun (a foreign key) spelled out; callers are two.
    pub(super) fn add_foreign_key(
        &mut self,
        id: RelationId,
        name: Option<&Identifier>,
        columns: Vec<ColumnIndex>,
        references: &References,
        timing: Timing,
        existing: Existing,
        source: Option<EdgeSource>,
    ) -> Result<Id, PlanError> {
        refuse_edge_not_valid(references, existing)?;
        let target = self.referenced_table(source.map(|_| id), references)?;
        let table = Arc::clone(self.get(id));
        refuse_actions_on_generated(&table, &columns, references)?;
        let referenced = Arc::clone(self.get(target));
        require_same_permanence(&table, &referenced, references)?;
        let target_columns = self.target_columns(&referenced, references)?;
        require_key(&referenced, columns.len(), &target_columns, references)?;
        let constraint_name = match name {
            Some(name) => name.name.clone(),
            None => constraint_name(&table, &column_list(&table, &columns), "fkey"),
        };
        require_comparable((&table, &referenced), (&columns, &target_columns), &constraint_name)
            .map_err(|error| error.at(Some(references.position)))?;
        let (columns, target_columns, written) = in_key_order(&referenced, columns, target_columns);
        if references.annotation.is_some() {
            self.require_unannotated(&table, &columns, references)?;
        }
        let same =
            |key: &ForeignKey| key.columns == columns && key.target == target && key.target_columns == target_columns;
        let said = |key: &&ForeignKey| same(key) && key.annotation.is_none() != references.annotation.is_none();
        if let Some(merged) = table.foreign_keys.iter().find(said) {
            let edge = EdgeRef { table: id, foreign_key: merged.constraint.id };
            let stand_in = self.catalog.labelled_edges.get(&edge) == Some(&EdgeSource::LabelOnly);
            if references.annotation.is_some() || stand_in {
                let other_name = name.filter(|name| name.name != merged.constraint.name);
                other_name.map_or(Ok(()), |name| self.require_new_name(id, name))?;
                let new_name = other_name.map_or_else(|| merged.constraint.name.clone(), |name| name.name.clone());
                // Whose rows are whose is known of all rows.
                self.validate_foreign_key(id, edge.foreign_key);
                return Ok(self.merge_foreign_key(edge, references, new_name, timing, source));
            }
        }
        // A stand-in of that name is for another key.
        name.map_or(Ok(()), |name| self.require_new_name(id, name))?;
        let index = self.equality_index(id, &columns, existing == Existing::None);
        let not_valid = existing == Existing::Unchecked;
        let constraint = ConstraintName { not_valid, ..self.constraint(constraint_name, timing) };
        let foreign_key = constraint.id;
        self.edit(id).foreign_keys.push(ForeignKey {
            constraint,
            columns,
            target,
            target_columns,
            on_delete: references.on_delete,
            on_update: references.on_update,
            annotation: references.annotation,
            only: references.only,
            index,
            match_full: references.match_full,
            written,
        });
        if let Some(source) = source {
            self.catalog.labelled_edges.insert(EdgeRef { table: id, foreign_key }, source);
        }
        if existing == Existing::Checked {
            self.effects.push(DdlEffect::ValidateForeignKey { table: id, foreign_key });
        }
        Ok(foreign_key)
    }

    /// The table that a foreign key refers to; of `labelled` it was said by a label.
    fn referenced_table(&self, labelled: Option<RelationId>, references: &References) -> Result<RelationId, PlanError> {
        let target = match labelled {
            Some(id) => self.beside(id, &references.table, DefinitionChange::relation)?,
            None => self.relation(&references.table)?,
        };
        if !self.get(target).is_stored() {
            return Err(PlanError::new(
                "42809",
                format!("referenced relation \"{}\" is not a table", references.table.name),
            ));
        }
        Ok(target)
    }

    /// One foreign key said in two ways: its reference and its annotation.
    fn merge_foreign_key(
        &mut self,
        edge: EdgeRef,
        references: &References,
        name: String,
        timing: Timing,
        source: Option<EdgeSource>,
    ) -> Id {
        match source {
            Some(_) => {
                self.catalog.labelled_edges.insert(edge, EdgeSource::Label);
            }
            None if references.annotation.is_some() => {
                self.catalog.labelled_edges.remove(&edge);
            }
            None => {
                self.catalog.labelled_edges.insert(edge, EdgeSource::Label);
            }
        }
        let key = self
            .edit(edge.table)
            .foreign_keys
            .iter_mut()
            .find(|key| key.constraint.id == edge.foreign_key)
            .expect("the caller found this foreign key");
        key.constraint.name = name;
        key.annotation = references.annotation.or(key.annotation);
        key.only |= references.only;
        key.match_full |= references.match_full;
        if timing != Timing::default() {
            (key.constraint.deferrable, key.constraint.initially_deferred) =
                (timing.deferrable, timing.initially_deferred);
        }
        if references.on_delete != ReferentialAction::NoAction {
            key.on_delete = references.on_delete;
        }
        if references.on_update != ReferentialAction::NoAction {
            key.on_update = references.on_update;
        }
        edge.foreign_key
    }

    /// One annotation a column.
    fn require_unannotated(
        &self,
        table: &Table,
        columns: &[ColumnIndex],
        references: &References,
    ) -> Result<(), PlanError> {
        let taken = table.foreign_keys.iter().find(|key| key.annotation.is_some() && key.columns == columns);
        match taken {
            None => Ok(()),
            Some(key) => Err(PlanError::new(
                "42710",
                format!("{} of table \"{}\" is annotated already", columns_phrase(table, columns), table.name),
            )
            .detail(format!("edge: {}", describe_edge(&self.catalog, table, key)))
            .hint("a column has one annotation; drop the other one first")
            .at(Some(references.position))),
        }
    }

    fn target_columns(&self, target: &Table, references: &References) -> Result<Vec<ColumnIndex>, PlanError> {
        if references.columns.is_empty() {
            return target.primary_key_columns().map(<[ColumnIndex]>::to_vec).ok_or_else(|| {
                PlanError::new("42704", format!("there is no primary key for referenced table \"{}\"", target.name))
                    .at(Some(references.position))
            });
        }
        references
            .columns
            .iter()
            .map(|column| {
                target.column_by_name(&column.name).map(|(index, _)| index).ok_or_else(|| {
                    PlanError::new(
                        "42703",
                        format!("column \"{}\" referenced in foreign key constraint does not exist", column.name),
                    )
                    .at(Some(column.position))
                })
            })
            .collect()
    }

    /// An index on exactly these columns: one that exists, or a new automatic one.
    pub(super) fn equality_index(&mut self, id: RelationId, columns: &[ColumnIndex], fresh: bool) -> IndexId {
        if let Some(index) = self.get(id).whole_indexes().find(|index| index.columns == columns) {
            return index.id;
        }
        let name = format!("dogwood_edge_{}", self.catalog.next_id);
        self.add_index(
            id,
            Index {
                id: IndexId(0),
                name,
                columns: columns.to_vec(),
                unique: false,
                automatic: true,
                constraint: None,
                nulls: true,
                declared: IndexDeclaration::default(),
            },
            false,
            fresh,
        )
    }
}

/// 42601: what is computed is not set.
fn refuse_actions_on_generated(
    table: &Table,
    columns: &[ColumnIndex],
    references: &References,
) -> Result<(), PlanError> {
    use ReferentialAction::{Cascade, SetDefault, SetNull};
    let is_generated =
        |column: &ColumnIndex| matches!(table.columns[*column].default, Some(DefaultValue::Generated(_)));
    let event = match (references.on_update, references.on_delete) {
        (SetNull | SetDefault | Cascade, _) => "UPDATE",
        (_, SetNull | SetDefault) => "DELETE",
        _ => return Ok(()),
    };
    if !columns.iter().any(is_generated) {
        return Ok(());
    }
    let message = format!("invalid ON {event} action for foreign key constraint containing generated column");
    Err(PlanError::new("42601", message).at(Some(references.position)))
}

fn require_no_primary_key(table: &Table) -> Result<(), PlanError> {
    match table.primary_key {
        None => Ok(()),
        Some(_) => {
            Err(PlanError::new("42P16", format!("multiple primary keys for table \"{}\" are not allowed", table.name)))
        }
    }
}

/// 42704 for columns whose type has no equality.
pub(super) fn require_indexable(table: &Table, columns: &[ColumnIndex]) -> Result<(), PlanError> {
    for &column in columns {
        let scalar = &table.columns[column].column_type.scalar;
        if !scalar.is_ordered() {
            return Err(no_class("btree", scalar));
        }
    }
    Ok(())
}

/// The referenced columns must be as many, and a primary key or unique, in any order.
fn require_key(
    target: &Table,
    referencing: usize,
    columns: &[ColumnIndex],
    references: &References,
) -> Result<(), PlanError> {
    if referencing != columns.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(PlanError::new("42830", message).at(Some(references.position)));
    }
    let is_key = target.whole_indexes().any(|index| {
        index.unique && index.columns.len() == columns.len() && index.columns.iter().all(|c| columns.contains(c))
    });
    if is_key {
        return Ok(());
    }
    Err(PlanError::new(
        "42830",
        format!("there is no unique constraint matching given keys for referenced table \"{}\"", target.name),
    )
    .at(Some(references.position)))
}

/// A foreign key's column pairs in the order of the key that it refers to: one value then looks up either side. With the places where
/// they are as they were written, if that is another order.
fn in_key_order(
    target: &Table,
    columns: Vec<ColumnIndex>,
    target_columns: Vec<ColumnIndex>,
) -> (Vec<ColumnIndex>, Vec<ColumnIndex>, Vec<usize>) {
    let key = target.whole_indexes().find(|index| {
        index.unique
            && index.columns.len() == target_columns.len()
            && index.columns.iter().all(|column| target_columns.contains(column))
    });
    let Some(key) = key.filter(|key| key.columns != target_columns) else {
        return (columns, target_columns, Vec::new());
    };
    let place = |column: &ColumnIndex, of: &[ColumnIndex]| of.iter().position(|other| other == column);
    let referencing = key.columns.iter().filter_map(|column| Some(columns[place(column, &target_columns)?])).collect();
    let written = target_columns.iter().filter_map(|column| place(column, &key.columns)).collect();
    (referencing, key.columns.clone(), written)
}

/// Whether values of the two types are compared without loss when one is looked up among the other.
pub(super) fn comparable(from: &ScalarType, to: &ScalarType) -> bool {
    use ScalarType::{Float4, Float8, Int2, Int4, Int8, Name, Text, Varchar};
    from == to
        || matches!((from, to), (Int2 | Int4 | Int8, Int2 | Int4 | Int8))
        || matches!((from, to), (Float4 | Float8, Float4 | Float8))
        || matches!((from, to), (Text | Varchar | Name, Text | Varchar | Name))
}

/// `a_b` for names.
pub(super) fn column_list(table: &Table, columns: &[ColumnIndex]) -> String {
    columns.iter().map(|&column| table.columns[column].name.as_str()).collect::<Vec<_>>().join("_")
}

/// `column "a"` or `columns ("a", "b")` for messages.
pub(super) fn columns_phrase(table: &Table, columns: &[ColumnIndex]) -> String {
    let names: Vec<String> = columns.iter().map(|&column| table.columns[column].name.clone()).collect();
    match names.as_slice() {
        [only] => format!("column \"{only}\""),
        several => format!("columns ({})", super::change::quoted(several)),
    }
}

/// `stories.author OWNED_BY users(id)`
pub(super) fn describe_edge(catalog: &crate::catalog::Catalog, table: &Table, key: &ForeignKey) -> String {
    crate::ownership::describe_edge(catalog, table, key)
}

/// An expression without the parentheses around all of it, which each dump would add to.
pub(super) fn unwrapped(text: &str) -> String {
    let text = text.trim();
    match (parse_expression(text), text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'))) {
        (Ok(Expr::Nested(_)), Some(inner)) => unwrapped(inner),
        _ => text.to_owned(),
    }
}

/// That the columns of a foreign key can equal those that it refers to.
pub(super) fn require_comparable(
    (table, target): (&Table, &Table),
    (columns, target_columns): (&[ColumnIndex], &[ColumnIndex]),
    constraint_name: &str,
) -> Result<(), PlanError> {
    for (&from, &to) in columns.iter().zip(target_columns) {
        let (from, to) = (&table.columns[from], &target.columns[to]);
        if !comparable(&from.column_type.scalar, &to.column_type.scalar) {
            return Err(PlanError::new(
                "42804",
                format!("foreign key constraint \"{constraint_name}\" cannot be implemented"),
            )
            .detail(format!(
                "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                from.name,
                to.name,
                from.column_type.scalar.name(),
                to.column_type.scalar.name()
            )));
        }
    }
    Ok(())
}

/// 42P16: a temporary table may go at any time, and is seen by nobody else.
fn require_same_permanence(table: &Table, referenced: &Table, references: &References) -> Result<(), PlanError> {
    let (kind, others) = match (is_temporary(table.id.0), is_temporary(referenced.id.0)) {
        (true, false) => ("temporary", "temporary"),
        (false, true) => ("permanent", "permanent"),
        _ => return Ok(()),
    };
    let message = format!("constraints on {kind} tables may reference only {others} tables");
    Err(PlanError::new("42P16", message).at(Some(references.position)))
}
