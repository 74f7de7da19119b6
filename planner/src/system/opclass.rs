//! PostgreSQL 15's operator classes of `btree`, `hash`, `gin` and `brin`, for the types that there are here.

use crate::system::builtin::FIRST_OF_EXTENSIONS;
use repr::ScalarType;

/// One row of `pg_opclass`.
pub(crate) struct OperatorClass {
    pub(crate) oid: u32,
    pub(crate) method: &'static str,
    pub(crate) name: &'static str,
    /// The OID of the type that it is of.
    pub(crate) input: u32,
    pub(crate) is_default: bool,
    /// The type of what is stored, if it is another.
    pub(crate) key: u32,
    pub(crate) family: u32,
}

const fn class(
    oid: u32,
    method: &'static str,
    name: &'static str,
    input: u32,
    is_default: bool,
    key: u32,
    family: u32,
) -> OperatorClass {
    OperatorClass { oid, method, name, input, is_default, key, family }
}

const TEXT: u32 = 25;
const INET: u32 = 869;
const ANY_ARRAY: u32 = 2277;
const ANY_ELEMENT: u32 = 2283;
const ANY_ENUM: u32 = 3500;
const ANY_RANGE: u32 = 3831;
const RECORD: u32 = 2249;
const ANY_MULTIRANGE: u32 = 4537;
/// As in `builtin/citext/pg_type.tsv`, as the OIDs of its classes are in `pg_opclass.tsv`; hstore likewise.
const CITEXT: u32 = 0x7FFF_0000;
const HSTORE: u32 = 0x7FFF_0002;

