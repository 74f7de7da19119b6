//! Operators: calls by symbol, comparisons of rows, quantified comparisons with arrays.

use super::comparable::require_equality;
use super::created_operator::{bare, parts};
use super::expr::{number_text, unnested};
use super::literals::{Grouped, Item};
use super::scope::fold;
use super::{Resolver, Typed};
use crate::catalog::Qualifier;
use crate::error::PlanError;
use crate::hir::HirExpr;
use crate::parse::star::without_star;
use crate::scalar::FunctionKind;
use crate::scalar::cast::{CastContext, can_coerce};
use crate::scalar::func::parse_identifier;
use crate::scalar::registry::{self, FunctionMatch};
use repr::ScalarType;
use repr::types::RecordType;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart,
    UnaryOperator,
};

/// The symbol of a binary operator as the registry knows it, and whether it was written OPERATOR(…).
pub(super) fn symbol(op: &BinaryOperator) -> Result<String, PlanError> {
    Ok(match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => match parts.as_slice() {
            [name] => name.clone(),
            [schema, name] => format!("{schema}.{name}"),
            [database, schema, name] => format!("{database}.{schema}.{name}"),
            _ => return Err(PlanError::new("42883", format!("operator does not exist: {}", parts.join(".")))),
        },
        other => other.to_string(),
    })
}

/// Where PostgreSQL's own operators are.
const BUILT_IN: &str = "pg_catalog";

/// Where extensions have theirs.
const OF_EXTENSION: &str = "public";

/// The operator that a symbol means between two types.
fn found_operator(
    symbol: &str,
    (left, right): (&ScalarType, &ScalarType),
    find: impl FnOnce(&str) -> Result<FunctionMatch, PlanError>,
) -> Result<FunctionMatch, PlanError> {
    let (schema, bare) = parts(symbol);
    let Some(schema) = schema.filter(|schema| *schema != BUILT_IN) else { return find(bare) };
    let found = find(bare)?;
    let is_of_extension = schema == OF_EXTENSION && found.arg_casts.iter().any(|scalar| scalar.extension().is_some())
        || schema == OF_EXTENSION && *left == ScalarType::Text && bare.contains(['%', '-']);
    if is_of_extension {
        return Ok(found);
    }
    let operator = format!("{} {symbol} {}", registry::type_name(left), registry::type_name(right));
    Err(PlanError::new("42883", format!("operator does not exist: {operator}"))
        .hint("No operator matches the given name and argument types. You might need to add explicit type casts."))
}

/// A number with its sign turned, as it would be written: of `-9223372036854775808` it is no bigint any more.
fn negated_number(expr: &Expr) -> Option<String> {
    match unnested(expr) {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let number = negated_number(expr)?;
            Some(number.strip_prefix('-').map_or_else(|| format!("-{number}"), str::to_owned))
        }
        other => number_text(other).map(|number| format!("-{number}")),
    }
}

