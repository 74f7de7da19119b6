//! Queries as text, with as few parentheses as PostgreSQL writes.

use super::super::write_lexeme;
use super::{Operand, Operator, QueryItem, TsQuery};
use std::fmt::Write;

impl TsQuery {
    /// Appends its text.
    pub fn write_text(&self, out: &mut String) {
        if !self.is_empty() {
            self.write_part(out, 0, 0, false);
        }
    }

    /// The part that begins there, under an operator of that priority; whether it is a phrase's right operand.
    fn write_part(&self, out: &mut String, mut at: usize, mut outer: u8, mut is_right_of_phrase: bool) {
        // Down the left side, the outermost operator first.
        let mut operators = Vec::new();
        loop {
            match &self.items()[at] {
                QueryItem::Operand(operand) => {
                    write_operand(out, operand);
                    break;
                }
                QueryItem::Operator { operator, left } => {
                    let is_phrase = matches!(operator, Operator::Phrase(_));
                    let in_parentheses = operator.priority() < outer || (is_phrase && is_right_of_phrase);
                    if in_parentheses {
                        out.push_str("( ");
                    }
                    if *operator == Operator::Not {
                        out.push('!');
                        self.write_part(out, at + 1, operator.priority(), false);
                        close(out, in_parentheses);
                        break;
                    }
                    operators.push((*operator, at, in_parentheses));
                    (outer, is_right_of_phrase) = (operator.priority(), false);
                    at += *left as usize;
                }
            }
        }
        for (operator, at, in_parentheses) in operators.into_iter().rev() {
            match operator {
                Operator::Phrase(1) => out.push_str(" <-> "),
                Operator::Phrase(distance) => {
                    write!(out, " <{distance}> ").expect("writing to a String does not fail");
                }
                Operator::Or => out.push_str(" | "),
                Operator::And | Operator::Not => out.push_str(" & "),
            }
            self.write_part(out, at + 1, operator.priority(), matches!(operator, Operator::Phrase(_)));
            close(out, in_parentheses);
        }
    }
}

fn close(out: &mut String, in_parentheses: bool) {
    if in_parentheses {
        out.push_str(" )");
    }
}

fn write_operand(out: &mut String, operand: &Operand) {
    write_lexeme(out, &operand.lexeme);
    if operand.weights == 0 && !operand.is_prefix {
        return;
    }
    out.push(':');
    if operand.is_prefix {
        out.push('*');
    }
    for (weight, letter) in [(3, 'A'), (2, 'B'), (1, 'C'), (0, 'D')] {
        if operand.weights & 1 << weight != 0 {
            out.push(letter);
        }
    }
}