/// All of them.
pub(crate) const CLASSES: &[OperatorClass] = &[
    class(1978, "btree", "int4_ops", 23, true, 0, 1976),
    class(1979, "btree", "int2_ops", 21, true, 0, 1976),
    class(1981, "btree", "oid_ops", 26, true, 0, 1989),
    class(3122, "btree", "date_ops", 1082, true, 0, 434),
    class(3123, "btree", "float8_ops", 701, true, 0, 1970),
    class(3124, "btree", "int8_ops", 20, true, 0, 1976),
    class(3125, "btree", "numeric_ops", 1700, true, 0, 1988),
    class(3126, "btree", "text_ops", TEXT, true, 0, 1994),
    class(3127, "btree", "timestamptz_ops", 1184, true, 0, 434),
    class(3128, "btree", "timestamp_ops", 1114, true, 0, 434),
    class(4217, "btree", "text_pattern_ops", TEXT, false, 0, 2095),
    class(4218, "btree", "varchar_pattern_ops", TEXT, false, 0, 2095),
    class(4219, "btree", "bpchar_pattern_ops", 1042, false, 0, 2097),
    class(10000, "btree", "array_ops", ANY_ARRAY, true, 0, 397),
    class(10003, "btree", "bool_ops", 16, true, 0, 424),
    class(10004, "btree", "bpchar_ops", 1042, true, 0, 426),
    class(10006, "btree", "bytea_ops", 17, true, 0, 428),
    class(10007, "btree", "char_ops", 18, true, 0, 429),
    class(10009, "btree", "cidr_ops", INET, false, 0, 1974),
    class(10012, "btree", "float4_ops", 700, true, 0, 1970),
    class(10015, "btree", "inet_ops", INET, true, 0, 1974),
    class(10022, "btree", "interval_ops", 1186, true, 0, 1982),
    class(10028, "btree", "name_ops", 19, true, 2275, 1994),
    class(10032, "btree", "oidvector_ops", 30, true, 0, 1991),
    class(10034, "btree", "record_ops", RECORD, true, 0, 2994),
    class(10036, "btree", "record_image_ops", 2249, false, 0, 3194),
    class(10038, "btree", "time_ops", 1083, true, 0, 1996),
    class(10041, "btree", "timetz_ops", 1266, true, 0, 2000),
    class(10044, "btree", "varchar_ops", TEXT, false, 0, 1994),
    class(10065, "btree", "uuid_ops", 2950, true, 0, 2968),
    class(10069, "btree", "enum_ops", ANY_ENUM, true, 0, 3522),
    class(10088, "btree", "jsonb_ops", 3802, true, 0, 4033),
    class(10071, "btree", "tsvector_ops", 3614, true, 0, 3626),
    class(10074, "btree", "tsquery_ops", 3615, true, 0, 3683),
    class(10076, "btree", "range_ops", ANY_RANGE, true, 0, 3901),
    class(10080, "btree", "multirange_ops", ANY_MULTIRANGE, true, 0, 4199),
    class(10002, "btree", "bit_ops", 1560, true, 0, 423),
    class(10024, "btree", "macaddr_ops", 829, true, 0, 1984),
    class(10026, "btree", "macaddr8_ops", 774, true, 0, 3371),
    class(10043, "btree", "varbit_ops", 1562, true, 0, 2002),
    class(10047, "btree", "money_ops", 790, true, 0, 2099),
    class(2_147_418_198, "btree", "citext_ops", CITEXT, true, 0, 2_147_418_227),
    class(2_147_418_200, "btree", "citext_pattern_ops", CITEXT, false, 0, 2_147_418_229),
    class(2_147_418_199, "hash", "citext_ops", CITEXT, true, 0, 2_147_418_228),
    class(2_147_418_425, "btree", "btree_hstore_ops", HSTORE, true, 0, 2_147_418_447),
    class(2_147_418_426, "hash", "hash_hstore_ops", HSTORE, true, 0, 2_147_418_448),
    class(2_147_418_450, "gin", "gin_hstore_ops", HSTORE, true, TEXT, 2_147_418_449),
    class(10001, "hash", "array_ops", ANY_ARRAY, true, 0, 627),
    class(10005, "hash", "bpchar_ops", 1042, true, 0, 427),
    class(10008, "hash", "char_ops", 18, true, 0, 431),
    class(10010, "hash", "cidr_ops", INET, false, 0, 1975),
    class(10025, "hash", "macaddr_ops", 829, true, 0, 1985),
    class(10027, "hash", "macaddr8_ops", 774, true, 0, 3372),
    class(10011, "hash", "date_ops", 1082, true, 0, 435),
    class(10013, "hash", "float4_ops", 700, true, 0, 1971),
    class(10014, "hash", "float8_ops", 701, true, 0, 1971),
    class(10016, "hash", "inet_ops", INET, true, 0, 1975),
    class(10019, "hash", "int2_ops", 21, true, 0, 1977),
    class(10020, "hash", "int4_ops", 23, true, 0, 1977),
    class(10021, "hash", "int8_ops", 20, true, 0, 1977),
    class(10023, "hash", "interval_ops", 1186, true, 0, 1983),
    class(10029, "hash", "name_ops", 19, true, 0, 1995),
    class(10030, "hash", "numeric_ops", 1700, true, 0, 1998),
    class(10031, "hash", "oid_ops", 26, true, 0, 1990),
    class(10033, "hash", "oidvector_ops", 30, true, 0, 1992),
    class(10035, "hash", "record_ops", RECORD, true, 0, 6194),
    class(10037, "hash", "text_ops", TEXT, true, 0, 1995),
    class(10039, "hash", "time_ops", 1083, true, 0, 1997),
    class(10040, "hash", "timestamptz_ops", 1184, true, 0, 1999),
    class(10042, "hash", "timetz_ops", 1266, true, 0, 2001),
    class(10045, "hash", "varchar_ops", TEXT, false, 0, 1995),
    class(10046, "hash", "timestamp_ops", 1114, true, 0, 2040),
    class(10048, "hash", "bool_ops", 16, true, 0, 2222),
    class(10049, "hash", "bytea_ops", 17, true, 0, 2223),
    class(10051, "hash", "xid_ops", 28, true, 0, 2225),
    class(10056, "hash", "text_pattern_ops", TEXT, false, 0, 2229),
    class(10057, "hash", "varchar_pattern_ops", TEXT, false, 0, 2229),
    class(10058, "hash", "bpchar_pattern_ops", 1042, false, 0, 2231),
    class(10066, "hash", "uuid_ops", 2950, true, 0, 2969),
    class(10070, "hash", "enum_ops", ANY_ENUM, true, 0, 3523),
    class(10089, "hash", "jsonb_ops", 3802, true, 0, 4034),
    class(10077, "hash", "range_ops", ANY_RANGE, true, 0, 3903),
    class(10081, "hash", "multirange_ops", ANY_MULTIRANGE, true, 0, 4225),
    class(10064, "gin", "array_ops", ANY_ARRAY, true, ANY_ELEMENT, 2745),
    class(10073, "gin", "tsvector_ops", 3614, true, TEXT, 3659),
    class(10090, "gin", "jsonb_ops", 3802, true, TEXT, 4036),
    class(10091, "gin", "jsonb_path_ops", 3802, false, 23, 4037),
    class(16440, "gin", "gin_trgm_ops", TEXT, false, 23, 16439),
    class(10092, "brin", "bytea_minmax_ops", 17, true, 17, 4064),
    class(10094, "brin", "char_minmax_ops", 18, true, 18, 4062),
    class(10096, "brin", "name_minmax_ops", 19, true, 19, 4065),
    class(10098, "brin", "int8_minmax_ops", 20, true, 20, 4054),
    class(10101, "brin", "int2_minmax_ops", 21, true, 21, 4054),
    class(10104, "brin", "int4_minmax_ops", 23, true, 23, 4054),
    class(10107, "brin", "text_minmax_ops", TEXT, true, TEXT, 4056),
    class(10109, "brin", "oid_minmax_ops", 26, true, 26, 4068),
    class(10115, "brin", "float4_minmax_ops", 700, true, 700, 4070),
    class(10118, "brin", "float8_minmax_ops", 701, true, 701, 4070),
    class(10121, "brin", "macaddr_minmax_ops", 829, true, 829, 4074),
    class(10124, "brin", "macaddr8_minmax_ops", 774, true, 774, 4109),
    class(10151, "brin", "bit_minmax_ops", 1560, true, 1560, 4079),
    class(10152, "brin", "varbit_minmax_ops", 1562, true, 1562, 4080),
    class(10127, "brin", "inet_minmax_ops", INET, false, INET, 4075),
    class(10131, "brin", "bpchar_minmax_ops", 1042, true, 1042, 4076),
    class(10133, "brin", "time_minmax_ops", 1083, true, 1083, 4077),
    class(10148, "brin", "timetz_minmax_ops", 1266, true, 1266, 4058),
    class(10136, "brin", "date_minmax_ops", 1082, true, 1082, 4059),
    class(10139, "brin", "timestamp_minmax_ops", 1114, true, 1114, 4059),
    class(10142, "brin", "timestamptz_minmax_ops", 1184, true, 1184, 4059),
    class(10145, "brin", "interval_minmax_ops", 1186, true, 1186, 4078),
    class(10153, "brin", "numeric_minmax_ops", 1700, true, 1700, 4055),
    class(10050, "btree", "tid_ops", 27, true, 0, 2789),
    class(10052, "hash", "xid8_ops", 5069, true, 0, 5032),
    class(10053, "btree", "xid8_ops", 5069, true, 0, 5067),
    class(10055, "hash", "tid_ops", 27, true, 0, 2227),
    class(10059, "hash", "aclitem_ops", 1033, true, 0, 2235),
    class(10067, "btree", "pg_lsn_ops", 3220, true, 0, 3253),
    class(10068, "hash", "pg_lsn_ops", 3220, true, 0, 3254),
    class(10112, "brin", "tid_minmax_ops", 27, true, 27, 4069),
    class(10160, "brin", "pg_lsn_minmax_ops", 3220, true, 3220, 4082),
    class(10156, "brin", "uuid_minmax_ops", 2950, true, 2950, 4081),
];

