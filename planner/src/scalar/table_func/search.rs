//! Rows of full text search: a document's lexemes, a text's tokens.

use super::{TableFunctionDefinition, known, strict};
use crate::scalar::func::text_search::{parsed, token_kinds, unnest};

pub(super) const FUNCTIONS: &[TableFunctionDefinition] = &[
    ("unnest(tsvector) (lexeme text, positions int2[], weights text[])", |_, args, _| {
        strict(args, |args| known(unnest(&args[0])?))
    }),
    ("ts_parse(text, text) (tokid int4, token text)", |_, args, _| strict(args, |args| known(parsed(args)?))),
    ("ts_parse(oid, text) (tokid int4, token text)", |_, args, _| strict(args, |args| known(parsed(args)?))),
    ("ts_token_type(text) (tokid int4, alias text, description text)", |_, args, _| {
        strict(args, |args| known(token_kinds(&args[0])?))
    }),
    ("ts_token_type(oid) (tokid int4, alias text, description text)", |_, args, _| {
        strict(args, |args| known(token_kinds(&args[0])?))
    }),
];
