//! Text input and output (helper writes).