impl Resolver<'_> {
    /// `left symbol right`.
    pub(super) fn operate(
        &mut self,
        symbol: &str,
        left: Typed,
        right: Typed,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if let Some(found) = self.created_operation(symbol, Some(&left), &right, position)? {
            return Ok(found);
        }
        self.operate_built_in(symbol, left, right, position)
    }

    /// The same of what the server itself writes: no operator that somebody created is meant.
    pub(super) fn operate_built_in(
        &mut self,
        symbol: &str,
        left: Typed,
        right: Typed,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let (left, right) = self.beside_rows(left, right)?;
        self.require_schema_of(symbol).map_err(|error| error.at(position))?;
        let found = found_operator(symbol, (left.scalar(), right.scalar()), |symbol| {
            registry::resolve_operator(symbol, Some(left.scalar()), right.scalar())
        });
        let found = found.map_err(|error| self.named_types(error, &[&left, &right]).at(position))?;
        // Arrays are compared by their elements.
        if let FunctionKind::Compare(_) = found.function.kind {
            let arrays = found.arg_casts.iter().filter_map(ScalarType::element);
            arrays.clone().try_for_each(|element| require_equality(&element)).map_err(|error| error.at(position))?;
        }
        self.called(found, vec![left, right]).map_err(|error| error.at(position))
    }

    /// 3F000 where a symbol is written with a schema that is not there.
    fn require_schema_of(&self, symbol: &str) -> Result<(), PlanError> {
        let Some(schema) = parts(symbol).0 else { return Ok(()) };
        let written = parse_identifier(schema, true).unwrap_or_default();
        match self.scope().namespace_before(Qualifier::of(&written)) {
            Some(_) => Ok(()),
            None => Err(PlanError::new("3F000", format!("schema \"{}\" does not exist", written.join(".")))),
        }
    }

    /// Two operands; what has no type beside a row is a row.
    pub(super) fn beside_rows(&mut self, left: Typed, right: Typed) -> Result<(Typed, Typed), PlanError> {
        Ok(match (left.scalar().clone(), right.scalar().clone()) {
            (ScalarType::Record(one), ScalarType::Record(other))
                if one.len() != other.len() && !(one.is_empty() || other.is_empty()) =>
            {
                let message = "cannot compare record types with different numbers of columns";
                return Err(PlanError::new("42804", message));
            }
            (ScalarType::Record(one), ScalarType::Record(other)) => {
                self.require_similar(&one, &other)?;
                (left, right)
            }
            (ScalarType::Unknown, row @ ScalarType::Record(_)) => (self.coerce(left, &row)?, right),
            (row @ ScalarType::Record(_), ScalarType::Unknown) => (left, self.coerce(right, &row)?),
            _ => (left, right),
        })
    }

    /// Of two records each column is compared with one of its own type.
    fn require_similar(&self, one: &RecordType, other: &RecordType) -> Result<(), PlanError> {
        let is_text = |scalar: &ScalarType| matches!(scalar, ScalarType::Unknown | ScalarType::Text);
        for (place, ((_, left), (_, right))) in one.iter().zip(other.iter()).enumerate() {
            match (left, right) {
                // What these are made of may have other names.
                (ScalarType::Record(one), ScalarType::Record(other)) if one.id == other.id => {
                    self.require_similar(one, other)?;
                }
                _ if left == right || is_text(left) && is_text(right) => {}
                _ => {
                    let types = format!("{} and {}", self.type_label(left), self.type_label(right));
                    let place = place + 1;
                    let message = format!("cannot compare dissimilar column types {types} at record column {place}");
                    return Err(PlanError::new("42804", message));
                }
            }
        }
        Ok(())
    }

    /// `symbol operand`.
    pub(super) fn operate_prefix(
        &mut self,
        symbol: &str,
        operand: Typed,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if let Some(found) = self.created_operation(symbol, None, &operand, position)? {
            return Ok(found);
        }
        self.require_schema_of(symbol).map_err(|error| error.at(position))?;
        let symbol = symbol.strip_prefix("pg_catalog.").unwrap_or(symbol);
        let found = registry::resolve_operator(symbol, None, operand.scalar())
            .map_err(|error| self.named_types(error, &[&operand]).at(position))?;
        self.called(found, vec![operand])
    }

    /// A function by name over resolved arguments: constructs with a syntax of their own.
    pub(super) fn call_named(
        &mut self,
        name: &str,
        args: Vec<Typed>,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        let types: Vec<ScalarType> = args.iter().map(|arg| arg.scalar().clone()).collect();
        let found = registry::resolve_function(name, &types, false)
            .map_err(|error| self.named_types(error, &args.iter().collect::<Vec<_>>()).at(position))?;
        self.called(found, args).map_err(|error| error.at(position))
    }

    /// Puts enums' names into the registry's messages, which knows no catalog.
    pub(super) fn named_types(&self, error: PlanError, args: &[&Typed]) -> PlanError {
        self.naming(error, args.iter().map(|arg| arg.scalar()))
    }

    /// The same of types.
    pub(super) fn naming<'t>(
        &self,
        mut error: PlanError,
        types: impl IntoIterator<Item = &'t ScalarType>,
    ) -> PlanError {
        for scalar in types {
            let inner = scalar.unarrayed();
            if let Some(id) = inner.created() {
                // They stand there without the catalog's word.
                let known = if let ScalarType::Enum(_) = inner { "anyenum".to_owned() } else { id.to_string() };
                error.message = error.message.replacen(&known, &self.type_label(inner), 1);
            }
        }
        error
    }

    pub(super) fn binary(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Typed, PlanError> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => self.logical_chain(left, op, right),
            BinaryOperator::Overlaps => self.overlaps(left, right),
            // hstore's, whose record is as the left side says.
            BinaryOperator::Custom(symbol) if symbol == "#=" && !self.has_created_operators("#=") => {
                self.record_value("populate_record", &[left, right], self.position_of(left))
            }
            _ => {
                let symbol = symbol(op)?;
                if let (Some(left_items), Some(right_items)) = (row_items(left), row_items(right)) {
                    return self.compare_rows(&symbol, &left_items, &right_items);
                }
                if let (Some(items), Expr::Subquery(query)) = (row_items(left), right) {
                    return self.row_equals_subquery(&symbol, &items, query);
                }
                let position = self.position_of(left);
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                self.operate(&symbol, left, right, position)
            }
        }
    }

    /// A chain of ANDs, or of ORs, without recursion along its left side.
    fn logical_chain(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Typed, PlanError> {
        let mut operands = vec![right];
        let mut first = left;
        while let Expr::BinaryOp { left, op: inner, right } = first
            && inner == op
        {
            operands.push(right);
            first = left;
        }
        operands.push(first);
        let is_and = *op == BinaryOperator::And;
        let mut items = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            match (self.logical(operand, if is_and { "AND" } else { "OR" })?, is_and) {
                (HirExpr::And(inner), true) | (HirExpr::Or(inner), false) => items.extend(inner),
                (other, _) => items.push(other),
            }
        }
        Ok(Typed::boolean(if is_and { HirExpr::And(items) } else { HirExpr::Or(items) }))
    }

    fn logical(&mut self, expr: &Expr, construct: &str) -> Result<HirExpr, PlanError> {
        let position = self.position_of(expr);
        let typed = self.expr(expr)?;
        self.condition(typed, construct, position)
    }

    fn overlaps(&mut self, left: &Expr, right: &Expr) -> Result<Typed, PlanError> {
        let (Some(starts), Some(ends)) = (row_items(left), row_items(right)) else {
            return Err(PlanError::new("42601", "OVERLAPS needs two pairs"));
        };
        let ([a, b], [c, d]) = (starts.as_slice(), ends.as_slice()) else {
            return Err(PlanError::new("42601", "wrong number of parameters on left side of OVERLAPS expression"));
        };
        let mut args = Vec::with_capacity(4);
        for field in [a, b, c, d] {
            args.extend(self.fields(std::slice::from_ref(field))?);
        }
        let position = self.position_of(left);
        self.call_named("overlaps", args, position)
    }

    pub(super) fn unary(&mut self, op: UnaryOperator, operand: &Expr) -> Result<Typed, PlanError> {
        let position = self.position_of(operand);
        let symbol = match op {
            UnaryOperator::Not => {
                let inner = self.logical(operand, "NOT")?;
                return self.negate(inner);
            }
            UnaryOperator::Minus => {
                if let Some(number) = negated_number(operand) {
                    return super::expr::number_literal(&number);
                }
                "-"
            }
            UnaryOperator::Plus => "+",
            UnaryOperator::BitwiseNot => "~",
            UnaryOperator::PGAbs => "@",
            UnaryOperator::PGSquareRoot => "|/",
            UnaryOperator::PGCubeRoot => "||/",
            UnaryOperator::PGPrefixFactorial => "!!",
            UnaryOperator::AtDashAt => "@-@",
            UnaryOperator::DoubleAt => "@@",
            UnaryOperator::Hash => "#",
            UnaryOperator::QuestionDash => "?-",
            UnaryOperator::QuestionPipe => "?|",
            other => return Err(PlanError::new("42883", format!("operator does not exist: {other}"))),
        };
        let operand = self.expr(operand)?;
        self.operate_prefix(symbol, operand, position)
    }

    /// An operator before its operand that sqlparser has no name for.
    pub(super) fn prefixed(&mut self, prefix: &Ident, operand: &Expr) -> Result<Typed, PlanError> {
        let position = self.position_of(operand);
        let Some(parts) = crate::parse::dialect::prefix_operator(prefix) else {
            let message = format!("syntax error at or near \"{}\"", prefix.value);
            return Err(PlanError::new("42601", message).at(position));
        };
        let symbol = symbol(&BinaryOperator::PGCustomBinaryOperator(parts))?;
        let operand = self.expr(operand)?;
        self.operate_prefix(&symbol, operand, position)
    }

    /// NOT.
    pub(super) fn negate(&mut self, condition: HirExpr) -> Result<Typed, PlanError> {
        self.call_named("NOT", vec![Typed::boolean(condition)], None)
    }

    /// `(a, b) symbol (c, d)`, field by field.
    pub(super) fn compare_rows(
        &mut self,
        symbol: &str,
        left: &[Field<'_>],
        right: &[Field<'_>],
    ) -> Result<Typed, PlanError> {
        let lefts = self.fields(left)?;
        let rights = self.fields(right)?;
        if lefts.len() != rights.len() {
            return Err(PlanError::new("42601", "unequal number of entries in row expressions"));
        }
        self.compare_fields(symbol, lefts, rights)
    }

    /// The fields of a written row.
    pub(super) fn fields(&mut self, fields: &[Field<'_>]) -> Result<Vec<Typed>, PlanError> {
        let mut values = Vec::with_capacity(fields.len());
        for field in fields {
            match field {
                Field::Value(expr) => values.push(self.expr(expr)?),
                other => values.extend(self.several_fields(other)?),
            }
        }
        Ok(values)
    }

    /// What a star stands for in a written row.
    pub(super) fn several_fields(&mut self, field: &Field<'_>) -> Result<Vec<Typed>, PlanError> {
        match field {
            Field::Value(expr) => Ok(vec![self.expr(expr)?]),
            Field::All(table) => self.starred_fields(table),
            Field::Row(row) => Ok(self.expanded_row(row)?.into_iter().map(|(_, typed)| typed).collect()),
        }
    }

    /// The fields of `(row).*`, by name.
    pub(super) fn expanded_row(&mut self, starred: &Expr) -> Result<Vec<(String, Typed)>, PlanError> {
        let Some((row, span)) = without_star(starred) else { return Ok(Vec::new()) };
        let position = self.position_of(&row);
        let fields = match super::expr::unnested(&row) {
            Expr::Identifier(table)
                if self.find_column(&fold(table), position)?.is_none()
                    && self.find_table(std::slice::from_ref(table))?.is_some_and(|(_, found)| !found.is_scalar) =>
            {
                let columns = self.table_star(std::slice::from_ref(table))?;
                columns.into_iter().map(|(column, typed)| (column.name, typed)).collect()
            }
            _ => {
                let value = self.expr(&row)?;
                self.row_fields(value).map_err(|error| error.at(position))?
            }
        };
        self.trace_expanded(span, &fields);
        Ok(fields)
    }

    /// The fields of a composite value, by name.
    pub(super) fn row_fields(&mut self, value: Typed) -> Result<Vec<(String, Typed)>, PlanError> {
        let ScalarType::Record(fields) = value.scalar().clone() else {
            return Err(PlanError::new("42809", format!("type {} is not composite", self.type_label(value.scalar()))));
        };
        let field = |(index, (name, _)): (usize, &(String, ScalarType))| {
            Ok((name.clone(), self.field_at(value.clone(), index)?))
        };
        fields.iter().enumerate().map(field).collect()
    }

    /// Two values that are compared twice, as `build::shared` has one.
    fn shared_pair(&mut self, left: Typed, right: Typed) -> Result<(Typed, Typed, Option<HirExpr>), PlanError> {
        let stays = |side: &Typed| super::build::is_stable(&side.expr) || side.is_unknown();
        if stays(&left) && stays(&right) {
            return Ok((left, right, None));
        }
        let (both, shared) = super::build::named(super::expr::record(vec![left, right]));
        Ok((self.field_at(both.clone(), 0)?, self.field_at(both, 1)?, shared))
    }

    /// The comparison of two rows whose fields are at hand.
    pub(super) fn compare_fields(
        &mut self,
        symbol: &str,
        lefts: Vec<Typed>,
        rights: Vec<Typed>,
    ) -> Result<Typed, PlanError> {
        if lefts.is_empty() {
            return Err(PlanError::unsupported("comparing rows of no columns"));
        }
        let mut pairs: Vec<(Typed, Typed)> = lefts.into_iter().zip(rights).collect();
        if pairs.len() == 1 {
            let (left, right) = pairs.remove(0);
            return self.operate(symbol, left, right, None);
        }
        match bare(symbol) {
            equality @ ("=" | "<>" | "!=") => {
                let mut items = Vec::with_capacity(pairs.len());
                for (left, right) in pairs {
                    items.push(self.operate(symbol, left, right, None)?.expr);
                }
                Ok(Typed::boolean(if equality == "=" { HirExpr::And(items) } else { HirExpr::Or(items) }))
            }
            "<" | "<=" | ">" | ">=" => {
                // a < c OR (a = c AND (b < d OR …)); only the last fields are compared with the symbol itself.
                let strict = &symbol[..=symbol.len() - bare(symbol).len()];
                for (left, right) in &pairs {
                    if self.is_created_between(symbol, left.scalar(), right.scalar())? {
                        return Err(no_row_comparison(symbol));
                    }
                }
                let (left, right) = pairs.pop().expect("there are at least two pairs");
                let mut result = self.operate(symbol, left, right, None)?.expr;
                while let Some((left, right)) = pairs.pop() {
                    let (left, right, shared) = self.shared_pair(left, right)?;
                    let before = self.operate(strict, left.clone(), right.clone(), None)?.expr;
                    let equal = self.operate("=", left, right, None)?.expr;
                    result = HirExpr::Or(vec![before, HirExpr::And(vec![equal, result])]);
                    result = super::build::once(shared, result);
                }
                Ok(Typed::boolean(result))
            }
            // Between rows as they are stored, not between what they are made of.
            image if image.starts_with('*') => {
                let (left, right) = pairs.swap_remove(0);
                self.operate(image, left, right, None)
            }
            _ => Err(no_row_comparison(symbol)),
        }
    }

    /// `left symbol ANY (array)`, or ALL.
    pub(super) fn quantified_array(
        &mut self,
        symbol: &str,
        left: Typed,
        array: Typed,
        all: bool,
        position: Option<u32>,
    ) -> Result<Typed, PlanError> {
        if let Some(found) = self.created_quantified(symbol, (&left, &array), all, position)? {
            return Ok(found);
        }
        let found = found_operator(symbol, (left.scalar(), array.scalar()), |symbol| {
            registry::resolve_any_all(symbol, left.scalar(), array.scalar(), all)
        });
        let found = found.map_err(|error| self.named_types(error, &[&left, &array]).at(position))?;
        let args = self
            .convert_args(vec![left, array], &found.arg_casts, &found.conversions)
            .map_err(|error| error.at(position))?;
        Ok(Typed::boolean(HirExpr::Call { function: found.function, args, result: found.result }))
    }

    /// `IN (list)`: equality with each item, all of one type where one exists.
    pub(super) fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) -> Result<Typed, PlanError> {
        let position = self.position_of(operand);
        let mut conditions = Vec::with_capacity(list.len());
        let mut shared = None;
        if let Some(fields) = row_items(operand) {
            conditions = self.in_rows(&fields, list, position)?;
        } else {
            let spread = super::literals::spread_rows(list)?;
            let list = spread.as_deref().unwrap_or(list);
            let left;
            (left, shared) = super::build::shared(self.expr(operand)?);
            let (mut items, mut literals, cast) = self.list_items(&left, list)?;
            if self.as_shown
                && let Some(shown) = self.list_as_array(&left, &mut items, negated, position)?
            {
                return Ok(Typed::boolean(super::build::once(shared, shown.expr)));
            }
            // All the items take part in choosing the type, so that an unknown one follows the others.
            let of_items = std::iter::once(&left).chain(&items).map(Typed::scalar);
            let of_cast: Vec<ScalarType> = cast.iter().filter_map(|array| array.scalar().element()).collect();
            let types: Vec<ScalarType> = of_items.chain(literals.types()).chain(&of_cast).cloned().collect();
            // Where there are several, texts are compared with what is padded as if they were padded too.
            let several = !literals.0.is_empty()
                || !cast.is_empty()
                || items.iter().filter(|item| !has_column(&item.expr)).count() > 1;
            // Arrays are compared one by one: there is no array of them.
            let common = crate::scalar::cast::select_common_type_for("IN", &types);
            let common = common.ok().filter(|common| !matches!(common, ScalarType::Array(_)));
            if matches!(left.scalar(), ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8) {
                literals.widen_integers();
            }
            for (scalar, values) in literals.0 {
                let to = match (&scalar, &common) {
                    (ScalarType::Unknown, Some(common)) => common.clone(),
                    (ScalarType::Unknown, None) => left.scalar().clone(),
                    _ => scalar.clone(),
                };
                let array = self.literal_array(&scalar, values, &to, CastContext::Implicit);
                let array = array.map_err(|error| error.at(position))?;
                conditions.push(self.quantified_array("=", left.clone(), array, false, position)?.expr);
            }
            for array in cast {
                conditions.push(self.quantified_array("=", left.clone(), array, false, position)?.expr);
            }
            if let Some(common) = common {
                items = self.of_common(items, &common, several).map_err(|error| error.at(position))?;
            }
            for item in items {
                let equal = self.operate("=", left.clone(), item, position)?;
                conditions.push(self.boolean(equal, "IN", position)?);
            }
        }
        let any = if conditions.len() == 1 { conditions.remove(0) } else { HirExpr::Or(conditions) };
        let any = super::build::once(shared, any);
        if negated { self.negate(any) } else { Ok(Typed::boolean(any)) }
    }
}

impl Resolver<'_> {
    /// The items of a list, those converted that are compared as their common type: of no type, or where there are several without
    /// columns what is padded, and what becomes that type as well as that type becomes its own: no operator is the better one.
    fn of_common(&mut self, items: Vec<Typed>, common: &ScalarType, several: bool) -> Result<Vec<Typed>, PlanError> {
        let becomes = |from: &ScalarType, to: &ScalarType| can_coerce(from, to, CastContext::Implicit);
        let is_either = |own: &ScalarType| own != common && becomes(own, common) && becomes(common, own);
        let is_converted = |item: &Typed| {
            several && !has_column(&item.expr) && (*common == ScalarType::Bpchar || is_either(item.scalar()))
        };
        let each = items.into_iter().map(|item| match item.is_unknown() || is_converted(&item) {
            true => self.coerce(item, common),
            false => Ok(item),
        });
        each.collect()
    }

    /// The items of a list; apart from them literals of its runs that are compared with an operand of a type of its own, and those
    /// that are cast as arrays.
    fn list_items(&mut self, left: &Typed, list: &[Expr]) -> Result<(Vec<Typed>, Grouped, Vec<Typed>), PlanError> {
        let Some(items) = super::literals::items(list) else {
            let items = list.iter().map(|item| self.expr(item)).collect::<Result<_, _>>()?;
            return Ok((items, Grouped(Vec::new()), Vec::new()));
        };
        let has_arrays = match left.scalar() {
            ScalarType::Unknown
            | ScalarType::Array(_)
            | ScalarType::Int2Vector
            | ScalarType::OidVector
            | ScalarType::Record(_) => false,
            _ => !self.as_shown,
        };
        if !has_arrays {
            return Ok((self.spread(items)?, Grouped(Vec::new()), Vec::new()));
        }
        // What is padded is compared as all the others are.
        let is_padded = |array: &Typed| array.scalar().element() == Some(ScalarType::Bpchar);
        let (mut typed, mut literals, mut cast) = (Vec::new(), Vec::new(), Vec::new());
        for item in items {
            match item {
                Item::One(expr) => typed.push(self.expr(expr)?),
                Item::Many(list) if list.cast.is_some() => {
                    let array = if *left.scalar() == ScalarType::Bpchar { None } else { self.cast_list(&list)? };
                    match array.filter(|array| !is_padded(array)) {
                        Some(array) => cast.push(array),
                        None => typed.extend(self.spread(vec![Item::Many(list)])?),
                    }
                }
                Item::Many(list) if literals.is_empty() => literals = list.values,
                Item::Many(list) => literals.extend(list.values),
            }
        }
        let literals = if literals.is_empty() { Grouped(Vec::new()) } else { Grouped::of(literals)? };
        Ok((typed, literals, cast))
    }

    /// `IN (list)` as PostgreSQL keeps it: `= ANY (ARRAY[…])` of what is no column, if there are two and a type for all.
    fn list_as_array(
        &mut self,
        left: &Typed,
        items: &mut Vec<Typed>,
        negated: bool,
        position: Option<u32>,
    ) -> Result<Option<Typed>, PlanError> {
        let (columns, values): (Vec<Typed>, Vec<Typed>) =
            std::mem::take(items).into_iter().partition(|item| has_column(&item.expr));
        let types: Vec<ScalarType> = std::iter::once(left).chain(&values).map(|item| item.scalar().clone()).collect();
        let common = crate::scalar::cast::select_common_type_for("IN", &types);
        let (true, Ok(common)) = (values.len() > 1, common) else {
            items.extend(values.into_iter().chain(columns));
            return Ok(None);
        };
        let mut elements = Vec::with_capacity(values.len());
        for value in values {
            elements.push(self.coerce(value, &common)?.expr);
        }
        let symbol = if negated { "<>" } else { "=" };
        let array = Typed::new(HirExpr::Array(elements, common.clone()), ScalarType::Array(Box::new(common)));
        let mut parts = vec![self.quantified_array(symbol, left.clone(), array, negated, position)?.expr];
        for column in columns {
            parts.push(self.operate(symbol, left.clone(), column, position)?.expr);
        }
        let whole = match (parts.len(), negated) {
            (1, _) => parts.remove(0),
            (_, true) => HirExpr::And(parts),
            (_, false) => HirExpr::Or(parts),
        };
        Ok(Some(Typed::boolean(whole)))
    }
}

