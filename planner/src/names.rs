//! What a query calls its relations and columns: carried beside the operators that make columns, for EXPLAIN alone.
//!
//! Names change no plan. Any two are equal, and `Debug` says nothing of them, so that queries of one meaning (views that
//! are compared) and plans of one text (views that are shared) are the same whatever things are called in them.

use std::fmt;
use std::sync::Arc;

/// What a FROM item is called: one allocation an item, which tells two of one name apart.
#[derive(PartialEq, Eq)]
pub struct ItemName {
    /// Its alias, or its own name.
    pub name: String,
    /// Where it stands: how deep within queries, and which of all it is. None for a WITH query itself, whose uses have
    /// names of their own.
    pub place: Option<(usize, usize)>,
}

/// What a column is called.
#[derive(Clone)]
pub struct ColumnName {
    /// The FROM item that it is of.
    pub relation: Option<Arc<ItemName>>,
    /// Its own name.
    pub name: Arc<str>,
}

/// What an operator's relation is called, and the columns that the operator makes, as far as the query says it.
#[derive(Clone, Default)]
pub struct Names {
    relation: Option<Arc<ItemName>>,
    columns: Option<Arc<Vec<Option<ColumnName>>>>,
}

/// What one computed column is called, if the query says it.
#[derive(Clone, Default)]
pub struct Label(Option<ColumnName>);

impl Names {
    /// Columns of no FROM item.
    pub fn bare<'n>(names: impl IntoIterator<Item = &'n str>) -> Names {
        let columns = names.into_iter().map(|name| Some(ColumnName { relation: None, name: name.into() }));
        Names { relation: None, columns: Some(Arc::new(columns.collect())) }
    }

    /// The FROM item.
    pub fn relation(&self) -> Option<&Arc<ItemName>> {
        self.relation.as_ref()
    }

    /// Calls the relation so, unless it has a name.
    pub fn call(&mut self, relation: &Arc<ItemName>) {
        self.relation.get_or_insert_with(|| relation.clone());
    }

    /// A column's name.
    pub fn column(&self, index: usize) -> Option<&ColumnName> {
        self.columns.as_ref()?.get(index)?.as_ref()
    }

    /// Calls a column so, unless a FROM item further in has named it.
    pub(crate) fn call_column(&mut self, index: usize, name: &ColumnName) {
        if self.column(index).is_some_and(|known| known.relation.is_some()) {
            return;
        }
        let columns = Arc::make_mut(self.columns.get_or_insert_default());
        columns.resize(columns.len().max(index + 1), None);
        columns[index] = Some(name.clone());
    }

    /// Visits the FROM items that are named.
    pub fn each_item(&mut self, visit: &mut dyn FnMut(&mut Arc<ItemName>)) {
        self.relation.iter_mut().for_each(&mut *visit);
        if let Some(columns) = &mut self.columns {
            let names = Arc::make_mut(columns).iter_mut().flatten();
            names.filter_map(|name| name.relation.as_mut()).for_each(visit);
        }
    }

    /// Those of just these columns.
    pub fn kept(&self, columns: &[usize]) -> Names {
        let kept = || Arc::new(columns.iter().map(|column| self.column(*column).cloned()).collect());
        Names { relation: self.relation.clone(), columns: self.columns.is_some().then(kept) }
    }

    /// The same behind so many columns that have none.
    pub fn behind(&self, count: usize) -> Names {
        let shifted = |columns: &Arc<Vec<Option<ColumnName>>>| {
            Arc::new(std::iter::repeat_n(None, count).chain(columns.iter().cloned()).collect())
        };
        Names { relation: self.relation.clone(), columns: self.columns.as_ref().map(shifted) }
    }
}

impl Label {
    /// The name.
    pub fn name(&self) -> Option<&ColumnName> {
        self.0.as_ref()
    }

    /// Calls the column so, unless a FROM item further in has named it.
    pub fn call(&mut self, name: &ColumnName) {
        if self.0.as_ref().is_none_or(|known| known.relation.is_none()) {
            self.0 = Some(name.clone());
        }
    }
}

impl Label {
    /// Visits the FROM item that is named.
    pub fn each_item(&mut self, visit: &mut dyn FnMut(&mut Arc<ItemName>)) {
        self.0.iter_mut().filter_map(|name| name.relation.as_mut()).for_each(visit);
    }
}

impl PartialEq for Names {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl PartialEq for Label {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Label")
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnName, ItemName, Label, Names};
    use std::sync::Arc;

    fn item(name: &str) -> Arc<ItemName> {
        Arc::new(ItemName { name: name.into(), place: None })
    }

    fn qualified(relation: &str, name: &str) -> ColumnName {
        ColumnName { relation: Some(item(relation)), name: name.into() }
    }

    #[test]
    fn names_tell_no_two_plans_apart() {
        let mut names = Names::bare(["a"]);
        names.call(&item("f"));
        assert_eq!(names, Names::default());
        assert_eq!(format!("{names:?}"), format!("{:?}", Names::default()));
        let mut label = Label::default();
        label.call(&qualified("s", "total"));
        assert_eq!(label, Label::default());
        assert_eq!(format!("{label:?}"), format!("{:?}", Label::default()));
    }

    #[test]
    fn names_follow_their_columns() {
        let mut names = Names::bare(["a", "b"]);
        names.call_column(1, &qualified("s", "x"));
        names.call_column(1, &qualified("t", "y"));
        names.call_column(3, &qualified("s", "z"));
        let shown = |names: &Names| -> Vec<Option<String>> {
            (0..5).map(|index| names.column(index).map(|column| column.name.to_string())).collect()
        };
        let some = |name: &str| Some(name.to_string());
        assert_eq!(shown(&names), [some("a"), some("x"), None, some("z"), None]);
        assert_eq!(shown(&names.kept(&[3, 0])), [some("z"), some("a"), None, None, None]);
        assert_eq!(shown(&names.kept(&[1]).behind(2)), [None, None, some("x"), None, None]);
    }
}
