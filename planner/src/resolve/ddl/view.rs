//! CREATE VIEW and CREATE MATERIALIZED VIEW, DROP of both, and what renaming does to the texts of views.

use super::change::{DefinitionChange, no_relation};
use super::drop::wrong_kind;
use crate::catalog::{Catalog, Class, Column, Index, IndexDeclaration, NamespaceId, Table, View};
use crate::error::PlanError;
use crate::hir::OutputColumn;
use crate::parse::definition::{CreateView, ViewOptionsChange};
use crate::parse::parse_query;
use crate::parse::statement::{Identifier, ObjectKind, ObjectName};
use crate::resolve::arrange::arrangement_columns;
use crate::resolve::maintainable::check_maintainable;
use crate::resolve::returned::writes_in_with;
use crate::resolve::updatable::why_not_updatable;
use crate::resolve::view::{
    ViewDefinition, check_expansion, define, refuse_access_list, refuse_pseudo_types, rename, rename_columns,
    still_means, view_query,
};
use crate::scalar::collation;
use repr::id::is_temporary;
use repr::{ColumnIndex, ColumnType, IndexId, RelationId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_view(&mut self, create: &CreateView) -> Result<&'static str, PlanError> {
        let tag = if create.materialized { "CREATE MATERIALIZED VIEW" } else { "CREATE VIEW" };
        let mut namespace = self.place_for(&create.name, create.temporary)?;
        let names: Vec<String> = create.columns.iter().map(|column| column.name.clone()).collect();
        let query = parse_query(&create.query.text)?;
        if create.materialized && writes_in_with(&query) {
            let message = "materialized views must not use data-modifying statements in WITH";
            return Err(PlanError::new("0A000", message));
        }
        let definition = define(&create.query.text, &names, self.scope()).map_err(|mut error| {
            // Positions count from the query's own beginning.
            error.position = error.position.map(|at| at + create.query.position.saturating_sub(1));
            error
        })?;
        check_columns(create, &definition.columns)?;
        let name = &create.name.name;
        if definition.reads.keys().any(|id| is_temporary(id.0)) {
            if create.materialized {
                return Err(PlanError::new("0A000", "materialized views must not use temporary tables or views"));
            }
            if namespace != NamespaceId::PG_TEMP {
                self.notice("00000", format!("view \"{name}\" will be a temporary view"));
                namespace = NamespaceId::PG_TEMP;
            }
        } else if create.materialized && namespace == NamespaceId::PG_TEMP {
            return Err(PlanError::unsupported("a materialized view in a temporary schema"));
        }
        if create.if_not_exists && self.kind_in(namespace, name).is_some() {
            self.notice("42P07", format!("relation \"{name}\" already exists, skipping"));
            return Ok(tag);
        }
        let replaced = if create.or_replace { self.replaced_view(namespace, create)? } else { None };
        match replaced {
            Some(id) if !create.materialized => self.redefine(id, definition, &create.upkeep.options)?,
            Some(id) => {
                self.drop_views(BTreeSet::from([id]), false)?;
                self.add_view(namespace, create, definition)?;
            }
            None => self.add_view(namespace, create, definition)?,
        }
        Ok(tag)
    }

    /// The view that OR REPLACE replaces: 42809 if something else has the name.
    fn replaced_view(&self, namespace: NamespaceId, create: &CreateView) -> Result<Option<RelationId>, PlanError> {
        let name = &create.name.name;
        let wanted = if create.materialized { "materialized view" } else { "view" };
        match self.kind_in(namespace, name) {
            None => Ok(None),
            Some(kind) if kind == wanted => Ok(self.catalog.table_in(namespace, name).map(|found| found.id)),
            Some(_) => Err(PlanError::new("42809", format!("\"{name}\" is not a {wanted}"))),
        }
    }

    fn add_view(
        &mut self,
        namespace: NamespaceId,
        create: &CreateView,
        definition: ViewDefinition,
    ) -> Result<(), PlanError> {
        let name = &create.name.name;
        self.require_free(namespace, name)?;
        self.require_no_type(namespace, name)?;
        let id = RelationId(self.next_id());
        let table = Table {
            columns: definition.columns.iter().map(column).collect(),
            view: Some(View {
                query: definition.query,
                materialized: create.materialized,
                reads: definition.reads,
                primary_keys: definition.primary_keys,
                options: create.upkeep.options.clone(),
            }),
            max_lag_ms: create.upkeep.max_lag_ms,
            ..Table::new(id, namespace, name)
        };
        let view = table.view.as_ref().map_or("", |view| &view.query);
        check_expansion(view, &self.catalog)?;
        self.catalog.add_relation(Arc::new(table));
        require_updatable(&self.catalog, id)?;
        if create.materialized {
            check_maintainable(&view_query(&self.catalog, id)?)?;
            self.guess_arrangement(id)?;
        }
        Ok(())
    }

    /// A maintained view's rows are always arranged in some way: by a guess, as long as nobody says how.
    pub(super) fn guess_arrangement(&mut self, view: RelationId) -> Result<(), PlanError> {
        let query = view_query(&self.catalog, view)?;
        let columns = arrangement_columns(&self.catalog, &query);
        let index = IndexId(self.next_id());
        let name = format!("dogwood_view_{}", index.0);
        let index = Index {
            id: index,
            name,
            columns,
            unique: false,
            automatic: true,
            constraint: None,
            nulls: false,
            declared: IndexDeclaration::default(),
        };
        self.edit(view).indexes.push(index);
        Ok(())
    }

    /// OR REPLACE of a plain view: columns stay as they are, and others may follow.
    fn redefine(
        &mut self,
        id: RelationId,
        definition: ViewDefinition,
        options: &[(String, String)],
    ) -> Result<(), PlanError> {
        let table = Arc::clone(self.get(id));
        if definition.columns.len() < table.columns.len() {
            return Err(PlanError::new("42P16", "cannot drop columns from view"));
        }
        for (old, new) in table.columns.iter().zip(&definition.columns) {
            if old.name != new.name {
                return Err(PlanError::new(
                    "42P16",
                    format!("cannot change name of view column \"{}\" to \"{}\"", old.name, new.name),
                )
                .hint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."));
            }
            let (was, is) = (&old.column_type, &new.column_type);
            if was.scalar != is.scalar || was.modifier != is.modifier {
                return Err(PlanError::new(
                    "42P16",
                    format!(
                        "cannot change data type of view column \"{}\" from {} to {}",
                        old.name,
                        was.scalar.format_type(was.modifier),
                        is.scalar.format_type(is.modifier)
                    ),
                ));
            }
        }
        for (old, new) in table.columns.iter().zip(&definition.columns) {
            let (was, is) = (old.column_type.collation, new.column_type.collation);
            if was != is {
                let name = |collation| collation::name(collation).unwrap_or("default");
                let (name, was, is) = (&old.name, name(was), name(is));
                let message = format!("cannot change collation of view column \"{name}\" from \"{was}\" to \"{is}\"");
                return Err(PlanError::new("42P16", message));
            }
        }
        let above = self.views_over(BTreeSet::from([id]));
        if definition.reads.keys().any(|read| *read == id || above.contains(read)) {
            return Err(PlanError::new(
                "42P17",
                format!("infinite recursion detected in rules for relation \"{}\"", table.name),
            ));
        }
        if let Some(view) = above.into_iter().find(|view| self.get(*view).is_maintained()) {
            return Err(PlanError::unsupported("replacing a view that a materialized view reads").hint(format!(
                "drop materialized view \"{}\", replace the view, and create the materialized view again",
                self.get(view).name
            )));
        }
        check_expansion(&definition.query, &self.catalog)?;
        let table = self.edit(id);
        table.columns.extend(definition.columns[table.columns.len()..].iter().map(column));
        if let Some(view) = &mut table.view {
            (view.query, view.reads, view.primary_keys) = (definition.query, definition.reads, definition.primary_keys);
            view.options = options.to_vec();
        }
        require_updatable(&self.catalog, id)
    }

    /// DROP VIEW and DROP MATERIALIZED VIEW.
    pub(super) fn drop_views_named(
        &mut self,
        materialized: bool,
        if_exists: bool,
        names: &[ObjectName],
        cascade: bool,
    ) -> Result<(), PlanError> {
        let what = if materialized { "materialized view" } else { "view" };
        let mut dropped = BTreeSet::new();
        for name in names {
            match self.find_to_drop(name, what, if_exists)? {
                Some(Class::Relation(view)) if view.kind() == what => {
                    dropped.insert(view.id);
                }
                Some(other) => return Err(wrong_kind(name, what, other.kind())),
                None => {}
            }
        }
        self.drop_views(dropped, cascade)
    }

    fn drop_views(&mut self, dropped: BTreeSet<RelationId>, cascade: bool) -> Result<(), PlanError> {
        for &id in &dropped {
            let table = Arc::clone(self.get(id));
            let what = format!("{} {}", table.kind(), self.shown(&table));
            self.drop_dependents(&what, Vec::new(), self.readers(id, None), &dropped, cascade)?;
        }
        for id in dropped {
            self.remove_view(id);
        }
        Ok(())
    }

    /// Takes a view away; nothing of it is stored.
    pub(super) fn remove_view(&mut self, id: RelationId) {
        if let Some(table) = self.catalog.remove_relation(id) {
            for index in &table.indexes {
                self.catalog.comments.remove(&index.id.0);
            }
        }
    }

    /// The view of that name: 42P01 if there is none, 42809 if it is something else.
    pub(super) fn view(&self, name: &ObjectName, materialized: bool) -> Result<RelationId, PlanError> {
        let wanted = if materialized { "materialized view" } else { "view" };
        match self.find(name)? {
            Some(Class::Relation(view)) if view.kind() == wanted => Ok(view.id),
            Some(_) => {
                Err(PlanError::new("42809", format!("\"{}\" is not a {wanted}", name.name)).at(Some(name.position)))
            }
            None => Err(no_relation(name)),
        }
    }

    /// Views that read a relation themselves, or one of its columns.
    pub(super) fn readers(&self, id: RelationId, column: Option<ColumnIndex>) -> Vec<RelationId> {
        let reads = |view: &View| match (view.reads.get(&id), column) {
            (Some(_), None) => true,
            (Some(columns), Some(column)) => columns.contains(&column),
            (None, _) => false,
        };
        let views = self.catalog.relations.values();
        views.filter(|table| table.view.as_ref().is_some_and(reads)).map(|table| table.id).collect()
    }

    /// Views over these relations, through other views too.
    fn views_over(&self, mut open: BTreeSet<RelationId>) -> BTreeSet<RelationId> {
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop_first() {
            open.extend(self.readers(id, None).into_iter().filter(|view| found.insert(*view)));
        }
        found
    }

    /// Texts of views with a relation, or one of its columns, under a new name; before it has it.
    pub(super) fn renamed_texts(
        &self,
        id: RelationId,
        column: Option<ColumnIndex>,
        new: &str,
    ) -> Result<Vec<(RelationId, String)>, PlanError> {
        self.readers(id, column)
            .into_iter()
            .filter_map(|reader| Some((reader, &self.catalog.table(reader)?.view.as_ref()?.query)))
            .map(|(reader, text)| Ok((reader, rename(text, &self.catalog, id, column, new)?)))
            .collect()
    }

    /// ALTER [MATERIALIZED] VIEW … RENAME [COLUMN] a TO b
    pub(super) fn rename_view_column(
        &mut self,
        id: RelationId,
        old: &Identifier,
        new: &Identifier,
    ) -> Result<(), PlanError> {
        let index = self.begin_column_rename(id, old, new)?;
        let table = Arc::clone(self.get(id));
        let mut names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
        names[index].clone_from(&new.name);
        let text = table.view.as_ref().map(|view| rename_columns(&view.query, &names, &self.catalog)).transpose()?;
        self.set_texts(text.map(|text| (id, text)).into_iter().collect());
        self.edit(id).columns[index].name.clone_from(&new.name);
        Ok(())
    }

    /// The same by ALTER VIEW.
    pub(super) fn alter_view_column(
        &mut self,
        materialized: bool,
        if_exists: bool,
        name: &ObjectName,
        old: &Identifier,
        new: &Identifier,
    ) -> Result<&'static str, PlanError> {
        let tag = if materialized { "ALTER MATERIALIZED VIEW" } else { "ALTER VIEW" };
        match self.view(name, materialized) {
            Ok(id) => self.rename_view_column(id, old, new)?,
            Err(error) if if_exists && error.code == "42P01" => {
                self.notice("00000", format!("{error}, skipping"));
            }
            Err(error) => return Err(error),
        }
        Ok(tag)
    }

    /// ALTER MATERIALIZED VIEW … SET (max_lag = …)
    pub(super) fn set_max_lag(
        &mut self,
        if_exists: bool,
        name: &ObjectName,
        max_lag_ms: u64,
    ) -> Result<&'static str, PlanError> {
        let tag = self.alter_nothing(ObjectKind::MaterializedView, if_exists, name)?;
        if self.find(name).is_ok_and(|found| found.is_some()) {
            let id = self.view(name, true)?;
            self.edit(id).max_lag_ms = max_lag_ms;
        }
        Ok(tag)
    }

    /// ALTER VIEW … SET (…), RESET (…)
    pub(super) fn set_view_options(
        &mut self,
        if_exists: bool,
        name: &ObjectName,
        change: &ViewOptionsChange,
    ) -> Result<&'static str, PlanError> {
        let ViewOptionsChange { set, reset } = change;
        let tag = self.alter_nothing(ObjectKind::View, if_exists, name)?;
        if self.find(name).is_ok_and(|found| found.is_some()) {
            let id = self.view(name, false)?;
            if let Some(view) = &mut self.edit(id).view {
                view.options.retain(|(known, _)| !reset.contains(known) && !set.iter().any(|(own, _)| own == known));
                view.options.extend(set.iter().cloned());
            }
            require_updatable(&self.catalog, id)?;
        }
        Ok(tag)
    }

    pub(super) fn set_texts(&mut self, texts: Vec<(RelationId, String)>) {
        for (id, text) in texts {
            if let Some(view) = &mut self.edit(id).view {
                view.query = text;
            }
        }
    }

    /// Whether all views mean what they meant.
    pub(super) fn check_views(&self, old: &Catalog) -> Result<(), PlanError> {
        still_means(old, &self.catalog, self.relabel.as_ref())
    }
}

