//! Types that somebody created: enumerations, domains, composites, ranges and their multiranges.

use super::{Composite, Domain, EnumLabel, Enumeration, NamespaceId, RangeDefinition};
use repr::types::RangeType;
use repr::{ColumnType, Id, ScalarType};
use serde::{Deserialize, Serialize};

/// CREATE TYPE, CREATE DOMAIN.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "StoredType", into = "StoredType")]
pub struct CreatedType {
    /// OID of its `pg_type` row; that of its array is the next, and a composite's `pg_class` row has the one after.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// The schema that it is in.
    pub namespace: NamespaceId,
    /// What it is.
    pub kind: TypeKind,
}

/// What a created type is.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// CREATE TYPE … AS ENUM
    Enum(Enumeration),
    /// CREATE DOMAIN
    Domain(Domain),
    /// CREATE TYPE … AS (…)
    Composite(Composite),
    /// CREATE TYPE … AS RANGE
    Range(RangeDefinition),
    /// What comes with a range.
    Multirange(RangeType),
}

/// A type as folders have it. Old ones know of enumerations alone, and of their labels the names.
#[derive(Clone, Serialize, Deserialize)]
struct StoredType {
    id: Id,
    name: String,
    #[serde(default = "NamespaceId::public")]
    namespace: NamespaceId,
    #[serde(default)]
    labels: Vec<String>,
    /// Of each label its OID, its place and its sort order.
    #[serde(default)]
    places: Vec<(Id, u32, f32)>,
    #[serde(default)]
    domain: Option<Domain>,
    #[serde(default)]
    composite: Option<Composite>,
    #[serde(default)]
    range: Option<StoredRange>,
}

#[derive(Clone, Serialize, Deserialize)]
enum StoredRange {
    Range(RangeDefinition),
    Multirange(RangeType),
}

impl From<StoredType> for CreatedType {
    fn from(stored: StoredType) -> Self {
        let places = stored.places;
        let label = |(index, name): (usize, String)| {
            let (id, place, sort_order) = places.get(index).copied().unwrap_or_default();
            EnumLabel { name, id, place, sort_order }
        };
        let others = [
            stored.domain.map(TypeKind::Domain),
            stored.composite.map(TypeKind::Composite),
            stored.range.map(|range| match range {
                StoredRange::Range(range) => TypeKind::Range(range),
                StoredRange::Multirange(of) => TypeKind::Multirange(of),
            }),
        ];
        let labels = stored.labels.into_iter().enumerate().map(label);
        let kind = others.into_iter().flatten().next();
        let kind = kind.unwrap_or_else(|| TypeKind::Enum(Enumeration { labels: labels.collect() }));
        CreatedType { id: stored.id, name: stored.name, namespace: stored.namespace, kind }
    }
}

impl From<CreatedType> for StoredType {
    fn from(found: CreatedType) -> Self {
        let mut stored = StoredType {
            id: found.id,
            name: found.name,
            namespace: found.namespace,
            places: Vec::new(),
            labels: Vec::new(),
            domain: None,
            composite: None,
            range: None,
        };
        match found.kind {
            TypeKind::Enum(Enumeration { labels }) => {
                stored.places = labels.iter().map(|label| (label.id, label.place, label.sort_order)).collect();
                stored.labels = labels.into_iter().map(|label| label.name).collect();
            }
            TypeKind::Domain(domain) => stored.domain = Some(domain),
            TypeKind::Composite(composite) => stored.composite = Some(composite),
            TypeKind::Range(range) => stored.range = Some(StoredRange::Range(range)),
            TypeKind::Multirange(of) => stored.range = Some(StoredRange::Multirange(of)),
        }
        stored
    }
}

impl CreatedType {
    /// What it is as an enumeration, if it is one.
    pub fn enumeration(&self) -> Option<&Enumeration> {
        match &self.kind {
            TypeKind::Enum(found) => Some(found),
            TypeKind::Domain(_) | TypeKind::Composite(_) | TypeKind::Range(_) | TypeKind::Multirange(_) => None,
        }
    }

