//! Defaults, checks and indexes as PostgreSQL shows them: `pg_attrdef.adbin`, `pg_get_constraintdef`, `indexdef`.
//!
//! The catalog keeps expressions as they were written, in old folders too; how they are shown is found when it is asked.
//! What cannot be resolved any more is shown as it was written.

use crate::catalog::{Catalog, Column, DefaultValue, Index, Scope, Table};
use crate::deparse::literal::quoted;
use crate::deparse::simple::is_operation;
use crate::deparse::{Spelling, deparsed};
use crate::hir::{HirColumn, HirExpr};
use crate::resolve::ddl::index_key::delimited;
use crate::resolve::{has_subquery, shown_expression};
use crate::scalar::Environment;
use crate::scalar::cast::{Cast, CastContext, CastMethod, plan_cast};
use crate::scalar::env::names::CatalogNames;
use crate::scalar::env::styles;
use crate::scalar::func::quote_identifier;
use crate::system::view_text::condition_text;
use repr::datetime::Zone;
use repr::text::TextContext;
use repr::{ColumnIndex, ColumnType, Datum, RelationId, ScalarType};
use std::sync::Arc;

/// How a session sees the catalog's expressions.
#[derive(Clone)]
pub(crate) struct DefinitionText {
    catalog: Arc<Catalog>,
    names: CatalogNames,
    context: TextContext,
    /// What was written names what a session without a search path of its own finds.
    reading: TextContext,
}

impl DefinitionText {
    /// By the session's search path, time zone and styles.
    pub(crate) fn new(environment: &dyn Environment) -> DefinitionText {
        let catalog = Arc::clone(environment.catalog());
        let names = || CatalogNames::of_session(environment);
        let zone = environment.setting("timezone").and_then(|name| Zone::named(&name)).unwrap_or_else(Zone::utc);
        let context = TextContext { zone, catalog: Some(Arc::new(names())), ..styles(environment) };
        let found = CatalogNames::kept(Arc::clone(&catalog));
        let reading = TextContext { catalog: Some(Arc::new(found)), ..context.clone() };
        DefinitionText { names: names(), context, reading, catalog }
    }

    /// As a session that searches `public` sees it.
    pub(crate) fn of(catalog: Arc<Catalog>) -> DefinitionText {
        let names = || CatalogNames::kept(Arc::clone(&catalog));
        let context = TextContext { catalog: Some(Arc::new(names())), ..TextContext::default() };
        DefinitionText { names: names(), reading: context.clone(), context, catalog }
    }

