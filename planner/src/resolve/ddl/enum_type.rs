//! Enum types: created, renamed, and given labels at their end.

use super::change::DefinitionChange;
use crate::catalog::{EnumType, NamespaceId};
use crate::error::PlanError;
use crate::parse::statement::{Identifier, ObjectName};
use crate::resolve::types;
use repr::Id;
use std::sync::Arc;

/// PostgreSQL's limit on a label.
const LABEL_BYTES_MAX: usize = 63;

impl DefinitionChange<'_> {
    pub(super) fn create_enum(&mut self, name: &ObjectName, labels: &[String]) -> Result<&'static str, PlanError> {
        let namespace = self.place_of(name)?;
        self.require_free_type(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        for (index, label) in labels.iter().enumerate() {
            require_label(label)?;
            if labels[..index].contains(label) {
                return Err(PlanError::new("42710", format!("enum label \"{label}\" used more than once")));
            }
        }
        // Two ids: the array type's OID is the next one.
        let id = self.next_id();
        self.next_id();
        let found = EnumType { id, name: name.name.clone(), namespace, labels: labels.to_vec() };
        self.catalog.enums.insert(id, Arc::new(found));
        Ok("CREATE TYPE")
    }

    pub(super) fn add_enum_value(
        &mut self,
        name: &ObjectName,
        if_not_exists: bool,
        label: &str,
        neighbour: Option<&(bool, String)>,
    ) -> Result<&'static str, PlanError> {
        let id = self.enum_type(name)?;
        require_label(label)?;
        let found = self.catalog.enums.get(&id).expect("ids come from this catalog");
        if found.labels.iter().any(|existing| existing == label) {
            let message = format!("enum label \"{label}\" already exists");
            if if_not_exists {
                self.notice("42710", format!("{message}, skipping"));
                return Ok("ALTER TYPE");
            }
            return Err(PlanError::new("42710", message));
        }
        if let Some((before, neighbour)) = neighbour {
            let Some(position) = found.labels.iter().position(|existing| existing == neighbour) else {
                return Err(PlanError::new("22023", format!("\"{neighbour}\" is not an existing enum label")));
            };
            if *before || position + 1 != found.labels.len() {
                return Err(PlanError::unsupported("adding an enum label anywhere but at the end")
                    .hint("a label's position is stored with the rows; add it at the end"));
            }
        }
        let mut changed = EnumType::clone(found);
        changed.labels.push(label.to_string());
        self.catalog.enums.insert(id, Arc::new(changed));
        Ok("ALTER TYPE")
    }

    pub(super) fn rename_enum(&mut self, name: &ObjectName, new: &Identifier) -> Result<(), PlanError> {
        let id = self.enum_type(name)?;
        let namespace = self.catalog.enums[&id].namespace;
        self.require_free_type(namespace, &new.name).map_err(|error| error.at(Some(new.position)))?;
        self.renaming(|change| {
            if let Some(found) = change.catalog.enums.get_mut(&id) {
                Arc::make_mut(found).name.clone_from(&new.name);
            }
        });
        Ok(())
    }

    pub(super) fn enum_type(&self, name: &ObjectName) -> Result<Id, PlanError> {
        let found = (|| {
            name.require_own(&self.path)?;
            if let Some(schema) = &name.schema {
                self.scope().require_namespace(schema)?;
            }
            let missing = || PlanError::new("42704", format!("type \"{}\" does not exist", name.dotted()));
            self.scope().enum_type(name.schema.as_deref(), &name.name).map(|found| found.id).ok_or_else(missing)
        })();
        found.map_err(|error: PlanError| error.at(Some(name.position)))
    }

    pub(super) fn require_free_type(&self, namespace: NamespaceId, name: &str) -> Result<(), PlanError> {
        let scope = self.scope();
        let array = name.strip_prefix('_').and_then(|element| scope.catalog.enum_in(namespace, element));
        let is_type = types::in_catalog(name).is_some() || scope.catalog.enum_in(namespace, name).or(array).is_some();
        let is_extensions = scope.created_type(scope.catalog.namespace_name(namespace), name).is_some();
        if is_type || is_extensions || scope.catalog.table_in(namespace, name).is_some() {
            return Err(PlanError::new("42710", format!("type \"{name}\" already exists")));
        }
        Ok(())
    }
}

fn require_label(label: &str) -> Result<(), PlanError> {
    if label.len() > LABEL_BYTES_MAX {
        return Err(PlanError::new("42602", format!("invalid enum label \"{label}\""))
            .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")));
    }
    Ok(())
}