    /// What it is as a domain, if it is one.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.kind {
            TypeKind::Domain(found) => Some(found),
            TypeKind::Enum(_) | TypeKind::Composite(_) | TypeKind::Range(_) | TypeKind::Multirange(_) => None,
        }
    }

    /// What it is as a composite, if it is one.
    pub fn composite(&self) -> Option<&Composite> {
        match &self.kind {
            TypeKind::Composite(found) => Some(found),
            TypeKind::Enum(_) | TypeKind::Domain(_) | TypeKind::Range(_) | TypeKind::Multirange(_) => None,
        }
    }

    /// What it is as a range, if it is one.
    pub fn range(&self) -> Option<&RangeDefinition> {
        match &self.kind {
            TypeKind::Range(found) => Some(found),
            TypeKind::Enum(_) | TypeKind::Domain(_) | TypeKind::Composite(_) | TypeKind::Multirange(_) => None,
        }
    }

    /// The range that it is or whose multirange it is.
    pub fn range_type(&self) -> Option<&RangeType> {
        match &self.kind {
            TypeKind::Range(found) => Some(&found.of),
            TypeKind::Multirange(of) => Some(of),
            TypeKind::Enum(_) | TypeKind::Domain(_) | TypeKind::Composite(_) => None,
        }
    }

    /// The type that its values have, which is none of a domain's own; what has one has an array type over it.
    pub fn scalar(&self) -> Option<ScalarType> {
        self.domain().is_none().then(|| self.column_type().scalar)
    }

    /// The type of a column that is of it: a domain's values are of the type that it is over.
    pub fn column_type(&self) -> ColumnType {
        match &self.kind {
            TypeKind::Enum(_) => ColumnType::nullable(ScalarType::Enum(self.id)),
            TypeKind::Composite(found) => ColumnType::nullable(ScalarType::Record(found.record(self.id))),
            TypeKind::Domain(found) => ColumnType { domain: self.id, ..found.base.clone() },
            TypeKind::Range(found) => ColumnType::nullable(ScalarType::Range(found.of.clone())),
            TypeKind::Multirange(of) => ColumnType::nullable(ScalarType::Multirange(of.clone())),
        }
    }

    /// What messages call its kind.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            TypeKind::Enum(_) | TypeKind::Composite(_) | TypeKind::Range(_) | TypeKind::Multirange(_) => "type",
            TypeKind::Domain(_) => "domain",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CreatedType, TypeKind};
    use crate::catalog::{Domain, Enumeration, NamespaceId, RangeDefinition};
    use repr::types::RangeType;
    use repr::{Collation, ColumnType, ScalarType};

    fn again(found: &CreatedType) -> CreatedType {
        serde_json::from_slice(&serde_json::to_vec(found).expect("it is written")).expect("and read")
    }

    #[test]
    fn types_are_read_as_they_were_written() {
        let mut labels = Enumeration::default();
        assert!(labels.insert(0, "a", 30_001) && labels.insert(1, "b", 30_002) && labels.insert(1, "m", 30_003));
        let namespace = NamespaceId::PUBLIC;
        let found = CreatedType { id: 20_000, name: "t".into(), namespace, kind: TypeKind::Enum(labels.clone()) };
        let read = again(&found);
        let places = |found: &Enumeration| found.labels.iter().map(|label| (label.id, label.place)).collect::<Vec<_>>();
        assert_eq!(read.enumeration().map(places), Some(places(&labels)));
        let of = RangeType::new(20_010, ScalarType::Enum(20_000));
        let range = RangeDefinition { of: of.clone(), collation: Collation(0), operator_class: 1, difference: 0 };
        for (id, kind) in [(of.id, TypeKind::Range(range)), (of.multirange_id(), TypeKind::Multirange(of.clone()))] {
            let found = CreatedType { id, name: "r".into(), namespace, kind };
            assert_eq!(again(&found).column_type(), found.column_type());
            assert_eq!(again(&found).range_type(), Some(&of));
        }
        let base = ColumnType { modifier: 8, ..ColumnType::nullable(ScalarType::Varchar) };
        let domain = Domain { base, not_null: true, default: Some("'x'".into()), checks: Vec::new() };
        let found = CreatedType { id: 20_002, name: "d".into(), namespace, kind: TypeKind::Domain(domain) };
        let read = again(&found);
        assert_eq!(read.column_type().domain, 20_002);
        assert_eq!(read.domain().map(|domain| (domain.not_null, domain.base.modifier)), Some((true, 8)));
    }

    #[test]
    fn labels_of_old_folders_keep_their_places() {
        let text = r#"{"id": 20000, "name": "t", "labels": ["a", "b"]}"#;
        let mut found: CreatedType = serde_json::from_str(text).expect("an old folder's type");
        let TypeKind::Enum(labels) = &mut found.kind else { panic!("it is an enumeration") };
        labels.number_labels(20_000);
        assert_eq!(labels.labels.iter().map(|label| label.place).collect::<Vec<_>>(), [0, 1]);
        assert!(!labels.insert(1, "m", 1), "there is no room between two that stand side by side");
        assert_eq!(again(&found).enumeration().map(|found| found.labels.len()), Some(3));
    }
}
