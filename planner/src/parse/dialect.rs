//! PostgreSQL's dialect under our own name: every question is passed on to sqlparser's `PostgreSqlDialect`.
//!
//! Annotations never reach a dialect hook: `parse::table` reads DDL itself, so that no word becomes
//! reserved. The wrapper is the one place where a hook may be overridden; a test below fails when
//! sqlparser gains a question that is not passed on.

mod infix;
mod query;
mod symbols;
mod words;

pub(crate) use infix::between_value;
pub(super) use query::AFTER_QUERY;
pub(crate) use symbols::prefix_operator;

use repr::poll;
use sqlparser::ast::{
    ColumnOption, DataType, Expr, GranteesType, Ident, Interval, Statement, TypedString, UnaryOperator,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};
use std::any::TypeId;
use std::iter::Peekable;
use std::str::Chars;

const POSTGRES: PostgreSqlDialect = PostgreSqlDialect {};

/// `VARIADIC array`, which can only be a function's last argument: `resolve` says so elsewhere.
fn variadic(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    if word.quote_style.is_some() || !word.value.eq_ignore_ascii_case(VARIADIC) {
        return None;
    }
    parser.advance_token();
    let value = parser.parse_expr();
    Some(value.map(|value| Expr::Prefixed { prefix: Ident::new(VARIADIC), value: Box::new(value) }))
}

/// What stands before an array whose elements are arguments.
pub(crate) const VARIADIC: &str = "VARIADIC";

/// The dialect that Dogwood parses.
#[derive(Debug, Default)]
pub struct DogwoodDialect;

macro_rules! questions {
    ($apply:ident) => {
        $apply! {
            supports_string_literal_backslash_escape, ignores_wildcard_escapes, supports_unicode_string_literal,
            supports_filter_during_aggregation, supports_window_clause_named_window_reference,
            supports_within_after_array_aggregation, supports_partition_by_after_order_by,
            supports_array_join_syntax, supports_alter_user_as_alter_role, supports_group_by_expr,
            supports_group_by_with_modifier, supports_left_associative_joins_without_parens,
            supports_outer_join_operator, supports_cross_join_constraint, supports_connect_by,
            supports_execute_immediate, supports_match_recognize, supports_in_empty_list,
            supports_in_unparenthesized_expr, supports_start_transaction_modifier, supports_end_transaction_modifier,
            supports_named_fn_args_with_eq_operator, supports_named_fn_args_with_colon_operator,
            supports_named_fn_args_with_assignment_operator, supports_named_fn_args_with_rarrow_operator,
            supports_named_fn_args_with_expr_name, supports_numeric_prefix, supports_numeric_literal_underscores,
            supports_window_function_null_treatment_arg, supports_dictionary_syntax, support_map_literal_syntax,
            supports_lambda_functions, supports_parenthesized_set_variables,
            supports_comma_separated_set_assignments, supports_update_order_by, supports_select_wildcard_except,
            convert_type_before_value, supports_triple_quoted_string, supports_trailing_commas, supports_limit_comma,
            supports_string_literal_concatenation, supports_string_literal_concatenation_with_newline,
            supports_projection_trailing_commas, supports_from_trailing_commas,
            supports_column_definition_trailing_commas, supports_object_name_double_dot_notation,
            supports_struct_literal, supports_empty_projections, supports_select_expr_star,
            supports_from_first_select, supports_from_first_insert, supports_pipe_operator,
            supports_user_host_grantee, supports_match_against, supports_select_wildcard_exclude,
            supports_select_exclude, supports_create_table_multi_schema_info_sources, supports_select_modifiers,
            describe_requires_table_keyword, allow_extract_custom, allow_extract_single_quotes,
            supports_extract_comma_syntax, supports_subquery_as_function_arg, supports_create_view_comment_syntax,
            supports_array_typedef_without_element_type, supports_parens_around_table_factor,
            supports_values_as_table_factor, supports_dollar_placeholder, supports_dollar_as_money_prefix,
            supports_create_index_with_clause, require_interval_qualifier, supports_explain_with_utility_options,
            supports_asc_desc_in_column_definition, supports_factorial_operator, supports_bitwise_shift_operators,
            supports_nested_comments, supports_multiline_comment_hints, supports_eq_alias_assignment,
            supports_try_convert, supports_bang_not_operator, supports_listen_notify, supports_exclude_constraint,
            supports_load_data, supports_load_extension, supports_top_before_distinct, supports_boolean_literals,
            supports_show_like_before_in, supports_comment_on, supports_create_table_select,
            supports_leading_comma_before_table_options, supports_partiql, supports_unpivot_expr,
            supports_constraint_keyword_without_name, supports_key_column_option, supports_table_sample_before_alias,
            supports_insert_set, supports_insert_table_function, supports_insert_table_query, supports_insert_format,
            supports_insert_table_alias, supports_set_stmt_without_operator, supports_table_versioning,
            supports_string_escape_constant, supports_table_hints, requires_single_line_comment_whitespace,
            supports_array_typedef_with_brackets, supports_geometric_types, supports_order_by_all,
            supports_order_by_using_operator, supports_set_names, supports_space_separated_column_options,
            supports_alter_column_type_using, supports_comma_separated_drop_column_list, supports_notnull_operator,
            supports_data_type_signed_suffix, supports_interval_options, supports_create_table_like_parenthesized,
            supports_semantic_view_table_factor, supports_quote_delimited_string, supports_comment_optimizer_hint,
            supports_double_ampersand_operator, supports_binary_kw_as_cast, supports_select_wildcard_replace,
            supports_select_wildcard_ilike, supports_select_wildcard_rename, supports_select_wildcard_with_alias,
            supports_optimize_table, supports_install, supports_detach, supports_prewhere, supports_with_fill,
            supports_limit_by, supports_interpolate, supports_settings, supports_select_format,
            supports_comma_separated_trim, supports_cte_without_as, supports_select_item_multi_column_alias,
            supports_xml_expressions, supports_aliased_function_args, supports_create_table_using,
            supports_long_type_as_bigint, supports_map_literal_with_angle_brackets,
        }
    };
}

