//! `dogwood mask`: which columns of a dump hold what is personal, and what stands in their place.
//!
//! ```text
//! definitions ─▶ lint::LintedSchema ─▶ columns of people's rows, and what foreign keys tie to them ─▶ a mask for each
//! a row's values ─▶ pseudonyms of the same type and shape; the same value is the same pseudonym
//! ```
//! What nobody can tell of a column is refused, and not let through.

mod alphabet;
mod permutation;
mod pseudonyms;

pub use pseudonyms::{Mask, Pseudonyms, Unmasked};

use crate::lint::LintedSchema;
use planner::catalog::{Property, Table};
use planner::ownership::{Dog, looks_personal};
use planner::parse::Statement;
use planner::parse::utility::{CopyDirection, CopySource};
use repr::{ColumnIndex, RelationId, ScalarType};
use state::SqlError;
use std::collections::{BTreeMap, BTreeSet};

/// What somebody has decided of columns, each as `table.column` or `schema.table.column`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// They hold nothing personal.
    pub kept: BTreeSet<String>,
    /// They do.
    pub masked: BTreeSet<String>,
    /// They become NULL.
    pub nulled: BTreeSet<String>,
}

/// Columns that are masked, and why others of people's rows are not.
#[derive(Debug, Default)]
pub struct Masks {
    columns: BTreeMap<(RelationId, ColumnIndex), Mask>,
    /// Columns of people's tables that stay as they are, with the reason.
    pub kept: Vec<(String, &'static str)>,
    /// Why the dump cannot be masked.
    pub refused: Vec<String>,
}

/// What is to become of a column.
enum Treatment {
    Masked(Mask),
    Kept(&'static str),
    /// Its type has values that cannot be masked.
    Unknown,
}

type ColumnPlace = (RelationId, ColumnIndex);

impl Masks {
    /// Of a whole schema.
    pub fn of(schema: &LintedSchema, judged: &Judged) -> Masks {
        let catalog = schema.catalog();
        let dog = Dog::new(catalog);
        let mut masks = Masks::default();
        let mut unused: BTreeSet<&String> = judged.kept.iter().chain(&judged.masked).chain(&judged.nulled).collect();
        let mut personal: BTreeSet<ColumnPlace> = BTreeSet::new();
        let tied = Ties::of(schema);
        for table in catalog.stored_tables() {
            let is_peoples = dog.is_personal(table.id) || !dog.outgoing(table.id).is_empty();
            for (index, column) in table.live_columns() {
                let names = [format!("{}.{}", table.name, column.name), schema.full_name(table, column)];
                let is_in = |set: &BTreeSet<String>| names.iter().any(|name| set.contains(name));
                unused.retain(|name| !names.contains(name));
                if is_in(&judged.masked)
                    || is_in(&judged.nulled)
                    || !is_in(&judged.kept)
                        && (is_peoples || looks_personal(&column.name))
                        && !is_made_up(table, index, &tied)
                {
                    personal.insert((table.id, index));
                } else if is_peoples {
                    let why = if is_in(&judged.kept) { "as you say" } else { "a key that was made up" };
                    masks.kept.push((schema.full_name(table, column), why));
                }
            }
        }
        masks.refused.extend(unused.into_iter().map(|name| format!("there is no column {name}")));
        // What refers to a masked column, or is referred to by one, is masked alike.
        let told: BTreeSet<ColumnPlace> = personal.iter().flat_map(|place| tied.with(*place)).collect();
        for table in catalog.stored_tables() {
            for (index, column) in table.live_columns().filter(|(index, _)| told.contains(&(table.id, *index))) {
                let name = schema.full_name(table, column);
                let is_in = |set: &BTreeSet<String>| {
                    set.contains(&name) || set.contains(&format!("{}.{}", table.name, column.name))
                };
                if is_in(&judged.nulled) {
                    match column.column_type.nullable {
                        true => drop(masks.columns.insert((table.id, index), Mask::Null)),
                        false => masks.refused.push(format!("column {name} is NOT NULL")),
                    }
                    continue;
                }
                match fate(schema, table, index, is_in(&judged.masked)) {
                    Treatment::Masked(mask) => drop(masks.columns.insert((table.id, index), mask)),
                    Treatment::Kept(why) => masks.kept.push((name, why)),
                    Treatment::Unknown => masks.refused.push(format!(
                        "column {name} is of a type whose values have no pseudonyms: --keep {name}, or --null {name}"
                    )),
                }
            }
        }
        masks
    }

    /// How many columns are masked.
    pub fn count(&self) -> usize {
        self.columns.len()
    }

