//! How columns and expressions are written, once it is known what all columns are called.

use super::column::{Column, Columns, Leaf, Made, Shown};
use crate::catalog::Catalog;
use crate::deparse::{Spelling, on_one_line};
use crate::scalar::func::quote_identifier;
use crate::scalar::{
    AggregateCall, FrameBound, FrameExclusion, FrameOffset, FrameUnit, Order, ScalarExpr, WindowCall, WindowFrame,
    WindowKind,
};
use crate::system::definition_text::DefinitionText;
use repr::{ColumnType, Datum, ScalarType};
use std::cell::OnceCell;
use std::sync::Arc;

/// A part of a line.
pub(super) enum Piece {
    /// As it is.
    Text(String),
    /// A column by its name, or by what computes it.
    Name(Leaf),
    /// A column where it is computed: with its name, if it has one.
    Made(Leaf),
    /// What is computed on the way: what has a name.
    Within(Vec<Leaf>),
    /// A window call where it is computed, without its window.
    Call(Leaf),
    /// An output column under its label.
    Output(Leaf, String),
    /// An expression.
    Expr(Shown),
    /// Conditions that must all be true.
    All(Vec<Shown>),
    /// A FROM item's name, if it is not the relation's own.
    Item(usize, String),
    /// Columns that equal values, as an index has them.
    Equal(Vec<(Leaf, Vec<Shown>)>, Vec<(Leaf, &'static str, Shown)>),
    /// Columns that equal one another, whether NULL equals NULL.
    Keys(Vec<(Shown, Shown)>, bool),
}

/// A line in the making.
#[derive(Default)]
pub(super) struct Phrase(pub(super) Vec<Piece>);

impl Phrase {
    pub(super) fn of(text: impl Into<String>) -> Phrase {
        Phrase(vec![Piece::Text(text.into())])
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Phrase {
        self.0.push(Piece::Text(text.into()));
        self
    }

    pub(super) fn piece(mut self, piece: Piece) -> Phrase {
        self.0.push(piece);
        self
    }

    /// Pieces separated by commas.
    pub(super) fn list(mut self, pieces: impl IntoIterator<Item = Piece>) -> Phrase {
        for (place, piece) in pieces.into_iter().enumerate() {
            if place > 0 {
                self.0.push(Piece::Text(", ".into()));
            }
            self.0.push(piece);
        }
        self
    }

    /// Columns in parentheses.
    pub(super) fn columns<'l>(self, columns: impl IntoIterator<Item = &'l Leaf>) -> Phrase {
        self.text("(").list(columns.into_iter().map(|leaf| Piece::Name(leaf.clone()))).text(")")
    }

    /// Columns in parentheses where they are computed, if they are.
    pub(super) fn made(self, columns: impl IntoIterator<Item = Piece>) -> Phrase {
        self.text("(").list(columns).text(")")
    }

    pub(super) fn order(mut self, items: &[(Leaf, Order)]) -> Phrase {
        for (place, (leaf, order)) in items.iter().enumerate() {
            let first_tie = order.tie && !items[..place].iter().any(|(_, before)| before.tie);
            self = match (place, first_tie) {
                (0, false) => self,
                (0, true) => self.text("then "),
                (_, false) => self.text(", "),
                (_, true) => self.text(", then "),
            };
            self = self.piece(Piece::Name(leaf.clone())).text(direction(order, "desc", "nulls"));
        }
        self
    }
}

/// DESC and NULLS, where they are not what goes without saying.
fn direction(order: &Order, descending: &str, nulls: &str) -> String {
    let (first, last) = if nulls == "NULLS" { ("FIRST", "LAST") } else { ("first", "last") };
    let direction = if order.descending { format!(" {descending}") } else { String::new() };
    direction
        + &match (order.descending, order.nulls_first) {
            (false, true) => format!(" {nulls} {first}"),
            (true, false) => format!(" {nulls} {last}"),
            (false, false) | (true, true) => String::new(),
        }
}

/// Writes.
pub(super) struct Voice<'a> {
    catalog: &'a Catalog,
    items: Vec<String>,
    qualified: bool,
    /// Types and values, once there is one to write.
    written: OnceCell<DefinitionText>,
}

impl<'a> Voice<'a> {
    pub(super) fn new(columns: &Columns<'_>, catalog: &'a Catalog) -> Self {
        let (items, qualified) = columns.finish();
        Voice { catalog, items, qualified, written: OnceCell::new() }
    }

    fn written(&self) -> &DefinitionText {
        self.written.get_or_init(|| DefinitionText::of(Arc::new(self.catalog.clone())))
    }

