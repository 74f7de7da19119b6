//! What the columns of an operator are: columns of the query's relations, or what has been computed of them.
//!
//! ```text
//!   Scan files f          f.id, f.owner, f.size           `Column`: of a FROM item
//!   Reduce … to (sum …)   f.owner, sum(f.size)            `Computed`: shown as what computes it, or by a name
//! ```
//! Followed from the leaves up, operator by operator: no name is looked for. A computed column has a name where the query
//! gives it one, or where what computes it would mislead: then one is made up, and stands behind AS where it is computed.

use super::expression::output_name;
use crate::catalog::Catalog;
use crate::mir::expr::{try_replace, try_replace_aggregate, try_replace_window};
use crate::names::{ColumnName, ItemName, Names};
use crate::scalar::{AggregateCall, Mfp, Order, ScalarExpr, TableFunction, WindowCall};
use crate::system;
use repr::{ColumnType, Datum, RelationId, ScalarType};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

/// An expression over what columns are.
pub(super) type Shown = ScalarExpr<Leaf>;

/// What has more nodes than this is called by a name.
const WEIGHT_MAX: usize = 64;

/// What a column is.
#[derive(Clone)]
pub(super) enum Leaf {
    /// A FROM item's.
    Column(Rc<Column>),
    /// Computed by an operator.
    Computed(Rc<Computed>),
}

/// A column of a FROM item; of none, if it has a name alone.
pub(super) struct Column {
    pub(super) item: Option<usize>,
    pub(super) name: String,
    pub(super) scalar: ScalarType,
}

/// A computed column.
pub(super) struct Computed {
    pub(super) made: Made,
    pub(super) scalar: ScalarType,
    weight: usize,
    pub(super) called: RefCell<Called>,
}

/// What computes a column.
pub(super) enum Made {
    Scalar(Shown),
    Aggregate(AggregateCall<Leaf>),
    Window {
        call: WindowCall<Leaf>,
        partition: Vec<Leaf>,
        order: Vec<(Leaf, Order)>,
    },
    Function {
        function: &'static TableFunction,
        args: Vec<Shown>,
    },
    /// A subquery of the first rung: `EXISTS`, `ANY` with its comparison, and so on.
    Subquery {
        word: &'static str,
        condition: Option<Shown>,
    },
    /// One of a UNION's branches, or another.
    Either,
    /// Known while planning.
    Known,
}

/// What a computed column is called.
#[derive(Default)]
pub(super) struct Called {
    /// By the query.
    pub(super) wish: Option<(Option<usize>, String)>,
    /// A name that is made up if there is no better one: what computes it does not say what it is.
    pub(super) must: Option<String>,
    /// By everyone, once all names are known: of which FROM item, if that is said, and its own name.
    pub(super) name: Option<(Option<String>, String)>,
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Leaf::Column(left), Leaf::Column(right)) => left.item == right.item && left.name == right.name,
            (Leaf::Computed(left), Leaf::Computed(right)) => Rc::ptr_eq(left, right),
            (Leaf::Column(_), Leaf::Computed(_)) | (Leaf::Computed(_), Leaf::Column(_)) => false,
        }
    }
}

impl Leaf {
    pub(super) fn scalar(&self) -> ScalarType {
        match self {
            Leaf::Column(column) => column.scalar.clone(),
            Leaf::Computed(computed) => computed.scalar.clone(),
        }
    }

    pub(super) fn computed(&self) -> Option<&Rc<Computed>> {
        match self {
            Leaf::Column(_) => None,
            Leaf::Computed(computed) => Some(computed),
        }
    }

    /// One of a UNION's branches, or another.
    pub(super) fn is_either(&self) -> bool {
        self.computed().is_some_and(|computed| matches!(computed.made, Made::Either))
    }

    fn is_null(&self) -> bool {
        let made = self.computed().map(|computed| &computed.made);
        matches!(made, Some(Made::Scalar(ScalarExpr::Literal(Datum::Null, _))))
    }

    fn weight(&self) -> usize {
        match self {
            Leaf::Column(_) => 1,
            Leaf::Computed(computed) if computed.called.borrow().must.is_some() => 1,
            Leaf::Computed(computed) => computed.weight,
        }
    }

