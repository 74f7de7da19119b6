//! Dates, times and timestamps (helper writes).
