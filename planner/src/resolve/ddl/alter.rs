//! ALTER TABLE, one action after another, and the renaming of other objects.

use super::change::{DefinitionChange, no_relation};
use super::column::{ColumnSequence, require_identity_type};
use super::names::has_constraint;
use super::{DdlEffect, ExpressionPurpose, RewriteColumn, RewriteValue, rewrite};
use crate::catalog::{Class, DefaultValue, EdgeRef};
use crate::error::PlanError;
use crate::parse::definition::{AlterTable, AlterTableAction, ColumnDefinition, SequenceOptions, Timing};
use crate::parse::statement::{Identifier, ObjectKind, ObjectName, SqlText};
use repr::{ColumnIndex, RelationId};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) -> Result<&'static str, PlanError> {
        let tag = alter_tag(alter.kind);
        if alter.if_exists && self.is_missing(&alter.name)? {
            return Ok(tag);
        }
        if let ObjectKind::View | ObjectKind::MaterializedView = alter.kind {
            self.view(&alter.name, alter.kind == ObjectKind::MaterializedView)?;
        }
        // pg_dump alters views and sequences with ALTER TABLE, to give them owners.
        let harmless = alter.actions.iter().all(|action| matches!(action, AlterTableAction::Nothing));
        match self.find(&alter.name)? {
            Some(_) if harmless => return Ok(tag),
            Some(Class::Sequence(sequence)) => {
                let id = sequence.id;
                return match alter.actions.as_slice() {
                    [AlterTableAction::SetSchema(schema)] => {
                        self.set_schema_of_sequence(id, schema)?;
                        Ok(tag)
                    }
                    [AlterTableAction::RenameTable(new)] => {
                        self.rename(ObjectKind::Sequence, false, &alter.name, new)?;
                        Ok(tag)
                    }
                    [AlterTableAction::OwnerTo(owner)] => {
                        self.change_owner(ObjectKind::Sequence, false, &alter.name, owner).map(|_| tag)
                    }
                    _ => self.relation(&alter.name).map(|_| tag),
                };
            }
            Some(Class::Index(..)) => {
                if let [AlterTableAction::RenameTable(new)] = alter.actions.as_slice() {
                    self.rename(ObjectKind::Index, false, &alter.name, new)?;
                    return Ok(tag);
                }
            }
            Some(_) | None => {}
        }
        let id = self.relation(&alter.name)?;
        for action in &alter.actions {
            self.refuse_for_view(id, action)?;
            self.refuse_if_held(id, action)?;
            self.alter_table_action(id, action)?;
        }
        Ok(tag)
    }

    /// Of a view, ALTER TABLE changes names, and what its columns have where an INSERT says nothing.
    fn refuse_for_view(&self, id: RelationId, action: &AlterTableAction) -> Result<(), PlanError> {
        let table = self.get(id);
        if table.is_stored()
            || matches!(action, AlterTableAction::SetDefault(..) | AlterTableAction::DropDefault(_) if !table.is_maintained())
            || matches!(
                action,
                AlterTableAction::RenameTable(_)
                    | AlterTableAction::RenameColumn(..)
                    | AlterTableAction::SetSchema(_)
                    | AlterTableAction::OwnerTo(_)
                    | AlterTableAction::Nothing
            )
        {
            return Ok(());
        }
        let what = match action {
            AlterTableAction::AddColumn { .. } => "ADD COLUMN",
            AlterTableAction::DropColumn { .. } => "DROP COLUMN",
            AlterTableAction::AlterType { .. } => "ALTER COLUMN ... SET DATA TYPE",
            AlterTableAction::SetNotNull(_) => "ALTER COLUMN ... SET NOT NULL",
            AlterTableAction::DropNotNull(_) => "ALTER COLUMN ... DROP NOT NULL",
            AlterTableAction::AddConstraint(_) => "ADD CONSTRAINT",
            AlterTableAction::DropConstraint { .. } => "DROP CONSTRAINT",
            AlterTableAction::AlterConstraint(..) => "ALTER CONSTRAINT",
            AlterTableAction::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
            AlterTableAction::SetDataSubject | AlterTableAction::DropDataSubject => "DATA_SUBJECT",
            AlterTableAction::AnnotateConstraint(..)
            | AlterTableAction::SetAnnotation(..)
            | AlterTableAction::DropAnnotation(..)
            | AlterTableAction::SetProperty(..)
            | AlterTableAction::DropProperty(..)
            | AlterTableAction::SetRetention(_)
            | AlterTableAction::ResetRetention(_)
            | AlterTableAction::AddRule(_)
            | AlterTableAction::DropRule(_) => "an annotation",
            AlterTableAction::SetDefault(..) | AlterTableAction::DropDefault(_) => "ALTER COLUMN ... SET DEFAULT",
            AlterTableAction::DropExpression { .. }
            | AlterTableAction::AddIdentity { .. }
            | AlterTableAction::SetIdentity { .. }
            | AlterTableAction::DropIdentity { .. }
            | AlterTableAction::RenameConstraint(..)
            | AlterTableAction::RenameTable(_)
            | AlterTableAction::RenameColumn(..)
            | AlterTableAction::SetSchema(_)
            | AlterTableAction::OwnerTo(_)
            | AlterTableAction::RowSecurity(_)
            | AlterTableAction::EnableTriggers { .. }
            | AlterTableAction::Nothing => "this action",
            AlterTableAction::Refused(what) => return Err(PlanError::unsupported(what)),
        };
        Err(PlanError::new("42809", format!("ALTER action {what} cannot be performed on relation \"{}\"", table.name))
            .detail(format!("This operation is not supported for {}s.", table.kind())))
    }

    /// DG006 where a hold keeps rows: what is kept is kept as it is, and what says which rows names columns.
    fn refuse_if_held(&self, id: RelationId, action: &AlterTableAction) -> Result<(), PlanError> {
        match action {
            AlterTableAction::DropColumn { .. }
            | AlterTableAction::RenameColumn(..)
            | AlterTableAction::AlterType { .. } => {
                crate::catalog::hold::refuse_held(&self.catalog.relations, id, "change columns of")
            }
            _ => Ok(()),
        }
    }

    fn alter_table_action(&mut self, id: RelationId, action: &AlterTableAction) -> Result<(), PlanError> {
        match action {
            AlterTableAction::AddColumn { if_not_exists, column } => self.add_column(id, *if_not_exists, column),
            AlterTableAction::DropColumn { if_exists, column, behavior } => {
                self.drop_column(id, *if_exists, column, *behavior)
            }
            AlterTableAction::AlterType { column, type_name, collation, using } => {
                self.alter_type(id, column, (type_name, collation.as_ref()), using.as_ref())
            }
            AlterTableAction::SetDefault(column, text) => self.set_default(id, column, text),
            AlterTableAction::DropDefault(column) => self.drop_default(id, column),
            AlterTableAction::SetNotNull(column) => {
                let column = self.column(id, column)?;
                self.set_not_null(id, &[column], false);
                Ok(())
            }
            AlterTableAction::DropNotNull(column) => self.drop_not_null(id, column),
            AlterTableAction::DropExpression { column, if_exists } => self.drop_expression(id, column, *if_exists),
            AlterTableAction::AddIdentity { column, always, options } => {
                self.add_identity(id, column, *always, options)
            }
            AlterTableAction::SetIdentity { column, always, options } => {
                self.set_identity(id, column, *always, options)
            }
            AlterTableAction::DropIdentity { column, if_exists } => self.drop_identity(id, column, *if_exists),
            AlterTableAction::AddConstraint(constraint) => self.add_constraint(id, constraint, false),
            AlterTableAction::DropConstraint { name, if_exists, behavior } => {
                self.drop_constraint(id, name, *if_exists, *behavior)
            }
            AlterTableAction::ValidateConstraint(name) => self.validate_constraint(id, name),
            AlterTableAction::AlterConstraint(name, timing) => self.alter_constraint(id, name, *timing),
            AlterTableAction::AnnotateConstraint(name, new, old) => self.annotate_constraint(id, name, *new, *old),
            AlterTableAction::RenameColumn(old, new) if !self.get(id).is_stored() => {
                self.rename_view_column(id, old, new)
            }
            AlterTableAction::RenameColumn(old, new) => self.rename_column(id, old, new),
            AlterTableAction::RenameConstraint(old, new) => self.rename_constraint(id, old, new),
            AlterTableAction::RenameTable(new) => self.rename_table(id, new),
            AlterTableAction::SetAnnotation(column, references) => self.set_annotation(id, column, references),
            AlterTableAction::DropAnnotation(column, kind) => self.drop_annotation(id, column, *kind),
            AlterTableAction::SetProperty(column, property) => {
                let index = self.column(id, column)?;
                self.give_property(id, index, *property).map_err(|error| error.at(Some(column.position)))
            }
            AlterTableAction::DropProperty(column, property) => self.drop_property(id, column, *property),
            AlterTableAction::SetRetention(written) => self.set_retention(id, written),
            AlterTableAction::ResetRetention(names) => {
                self.reset_retention(id, names);
                Ok(())
            }
            AlterTableAction::SetDataSubject | AlterTableAction::DropDataSubject => {
                self.edit(id).data_subject = matches!(action, AlterTableAction::SetDataSubject);
                Ok(())
            }
            AlterTableAction::AddRule(rule) => self.add_rule(id, rule),
            AlterTableAction::DropRule(rule) => self.drop_rule(id, rule),
            AlterTableAction::Nothing => Ok(()),
            AlterTableAction::OwnerTo(owner) => self.give_table(id, owner),
            AlterTableAction::RowSecurity(change) => {
                self.change_row_security(id, *change);
                Ok(())
            }
            AlterTableAction::EnableTriggers { name, enabled } => self.enable_triggers(id, name.as_ref(), *enabled),
            AlterTableAction::SetSchema(schema) => self.set_schema_of_relation(id, schema),
            AlterTableAction::Refused(what) => Err(PlanError::unsupported(what)),
        }
    }

    pub(super) fn add_column(
        &mut self,
        id: RelationId,
        if_not_exists: bool,
        definition: &ColumnDefinition,
    ) -> Result<(), PlanError> {
        let table = self.get(id).name.clone();
        let name = &definition.name;
        if self.get(id).column_by_name(&name.name).is_some() {
            let message = format!("column \"{}\" of relation \"{table}\" already exists", name.name);
            if if_not_exists {
                self.notice("42701", format!("{message}, skipping"));
                return Ok(());
            }
            return Err(PlanError::new("42701", message).at(Some(name.position)));
        }
        let new = self.new_column(id, definition)?;
        let index = self.get(id).columns.len();
        let column_type = new.column.column_type.clone();
        self.require_no_own_row(id, &column_type)?;
        self.require_unused_row_type(id)?;
        let entry = self.edit(id);
        entry.columns.push(new.column.clone());
        entry.schema_version += 1;
        self.give_value_source(id, index, &new)?;
        let inherited = self.catalog.types.get(&column_type.domain).and_then(|found| found.domain()?.default.clone());
        let value = match &self.get(id).columns[index].default {
            None => inherited.map(RewriteValue::Default),
            Some(DefaultValue::Expr(text)) if text.eq_ignore_ascii_case("null") => None,
            Some(DefaultValue::Expr(text)) => Some(RewriteValue::Default(text.clone())),
            Some(DefaultValue::Serial(sequence) | DefaultValue::Identity { sequence, .. }) => {
                Some(RewriteValue::NextValue(*sequence))
            }
            Some(DefaultValue::Generated(text)) => Some(RewriteValue::Generated(text.clone())),
        };
        if let Some(value) = value {
            let column = RewriteColumn { column: index, value, column_type: column_type.clone() };
            self.effects.push(DdlEffect::RewriteTable { table: id, columns: vec![column] });
        }
        if column_type.domain != 0 {
            self.validate_domain(id, index);
        }
        if !column_type.nullable {
            self.effects.push(DdlEffect::ValidateNotNull { table: id, column: index });
        }
        self.take_property_of(id, index, &new)?;
        self.add_constraints(id, &new.constraints, false)
    }

    fn set_default(&mut self, id: RelationId, column: &Identifier, text: &SqlText) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = Arc::clone(self.get(id));
        self.refuse_special_default(id, index, column)?;
        self.check_expression(ExpressionPurpose::Default(&table.columns[index]), text, &table)?;
        self.edit(id).columns[index].default = Some(self.default_of(text));
        Ok(())
    }

    fn drop_default(&mut self, id: RelationId, column: &Identifier) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        self.refuse_special_default(id, index, column)?;
        self.edit(id).columns[index].default = None;
        Ok(())
    }

    /// Identity and generated columns have no default to change.
    fn refuse_special_default(&self, id: RelationId, index: usize, column: &Identifier) -> Result<(), PlanError> {
        let table = self.get(id);
        let (what, hint) = match &table.columns[index].default {
            Some(DefaultValue::Identity { .. }) => {
                ("an identity column", "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.")
            }
            Some(DefaultValue::Generated(_)) => {
                ("a generated column", "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")
            }
            Some(DefaultValue::Expr(_) | DefaultValue::Serial(_)) | None => return Ok(()),
        };
        Err(PlanError::new("42601", format!("column \"{}\" of relation \"{}\" is {what}", column.name, table.name))
            .hint(hint)
            .at(Some(column.position)))
    }

    fn drop_not_null(&mut self, id: RelationId, column: &Identifier) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        if table.primary_key_columns().is_some_and(|key| key.contains(&index)) {
            return Err(PlanError::new("42P16", format!("column \"{}\" is in a primary key", column.name))
                .at(Some(column.position)));
        }
        if matches!(table.columns[index].default, Some(DefaultValue::Identity { .. })) {
            return Err(PlanError::new(
                "42601",
                format!("column \"{}\" of relation \"{}\" is an identity column", column.name, table.name),
            )
            .at(Some(column.position)));
        }
        self.edit(id).columns[index].column_type.nullable = true;
        Ok(())
    }

    fn drop_expression(&mut self, id: RelationId, column: &Identifier, if_exists: bool) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        if matches!(table.columns[index].default, Some(DefaultValue::Generated(_))) {
            self.edit(id).columns[index].default = None;
            return Ok(());
        }
        let message =
            format!("column \"{}\" of relation \"{}\" is not a stored generated column", column.name, table.name);
        if if_exists {
            self.notice("00000", format!("{message}, skipping"));
            return Ok(());
        }
        Err(PlanError::new("55000", message).at(Some(column.position)))
    }

    fn add_identity(
        &mut self,
        id: RelationId,
        column: &Identifier,
        always: bool,
        options: &SequenceOptions,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = Arc::clone(self.get(id));
        let entry = &table.columns[index];
        let refuse = |what: &str| {
            Err(PlanError::new("55000", format!("column \"{}\" of relation \"{}\" {what}", column.name, table.name))
                .at(Some(column.position)))
        };
        if entry.column_type.nullable {
            return refuse("must be declared NOT NULL before identity can be added");
        }
        match &entry.default {
            None => {}
            Some(DefaultValue::Identity { .. }) => return refuse("is already an identity column"),
            Some(_) => return refuse("already has a default value"),
        }
        let scalar = entry.column_type.scalar.clone();
        require_identity_type(&scalar)?;
        let sequence = ColumnSequence { identity: Some(always), options: options.clone(), scalar };
        let value = self.create_column_sequence(id, index, &sequence)?;
        self.edit(id).columns[index].default = Some(value);
        Ok(())
    }

    fn set_identity(
        &mut self,
        id: RelationId,
        column: &Identifier,
        new_always: Option<bool>,
        options: &SequenceOptions,
    ) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        let Some(DefaultValue::Identity { sequence, always }) = table.columns[index].default else {
            return Err(PlanError::new(
                "55000",
                format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, table.name),
            )
            .at(Some(column.position)));
        };
        let always = new_always.unwrap_or(always);
        self.edit(id).columns[index].default = Some(DefaultValue::Identity { sequence, always });
        self.change_sequence(sequence, options)
    }

    fn drop_identity(&mut self, id: RelationId, column: &Identifier, if_exists: bool) -> Result<(), PlanError> {
        let index = self.column(id, column)?;
        let table = self.get(id);
        let Some(DefaultValue::Identity { sequence, .. }) = table.columns[index].default else {
            let message =
                format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, table.name);
            if if_exists {
                self.notice("00000", format!("{message}, skipping"));
                return Ok(());
            }
            return Err(PlanError::new("55000", message).at(Some(column.position)));
        };
        self.edit(id).columns[index].default = None;
        self.remove_sequence(sequence);
        Ok(())
    }

    fn require_constraint(&self, id: RelationId, name: &Identifier) -> Result<(), PlanError> {
        let table = self.get(id);
        if has_constraint(table, &name.name) {
            return Ok(());
        }
        Err(no_constraint(&name.name, &table.name).at(Some(name.position)))
    }

    fn alter_constraint(&mut self, id: RelationId, name: &Identifier, timing: Timing) -> Result<(), PlanError> {
        self.require_constraint(id, name)?;
        let table = self.edit(id);
        match table.foreign_keys.iter_mut().find(|key| key.constraint.name == name.name) {
            Some(key) => {
                (key.constraint.deferrable, key.constraint.initially_deferred) =
                    (timing.deferrable, timing.initially_deferred);
                Ok(())
            }
            None => Err(PlanError::new(
                "42809",
                format!("constraint \"{}\" of relation \"{}\" is not a foreign key constraint", name.name, table.name),
            )
            .at(Some(name.position))),
        }
    }

    /// The column that is to be renamed; what names it in views does so anew.
    pub(super) fn begin_column_rename(
        &mut self,
        id: RelationId,
        old: &Identifier,
        new: &Identifier,
    ) -> Result<ColumnIndex, PlanError> {
        let index = self.column(id, old)?;
        let table = self.get(id);
        if table.column_by_name(&new.name).is_some() {
            return Err(PlanError::new(
                "42701",
                format!("column \"{}\" of relation \"{}\" already exists", new.name, table.name),
            )
            .at(Some(new.position)));
        }
        let texts = self.renamed_texts(id, Some(index), &new.name)?;
        self.set_texts(texts);
        Ok(index)
    }

    fn rename_column(&mut self, id: RelationId, old: &Identifier, new: &Identifier) -> Result<(), PlanError> {
        self.require_unused_row_type(id)?;
        let index = self.begin_column_rename(id, old, new)?;
        let rename = |text: &str| rewrite::rename_column(text, &old.name, &new.name);
        let table = self.edit(id);
        table.columns[index].name.clone_from(&new.name);
        for check in &mut table.checks {
            check.expression = rename(&check.expression);
        }
        for predicate in table.indexes.iter_mut().filter_map(|index| index.declared.predicate.as_mut()) {
            predicate.expression = rename(&predicate.expression);
        }
        for column in &mut table.columns {
            if let Some(DefaultValue::Generated(text)) = &mut column.default {
                *text = rename(text);
            }
        }
        self.name_expressions(id);
        self.rename_in_policies(id, &old.name, &new.name);
        Ok(())
    }

    fn rename_constraint(&mut self, id: RelationId, old: &Identifier, new: &Identifier) -> Result<(), PlanError> {
        self.require_constraint(id, old)?;
        let table = self.get(id);
        if has_constraint(table, &new.name) {
            return Err(PlanError::new(
                "42710",
                format!("constraint \"{}\" for relation \"{}\" already exists", new.name, table.name),
            )
            .at(Some(new.position)));
        }
        if table.indexes.iter().any(|index| index.constraint.as_ref().is_some_and(|c| c.name == old.name)) {
            self.require_free(table.namespace, &new.name)?;
        }
        let table = self.edit(id);
        for check in &mut table.checks {
            if check.constraint.name == old.name {
                check.constraint.name.clone_from(&new.name);
            }
        }
        for key in &mut table.foreign_keys {
            if key.constraint.name == old.name {
                key.constraint.name.clone_from(&new.name);
            }
        }
        for index in &mut table.indexes {
            if let Some(constraint) = &mut index.constraint
                && constraint.name == old.name
            {
                constraint.name.clone_from(&new.name);
                index.name.clone_from(&new.name);
            }
        }
        Ok(())
    }

    fn rename_table(&mut self, id: RelationId, new: &Identifier) -> Result<(), PlanError> {
        let namespace = self.get(id).namespace;
        self.require_free(namespace, &new.name).map_err(|error| error.at(Some(new.position)))?;
        let texts = self.renamed_texts(id, None, &new.name)?;
        self.set_texts(texts);
        self.renaming(|change| change.catalog.move_relation(id, namespace, &new.name));
        Ok(())
    }

    /// ALTER INDEX | SEQUENCE | TYPE | VIEW … RENAME TO
    pub(super) fn rename(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        name: &ObjectName,
        new: &Identifier,
    ) -> Result<&'static str, PlanError> {
        let tag = alter_tag(kind);
        if if_exists && self.is_missing(name)? {
            return Ok(tag);
        }
        match kind {
            ObjectKind::Index => {
                let (table, index) = self.index(name)?;
                let namespace = self.get(table).namespace;
                self.require_free(namespace, &new.name).map_err(|error| error.at(Some(new.position)))?;
                if let Some(index) = self.edit(table).indexes.iter_mut().find(|found| found.id == index) {
                    index.name.clone_from(&new.name);
                    if let Some(constraint) = &mut index.constraint {
                        constraint.name.clone_from(&new.name);
                    }
                }
            }
            ObjectKind::Sequence => {
                let id = self.sequence(name)?;
                let namespace = self.catalog.sequences[&id].namespace;
                self.require_free(namespace, &new.name).map_err(|error| error.at(Some(new.position)))?;
                self.renaming(|change| change.catalog.move_sequence(id, namespace, &new.name));
            }
            ObjectKind::Type => self.rename_type(name, new)?,
            ObjectKind::Domain => {
                self.domain_named(name)?;
                self.rename_type(name, new)?;
            }
            ObjectKind::View | ObjectKind::MaterializedView => {
                let id = self.view(name, kind == ObjectKind::MaterializedView)?;
                self.rename_table(id, new)?;
            }
            ObjectKind::Schema => self.rename_schema(name, new)?,
            ObjectKind::Table => return Err(PlanError::unsupported(format!("{tag} … RENAME"))),
        }
        Ok(tag)
    }

    /// SET (…) and the like: the object must exist, nothing else happens.
    pub(super) fn alter_nothing(
        &mut self,
        kind: ObjectKind,
        if_exists: bool,
        name: &ObjectName,
    ) -> Result<&'static str, PlanError> {
        let tag = alter_tag(kind);
        match kind {
            ObjectKind::Schema => {
                self.schema(name)?;
            }
            ObjectKind::Type => {
                self.type_named(name)?;
            }
            ObjectKind::Domain => {
                self.domain_named(name)?;
            }
            ObjectKind::Table
            | ObjectKind::View
            | ObjectKind::MaterializedView
            | ObjectKind::Index
            | ObjectKind::Sequence => {
                if if_exists && self.is_missing(name)? {
                    return Ok(tag);
                }
                let found = self.find(name)?.ok_or_else(|| no_relation(name))?;
                if let ObjectKind::View | ObjectKind::MaterializedView = kind
                    && !matches!(found, Class::Sequence(_) | Class::Index(..))
                {
                    self.view(name, kind == ObjectKind::MaterializedView)?;
                }
            }
        }
        Ok(tag)
    }

    /// The edge of a named foreign key gets or loses its annotation.
    fn annotate_constraint(
        &mut self,
        id: RelationId,
        name: &Identifier,
        new: Option<crate::catalog::EdgeKind>,
        old: crate::catalog::EdgeKind,
    ) -> Result<(), PlanError> {
        self.require_constraint(id, name)?;
        let table = self.get(id);
        let Some(key) = table.foreign_keys.iter().find(|key| key.constraint.name == name.name) else {
            return Err(PlanError::new(
                "42809",
                format!("constraint \"{}\" of relation \"{}\" is not a foreign key constraint", name.name, table.name),
            )
            .at(Some(name.position)));
        };
        let edge = EdgeRef { table: id, foreign_key: key.constraint.id };
        match new {
            Some(kind) => self.annotate_edge(edge, kind),
            None => self.unannotate_edge(edge, old),
        }
    }
}

pub(super) fn no_constraint(name: &str, table: &str) -> PlanError {
    PlanError::new("42704", format!("constraint \"{name}\" of relation \"{table}\" does not exist"))
}

pub(super) fn alter_tag(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "ALTER TABLE",
        ObjectKind::View => "ALTER VIEW",
        ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
        ObjectKind::Index => "ALTER INDEX",
        ObjectKind::Sequence => "ALTER SEQUENCE",
        ObjectKind::Type => "ALTER TYPE",
        ObjectKind::Domain => "ALTER DOMAIN",
        ObjectKind::Schema => "ALTER SCHEMA",
    }
}
