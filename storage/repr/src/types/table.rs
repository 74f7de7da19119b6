//! The table of types: what there is to know of each type that has a fixed OID, a row a type. Every list of types follows from it.
//!
//! A new type is a row here, its form as text (`text.rs`) and in binary (`wire/src/types/binary.rs`), and the casts that it has
//! (`planner/src/scalar/cast/evaluate.rs`). One whose values are none of those that `Datum` holds needs a variant of it, of `Value`,
//! and how both lie in rows and keys. Those of extensions have OIDs below the temporary ones, which nothing else reaches. `wire/tests/tidy.rs` lists these eight files, and finds lists of types elsewhere.

use super::range_type::RangeType;
use super::record::RecordType;
use crate::id::Id;
use serde::{Deserialize, Serialize};

/// Which types compare with one another by their bytes in a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// Values of this type alone.
    Itself,
    /// Integers of any width.
    Integers,
    /// real, double precision
    Floats,
    /// text, varchar, name, "char"
    Texts,
    /// oid, and the types that name what has one
    Oids,
    /// inet, cidr
    Networks,
    /// bit, bit varying
    Bits,
    /// Nothing: the type has no equality.
    Nothing,
}

/// What stands in parentheses behind a type's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// Nothing may.
    Nothing,
    /// `varchar(length)`
    Length,
    /// `bit(count)`
    Count,
    /// `numeric(precision, scale)`
    Digits,
    /// `timestamp(precision) with time zone`
    Fraction,
    /// `interval day to second(precision)`
    Fields,
}

/// What PostgreSQL knows of one built-in type.
pub(super) struct KnownType {
    pub(super) scalar: ScalarType,
    /// `pg_type.oid`
    pub(super) oid: Id,
    /// `pg_type.typarray`
    pub(super) array_oid: Id,
    /// `pg_type.typname`
    pub(super) type_name: &'static str,
    /// SQL's spelling, the same where it has none.
    pub(super) sql_name: &'static str,
    /// `pg_type.typlen`
    pub(super) length: i16,
    /// `pg_type.typcategory`
    pub(super) category: char,
    pub(super) more: More,
}

/// What is so with few types.
#[derive(Clone, Copy)]
pub(super) struct More {
    /// Other words that SQL has for it, which go before the names of other types.
    pub(super) aliases: &'static [&'static str],
    /// `pg_type.typispreferred`
    pub(super) preferred: bool,
    /// `pg_type.typtype` is `p`
    pub(super) pseudo: bool,
    /// `pg_type.typcollation`
    pub(super) collation: Id,
    /// `pg_type.typelem` of a vector
    pub(super) element: Id,
    /// What a range is over (`pg_range.rngsubtype`); a multirange, over which type of ranges.
    pub(super) over: Id,
    /// Whether the values that a range is over can be counted, so that it includes its lower bound and not its upper one.
    pub(super) counted: bool,
    pub(super) equality: Equality,
    pub(super) modifier: Modifier,
    /// Whether its text depends on settings of the session, names in the catalog among them.
    pub(super) reads_settings: bool,
    /// Whether its text is a name that stands in the catalog; its values are OIDs.
    pub(super) names_things: bool,
    /// Whether values may be equal that are written otherwise, as 1.0 and 1.00.
    pub(super) several_writings: bool,
    /// `pg_type.typdelim`: what stands between the elements of an array of it.
    pub(super) delimiter: char,
    /// What has to be created first; its types are in its schema, not in `pg_catalog`.
    pub(super) extension: Option<&'static str>,
}

const USUAL: More = More {
    aliases: &[],
    preferred: false,
    pseudo: false,
    collation: 0,
    element: 0,
    over: 0,
    counted: false,
    equality: Equality::Itself,
    modifier: Modifier::Nothing,
    reads_settings: false,
    names_things: false,
    several_writings: false,
    delimiter: ',',
    extension: None,
};

