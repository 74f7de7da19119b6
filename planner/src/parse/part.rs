//! Assignment to a part: `UPDATE t SET a[1] = 2`, `INSERT INTO t (a[1], j['k'])`, of which sqlparser reads no subscript.
//!
//! Done on tokens, before the parser sees them. A dotted name may end with a call, which no column's name does:
//! ```text
//! SET a[1][2:3] = x   ─▶   SET a."[]"(a[1][2:3]) = x
//! ```
//! `written` is the other half.

use super::grammar::is_word;
use super::is_blank;
use repr::poll;
use sqlparser::ast::{AccessExpr, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan};

/// What is called; PostgreSQL has no column of that name whose name goes on with a parenthesis.
const CALL: &str = "[]";

/// Whether a part of a dotted name is such a call.
pub(super) fn is_call(name: &Ident) -> bool {
    name.value == CALL && name.quote_style == Some('"')
}

/// A target's name, and what stands behind it.
pub(crate) fn written(target: &ObjectName) -> Option<(&[ObjectNamePart], &[AccessExpr])> {
    let (ObjectNamePart::Function(call), name) = target.0.split_last()? else { return None };
    match call.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundFieldAccess { access_chain, .. }))] => {
            Some((name, access_chain))
        }
        _ => None,
    }
}

/// The tokens with all such targets in the form above.
pub(super) fn rewritten(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| token.token == Token::LBracket) {
        return tokens;
    }
    let places: Vec<usize> = (0..tokens.len()).filter(|&at| !is_blank(&tokens[at])).collect();
    let visible: Vec<TokenWithSpan> = places.iter().map(|&at| tokens[at].clone()).collect();
    let parts = parts(&visible);
    let mut out = Vec::with_capacity(tokens.len() + 5 * parts.len());
    let mut copied = 0;
    for WrittenPart { subscripts, end } in parts {
        let (first, last) = (&visible[subscripts - 1], &visible[end - 1]);
        let (from, to) = (places[subscripts], places[end - 1] + 1);
        out.extend_from_slice(&tokens[copied..from]);
        let (start, close) = (Span { end: first.span.end, ..first.span }, last.span);
        out.push(TokenWithSpan { token: Token::Period, span: start });
        out.push(TokenWithSpan { token: Token::make_word(CALL, Some('"')), span: start });
        out.push(TokenWithSpan { token: Token::LParen, span: start });
        out.push(first.clone());
        out.extend_from_slice(&tokens[from..to]);
        out.push(TokenWithSpan { token: Token::RParen, span: close });
        copied = to;
    }
    out.extend_from_slice(&tokens[copied..]);
    out
}

/// The targets with subscripts, in their order.
fn parts(tokens: &[TokenWithSpan]) -> Vec<WrittenPart> {
    let mut parts = Vec::new();
    for at in 0..tokens.len() {
        poll::step_or_unwind();
        if is_word(&tokens[at], "SET") {
            set_parts(tokens, at + 1, &mut parts);
        } else if is_word(&tokens[at], "INSERT")
            && let Some(open) = insert_list(tokens, at + 1)
            && let Some((found, _)) = list_parts(tokens, open)
        {
            parts.extend(found);
        }
    }
    // What stands within another is no target.
    parts.sort_by_key(|part| part.subscripts);
    let mut end = 0;
    parts.retain(|part| {
        let apart = part.subscripts >= end;
        end = end.max(part.end);
        apart
    });
    parts
}

/// Where the subscripts of a target begin, and where it ends.
struct WrittenPart {
    subscripts: usize,
    end: usize,
}

/// The targets of a SET that begins there.
fn set_parts(tokens: &[TokenWithSpan], mut at: usize, parts: &mut Vec<WrittenPart>) {
    loop {
        let is_assigned = |end: usize| tokens.get(end).is_some_and(|token| token.token == Token::Eq);
        if let Some((found, end)) = list_parts(tokens, at) {
            if is_assigned(end) {
                parts.extend(found);
            }
        } else if let Some((part, end)) = target(tokens, at)
            && is_assigned(end)
        {
            parts.extend(part);
        }
        match next_item(tokens, at) {
            Some(next) => at = next,
            None => return,
        }
    }
}

/// What stands behind the next comma of a list, if the list goes on.
fn next_item(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        poll::step_or_unwind();
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return None,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::Comma if depth == 0 => return Some(at + 1),
            _ if depth == 0 && ["WHERE", "RETURNING", "SET"].iter().any(|word| is_word(token, word)) => return None,
            _ => {}
        }
    }
    None
}

