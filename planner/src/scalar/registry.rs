//! Which functions exist, and which overload a call means (helper writes).
