//! SQL types: the scalar type, its modifier, its PostgreSQL OID and name. What is known of each stands in `table`.

mod modifier;
mod range_type;
mod record;
mod table;

pub(crate) use modifier::decode_length_modifier;
pub use modifier::{
    decode_interval_modifier, decode_numeric_modifier, encode_interval_modifier, encode_length_modifier,
    encode_numeric_modifier,
};
pub use range_type::RangeType;
pub use record::RecordType;
pub use table::{Equality, Modifier, ScalarType};

use crate::collation::Collation;
use crate::id::Id;
use modifier::format_interval_type;
use serde::{Deserialize, Serialize};
use table::KNOWN;

/// A column's or expression's type: scalar type, PostgreSQL type modifier, nullability and collation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnType {
    /// The type itself.
    pub scalar: ScalarType,
    /// `atttypmod` in PostgreSQL's encoding (varchar(n) is n + 4, numeric(p,s) is (p<<16|s)+4); -1 is none.
    pub modifier: i32,
    /// Whether NULL may occur.
    pub nullable: bool,
    /// How its text is ordered; without meaning where the type has none.
    #[serde(default, skip_serializing_if = "Collation::is_default")]
    pub collation: Collation,
    /// The domain whose values these are, by its OID; 0 is none. Where its values come from alone says so: what is computed is
    /// of the type below.
    #[serde(default, skip_serializing_if = "is_none")]
    pub domain: Id,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_none(domain: &Id) -> bool {
    *domain == 0
}

impl ColumnType {
    /// A nullable type without modifier, of the default collation.
    pub fn nullable(scalar: ScalarType) -> Self {
        ColumnType { scalar, modifier: -1, nullable: true, collation: Collation::DEFAULT, domain: 0 }
    }

    /// Whether a domain, its own or one of a field in it, says more of its values than the type.
    pub fn is_constrained(&self) -> bool {
        self.domain != 0 || self.scalar.holds_domains()
    }

    /// The same that holds no NULL.
    pub fn not_null(scalar: ScalarType) -> Self {
        ColumnType { nullable: false, ..ColumnType::nullable(scalar) }
    }
}

impl ScalarType {
    /// Whether this is so for the type, or for one that it is made of.
    pub fn any_part(&self, is: impl Fn(&ScalarType) -> bool + Copy) -> bool {
        let of_parts = match self {
            ScalarType::Array(element) => element.any_part(is),
            ScalarType::Record(fields) => fields.iter().any(|(_, field)| field.any_part(is)),
            // The others are made of nothing else, but for ranges.
            other => other.over().is_some_and(|over| over.any_part(is)),
        };
        of_parts || is(self)
    }

    /// Whether a composite that it is made of has a field of a domain.
    pub fn holds_domains(&self) -> bool {
        self.any_part(|part| matches!(part, ScalarType::Record(record) if record.has_domains()))
    }

    /// Whether values are written as names, which stand in the catalog; an enum's labels do, and roles.
    pub fn names_things(&self) -> bool {
        self.any_part(|part| matches!(part, ScalarType::Enum(_) | ScalarType::AclItem) || part.is_reg())
    }

    /// Whether the text of its values depends on the session's settings, or on the catalog.
    pub fn reads_settings(&self) -> bool {
        self.any_part(|part| match part.known() {
            Some(known) => known.more.reads_settings,
            None => matches!(part, ScalarType::Enum(_)),
        })
    }

    /// Whether equal values are written alike: of others two may differ though SQL calls them equal, as 1.0 and 1.00.
    pub fn has_one_writing(&self) -> bool {
        match self {
            // What they are made of may be such.
            ScalarType::Array(_) | ScalarType::Record(_) | ScalarType::Int2Vector | ScalarType::OidVector => false,
            ScalarType::Range(range) | ScalarType::Multirange(range) => range.subtype().has_one_writing(),
            other => !other.known().is_some_and(|known| known.more.several_writings),
        }
    }

    /// `pg_type.oid`. The array type over a created one has the OID after its own.
    pub fn oid(&self) -> Id {
        match self {
            ScalarType::Array(element) => element.array_oid(),
            other => other.created().or_else(|| Some(other.known()?.oid)).unwrap_or(0),
        }
    }