    pub(super) fn item(&self, item: usize) -> Option<&str> {
        self.items.get(item).map(String::as_str)
    }

    pub(super) fn phrase(&self, phrase: &Phrase) -> String {
        phrase.0.iter().map(|piece| self.piece(piece)).collect()
    }

    fn piece(&self, piece: &Piece) -> String {
        match piece {
            Piece::Text(text) => text.clone(),
            Piece::Name(leaf) => self.column(leaf),
            Piece::Made(leaf) => match leaf.computed() {
                None => self.column(leaf),
                Some(computed) => {
                    let definition = self.definition(&computed.made);
                    match (&computed.made, &computed.called.borrow().name) {
                        (Made::Either | Made::Known, Some((item, name))) => spelled(item.as_deref(), name),
                        (_, Some((_, name))) => format!("{definition} AS {}", quote_identifier(name)),
                        (_, None) => definition,
                    }
                }
            },
            Piece::Within(leaves) => {
                let is_named = |leaf: &&Leaf| leaf.computed().is_some_and(|made| made.called.borrow().name.is_some());
                let named: Vec<String> =
                    leaves.iter().filter(is_named).map(|leaf| self.piece(&Piece::Made(leaf.clone()))).collect();
                if named.is_empty() { String::new() } else { format!(" with ({})", named.join(", ")) }
            }
            Piece::Call(leaf) => match leaf.computed().map(|computed| (&computed.made, computed.called.borrow())) {
                Some((Made::Window { call, .. }, called)) => match &called.name {
                    Some((_, name)) => format!("{} AS {}", self.window_call(call), quote_identifier(name)),
                    None => self.window_call(call),
                },
                _ => self.column(leaf),
            },
            Piece::Output(leaf, label) => {
                let own = match leaf {
                    Leaf::Column(column) => Some(column.name.clone()),
                    Leaf::Computed(computed) => match &computed.called.borrow().name {
                        Some((_, name)) => Some(name.clone()),
                        None => output_name(&computed.made),
                    },
                };
                let text = self.column(leaf);
                let goes_without = label == "?column?" || own.is_some_and(|own| own == *label);
                if goes_without { text } else { format!("{text} AS {}", quote_identifier(label)) }
            }
            Piece::Expr(shown) => self.expr(shown),
            Piece::All(conditions) => self.all(conditions.iter().map(|condition| self.expr(condition)).collect()),
            Piece::Item(item, own) => match self.item(*item) {
                Some(name) if name != own => format!(" {}", quote_identifier(name)),
                _ => String::new(),
            },
            Piece::Equal(equal, bounds) => self.equal(equal, bounds),
            Piece::Keys(pairs, null_safe) => self.keys(pairs, *null_safe),
        }
    }

    fn expr(&self, shown: &Shown) -> String {
        on_one_line(shown, self)
    }

    fn exprs<'s>(&self, exprs: impl IntoIterator<Item = &'s Shown>) -> String {
        exprs.into_iter().map(|expr| self.expr(expr)).collect::<Vec<_>>().join(", ")
    }

    fn all(&self, conditions: Vec<String>) -> String {
        match conditions.as_slice() {
            [condition] => condition.clone(),
            conditions => format!("({})", conditions.join(" AND ")),
        }
    }

