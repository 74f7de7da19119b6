//! CREATE TYPE … AS RANGE: a range, and the multirange that comes with it and goes with it.

use super::change::DefinitionChange;
use super::column::column_collation;
use super::opclass::no_class;
use crate::catalog::range::multirange_name;
use crate::catalog::{CreatedType, NamespaceId, RangeDefinition, TypeKind};
use crate::error::PlanError;
use crate::parse::statement::{ObjectName, TypeName};
use crate::parse::type_definition::CreateRange;
use crate::scalar::{collation, registry};
use crate::system::builtin::function;
use crate::system::opclass;
use repr::types::RangeType;
use repr::{Collation, Id, ScalarType};
use std::sync::Arc;

impl DefinitionChange<'_> {
    pub(super) fn create_range(&mut self, create: &CreateRange) -> Result<&'static str, PlanError> {
        let name = &create.name;
        let namespace = self.place_of_type(name)?;
        self.require_free_type(namespace, &name.name).map_err(|error| error.at(Some(name.position)))?;
        let Some(subtype) = &create.subtype else {
            return Err(PlanError::new("42601", "type attribute \"subtype\" is required"));
        };
        let subtype = self.subtype(subtype)?;
        let operator_class = subtype_class(create.operator_class.as_ref(), &subtype)?;
        let collation = subtype_collation(create.collation.as_ref(), &subtype)?;
        let difference = create.difference.as_ref().map_or(Ok(0), |name| difference(name, &subtype))?;
        let (place, multirange) = self.multirange(create, namespace)?;
        let id = self.next_id();
        (1..RangeType::OIDS).for_each(|_| {
            self.next_id();
        });
        let of = RangeType::new(id, subtype);
        let range = TypeKind::Range(RangeDefinition { of: of.clone(), collation, operator_class, difference });
        let multirange_id = of.multirange_id();
        let made = [
            CreatedType { id, name: name.name.clone(), namespace, kind: range },
            CreatedType { id: multirange_id, name: multirange, namespace: place, kind: TypeKind::Multirange(of) },
        ];
        made.into_iter().for_each(|found| self.insert_type(found));
        Ok("CREATE TYPE")
    }

    fn subtype(&self, written: &TypeName) -> Result<ScalarType, PlanError> {
        let of_pseudo = |name: &str| PlanError::new("42804", format!("range subtype cannot be {name}"));
        let found = self.column_type(written).map_err(|error| match error.code {
            "42P16" => of_pseudo(error.message.trim_start_matches("column has pseudo-type ")),
            _ => error,
        })?;
        if found.domain != 0 {
            return Err(PlanError::unsupported("a range over a domain")
                .hint("Use a range over the type below it, or a domain over that range."));
        }
        Ok(found.scalar)
    }

    /// The schema and the name of the multirange.
    fn multirange(&self, create: &CreateRange, namespace: NamespaceId) -> Result<(NamespaceId, String), PlanError> {
        if let Some(written) = &create.multirange {
            let place = self.place_of_type(written)?;
            let taken = |name: &str| Err(PlanError::new("42710", format!("type \"{name}\" already exists")));
            // SQL's own words for built-in types are those.
            let built_in = crate::resolve::types::builtin(&written.name).filter(|_| written.schema.is_none());
            if let Some(name) = built_in.map(|found| found.type_name()).filter(|name| *name != written.name) {
                return taken(&name);
            }
            if written.name == create.name.name && place == namespace {
                return taken(&written.name);
            }
            self.require_free_type(place, &written.name)?;
            return Ok((place, written.name.clone()));
        }
        let name = multirange_name(&create.name.name);
        self.require_free_type(namespace, &name).map_err(|error| {
            let detail = format!("Failed while creating a multirange type for type \"{}\".", create.name.name);
            error
                .detail(detail)
                .hint("You can manually specify a multirange type name using the \"multirange_type_name\" attribute.")
        })?;
        Ok((namespace, name))
    }

    /// Takes a type away, and with a range its multirange.
    pub(super) fn remove_type(&mut self, id: Id) {
        let Some(found) = self.catalog.types.get(&id).cloned() else { return };
        let remove = |change: &mut Self| _ = change.catalog.types.remove(&id);
        // An array may have its name again.
        if found.name.starts_with('_') {
            self.renaming(remove);
        } else {
            remove(self);
        }
        self.catalog.comments.remove(&id);
        for check in found.domain().into_iter().flat_map(|domain| &domain.checks) {
            self.catalog.comments.remove(&check.constraint.id);
        }
        if let Some(range) = found.range() {
            self.remove_type(range.of.multirange_id());
        }
    }

    /// 2BP01 for a multirange, which its range needs.
    pub(super) fn require_no_multirange(&self, id: Id) -> Result<(), PlanError> {
        let TypeKind::Multirange(of) = &self.catalog.types[&id].kind else { return Ok(()) };
        let (own, range) = (self.shown_type(id), self.shown_type(of.id));
        Err(PlanError::new("2BP01", format!("cannot drop type {own} because type {range} requires it"))
            .hint(format!("You can drop type {range} instead.")))
    }

    /// Ranges that are over a type themselves.
    pub(super) fn ranges_over(&self, id: Id) -> Vec<Id> {
        let over = |found: &&Arc<CreatedType>| {
            found.range().is_some_and(|range| range.of.subtype().unarrayed().created() == Some(id))
        };
        self.catalog.types.values().filter(over).map(|found| found.id).collect()
    }
}

