//! COPY's data, both ways: what stands between CopyData messages and rows.
//!
//! `decode` turns the client's bytes into rows, however they are cut into messages; `encode` writes rows. Both know
//! PostgreSQL's text and CSV formats; the values themselves go through `types::text`.

pub mod decode;
pub mod encode;
