//! From words to an expression's parts: `lexer` → here → `tree` and `automaton`.

use super::lexer::{Lexer, Token};
use super::syntax::{Bounds, Look, Node};
use super::{Invalid, Language, Options};
use std::rc::Rc;

/// Parentheses within parentheses.
const NESTED_MAX: usize = 200;

/// An expression, and how many groups capture in it.
pub(super) fn parse(source: &[char], options: Options) -> Result<(Rc<Node>, usize), Invalid> {
    let mut parser = Parser {
        lexer: Lexer::new(source, options),
        token: Token::End,
        language: options.language,
        groups: Vec::new(),
        nested: 0,
    };
    parser.advance()?;
    let node = parser.alternatives(Inside::Nothing)?;
    Ok((node, parser.groups.len()))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    language: Language,
    /// What stands in each group that captures, once it is closed.
    groups: Vec<Option<Rc<Node>>>,
    nested: usize,
}

/// What encloses a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Group,
    Look,
    GroupInLook,
}

impl Inside {
    fn look(self) -> bool {
        matches!(self, Inside::Look | Inside::GroupInLook)
    }
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, Invalid> {
        let next = self.lexer.next(self.groups.len())?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    /// What stands in a group that captures and is closed.
    fn closed(&self, group: usize) -> Option<&Rc<Node>> {
        self.groups.get(group.checked_sub(1)?)?.as_ref()
    }

    fn alternatives(&mut self, inside: Inside) -> Result<Rc<Node>, Invalid> {
        let mut branches = vec![self.branch(inside)?];
        while matches!(self.token, Token::Bar) {
            self.advance()?;
            branches.push(self.branch(inside)?);
        }
        match self.token {
            Token::End if inside != Inside::Nothing => return Err(Invalid::Parentheses),
            _ => {}
        }
        Ok(if branches.len() == 1 { branches.remove(0) } else { Rc::new(Node::Alternatives(branches)) })
    }

    fn branch(&mut self, inside: Inside) -> Result<Rc<Node>, Invalid> {
        let mut parts: Vec<Rc<Node>> = Vec::new();
        loop {
            match &self.token {
                Token::End | Token::Bar => break,
                Token::Close if inside != Inside::Nothing => break,
                _ => parts.push(self.part(inside)?),
            }
        }
        Ok(Rc::new(Node::Branch(parts.into())))
    }

    /// A place or a look, which nothing can repeat; or an atom and how often it stands there.
    fn part(&mut self, inside: Inside) -> Result<Rc<Node>, Invalid> {
        if let Token::Reference(group) = self.token
            && (inside.look() || self.closed(group).is_none())
        {
            return Err(Invalid::Reference);
        }
        let body = match self.advance()? {
            Token::Place(place) => return Ok(Rc::new(Node::Place(place))),
            Token::Look { behind, negative } => {
                let body = self.enclosed(Inside::Look)?;
                return Ok(Rc::new(Node::Look(Rc::new(Look { behind, negative, body }))));
            }
            Token::Set(set) => Node::Set(set),
            Token::Open { captures } => {
                let capture = (captures && !inside.look()).then(|| {
                    self.groups.push(None);
                    self.groups.len()
                });
                let body = self.enclosed(if inside.look() { Inside::GroupInLook } else { Inside::Group })?;
                if let Some(group) = capture {
                    self.groups[group - 1] = Some(body.clone());
                }
                Node::Group { capture, body }
            }
            Token::Reference(group) => {
                let body = self.closed(group).ok_or(Invalid::Reference)?;
                Node::Reference { group, body: body.without_places() }
            }
            // A parenthesis that closes nothing is itself in extended expressions.
            Token::Close if self.language == Language::Extended => Node::Set(Lexer::closing()),
            Token::Close => return Err(Invalid::Parentheses),
            Token::Quantifier(..) => return Err(Invalid::Operand),
            Token::End | Token::Bar => unreachable!("a branch ends there"),
        };
        let body = Rc::new(body);
        let Token::Quantifier(bounds, prefers) = self.token else { return Ok(body) };
        self.advance()?;
        if bounds.max == Some(0) {
            return Ok(Rc::new(Node::Empty));
        }
        if bounds == Bounds::ONCE && prefers.is_none() {
            return Ok(body);
        }
        Ok(Rc::new(Node::Repeat { body, bounds, prefers }))
    }

    fn enclosed(&mut self, inside: Inside) -> Result<Rc<Node>, Invalid> {
        self.nested += 1;
        if self.nested > NESTED_MAX {
            return Err(Invalid::Complex);
        }
        let body = self.alternatives(inside)?;
        self.nested -= 1;
        match self.advance()? {
            Token::Close => Ok(body),
            _ => Err(Invalid::Parentheses),
        }
    }
}
