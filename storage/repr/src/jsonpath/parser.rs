//! The grammar of paths, by descent.
//!
//! Chains and predicates are told apart behind them only, as both may stand in parentheses; an operator asks for the
//! kind of operand that it takes.

use super::lexer::{Kind, Lexer, Token};
use super::{COMPARISON, Chain, DEPTH_MAX, Junction, Levels, Method, Operator, Pattern, Step, Subscript};
use crate::{Jsonb, ValueError};
use std::sync::Arc;

/// Asked for each word whether to go on.
type Poll = fn() -> Result<(), ValueError>;

/// Reads a path: whether it is lax, and its steps.
pub(super) fn parse(text: &str, poll: Poll) -> Result<(bool, Chain), ValueError> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    if token.kind == Kind::End {
        return Err(ValueError::new("22P02", format!("invalid input syntax for type jsonpath: \"{text}\"")));
    }
    let mut parser = Parser { lexer, token, poll, nesting: 0, filters: 0, subscripts: 0, misplaced: None };
    let is_lax = !parser.takes(Kind::Keyword("strict"))?;
    if is_lax {
        parser.takes(Kind::Keyword("lax"))?;
    }
    let part = parser.expression(0)?;
    if parser.token.kind != Kind::End {
        return Err(parser.token.unexpected());
    }
    match parser.misplaced {
        Some(misplaced) => Err(misplaced),
        None => Ok((is_lax, part.chain)),
    }
}

/// What has been read, and what may be done with it.
struct ReadPart {
    chain: Chain,
    is_predicate: bool,
    /// How deep chains nest in it.
    depth: usize,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The word at hand.
    token: Token,
    poll: Poll,
    nesting: usize,
    /// How many filters and subscripts this stands in.
    filters: usize,
    subscripts: usize,
    /// What PostgreSQL finds only when the whole path has been read.
    misplaced: Option<ValueError>,
}

/// What may stand behind an operand.
enum Infix {
    Junction(Junction),
    Operator(Operator),
    LikeRegex,
}

impl Infix {
    fn priority(&self) -> u8 {
        match self {
            Infix::Junction(junction) => junction.priority(),
            Infix::Operator(operator) => operator.priority(),
            Infix::LikeRegex => COMPARISON,
        }
    }
}

fn too_deep() -> ValueError {
    ValueError {
        hint: Some(format!("A path may nest {DEPTH_MAX} levels deep.")),
        ..ValueError::new("54001", "stack depth limit exceeded")
    }
}

impl ReadPart {
    fn expression(chain: Chain, depth: usize) -> ReadPart {
        ReadPart { chain, is_predicate: false, depth }
    }