    /// The OID of a type that somebody created.
    pub fn created(&self) -> Option<Id> {
        match self {
            ScalarType::Enum(id) => Some(*id),
            ScalarType::Range(range) => Some(range.id),
            ScalarType::Multirange(range) => Some(range.multirange_id()),
            other => other.composite().map(|record| record.id),
        }
    }

    /// What a created composite is made of.
    pub fn composite(&self) -> Option<&RecordType> {
        match self {
            ScalarType::Record(record) => Some(record).filter(|record| !record.is_anonymous()),
            _ => None,
        }
    }

    /// What an array is of; of others the type itself.
    pub fn unarrayed(&self) -> &ScalarType {
        match self {
            ScalarType::Array(element) => element,
            other => other,
        }
    }

    /// The OID of the array type over this one; 0 where there is none.
    pub fn array_oid(&self) -> Id {
        match self {
            ScalarType::Array(_) => self.oid(),
            other => match other.created() {
                Some(id) => id + 1,
                None => other.known().map_or(0, |known| known.array_oid),
            },
        }
    }

    /// The built-in type (or array over one) with this OID. Enums are the catalog's, records have no one type.
    pub fn from_oid(oid: Id) -> Option<ScalarType> {
        let known = KNOWN.iter().find(|known| known.oid == oid || (known.array_oid == oid && oid != 0))?;
        Some(if known.oid == oid { known.scalar.clone() } else { known.scalar.array() })
    }