fn no_row_comparison(symbol: &str) -> PlanError {
    let message = format!("could not determine interpretation of row comparison operator {symbol}");
    PlanError::new("0A000", message)
}

fn has_column(expr: &HirExpr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| found |= matches!(part, HirExpr::Column(_)));
    found
}

/// What is written at a field's place in a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Field<'q> {
    /// Its value.
    Value(&'q Expr),
    /// `table.*`: as many fields as the table has columns.
    All(&'q ObjectName),
    /// `(row).*`: its fields.
    Row(&'q Expr),
}

impl<'q> Field<'q> {
    pub(super) fn of(expr: &'q Expr) -> Self {
        match expr {
            Expr::QualifiedWildcard(table, _) => Field::All(table),
            row if without_star(row).is_some() => Field::Row(row),
            other => Field::Value(other),
        }
    }
}

/// The fields of a written row: `(a, b)` or `ROW(a, b)`.
pub(super) fn row_items(expr: &Expr) -> Option<Vec<Field<'_>>> {
    match expr {
        Expr::Tuple(items) => Some(items.iter().map(Field::of).collect()),
        Expr::Nested(inner) => match &**inner {
            Expr::Tuple(_) | Expr::Function(_) => row_items(inner),
            _ => None,
        },
        Expr::Function(function) => {
            let [ObjectNamePart::Identifier(ident)] = function.name.0.as_slice() else { return None };
            if ident.quote_style.is_some() || fold(ident) != "row" {
                return None;
            }
            let FunctionArguments::List(list) = &function.args else { return None };
            list.args
                .iter()
                .map(|arg| match arg {
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(Field::of(expr)),
                    FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(table)) => Some(Field::All(table)),
                    FunctionArg::Unnamed(_) | FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => None,
                })
                .collect()
        }
        _ => None,
    }
}
