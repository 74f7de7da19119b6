//! CREATE INDEX and DROP INDEX, and what becomes of indexes that edges need.

use super::change::{DefinitionChange, no_relation};
use super::constraint::{require_indexable, unwrapped};
use super::drop::wrong_kind;
use super::index_key::key_names;
use super::rewrite;
use super::{DdlEffect, ExpressionPurpose};
use crate::catalog::{Class, Index, IndexDeclaration, IndexMethod, IndexPredicate, Property, Table};
use crate::error::PlanError;
use crate::parse::definition::{CreateIndex, IndexKey};
use crate::parse::statement::ObjectName;
use crate::resolve::identity::tells_rows_apart;
use repr::{ColumnIndex, IndexId, RelationId};
use std::sync::Arc;

/// A maintained view's index is one more order of its rows in memory.
fn refuse_index_of_view(view: &Table, create: &CreateIndex) -> Result<(), PlanError> {
    if !view.is_maintained() {
        return Err(PlanError::new("42809", format!("cannot create index on relation \"{}\"", view.name))
            .detail("This operation is not supported for views."));
    }
    if create.elements.iter().any(|element| matches!(element.key, IndexKey::Expression(_))) {
        return Err(PlanError::unsupported("an index on an expression over a materialized view")
            .hint("have the view's query compute it, and index that column"));
    }
    if create.predicate.is_some() {
        return Err(PlanError::unsupported("a partial index on a materialized view")
            .hint("put the condition into the view's query, or index it without WHERE"));
    }
    Ok(())
}

/// Whether expired rows are found by an index.
fn finds_expired(table: &Table, index: &Index) -> bool {
    table.property(Property::Expires).is_some_and(|column| index.columns == [column])
}

/// What PostgreSQL's indexes of other methods than btree cannot do, though these could.
fn refuse_of_method(create: &CreateIndex, method: IndexMethod) -> Result<(), PlanError> {
    let what = if method == IndexMethod::Btree {
        return Ok(());
    } else if create.unique {
        "unique indexes"
    } else if !create.include.is_empty() {
        "included columns"
    } else if create.elements.len() > 1 && method == IndexMethod::Hash {
        "multicolumn indexes"
    } else if create.elements.iter().any(|element| element.descending) {
        "ASC/DESC options"
    } else if create.elements.iter().any(|element| element.nulls_first.is_some()) {
        "NULLS FIRST/LAST options"
    } else {
        return Ok(());
    };
    Err(PlanError::new("0A000", format!("access method \"{}\" does not support {what}", method.name())))
}

/// The method that is asked for, for an index that it can be of.
fn method_of(create: &CreateIndex, table: &Table) -> Result<IndexMethod, PlanError> {
    let Some(name) = &create.method else { return Ok(IndexMethod::Btree) };
    let method = IndexMethod::named(name).ok_or_else(|| match name.as_str() {
        "gist" | "spgist" => PlanError::unsupported(format!("access method \"{name}\"")).hint("use btree or gin"),
        _ => PlanError::new("42704", format!("access method \"{name}\" does not exist")),
    })?;
    refuse_of_method(create, method)?;
    if method == IndexMethod::Gin && !table.is_stored() {
        return Err(PlanError::unsupported("an index of method gin on a materialized view")
            .hint("index the tables that its query reads"));
    }
    Ok(method)
}