    /// The type of this name: `pg_type.typname`, SQL's spelling or a usual alias, in lower case, without
    /// modifier; `x[]` and `_x` are arrays. Enums are the catalog's.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        if let Some(element) = name.strip_suffix("[]") {
            // Arrays of arrays are arrays: PostgreSQL does not keep the number of dimensions.
            return ScalarType::from_name(element.trim_end()).map(|element| element.array());
        }
        ScalarType::from_word(name)
            .or_else(|| name.strip_prefix('_').and_then(ScalarType::from_name).map(|element| element.array()))
    }

    /// The type of this name that an extension has, or its array (`_x`), and the extension.
    pub fn of_extension(name: &str) -> Option<(ScalarType, &'static str)> {
        match KNOWN.iter().find(|known| known.type_name == name) {
            Some(known) => Some((known.scalar.clone(), known.more.extension?)),
            None => {
                let (element, extension) = ScalarType::of_extension(name.strip_prefix('_')?)?;
                Some((element.array(), extension))
            }
        }
    }

    /// The extension that it, or what it is an array of, is in; none if it is built in.
    pub fn extension(&self) -> Option<&'static str> {
        match self {
            ScalarType::Array(element) => element.extension(),
            other => other.known()?.more.extension,
        }
    }

    /// The type that SQL means by a name without quotes: `char` is `character(1)`, and `"char"` another type.
    fn from_word(name: &str) -> Option<ScalarType> {
        let mut built_in = KNOWN.iter().filter(|known| known.more.extension.is_none());
        let of_alias = KNOWN.iter().find(|known| known.more.aliases.contains(&name));
        let known = of_alias.or_else(|| built_in.find(|known| known.type_name == name || known.sql_name == name))?;
        Some(known.scalar.clone())
    }

    /// The type of this name in the catalog, `pg_type.typname`; `_x` is an array. What is quoted means this alone.
    pub fn from_catalog_name(name: &str) -> Option<ScalarType> {
        match KNOWN.iter().find(|known| known.type_name == name && known.more.extension.is_none()) {
            Some(known) => Some(known.scalar.clone()),
            None => name.strip_prefix('_').and_then(ScalarType::from_catalog_name).map(|element| element.array()),
        }
    }

    /// Whether a type's name in the catalog is a word of SQL's for it, which without quotes means nothing else.
    pub fn is_word(name: &str) -> bool {
        matches!(name, "bit" | "interval" | "numeric" | "time" | "timestamp" | "varchar")
    }

    /// The type of this name in the catalog, else the one that SQL means by it.
    pub fn from_type_name(name: &str) -> Option<ScalarType> {
        ScalarType::from_catalog_name(name)
            .or_else(|| ScalarType::from_word(name))
            .or_else(|| name.strip_prefix('_').and_then(ScalarType::from_type_name).map(|element| element.array()))
    }

    /// The array type over this one; an array's is itself.
    pub fn array(&self) -> ScalarType {
        match self {
            ScalarType::Array(_) => self.clone(),
            other => ScalarType::Array(Box::new(other.clone())),
        }
    }

    /// What an array (or int2vector, oidvector) holds.
    pub fn element(&self) -> Option<ScalarType> {
        match self {
            ScalarType::Array(element) => Some((**element).clone()),
            other => ScalarType::from_oid(other.known()?.more.element),
        }
    }

    /// What a range is over: its subtype. Of a multirange, its ranges' type.
    fn over(&self) -> Option<ScalarType> {
        match self {
            ScalarType::Range(range) => Some(range.subtype().clone()),
            ScalarType::Multirange(range) => Some(ScalarType::Range(range.clone())),
            other => Some(other.known()?.more.over).filter(|over| *over != 0).and_then(ScalarType::from_oid),
        }
    }

    /// What a range's bounds are; none for what is no range.
    pub fn range_element(&self) -> Option<ScalarType> {
        self.over().filter(|_| !self.is_multirange())
    }

    /// What a multirange is made of; none for what is none.
    pub fn multirange_range(&self) -> Option<ScalarType> {
        self.over().filter(|_| self.is_multirange())
    }

    fn is_multirange(&self) -> bool {
        match self {
            ScalarType::Multirange(_) => true,
            ScalarType::Range(_) => false,
            other => other.over().is_some_and(|over| over.over().is_some()),
        }
    }

    /// The type of the multiranges of a type of ranges.
    pub fn multirange(&self) -> Option<ScalarType> {
        match self {
            ScalarType::Range(range) => Some(ScalarType::Multirange(range.clone())),
            range => range.range_element().and_then(|_| range.built_in_over()),
        }
    }

    /// The built-in type of ranges over this one; created ones may be over it as well.
    pub fn built_in_range(&self) -> Option<ScalarType> {
        self.built_in_over().filter(|_| self.over().is_none())
    }

    fn built_in_over(&self) -> Option<ScalarType> {
        let own = self.known().filter(|known| !known.more.pseudo)?.oid;
        KNOWN.iter().find(|known| known.more.over == own).map(|known| known.scalar.clone())
    }

    /// Whether what a range is over can be counted: its bounds are written in one way then.
    pub fn is_counted_range(&self) -> bool {
        self.known().is_some_and(|known| known.more.counted)
    }

    /// `pg_type.typname`; a created type's is in the catalog, and its OID stands here instead.
    pub fn type_name(&self) -> String {
        match self {
            ScalarType::Array(element) => format!("_{}", element.type_name()),
            other => match other.created() {
                Some(id) => id.to_string(),
                None => other.known().map_or_else(String::new, |known| known.type_name.to_owned()),
            },
        }
    }

    /// SQL's name without modifier, as in messages: `integer`, `text[]`. A created type's is in the catalog.
    pub fn name(&self) -> String {
        self.format_type(-1)
    }

    /// SQL's name with the modifier, as `format_type` and `\\d` spell it. A created type's is in the catalog.
    pub fn format_type(&self, modifier: i32) -> String {
        let known = match self {
            ScalarType::Array(element) => return format!("{}[]", element.format_type(modifier)),
            other => match other.created() {
                Some(id) => return id.to_string(),
                None => other.known(),
            },
        };
        let name = known.map_or("", |known| known.sql_name);
        match self.modifier() {
            Modifier::Length if modifier >= 4 => format!("{name}({})", modifier - 4),
            Modifier::Count if modifier >= 1 => format!("{name}({modifier})"),
            Modifier::Digits => match decode_numeric_modifier(modifier) {
                Some((precision, scale)) => format!("{name}({precision},{scale})"),
                None => name.to_owned(),
            },
            Modifier::Fraction if modifier >= 0 => match name.split_once(' ') {
                Some((first, rest)) => format!("{first}({modifier}) {rest}"),
                None => format!("{name}({modifier})"),
            },
            Modifier::Fields if modifier >= 0 => format_interval_type(modifier),
            Modifier::Nothing | Modifier::Length | Modifier::Count | Modifier::Fraction | Modifier::Fields => {
                name.to_owned()
            }
        }
    }

    /// What may stand in parentheses behind its name.
    pub fn modifier(&self) -> Modifier {
        self.known().map_or(Modifier::Nothing, |known| known.more.modifier)
    }

    /// `pg_type.typlen`: bytes, or -1 for varying.
    pub fn length(&self) -> i16 {
        match self {
            ScalarType::Enum(_) => 4,
            other => other.known().map_or(-1, |known| known.length),
        }
    }

    /// `pg_type.typcategory`.
    pub fn category(&self) -> char {
        match self {
            ScalarType::Enum(_) => 'E',
            ScalarType::Array(_) => 'A',
            ScalarType::Range(_) | ScalarType::Multirange(_) => 'R',
            other if other.composite().is_some() => 'C',
            other => other.known().map_or('U', |known| known.category),
        }
    }

    /// `pg_type.typdelim`: what stands between the elements of an array of it.
    pub fn delimiter(&self) -> char {
        match self {
            ScalarType::Array(element) => element.delimiter(),
            other => other.known().map_or(',', |known| known.more.delimiter),
        }
    }

    /// Whether SQL says of two of its values which comes first.
    pub fn is_ordered(&self) -> bool {
        match self {
            ScalarType::Array(element) => element.is_ordered(),
            other => !matches!(other, ScalarType::Xid | ScalarType::AclItem) && !other.is_without_equality(),
        }
    }

    /// Whether SQL has no equality of its values.
    pub fn is_without_equality(&self) -> bool {
        match self {
            ScalarType::Array(element) => element.is_without_equality(),
            other => other.equality() == Equality::Nothing && !other.is_pseudo(),
        }
    }

    /// `pg_type.typispreferred`.
    pub fn is_preferred(&self) -> bool {
        self.known().is_some_and(|known| known.more.preferred)
    }

    /// Whether it is no type of a column: `pg_type.typtype` is `p`.
    pub fn is_pseudo(&self) -> bool {
        self.known().is_some_and(|known| known.more.pseudo)
    }

    /// `pg_type.typcollation`, an array's its elements'; 0 is none.
    pub fn collation(&self) -> Id {
        match self {
            ScalarType::Array(element) => element.collation(),
            other => other.known().map_or(0, |known| known.more.collation),
        }
    }

    /// The types whose keys compare with this one's.
    pub fn equality(&self) -> Equality {
        match self {
            // Each record and each array has a type of its own, as has an enum.
            ScalarType::Record(_) => Equality::Itself,
            other => other.known().map_or(Equality::Itself, |known| known.more.equality),
        }
    }

    /// smallint, integer, bigint
    pub fn is_integer(&self) -> bool {
        self.equality() == Equality::Integers
    }

    /// real, double precision
    pub(crate) fn is_float(&self) -> bool {
        self.equality() == Equality::Floats
    }

    /// Integers, floats and numeric (not oid).
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || *self == ScalarType::Numeric
    }

    /// text, varchar, character, name and citext
    pub fn is_string(&self) -> bool {
        self.category() == 'S'
    }

    /// oid, xid and the reg* types: what `Datum::Oid` holds.
    pub fn is_oid(&self) -> bool {
        self.equality() == Equality::Oids || *self == ScalarType::Xid
    }

    /// regclass and its like: oids that are written as the names of what has them.
    pub fn is_reg(&self) -> bool {
        self.known().is_some_and(|known| known.more.names_things)
    }

    /// record, whose fields are no type's, and arrays of it
    pub fn is_anonymous(&self) -> bool {
        match self {
            ScalarType::Record(record) => record.is_anonymous(),
            ScalarType::Array(element) => element.is_anonymous(),
            _ => false,
        }
    }

    /// Whether this is an array type (not a vector).
    pub fn is_array(&self) -> bool {
        matches!(self, ScalarType::Array(_))
    }
}