    /// Calls a computed column so, unless it has a name.
    pub(super) fn wish(&self, item: Option<usize>, name: &str) {
        if let Leaf::Computed(computed) = self {
            computed.called.borrow_mut().wish.get_or_insert_with(|| (item, name.to_owned()));
        }
    }

    fn must(&self, name: &str) {
        if let Leaf::Computed(computed) = self {
            computed.called.borrow_mut().must.get_or_insert_with(|| name.to_owned());
        }
    }
}

/// A FROM item, or what stands for one.
struct SourceItem {
    key: ItemKey,
    name: String,
    /// Its columns are read, rather than that a computed column has its name.
    is_read: bool,
}

enum ItemKey {
    Named(Arc<ItemName>),
    Table(RelationId),
}

/// All columns of a plan.
pub(super) struct Columns<'a> {
    catalog: &'a Catalog,
    items: Vec<SourceItem>,
    columns: Vec<Rc<Column>>,
    computed: Vec<Rc<Computed>>,
}

/// What a step does to each row.
pub(super) struct Steps {
    pub(super) filter: Vec<Shown>,
    /// What it computes and does not give.
    pub(super) within: Vec<Leaf>,
    /// What it gives; with whether it computes that.
    pub(super) output: Vec<(Leaf, bool)>,
    /// It gives what comes in.
    pub(super) all: bool,
}

impl<'a> Columns<'a> {
    pub(super) fn new(catalog: &'a Catalog) -> Self {
        Columns { catalog, items: Vec::new(), columns: Vec::new(), computed: Vec::new() }
    }

    fn item(&mut self, name: &Arc<ItemName>, is_read: bool) -> usize {
        let same = |item: &SourceItem| matches!(&item.key, ItemKey::Named(known) if Arc::ptr_eq(known, name));
        let place = self.items.iter().position(same).unwrap_or_else(|| {
            let (key, name) = (ItemKey::Named(name.clone()), name.name.clone());
            self.items.push(SourceItem { key, name, is_read: false });
            self.items.len() - 1
        });
        self.items[place].is_read |= is_read && name.place.is_some();
        place
    }

    /// The FROM item that a stored relation is; itself, if the query has no name for it.
    pub(super) fn stored_item(&mut self, relation: RelationId, names: &Names) -> usize {
        if let Some(name) = names.relation() {
            return self.item(name, true);
        }
        let same = |item: &SourceItem| matches!(item.key, ItemKey::Table(known) if known == relation);
        self.items.iter().position(same).unwrap_or_else(|| {
            let name = match (self.catalog.table(relation), system::find_by_id(relation)) {
                (Some(table), _) => table.name.clone(),
                (None, Some(system)) => system.name.to_owned(),
                (None, None) => format!("relation {relation}"),
            };
            self.items.push(SourceItem { key: ItemKey::Table(relation), name, is_read: true });
            self.items.len() - 1
        })
    }

    /// The FROM item of what is no stored relation.
    pub(super) fn named_item(&mut self, names: &Names) -> Option<usize> {
        names.relation().map(|name| self.item(name, true))
    }

    fn column(&mut self, item: Option<usize>, name: &str, scalar: ScalarType) -> Leaf {
        let column = Rc::new(Column { item, name: name.to_owned(), scalar });
        self.columns.push(column.clone());
        Leaf::Column(column)
    }

    fn named(&mut self, name: &ColumnName, scalar: ScalarType) -> Leaf {
        let item = name.relation.as_ref().map(|relation| self.item(relation, true));
        self.column(item, &name.name, scalar)
    }

    /// The columns of a stored relation; its row key is `ctid`, which no column can be called.
    pub(super) fn stored(&mut self, relation: RelationId, names: &Names, with_key: bool) -> Vec<Leaf> {
        let item = self.stored_item(relation, names);
        let own: Vec<(String, ScalarType)> = match (self.catalog.table(relation), system::find_by_id(relation)) {
            (Some(table), _) => {
                let columns = table.columns.iter();
                columns.map(|column| (column.name.clone(), column.column_type.scalar.clone())).collect()
            }
            (None, Some(system)) => {
                system.columns.iter().map(|column| (column.name.to_owned(), column.scalar.clone())).collect()
            }
            (None, None) => Vec::new(),
        };
        let mut columns = Vec::with_capacity(own.len() + 1);
        for (index, (name, scalar)) in own.into_iter().enumerate() {
            let name = names.column(index).map_or(name, |name| name.name.to_string());
            columns.push(self.column(Some(item), &name, scalar));
        }
        if with_key {
            columns.push(self.column(Some(item), "ctid", ScalarType::Bytea));
        }
        columns
    }