    /// `((owner = $1) AND (at > $2))`; lists of keys as far as they differ in one column.
    fn equal(&self, equal: &[(Leaf, Vec<Shown>)], bounds: &[(Leaf, &'static str, Shown)]) -> String {
        let is_null = |value: &Shown| matches!(value, ScalarExpr::Literal(Datum::Null, _));
        let mut conditions: Vec<String> = Vec::with_capacity(equal.len() + bounds.len());
        for (leaf, values) in equal {
            let name = self.column(leaf);
            conditions.push(match values.as_slice() {
                [value] if is_null(value) => format!("({name} IS NULL)"),
                [value] => match self.expr(value) {
                    // The rest of a row of the same FROM item, found by its key.
                    own if own == name => format!("({name})"),
                    value => format!("({name} = {value})"),
                },
                values => {
                    let said: Vec<&Shown> = values.iter().filter(|value| !is_null(value)).collect();
                    let listed = match said.as_slice() {
                        [value] => format!("({name} = {})", self.expr(value)),
                        said => format!("({name} IN ({}))", self.exprs(said.iter().copied())),
                    };
                    if said.len() < values.len() { format!("({listed} OR ({name} IS NULL))") } else { listed }
                }
            });
        }
        let bound =
            |(leaf, sign, value): &(Leaf, &str, Shown)| format!("({} {sign} {})", self.column(leaf), self.expr(value));
        conditions.extend(bounds.iter().map(bound));
        self.all(conditions)
    }

    /// What joins two sides; where both are the same column (the sides come from one relation), the column alone.
    fn keys(&self, pairs: &[(Shown, Shown)], null_safe: bool) -> String {
        let equals = if null_safe { "IS NOT DISTINCT FROM" } else { "=" };
        let written: Vec<(String, String)> =
            pairs.iter().map(|(left, right)| (self.expr(left), self.expr(right))).collect();
        let (same, others): (Vec<_>, Vec<_>) = written.into_iter().partition(|(left, right)| left == right);
        let mut text = String::new();
        if !same.is_empty() {
            let same: Vec<String> = same.into_iter().map(|(column, _)| column).collect();
            text.push_str(&format!(" by ({})", same.join(", ")));
        }
        if !others.is_empty() {
            let on = others.into_iter().map(|(left, right)| format!("({left} {equals} {right})")).collect();
            text.push_str(&format!(" on {}", self.all(on)));
        }
        text
    }

    fn definition(&self, made: &Made) -> String {
        match made {
            Made::Scalar(shown) => self.expr(shown),
            Made::Aggregate(call) => self.aggregate(call),
            Made::Window { call, partition, order } => self.window(call, partition, order),
            Made::Function { function, args } => format!("{}({})", quote_identifier(function.name), self.exprs(args)),
            Made::Subquery { word, condition: None } => format!("{word}(subquery)"),
            Made::Subquery { word, condition: Some(condition) } => {
                format!("{word}(subquery: {})", self.expr(condition))
            }
            Made::Either | Made::Known => String::new(),
        }
    }

    fn aggregate(&self, call: &AggregateCall<Leaf>) -> String {
        let name = quote_identifier(call.function.name);
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let order: Vec<String> = call
            .order_by
            .iter()
            .map(|(expr, descending, nulls_first)| {
                let order = Order { descending: *descending, nulls_first: *nulls_first, ..Order::ascending(0) };
                self.expr(expr) + &direction(&order, "DESC", "NULLS")
            })
            .collect();
        let filter =
            call.filter.as_ref().map_or_else(String::new, |filter| format!(" FILTER (WHERE {})", self.expr(filter)));
        // What is sorted by stands behind the other arguments of an ordered-set aggregate.
        if matches!(call.function.name, "mode" | "percentile_cont" | "percentile_disc") {
            let direct = &call.args[..call.args.len().saturating_sub(1)];
            return format!("{name}({}) WITHIN GROUP (ORDER BY {}){filter}", self.exprs(direct), order.join(", "));
        }
        let args =
            if call.args.is_empty() && call.function.name == "count" { "*".to_owned() } else { self.exprs(&call.args) };
        let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {}", order.join(", ")) };
        format!("{name}({distinct}{args}{order}){filter}")
    }

    fn window(&self, call: &WindowCall<Leaf>, partition: &[Leaf], order: &[(Leaf, Order)]) -> String {
        let mut over = Vec::new();
        if !partition.is_empty() {
            let columns: Vec<String> = partition.iter().map(|leaf| self.column(leaf)).collect();
            over.push(format!("PARTITION BY {}", columns.join(", ")));
        }
        // What the planner has appended decides between peers; nobody wrote it.
        let written = order.iter().filter(|(_, order)| !order.tie);
        let items: Vec<String> =
            written.map(|(leaf, order)| self.column(leaf) + &direction(order, "DESC", "NULLS")).collect();
        if !items.is_empty() {
            over.push(format!("ORDER BY {}", items.join(", ")));
        }
        over.extend(frame(&call.frame));
        format!("{} OVER ({})", self.window_call(call), over.join(" "))
    }

    /// The call without its window.
    fn window_call(&self, call: &WindowCall<Leaf>) -> String {
        let name = match call.function {
            WindowKind::Function(function) => function.name,
            WindowKind::Aggregate(aggregate) => aggregate.name,
        };
        let counts_all = matches!(call.function, WindowKind::Aggregate(_)) && call.args.is_empty() && name == "count";
        let args = if counts_all { "*".to_owned() } else { self.exprs(&call.args) };
        let filter =
            call.filter.as_ref().map_or_else(String::new, |filter| format!(" FILTER (WHERE {})", self.expr(filter)));
        format!("{}({args}){filter}", quote_identifier(name))
    }
}

impl Spelling<Leaf> for Voice<'_> {
    fn column(&self, leaf: &Leaf) -> String {
        match leaf {
            Leaf::Column(column) => {
                let Column { item, name, .. } = &**column;
                let item = item.filter(|_| self.qualified).and_then(|item| self.item(item));
                spelled(item, name)
            }
            Leaf::Computed(computed) => match &computed.called.borrow().name {
                Some((item, name)) => spelled(item.as_deref(), name),
                None => self.definition(&computed.made),
            },
        }
    }

    fn column_type(&self, leaf: &Leaf) -> ScalarType {
        leaf.scalar()
    }

    fn type_name(&self, column_type: &ColumnType) -> String {
        self.written().type_name(column_type)
    }

    fn routine_name(&self, oid: repr::Id) -> String {
        self.written().routine_name(oid)
    }

    fn value(&self, datum: &Datum, scalar: &ScalarType) -> String {
        self.written().value(datum, scalar)
    }

    fn read(&self, text: &str, to: &ColumnType) -> Option<Datum> {
        self.written().read(text, to)
    }
}

/// A name, quoted and qualified.
fn spelled(item: Option<&str>, name: &str) -> String {
    match item {
        Some(item) => format!("{}.{}", quote_identifier(item), quote_identifier(name)),
        None => quote_identifier(name),
    }
}

/// What PostgreSQL calls an output column that has no other name than what computes it, where that can be told.
pub(super) fn output_name(made: &Made) -> Option<String> {
    match made {
        Made::Scalar(shown) => match shown {
            ScalarExpr::Call { function, .. } => {
                Some(function.written.map_or(function.name, |(_, own)| own.name).to_owned())
            }
            ScalarExpr::Coalesce(..) => Some("coalesce".to_owned()),
            ScalarExpr::Case { .. } => Some("case".to_owned()),
            ScalarExpr::Once { body, .. } => match &**body {
                ScalarExpr::Case { .. } => Some("case".to_owned()),
                _ => None,
            },
            ScalarExpr::Array(..) => Some("array".to_owned()),
            ScalarExpr::Record(..) => Some("row".to_owned()),
            ScalarExpr::Cast { expr, .. } => match &**expr {
                ScalarExpr::Column(Leaf::Column(column)) => Some(column.name.clone()),
                ScalarExpr::Column(Leaf::Computed(computed)) => output_name(&computed.made),
                _ => None,
            },
            ScalarExpr::Column(_)
            | ScalarExpr::Literal(..)
            | ScalarExpr::Param(..)
            | ScalarExpr::Operand(_)
            | ScalarExpr::And(_)
            | ScalarExpr::Or(_)
            | ScalarExpr::Tested { .. } => None,
        },
        Made::Aggregate(call) => Some(call.function.name.to_owned()),
        Made::Window { call, .. } => Some(match call.function {
            WindowKind::Function(function) => function.name.to_owned(),
            WindowKind::Aggregate(aggregate) => aggregate.name.to_owned(),
        }),
        Made::Function { function, .. } => Some(function.name.to_owned()),
        Made::Subquery { .. } | Made::Either | Made::Known => None,
    }
}

/// A frame, if it is not the one that goes without saying.
fn frame(frame: &WindowFrame) -> Option<String> {
    let unit = match frame.unit {
        FrameUnit::Rows => "ROWS",
        FrameUnit::Range => "RANGE",
        FrameUnit::Groups => "GROUPS",
    };
    let exclude = match frame.exclude {
        FrameExclusion::NoOthers => "",
        FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
        FrameExclusion::Group => " EXCLUDE GROUP",
        FrameExclusion::Ties => " EXCLUDE TIES",
    };
    let usual = frame.unit == FrameUnit::Range
        && frame.start == FrameBound::UnboundedPreceding
        && frame.end == FrameBound::CurrentRow
        && exclude.is_empty();
    (!usual).then(|| format!("{unit} BETWEEN {} AND {}{exclude}", bound(&frame.start), bound(&frame.end)))
}

fn bound(bound: &FrameBound) -> String {
    let offset = |offset: &FrameOffset, word: &str| match (offset, offset.as_i64()) {
        (_, Some(count)) => format!("{count} {word}"),
        (FrameOffset::Param(index), None) => format!("${} {word}", index + 1),
        (FrameOffset::Constant(_), None) => format!("offset {word}"),
    };
    match bound {
        FrameBound::UnboundedPreceding => "UNBOUNDED PRECEDING".to_owned(),
        FrameBound::Preceding(datum) => offset(datum, "PRECEDING"),
        FrameBound::CurrentRow => "CURRENT ROW".to_owned(),
        FrameBound::Following(datum) => offset(datum, "FOLLOWING"),
        FrameBound::UnboundedFollowing => "UNBOUNDED FOLLOWING".to_owned(),
    }
}