    /// The masks of the columns that a COPY … FROM stdin fills, in its order; none of another statement. 42P01 of a table that is not
    /// known: nobody can tell whose its rows are.
    pub fn of_copy(&self, schema: &LintedSchema, text: &str) -> Result<Option<Vec<Option<&Mask>>>, SqlError> {
        let Some(parsed) = planner::parse::parse(text)?.pop() else { return Ok(None) };
        let Statement::Copy(copy) = parsed.statement else { return Ok(None) };
        let (CopySource::Table(name, columns), CopyDirection::FromStdin) = (&copy.source, &copy.direction) else {
            return Ok(None);
        };
        let table = schema.table(name)?;
        let unknown =
            |column: &str| SqlError::new("42703", format!("column {column} of table {} is not known", table.name));
        let all = || table.live_columns().map(|(index, _)| index).collect();
        let named = columns.iter().map(|column| match table.column_by_name(&column.name) {
            Some((index, _)) => Ok(index),
            None => Err(unknown(&column.name)),
        });
        let columns: Vec<ColumnIndex> = if columns.is_empty() { all() } else { named.collect::<Result<_, _>>()? };
        Ok(Some(columns.into_iter().map(|index| self.columns.get(&(table.id, index))).collect()))
    }
}

/// A number or an UUID that is a key, or refers to one: it says nothing of whom it stands for.
fn is_made_up(table: &Table, index: ColumnIndex, tied: &Ties) -> bool {
    let scalar = &table.columns[index].column_type.scalar;
    let is_number = matches!(scalar, ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 | ScalarType::Uuid);
    let is_key = table.indexes.iter().any(|found| found.unique && found.columns.contains(&index));
    is_number && (is_key || tied.with((table.id, index)).len() > 1)
}

fn fate(schema: &LintedSchema, table: &Table, index: ColumnIndex, insisted: bool) -> Treatment {
    let column = &table.columns[index];
    let Some(mask) = mask_of(&column.column_type.scalar) else {
        return match &column.column_type.scalar {
            scalar if is_telling_nothing(scalar) => Treatment::Kept("of a type that tells nothing"),
            _ => Treatment::Unknown,
        };
    };
    let is_told = insisted || looks_personal(&column.name);
    match column.property {
        // Where the data came from is told in words.
        Some(Property::Origin | Property::Recipient) | None => {}
        Some(_) if !insisted => return Treatment::Kept("it governs the row"),
        Some(_) => {}
    }
    if !is_told && (schema.is_checked(table, column) || column.column_type.is_constrained()) {
        return Treatment::Kept("a CHECK or a domain says what it may be");
    }
    Treatment::Masked(mask)
}

/// Values of these types stand for themselves, and for nobody.
fn is_telling_nothing(scalar: &ScalarType) -> bool {
    match scalar {
        ScalarType::Array(element) => is_telling_nothing(element),
        ScalarType::Bool | ScalarType::Enum(_) | ScalarType::Interval | ScalarType::Time | ScalarType::TimeTz => true,
        _ => false,
    }
}

fn mask_of(scalar: &ScalarType) -> Option<Mask> {
    Some(match scalar {
        ScalarType::Text | ScalarType::Varchar | ScalarType::Bpchar | ScalarType::Citext | ScalarType::Char => {
            Mask::Text
        }
        ScalarType::Int2
        | ScalarType::Int4
        | ScalarType::Int8
        | ScalarType::Float4
        | ScalarType::Float8
        | ScalarType::Numeric => Mask::Number,
        ScalarType::Date | ScalarType::Timestamp | ScalarType::Timestamptz => Mask::Moment,
        ScalarType::Inet | ScalarType::Cidr => Mask::Address,
        ScalarType::Uuid | ScalarType::Bytea | ScalarType::MacAddr | ScalarType::MacAddr8 => Mask::Hexadecimal,
        ScalarType::Json | ScalarType::Jsonb => Mask::Json,
        ScalarType::TsVector => Mask::Words,
        ScalarType::Array(element) => Mask::Each(Box::new(mask_of(element)?)),
        _ => return None,
    })
}

/// Columns that foreign keys tie to each other.
struct Ties {
    together: BTreeMap<ColumnPlace, BTreeSet<ColumnPlace>>,
}

impl Ties {
    fn of(schema: &LintedSchema) -> Ties {
        let mut together: BTreeMap<ColumnPlace, BTreeSet<ColumnPlace>> = BTreeMap::new();
        for table in schema.catalog().stored_tables() {
            for key in &table.foreign_keys {
                for (own, target) in key.columns.iter().zip(&key.target_columns) {
                    let (own, target) = ((table.id, *own), (key.target, *target));
                    let mut joined = together.get(&own).cloned().unwrap_or_else(|| BTreeSet::from([own]));
                    joined.extend(together.get(&target).cloned().unwrap_or_else(|| BTreeSet::from([target])));
                    for place in &joined {
                        together.insert(*place, joined.clone());
                    }
                }
            }
        }
        Ties { together }
    }

    /// A column, and all that hold the same values.
    fn with(&self, place: ColumnPlace) -> BTreeSet<ColumnPlace> {
        self.together.get(&place).cloned().unwrap_or_else(|| BTreeSet::from([place]))
    }
}