    /// The columns of what is known by `value`'s, and may have names of its own.
    pub(super) fn local(&mut self, value: &[Leaf], names: &Names) -> Vec<Leaf> {
        self.named_item(names);
        let mut columns = Vec::with_capacity(value.len());
        for (index, leaf) in value.iter().enumerate() {
            columns.push(match names.column(index) {
                None => leaf.clone(),
                Some(name) => {
                    leaf.wish(None, &name.name);
                    self.named(name, leaf.scalar())
                }
            });
        }
        columns
    }

    /// The columns of known rows.
    pub(super) fn constant(&mut self, types: impl Iterator<Item = ScalarType>, names: &Names) -> Vec<Leaf> {
        types
            .enumerate()
            .map(|(index, scalar)| match names.column(index) {
                Some(name) => self.named(name, scalar),
                None => {
                    let leaf = self.made(Made::Known, scalar);
                    leaf.must(&format!("column{}", index + 1));
                    leaf
                }
            })
            .collect()
    }

    pub(super) fn made(&mut self, made: Made, scalar: ScalarType) -> Leaf {
        let weight = match &made {
            Made::Scalar(expr) => weight(expr),
            Made::Aggregate(call) => call.args.iter().chain(&call.filter).map(weight).fold(1, usize::saturating_add),
            Made::Window { call, .. } => {
                call.args.iter().chain(&call.filter).map(weight).fold(1, usize::saturating_add)
            }
            Made::Function { args, .. } => args.iter().map(weight).fold(1, usize::saturating_add),
            Made::Subquery { .. } | Made::Either | Made::Known => 1,
        };
        let computed = Rc::new(Computed { made, scalar, weight, called: RefCell::default() });
        self.computed.push(computed.clone());
        let leaf = Leaf::Computed(computed);
        if weight > WEIGHT_MAX {
            leaf.must("computed");
        }
        leaf
    }

    /// What an expression is: a column's own, if it is just that.
    pub(super) fn mapped(&mut self, shown: Shown) -> Leaf {
        match shown {
            ScalarExpr::Column(leaf) => leaf,
            shown => {
                let scalar = shown.scalar_type(&|leaf| leaf.scalar());
                self.made(Made::Scalar(shown), scalar)
            }
        }
    }

    pub(super) fn aggregate(&mut self, call: AggregateCall<Leaf>) -> Leaf {
        let (label, scalar) = (call.label.clone(), call.result.clone());
        let leaf = self.made(Made::Aggregate(call), scalar);
        self.wish(&leaf, label.name());
        leaf
    }

    pub(super) fn window(&mut self, call: WindowCall<Leaf>, partition: &[Leaf], order: &[(Leaf, Order)]) -> Leaf {
        let (label, scalar) = (call.label.clone(), call.result.clone());
        let (partition, order) = (partition.to_vec(), order.to_vec());
        let leaf = self.made(Made::Window { call, partition, order }, scalar);
        self.wish(&leaf, label.name());
        leaf
    }

    fn wish(&mut self, leaf: &Leaf, name: Option<&ColumnName>) {
        if let Some(name) = name {
            let item = name.relation.as_ref().map(|relation| self.item(relation, false));
            leaf.wish(item, &name.name);
        }
    }