/// The operator class by which the bounds are ordered: the type's own.
fn subtype_class(written: Option<&ObjectName>, subtype: &ScalarType) -> Result<Id, PlanError> {
    const METHOD: &str = "btree";
    let usual = opclass::default(METHOD, subtype).filter(|_| subtype.is_ordered());
    let Some(written) = written else {
        return usual.map(|class| class.oid).ok_or_else(|| {
            no_class(METHOD, subtype).hint(
                "You must specify an operator class for the range type or define a default operator class for the \
                 subtype.",
            )
        });
    };
    let position = Some(written.position);
    let found = opclass::find(METHOD, &written.name).ok_or_else(|| {
        let message = format!("operator class \"{}\" does not exist for access method \"{METHOD}\"", written.name);
        PlanError::new("42704", message).at(position)
    })?;
    if !found.takes(subtype) {
        let subtype = registry::type_name(subtype);
        let message = format!("operator class \"{}\" does not accept data type {subtype}", written.name);
        return Err(PlanError::new("42804", message).at(position));
    }
    // By code points texts are in order whichever of their classes it is.
    let is_of_text = |oid: Id| oid != 0 && subtype.is_string();
    if usual.is_none_or(|usual| usual.oid != found.oid) && !is_of_text(found.oid) {
        return Err(PlanError::unsupported(format!("a range ordered by operator class {}", written.name))
            .hint("Leave SUBTYPE_OPCLASS out: the order is the type's own."));
    }
    Ok(found.oid)
}

fn subtype_collation(written: Option<&ObjectName>, subtype: &ScalarType) -> Result<Collation, PlanError> {
    let own = Collation(subtype.collation());
    let Some(written) = written else { return Ok(own) };
    if own.0 == 0 {
        let message = "range collation specified but subtype does not support collation";
        return Err(PlanError::new("42809", message));
    }
    let found = column_collation(written, subtype)?;
    if collation::has_keys(found) {
        return Err(PlanError::unsupported(format!("a range ordered by collation {}", collation::quoted(found)))
            .hint("Use COLLATION = \"C\": ranges are ordered by code points."));
    }
    Ok(found)
}

/// The function that PostgreSQL would ask how far apart two bounds are.
fn difference(name: &ObjectName, subtype: &ScalarType) -> Result<Id, PlanError> {
    let arguments = [subtype.oid(); 2];
    let is_known = name.schema.as_deref().is_none_or(|schema| schema == "pg_catalog");
    let mut found = function::by_name(&name.name).filter(|_| is_known);
    let found = found.find(|found| found.arguments == arguments).ok_or_else(|| {
        let subtype = registry::type_name(subtype);
        PlanError::new("42883", format!("function {}({subtype}, {subtype}) does not exist", name.dotted()))
    })?;
    if found.result != ScalarType::Float8.oid() {
        let message = format!(
            "range subtype diff function {} must return type {}",
            found.signature().replace(',', ", "),
            ScalarType::Float8.name()
        );
        return Err(PlanError::new("42P17", message));
    }
    Ok(found.oid)
}
