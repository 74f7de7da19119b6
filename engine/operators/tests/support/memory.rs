//! A `Reader` over rows in memory, an environment without a session, and functions to build plans with.

use planner::catalog::{Catalog, Column, Index, Table};
use planner::names::Label;
use planner::plan::{Finishing, Plan, Query};
use planner::scalar::aggregate::plain_sum::PlainSum;
use planner::scalar::aggregate::{AggregateKind, Summed};
use planner::scalar::func::{Comparison, Function, FunctionKind, Volatility};
use planner::scalar::{Aggregate, AggregateCall, Environment, EvalContext, Mfp, ScalarExpr, TableFunction};
use repr::{
    ColumnType, CommitTime, Datum, IndexId, MicroDbId, RelationId, Row, RowKey, ScalarType, SequenceId, ValueError, key,
};
use state::SqlError;
use state::account::Account;
use state::interrupt::QueryLimits;
use state::reader::{KeyRange, RangeRows, Reader, RowIterator};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Deterministic random numbers (xorshift64*).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// Tables in memory, each keyed by its primary key (column 0) with an index on each further column.
pub struct Memory {
    pub catalog: Arc<Catalog>,
    pub tables: BTreeMap<RelationId, BTreeMap<RowKey, Row>>,
    indexes: BTreeMap<(RelationId, usize), BTreeMap<Vec<u8>, Vec<RowKey>>>,
}

impl Memory {
    /// Tables by (id, columns, rows); column 0 must be unique and not NULL.
    pub fn new(tables: Vec<(u32, usize, Vec<Vec<Datum>>)>) -> Arc<Self> {
        let mut catalog = Catalog::default();
        let mut memory = Memory { catalog: Arc::default(), tables: BTreeMap::new(), indexes: BTreeMap::new() };
        for (id, width, rows) in tables {
            let relation = RelationId(id);
            let mut stored = BTreeMap::new();
            for datums in rows {
                let key = RowKey::new(&key::encode_all(&datums[..1]));
                for column in 1..width.min(datums.len()) {
                    let index = memory.indexes.entry((relation, column)).or_default();
                    index.entry(key::encode_all(&datums[column..=column])).or_default().push(key.clone());
                }
                stored.insert(key, Row::pack(&datums));
            }
            memory.tables.insert(relation, stored);
            catalog.relations.insert(relation, Arc::new(table(relation, width)));
        }
        memory.catalog = Arc::new(catalog);
        Arc::new(memory)
    }
}

pub fn index_id(relation: u32, column: usize) -> IndexId {
    IndexId(relation * 100 + column as u32)
}

