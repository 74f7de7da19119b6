//! Calls: operators, tests, functions, and the forms that SQL has for some functions.

use super::SqlWriter;
use crate::scalar::cast::CastMethod;
use crate::scalar::func::range::{MAKE_MULTIRANGE, MAKE_RANGE};
use crate::scalar::func::routine::is_call;
use crate::scalar::func::{FunctionKind, quote_identifier};
use crate::scalar::{Function, ScalarExpr, collation};
use repr::types::RecordType;
use repr::{Collation, ColumnType, Datum, ScalarType};

/// Functions that are words.
pub(super) const KEYWORDS: [&str; 7] = [
    "current_date",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "session_user",
];

/// Whether a function is an operator.
pub(super) fn is_operator(function: &Function) -> bool {
    function.name == "IS DISTINCT FROM"
        || !function.name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// An operand without the cast that PostgreSQL does not need: it compares and computes across these types.
pub(crate) fn across<'a, C>(symbol: &str, operand: &'a ScalarExpr<C>) -> &'a ScalarExpr<C> {
    let ScalarExpr::Cast { expr, cast, to } = operand else { return operand };
    let compares = matches!(symbol, "=" | "<>" | "<" | "<=" | ">" | ">=" | "IS DISTINCT FROM");
    let computes = compares || matches!(symbol, "+" | "-" | "*" | "/");
    let both = |family: &[ScalarType]| family.contains(&cast.from) && family.contains(&to.scalar);
    let integers = both(&[ScalarType::Int2, ScalarType::Int4, ScalarType::Int8]);
    let floats = both(&[ScalarType::Float4, ScalarType::Float8]);
    let dates = both(&[ScalarType::Date, ScalarType::Timestamp, ScalarType::Timestamptz]);
    let crosses = (integers || floats) && computes || dates && compares;
    if crosses && !cast.explicit && to.modifier == -1 { expr } else { operand }
}

