//! Names that PostgreSQL makes up: `t_pkey`, `t_a_b_key`, `t_a_fkey`, `t_a_check`, `t_a_seq`, `t_a_idx`.

use super::change::DefinitionChange;
use crate::catalog::Table;

const NAME_BYTES_MAX: usize = 63;

impl DefinitionChange<'_> {
    /// A free relation name (index, sequence) of the form `table_columns_label`, with a number if need be.
    pub(super) fn relation_name(&self, table: &str, columns: &str, label: &str, also: &Table) -> String {
        numbered(table, columns, label, |name| {
            self.kind_in(also.namespace, name).is_some()
                || also.name == name
                || also.indexes.iter().any(|index| index.name == name)
                || has_constraint(also, name)
        })
    }
}

/// A free constraint name of that table.
pub(super) fn constraint_name(table: &Table, columns: &str, label: &str) -> String {
    numbered(&table.name, columns, label, |name| has_constraint(table, name))
}

/// Whether the table has a constraint of that name.
pub(super) fn has_constraint(table: &Table, name: &str) -> bool {
    table.checks.iter().any(|check| check.constraint.name == name)
        || table.foreign_keys.iter().any(|key| key.constraint.name == name)
        || table.indexes.iter().any(|index| index.constraint.as_ref().is_some_and(|c| c.name == name))
}

pub(super) fn numbered(table: &str, columns: &str, label: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut suffix = label.to_string();
    let mut number = 0;
    loop {
        let name = shorten(table, columns, &suffix);
        if !taken(&name) {
            return name;
        }
        number += 1;
        suffix = format!("{label}{number}");
    }
}

/// PostgreSQL's makeObjectName: cuts the longer of the first two parts until all fits in 63 bytes.
fn shorten(first: &str, second: &str, label: &str) -> String {
    let overhead = label.len() + 1 + usize::from(!second.is_empty());
    let available = NAME_BYTES_MAX.saturating_sub(overhead);
    let (mut first_bytes, mut second_bytes) = (first.len(), second.len());
    while first_bytes + second_bytes > available {
        if first_bytes > second_bytes { first_bytes -= 1 } else { second_bytes -= 1 }
    }
    let cut = |text: &str, bytes: usize| {
        let mut end = bytes;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text[..end].to_string()
    };
    let mut name = cut(first, first_bytes);
    if !second.is_empty() {
        name.push('_');
        name.push_str(&cut(second, second_bytes));
    }
    name.push('_');
    name.push_str(label);
    name
}

#[cfg(test)]
mod tests {
    use super::shorten;

    #[test]
    fn long_names_are_cut_as_postgresql_does() {
        assert_eq!(shorten("t", "", "pkey"), "t_pkey");
        assert_eq!(shorten("t", "a_b", "key"), "t_a_b_key");
        let name = shorten(&"t".repeat(63), &"c".repeat(63), "fkey");
        assert_eq!(name, format!("{}_{}_fkey", "t".repeat(29), "c".repeat(28)));
        assert_eq!(name.len(), 63);
    }
}