macro_rules! delegate {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            POSTGRES.$question()
        })*
    };
}

/// The sign that comes next.
fn sign(parser: &Parser<'_>) -> Option<UnaryOperator> {
    match parser.peek_token_ref().token {
        Token::Minus => Some(UnaryOperator::Minus),
        Token::Plus => Some(UnaryOperator::Plus),
        _ => None,
    }
}

/// `name 'text'`, of a type for which sqlparser has no word: nothing else has a string behind a name.
fn typed_literal(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_name = |token: &Token| match token {
        Token::Word(word) => word.quote_style.is_some() || matches!(word.keyword, Keyword::NoKeyword | Keyword::NAME),
        _ => false,
    };
    let mut next = 1;
    if !is_name(&parser.peek_token_ref().token) {
        return None;
    }
    while parser.peek_nth_token_ref(next).token == Token::Period && is_name(&parser.peek_nth_token_ref(next + 1).token)
    {
        next += 2;
    }
    let is_text = matches!(
        parser.peek_nth_token_ref(next).token,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_)
    );
    is_text.then(|| {
        let data_type = DataType::Custom(parser.parse_object_name(false)?, Vec::new());
        Ok(Expr::TypedString(TypedString { data_type, value: parser.parse_value()?, uses_odbc_syntax: false }))
    })
}