impl DefinitionChange<'_> {
    pub(super) fn create_index(&mut self, create: &CreateIndex) -> Result<&'static str, PlanError> {
        const TAG: &str = "CREATE INDEX";
        let id = self.relation(&create.table)?;
        let table = Arc::clone(self.get(id));
        if !table.is_stored() {
            refuse_index_of_view(&table, create)?;
        }
        let keys = self.index_keys(&table, create)?;
        let method = method_of(create, &table)?;
        if let Some(name) = &create.name {
            if create.if_not_exists && self.kind_in(table.namespace, &name.name).is_some() {
                self.notice("42P07", format!("relation \"{}\" already exists, skipping", name.name));
                return Ok(TAG);
            }
            self.require_free(table.namespace, &name.name)?;
        }
        let columns = self.columns_of_keys(id, &keys, false)?;
        let table = Arc::clone(self.get(id));
        if create.unique && !table.is_stored() {
            self.refuse_unique_order(id, &columns)?;
        }
        let include = self.included_columns(id, &columns, &create.include)?;
        let declared = columns.iter().zip(&create.elements);
        let declared = declared.map(|(&column, element)| self.index_column(&table, column, element, method));
        let declared = IndexDeclaration {
            method,
            columns: declared.collect::<Result<_, _>>()?,
            include,
            nulls_not_distinct: create.nulls_not_distinct,
            predicate: self.index_predicate(&table, create)?,
        };
        if method != IndexMethod::Gin {
            require_indexable(&table, &columns)?;
        }
        let name = match &create.name {
            Some(name) => name.name.clone(),
            None => {
                let named = key_names(&table, &declared.all_columns(&columns)).join("_");
                self.relation_name(&table.name, &named, "idx", &table)
            }
        };
        // An automatic index on the same columns is the index asked for: it only gets a name.
        if !create.unique
            && method != IndexMethod::Gin
            && declared.predicate.is_none()
            && let Some(found) =
                self.edit(id).indexes.iter_mut().find(|found| found.automatic && found.columns == columns)
        {
            found.automatic = false;
            found.name = name;
            found.declared = declared;
            return Ok(TAG);
        }
        let index = Index {
            id: IndexId(0),
            name,
            columns,
            unique: create.unique,
            automatic: false,
            constraint: None,
            nulls: table.is_stored(),
            declared,
        };
        if !table.is_stored() {
            // Each is a copy of all rows: what is asked for stands in the place of the guess.
            self.edit(id).indexes.retain(|found| !found.automatic);
        }
        self.add_index(id, index, false, !table.is_stored());
        Ok(TAG)
    }

    /// 0A000 for a unique index on columns in which rows of a view may be alike.
    fn refuse_unique_order(&self, view: RelationId, columns: &[ColumnIndex]) -> Result<(), PlanError> {
        if tells_rows_apart(&self.catalog, view, columns)? {
            return Ok(());
        }
        let what = "a unique index on columns by which the view's query does not tell its rows apart";
        Err(PlanError::unsupported(what)
            .hint("Name all columns that it groups by, or a key of each table that it reads; or leave UNIQUE out."))
    }

    /// Which rows a partial index is of.
    fn index_predicate(&self, table: &Table, create: &CreateIndex) -> Result<Option<IndexPredicate>, PlanError> {
        let Some(text) = &create.predicate else { return Ok(None) };
        self.check_expression(ExpressionPurpose::IndexPredicate, text, table)?;
        let columns = rewrite::columns_used(&text.text, table);
        Ok(Some(IndexPredicate { expression: unwrapped(&self.kept(&text.text)), columns }))
    }

    /// DROP INDEX of one name.
    pub(super) fn drop_index(&mut self, name: &ObjectName, if_exists: bool, cascade: bool) -> Result<(), PlanError> {
        let (table, index) = match self.find_to_drop(name, "index", if_exists)? {
            Some(Class::Index(table, index)) if table.is_stored() || !index.automatic => (table.id, index.id),
            Some(Class::Index(..)) => return Err(no_relation(name)),
            Some(other) => return Err(wrong_kind(name, "index", other.kind()).at(Some(name.position))),
            None => return Ok(()),
        };
        let found = Arc::clone(self.get(table));
        let entry = found.index(index).expect("the name led to it");
        if let Some(constraint) = &entry.constraint {
            return Err(PlanError::new(
                "2BP01",
                format!(
                    "cannot drop index {} because constraint {} on table {} requires it",
                    self.scope().spelled_index(&found, entry),
                    constraint.name,
                    self.shown(&found)
                ),
            )
            .hint(format!(
                "You can drop constraint {} on table {} instead.",
                constraint.name,
                self.shown(&found)
            )));
        }
        let shown = self.scope().spelled_index(&found, entry);
        self.drop_keys_that_need(table, index, &format!("index {shown}"), cascade)?;
        self.remove_index(table, index);
        if !found.is_stored() && self.get(table).indexes.is_empty() {
            self.guess_arrangement(table)?;
        }
        Ok(())
    }

    /// Takes an index away; foreign keys that looked up by it get another one.
    pub(super) fn remove_index(&mut self, table: RelationId, index: IndexId) {
        let found = Arc::clone(self.get(table));
        let Some(entry) = found.index(index) else { return };
        let keys: Vec<_> = found.foreign_keys.iter().filter(|key| key.index == index).collect();
        let stand_in = found.whole_indexes().find(|other| other.id != index && other.columns == entry.columns);
        let is_needed = !keys.is_empty() || finds_expired(&found, entry);
        if is_needed && stand_in.is_none() && !entry.unique {
            // The edge still needs it: it becomes automatic again, and nothing is rebuilt.
            let name = format!("dogwood_edge_{}", index.0);
            if let Some(entry) = self.edit(table).indexes.iter_mut().find(|found| found.id == index) {
                entry.automatic = true;
                entry.name = name;
                entry.declared = IndexDeclaration::default();
            }
            return;
        }
        let columns = entry.columns.clone();
        let primary = found.primary_key == Some(index);
        {
            let table = self.edit(table);
            table.indexes.retain(|found| found.id != index);
            if primary {
                table.primary_key = None;
            }
        }
        if found.is_stored() {
            self.effects.push(DdlEffect::DropIndex { table, index });
            self.drop_unused_expressions(table, &columns);
        }
        if !keys.is_empty() {
            let other = self.equality_index(table, &columns, false);
            for key in &mut self.edit(table).foreign_keys {
                if key.index == index {
                    key.index = other;
                }
            }
        }
    }

    /// Takes an automatic index away once no foreign key looks up by it.
    pub(super) fn release_index(&mut self, table: RelationId, index: IndexId) {
        let found = self.get(table);
        let needed = found.foreign_keys.iter().any(|key| key.index == index)
            || found.index(index).is_some_and(|entry| finds_expired(found, entry));
        let automatic = found.index(index).is_some_and(|entry| entry.automatic);
        if automatic && !needed {
            self.remove_index(table, index);
        }
    }
}