    /// The columns that set-returning functions append.
    pub(super) fn functions(
        &mut self,
        functions: Vec<(&'static TableFunction, Vec<Shown>, Vec<ScalarType>)>,
        ordinality: bool,
        names: &Names,
    ) -> Vec<Leaf> {
        self.named_item(names);
        let mut columns = Vec::new();
        for (function, args, types) in functions {
            let several = types.len() > 1;
            for scalar in types {
                columns.push(match names.column(columns.len()) {
                    Some(name) => self.named(name, scalar),
                    None => {
                        let leaf = self.made(Made::Function { function, args: args.clone() }, scalar);
                        if several {
                            leaf.must(function.name);
                        }
                        leaf
                    }
                });
            }
        }
        if ordinality {
            columns.push(match names.column(columns.len()) {
                Some(name) => self.named(name, ScalarType::Int8),
                None => self.column(None, "ordinality", ScalarType::Int8),
            });
        }
        columns
    }

    /// The columns of a UNION of branches.
    pub(super) fn either(&mut self, branches: &[Vec<Leaf>], names: &Names) -> Vec<Leaf> {
        let Some(first) = branches.first() else { return Vec::new() };
        let mut columns = Vec::with_capacity(first.len());
        for (index, leaf) in first.iter().enumerate() {
            let mut said = branches.iter().filter_map(|branch| branch.get(index)).filter(|leaf| !leaf.is_null());
            let one = said.next();
            if said.all(|other| Some(other) == one) {
                columns.push(one.unwrap_or(leaf).clone());
                continue;
            }
            let either = self.made(Made::Either, leaf.scalar());
            either.must(match (names.column(index), leaf) {
                (Some(name), _) => &name.name,
                (None, Leaf::Column(column)) => &column.name,
                (None, Leaf::Computed(_)) => "computed",
            });
            self.wish(&either, names.column(index));
            columns.push(either);
        }
        columns
    }

    /// What an outer join makes of the columns of the side that may have no row: such as would not be NULL there by what
    /// computes them get a name.
    pub(super) fn without_row(columns: &[Leaf]) {
        for leaf in columns {
            if let Leaf::Computed(computed) = leaf
                && let Made::Scalar(shown) = &computed.made
                && !null_of_nulls(shown)
            {
                let found = matches!(shown, ScalarExpr::Literal(Datum::Bool(true), _));
                leaf.must(if found { "found" } else { "computed" });
            }
        }
    }

    /// Map, filter, project.
    pub(super) fn steps(&mut self, mfp: &Mfp, mut columns: Vec<Leaf>) -> Steps {
        let arity = columns.len();
        for mapped in &mfp.map {
            let shown = over(mapped, &columns);
            let leaf = self.mapped(shown);
            columns.push(leaf);
        }
        let filter = mfp.filter.iter().map(|(_, predicate)| over(predicate, &columns)).collect();
        let is_made = |column: usize| {
            column >= arity && columns[column].computed().is_some() && !columns[..arity].contains(&columns[column])
        };
        let chosen = mfp.project.iter().filter(|column| **column < columns.len());
        let output = chosen.map(|column| (columns[*column].clone(), is_made(*column))).collect();
        let within = (arity..columns.len()).filter(|column| is_made(*column) && !mfp.project.contains(column));
        let within = within.map(|column| columns[column].clone()).collect();
        let all = mfp.project.iter().copied().eq(0..mfp.mapped_arity());
        Steps { filter, within, output, all: all && mfp.map.is_empty() }
    }

    /// Output columns under their names, where these say more than what computes them.
    pub(super) fn outputs<'n>(outputs: impl Iterator<Item = (&'n Leaf, &'n str)>) {
        for (leaf, name) in outputs {
            if let Leaf::Computed(computed) = leaf
                && output_name(&computed.made).is_none_or(|own| own != name)
                && name != "?column?"
            {
                leaf.wish(None, name);
            }
        }
    }