impl OperatorClass {
    /// Whether a column of that type can have it. A `character varying` column has those of `text`.
    pub(crate) fn takes(&self, scalar: &ScalarType) -> bool {
        self.input == input(scalar)
    }
}

fn input(scalar: &ScalarType) -> u32 {
    match scalar {
        ScalarType::Varchar => TEXT,
        ScalarType::Cidr => INET,
        ScalarType::Array(_) => ANY_ARRAY,
        ScalarType::Enum(_) => ANY_ENUM,
        ScalarType::Record(_) => RECORD,
        range if range.range_element().is_some() => ANY_RANGE,
        multirange if multirange.multirange_range().is_some() => ANY_MULTIRANGE,
        other => other.oid(),
    }
}

/// Those that are always there: what extensions have is listed with them.
pub(crate) fn built_in() -> impl Iterator<Item = &'static OperatorClass> {
    CLASSES.iter().filter(|class| class.input < FIRST_OF_EXTENSIONS)
}

/// The class of that name.
pub(crate) fn find(method: &str, name: &str) -> Option<&'static OperatorClass> {
    CLASSES.iter().find(|class| class.method == method && class.name == name)
}

/// The class that a column of that type has if none is said.
pub(crate) fn default(method: &str, scalar: &ScalarType) -> Option<&'static OperatorClass> {
    CLASSES.iter().find(|class| class.method == method && class.is_default && class.takes(scalar))
}
