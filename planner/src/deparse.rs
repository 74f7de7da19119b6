//! Resolved expressions as PostgreSQL writes them: what its ruleutils.c makes of the same tree.
//!
//! Behind `pg_get_expr`, `pg_get_constraintdef` and EXPLAIN. What it writes can be read again and means the same. Three
//! forms: as a dump needs it, every operator in parentheses; the pretty one of `\d`, with those that are needed; and
//! EXPLAIN's, which is a dump's on one line.
//! Knows a tree and the names of columns and types; looks nothing up.

mod call;
pub(crate) use call::across;
pub(crate) mod literal;
pub(crate) mod simple;

use crate::scalar::ScalarExpr;
use crate::scalar::cast::CastMethod;
use repr::{ColumnType, Datum, Id, ScalarType};

/// How columns, types and values of a tree are written.
pub(crate) trait Spelling<C> {
    /// A column, quoted and qualified as it must be.
    fn column(&self, column: &C) -> String;
    /// Whether a column is a subquery in its place.
    fn is_subquery(&self, _column: &C) -> bool {
        false
    }
    /// The type of a column.
    fn column_type(&self, column: &C) -> ScalarType;
    /// A type's name, its modifier applied.
    fn type_name(&self, column_type: &ColumnType) -> String;
    /// The name of a function that somebody created.
    fn routine_name(&self, _oid: Id) -> String {
        "function".to_owned()
    }
    /// An operator that somebody created, as it stands at its operands.
    fn operator_name(&self, _oid: Id) -> String {
        "operator".to_owned()
    }
    /// The text form of a value.
    fn value(&self, datum: &Datum, scalar: &ScalarType) -> String;
    /// What a string becomes as a value of a type; `None` where only running the statement can tell.
    fn read(&self, text: &str, to: &ColumnType) -> Option<Datum>;
}

/// As `pg_get_expr` writes it.
pub(crate) fn deparsed<C: Clone + PartialEq>(expr: &ScalarExpr<C>, spelling: &dyn Spelling<C>, pretty: bool) -> String {
    let mut writer = SqlWriter { spelling, pretty, lines: true, out: String::new(), indent: 0 };
    writer.expr(expr, false);
    writer.out
}

/// The same within a query: in the pretty form or not, with casts that nobody wrote or not, CASE as far in.
pub(crate) fn shown<C: Clone + PartialEq>(
    expr: &ScalarExpr<C>,
    spelling: &dyn Spelling<C>,
    (pretty, implicit): (bool, bool),
    indent: usize,
) -> String {
    let mut writer = SqlWriter { spelling, pretty, lines: true, out: String::new(), indent };
    writer.expr(expr, implicit);
    writer.out
}

/// Whether it is the call of a function, a cast that is one included.
pub(crate) fn is_function<C>(expr: &ScalarExpr<C>) -> bool {
    match expr {
        ScalarExpr::Call { function, .. } => {
            const OTHERS: [&str; 8] = [
                "NOT",
                "COLLATE",
                "COLLATION KEY",
                "greatest",
                "least",
                "array_subscript",
                "array_slice",
                "record_field",
            ];
            let is_value = call::KEYWORDS.contains(&function.name);
            let is_test = function.name.starts_with("IS ") || OTHERS.contains(&function.name);
            !call::is_operator(function) && !is_test && !is_value
        }
        ScalarExpr::Cast { cast, .. } => matches!(cast.method, CastMethod::Number | CastMethod::DateTime),
        _ => false,
    }
}

/// As PostgreSQL's EXPLAIN writes it, but that whole numbers of any width are digits.
pub(crate) fn on_one_line<C: Clone + PartialEq>(expr: &ScalarExpr<C>, spelling: &dyn Spelling<C>) -> String {
    let mut writer = SqlWriter { spelling, pretty: false, lines: false, out: String::new(), indent: 0 };
    writer.expr(expr, false);
    writer.out
}

struct SqlWriter<'s, C> {
    spelling: &'s dyn Spelling<C>,
    pretty: bool,
    /// CASE takes several.
    lines: bool,
    out: String,
    indent: usize,
}