    /// A step over parts that are that deep.
    fn over(step: Step, is_predicate: bool, depth: usize) -> Result<ReadPart, ValueError> {
        let depth = depth + 1;
        if depth > DEPTH_MAX { Err(too_deep()) } else { Ok(ReadPart { chain: vec![step], is_predicate, depth }) }
    }
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, ValueError> {
        (self.poll)()?;
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    fn takes(&mut self, kind: Kind) -> Result<bool, ValueError> {
        let found = self.token.kind == kind;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn takes_symbol(&mut self, symbol: &'static str) -> Result<bool, ValueError> {
        self.takes(Kind::Symbol(symbol))
    }

    /// A word that must be there.
    fn expect(&mut self, kind: Kind) -> Result<Token, ValueError> {
        if self.token.kind == kind { self.advance() } else { Err(self.token.unexpected()) }
    }

    fn expect_symbol(&mut self, symbol: &'static str) -> Result<(), ValueError> {
        self.expect(Kind::Symbol(symbol)).map(drop)
    }

    /// A part that has to be of that kind; it ends before the word at hand.
    fn of_kind(&self, part: ReadPart, is_predicate: bool) -> Result<ReadPart, ValueError> {
        if part.is_predicate == is_predicate { Ok(part) } else { Err(self.token.unexpected()) }
    }

    fn infix(&self) -> Option<Infix> {
        Some(Infix::Operator(match self.token.kind {
            Kind::Symbol("&&") => return Some(Infix::Junction(Junction::And)),
            Kind::Symbol("||") => return Some(Infix::Junction(Junction::Or)),
            Kind::Keyword("like_regex") => return Some(Infix::LikeRegex),
            Kind::Keyword("starts") => Operator::StartsWith,
            Kind::Symbol("==") => Operator::Equal,
            Kind::Symbol("!=" | "<>") => Operator::NotEqual,
            Kind::Symbol("<") => Operator::Less,
            Kind::Symbol(">") => Operator::Greater,
            Kind::Symbol("<=") => Operator::LessOrEqual,
            Kind::Symbol(">=") => Operator::GreaterOrEqual,
            Kind::Symbol("+") => Operator::Add,
            Kind::Symbol("-") => Operator::Subtract,
            Kind::Symbol("*") => Operator::Multiply,
            Kind::Symbol("/") => Operator::Divide,
            Kind::Symbol("%") => Operator::Modulo,
            _ => return None,
        }))
    }

    /// What is joined by operators of that priority and higher ones.
    fn expression(&mut self, least: u8) -> Result<ReadPart, ValueError> {
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(too_deep());
        }
        let mut left = self.operand()?;
        while let Some(infix) = self.infix().filter(|infix| infix.priority() >= least) {
            left = self.of_kind(left, matches!(infix, Infix::Junction(_)))?;
            self.advance()?;
            left = match infix {
                Infix::Junction(junction) => self.junction(junction, left)?,
                Infix::LikeRegex => self.like_regex(left)?,
                Infix::Operator(operator) => {
                    let right = if operator == Operator::StartsWith {
                        self.initial()?
                    } else {
                        let right = self.expression(operator.priority() + 1)?;
                        self.of_kind(right, false)?
                    };
                    let depth = left.depth.max(right.depth);
                    ReadPart::over(Step::Binary(operator, left.chain, right.chain), !operator.is_arithmetic(), depth)?
                }
            };
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// One more term; those of one kind lie flat, as they are joined from the left.
    fn junction(&mut self, junction: Junction, mut left: ReadPart) -> Result<ReadPart, ValueError> {
        let right = self.expression(junction.priority() + 1)?;
        let right = self.of_kind(right, true)?;
        if let [Step::Junction(same, terms)] = left.chain.as_mut_slice()
            && *same == junction
        {
            terms.push(right.chain);
            left.depth = left.depth.max(right.depth + 1);
            return Ok(left);
        }
        let depth = left.depth.max(right.depth);
        ReadPart::over(Step::Junction(junction, vec![left.chain, right.chain]), true, depth)
    }

    /// What a string may start with.
    fn initial(&mut self) -> Result<ReadPart, ValueError> {
        self.expect(Kind::Keyword("with"))?;
        let initial = match self.token.kind {
            Kind::String => Step::Literal(Jsonb::string(self.advance()?.text)),
            Kind::Variable => Step::Variable(self.advance()?.text.into()),
            _ => return Err(self.token.unexpected()),
        };
        Ok(ReadPart::expression(vec![initial], 0))
    }

    fn like_regex(&mut self, left: ReadPart) -> Result<ReadPart, ValueError> {
        let expression: Arc<str> = self.expect(Kind::String)?.text.into();
        let flags = if self.takes(Kind::Keyword("flag"))? { self.expect(Kind::String)?.text } else { String::new() };
        let pattern = Pattern::new(expression, &flags)?;
        ReadPart::over(Step::LikeRegex(left.chain, pattern), true, left.depth)
    }

    /// What stands between operators.
    fn operand(&mut self) -> Result<ReadPart, ValueError> {
        if self.takes_symbol("!")? {
            let inner = self.delimited()?;
            return ReadPart::over(Step::Not(inner.chain), true, inner.depth);
        }
        if self.token.kind == Kind::Keyword("exists") {
            return self.delimited();
        }
        if matches!(self.token.kind, Kind::Symbol("+" | "-")) {
            return self.signed();
        }
        if !self.takes_symbol("(")? {
            let primary = self.primary()?;
            return self.accessors(ReadPart::expression(vec![primary], 0));
        }
        let inner = self.expression(0)?;
        self.expect_symbol(")")?;
        if matches!(self.token.kind, Kind::Symbol("." | "[" | "?")) {
            return self.accessors(inner);
        }
        if inner.is_predicate && self.takes(Kind::Keyword("is"))? {
            self.expect(Kind::Keyword("unknown"))?;
            return ReadPart::over(Step::IsUnknown(inner.chain), true, inner.depth);
        }
        Ok(inner)
    }

    /// `+` and `-`, which numbers take in.
    fn signed(&mut self) -> Result<ReadPart, ValueError> {
        let is_negated = self.token.kind == Kind::Symbol("-");
        self.advance()?;
        self.nesting += 1;
        if self.nesting > DEPTH_MAX {
            return Err(too_deep());
        }
        let operand = self.operand()?;
        self.nesting -= 1;
        let operand = self.of_kind(operand, false)?;
        if let [Step::Literal(Jsonb::Number(number))] = operand.chain.as_slice() {
            let number = if is_negated { number.negate() } else { number.clone() };
            return Ok(ReadPart::expression(vec![Step::Literal(Jsonb::Number(number))], 0));
        }
        ReadPart::over(Step::Sign(is_negated, operand.chain), false, operand.depth)
    }

    /// A predicate that ends by itself.
    fn delimited(&mut self) -> Result<ReadPart, ValueError> {
        let exists = self.takes(Kind::Keyword("exists"))?;
        self.expect_symbol("(")?;
        let inner = self.expression(0)?;
        let inner = self.of_kind(inner, !exists)?;
        self.expect_symbol(")")?;
        if exists { ReadPart::over(Step::Exists(inner.chain), true, inner.depth) } else { Ok(inner) }
    }

    fn primary(&mut self) -> Result<Step, ValueError> {
        let kind = self.token.kind;
        let is_primary = matches!(
            kind,
            Kind::String
                | Kind::Integer
                | Kind::Number
                | Kind::Variable
                | Kind::Symbol("$" | "@")
                | Kind::Keyword("null" | "true" | "false" | "last")
        );
        if !is_primary {
            return Err(self.token.unexpected());
        }
        if kind == Kind::Symbol("@") && self.filters == 0 {
            self.misplace("@ is not allowed in root expressions");
        }
        if kind == Kind::Keyword("last") && self.subscripts == 0 {
            self.misplace("LAST is allowed only in array subscripts");
        }
        let text = self.advance()?.text;
        Ok(match kind {
            Kind::String => Step::Literal(Jsonb::string(text)),
            Kind::Variable => Step::Variable(text.into()),
            Kind::Symbol("$") => Step::Root,
            Kind::Symbol(_) => Step::Current,
            Kind::Keyword("null") => Step::Literal(Jsonb::Null),
            Kind::Keyword("last") => Step::Last,
            Kind::Keyword(word) => Step::Literal(Jsonb::Bool(word == "true")),
            Kind::Integer | Kind::Number | Kind::Name | Kind::End => Step::Literal(Jsonb::Number(text.parse()?)),
        })
    }

    fn misplace(&mut self, message: &str) {
        self.misplaced.get_or_insert_with(|| ValueError::new("42601", message));
    }

    /// The steps behind what gives items.
    fn accessors(&mut self, mut part: ReadPart) -> Result<ReadPart, ValueError> {
        loop {
            let (step, depth) = if self.takes_symbol(".")? {
                (self.member()?, 0)
            } else if self.takes_symbol("[")? {
                self.subscripts()?
            } else if self.takes_symbol("?")? {
                self.expect_symbol("(")?;
                self.filters += 1;
                let inner = self.expression(0)?;
                self.filters -= 1;
                let inner = self.of_kind(inner, true)?;
                self.expect_symbol(")")?;
                (Step::Filter(inner.chain), inner.depth + 1)
            } else {
                return Ok(part);
            };
            part.is_predicate = false;
            part.depth = part.depth.max(depth);
            if part.depth > DEPTH_MAX {
                return Err(too_deep());
            }
            part.chain.push(step);
        }
    }

    /// What stands behind a dot.
    fn member(&mut self) -> Result<Step, ValueError> {
        if self.takes_symbol("*")? {
            return Ok(Step::AnyKey);
        }
        if self.takes_symbol("**")? {
            return self.levels();
        }
        let kind = self.token.kind;
        if !matches!(kind, Kind::Name | Kind::String | Kind::Keyword(_)) {
            return Err(self.token.unexpected());
        }
        let text = self.advance()?.text;
        let Kind::Keyword(word) = kind else { return Ok(Step::Key(text.into())) };
        if self.token.kind != Kind::Symbol("(") {
            return Ok(Step::Key(text.into()));
        }
        let method = Method::named(word);
        if method.is_none() && word != "datetime" {
            return Err(self.token.unexpected());
        }
        self.advance()?;
        let template = match (method, self.token.kind) {
            (None, Kind::String) => Some(self.advance()?.text.into()),
            _ => None,
        };
        self.expect_symbol(")")?;
        Ok(method.map_or(Step::Datetime(template), Step::Method))
    }

    /// `{first to last}` behind `**`.
    fn levels(&mut self) -> Result<Step, ValueError> {
        if !self.takes_symbol("{")? {
            return Ok(Step::Any(Levels { first: 0, last: Levels::LEAVES }));
        }
        let first = self.level()?;
        let last = if self.takes(Kind::Keyword("to"))? { self.level()? } else { first };
        self.expect_symbol("}")?;
        Ok(Step::Any(Levels { first, last }))
    }

    fn level(&mut self) -> Result<u32, ValueError> {
        if self.takes(Kind::Keyword("last"))? {
            return Ok(Levels::LEAVES);
        }
        let text = self.expect(Kind::Integer)?.text;
        let value: i32 = text
            .parse()
            .map_err(|_| ValueError::new("22003", format!("value \"{text}\" is out of range for type integer")))?;
        Ok(value.unsigned_abs())
    }

    /// What stands in brackets, and how deep it is.
    fn subscripts(&mut self) -> Result<(Step, usize), ValueError> {
        if self.takes_symbol("*")? {
            self.expect_symbol("]")?;
            return Ok((Step::AnyArray, 0));
        }
        let (mut subscripts, mut depth) = (Vec::new(), 0);
        self.subscripts += 1;
        loop {
            let from = self.subscript(&mut depth)?;
            let to = if self.takes(Kind::Keyword("to"))? { Some(self.subscript(&mut depth)?) } else { None };
            subscripts.push(Subscript { from, to });
            if !self.takes_symbol(",")? {
                break;
            }
        }
        self.subscripts -= 1;
        self.expect_symbol("]")?;
        Ok((Step::Subscripts(subscripts), depth + 1))
    }

    fn subscript(&mut self, depth: &mut usize) -> Result<Chain, ValueError> {
        let part = self.expression(0)?;
        let part = self.of_kind(part, false)?;
        *depth = part.depth.max(*depth);
        Ok(part.chain)
    }
}

impl Pattern {
    fn new(expression: Arc<str>, flags: &str) -> Result<Pattern, ValueError> {
        let mut pattern = Pattern { expression, ..Pattern::default() };
        for flag in flags.chars() {
            match flag {
                'i' => pattern.is_insensitive = true,
                's' => pattern.dot_is_all = true,
                'm' => pattern.has_lines = true,
                'x' => pattern.has_blanks = true,
                'q' => pattern.is_literal = true,
                other => {
                    let detail = format!("Unrecognized flag character \"{other}\" in LIKE_REGEX predicate.");
                    return Err(ValueError {
                        detail: Some(detail),
                        ..ValueError::new("42601", "invalid input syntax for type jsonpath")
                    });
                }
            }
        }
        if pattern.has_blanks && !pattern.is_literal {
            let message = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(ValueError::new("0A000", message));
        }
        Ok(pattern)
    }
}