/// 0A000 for WITH CHECK OPTION of a view by which nothing can be written.
fn require_updatable(catalog: &Catalog, id: RelationId) -> Result<(), PlanError> {
    let Some(table) = catalog.table(id) else { return Ok(()) };
    if table.view.as_ref().is_none_or(|view| view.check_option().is_none()) {
        return Ok(());
    }
    match why_not_updatable(catalog, table) {
        None => Ok(()),
        Some(why) => {
            let message = "WITH CHECK OPTION is supported only on automatically updatable views";
            Err(PlanError::new("0A000", message).hint(why))
        }
    }
}

fn column(output: &OutputColumn) -> Column {
    Column::new(&output.name, ColumnType { nullable: true, ..output.column_type.clone() })
}

fn check_columns(create: &CreateView, columns: &[OutputColumn]) -> Result<(), PlanError> {
    if create.columns.len() > columns.len() {
        let message = if create.materialized {
            "too many column names were specified"
        } else {
            "CREATE VIEW specifies more column names than columns"
        };
        return Err(PlanError::new("42601", message));
    }
    if columns.is_empty() && create.materialized {
        return Err(PlanError::unsupported("a materialized view without columns").hint("select at least one column"));
    }
    let mut names = BTreeSet::new();
    if let Some(twice) = columns.iter().find(|column| !names.insert(&column.name)) {
        return Err(PlanError::new("42701", format!("column \"{}\" specified more than once", twice.name)));
    }
    if create.materialized {
        columns.iter().try_for_each(|column| refuse_access_list(&column.column_type.scalar))?;
    }
    refuse_pseudo_types(columns)
}