/// By how much CASE indents.
const INDENT: usize = 4;

/// A cast that PostgreSQL's tree has not: its function takes any type there.
fn is_unseen(cast: &crate::scalar::cast::Cast) -> bool {
    match &cast.method {
        CastMethod::Print | CastMethod::ToJson | CastMethod::TypeOf | CastMethod::Pairs(_) => true,
        CastMethod::Output => !cast.explicit,
        CastMethod::Elements(inner) => is_unseen(inner),
        CastMethod::Relabel
        | CastMethod::Number
        | CastMethod::DateTime
        | CastMethod::Network
        | CastMethod::Range
        | CastMethod::Shape
        | CastMethod::Input
        | CastMethod::Hstore
        | CastMethod::Json => false,
    }
}

impl<C: Clone + PartialEq> SqlWriter<'_, C> {
    /// One expression; `implicit` says whether casts that nobody wrote are shown.
    fn expr(&mut self, expr: &ScalarExpr<C>, implicit: bool) {
        match expr {
            ScalarExpr::Column(column) => {
                let name = self.spelling.column(column);
                self.out.push_str(&name);
            }
            ScalarExpr::Literal(datum, column_type) => self.literal(datum, column_type, true),
            ScalarExpr::Param(index, _) => self.out.push_str(&format!("${}", index + 1)),
            ScalarExpr::Call { function, args, .. } => self.call(expr, function, args),
            ScalarExpr::And(args) => self.junction(expr, args, " AND "),
            ScalarExpr::Or(args) => self.junction(expr, args, " OR "),
            ScalarExpr::Case { branches, otherwise, .. } => match simple::null_if(branches, otherwise) {
                Some(args) => self.listed("NULLIF(", &args, ")"),
                None => self.case(None, branches, otherwise),
            },
            ScalarExpr::Coalesce(args, _) => self.listed("COALESCE(", &args.iter().collect::<Vec<_>>(), ")"),
            ScalarExpr::Array(args, element) => {
                self.listed("ARRAY[", &args.iter().collect::<Vec<_>>(), "]");
                if args.is_empty() {
                    let array = ColumnType::nullable(ScalarType::Array(Box::new(element.clone())));
                    self.label(&array);
                }
            }
            ScalarExpr::Record(args, result) => {
                self.listed("ROW(", &args.iter().collect::<Vec<_>>(), ")");
                if result.created().is_some() {
                    self.out.push_str("::");
                    self.out.push_str(&self.spelling.type_name(&ColumnType::nullable(result.clone())));
                }
            }
            ScalarExpr::Operand(_) => self.out.push_str("CASE_TEST_EXPR"),
            ScalarExpr::Tested { operand, .. } => self.expr(operand, implicit),
            ScalarExpr::Once { operand, body } => match &**body {
                ScalarExpr::Call { function, args, result } if **function == crate::scalar::domain::VALUE => {
                    self.domain(operand, args, result);
                }
                ScalarExpr::Case { branches, otherwise, .. } if simple::null_if(branches, otherwise).is_none() => {
                    self.case(Some(operand), branches, otherwise);
                }
                other => self.expr(&other.with_operand(operand), implicit),
            },
            ScalarExpr::Cast { expr: inner, cast, to } => {
                if let (ScalarExpr::Literal(datum, from), ScalarType::Unknown) = (&**inner, &cast.from) {
                    return self.read_literal(datum, from, to, cast.explicit || implicit);
                }
                if is_unseen(cast) {
                    self.expr(inner, implicit);
                } else if cast.explicit || implicit {
                    self.cast(expr, inner, to);
                } else {
                    self.within(inner, false, expr);
                }
            }
        }
    }

    /// A part, in parentheses if its parent would take it apart.
    fn within(&mut self, expr: &ScalarExpr<C>, implicit: bool, parent: &ScalarExpr<C>) {
        let is_operand = match parent {
            ScalarExpr::Call { function, .. } => !is_function(parent) && function.name != "NOT",
            ScalarExpr::Cast { .. } => true,
            _ => false,
        };
        let is_subquery = matches!(expr, ScalarExpr::Column(column) if self.spelling.is_subquery(column));
        let needed = self.pretty && (is_subquery && is_operand || !simple::is_simple(expr, Some(parent)));
        if needed {
            self.out.push('(');
        }
        self.expr(expr, implicit);
        if needed {
            self.out.push(')');
        }
    }

    /// What every operator has around it but in the pretty form.
    fn enclosed(&mut self, body: impl FnOnce(&mut Self)) {
        if !self.pretty {
            self.out.push('(');
        }
        body(self);
        if !self.pretty {
            self.out.push(')');
        }
    }

    fn cast(&mut self, whole: &ScalarExpr<C>, inner: &ScalarExpr<C>, to: &ColumnType) {
        match inner {
            // 'foo'::character varying(3), and not the constant's own type as well.
            ScalarExpr::Literal(datum, from) if from.scalar == to.scalar && from.modifier == -1 => {
                self.literal(datum, from, false);
            }
            _ => self.enclosed(|writer| writer.within(inner, false, whole)),
        }
        self.label(to);
    }

    /// A cast to the domain that the call is for.
    fn domain(&mut self, operand: &ScalarExpr<C>, args: &[ScalarExpr<C>], result: &ScalarType) {
        let domain = args.iter().find_map(|arg| match arg {
            ScalarExpr::Literal(Datum::Oid(domain), _) => Some(*domain),
            _ => None,
        });
        let to = ColumnType { domain: domain.unwrap_or(0), ..ColumnType::nullable(result.clone()) };
        match operand {
            ScalarExpr::Cast { expr: inner, cast, .. }
                if !matches!(**inner, ScalarExpr::Literal(..)) || cast.explicit =>
            {
                match &**inner {
                    ScalarExpr::Literal(datum, from) if cast.from == ScalarType::Unknown => {
                        self.literal(datum, from, false);
                    }
                    inner => self.enclosed(|writer| writer.within(inner, false, operand)),
                }
            }
            ScalarExpr::Literal(datum, from) => self.literal(datum, from, false),
            other => self.enclosed(|writer| writer.within(other, false, operand)),
        }
        self.label(&to);
    }

    fn label(&mut self, column_type: &ColumnType) {
        self.out.push_str("::");
        let name = self.spelling.type_name(column_type);
        self.out.push_str(&name);
    }

    fn junction(&mut self, whole: &ScalarExpr<C>, args: &[ScalarExpr<C>], word: &str) {
        if let [only] = args {
            return self.expr(only, false);
        }
        self.enclosed(|writer| {
            for (place, arg) in args.iter().enumerate() {
                if place > 0 {
                    writer.out.push_str(word);
                }
                writer.within(arg, false, whole);
            }
        });
    }

    fn listed(&mut self, opening: &str, args: &[&ScalarExpr<C>], closing: &str) {
        self.out.push_str(opening);
        for (place, arg) in args.iter().enumerate() {
            if place > 0 {
                self.out.push_str(", ");
            }
            self.expr(arg, true);
        }
        self.out.push_str(closing);
    }

    fn case(
        &mut self,
        operand: Option<&ScalarExpr<C>>,
        branches: &[(ScalarExpr<C>, ScalarExpr<C>)],
        otherwise: &ScalarExpr<C>,
    ) {
        self.keyword("CASE");
        if let Some(operand) = operand {
            self.out.push(' ');
            self.expr(operand, true);
        }
        self.indent += INDENT;
        for (condition, value) in branches {
            self.keyword("WHEN ");
            self.expr(simple::compared(condition).unwrap_or(condition), false);
            self.out.push_str(" THEN ");
            self.expr(value, true);
        }
        self.keyword("ELSE ");
        self.expr(otherwise, true);
        self.indent -= INDENT;
        self.keyword("END");
    }

    /// A word that begins a line.
    fn keyword(&mut self, word: &str) {
        if !self.lines {
            if word != "CASE" {
                self.out.push(' ');
            }
            self.out.push_str(word);
            return;
        }
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.out.push_str(word);
    }
}