impl<C: Clone + PartialEq> SqlWriter<'_, C> {
    pub(super) fn call(&mut self, whole: &ScalarExpr<C>, function: &'static Function, args: &[ScalarExpr<C>]) {
        match (function.kind, args) {
            (FunctionKind::Any(operator), [left, array]) => self.quantified(whole, operator, "ANY", left, array),
            (FunctionKind::All(operator), [left, array]) => self.quantified(whole, operator, "ALL", left, array),
            (FunctionKind::AmongRows, args) => self.among_rows(args),
            (FunctionKind::Spread(_), _) => self.function(whole, function.name, args, true),
            _ => match (function.name, args) {
                ("NOT", [operand]) => self.enclosed(|writer| {
                    writer.out.push_str("NOT ");
                    writer.within(operand, false, whole);
                }),
                ("IS NOT DISTINCT FROM", [left, right]) => self.enclosed(|writer| {
                    writer.out.push_str("NOT ");
                    writer.enclosed(|writer| writer.infix(whole, left, "IS DISTINCT FROM", right));
                }),
                (name, [operand]) if name.starts_with("IS ") => self.enclosed(|writer| {
                    writer.within(operand, name.ends_with("NULL"), whole);
                    writer.out.push(' ');
                    writer.out.push_str(name);
                }),
                (name, [left, right]) if is_operator(function) => {
                    self.enclosed(|writer| writer.infix(whole, left, name, right));
                }
                (name, [operand]) if is_operator(function) => self.enclosed(|writer| {
                    writer.out.push_str(name);
                    writer.out.push(' ');
                    writer.operand(whole, operand);
                }),
                (_, args) if is_call(function) => self.routine(whole, args),
                (name, args) => match function.written {
                    Some((form, _)) => self.form(whole, form, args),
                    None => self.named(whole, name, args),
                },
            },
        }
    }

    /// A function that somebody created: its OID stands before what it is given.
    fn routine(&mut self, whole: &ScalarExpr<C>, args: &[ScalarExpr<C>]) {
        let Some((ScalarExpr::Literal(Datum::Oid(oid), of), given)) = args.split_first() else { return };
        if of.scalar == ScalarType::Regoperator {
            return self.created_operator(whole, *oid, given);
        }
        let name = self.spelling.routine_name(*oid);
        self.out.push_str(&name);
        self.out.push('(');
        for (place, arg) in given.iter().enumerate() {
            if place > 0 {
                self.out.push_str(", ");
            }
            self.within(arg, false, whole);
        }
        self.out.push(')');
    }

    /// An operator that somebody created.
    fn created_operator(&mut self, whole: &ScalarExpr<C>, oid: repr::Id, operands: &[ScalarExpr<C>]) {
        let name = self.spelling.operator_name(oid);
        self.enclosed(|writer| {
            if let [left, _] = operands {
                writer.within(left, true, whole);
                writer.out.push(' ');
            }
            writer.out.push_str(&name);
            if let Some(right) = operands.last() {
                writer.out.push(' ');
                writer.within(right, true, whole);
            }
        });
    }

    fn infix(&mut self, whole: &ScalarExpr<C>, left: &ScalarExpr<C>, symbol: &str, right: &ScalarExpr<C>) {
        self.operand(whole, across(symbol, left));
        self.symbol(symbol, left);
        self.operand(whole, across(symbol, right));
    }

    /// A symbol between blanks, with the schema of an extension's where its bare name does not mean it.
    fn symbol(&mut self, symbol: &str, left: &ScalarExpr<C>) {
        let scalar = left.scalar_type(&|column| self.spelling.column_type(column));
        let name = match scalar.extension() {
            Some(_) => self.spelling.type_name(&ColumnType::nullable(scalar)),
            None => String::new(),
        };
        match name.rsplit_once('.') {
            Some((schema, _)) if !symbol.starts_with("IS ") => {
                self.out.push_str(&format!(" OPERATOR({schema}.{symbol}) "));
            }
            Some(_) | None => self.out.push_str(&format!(" {symbol} ")),
        }
    }

    /// An operator's operand. PostgreSQL has no operators of `character varying`: it takes it as text.
    fn operand(&mut self, whole: &ScalarExpr<C>, operand: &ScalarExpr<C>) {
        match operand.scalar_type(&|column| self.spelling.column_type(column)) {
            ScalarType::Varchar => self.as_text(operand, &ScalarType::Text),
            _ => self.within(operand, true, whole),
        }
    }

    fn as_text(&mut self, operand: &ScalarExpr<C>, to: &ScalarType) {
        let to = ColumnType::nullable(to.clone());
        let unwritten = match operand {
            ScalarExpr::Cast { expr, cast, .. } if cast.from == ScalarType::Unknown && !cast.explicit => Some(&**expr),
            ScalarExpr::Literal(..) => Some(operand),
            _ => None,
        };
        match unwritten {
            Some(ScalarExpr::Literal(datum, _)) => self.literal(datum, &to, true),
            _ => {
                let simple = super::simple::is_simple(operand, None) && !matches!(operand, ScalarExpr::Cast { .. });
                let bare = self.pretty && simple;
                if !bare {
                    self.out.push('(');
                }
                self.expr(operand, true);
                if !bare {
                    self.out.push(')');
                }
                self.label(&to);
            }
        }
    }

    fn quantified(
        &mut self,
        whole: &ScalarExpr<C>,
        operator: &Function,
        quantifier: &str,
        left: &ScalarExpr<C>,
        array: &ScalarExpr<C>,
    ) {
        self.enclosed(|writer| {
            writer.operand(whole, left);
            writer.symbol(operator.name, left);
            writer.out.push_str(&format!("{quantifier} ("));
            let of_varchar = ScalarType::Array(Box::new(ScalarType::Varchar));
            if array.scalar_type(&|column| writer.spelling.column_type(column)) == of_varchar {
                writer.as_text(array, &ScalarType::Array(Box::new(ScalarType::Text)));
            } else {
                writer.within(array, true, whole);
            }
            writer.out.push(')');
        });
    }

    /// `(a, b) IN ((1, 2), …)`.
    fn among_rows(&mut self, args: &[ScalarExpr<C>]) {
        let (fields, arrays) = args.split_at(args.len() / 2);
        let elements = |array: &ScalarExpr<C>| match array {
            ScalarExpr::Literal(Datum::Array(array), to) => Some((array.clone(), to.scalar.element()?)),
            _ => None,
        };
        let literals: Option<Vec<_>> = arrays.iter().map(elements).collect();
        self.enclosed(|writer| {
            writer.listed("(", &fields.iter().collect::<Vec<_>>(), ") IN (");
            let Some(literals) = literals else {
                return writer.listed("unnest(", &arrays.iter().collect::<Vec<_>>(), "))");
            };
            let rows = literals.first().map_or(0, |(array, _)| array.elements.len());
            for row in 0..rows {
                writer.out.push_str(if row > 0 { ", (" } else { "(" });
                for (place, (array, element)) in literals.iter().enumerate() {
                    writer.out.push_str(if place > 0 { ", " } else { "" });
                    writer.literal(&array.elements[row], &ColumnType::nullable(element.clone()), true);
                }
                writer.out.push(')');
            }
            writer.out.push(')');
        });
    }

    fn function(&mut self, whole: &ScalarExpr<C>, name: &str, args: &[ScalarExpr<C>], spread: bool) {
        match whole {
            // What makes a created range is called as its type is.
            ScalarExpr::Call { result, .. } if name == MAKE_RANGE || MAKE_MULTIRANGE.contains(&name) => {
                let called = self.spelling.type_name(&ColumnType::nullable(result.clone()));
                self.out.push_str(&called);
            }
            _ => self.out.push_str(&quote_identifier(name)),
        }
        // PostgreSQL has an array of the ranges that a multirange is made of.
        let of_several = name == MAKE_MULTIRANGE[0] && !spread && !args.is_empty();
        self.out.push_str(if of_several { "(VARIADIC ARRAY[" } else { "(" });
        for (place, arg) in args.iter().enumerate() {
            if place > 0 {
                self.out.push_str(", ");
            }
            if spread && place + 1 == args.len() {
                self.out.push_str("VARIADIC ");
            }
            self.expr(arg, true);
        }
        self.out.push_str(if of_several { "])" } else { ")" });
    }

    /// A function by its name, or a construct that is called like one here.
    fn named(&mut self, whole: &ScalarExpr<C>, name: &str, args: &[ScalarExpr<C>]) {
        match (name, args) {
            (name, []) if KEYWORDS.contains(&name) => self.out.push_str(&name.to_ascii_uppercase()),
            (name, [precision]) if KEYWORDS.contains(&name) => {
                self.out.push_str(&name.to_ascii_uppercase());
                self.out.push('(');
                self.expr(precision, false);
                self.out.push(')');
            }
            ("greatest" | "least", args) => {
                self.listed(&format!("{}(", name.to_ascii_uppercase()), &args.iter().collect::<Vec<_>>(), ")");
            }
            ("COLLATE" | "COLLATION KEY", [text, ScalarExpr::Literal(Datum::Oid(oid), _)]) => self.enclosed(|writer| {
                writer.within(text, true, whole);
                writer.out.push_str(" COLLATE ");
                writer.out.push_str(&collation::quoted(Collation(*oid)));
            }),
            ("extract", [field, source]) => {
                self.out.push_str("EXTRACT(");
                self.word(field);
                self.out.push_str(" FROM ");
                self.expr(source, false);
                self.out.push(')');
            }
            ("position", [string, part]) => {
                self.out.push_str("POSITION((");
                self.expr(part, false);
                self.out.push_str(") IN (");
                self.expr(string, false);
                self.out.push_str("))");
            }
            ("overlaps", [a, b, c, d]) => {
                self.out.push('(');
                self.listed("(", &[a, b], ") OVERLAPS ");
                self.listed("(", &[c, d], "))");
            }
            ("record_field", [row, ScalarExpr::Literal(Datum::Int4(place), _)]) => {
                self.field(whole, row, usize::try_from(*place).unwrap_or(usize::MAX));
            }
            ("array_subscript", [array, places @ ..]) => {
                self.container(whole, array);
                for place in places {
                    self.out.push('[');
                    self.expr(place, false);
                    self.out.push(']');
                }
            }
            ("array_slice", [array, bounds @ ..]) => {
                self.container(whole, array);
                for pair in bounds.chunks(2) {
                    self.out.push('[');
                    for (place, bound) in pair.iter().enumerate() {
                        if place > 0 {
                            self.out.push(':');
                        }
                        let beyond = if place == 0 { i32::MIN } else { i32::MAX };
                        if !matches!(bound, ScalarExpr::Literal(Datum::Int4(given), _) if *given == beyond) {
                            self.expr(bound, false);
                        }
                    }
                    self.out.push(']');
                }
            }
            (name, args) => self.function(whole, name, args, false),
        }
    }

    /// A field of a composite value, by its name.
    fn field(&mut self, whole: &ScalarExpr<C>, row: &ScalarExpr<C>, place: usize) {
        self.out.push('(');
        self.within(row, true, whole);
        self.out.push_str(").");
        let fields = self.record_type(row);
        let name = fields.as_ref().and_then(|fields| fields.get(place));
        let name = name.map_or_else(|| format!("f{}", place.saturating_add(1)), |(name, _)| name.clone());
        self.out.push_str(&quote_identifier(&name));
    }

    /// What a composite value is made of.
    fn record_type(&self, expr: &ScalarExpr<C>) -> Option<RecordType> {
        let scalar = expr.scalar_type(&|column| self.spelling.column_type(column));
        if let ScalarType::Record(record) = scalar { Some(record) } else { None }
    }

    /// What is subscripted: anything but a column in parentheses.
    fn container(&mut self, whole: &ScalarExpr<C>, array: &ScalarExpr<C>) {
        let bare = matches!(array, ScalarExpr::Column(_));
        if !bare {
            self.out.push('(');
        }
        self.within(array, true, whole);
        if !bare {
            self.out.push(')');
        }
    }

    /// A field's name, which is a string in the tree.
    fn word(&mut self, field: &ScalarExpr<C>) {
        let literal = match field {
            ScalarExpr::Cast { expr, cast, .. } if cast.method == CastMethod::Relabel => &**expr,
            other => other,
        };
        match literal {
            ScalarExpr::Literal(Datum::Text(text), _) => self.out.push_str(text),
            other => self.expr(other, false),
        }
    }

    /// The forms that SQL has for some functions.
    fn form(&mut self, whole: &ScalarExpr<C>, form: &str, args: &[ScalarExpr<C>]) {
        match (form, args) {
            ("AT TIME ZONE", [zone, time]) => {
                self.out.push('(');
                self.within(time, false, whole);
                self.out.push_str(" AT TIME ZONE ");
                self.within(zone, false, whole);
                self.out.push(')');
            }
            ("TRIM BOTH" | "TRIM LEADING" | "TRIM TRAILING", [string, what @ ..]) => {
                self.out.push_str(&form.replacen(' ', "(", 1));
                for what in what {
                    self.out.push(' ');
                    self.expr(what, false);
                }
                self.out.push_str(" FROM ");
                self.expr(string, false);
                self.out.push(')');
            }
            ("SUBSTRING FROM", [string, rest @ ..]) => self.phrase("SUBSTRING(", string, [" FROM ", " FOR ", ""], rest),
            ("OVERLAY PLACING", [string, rest @ ..]) => {
                self.phrase("OVERLAY(", string, [" PLACING ", " FROM ", " FOR "], rest);
            }
            (form, []) => self.out.push_str(form),
            (form, args) => self.function(whole, form, args, false),
        }
    }

    fn phrase(&mut self, opening: &str, first: &ScalarExpr<C>, words: [&str; 3], rest: &[ScalarExpr<C>]) {
        self.out.push_str(opening);
        self.expr(first, false);
        for (word, part) in words.iter().zip(rest) {
            self.out.push_str(word);
            self.expr(part, false);
        }
        self.out.push(')');
    }
}
