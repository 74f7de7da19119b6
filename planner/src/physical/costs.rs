//! What one way of finding rows is worth beside another: every number by which a way is chosen, here and in the engine's late
//! step (`operators::access`), which knows sizes and what is in memory.
//!
//! The unit is a row that is read in passing, by a scan. Not here: how much is done at a time, and what bounds memory.

/// A row that is found by its key takes as long as so many rows of a scan. Measured with ranges over an order in memory:
/// where more than a quarter of a table is wanted, reading all of it is faster.
pub const LOOKUP_ROWS: usize = 4;
/// The same to reckon with.
pub(super) const LOOKUP_COST: f64 = LOOKUP_ROWS as f64;
/// A row that a join holds by its key, in rows of a scan. Reckoned, as are the next two.
pub(super) const HELD_COST: f64 = 0.6;
/// A row whose key is asked of what is held.
pub(super) const HASHED_COST: f64 = 0.3;
/// A row that comes out of a join.
pub(super) const JOINED_COST: f64 = 0.2;
/// A row that is read takes as long as so many keys that are looked up and not found. Estimated: a key that is not there
/// is mostly answered without reading a block.
pub const MISSES_A_ROW: usize = 2;
/// So many entries of another index are worth reading for a row that need not be read. Measured: an entry takes less than a
/// tenth of a row, and some of them spare none.
pub const ENTRIES_A_ROW: usize = 4;
/// Fewer rows are read rather than looked for in another index, too. Estimated: a cursor of its own has to be set.
pub const NARROWED_ROWS_MIN: usize = 4;
/// Fewer keys are looked up one by one, though they have a value in common. Estimated, likewise.
pub const KEYS_IN_COMMON_MIN: usize = 8;
/// Tables with an order in memory count so many rows at least: of smaller ones nothing is worth weighing.
pub const SMALL_TABLE_ROWS: usize = 256;
/// More keys than this are not listed in a plan, nor asked of a view: all rows and a set of so many values take less than so
/// many lookups, and less memory. Estimated.
pub const KEYS_MAX: usize = 65_536;

/// What is reckoned to take less than this share of what the plain way takes is done instead.
pub(super) const BETTER_SHARE: f64 = 0.7;
/// So many inputs of a join have an order looked for by their sizes.
pub(super) const INPUTS_MAX: usize = 40;
/// Of so many no order is left out.
pub(super) const ALL_ORDERS_MAX: usize = 10;
/// Of more, so many sets of inputs are gone on with, of each size.
pub(super) const SETS_MAX: usize = 24;
/// Of fewer values of a column that are known nothing is concluded of a predicate.
pub(super) const BOUNDS_MIN: usize = 10;

// What is not known while planning: enough to tell a point from a table. All estimated.

/// Rows of a table.
pub(super) const TABLE_ROWS: f64 = 10_000.0;
/// Rows of a catalog relation.
pub(super) const CATALOG_ROWS: f64 = 500.0;
/// Rows that share a value of an index that is not unique.
pub(super) const INDEX_ROWS: f64 = 10.0;
/// Rows that share the values of several columns.
pub(super) const KEY_ROWS: f64 = 2.0;
/// As how many rows a key counts that finds few: it is looked up, found or not. So up to a hundred of them beat one value
/// of one column, which may have any number of rows.
pub(super) const SMALL_KEY_REACH: f64 = 0.1;
/// As how many keys an array counts that is not known yet.
pub(super) const ARRAY_KEYS: usize = 20;
/// LIMIT or OFFSET where it is not known yet.
pub(super) const LIMIT_ROWS: f64 = 10.0;
/// Rows that a set-returning function gives for each of its input.
pub(super) const FUNCTION_ROWS: f64 = 10.0;
/// How much larger a recursion is than its start.
pub(super) const RECURSION_GROWTH: f64 = 10.0;

/// The share of rows with one value of a column.
pub(super) const EQUAL_SHARE: f64 = 0.05;
/// The share with one of several values.
pub(super) const LISTED_SHARE: f64 = 0.1;
/// The share with another value.
pub(super) const UNEQUAL_SHARE: f64 = 0.9;
/// The share that one bound leaves.
pub(super) const RANGE_SHARE: f64 = 0.3;
/// The share that a column's value leaves of a key or index.
pub(super) const PREFIX_SHARE: f64 = 0.01;
/// The share that any other predicate leaves, and a semi join.
pub(super) const OTHER_SHARE: f64 = 0.5;
/// A semi join that leaves no more of a relation comes before that one's joins.
pub(super) const SOONER_SHARE_MAX: f64 = 0.5;
/// It goes there, too, where the joins have so many times the rows.
pub(super) const SOONER_ROWS_MIN: f64 = 4.0;
/// So many operators down it is looked for, as the size of each is estimated anew.
pub(super) const SOONER_LEVELS_MAX: usize = 16;
/// Groups for each row that is grouped.
pub(super) const GROUP_SHARE: f64 = 0.3;
/// Nothing is estimated at fewer rows.
pub(super) const ROWS_MIN: f64 = 0.1;
/// A join by value gives the rows of its larger side for each so many of its smaller, within ten times either way.
pub(super) const JOINED_ROWS: f64 = 100.0;

/// So many columns at least must be left out of what a maintained order holds, or looking up its first rows is not worth
/// while. Measured on the memory that the discussion benchmark's views take.
pub(super) const LEFT_OUT_MIN: usize = 2;