const INTEGER: More = More { equality: Equality::Integers, ..USUAL };
const FLOAT: More = More { equality: Equality::Floats, reads_settings: true, several_writings: true, ..USUAL };
const TEXT: More = More { equality: Equality::Texts, collation: COLLATION_DEFAULT, ..USUAL };
const SHAPE: More = More { equality: Equality::Nothing, reads_settings: true, ..USUAL };
const MOMENT: More = More { modifier: Modifier::Fraction, reads_settings: true, ..USUAL };
const NAMED: More = More { equality: Equality::Oids, reads_settings: true, names_things: true, ..USUAL };
const NO_VALUE: More = More { equality: Equality::Nothing, pseudo: true, ..USUAL };

const COLLATION_DEFAULT: Id = 100;
const COLLATION_C: Id = 950;

/// The catch-all row of anonymous composites, of which each has fields of its own.
static RECORD: KnownType = KnownType {
    scalar: ScalarType::Bool,
    oid: 2249,
    array_oid: 2287,
    type_name: "record",
    sql_name: "record",
    length: -1,
    category: 'P',
    more: USUAL,
};

/// Makes the enumeration of types, the table, and the way from one to the other, so that they cannot differ.
macro_rules! types {
    ($($scalar:ident: $oid:literal, $array_oid:literal; $type_name:literal, $sql_name:literal; $length:literal, $category:literal; $more:expr;)*) => {
        /// A SQL type without its modifier.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ScalarType {
            $(
                #[doc = concat!("`", $sql_name, "`")]
                $scalar,
            )*
            /// An enumeration, by the OID of its `pg_type` row.
            Enum(Id),
            /// A composite, created or anonymous.
            Record(RecordType),
            /// An array of a non-array type.
            Array(Box<ScalarType>),
            /// A created range.
            Range(RangeType),
            /// Sets of a created range's.
            Multirange(RangeType),
        }

        /// Where a type stands in the table.
        enum Place {
            $($scalar,)*
        }

        pub(super) static KNOWN: &[KnownType] = &[
            $(KnownType {
                scalar: ScalarType::$scalar,
                oid: $oid,
                array_oid: $array_oid,
                type_name: $type_name,
                sql_name: $sql_name,
                length: $length,
                category: $category,
                more: $more,
            },)*
        ];

        impl ScalarType {
            /// Its row; what was created is the catalog's, arrays follow from their elements.
            pub(super) fn known(&self) -> Option<&'static KnownType> {
                match self {
                    $(ScalarType::$scalar => Some(&KNOWN[Place::$scalar as usize]),)*
                    ScalarType::Record(record) if record.is_anonymous() => Some(&RECORD),
                    ScalarType::Enum(_)
                    | ScalarType::Record(_)
                    | ScalarType::Array(_)
                    | ScalarType::Range(_)
                    | ScalarType::Multirange(_) => None,
                }
            }
        }
    };
}