/// `interval(p) 'text'`, of which sqlparser reads the precision and forgets it.
fn precise_interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = |place: usize| &parser.peek_nth_token_ref(place).token;
    let is_text = |token: &Token| {
        matches!(token, Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_))
    };
    let is_interval = matches!(token(0), Token::Word(word) if word.keyword == Keyword::INTERVAL)
        && matches!((token(1), token(2), token(3)), (Token::LParen, Token::Number(..), Token::RParen))
        && is_text(token(4));
    is_interval.then(|| {
        parser.advance_token();
        let precision = parser.parse_optional_precision()?;
        let value = Box::new(Expr::Value(parser.parse_value()?));
        Ok(Expr::Interval(Interval {
            value,
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: precision,
        }))
    })
}

/// `interval` where no text follows: a name, as of a column, which sqlparser takes for the beginning of a literal.
fn column_called_interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_interval = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.keyword == Keyword::INTERVAL && word.quote_style.is_none());
    let follows = &parser.peek_nth_token_ref(1).token;
    let goes_on = matches!(
        follows,
        Token::SingleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::LParen
            | Token::Period
    );
    (is_interval && !goes_on).then(|| parser.parse_identifier().map(Expr::Identifier))
}

/// `exists` and `trim` where no parenthesis follows: names of columns.
fn column_called_as_a_form(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_form = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if matches!(word.keyword, Keyword::EXISTS | Keyword::TRIM) && word.quote_style.is_none());
    let goes_on = matches!(parser.peek_nth_token_ref(1).token, Token::LParen | Token::Period);
    (is_form && !goes_on).then(|| parser.parse_identifier().map(Expr::Identifier))
}

/// Appends the tokens of a text; where the tokenizer fails, those in front of that.
///
/// # Errors
/// The tokenizer's.
pub(super) fn tokenize_into(tokens: &mut Vec<TokenWithSpan>, text: &str) -> Result<(), TokenizerError> {
    Tokenizer::new(&DogwoodDialect, text).tokenize_with_location_into_buf_with_mapper(tokens, |token| {
        poll::step_or_unwind();
        TokenWithSpan { token: words::of_postgresql(token.token), span: token.span }
    })
}

/// The tokens of a text.
///
/// # Errors
/// The tokenizer's.
pub(super) fn tokenize(text: &str) -> Result<Vec<TokenWithSpan>, TokenizerError> {
    let mut tokens = Vec::new();
    tokenize_into(&mut tokens, text)?;
    Ok(tokens)
}