fn table(id: RelationId, width: usize) -> Table {
    let column = |position: usize| Column {
        name: format!("c{position}"),
        column_type: ColumnType::nullable(ScalarType::Int4),
        default: None,
        missing: (position == width - 1).then_some(Datum::Int4(-7)),
        dropped: false,
        hidden: false,
        comment: None,
        property: None,
    };
    let index = |column: usize| Index {
        id: index_id(id.0, column),
        name: format!("i{column}"),
        columns: vec![column],
        unique: column == 0,
        automatic: false,
        constraint: None,
        nulls: true,
        declared: planner::catalog::IndexDeclaration::default(),
    };
    Table {
        id,
        name: format!("t{id}"),
        namespace: planner::catalog::NamespaceId::PUBLIC,
        columns: (0..width).map(column).collect(),
        primary_key: Some(index_id(id.0, 0)),
        indexes: (0..width).map(index).collect(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        data_subject: false,
        rules: Vec::new(),
        comment: None,
        schema_version: 0,
        holds: Vec::new(),
        retention: None,
        pending: None,
        view: None,
        max_lag_ms: 0,
        triggers: Vec::new(),
        on_commit: planner::catalog::OnCommit::default(),
    }
}

impl Reader for Memory {
    fn time(&self) -> CommitTime {
        CommitTime(1)
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }
    fn row_key(&self, _table: &Table, primary_key: &[Datum]) -> RowKey {
        RowKey::new(&key::encode_all(primary_key))
    }
    fn get(&self, table: &Table, key: &RowKey) -> Result<Option<Row>, SqlError> {
        Ok(self.tables[&table.id].get(key).cloned())
    }
    fn index(&self, table: &Table, index: &Index, values: &[Datum]) -> Result<Vec<(RowKey, Row)>, SqlError> {
        let rows = &self.tables[&table.id];
        let keys =
            self.indexes.get(&(table.id, index.columns[0])).and_then(|index| index.get(&key::encode_all(values)));
        Ok(keys.into_iter().flatten().map(|key| (key.clone(), rows[key].clone())).collect())
    }
    fn range(&self, table: &Table, index: Option<&Index>, range: &KeyRange) -> Result<Option<RangeRows>, SqlError> {
        assert!(index.is_none() && range.prefix.is_empty(), "only ranges of the primary key here");
        let passes =
            |value: &Datum| {
                let lower = range.lower.as_ref().is_none_or(|(bound, inclusive)| {
                    value.sql_cmp(bound).is_gt() || (*inclusive && value.sql_eq(bound))
                });
                let upper = range.upper.as_ref().is_none_or(|(bound, inclusive)| {
                    value.sql_cmp(bound).is_lt() || (*inclusive && value.sql_eq(bound))
                });
                lower && upper
            };
        let rows = self.tables[&table.id].iter().filter(|(_, row)| passes(&row.unpack()[0]));
        let mut rows: Vec<_> = rows.map(|(key, row)| Ok((key.clone(), row.clone()))).collect();
        if range.reverse {
            rows.reverse();
        }
        Ok(Some(RangeRows { rows: Box::new(rows.into_iter()), in_memory: None }))
    }
    fn scan(&self, table: &Table) -> Result<RowIterator, SqlError> {
        let rows: Vec<_> = self.tables[&table.id].iter().map(|(key, row)| Ok((key.clone(), row.clone()))).collect();
        Ok(Box::new(rows.into_iter()))
    }
    fn owners(&self, _table: &Table, _key: &RowKey) -> Result<Vec<(MicroDbId, u32)>, SqlError> {
        Ok(Vec::new())
    }
}

/// An environment for expressions that need none.
pub struct Nowhere(Arc<Catalog>);

impl Environment for Nowhere {
    fn transaction_timestamp(&self) -> i64 {
        0
    }
    fn statement_timestamp(&self) -> i64 {
        0
    }
    fn clock_timestamp(&self) -> i64 {
        0
    }
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }
    fn set_setting(&self, name: &str, _value: &str, _local: bool) -> Result<(), ValueError> {
        Err(ValueError::new("42704", format!("unrecognized configuration parameter \"{name}\"")))
    }
    fn catalog(&self) -> &Arc<Catalog> {
        &self.0
    }
    fn session_user(&self) -> String {
        "tester".into()
    }
    fn database(&self) -> String {
        "test".into()
    }
    fn backend_pid(&self) -> i32 {
        1
    }
    fn next_value(&self, _sequence: SequenceId) -> Result<i64, ValueError> {
        Err(ValueError::new("55000", "no sequences here"))
    }
    fn current_value(&self, sequence: SequenceId) -> Result<i64, ValueError> {
        self.next_value(sequence)
    }
    fn last_value(&self) -> Result<i64, ValueError> {
        Err(ValueError::new("55000", "no sequences here"))
    }
    fn set_value(&self, sequence: SequenceId, _value: i64, _is_called: bool) -> Result<(), ValueError> {
        self.next_value(sequence).map(|_| ())
    }
    fn sequence_state(&self, sequence: SequenceId) -> Result<(i64, bool), ValueError> {
        self.next_value(sequence).map(|value| (value, true))
    }
    fn random_bytes(&self, buffer: &mut [u8]) {
        buffer.fill(4);
    }
    fn sleep(&self, _duration: std::time::Duration) -> Result<(), ValueError> {
        Ok(())
    }
    fn relation_size(&self, _relation: RelationId) -> i64 {
        0
    }
}

pub fn context(params: Vec<Datum>) -> EvalContext {
    EvalContext::within(params.into(), Arc::new(Nowhere(Arc::default())))
}

pub fn limits() -> QueryLimits {
    QueryLimits { account: Account::new(Arc::default(), None, 1 << 30), ended: Arc::new(|| None) }
}

pub fn query(plan: Plan, width: usize) -> Query {
    let finishing = Finishing { project: (0..width).collect(), ..Finishing::default() };
    Query {
        plan,
        finishing,
        columns: Vec::new(),
        locks: Vec::new(),
        locking: Vec::new(),
        acts: false,
        calls: false,
        constants: Vec::new(),
    }
}

// Functions.

