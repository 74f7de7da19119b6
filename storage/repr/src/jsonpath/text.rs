//! Paths as PostgreSQL writes them, and as they can be read again: PostgreSQL leaves out parentheses that it needs itself.

use super::{Chain, JsonPath, Junction, Levels, Pattern, Step, Subscript};
use crate::Jsonb;
use crate::jsonb::write_string;
use std::fmt::Write;

const WRITING: &str = "writing to a String does not fail";

/// The priority of signs, and of what no operator is.
const SIGN: u8 = 5;
const NO_OPERATOR: u8 = 6;

impl JsonPath {
    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        Writer { out, is_faithful: false }.path(self);
    }

    /// A text that is read as this path again.
    pub(crate) fn packed(&self) -> String {
        let mut out = String::new();
        Writer { out: &mut out, is_faithful: true }.path(self);
        out
    }
}

/// How strongly what begins a chain binds.
fn priority(chain: &Chain) -> u8 {
    match &chain[0] {
        Step::Junction(junction, _) => junction.priority(),
        Step::Binary(operator, ..) => operator.priority(),
        Step::Sign(..) => SIGN,
        // `like_regex` among them, as PostgreSQL has it.
        _ => NO_OPERATOR,
    }
}

struct Writer<'o> {
    out: &'o mut String,
    /// Whether parentheses stand wherever they are needed.
    is_faithful: bool,
}

impl Writer<'_> {
    fn path(&mut self, path: &JsonPath) {
        let path = path.path();
        self.out.push_str(if path.is_lax { "" } else { "strict " });
        self.chain(&path.chain, true);
    }

    /// A chain; what begins it stands in parentheses if it is an operator and they are asked for.
    fn chain(&mut self, chain: &Chain, in_parentheses: bool) {
        for (place, step) in chain.iter().enumerate() {
            let is_followed = place + 1 < chain.len();
            self.step(step, in_parentheses || (self.is_faithful && is_followed), is_followed);
        }
    }

    fn step(&mut self, step: &Step, in_parentheses: bool, is_followed: bool) {
        match step {
            Step::Literal(number @ Jsonb::Number(_)) if is_followed => self.within("(", ")", |writer| {
                number.write_text(writer.out);
            }),
            Step::Junction(junction, terms) => self.junction(*junction, terms, in_parentheses),
            Step::Binary(operator, left, right) => self.parenthesized(in_parentheses, |writer| {
                writer.operand(left, operator.priority());
                write!(writer.out, " {} ", operator.symbol()).expect(WRITING);
                writer.operand(right, operator.priority());
            }),
            Step::Sign(is_negated, operand) => self.parenthesized(in_parentheses, |writer| {
                writer.out.push(if *is_negated { '-' } else { '+' });
                writer.operand(operand, SIGN);
            }),
            Step::LikeRegex(operand, pattern) => self.parenthesized(in_parentheses, |writer| {
                writer.operand(operand, NO_OPERATOR);
                pattern.write(writer.out);
            }),
            Step::Not(_) | Step::IsUnknown(_) | Step::Exists(_) => {
                self.parenthesized(self.is_faithful && is_followed, |writer| writer.simple(step));
            }
            other => self.simple(other),
        }
    }

    fn within(&mut self, before: &str, after: &str, write: impl FnOnce(&mut Self)) {
        self.out.push_str(before);
        write(self);
        self.out.push_str(after);
    }

    fn parenthesized(&mut self, in_parentheses: bool, write: impl FnOnce(&mut Self)) {
        if in_parentheses { self.within("(", ")", write) } else { write(self) }
    }

    /// An operand of an operator of that priority.
    fn operand(&mut self, chain: &Chain, outer: u8) {
        self.chain(chain, priority(chain) <= outer);
    }

    fn enclosed(&mut self, before: &str, inner: &Chain, after: &str) {
        self.within(before, after, |writer| writer.chain(inner, false));
    }

    /// What is no operator.
    fn simple(&mut self, step: &Step) {
        match step {
            Step::Literal(value) => value.write_text(self.out),
            Step::Variable(name) => {
                self.out.push('$');
                write_string(self.out, name);
            }
            Step::Root => self.out.push('$'),
            Step::Current => self.out.push('@'),
            Step::Last => self.out.push_str("last"),
            Step::Key(key) => {
                self.out.push('.');
                write_string(self.out, key);
            }
            Step::AnyKey => self.out.push_str(".*"),
            Step::AnyArray => self.out.push_str("[*]"),
            Step::Subscripts(subscripts) => self.subscripts(subscripts),
            Step::Any(levels) => self.levels(*levels),
            Step::Filter(inner) => self.enclosed("?(", inner, ")"),
            Step::Not(inner) => self.enclosed("!(", inner, ")"),
            Step::IsUnknown(inner) => self.enclosed("(", inner, ") is unknown"),
            Step::Exists(inner) => self.enclosed("exists (", inner, ")"),
            Step::Method(method) => write!(self.out, ".{}()", method.name()).expect(WRITING),
            Step::Datetime(template) => self.within(".datetime(", ")", |writer| {
                template.iter().for_each(|template| write_string(writer.out, template));
            }),
            Step::Junction(..) | Step::Binary(..) | Step::Sign(..) | Step::LikeRegex(..) => {
                unreachable!("operators are written with their parentheses")
            }
        }
    }

    /// Terms as they are joined, from the left, two at a time.
    fn junction(&mut self, junction: Junction, terms: &[Chain], in_parentheses: bool) {
        let joints = terms.len() - 1;
        let parentheses = if in_parentheses { joints } else { joints - 1 };
        (0..parentheses).for_each(|_| self.out.push('('));
        for (place, term) in terms.iter().enumerate() {
            if place > 0 {
                write!(self.out, " {} ", junction.symbol()).expect(WRITING);
            }
            self.operand(term, junction.priority());
            if (1..=parentheses).contains(&place) {
                self.out.push(')');
            }
        }
    }

    fn subscripts(&mut self, subscripts: &[Subscript]) {
        self.out.push('[');
        for (place, subscript) in subscripts.iter().enumerate() {
            self.out.push_str(if place > 0 { "," } else { "" });
            self.chain(&subscript.from, false);
            if let Some(to) = &subscript.to {
                self.out.push_str(" to ");
                self.chain(to, false);
            }
        }
        self.out.push(']');
    }

    fn levels(&mut self, levels: Levels) {
        let level = |level: u32| if level == Levels::LEAVES { "last".to_owned() } else { level.to_string() };
        let (first, last) = (level(levels.first), level(levels.last));
        self.out.push_str(".**");
        if levels.first == levels.last {
            write!(self.out, "{{{first}}}").expect(WRITING);
        } else if levels.first != 0 || levels.last != Levels::LEAVES {
            write!(self.out, "{{{first} to {last}}}").expect(WRITING);
        }
    }
}

impl Pattern {
    fn write(&self, out: &mut String) {
        out.push_str(" like_regex ");
        write_string(out, &self.expression);
        let flags = [
            (self.is_insensitive, 'i'),
            (self.dot_is_all, 's'),
            (self.has_lines, 'm'),
            (self.has_blanks, 'x'),
            (self.is_literal, 'q'),
        ];
        let flags: String = flags.into_iter().filter(|(given, _)| *given).map(|(_, flag)| flag).collect();
        if !flags.is_empty() {
            write!(out, " flag \"{flags}\"").expect(WRITING);
        }
    }
}