    /// Which FROM items are told from one another, by which names, and whether they must be.
    pub(super) fn finish(&self) -> (Vec<String>, bool) {
        // Of two of one name the outer one has it, and then the one that stands first in the statement.
        let mut order: Vec<usize> = (0..self.items.len()).filter(|item| self.items[*item].is_read).collect();
        order.sort_by_key(|item| match &self.items[*item].key {
            ItemKey::Named(name) => name.place,
            ItemKey::Table(_) => None,
        });
        let mut items: Vec<String> = self.items.iter().map(|item| item.name.clone()).collect();
        let mut given = BTreeSet::new();
        for item in order {
            items[item] = free(&self.items[item].name, |name| given.contains(name));
            given.insert(items[item].clone());
        }
        let qualified = self.items.iter().filter(|item| item.is_read).count() > 1;
        let full = |item: Option<usize>, name: &str| match item.filter(|_| qualified) {
            Some(item) => (Some(items[item].clone()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        let mut taken: BTreeSet<(Option<String>, String)> =
            self.columns.iter().map(|column| full(column.item, &column.name)).collect();
        for computed in &self.computed {
            let mut called = computed.called.borrow_mut();
            let bare = |name: &str| (None, name.to_owned());
            let wished = called.wish.as_ref().and_then(|(item, name)| {
                [full(*item, name), bare(name)].into_iter().find(|name| !taken.contains(name))
            });
            let name = match (wished, &called.must) {
                (Some(wished), _) => wished,
                (None, Some(must)) => (None, free(must, |name| taken.contains(&bare(name)))),
                (None, None) => continue,
            };
            called.name = Some(name.clone());
            taken.insert(name);
        }
        (items, qualified)
    }
}

/// The name, with a number behind it if it is taken, as PostgreSQL has it.
fn free(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// An expression over what the columns are.
pub(super) fn over(expr: &ScalarExpr, columns: &[Leaf]) -> Shown {
    let Ok(shown) = try_replace::<_, _, Infallible>(expr, &mut |column| Ok(at(columns, *column)));
    shown
}

/// Several.
pub(super) fn all_over(exprs: &[ScalarExpr], columns: &[Leaf]) -> Vec<Shown> {
    exprs.iter().map(|expr| over(expr, columns)).collect()
}

/// An aggregate call.
pub(super) fn aggregate_over(call: &AggregateCall, columns: &[Leaf]) -> AggregateCall<Leaf> {
    let Ok(call) = try_replace_aggregate::<_, _, Infallible>(call, &mut |expr| Ok(over(expr, columns)));
    call
}

/// A window call.
pub(super) fn window_over(call: &WindowCall, columns: &[Leaf]) -> WindowCall<Leaf> {
    let Ok(call) = try_replace_window::<_, _, Infallible>(call, &mut |expr| Ok(over(expr, columns)));
    call
}

/// Columns by their places.
pub(super) fn chosen(columns: &[Leaf], places: &[usize]) -> Vec<Leaf> {
    places.iter().filter_map(|place| columns.get(*place).cloned()).collect()
}

/// An order by places.
pub(super) fn ordered(columns: &[Leaf], order: &[Order]) -> Vec<(Leaf, Order)> {
    order.iter().filter_map(|order| Some((columns.get(order.column)?.clone(), *order))).collect()
}

/// The expression that a column is; a plan that reads a column which is not there is a bug that EXPLAIN survives.
pub(super) fn at(columns: &[Leaf], column: usize) -> Shown {
    debug_assert!(column < columns.len(), "column {column} of {}", columns.len());
    match columns.get(column) {
        Some(leaf) => ScalarExpr::Column(leaf.clone()),
        None => ScalarExpr::Literal(Datum::Null, ColumnType::nullable(ScalarType::Unknown)),
    }
}

fn weight(shown: &Shown) -> usize {
    match shown {
        ScalarExpr::Column(leaf) => leaf.weight(),
        other => other.children().into_iter().map(weight).fold(1, usize::saturating_add),
    }
}

/// Whether an expression is NULL if all its columns are, so that it says of an outer join's missing row what is there.
fn null_of_nulls(shown: &Shown) -> bool {
    match shown {
        ScalarExpr::Column(Leaf::Column(_)) => true,
        ScalarExpr::Column(Leaf::Computed(computed)) => match &computed.made {
            Made::Scalar(shown) => null_of_nulls(shown),
            Made::Aggregate(_)
            | Made::Window { .. }
            | Made::Function { .. }
            | Made::Subquery { .. }
            | Made::Either
            | Made::Known => true,
        },
        ScalarExpr::Literal(datum, _) => matches!(datum, Datum::Null),
        ScalarExpr::Call { function, args, .. } => function.strict && args.iter().any(null_of_nulls),
        ScalarExpr::Cast { expr, .. } => null_of_nulls(expr),
        ScalarExpr::And(args) | ScalarExpr::Or(args) => args.iter().all(null_of_nulls),
        ScalarExpr::Param(..)
        | ScalarExpr::Once { .. }
        | ScalarExpr::Tested { .. }
        | ScalarExpr::Operand(_)
        | ScalarExpr::Case { .. }
        | ScalarExpr::Coalesce(..)
        | ScalarExpr::Array(..)
        | ScalarExpr::Record(..) => false,
    }
}