const fn comparison(name: &'static str, comparison: Comparison) -> Function {
    Function {
        name,
        strict: true,
        volatility: Volatility::Immutable,
        written: None,
        kind: FunctionKind::Compare(comparison),
    }
}
const fn native(name: &'static str, evaluate: planner::scalar::func::Evaluate) -> Function {
    Function {
        name,
        strict: true,
        volatility: Volatility::Immutable,
        written: None,
        kind: FunctionKind::Native(evaluate),
    }
}

pub static EQUAL: Function = comparison("=", Comparison::Equal);
pub static LESS: Function = comparison("<", Comparison::Less);
pub static PLUS: Function = native("+", |_, args, _| Ok(Datum::Int8(int(&args[0]) + int(&args[1]))));
pub static DIVIDE: Function = native("/", |_, args, _| match int(&args[1]) {
    0 => Err(ValueError::new("22012", "division by zero")),
    divisor => Ok(Datum::Int8(int(&args[0]) / divisor)),
});

pub fn int(datum: &Datum) -> i64 {
    datum.as_i64().expect("an integer")
}

pub fn call(function: &'static Function, left: ScalarExpr, right: ScalarExpr) -> ScalarExpr {
    let result = match function.kind {
        FunctionKind::Compare(_) => ScalarType::Bool,
        _ => ScalarType::Int8,
    };
    ScalarExpr::Call { function, args: vec![left, right], result }
}
pub fn column(index: usize) -> ScalarExpr {
    ScalarExpr::Column(index)
}
pub fn literal(value: i32) -> ScalarExpr {
    ScalarExpr::Literal(Datum::Int4(value), ColumnType::nullable(ScalarType::Int4))
}
pub fn filter(arity: usize, predicate: ScalarExpr) -> Mfp {
    Mfp { filter: vec![(arity, predicate)], ..Mfp::identity(arity) }
}

pub static COUNT: Aggregate = Aggregate {
    name: "count",
    skips_nulls: true,
    kind: AggregateKind::Summed(Summed {
        add: |_, contribution| {
            contribution.count();
            Ok(())
        },
        value: |total, _| Ok(Datum::Int8(total.count())),
        plain: Some(PlainSum::Rows),
    }),
};
pub static SUM: Aggregate = Aggregate {
    name: "sum",
    skips_nulls: true,
    kind: AggregateKind::Summed(Summed {
        add: |args, contribution| {
            contribution.count();
            contribution.add(1, int(&args[0]).into());
            Ok(())
        },
        value: |total, _| Ok(if total.count() == 0 { Datum::Null } else { Datum::Int8(total.at(1) as i64) }),
        plain: Some(PlainSum::Integers),
    }),
};
pub static MAX: Aggregate =
    Aggregate { name: "max", skips_nulls: true, kind: AggregateKind::Extreme { greatest: true } };
/// The argument that comes most often.
pub static MODE: Aggregate = Aggregate { name: "mode", skips_nulls: true, kind: AggregateKind::MostFrequent };
/// The argument in the middle of all.
pub static MIDDLE: Aggregate = Aggregate {
    name: "middle",
    skips_nulls: true,
    kind: AggregateKind::Placed(|places| {
        Ok(match places.count {
            0 => Datum::Null,
            count => (places.row)(count / 2).remove(0),
        })
    }),
};
/// Its arguments as text, one after another, NULLs too.
pub static LIST: Aggregate = Aggregate {
    name: "list",
    skips_nulls: false,
    kind: AggregateKind::Listed(|_, items, _| {
        let mut text = String::new();
        for (args, copies) in items {
            for _ in 0..copies {
                match args[0].as_i64() {
                    Some(value) => text += &format!("{value},"),
                    None => text += "-,",
                }
            }
        }
        Ok(Datum::text(text))
    }),
};

pub fn aggregate(function: &'static Aggregate, args: Vec<ScalarExpr>) -> AggregateCall {
    let (result, label) = (ScalarType::Int8, Label::default());
    AggregateCall { function, args, distinct: false, filter: None, order_by: Vec::new(), result, label }
}

/// 1, 2, … up to its argument; without end for NULL.
pub static SERIES: TableFunction = TableFunction {
    name: "series",
    evaluate: |_, args, types| {
        assert_eq!(types.len(), 1, "the types of the columns come along");
        let rows = |number: i64| Ok(vec![Datum::Int8(number)]);
        Ok(match args[0].as_i64() {
            Some(last) => Box::new((1..=last).map(rows)),
            None => Box::new((1..).map(rows)),
        })
    },
};
