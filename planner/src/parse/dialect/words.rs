//! Which words are names, as PostgreSQL has it: sqlparser knows those of all dialects.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::Token;

/// A token without the meaning that its word has in other dialects alone: as any name.
pub(super) fn of_postgresql(mut token: Token) -> Token {
    if let Token::Word(word) = &mut token
        && is_of_others(word.keyword)
    {
        word.keyword = Keyword::NoKeyword;
    }
    token
}

/// Words that sqlparser acts upon, and PostgreSQL does not know.
fn is_of_others(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::ANTI
            | Keyword::ASOF
            | Keyword::CONNECT
            | Keyword::DATETIME64
            | Keyword::DIRECTORY
            | Keyword::DISTRIBUTE
            | Keyword::DIV
            | Keyword::ENUM16
            | Keyword::ENUM8
            | Keyword::FIXEDSTRING
            | Keyword::FORMAT
            | Keyword::GLOB
            | Keyword::IGNORE
            | Keyword::MATCH_CONDITION
            | Keyword::MATCH_RECOGNIZE
            | Keyword::MEMBER
            | Keyword::MINUS
            | Keyword::OPEN
            | Keyword::OUTPUT
            | Keyword::PIVOT
            | Keyword::PREWHERE
            | Keyword::QUALIFY
            | Keyword::REGEXP
            | Keyword::RESPECT
            | Keyword::RLIKE
            | Keyword::SEMI
            | Keyword::SETTINGS
            | Keyword::SORT
            | Keyword::TOP
            | Keyword::UNPIVOT
            | Keyword::UNSIGNED
            | Keyword::XOR
    )
}

/// Whether a word may name a column behind its expression without AS. What goes on with the expression, or ends the list, may not.
pub(super) fn is_bare_label(keyword: Keyword) -> bool {
    !matches!(
        keyword,
        // PostgreSQL's words that want AS.
        Keyword::ARRAY
            | Keyword::AS
            | Keyword::CHAR
            | Keyword::CHARACTER
            | Keyword::CREATE
            | Keyword::DAY
            | Keyword::EXCEPT
            | Keyword::FETCH
            | Keyword::FILTER
            | Keyword::FOR
            | Keyword::FROM
            | Keyword::GRANT
            | Keyword::GROUP
            | Keyword::HAVING
            | Keyword::HOUR
            | Keyword::INTERSECT
            | Keyword::INTO
            | Keyword::LIMIT
            | Keyword::MINUTE
            | Keyword::MONTH
            | Keyword::NOTNULL
            | Keyword::OFFSET
            | Keyword::ON
            | Keyword::ORDER
            | Keyword::OVER
            | Keyword::OVERLAPS
            | Keyword::PRECISION
            | Keyword::RETURNING
            | Keyword::SECOND
            | Keyword::TO
            | Keyword::UNION
            | Keyword::VARYING
            | Keyword::WHERE
            | Keyword::WINDOW
            | Keyword::WITH
            | Keyword::WITHIN
            | Keyword::WITHOUT
            | Keyword::YEAR
            // Operators.
            | Keyword::AND
            | Keyword::AT
            | Keyword::BETWEEN
            | Keyword::COLLATE
            | Keyword::ILIKE
            | Keyword::IN
            | Keyword::IS
            | Keyword::LIKE
            | Keyword::NOT
            | Keyword::OPERATOR
            | Keyword::OR
            | Keyword::SIMILAR
    )
}

/// Words that PostgreSQL leaves free for tables, too, beside what sqlparser leaves free.
pub(super) fn is_free_for_tables(keyword: Keyword) -> bool {
    matches!(keyword, Keyword::EXISTS | Keyword::GLOBAL | Keyword::PARTITION)
}
