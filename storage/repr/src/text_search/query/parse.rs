//! Queries that are read: as PostgreSQL writes them, as people type them, or a text as it is.
//!
//! What is made of each word the caller says, who may know a dictionary.

use super::super::word::{Within, WordReader, is_operator};
use super::super::{is_space, weight_of};
use super::polish::too_deep;
use super::{DEPTH_MAX, DISTANCE_MAX, Operator, Polish, TsQuery};
use crate::{ValueError, poll};

/// How a query is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `'fat' & ( 'rat' | !'cat':*A )`
    Standard,
    /// No operators: all is one word.
    Plain,
    /// `fat -rat "two words" or more`; whatever it is, it is no error.
    Web,
}

/// A word of a query, before dictionaries see it.
pub struct QueryWord<'a> {
    /// As it stands there.
    pub text: &'a str,
    /// See `Operand::weights`.
    pub weights: u8,
    /// See `Operand::is_prefix`.
    pub is_prefix: bool,
}

/// What is made of a word: an operand, several that are joined, or a stop.
pub type Push<'p> = &'p mut dyn FnMut(&mut Polish, QueryWord<'_>) -> Result<(), ValueError>;

/// As many operators may wait for their right operand, without parentheses.
const WAITING_MAX: usize = 32;

impl TsQuery {
    /// The type's text form: words are lexemes.
    ///
    /// # Errors
    /// 42601 for what is none, 54000 for what is too large, 54001 for what is nested too deep.
    pub fn parse(source: &str) -> Result<TsQuery, ValueError> {
        parse(source, Form::Standard, &mut |polish, word| polish.push_operand(word.text, word.weights, word.is_prefix))
    }
}

/// Reads a query.
///
/// # Errors
/// As for `TsQuery::parse`, and the caller's.
pub fn parse(source: &str, form: Form, push: Push<'_>) -> Result<TsQuery, ValueError> {
    let within = if form == Form::Web { Within::Web } else { Within::Query };
    let mut reader = QueryReader {
        words: WordReader::new(source, within),
        state: ParseState::FirstOperand,
        open: 0,
        polish: Polish::of(source),
    };
    if form == Form::Plain {
        if !source.is_empty() {
            push(&mut reader.polish, QueryWord { text: source, weights: 0, is_prefix: false })?;
        }
        return reader.polish.finish();
    }
    // The operators that wait, within each parenthesis.
    let mut waiting: Vec<Vec<Operator>> = vec![Vec::new()];
    loop {
        poll::step()?;
        let token = if form == Form::Web { reader.web(push)? } else { reader.standard(push)? };
        match token {
            QueryToken::Word => {}
            QueryToken::Operator(operator) => {
                let level = waiting.last_mut().ok_or_else(|| reader.words.error())?;
                release(level, operator, &mut reader.polish);
                if level.len() == WAITING_MAX {
                    return Err(ValueError::new("XX000", "tsquery stack too small"));
                }
                level.push(operator);
            }
            QueryToken::Open if waiting.len() >= DEPTH_MAX => return Err(too_deep()),
            QueryToken::Open => waiting.push(Vec::new()),
            QueryToken::Close | QueryToken::End => {
                let mut level = waiting.pop().ok_or_else(|| reader.words.error())?;
                release(&mut level, Operator::Or, &mut reader.polish);
                if matches!(token, QueryToken::End) {
                    return reader.polish.finish();
                }
            }
        }
    }
}

/// Those that bind at least as strongly get their right operand; `!` has its operand behind it.
fn release(waiting: &mut Vec<Operator>, operator: Operator, polish: &mut Polish) {
    while let Some(last) = waiting.last() {
        let waits = if operator == Operator::Not {
            operator.priority() >= last.priority()
        } else {
            operator.priority() > last.priority()
        };
        if waits {
            break;
        }
        polish.push_operator(*last);
        waiting.pop();
    }
}

enum QueryToken {
    /// Pushed already.
    Word,
    Operator(Operator),
    Open,
    Close,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ParseState {
    FirstOperand,
    Operand,
    Operator,
}

struct QueryReader<'a> {
    words: WordReader<'a>,
    state: ParseState,
    /// Parentheses that are open.
    open: usize,
    polish: Polish,
}

impl QueryReader<'_> {
    fn standard(&mut self, push: Push<'_>) -> Result<QueryToken, ValueError> {
        self.skip_spaces();
        let next = self.words.peek();
        if self.state != ParseState::Operator {
            return match next {
                Some('!') => Ok(self.operator(Operator::Not)),
                Some('(') => {
                    self.words.advance();
                    self.state = ParseState::Operand;
                    self.open += 1;
                    Ok(QueryToken::Open)
                }
                Some(':') => Err(self.words.error()),
                _ => self.operand(push),
            };
        }
        match next {
            None if self.open == 0 => Ok(QueryToken::End),
            None => Err(self.words.error()),
            Some('&') => Ok(self.operator(Operator::And)),
            Some('|') => Ok(self.operator(Operator::Or)),
            Some('<') => match self.distance()? {
                Some(distance) => {
                    self.state = ParseState::Operand;
                    Ok(QueryToken::Operator(Operator::Phrase(distance)))
                }
                None => Err(self.words.error()),
            },
            Some(')') if self.open > 0 => {
                self.words.advance();
                self.open -= 1;
                Ok(QueryToken::Close)
            }
            Some(_) => Err(self.words.error()),
        }
    }

    fn web(&mut self, push: Push<'_>) -> Result<QueryToken, ValueError> {
        loop {
            self.skip_spaces();
            let next = self.words.peek();
            if next.is_some_and(is_operator) {
                self.words.advance();
                // What is meant by them is not known here.
                if self.state != ParseState::Operator {
                    self.state = ParseState::Operand;
                }
                continue;
            }
            if self.state != ParseState::Operator {
                return match next {
                    Some('-') => Ok(self.operator(Operator::Not)),
                    Some('"') => self.phrase(push),
                    _ => self.operand(push),
                };
            }
            self.state = ParseState::Operand;
            return Ok(match next {
                None => QueryToken::End,
                Some(_) if self.takes_or() => QueryToken::Operator(Operator::Or),
                Some(_) => QueryToken::Operator(Operator::And),
            });
        }
    }

    fn skip_spaces(&mut self) {
        while self.words.peek().is_some_and(is_space) {
            self.words.advance();
        }
    }

    /// One that has one character.
    fn operator(&mut self, operator: Operator) -> QueryToken {
        self.words.advance();
        self.state = ParseState::Operand;
        QueryToken::Operator(operator)
    }

    fn operand(&mut self, push: Push<'_>) -> Result<QueryToken, ValueError> {
        let Some(word) = self.words.next()? else {
            return match (self.state, self.is_web()) {
                (ParseState::FirstOperand, _) => Ok(QueryToken::End),
                (_, true) => {
                    // The operator before it needs one.
                    self.polish.push_stop();
                    Ok(QueryToken::End)
                }
                (_, false) => {
                    Err(ValueError::new("42601", format!("no operand in tsquery: \"{}\"", self.words.source)))
                }
            };
        };
        let (mut weights, mut is_prefix) = (0, false);
        if !self.is_web() && self.words.peek() == Some(':') {
            self.words.advance();
            while let Some(character) = self.words.peek() {
                match weight_of(character) {
                    Some(weight) => weights |= 1 << weight,
                    None if character == '*' => is_prefix = true,
                    None => break,
                }
                self.words.advance();
            }
        }
        self.state = ParseState::Operator;
        push(&mut self.polish, QueryWord { text: &word.text, weights, is_prefix })?;
        Ok(QueryToken::Word)
    }

    /// Up to the second quote all is one word.
    fn phrase(&mut self, push: Push<'_>) -> Result<QueryToken, ValueError> {
        self.words.advance();
        let rest = &self.words.source[self.words.at..];
        let length = rest.find('"').unwrap_or(rest.len());
        self.words.at += length;
        self.words.advance();
        self.state = ParseState::Operator;
        push(&mut self.polish, QueryWord { text: &rest[..length], weights: 0, is_prefix: false })?;
        Ok(QueryToken::Word)
    }

    fn is_web(&self) -> bool {
        self.words.is_web()
    }

    /// `<->` or `<distance>`; none if it is something else.
    fn distance(&mut self) -> Result<Option<u16>, ValueError> {
        let rest = &self.words.source[self.words.at + 1..];
        let (distance, length) = match rest.strip_prefix('-') {
            Some(_) => (1, 1),
            None => {
                let length = rest.bytes().take_while(u8::is_ascii_digit).count();
                if length == 0 {
                    return Ok(None);
                }
                (rest[..length].parse().unwrap_or(i64::MAX), length)
            }
        };
        let Some(distance) = u16::try_from(distance).ok().filter(|_| distance <= DISTANCE_MAX) else {
            return Err(distance_out_of_range());
        };
        if !rest[length..].starts_with('>') || rest[length + 1..].is_empty() {
            // Without anything behind it PostgreSQL does not see its end, either.
            return Ok(None);
        }
        self.words.at += length + 2;
        Ok(Some(distance))
    }

    /// `or`, if it is a word and something that may be an operand is behind it.
    fn takes_or(&mut self) -> bool {
        let rest = &self.words.source[self.words.at..];
        let Some(behind) = rest.get(..2).filter(|word| word.eq_ignore_ascii_case("or")).map(|_| &rest[2..]) else {
            return false;
        };
        let mut characters = behind.chars();
        match characters.next() {
            None => return false,
            Some(character) if character == '-' || character == '_' || character.is_alphanumeric() => return false,
            Some(_) => {}
        }
        let is_operator = characters.any(|character| !is_space(character));
        if is_operator {
            self.words.at += 2;
        }
        is_operator
    }
}

/// 22023 for a distance that none may have.
pub fn distance_out_of_range() -> ValueError {
    ValueError::new(
        "22023",
        format!("distance in phrase operator must be an integer value between zero and {DISTANCE_MAX} inclusive"),
    )
}