    /// What names mean to whoever reads it.
    pub(crate) fn scope(&self) -> Scope<'_> {
        self.names.scope()
    }

    /// A function that somebody created, as whoever reads it must spell it.
    pub(crate) fn routine_name(&self, oid: repr::Id) -> String {
        let scope = self.scope();
        scope.catalog.routines.get(&oid).map_or_else(String::new, |routine| scope.spelled_routine(routine))
    }

    /// An operator that somebody created, the same.
    pub(crate) fn operator_name(&self, oid: repr::Id) -> String {
        let scope = self.scope();
        scope.catalog.operators.get(&oid).map_or_else(String::new, |operator| match scope.sees_operator(operator) {
            true => operator.name.clone(),
            false => format!("OPERATOR({})", scope.spelled_operator(operator)),
        })
    }

    /// A table or view as whoever reads it must spell it.
    pub(crate) fn relation(&self, id: RelationId) -> Option<String> {
        self.catalog.table(id).map(|table| self.names.spelled(table))
    }

    /// A column's default or generation expression; none where PostgreSQL keeps none.
    pub(crate) fn default(&self, table: &Table, column: &Column) -> Option<String> {
        if column.hidden {
            return None;
        }
        let below = ColumnType { domain: 0, ..column.column_type.clone() };
        match &column.default {
            Some(DefaultValue::Expr(text)) => {
                let Ok(expr) = shown_expression(&self.catalog, table, text, Some(&below)) else {
                    return Some(text.clone());
                };
                let has_type = |null: &ColumnType| null.scalar == column.column_type.scalar;
                if matches!(&expr, HirExpr::Literal(Datum::Null, null) if has_type(null))
                    && column.column_type.modifier == -1
                {
                    return None;
                }
                Some(self.written(table, &expr, false))
            }
            Some(DefaultValue::Generated(text)) => {
                let shown = shown_expression(&self.catalog, table, text, Some(&column.column_type));
                Some(shown.map_or_else(|_| text.clone(), |expr| self.written(table, &expr, false)))
            }
            Some(DefaultValue::Serial(sequence)) => {
                let name = self.catalog.sequences.get(sequence).map(|found| self.names.spelled_sequence(found))?;
                Some(format!("nextval({}::regclass)", quoted(&name)))
            }
            Some(DefaultValue::Identity { .. }) | None => None,
        }
    }

    /// A condition or another expression over a table's row.
    pub(crate) fn expression(&self, table: &Table, text: &str, pretty: bool) -> String {
        match shown_expression(&self.catalog, table, text, None) {
            Ok(expr) if has_subquery(&expr) => condition_text((table, text), Scope::from(&*self.catalog), self, pretty)
                .unwrap_or_else(|| text.to_owned()),
            Ok(expr) => self.written(table, &expr, pretty),
            Err(_) => text.to_owned(),
        }
    }

    /// What is shown already, once more, in the pretty form; over no table if it is none's.
    pub(crate) fn again(&self, relation: RelationId, text: &str) -> String {
        let Some(table) = self.catalog.table(relation) else { return text.to_owned() };
        // It is shown as this session writes names.
        let Ok(expr) = shown_expression(self.names.scope(), table, text, None) else { return text.to_owned() };
        let own = DefinitionText { reading: self.context.clone(), ..self.clone() };
        if has_subquery(&expr) {
            return condition_text((table, text), self.names.scope(), &own, true).unwrap_or_else(|| text.to_owned());
        }
        let mut pretty = own.written(table, &expr, true);
        // A default under a cast that is not shown has parentheses for each.
        if is_operation(&expr)
            && let Some((_, column)) =
                table.live_columns().find(|(_, column)| self.default(table, column).is_some_and(|shown| shown == text))
        {
            for _ in
                0..hidden_casts(&expr.scalar_type(&|column| Row { shown: self, table }.column_type(column)), column)
            {
                pretty = format!("({pretty})");
            }
        }
        pretty
    }

    /// A key of an index, a column or an expression.
    pub(crate) fn index_key(&self, table: &Table, key: ColumnIndex, pretty: bool) -> String {
        match table.columns.get(key) {
            Some(Column { hidden: true, default: Some(DefaultValue::Generated(text)), .. }) => {
                delimited(self.expression(table, text, pretty))
            }
            Some(column) => quote_identifier(&column.name),
            None => String::new(),
        }
    }

    /// What makes an index; `pretty` leaves out a schema that is searched.
    pub(crate) fn index(&self, table: &Table, index: &Index, pretty: bool) -> String {
        let name = |column: &ColumnIndex| table.columns.get(*column).map(|column| quote_identifier(&column.name));
        let keys = index.columns.iter().enumerate().map(|(place, column)| {
            let declared = index.declared.column(place);
            let mut text = self.index_key(table, *column, pretty);
            if let Some(collation) = &declared.collation {
                text.push_str(&format!(" COLLATE {}", quote_identifier(collation)));
            }
            if let Some(class) = &declared.class {
                text.push_str(&format!(" {}", quote_identifier(class)));
            }
            text.push_str(match (declared.descending, declared.nulls_first) {
                (false, false) => "",
                (false, true) => " NULLS FIRST",
                (true, true) => " DESC",
                (true, false) => " DESC NULLS LAST",
            });
            text
        });
        let keys: Vec<String> = keys.collect();
        let include: Vec<String> = index.declared.include.iter().filter_map(name).collect();
        let include = if include.is_empty() { String::new() } else { format!(" INCLUDE ({})", include.join(", ")) };
        let predicate = index.declared.predicate.as_ref().map_or_else(String::new, |predicate| {
            format!(" WHERE {}", self.expression(table, &predicate.expression, pretty))
        });
        let nulls = if index.declared.nulls_not_distinct { " NULLS NOT DISTINCT" } else { "" };
        format!(
            "CREATE {}INDEX {} ON {} USING {} ({}){include}{nulls}{predicate}",
            if index.unique { "UNIQUE " } else { "" },
            quote_identifier(&index.name),
            if pretty { self.names.spelled(table) } else { self.names.scope().qualified(table.namespace, &table.name) },
            index.declared.method.name(),
            keys.join(", ")
        )
    }

    fn written(&self, table: &Table, expr: &HirExpr, pretty: bool) -> String {
        if table.columns.iter().any(|column| column.column_type.domain != 0) {
            return deparsed(&with_types_below(expr, table), &Row { shown: self, table }, pretty);
        }
        deparsed(expr, &Row { shown: self, table }, pretty)
    }

    /// A type's name, its modifier applied.
    pub(crate) fn type_name(&self, column_type: &ColumnType) -> String {
        // `character` alone is of one character.
        match &column_type.scalar {
            ScalarType::Bpchar if column_type.modifier == -1 => return "bpchar".to_owned(),
            ScalarType::Array(element) if **element == ScalarType::Bpchar && column_type.modifier == -1 => {
                return "bpchar[]".to_owned();
            }
            // And `bit` of one bit.
            ScalarType::Bit if column_type.modifier == -1 => return "\"bit\"".to_owned(),
            ScalarType::Array(element) if **element == ScalarType::Bit && column_type.modifier == -1 => {
                return "\"bit\"[]".to_owned();
            }
            _ => {}
        }
        if let Some(found) = self.names.created(column_type.domain) {
            return found;
        }
        let found = self.names.type_name(column_type.scalar.oid(), column_type.modifier);
        found.unwrap_or_else(|| crate::scalar::registry::type_name(&column_type.scalar))
    }

    /// The text form of a value.
    pub(crate) fn value(&self, datum: &Datum, scalar: &ScalarType) -> String {
        repr::text::format(datum, scalar, &self.context)
    }

    /// What a string becomes as a value of a type.
    pub(crate) fn read(&self, text: &str, to: &ColumnType) -> Option<Datum> {
        repr::text::parse(&to.scalar, -1, text, &self.reading).ok()
    }
}

