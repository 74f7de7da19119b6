//! Evaluation of expressions (helper writes).