impl Dialect for DogwoodDialect {
    // sqlparser asks `dialect_of!(self is PostgreSqlDialect)`; we are that.
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    questions!(delegate);

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRES.identifier_quote_style(identifier)
    }
    fn is_delimited_identifier_start(&self, character: char) -> bool {
        POSTGRES.is_delimited_identifier_start(character)
    }
    fn is_nested_delimited_identifier_start(&self, character: char) -> bool {
        POSTGRES.is_nested_delimited_identifier_start(character)
    }
    fn peek_nested_delimited_identifier_quotes(&self, chars: Peekable<Chars<'_>>) -> Option<(char, Option<char>)> {
        POSTGRES.peek_nested_delimited_identifier_quotes(chars)
    }
    fn is_identifier_start(&self, character: char) -> bool {
        POSTGRES.is_identifier_start(character)
    }
    // Asked within words at every character.
    fn is_identifier_part(&self, character: char) -> bool {
        poll::step_or_unwind();
        POSTGRES.is_identifier_part(character)
    }
    // An operator ends before a sign, which may begin an operand (`a>-1`), and before a comment. None that we have goes on with these.
    fn is_custom_operator_part(&self, character: char) -> bool {
        !matches!(character, '+' | '-' | '/') && POSTGRES.is_custom_operator_part(character)
    }
    // Asked at every operand: where the parser hears of it.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        poll::step_or_unwind();
        // A literal in a list is nothing else: what it could begin need not be tried for each of many.
        let is_literal = matches!(parser.peek_token_ref().token, Token::Number(..) | Token::SingleQuotedString(_));
        if is_literal && matches!(parser.peek_nth_token_ref(1).token, Token::Comma | Token::RParen) {
            return Some(parser.parse_value().map(Expr::Value));
        }
        if let Some(op) = sign(parser) {
            parser.advance_token();
            // A sign binds more tightly than any operator between two operands: `-2 ^ 2` is 4.
            let operand = parser.parse_subexpr(POSTGRES.prec_value(Precedence::AtTz));
            return Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }));
        }
        typed_literal(parser)
            .or_else(|| variadic(parser))
            .or_else(|| precise_interval(parser))
            .or_else(|| column_called_interval(parser))
            .or_else(|| column_called_as_a_form(parser))
            .or_else(|| symbols::prefix(parser))
            .or_else(|| query::scalar(parser))
            .or_else(|| query::trim(parser))
            .or_else(|| query::substring(parser))
            .or_else(|| POSTGRES.parse_prefix(parser))
    }
    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        infix::infix(parser, expr, precedence).or_else(|| POSTGRES.parse_infix(parser, expr, precedence))
    }
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        POSTGRES.get_next_precedence(parser)
    }
    fn get_next_precedence_default(&self, parser: &Parser) -> Result<u8, ParserError> {
        match infix::own_precedence(parser) {
            Some(precedence) => Ok(precedence),
            None => POSTGRES.get_next_precedence_default(parser),
        }
    }
    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        POSTGRES.parse_statement(parser)
    }
    fn parse_column_option(
        &self,
        parser: &mut Parser,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        POSTGRES.parse_column_option(parser)
    }
    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRES.prec_value(precedence)
    }
    fn prec_unknown(&self) -> u8 {
        POSTGRES.prec_unknown()
    }
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRES.is_reserved_for_identifier(keyword)
    }
    fn get_reserved_keywords_for_select_item_operator(&self) -> &[Keyword] {
        &[]
    }
    fn get_reserved_grantees_types(&self) -> &[GranteesType] {
        &[]
    }
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        !begins_what_follows(*keyword) && POSTGRES.is_column_alias(keyword, parser)
    }
    fn is_select_item_alias(&self, explicit: bool, keyword: &Keyword, _parser: &mut Parser) -> bool {
        explicit || words::is_bare_label(*keyword)
    }
    fn is_table_factor(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        POSTGRES.is_table_factor(keyword, parser)
    }
    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser) -> bool {
        words::is_free_for_tables(*keyword)
            || !matches!(keyword, Keyword::CREATE | Keyword::GRANT) && POSTGRES.is_table_alias(keyword, parser)
    }
    fn is_table_factor_alias(&self, explicit: bool, keyword: &Keyword, parser: &mut Parser) -> bool {
        explicit || self.is_table_alias(keyword, parser)
    }
    fn is_identifier_generating_function_name(
        &self,
        identifier: &sqlparser::ast::Ident,
        parts: &[sqlparser::ast::ObjectNamePart],
    ) -> bool {
        super::part::is_call(identifier) || POSTGRES.is_identifier_generating_function_name(identifier, parts)
    }
}

/// Words that name no column of a table: a row lock's, ON CONFLICT's, and those that begin the next element of CREATE SCHEMA.
fn begins_what_follows(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::FOR | Keyword::ON | Keyword::CREATE | Keyword::GRANT)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! names {
        ($($question:ident),* $(,)?) => {
            [$((stringify!($question), DogwoodDialect.$question(), POSTGRES.$question())),*]
        };
    }

    #[test]
    fn every_question_is_answered_as_postgresql_does() {
        for (name, ours, theirs) in questions!(names) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(DogwoodDialect.dialect(), TypeId::of::<PostgreSqlDialect>());
        for keyword in sqlparser::keywords::ALL_KEYWORDS_INDEX {
            assert_eq!(
                DogwoodDialect.is_reserved_for_identifier(*keyword),
                POSTGRES.is_reserved_for_identifier(*keyword)
            );
        }
    }
}