/// The parenthesis that opens an INSERT's columns.
fn insert_list(tokens: &[TokenWithSpan], mut at: usize) -> Option<usize> {
    if tokens.get(at).is_some_and(|token| is_word(token, "INTO")) {
        at = name_end(tokens, at + 1)?;
        // There is no alias without AS: what else stands there is VALUES.
        if tokens.get(at).is_some_and(|token| is_word(token, "AS")) {
            at += 2;
        }
    }
    (tokens.get(at)?.token == Token::LParen).then_some(at)
}

/// The targets of a list in parentheses that have subscripts, and where the list ends.
fn list_parts(tokens: &[TokenWithSpan], open: usize) -> Option<(Vec<WrittenPart>, usize)> {
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let mut parts = Vec::new();
    let mut at = open + 1;
    loop {
        let (part, end) = target(tokens, at)?;
        parts.extend(part);
        match tokens.get(end)?.token {
            Token::Comma => at = end + 1,
            Token::RParen => return Some((parts, end + 1)),
            _ => return None,
        }
    }
}

/// A name with or without subscripts and fields behind it, and where it ends.
fn target(tokens: &[TokenWithSpan], start: usize) -> Option<(Option<WrittenPart>, usize)> {
    let subscripts = name_end(tokens, start)?;
    let mut end = subscripts;
    loop {
        match tokens.get(end).map(|token| &token.token) {
            Some(Token::LBracket) => end = closing(tokens, end)? + 1,
            Some(Token::Period) if end > subscripts && matches!(tokens.get(end + 1)?.token, Token::Word(_)) => end += 2,
            _ => break,
        }
    }
    Some(((end > subscripts).then_some(WrittenPart { subscripts, end }), end))
}

/// Where a dotted name ends.
fn name_end(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let is_name = |at: usize| matches!(tokens.get(at), Some(TokenWithSpan { token: Token::Word(_), .. }));
    if !is_name(start) {
        return None;
    }
    let mut end = start + 1;
    while tokens.get(end).is_some_and(|token| token.token == Token::Period) && is_name(end + 1) {
        end += 2;
    }
    Some(end)
}

fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LBracket => depth += 1,
            Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::written;
    use crate::parse::{Statement, parse};
    use sqlparser::ast::{AssignmentTarget, ObjectName, Statement as Ast};

    fn targets(text: &str) -> Vec<ObjectName> {
        let statements = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let Statement::Sql(sql) = &statements[0].statement else { panic!("{text}") };
        match &**sql {
            Ast::Insert(insert) => insert.columns.clone(),
            Ast::Update(update) => update
                .assignments
                .iter()
                .flat_map(|assignment| match &assignment.target {
                    AssignmentTarget::ColumnName(name) => vec![name.clone()],
                    AssignmentTarget::Tuple(names) => names.clone(),
                })
                .collect(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn subscripts_of_targets_are_kept() {
        for (text, parts) in [
            ("UPDATE t SET a[1] = b[2], c = ARRAY[1, 2], d[f(1, 2)][:3] = CASE WHEN x THEN 1 END, e = 2", "1020"),
            ("UPDATE t SET (a[1], b) = (1, 2), c = a[1], d['k'] = x[1] WHERE a[1] = 2 RETURNING b, a[1] = 3", "1001"),
            ("INSERT INTO s.t AS x (a[1], b, j['k'][0]) VALUES (1, 2, 3)", "102"),
            ("INSERT INTO t (SELECT a[1], b FROM u)", ""),
            ("INSERT INTO t VALUES (ARRAY[1], a[2])", ""),
            ("INSERT INTO t AS x VALUES (ARRAY[1])", ""),
            ("UPDATE t SET a = b IS DISTINCT FROM c, d[1].x = 2", "02"),
            ("UPDATE t SET a [1] = 'x'\n 'y', b = 1", "10"),
        ] {
            let counted = targets(text);
            let counted = counted.iter().map(|name| written(name).map_or(0, |(_, access)| access.len()).to_string());
            assert_eq!(counted.collect::<String>(), parts, "{text}");
        }
        for text in [
            "UPDATE t SET a[] = 1",
            "UPDATE t SET a[1 = 2",
            "INSERT INTO t (a[1) VALUES (1)",
            "SET a[1] = 2",
            "UPDATE t SET a[SET b[1] = 2] = 1",
        ] {
            assert_eq!(parse(text).unwrap_err().code, "42601", "{text}");
        }
    }
}