/// An expression whose functions take the columns of domains as of the type below, which PostgreSQL says.
fn with_types_below(expr: &HirExpr, table: &Table) -> HirExpr {
    let below = |arg: &HirExpr| {
        let HirExpr::Column(HirColumn::Column { index, .. }) = arg else { return None };
        let column_type = &table.columns.get(*index).filter(|column| column.column_type.domain != 0)?.column_type;
        let to = ColumnType { domain: 0, modifier: -1, ..column_type.clone() };
        let cast = Cast { from: to.scalar.clone(), method: CastMethod::Relabel, explicit: true };
        Some(HirExpr::Cast { expr: Box::new(arg.clone()), cast, to })
    };
    let mut expr = expr.clone();
    expr.visit_mut(&mut |part| match part {
        HirExpr::Call { args, .. } => {
            for arg in args {
                if let Some(cast) = below(arg) {
                    *arg = cast;
                }
            }
        }
        HirExpr::Cast { expr, cast, .. } if cast.from != ScalarType::Unknown => {
            if let Some(cast) = below(expr) {
                **expr = cast;
            }
        }
        _ => {}
    });
    expr
}

/// How many nodes of PostgreSQL's stand between an operator and the column that it is the default of, as far as each is
/// worth parentheses: a cast, and one that applies a length, but for that over a function's call.
fn hidden_casts(from: &ScalarType, column: &Column) -> usize {
    let to = &column.column_type;
    let cast = plan_cast(from, to, CastContext::Assignment).filter(|_| *from != to.scalar);
    let by_function = cast.as_ref().is_some_and(|cast| {
        matches!(cast.method, CastMethod::Number | CastMethod::DateTime) || *from == ScalarType::Bool
    });
    usize::from(cast.is_some()) + usize::from(to.modifier != -1 && !by_function)
}

/// A table's row, as expressions over it are written.
struct Row<'a> {
    shown: &'a DefinitionText,
    table: &'a Table,
}

impl Spelling<HirColumn> for Row<'_> {
    fn column(&self, column: &HirColumn) -> String {
        match column {
            // Only the conditions of domains are over no table.
            HirColumn::Column { .. } if self.table.id == RelationId(0) => "VALUE".to_owned(),
            HirColumn::Column { index, .. } => {
                self.table.columns.get(*index).map(|column| quote_identifier(&column.name)).unwrap_or_default()
            }
            // Those that have subqueries are written as a query's condition is.
            HirColumn::Exists(_) | HirColumn::Scalar(_) | HirColumn::Any { .. } | HirColumn::ArrayOf(..) => {
                "(subquery)".to_owned()
            }
        }
    }

    fn column_type(&self, column: &HirColumn) -> ScalarType {
        match column {
            HirColumn::Column { index, .. } => {
                self.table.columns.get(*index).map_or(ScalarType::Unknown, |column| column.column_type.scalar.clone())
            }
            HirColumn::Exists(_) | HirColumn::Scalar(_) | HirColumn::Any { .. } | HirColumn::ArrayOf(..) => {
                ScalarType::Unknown
            }
        }
    }

    fn type_name(&self, column_type: &ColumnType) -> String {
        self.shown.type_name(column_type)
    }

    fn routine_name(&self, oid: repr::Id) -> String {
        self.shown.routine_name(oid)
    }

    fn operator_name(&self, oid: repr::Id) -> String {
        self.shown.operator_name(oid)
    }

    fn value(&self, datum: &Datum, scalar: &ScalarType) -> String {
        self.shown.value(datum, scalar)
    }

    fn read(&self, text: &str, to: &ColumnType) -> Option<Datum> {
        self.shown.read(text, to)
    }
}
