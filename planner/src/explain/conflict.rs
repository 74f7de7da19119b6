//! ON CONFLICT, on the line of its INSERT: which indexes count, and what becomes of the row that is there.

use super::Text;
use super::column::{Leaf, over};
use super::expression::{Phrase, Piece};
use crate::names::{ItemName, Names};
use crate::plan::{Beside, ConflictAction, OnConflict};
use crate::scalar::func::quote_identifier;
use repr::RelationId;
use std::sync::Arc;

/// Where `excluded` stands: behind every item of the query.
const BEHIND_ALL: (usize, usize) = (0, usize::MAX);

impl Text<'_> {
    /// `INSERT`'s phrase with what follows from a conflict. The columns of what SET and WHERE read beside the rows are known.
    pub(super) fn conflict(
        &mut self,
        phrase: Phrase,
        table: RelationId,
        conflict: &OnConflict,
        besides: &[(usize, Vec<Leaf>)],
    ) -> Phrase {
        let arbiters: Vec<String> = conflict.arbiters.iter().map(|id| self.index(table, *id)).collect();
        let phrase = phrase.text(" on conflict");
        let phrase = if arbiters.is_empty() { phrase } else { phrase.text(format!(" in {}", arbiters.join(", "))) };
        let ConflictAction::Update { beside, assignments, beside_condition, condition } = &conflict.action else {
            return phrase.text(" do nothing");
        };
        let rows = self.conflicting(table);
        let with = |beside: &Option<Beside>| -> Vec<Leaf> {
            let number = beside.as_ref().map(|beside| beside.number);
            let found = besides.iter().find(|(of, _)| Some(*of) == number);
            rows.iter().chain(found.iter().flat_map(|(_, columns)| columns)).cloned().collect()
        };
        let columns = with(beside);
        let mut phrase = phrase.text(" update ");
        for (place, (column, value)) in assignments.iter().enumerate() {
            let name = self.catalog.table(table).and_then(|table| table.columns.get(*column));
            let name = name.map_or_else(String::new, |column| quote_identifier(&column.name));
            let comma = if place > 0 { ", " } else { "" };
            phrase = phrase.text(format!("{comma}{name} = ")).piece(Piece::Expr(over(value, &columns)));
        }
        match condition {
            Some(condition) => phrase.text(" where ").piece(Piece::Expr(over(condition, &with(beside_condition)))),
            None => phrase,
        }
    }

    /// The columns of the row that is there, then those of the one that was to be inserted.
    fn conflicting(&mut self, table: RelationId) -> Vec<Leaf> {
        let excluded = Arc::new(ItemName { name: "excluded".to_owned(), place: Some(BEHIND_ALL) });
        let mut names = Names::default();
        names.call(&excluded);
        let mut columns = self.columns.stored(table, &Names::default(), false);
        columns.extend(self.columns.stored(table, &names, false));
        columns
    }
}
