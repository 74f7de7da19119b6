//! Names of arrays: that of what stands in them behind an underscore, and behind more where a created type has that name.
//!
//! As in PostgreSQL, who creates a type takes its name from an array; nothing but the name of the array changes.

use super::{Catalog, CreatedType, NamespaceId};
use repr::Id;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names of arrays, by the OIDs of the types and relations whose arrays they are.
pub(crate) struct ArrayNames {
    /// Those alone that might meet others.
    found: BTreeMap<Id, String>,
}

impl ArrayNames {
    /// The name of an array of what has this OID and this name.
    pub(crate) fn of(&self, element: Id, name: &str) -> Cow<'_, str> {
        match self.found.get(&element) {
            Some(found) => Cow::Borrowed(found),
            None => Cow::Owned(format!("_{name}")),
        }
    }
}

fn core(name: &str) -> &str {
    name.trim_start_matches('_')
}

fn has_array(found: &CreatedType) -> bool {
    found.domain().is_none_or(|domain| !domain.base.scalar.is_array())
}

impl Catalog {
    /// How arrays are called. Who came first keeps the shorter name.
    pub(crate) fn array_names(&self) -> ArrayNames {
        let types = || self.types.values().filter(|found| has_array(found));
        let meeting: BTreeSet<(NamespaceId, &str)> = (self.types.values().map(|found| (found.namespace, &*found.name)))
            .chain(self.relations.values().map(|table| (table.namespace, &*table.name)))
            .filter(|(_, name)| name.starts_with('_'))
            .map(|(namespace, name)| (namespace, core(name)))
            .collect();
        let mut found = BTreeMap::new();
        if meeting.is_empty() {
            return ArrayNames { found };
        }
        let mut elements: Vec<(Id, NamespaceId, &str)> = types()
            .map(|found| (found.id, found.namespace, &*found.name))
            .chain(self.relations.values().map(|table| (table.id.0, table.namespace, &*table.name)))
            .filter(|(_, namespace, name)| meeting.contains(&(*namespace, core(name))))
            .collect();
        elements.sort_unstable();
        let mut taken: BTreeSet<(NamespaceId, String)> =
            self.types.values().map(|found| (found.namespace, found.name.clone())).collect();
        for (id, namespace, name) in elements {
            let mut array = (namespace, format!("_{name}"));
            while taken.contains(&array) {
                array.1.insert(0, '_');
            }
            taken.insert(array.clone());
            found.insert(id, array.1);
        }
        ArrayNames { found }
    }

    /// The created type of a schema whose array has this name.
    pub(crate) fn element_in(&self, namespace: NamespaceId, array: &str) -> Option<&Arc<CreatedType>> {
        named_by(self, array, |name| self.type_in(namespace, name).filter(|found| has_array(found)))
    }
}

/// The created type whose array has this name, of those that names without it mean.
pub(crate) fn named_by<'c>(
    catalog: &Catalog,
    array: &str,
    find: impl Fn(&str) -> Option<&'c Arc<CreatedType>>,
) -> Option<&'c Arc<CreatedType>> {
    let names = catalog.array_names();
    stripped(array).find_map(|name| find(name).filter(|found| names.of(found.id, &found.name) == array))
}

/// A name without its first underscore, without its first two, and so on.
pub(crate) fn stripped(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(name.strip_prefix('_'), |rest| rest.strip_prefix('_'))
}