#[cfg(test)]
mod tests {
    use super::{KNOWN, ScalarType, encode_interval_modifier, encode_length_modifier, encode_numeric_modifier};

    #[test]
    fn every_type_is_found_by_oid_and_name() {
        for scalar in KNOWN.iter().map(|known| known.scalar.clone()) {
            assert_eq!(ScalarType::from_oid(scalar.oid()), Some(scalar.clone()));
            if scalar.extension().is_some() {
                assert_eq!(ScalarType::from_name(&scalar.type_name()), None);
                assert_eq!(ScalarType::of_extension(&scalar.type_name()).map(|(found, _)| found), Some(scalar.clone()));
            } else if scalar != ScalarType::Char {
                assert_eq!(ScalarType::from_name(&scalar.type_name()), Some(scalar.clone()));
            }
            if scalar.array_oid() != 0 {
                assert_eq!(ScalarType::from_oid(scalar.array_oid()), Some(scalar.array()));
                assert_eq!(scalar.array().element(), Some(scalar));
            }
        }
        assert_eq!(ScalarType::from_oid(2249), None);
    }

    /// What the table says of a type, its values say of themselves.
    #[test]
    fn types_and_values_agree_in_how_they_are_written() {
        let texts = [
            "1",
            "t",
            "[1]",
            "2020-01-01",
            "10:00",
            "10:00+02",
            "1 day",
            "08:00:2b:01:02:03",
            "00000000-0000-0000-0000-000000000000",
            "pg_class",
            "::",
            "[1,2]",
            "[2020-01-01,]",
            "{[1,2]}",
            "{[2020-01-01,]}",
            "(1,2)",
            "(1,2),(3,4)",
            "1,2,3",
            "0/1",
            "1:1:",
            "a=>1",
        ];
        // What an access list grants is read with a catalog.
        let is_read = |scalar: &ScalarType| !scalar.is_pseudo() && *scalar != ScalarType::AclItem;
        for scalar in KNOWN.iter().map(|known| known.scalar.clone()).filter(is_read) {
            let read = |text: &&str| crate::text::parse(&scalar, -1, text, &crate::text::TextContext::default());
            let value = texts.iter().find_map(|text| read(text).ok());
            let value = value.unwrap_or_else(|| panic!("{scalar:?} reads none of the texts"));
            assert_eq!(value.has_several_writings(), !scalar.has_one_writing(), "{scalar:?}");
        }
    }