types! {
    // OID, its array's; pg_type's name, SQL's; bytes (-1: they vary), category; the rest
    Bool: 16, 1000; "bool", "boolean"; 1, 'B'; More { preferred: true, ..USUAL };
    Int2: 21, 1005; "int2", "smallint"; 2, 'N'; More { aliases: &["smallserial", "serial2"], ..INTEGER };
    Int4: 23, 1007; "int4", "integer"; 4, 'N'; More { aliases: &["int", "serial", "serial4"], ..INTEGER };
    Int8: 20, 1016; "int8", "bigint"; 8, 'N'; More { aliases: &["bigserial", "serial8"], ..INTEGER };
    Oid: 26, 1028; "oid", "oid"; 4, 'N'; More { preferred: true, equality: Equality::Oids, ..USUAL };
    Float4: 700, 1021; "float4", "real"; 4, 'N'; FLOAT;
    Float8: 701, 1022; "float8", "double precision"; 8, 'N'; More { preferred: true, aliases: &["float"], ..FLOAT };
    Numeric: 1700, 1231; "numeric", "numeric"; -1, 'N'; More { aliases: &["decimal", "dec"], modifier: Modifier::Digits, several_writings: true, ..USUAL };
    Text: 25, 1009; "text", "text"; -1, 'S'; More { preferred: true, ..TEXT };
    Varchar: 1043, 1015; "varchar", "character varying"; -1, 'S'; More { aliases: &["char varying"], modifier: Modifier::Length, ..TEXT };
    Bpchar: 1042, 1014; "bpchar", "character"; -1, 'S'; More { aliases: &["char"], equality: Equality::Itself, modifier: Modifier::Length, several_writings: true, ..TEXT };
    Name: 19, 1003; "name", "name"; 64, 'S'; More { collation: COLLATION_C, ..TEXT };
    Citext: 0x7FFF_0000, 0x7FFF_0001; "citext", "citext"; -1, 'S'; More { equality: Equality::Itself, several_writings: true, extension: Some("citext"), ..TEXT };
    Hstore: 0x7FFF_0002, 0x7FFF_0003; "hstore", "hstore"; -1, 'U'; More { extension: Some("hstore"), ..USUAL };
    Char: 18, 1002; "char", "\"char\""; 1, 'Z'; More { equality: Equality::Texts, ..USUAL };
    Bytea: 17, 1001; "bytea", "bytea"; -1, 'U'; More { reads_settings: true, ..USUAL };
    Date: 1082, 1182; "date", "date"; 4, 'D'; More { reads_settings: true, ..USUAL };
    Time: 1083, 1183; "time", "time without time zone"; 8, 'D'; MOMENT;
    TimeTz: 1266, 1270; "timetz", "time with time zone"; 12, 'D'; MOMENT;
    Timestamp: 1114, 1115; "timestamp", "timestamp without time zone"; 8, 'D'; MOMENT;
    Timestamptz: 1184, 1185; "timestamptz", "timestamp with time zone"; 8, 'D'; More { preferred: true, ..MOMENT };
    Interval: 1186, 1187; "interval", "interval"; 16, 'T'; More { preferred: true, modifier: Modifier::Fields, reads_settings: true, several_writings: true, ..USUAL };
    Inet: 869, 1041; "inet", "inet"; -1, 'I'; More { preferred: true, equality: Equality::Networks, ..USUAL };
    Cidr: 650, 651; "cidr", "cidr"; -1, 'I'; More { equality: Equality::Networks, ..USUAL };
    MacAddr: 829, 1040; "macaddr", "macaddr"; 6, 'U'; USUAL;
    MacAddr8: 774, 775; "macaddr8", "macaddr8"; 8, 'U'; USUAL;
    Bit: 1560, 1561; "bit", "bit"; -1, 'V'; More { equality: Equality::Bits, modifier: Modifier::Count, ..USUAL };
    VarBit: 1562, 1563; "varbit", "bit varying"; -1, 'V'; More { preferred: true, equality: Equality::Bits, modifier: Modifier::Count, ..USUAL };
    Money: 790, 791; "money", "money"; 8, 'N'; USUAL;
    Point: 600, 1017; "point", "point"; 16, 'G'; SHAPE;
    Lseg: 601, 1018; "lseg", "lseg"; 32, 'G'; SHAPE;
    Path: 602, 1019; "path", "path"; -1, 'G'; SHAPE;
    Box: 603, 1020; "box", "box"; 32, 'G'; More { delimiter: ';', ..SHAPE };
    Polygon: 604, 1027; "polygon", "polygon"; -1, 'G'; SHAPE;
    Line: 628, 629; "line", "line"; 24, 'G'; SHAPE;
    Circle: 718, 719; "circle", "circle"; 24, 'G'; SHAPE;
    Xml: 142, 143; "xml", "xml"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    Uuid: 2950, 2951; "uuid", "uuid"; 16, 'U'; USUAL;
    TsVector: 3614, 3643; "tsvector", "tsvector"; -1, 'U'; USUAL;
    TsQuery: 3615, 3645; "tsquery", "tsquery"; -1, 'U'; More { several_writings: true, ..USUAL };
    Json: 114, 199; "json", "json"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    Jsonb: 3802, 3807; "jsonb", "jsonb"; -1, 'U'; More { several_writings: true, ..USUAL };
    JsonPath: 4072, 4073; "jsonpath", "jsonpath"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    Regclass: 2205, 2210; "regclass", "regclass"; 4, 'N'; NAMED;
    Regtype: 2206, 2211; "regtype", "regtype"; 4, 'N'; NAMED;
    Regproc: 24, 1008; "regproc", "regproc"; 4, 'N'; NAMED;
    Regprocedure: 2202, 2207; "regprocedure", "regprocedure"; 4, 'N'; NAMED;
    Regoper: 2203, 2208; "regoper", "regoper"; 4, 'N'; NAMED;
    Regoperator: 2204, 2209; "regoperator", "regoperator"; 4, 'N'; NAMED;
    Regrole: 4096, 4097; "regrole", "regrole"; 4, 'N'; NAMED;
    Regcollation: 4191, 4192; "regcollation", "regcollation"; 4, 'N'; NAMED;
    Regconfig: 3734, 3735; "regconfig", "regconfig"; 4, 'N'; NAMED;
    Regdictionary: 3769, 3770; "regdictionary", "regdictionary"; 4, 'N'; NAMED;
    Regnamespace: 4089, 4090; "regnamespace", "regnamespace"; 4, 'N'; NAMED;
    Int2Vector: 22, 1006; "int2vector", "int2vector"; -1, 'A'; More { element: 21, ..USUAL };
    OidVector: 30, 1013; "oidvector", "oidvector"; -1, 'A'; More { element: 26, ..USUAL };
    Xid: 28, 1011; "xid", "xid"; 4, 'U'; USUAL;
    Xid8: 5069, 271; "xid8", "xid8"; 8, 'U'; USUAL;
    Tid: 27, 1010; "tid", "tid"; 6, 'U'; USUAL;
    PgLsn: 3220, 3221; "pg_lsn", "pg_lsn"; 8, 'U'; USUAL;
    AclItem: 1033, 1034; "aclitem", "aclitem"; 12, 'U'; More { reads_settings: true, ..USUAL };
    PgSnapshot: 5038, 5039; "pg_snapshot", "pg_snapshot"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    TxidSnapshot: 2970, 2949; "txid_snapshot", "txid_snapshot"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    Int4Range: 3904, 3905; "int4range", "int4range"; -1, 'R'; More { over: 23, counted: true, ..USUAL };
    NumRange: 3906, 3907; "numrange", "numrange"; -1, 'R'; More { over: 1700, several_writings: true, ..USUAL };
    TsRange: 3908, 3909; "tsrange", "tsrange"; -1, 'R'; More { over: 1114, reads_settings: true, ..USUAL };
    TstzRange: 3910, 3911; "tstzrange", "tstzrange"; -1, 'R'; More { over: 1184, reads_settings: true, ..USUAL };
    DateRange: 3912, 3913; "daterange", "daterange"; -1, 'R'; More { over: 1082, counted: true, reads_settings: true, ..USUAL };
    Int8Range: 3926, 3927; "int8range", "int8range"; -1, 'R'; More { over: 20, counted: true, ..USUAL };
    Int4Multirange: 4451, 6150; "int4multirange", "int4multirange"; -1, 'R'; More { over: 3904, ..USUAL };
    NumMultirange: 4532, 6151; "nummultirange", "nummultirange"; -1, 'R'; More { over: 3906, several_writings: true, ..USUAL };
    TsMultirange: 4533, 6152; "tsmultirange", "tsmultirange"; -1, 'R'; More { over: 3908, reads_settings: true, ..USUAL };
    TstzMultirange: 4534, 6153; "tstzmultirange", "tstzmultirange"; -1, 'R'; More { over: 3910, reads_settings: true, ..USUAL };
    DateMultirange: 4535, 6155; "datemultirange", "datemultirange"; -1, 'R'; More { over: 3912, reads_settings: true, ..USUAL };
    Int8Multirange: 4536, 6157; "int8multirange", "int8multirange"; -1, 'R'; More { over: 3926, ..USUAL };
    Refcursor: 1790, 2201; "refcursor", "refcursor"; -1, 'U'; More { equality: Equality::Nothing, ..USUAL };
    // What input functions read and output functions write.
    Cstring: 2275, 1263; "cstring", "cstring"; -2, 'P'; NO_VALUE;
    Void: 2278, 0; "void", "void"; 4, 'P'; NO_VALUE;
    // A string literal or NULL whose type is not decided yet.
    Unknown: 705, 0; "unknown", "unknown"; -2, 'X'; More { collation: COLLATION_DEFAULT, ..NO_VALUE };
}