    #[test]
    fn names_are_spelled_as_postgresql_spells_them() {
        let numeric = encode_numeric_modifier(10, 2).expect("in range");
        let negative = encode_numeric_modifier(5, -3).expect("in range");
        let varchar = encode_length_modifier(20, "varchar").expect("in range");
        let cases = [
            (ScalarType::Int4, -1, "integer"),
            (ScalarType::Int4.array(), -1, "integer[]"),
            (ScalarType::Varchar, varchar, "character varying(20)"),
            (ScalarType::Varchar.array(), varchar, "character varying(20)[]"),
            (ScalarType::Bpchar, 7, "character(3)"),
            (ScalarType::Bpchar, -1, "character"),
            (ScalarType::Numeric, numeric, "numeric(10,2)"),
            (ScalarType::Numeric, negative, "numeric(5,-3)"),
            (ScalarType::Timestamptz, 3, "timestamp(3) with time zone"),
            (ScalarType::Time, 0, "time(0) without time zone"),
            (
                ScalarType::Interval,
                encode_interval_modifier("day to second", Some(2)).expect("known"),
                "interval day to second(2)",
            ),
            (ScalarType::Interval, encode_interval_modifier("", Some(3)).expect("known"), "interval(3)"),
            (ScalarType::Char, -1, "\"char\""),
        ];
        for (scalar, modifier, expected) in cases {
            assert_eq!(scalar.format_type(modifier), expected);
        }
        assert_eq!(numeric, 655_366);
    }
}
